/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk.c: a PE's records as nested spans. A record that ends an unknown span, because the ring has
 * wrapped, is skipped; spans open at the end of the trace end there. A thread that waits leaves the
 * PE with all spans that began in it, and they begin again when it continues.
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

/* A mark is a thread's lower end in the stack of spans. */
enum { THREAD_MARK = SPAN_KINDS };

struct waiting {
	uint64_t thread;
	struct span *spans;
	size_t n;
};

struct walk {
	const struct job *j;
	const struct pe_trace *p;
	const struct walker *w;
	struct span *stack;
	size_t n, cap;
	struct waiting *waiting;
	size_t n_waiting, cap_waiting;
	uint64_t *threads;           /* that run, one inside the other */
	size_t n_threads, cap_threads;
};

static void push(struct walk *k, struct span s, int64_t now)
{
	if (k->n == k->cap) {
		k->cap = k->cap ? 2 * k->cap : 64;
		k->stack = need(realloc(k->stack, k->cap * sizeof *k->stack));
	}
	s.start = now;
	s.inner = 0;
	s.depth = 0;
	for (size_t i = 0; i < k->n; i++)
		s.depth += (int)k->stack[i].kind != THREAD_MARK;
	k->stack[k->n++] = s;
	if ((int)s.kind != THREAD_MARK && k->w->begin)
		k->w->begin(k->w->arg, &s);
}

static struct span pop(struct walk *k, int64_t now)
{
	struct span s = k->stack[--k->n];

	s.end = now;
	if ((int)s.kind == THREAD_MARK)
		return s;
	for (size_t i = k->n; i-- > 0;)
		if ((int)k->stack[i].kind != THREAD_MARK) {
			k->stack[i].inner += now - s.start;
			break;
		}
	if (k->w->end)
		k->w->end(k->w->arg, &s);
	return s;
}

/* End the innermost span of this kind, and those inside it; not across the lower end of a
 * thread. */
static void end_span(struct walk *k, enum span_kind kind, unsigned what, bool any, int64_t now)
{
	size_t i = k->n;

	while (i-- > 0 && (int)k->stack[i].kind != THREAD_MARK)
		if (k->stack[i].kind == kind && (any || k->stack[i].what == what)) {
			while (k->n > i)
				pop(k, now);
			return;
		}
}

static void end_idle(struct walk *k, int64_t now)
{
	if (k->n && k->stack[k->n - 1].kind == SPAN_IDLE)
		pop(k, now);
}

static void moment(struct walk *k, struct span s, int64_t now)
{
	s.start = s.end = now;
	s.depth = (int)k->n;
	if (k->w->moment)
		k->w->moment(k->w->arg, &s);
}

static void resume(struct walk *k, uint64_t thread, uint32_t record, int64_t now)
{
	push(k, (struct span){ .kind = (enum span_kind)THREAD_MARK, .record = record }, now);
	if (k->n_threads == k->cap_threads) {
		k->cap_threads = k->cap_threads ? 2 * k->cap_threads : 16;
		k->threads = need(realloc(k->threads, k->cap_threads * sizeof *k->threads));
	}
	k->threads[k->n_threads++] = thread;
	for (size_t i = 0; i < k->n_waiting; i++) {
		struct waiting w = k->waiting[i];

		if (w.thread != thread)
			continue;
		k->waiting[i] = k->waiting[--k->n_waiting];
		for (size_t s = 0; s < w.n; s++) {
			w.spans[s].resumed = true;
			push(k, w.spans[s], now);
		}
		free(w.spans);
		return;
	}
}

static void suspend(struct walk *k, uint64_t thread, int64_t now)
{
	size_t from = k->n;

	if (!k->n_threads || k->threads[k->n_threads - 1] != thread)
		return;
	k->n_threads--;
	while ((int)k->stack[from - 1].kind != THREAD_MARK)
		from--;
	struct waiting w = { thread, NULL, k->n - from };

	if (w.n) {
		w.spans = need(malloc(w.n * sizeof *w.spans));
		memcpy(w.spans, k->stack + from, w.n * sizeof *w.spans);
		if (k->n_waiting == k->cap_waiting) {
			k->cap_waiting = k->cap_waiting ? 2 * k->cap_waiting : 64;
			k->waiting = need(realloc(k->waiting, k->cap_waiting * sizeof *k->waiting));
		}
		k->waiting[k->n_waiting++] = w;
	}
	while (k->n >= from)
		pop(k, now);
}

static void end_all(struct walk *k, int64_t now)
{
	while (k->n)
		pop(k, now);
	k->n_threads = 0;
	while (k->n_waiting)
		free(k->waiting[--k->n_waiting].spans);
}

static void take(struct walk *k, const struct trace_record *r, uint32_t i, int64_t now)
{
	struct span s = { .what = r->what, .record = i };

	/* A PE that was idle reports that it is busy after the first handler. */
	if (r->kind != TRACE_IDLE && r->kind != TRACE_SEND && r->kind != TRACE_USER_COUNTER)
		end_idle(k, now);
	switch (r->kind) {
	case TRACE_HANDLE: s.kind = SPAN_HANDLER; push(k, s, now); break;
	case TRACE_BEGIN: s.kind = SPAN_ENTRY; push(k, s, now); break;
	case TRACE_PUT_BEGIN: s.kind = SPAN_PUT; push(k, s, now); break;
	case TRACE_USER_BEGIN: s.kind = SPAN_USER; push(k, s, now); break;
	case TRACE_IDLE:
		end_idle(k, now);
		s.kind = SPAN_IDLE;
		push(k, s, now);
		break;
	case TRACE_HANDLE_END: end_span(k, SPAN_HANDLER, r->what, false, now); break;
	case TRACE_END: end_span(k, SPAN_ENTRY, r->what, false, now); break;
	case TRACE_PUT_END: end_span(k, SPAN_PUT, 0, true, now); break;
	case TRACE_USER_END: end_span(k, SPAN_USER, 0, true, now); break;
	case TRACE_RESUME: resume(k, record_value(r), i, now); break;
	case TRACE_SUSPEND: suspend(k, record_value(r), now); break;
	case TRACE_OFF: end_all(k, now); break;
	case TRACE_SEND: s.kind = SPAN_SEND; moment(k, s, now); break;
	case TRACE_ARRIVE: s.kind = SPAN_ARRIVE; moment(k, s, now); break;
	case TRACE_PUT: s.kind = SPAN_PUT_SENT; moment(k, s, now); break;
	case TRACE_TAKEN: s.kind = SPAN_TAKEN; moment(k, s, now); break;
	case TRACE_CREATE: s.kind = SPAN_CREATE; moment(k, s, now); break;
	case TRACE_CONTRIBUTE: s.kind = SPAN_CONTRIBUTE; moment(k, s, now); break;
	case TRACE_LEAVE: s.kind = SPAN_LEAVE; moment(k, s, now); break;
	case TRACE_COME: s.kind = SPAN_COME; moment(k, s, now); break;
	case TRACE_USER_MARK: s.kind = SPAN_MARK; moment(k, s, now); break;
	case TRACE_USER_COUNTER: s.kind = SPAN_COUNTER; moment(k, s, now); break;
	default: break;
	}
}

void trace_walk(const struct job *j, const struct pe_trace *p, const struct walker *w)
{
	struct walk k = { .j = j, .p = p, .w = w };
	int64_t now = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		const struct trace_record *r = record_at(p, i);
		int64_t at = record_ns(j, p, r);

		now = at > now ? at : now;
		take(&k, r, i, now);
	}
	end_all(&k, now);
	free(k.stack);
	free(k.waiting);
	free(k.threads);
}

size_t n_names(const struct job *j, enum trace_name_kind kind)
{
	size_t n = 0;

	for (int i = 0; i < j->n_pes; i++)
		if (j->pes[i].names[kind].n > n)
			n = j->pes[i].names[kind].n;
	return n;
}

const char *span_name(const struct pe_trace *p, const struct span *s)
{
	switch (s->kind) {
	case SPAN_ENTRY: return trace_name_of(p, TRACE_NAME_ENTRY, s->what);
	case SPAN_HANDLER: return trace_name_of(p, TRACE_NAME_HANDLER, s->what);
	case SPAN_USER: case SPAN_MARK: case SPAN_COUNTER: return trace_name_of(p, TRACE_NAME_EVENT, s->what);
	case SPAN_IDLE: return "idle";
	case SPAN_PUT: return "put arrived";
	case SPAN_PUT_SENT: return "put";
	case SPAN_SEND: return "send";
	case SPAN_TAKEN: return "call taken";
	case SPAN_CREATE: return "created";
	case SPAN_CONTRIBUTE: return "contributes";
	case SPAN_LEAVE: return "leaves";
	case SPAN_COME: return "has come";
	default: return "arrived";
	}
}
