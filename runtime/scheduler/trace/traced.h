/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traced.h: what a PE records under CK_TRACE, and how the layers above add their own records.
 *
 * pe->trace is NULL without CK_TRACE. Then nothing here runs, and the paths within a PE do not test
 * for it: tracing replaces functions that are called anyway.
 *
 *   a message's handler   node->handlers[].fn, replaced when the node starts (traced.c)
 *   the run queue         a queue that is traced counts as mixed, so pushing takes msgq_push_slow
 *   idle, busy            hooks (CcdPROCESSOR_BEGIN_IDLE, ...)
 *   threads               a watch of the scheduler (csd_watch_swaps)
 *   entries, elements     the tables of the layers
 *
 * Only a message to another PE tests pe->trace.
 */
#ifndef CSD_TRACED_H
#define CSD_TRACED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../trace/trace.h"

struct cmi_msg;
struct csd_layer;
struct node;
struct pe;

/** Bits of csd_handler.trace. */
enum {
	/** A message is one call, whose begin the layer records (csd_trace_direct): so the handler itself
	 * is recorded only if the call has not begun when it returns. */
	CSD_TRACE_CALL = 1,
	/** head.word is free in its messages that up.word_in_use does not claim. */
	CSD_TRACE_WORD = 2,
	/** The program has registered it. */
	CSD_OF_PROGRAM = 4,
};

struct pe_trace {
	struct trace *file;
	/** Called by the queue and by the path to other PEs, which lie below: a message is pushed to the
	 * run queue, or leaves for PE `to`. */
	void (*queued)(struct pe *pe, struct cmi_msg *m);
	void (*sent)(struct pe *pe, int to, struct cmi_msg *m, uint8_t flags);
	bool on;                          /* CkTraceOn, CkTraceOff */
	uint32_t seq;                     /* of the last message that was given a number; 0 is none */
	bool handling;                    /* a handler runs: messages that it passes to handlers came
					   * earlier */
	uint8_t again;                    /* of the handler that runs: TRACE_AGAIN or 0 */
	const struct cmi_msg *call;       /* is handled now, and its entry has not begun; or NULL */
	const uint64_t **threads;         /* [n_threads]: those that run, one inside the other */
	size_t n_threads, cap_threads;
	bool leaves;                      /* while threads change: the one that runs does */
};

extern const struct csd_layer trace_layer;

/** A handler of the layers: state how its messages are recorded. Only while handlers are
 * registered. */
void csd_trace_handler(struct node *node, int handler, unsigned how);

/** The next record of a PE that is traced and on; the caller fills it in and calls trace_done. */
static inline struct trace_record *csd_trace_next(struct pe_trace *t, enum trace_kind kind,
						  unsigned what, int pe)
{
	struct trace_record *r = trace_next(t->file, kind);

	r->what = (uint16_t)what;
	r->pe = pe;
	return r;
}

/** The flags of TRACE_BEGIN that tell whether `m` is the call that is being handled. */
static inline uint8_t csd_trace_direct(struct pe_trace *t, const struct cmi_msg *m)
{
	if (!m || t->call != m)
		return 0;
	t->call = NULL;
	return TRACE_DIRECT | t->again;
}

/** The value of `seq` in a message's records, and TRACE_KEYED or 0. */
uint32_t csd_trace_seq(const struct pe *pe, const struct cmi_msg *m, uint8_t *flags_p);

#endif
