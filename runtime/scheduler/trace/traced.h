/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traced.h: what a PE records under CK_TRACE, and how the layers above add their own records.
 *
 * Without CK_TRACE, pe->trace is NULL and nothing here runs. Paths within a PE do not test for it,
 * because tracing replaces functions that are called anyway:
 *
 *   a message's handler   node->handlers[].fn, replaced when the node starts (traced.c)
 *   the run queue         counts as mixed while traced, so that a push takes msgq_push_slow
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
	/** A message is one call, and the layer records its begin (csd_trace_direct). The handler is
	 * recorded only if the call has not begun when it returns. */
	CSD_TRACE_CALL = 1,
	/** head.word is free in its messages, except those that up.word_in_use names. */
	CSD_TRACE_WORD = 2,
	/** The program has registered it. */
	CSD_OF_PROGRAM = 4,
};

struct pe_trace {
	struct trace *file;
	/** Called from the rooms below: a message is pushed to the run queue, or leaves for PE `to`. */
	void (*queued)(struct pe *pe, struct cmi_msg *m);
	void (*sent)(struct pe *pe, int to, struct cmi_msg *m, uint8_t flags);
	bool on;                          /* CkTraceOn, CkTraceOff */
	uint32_t seq;                     /* the last number given to a message; 0: none */
	bool handling;                    /* a handler runs; handlers in it get older messages */
	uint8_t again;                    /* of the running handler: TRACE_AGAIN or 0 */
	const struct cmi_msg *call;       /* being handled, and its entry has not begun; or NULL */
	const uint64_t **threads;         /* [n_threads]: running, each inside the one before */
	size_t n_threads, cap_threads;
	bool leaves;                      /* during a switch: the running thread is suspended */
};

extern const struct csd_layer trace_layer;

/** State how messages of a layer's handler are recorded, while handlers are registered. */
void csd_trace_handler(struct node *node, int handler, unsigned how);

/** The next record, if the trace is on; the caller fills it in and calls trace_done. */
static inline struct trace_record *csd_trace_next(struct pe_trace *t, enum trace_kind kind,
						  unsigned what, int pe)
{
	struct trace_record *r = trace_next(t->file, kind);

	r->what = (uint16_t)what;
	r->pe = pe;
	return r;
}

/** The flags of TRACE_BEGIN: TRACE_DIRECT if `m` is the call that is being handled. */
static inline uint8_t csd_trace_direct(struct pe_trace *t, const struct cmi_msg *m)
{
	if (!m || t->call != m)
		return 0;
	t->call = NULL;
	return TRACE_DIRECT | t->again;
}

/** The `seq` of a message's records; in *flags_p TRACE_KEYED or 0. */
uint32_t csd_trace_seq(const struct pe *pe, const struct cmi_msg *m, uint8_t *flags_p);

#endif
