/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traced.c: records messages sent, arrived and handled, idle times and threads. traced.h says why a
 * job without a trace has no test on these paths.
 *
 * cktrace matches sends with handlers afterwards. Messages with CSD_TRACE_WORD carry their sender's
 * number in head.word, which they do not use otherwise. For the others a hash of their contents is
 * enough, since similar messages do not overtake each other: the k-th sent is the k-th handled.
 */
#include "../route/msg_route.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../machine/tools/cmi_hash.h"

enum {
	NAMES_ROOM = 60 << 10,       /* bytes: for handlers and the program's events */
	KEY_FROM = 32, KEY_BYTES = 16, /* the bytes behind the head: the subject, not the data */
};

/* ---- messages -------------------------------------------------------------------------------- */

/* It leaves out flags that change on the way. */
static uint32_t key_of(const struct cmi_msg *m)
{
	uint64_t h = cmi_hash(CMI_HASH_START, &m->handler, sizeof m->handler);

	if (m->size >= KEY_FROM + KEY_BYTES)
		h = cmi_hash(h, (const char *)m + KEY_FROM, KEY_BYTES);
	if ((m->flags & CMI_F_PRIO) && !(m->flags & CMI_F_WIDE))
		h = cmi_hash(h, &m->prio, sizeof m->prio);
	return (uint32_t)(h ^ h >> 32);
}

static bool has_number(const struct pe *pe, const struct cmi_msg *m)
{
	const struct node *node = pe->node;

	return (node->handlers[m->handler].trace & CSD_TRACE_WORD) && !(m->flags & CMI_F_PRIO) &&
	       !(node->up.word_in_use && node->up.word_in_use(m));
}

uint32_t csd_trace_seq(const struct pe *pe, const struct cmi_msg *m, uint8_t *flags_p)
{
	if (CSD_LIKELY(has_number(pe, m))) {
		*flags_p = 0;
		return m->word;
	}
	*flags_p = TRACE_KEYED;
	return key_of(m);
}

static bool is_recorded(const struct pe *pe, const struct cmi_msg *m)
{
	return pe->trace->on && !handler_is_own(pe->node, m) && m->handler < pe->node->n_handlers;
}

static void record_message(struct pe *pe, enum trace_kind kind, const struct cmi_msg *m, int other,
			   uint8_t flags)
{
	struct pe_trace *t = pe->trace;
	struct trace_record *r = csd_trace_next(t, kind, m->handler, other);
	uint8_t keyed;

	r->seq = csd_trace_seq(pe, m, &keyed);
	r->flags = flags | keyed;
	r->bytes = trace_bytes(m->size);
	trace_set_value(r, 0);
	trace_done(t->file, r);
}

static void record_sent(struct pe *pe, int to, struct cmi_msg *m, uint8_t flags)
{
	struct pe_trace *t = pe->trace;

	/* Even while this PE's trace is off: the receiver's may be on, and would see an old number. */
	if (m->handler < pe->node->n_handlers && has_number(pe, m)) {
		t->seq += t->seq == UINT32_MAX ? 2 : 1;
		m->word = t->seq;
	}
	if (is_recorded(pe, m))
		record_message(pe, TRACE_SEND, m, to, flags);
}

static void record_queued(struct pe *pe, struct cmi_msg *m)
{
	if (m->src_pe == pe->id)
		record_sent(pe, pe->id, m, 0);
	else if (is_recorded(pe, m))
		record_message(pe, TRACE_ARRIVE, m, m->src_pe, 0);
}

/* Records the call only if fn has not recorded its begin. */
static void handle_call(struct pe *pe, struct cmi_msg *m, CmiHandler fn)
{
	struct pe_trace *t = pe->trace;
	const struct cmi_msg *outer = t->call;
	int from = m->src_pe;
	uint16_t handler = m->handler;
	uint8_t keyed;
	uint32_t seq = csd_trace_seq(pe, m, &keyed);
	uint64_t bytes = m->size;

	t->call = m;
	fn(pe, m);
	if (t->call == m && t->on) {
		struct trace_record *r = csd_trace_next(t, TRACE_TAKEN, handler, from);

		r->seq = seq;
		r->flags = keyed | t->again;
		r->bytes = trace_bytes(bytes);
		trace_set_value(r, 0);
		trace_done(t->file, r);
	}
	t->call = outer;
}

static void record_end(struct pe_trace *t, unsigned handler)
{
	struct trace_record *r = csd_trace_next(t, TRACE_HANDLE_END, handler, -1);

	r->seq = 0;
	r->bytes = 0;
	trace_set_value(r, 0);
	trace_done(t->file, r);
}

static void handle_other(struct pe *pe, struct cmi_msg *m, CmiHandler fn)
{
	struct pe_trace *t = pe->trace;
	const uint16_t handler = m->handler;

	record_message(pe, TRACE_HANDLE, m, m->src_pe, t->again);
	fn(pe, m);
	if (t->on)
		record_end(t, handler);
}

/* A handler inside another, or on a thread, gets a message that has waited; but the handler in
 * which a PE is frozen gets new ones. Both fields are restored, not counted down, because fn may be
 * suspended on a thread meanwhile. */
static void handle(struct pe *pe, struct cmi_msg *m, CmiHandler fn)
{
	struct pe_trace *t = pe->trace;

	if (!t || !t->on) {
		fn(pe, m);
		return;
	}
	const bool outer = t->handling;
	const uint8_t outer_again = t->again;

	t->again = outer && !pe->frozen ? TRACE_AGAIN : 0;
	t->handling = true;
	((pe->node->handlers[m->handler].trace & CSD_TRACE_CALL) ? handle_call : handle_other)(pe, m, fn);
	t->handling = outer;
	t->again = outer_again;
}

/* Replaces the handlers that are not the scheduler's own. */
static void handle_traced(struct pe *pe, struct cmi_msg *m)
{
	handle(pe, m, pe->node->trace.fn[m->handler]);
}

/* Replaces their functions for messages of other processes. */
static void arrived_traced(struct pe *pe, struct cmi_msg *m)
{
	handle(pe, m, pe->node->trace.arrived[m->handler]);
}

/* arrival_handle calls fn, which is replaced anyway. */
static void trace_handler(struct node *node, int i)
{
	struct csd_handler *h = &node->handlers[i];

	node->trace.fn[i] = h->fn;
	node->trace.arrived[i] = h->arrived;
	h->fn = handle_traced;
	if (h->arrived != arrival_handle)
		h->arrived = arrived_traced;
}

/* ---- idle, threads --------------------------------------------------------------------------- */

static void record_moment(struct pe *pe, enum trace_kind kind, uint64_t value)
{
	struct pe_trace *t = pe->trace;

	if (!t || !t->on)
		return;
	struct trace_record *r = csd_trace_next(t, kind, 0, -1);

	r->seq = 0;
	r->bytes = 0;
	trace_set_value(r, value);
	trace_done(t->file, r);
}

static void record_idle(void *pe) { record_moment(pe, TRACE_IDLE, 0); }
static void record_busy(void *pe) { record_moment(pe, TRACE_BUSY, 0); }

static void push_thread(struct pe_trace *t, const uint64_t *running)
{
	if (t->n_threads == t->cap_threads) {
		size_t cap = t->cap_threads ? 2 * t->cap_threads : 8;

		t->threads = cmi_realloc(t->threads, cap, sizeof *t->threads, "the trace of threads");
		t->cap_threads = cap;
	}
	t->threads[t->n_threads++] = running;
}

/* Threads are nested: the last that was resumed leaves first. */
static void record_swap(struct pe *pe, uint64_t running[CSD_RUNNING_WORDS + 1], bool after)
{
	struct pe_trace *t = pe->trace;

	if (!t)
		return;
	if (!after)
		t->leaves = t->n_threads && t->threads[t->n_threads - 1] == running;
	if (!after && t->leaves) {
		record_moment(pe, TRACE_SUSPEND, (uintptr_t)running);
		t->n_threads--;
	} else if (after && !t->leaves) {
		push_thread(t, running);
		record_moment(pe, TRACE_RESUME, (uintptr_t)running);
	}
}

/* ---- start and stop -------------------------------------------------------------------------- */

static void traced_asked(struct node *node)
{
	node->trace.asked = trace_asked();
	node->closely |= node->trace.asked.on;
}

static void traced_ready(struct node *node)
{
	if (!node->trace.asked.on)
		return;
	trace_make_folder(&node->trace.asked);
	for (int i = 0; i < node->n_handlers; i++)
		if (!node->handlers[i].own &&
		    i != node->h_held) /* which passes messages on to their handlers */
			trace_handler(node, i);
	csd_watch_swaps(node, record_swap);
}

/* No back-trace: the disk is at fault, not the program. */
_Noreturn static void no_file(struct pe *pe, const char *why)
{
	char line[TRACE_TEXT + 320];

	snprintf(line, sizeof line, "chard: PE %d (node %d): %s", pe->id, pe->node->job->node, why);
	cmi_abort(pe->node->machine, 1, false, line);
}

static void traced_pe_start(struct pe *pe)
{
	const struct node *node = pe->node;
	const struct cmi_job *job = node->job;
	const struct trace_writer w = {
		.pe = pe->id, .n_pes = job->n_pes, .node = job->node, .n_nodes = job->n_nodes,
		.first_pe = job->my_first_pe, .epoch = node->epoch.no,
		.checkpoint = node->epoch.checkpoint, .host_id = job->host_id[job->node],
		.argv = node->cfg->argv, .argc = node->cfg->argc,
	};
	char why[TRACE_TEXT + 256];

	if (!node->trace.asked.on)
		return;
	struct pe_trace *t = cmi_alloc_zero(1, sizeof *t, "the trace");

	t->file = trace_create(&node->trace.asked, &w, NAMES_ROOM + node->trace.names_bytes, why,
			       sizeof why);
	if (!t->file)
		no_file(pe, why);
	for (int i = 0; i < node->n_handlers; i++)
		trace_add_name(t->file, TRACE_NAME_HANDLER, (uint16_t)i, node->handlers[i].name);
	t->on = true;
	t->queued = record_queued;
	t->sent = record_sent;
	pe->trace = t;
	pe->queue.traced = pe;
	pe->queue.mixed = true;
	csd_hook(CcdPROCESSOR_BEGIN_IDLE, record_idle, pe, true);
	csd_hook(CcdPROCESSOR_BEGIN_BUSY, record_busy, pe, true);
}

static void traced_pe_stop(struct pe *pe)
{
	struct pe_trace *t = pe->trace;

	if (!t)
		return;
	pe->queue.traced = NULL;
	pe->trace = NULL;
	trace_close(t->file);
	free(t->threads);
	free(t);
}

const struct csd_layer trace_layer = {
	.name = "the trace", .asked = traced_asked, .ready = traced_ready, .pe_start = traced_pe_start,
	.pe_stop = traced_pe_stop,
};
