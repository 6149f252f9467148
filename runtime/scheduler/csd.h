/* SPDX-License-Identifier: Apache-2.0 */
/*
 * csd.h: messages and handlers below the chares, with Converse's names: register a handler, send it
 * messages, call a function later. For programs, and for the runtime of another language in the
 * same job; both may be mixed freely with chares.
 *
 * A message begins with a struct cmi_msg, and has one owner. Sending gives it away; the scheduler
 * of the target PE gives it to the handler, which frees it, keeps it or forwards it. A PE's
 * handlers run one at a time, each to its end.
 *
 *	struct ping { struct cmi_msg head; int n; };
 *	static int h_ping;
 *
 *	static void on_ping(struct pe *pe, struct cmi_msg *m) { ...; CmiFree(m); }
 *	void starts(void) { h_ping = CmiRegisterHandler("ping", on_ping); } // an initnode function
 *
 *	struct ping *p = CmiAlloc(sizeof *p);
 *	p->n = 3;
 *	CmiSetHandler(p, h_ping);
 *	CmiSyncSendAndFree(1, sizeof *p, p);
 *
 * All functions are called on a PE: in an entry method, a handler, a timer's function, a thread
 * (cth.h).
 */
#ifndef CSD_H
#define CSD_H

#include <stddef.h>

#include "../machine/base/cmi_msg.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** One scheduler, on one thread. */
struct pe;

/* ---- handlers and messages ------------------------------------------------------------- */

/** Takes ownership of `m`. Runs on the target PE. */
typedef void (*CmiHandler)(struct pe *pe, struct cmi_msg *m);

/** Make `fn` a handler, and return its number. All nodes register the same handlers in the same
 * order, so the numbers agree; a difference ends the job at start. `name` must stay valid.
 *
 * Where    in an initnode function. Later it aborts. */
int CmiRegisterHandler(const char *name, CmiHandler fn);

/** Number of this PE, and PEs of the whole job. */
int CmiMyPe(void);
int CmiNumPes(void);

/** Memory for a message of `bytes` bytes, its struct cmi_msg included; the caller's. Payload and
 * handler are to be filled in. Never NULL: a lack of memory aborts. */
void *CmiAlloc(size_t bytes);

/** Free a message of CmiAlloc or of a handler; on any PE of the node that owns it. */
void CmiFree(void *m);

void CmiSetHandler(void *m, int handler);

/** Send the first `bytes` bytes of a message, possibly fewer than it was made with, to a PE of the
 * job. Takes ownership; never blocks. Messages from one PE to another are handled in the order of
 * sending. Quiescence detection counts the message like a call. Aborts when there is no such PE. */
void CmiSyncSendAndFree(int pe, size_t bytes, void *m);

/* ---- the loop -------------------------------------------------------------------------- */

/** Run the scheduler of this PE: n < 0 until the job ends, else until n messages have been handled
 * or nothing is ready. Not from inside a handler. */
void CsdScheduler(int n);

/* ---- timers and hooks: conditional callbacks --------------------------------------------- */

typedef void (*CcdVoidFn)(void *arg);

/** Call fn(arg) on this PE once, `ms` milliseconds from now, between two handlers. */
void CcdCallFnAfter(CcdVoidFn fn, void *arg, double ms);

enum {
	CcdPROCESSOR_BEGIN_IDLE,
	CcdPROCESSOR_STILL_IDLE,
	CcdPROCESSOR_BEGIN_BUSY,
	CcdPERIODIC_10ms,
	CcdPERIODIC_100ms,
	CcdPERIODIC_1s,
	CcdQUIET_100ms, /* as CcdPERIODIC_100ms, for functions that never do anything for the job: the
			 * watchdog ignores them, and may find the job quiescent */
	CCD_N_CONDITIONS
};

/** Call fn(arg) on this PE when the condition is raised next. Returns a number for
 * CcdCancelCallOnCondition. While a function waits for CcdPROCESSOR_STILL_IDLE, an idle PE does not
 * sleep, but raises it repeatedly. */
int CcdCallOnCondition(int condition, CcdVoidFn fn, void *arg);
/** The same, every time. */
int CcdCallOnConditionKeep(int condition, CcdVoidFn fn, void *arg);
void CcdCancelCallOnCondition(int condition, int id);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
