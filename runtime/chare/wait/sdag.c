/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdag.c: Structured Dagger: calls that a `when` waits for, and the runs of bodies that wait for
 * them. An entry method that a `when` names has no handler. The element keeps its calls, in order
 * of arrival, until a `when` takes them. If a run waits for an arriving call, it continues at once
 * (bodies.c).
 *
 * Between runs, no waiting run can continue: a run checks the kept calls before it waits, and a new
 * call completes at most one run's wait. So a new call only has to find the first waiting run that
 * it completes.
 *
 * taken.c has what happens to the calls that a `when` has taken.
 */
#include "../../scheduler/cth.h"
#include "../../machine/base/cmi_alloc.h"
#include "extra.h"

#include <stdio.h>
#include <stdlib.h>

struct sdag *sdag_make(struct pe *pe, struct ck_obj *obj)
{
	struct ck_extra *x = extra_make(pe, obj);
	int n = obj->coll->type->n_entries;
	struct sdag *s = cmi_alloc_zero(1, sizeof *s + (size_t)n * sizeof s->kept[0],
					"the calls that wait on an element");
	s->tail = &s->waiting;
	s->n_entries = n;
	for (int i = 0; i < n; i++)
		msg_fifo_init(&s->kept[i]);
	return x->sdag = s;
}

/* ---- which calls ----------------------------------------------------------------------------- */

/* Of a result only the reference number is known. */
static inline bool call_fits(const struct ck_obj *obj, const CkGenWanted *w, const CkGenSlot *slot,
			     struct ck_env *env)
{
	if (!w->by_number)
		return true;
	if (CSD_UNLIKELY(env->flags & CK_CALL_REDUCED))
		return number_fits(env, CKGEN_REFNUM_AT, slot);
	if (CSD_UNLIKELY(w->by_number == CKGEN_BY_FUNCTION))
		return obj->coll->entries[w->entry].when(&slot->number, payload_of(env));
	return number_fits(env, w->by_number, slot);
}

static void unlink_at(struct msg_fifo *f, struct cmi_msg **p)
{
	struct cmi_msg *m = *p;

	*p = m->next;
	if (f->tail == &m->next)
		f->tail = p;
}

static void unlink_call(struct sdag *s, struct ck_env *env)
{
	struct msg_fifo *f = &s->kept[env->entry];
	struct cmi_msg **p = &f->head;

	while (*p != &env->head)
		p = &(*p)->next;
	unlink_at(f, p);
}

/* Take the oldest kept call that fits. */
static inline struct ck_env *take_kept(const struct ck_obj *obj, struct sdag *s,
				       const CkGenWanted *w, const CkGenSlot *slot)
{
	struct msg_fifo *f = &s->kept[w->entry];

	for (struct cmi_msg **p = &f->head; *p; p = &(*p)->next) {
		struct ck_env *env = (struct ck_env *)*p;

		if (!call_fits(obj, w, slot, env))
			continue;
		unlink_at(f, p);
		return env;
	}
	return NULL;
}

/* ---- alternatives of several calls ----------------------------------------------------------- */

/* Whether another member of the same alternative has chosen this call. */
static bool chosen(const CkGenSlot *slot, int n, const struct ck_env *env)
{
	for (int i = 0; i < n; i++)
		if (slot[i].env == env)
			return true;
	return false;
}

static struct ck_env *choose_call(const struct ck_obj *obj, struct sdag *s, const CkGenWanted *w,
				  const CkGenSlot *slot, int i)
{
	for (struct cmi_msg *m = s->kept[w[i].entry].head; m; m = m->next)
		if (call_fits(obj, &w[i], &slot[i], (struct ck_env *)m) &&
		    !chosen(slot, w->calls, (struct ck_env *)m))
			return (struct ck_env *)m;
	return NULL;
}

static void choose_none(CkGenSlot *slot, int n)
{
	for (int i = 0; i < n; i++)
		slot[i].env = NULL;
}

/* Choose all calls of the alternative that begins at w. Members with a number choose first, because
 * the others take any call. */
static bool choose_all(const struct ck_obj *obj, struct sdag *s, const CkGenWanted *w,
		       CkGenSlot *slot)
{
	for (int by_number = 1; by_number >= 0; by_number--)
		for (int i = 0; i < w->calls; i++)
			if (!w[i].by_number == !by_number &&
			    !(slot[i].env = choose_call(obj, s, w, slot, i))) {
				choose_none(slot, w->calls);
				return false;
			}
	return true;
}

static bool take_all(const struct ck_obj *obj, struct sdag *s, const CkGenWanted *w,
		     CkGenSlot *slot)
{
	if (!choose_all(obj, s, w, slot))
		return false;
	for (int i = 0; i < w->calls; i++)
		unlink_call(s, slot[i].env);
	return true;
}

/* Whether there is a kept call for every member of the alternative but w[i]; numbers are not
 * compared. */
static inline bool others_kept(const struct sdag *s, const CkGenWanted *w, int i)
{
	const int first = w[i].first, end = first + w[i].calls;

	for (int j = first; j < end; j++)
		if (j != i && !s->kept[w[j].entry].head)
			return false;
	return true;
}

/* ---- at a run's position --------------------------------------------------------------------- */

int sdag_find(struct sdag *s, CkGenRun *run)
{
	const CkGenPlace *p = run_place(run);
	const CkGenWanted *w = p->wanted;
	CkGenSlot *slot = &slots_of(run)[p->slot];

	for (int i = 0; i < p->n; i += w[i].calls) {
		if (slot[i].done)
			continue;
		if (w[i].calls > 1 ? take_all(run->obj, s, &w[i], &slot[i]) :
				     (slot[i].env = take_kept(run->obj, s, &w[i], &slot[i])) != NULL)
			return i;
	}
	return -1;
}

enum { NONE = -1, NOT_ALONE = -2 };

/* The index of the alternative of one call that takes the call; or NONE; or NOT_ALONE, if one that
 * has several calls may be complete. */
static int takes_alone(const struct sdag *s, CkGenRun *run, struct ck_env *env)
{
	const CkGenPlace *p = run_place(run);
	const CkGenWanted *w = p->wanted;
	const CkGenSlot *slot = &slots_of(run)[p->slot];

	for (int i = 0; i < p->n; i++) {
		if (w[i].entry != env->entry || slot[i].done)
			continue;
		if (w[i].calls == 1 && call_fits(run->obj, &w[i], &slot[i], env))
			return i;
		if (w[i].calls > 1 && others_kept(s, w, i))
			return NOT_ALONE;
	}
	return NONE;
}

/* ---- a call arrives -------------------------------------------------------------------------- */

static inline void keep(struct sdag *s, struct ck_env *env)
{
	msg_fifo_push(&s->kept[env->entry], &env->head);
}

static inline void unlink_run(struct sdag *s, CkGenRun **p)
{
	CkGenRun *run = *p;

	*p = run->behind;
	if (s->tail == &run->behind)
		s->tail = p;
	run->waits = false;
}

/* The run at *p has the calls of the alternative `from`. */
static void wake(struct pe *pe, struct sdag *s, CkGenRun **p, int from)
{
	CkGenRun *run = *p;

	unlink_run(s, p);
	run->from = (uint16_t)from;
	if (run->thread)
		CthResume(run->thread);
	else
		run_resume(pe, run);
}

static __attribute__((noinline)) void any_takes(struct pe *pe, struct sdag *s, struct ck_env *env)
{
	bool kept = false;

	for (CkGenRun **p = &s->waiting; *p; p = &(*p)->behind) {
		int from = takes_alone(s, *p, env);

		if (from >= 0) {
			slots_of(*p)[run_place(*p)->slot + from].env = env;
			if (kept)
				unlink_call(s, env);
		}
		if (from == NOT_ALONE) {
			if (!kept)
				keep(s, env);
			kept = true;
			from = sdag_find(s, *p);
		}
		if (from >= 0) {
			wake(pe, s, p, from);
			return;
		}
	}
	if (!kept)
		keep(s, env);
}

/* Where not the run that has waited longest takes the call, or another state must be saved. */
static __attribute__((noinline)) void arrives_otherwise(struct pe *pe, struct ck_obj *obj,
							struct ck_env *env)
{
	struct sdag *s = sdag_of(pe, obj);

	if (s->waiting)
		any_takes(pe, s, env);
	else
		keep(s, env);
}

/* The alternative that begins at w waits for this call, its w[i]; calls of each other entry are
 * kept. Whether the oldest ones complete it. False also if that is hard to tell: then any_takes
 * does. */
static inline bool completes(const struct sdag *s, const CkGenWanted *w, const CkGenSlot *slot,
			     int i, const struct ck_env *env)
{
	if (w->kind == CKGEN_HARD || !fits_plainly(&w[i], &slot[i], env))
		return false;
	for (int k = 0; k < w->calls; k++) {
		const struct ck_env *first = (const struct ck_env *)s->kept[w[k].entry].head;

		if (k != i &&
		    (first->flags & CK_CALL_REDUCED || !fits_plainly(&w[k], &slot[k], first)))
			return false;
	}
	return true;
}

static void complete(struct sdag *s, const CkGenWanted *w, CkGenSlot *slot, int i,
		     struct ck_env *env)
{
	for (int k = 0; k < w->calls; k++)
		if (k != i)
			slot[k].env = (struct ck_env *)msg_fifo_pop(&s->kept[w[k].entry]);
	slot[i].env = env;
}

/* The run that has waited longest waits for this entry, number `at` at its position, but not only
 * for one call that has the number. */
static __attribute__((noinline)) void arrives_among(struct pe *pe, struct sdag *s,
						    struct ck_env *env, int at)
{
	CkGenRun *run = s->waiting;
	const CkGenPlace *p = run_place(run);
	const int from = p->wanted[at].first;
	const CkGenWanted *w = &p->wanted[from];
	CkGenSlot *slot = &slots_of(run)[p->slot + from];

	if (!others_kept(s, p->wanted, at)) {
		if (w->calls == p->n && !run->behind) /* nothing else waits */
			keep(s, env);
		else
			any_takes(pe, s, env);
	} else if (completes(s, w, slot, at - from, env)) {
		complete(s, w, slot, at - from, env);
		wake(pe, s, &s->waiting, from);
	} else {
		any_takes(pe, s, env);
	}
}

/* Most alternatives are one call, and most calls find their `when` waiting. Then the call need not
 * be kept first. */
void sdag_arrives(struct pe *pe, struct ck_obj *obj, struct ck_env *env, const CkGenEntry *e)
{
	(void)e;
	struct sdag *s = sdag_if(pe, obj);
	CkGenRun *run = s ? s->waiting : NULL;

	if (CSD_LIKELY(run && !run->thread && runs_free(pe))) {
		const CkGenPlace *p = run_place(run);
		const CkGenWanted *w = p->wanted;
		CkGenSlot *slot = &slots_of(run)[p->slot];
		int i = 0;

		do {
			if (w->entry != env->entry || slot->done) {
				/* not this one */
			} else if (CSD_UNLIKELY(w->kind != CKGEN_ALONE)) {
				arrives_among(pe, s, env, i);
				return;
			} else if (fits_plainly(w, slot, env)) {
				unlink_run(s, &s->waiting);
				run_resume_with(pe, run, w, slot, p->slot + i, env);
				return;
			}
			w++;
			slot++;
		} while (++i < p->n);
	}
	arrives_otherwise(pe, obj, env);
}

bool sdag_takes(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared)
{
	any_takes(pe, sdag_of(pe, obj), shared ? own_copy(pe, env) : env);
	return true;
}

/* "left[3], or right and done" */
static void describe_wanted(const CkGenChare *type, const CkGenPlace *p, const CkGenSlot *slot,
			    char *buf, size_t len)
{
	size_t at = 0;

	buf[0] = 0;
	for (int i = 0; i < p->n && at < len; i++) {
		const CkGenWanted *w = &p->wanted[i];
		const char *before = !at ? "" : w->alternative == w[-1].alternative ? " and " : ", or ";

		if (slot[i].done)
			continue;
		at += (size_t)snprintf(buf + at, len - at, "%s%s", before, type->entries[w->entry].name);
		if (w->by_number && at < len)
			at += (size_t)snprintf(buf + at, len - at, "[%d]", slot[i].number);
	}
}

/* For a body with a stack of its own, which is also a waiting thread, this line is enough. */
static void describe_run(CkGenRun *run, struct csd_told *to)
{
	const struct ck_obj *obj = run->obj;
	const CkGenChare *type = obj->coll->type;
	const CkGenPlace *p = run_place(run);
	char what[160];

	if (run->thread)
		csd_thread_tell(run->thread);
	describe_wanted(type, p, &slots_of(run)[p->slot], what, sizeof what);
	csd_tell(to, NULL, "%s of %s in %s (%s:%d) waits for a call: when %s",
		 run->thread ? "thread" : "body", obj_thing(obj).name,
		 entry_thing(type, run->body->entry).name, run->body->file, p->line, what);
}

void sdag_describe(const struct ck_extra *x, struct csd_told *to)
{
	for (CkGenRun *run = x->sdag->waiting; run; run = run->behind)
		describe_run(run, to);
	for (int e = 0; e < x->sdag->n_entries; e++) {
		const size_t n = msg_fifo_count(&x->sdag->kept[e]);

		if (n)
			csd_tell(to, NULL, "%s of %s at %s, which no when takes now",
				 csd_plural(n, "kept call", "kept calls").text,
				 entry_thing(x->obj->coll->type, (uint32_t)e).name, obj_thing(x->obj).name);
	}
}

/* ---- the end --------------------------------------------------------------------------------- */

static void report_kept(struct pe *pe, const struct ck_obj *obj, const struct sdag *s)
{
	const struct cmi_msg *first = NULL;
	size_t n = 0;
	char name[128];

	for (int i = s->n_entries - 1; i >= 0; i--) {
		n += msg_fifo_count(&s->kept[i]);
		first = s->kept[i].head ? s->kept[i].head : first;
	}
	if (!first)
		return;
	describe_entry(obj->coll->type, ((const struct ck_env *)first)->entry, name, sizeof name);
	fprintf(stderr, "chard: PE %d: at exit %s at %s for a 'when', the first is %s\n", pe->id,
		csd_plural(n, "call still waits", "calls still wait").text, obj_thing(obj).name, name);
}

/* The element is being destroyed. */
void sdag_drop_calls(struct pe *pe, struct ck_extra *x)
{
	struct sdag *s = x->sdag;

	for (int i = 0; s && i < s->n_entries; i++)
		while (s->kept[i].head)
			call_drop(pe, x->obj, (struct ck_env *)msg_fifo_pop(&s->kept[i]));
}

/* No thread of the element is left. */
void sdag_drop(struct pe *pe, struct ck_extra *x)
{
	if (!x->sdag)
		return;
	sdag_drop_calls(pe, x);
	runs_drop(pe, x->sdag, true);
	free(x->sdag);
	x->sdag = NULL;
}

/* At the end of the job: drop the calls that whens have taken; the threads' stacks are still there.
 * threads_drop drops the messages that the threads themselves run with. */
void sdag_leave(struct pe *pe, struct ck_extra *x)
{
	struct sdag *s = x->sdag;

	if (!s)
		return;
	if (pe->node->check)
		report_kept(pe, x->obj, s);
	for (int i = 0; i < s->n_entries; i++)
		while (s->kept[i].head)
			csd_msg_free(pe, msg_fifo_pop(&s->kept[i]));
	runs_drop(pe, s, false);
	free(s);
	x->sdag = NULL;
}
