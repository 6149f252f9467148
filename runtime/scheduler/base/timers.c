/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timers.c: deferred calls on one PE: after a time (a heap by due time) or when a condition is
 * raised (idle, busy, periodic). Converse's Ccd. The loop reads the clock only while a timer is
 * set.
 *
 * The program and the runtime call different functions: a checkpoint refuses what the program has
 * set, because a C function is not in it.
 */
#include "base.h"
#include "../../machine/base/cmi_alloc.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

struct timer {
	uint64_t due_ns;
	uint64_t stamp;        /* equal times: first set, first run; odd: the runtime's */
	CcdVoidFn fn;
	void *arg;
};

struct csd_timers {
	struct timer *heap;    /* [pe->n_timers] */
	size_t cap;
	uint64_t stamp;        /* of the last one; even, but in csd_timer */
};

struct hook {
	CcdVoidFn fn;          /* NULL: free slot */
	void *arg;
	bool keep;
	bool own;              /* the runtime's, not the program's */
};

struct csd_hooks {
	struct {
		struct hook *v;
		int n, cap, live;
	} on[CCD_N_CONDITIONS];
};

void timers_init(struct pe *pe)
{
	pe->timers = cmi_alloc_zero(1, sizeof *pe->timers, "timers");
	pe->hooks = cmi_alloc_zero(1, sizeof *pe->hooks, "timers");
}

static bool timer_before(const struct timer *a, const struct timer *b)
{
	return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->stamp < b->stamp;
}

static void timer_push(struct pe *pe, struct timer t)
{
	struct csd_timers *ts = pe->timers;

	CMI_ONE_MORE(ts->heap, pe->n_timers, ts->cap, "timers");
	size_t i = pe->n_timers++;

	while (i > 0 && timer_before(&t, &ts->heap[(i - 1) / 2])) {
		ts->heap[i] = ts->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	ts->heap[i] = t;
}

static struct timer timer_pop(struct pe *pe)
{
	struct csd_timers *ts = pe->timers;
	size_t i = 0, child, n = --pe->n_timers;
	struct timer top = ts->heap[0];

	if (!n)
		return top;
	struct timer last = ts->heap[n];

	while ((child = 2 * i + 1) < n) {
		if (child + 1 < n && timer_before(&ts->heap[child + 1], &ts->heap[child]))
			child++;
		if (timer_before(&last, &ts->heap[child]))
			break;
		ts->heap[i] = ts->heap[child];
		i = child;
	}
	ts->heap[i] = last;
	return top;
}

void CcdCallFnAfter(CcdVoidFn fn, void *arg, double ms)
{
	struct pe *pe = pe_here("CcdCallFnAfter");
	uint64_t delay = ms > 0 ? (uint64_t)(ms * 1e6) : 0;

	timer_push(pe, (struct timer){ csd_now_ns() + delay, pe->timers->stamp += 2, fn, arg });
}

/* By the same function, so that timer_push is inlined there. */
void csd_timer(CcdVoidFn fn, void *arg, double ms)
{
	struct csd_timers *ts = pe_here("csd_timer")->timers;

	ts->stamp--;
	CcdCallFnAfter(fn, arg, ms);
	ts->stamp++;
}

uint64_t timers_next_ns(const struct pe *pe)
{
	return pe->n_timers ? pe->timers->heap[0].due_ns : UINT64_MAX;
}

/* Run what was due at one moment: a timer that sets itself again waits for the next pass. */
int timers_run_slow(struct pe *pe)
{
	struct csd_timers *ts = pe->timers;
	uint64_t now = csd_now_ns(), newest = ts->stamp;
	int n = 0;

	while (pe->n_timers && ts->heap[0].due_ns <= now && ts->heap[0].stamp <= newest) {
		struct timer t = timer_pop(pe);

		t.fn(t.arg);
		n++;
	}
	return n;
}

static const double period_ms[CCD_N_CONDITIONS] = {
	[CcdPERIODIC_10ms] = 10,
	[CcdPERIODIC_100ms] = 100,
	[CcdPERIODIC_1s] = 1000,
	[CcdQUIET_100ms] = 100,
};

/* A periodic condition has a timer, which raises it and sets itself again while functions wait. */
struct period {
	struct pe *pe;
	int condition;
};

static void period_over(void *arg)
{
	struct period p = *(struct period *)arg;

	free(arg);
	if (p.condition == CcdQUIET_100ms)
		csd_chatter_timer(p.pe, -1);
	hooks_raise(p.pe, p.condition);
}

/* We free the argument of a period that is still set; the user owns that of a user's timer. */
void timers_fini(struct pe *pe)
{
	for (size_t i = 0; i < pe->n_timers; i++)
		if (pe->timers->heap[i].fn == period_over)
			free(pe->timers->heap[i].arg);
	for (int c = 0; c < CCD_N_CONDITIONS; c++)
		free(pe->hooks->on[c].v);
	free(pe->hooks);
	free(pe->timers->heap);
	free(pe->timers);
}

static void period_start(struct pe *pe, int condition)
{
	struct period *p = cmi_alloc(sizeof *p, "a timer");

	*p = (struct period){ pe, condition };
	if (condition == CcdQUIET_100ms)
		csd_chatter_timer(pe, 1);
	csd_timer(period_over, p, period_ms[condition]);
}

static int hook_add(int condition, struct hook h)
{
	struct pe *pe = pe_here("CcdCallOnCondition");

	if (condition < 0 || condition >= CCD_N_CONDITIONS)
		csd_abort(pe, "CcdCallOnCondition: there is no condition %d", condition);
	struct csd_hooks *hs = pe->hooks;
	int i = 0;

	while (i < hs->on[condition].n && hs->on[condition].v[i].fn)
		i++;
	CMI_ONE_MORE(hs->on[condition].v, i, hs->on[condition].cap, "hooks");
	if (i == hs->on[condition].n)
		hs->on[condition].n++;
	hs->on[condition].v[i] = h;
	if (!hs->on[condition].live++ && period_ms[condition] > 0)
		period_start(pe, condition);
	return i;
}

int CcdCallOnCondition(int condition, CcdVoidFn fn, void *arg)
{
	return hook_add(condition, (struct hook){ fn, arg, false, false });
}

int CcdCallOnConditionKeep(int condition, CcdVoidFn fn, void *arg)
{
	return hook_add(condition, (struct hook){ fn, arg, true, false });
}

int csd_hook(int condition, CcdVoidFn fn, void *arg, bool keep)
{
	return hook_add(condition, (struct hook){ fn, arg, keep, true });
}

void CcdCancelCallOnCondition(int condition, int id)
{
	struct pe *pe = pe_here("CcdCancelCallOnCondition");
	struct csd_hooks *hs = pe->hooks;

	if (condition < 0 || condition >= CCD_N_CONDITIONS || id < 0 ||
	    id >= hs->on[condition].n || !hs->on[condition].v[id].fn)
		csd_abort(pe, "CcdCancelCallOnCondition: nothing waits there");
	hs->on[condition].v[id].fn = NULL;
	hs->on[condition].live--;
}

bool hooks_any(const struct pe *pe, int condition)
{
	return pe->hooks->on[condition].live > 0 && !pe->frozen;
}

void hooks_raise(struct pe *pe, int condition)
{
	struct csd_hooks *hs = pe->hooks;

	for (int i = 0; i < hs->on[condition].n; i++) {
		struct hook h = hs->on[condition].v[i];

		if (!h.fn)
			continue;
		if (!h.keep) {
			hs->on[condition].v[i].fn = NULL;
			hs->on[condition].live--;
		}
		h.fn(h.arg);
	}
	if (hs->on[condition].live && period_ms[condition] > 0)
		period_start(pe, condition);
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

/* Its name, or where it is in its file: programs need not export their functions. */
static struct csd_thing function_thing(CcdVoidFn fn)
{
	Dl_info at;
	void *p;

	memcpy(&p, &fn, sizeof p);
	if (!dladdr(p, &at) || !at.dli_fname)
		return csd_named(NULL, "the function at %p", p);
	if (at.dli_saddr == p)
		return csd_named(NULL, "%s", at.dli_sname);
	return csd_named(NULL, "the function at %s+0x%zx", strrchr(at.dli_fname, '/') ?
			 strrchr(at.dli_fname, '/') + 1 : at.dli_fname,
			 (size_t)((char *)p - (char *)at.dli_fbase));
}

static void timers_refuse(const struct pe *pe, struct csd_told *to)
{
	const uint64_t now = csd_now_ns();

	for (size_t i = 0; i < pe->n_timers; i++) {
		const struct timer *t = &pe->timers->heap[i];

		if (t->stamp % 2 == 0)
			csd_tell(to, NULL, "a timer of the program: %s in %.1f s (CcdCallFnAfter)",
				 function_thing(t->fn).name, t->due_ns > now ? (double)(t->due_ns - now) * 1e-9 : 0.0);
	}
}

void csd_refuse(const struct pe *pe, struct csd_told *to)
{
	static const char *const conditions[CCD_N_CONDITIONS] = {
		[CcdPROCESSOR_BEGIN_IDLE] = "CcdPROCESSOR_BEGIN_IDLE",
		[CcdPROCESSOR_STILL_IDLE] = "CcdPROCESSOR_STILL_IDLE",
		[CcdPROCESSOR_BEGIN_BUSY] = "CcdPROCESSOR_BEGIN_BUSY",
		[CcdPERIODIC_10ms] = "CcdPERIODIC_10ms",
		[CcdPERIODIC_100ms] = "CcdPERIODIC_100ms",
		[CcdPERIODIC_1s] = "CcdPERIODIC_1s",
		[CcdQUIET_100ms] = "CcdQUIET_100ms",
	};

	timers_refuse(pe, to);
	for (int c = 0; c < CCD_N_CONDITIONS; c++)
		for (int i = 0; i < pe->hooks->on[c].n; i++) {
			const struct hook *h = &pe->hooks->on[c].v[i];

			if (h->fn && !h->own)
				csd_tell(to, NULL, "a hook of the program: %s on %s (CcdCallOnCondition)",
					 function_thing(h->fn).name, conditions[c]);
		}
}
