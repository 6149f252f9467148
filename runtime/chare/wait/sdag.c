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
 * The calls that a `when` took are freed after its body, like a handler's message. The last of them
 * is the running message (now.env). The others, and the state before, lie in the run and are lent
 * (owner_lend), so the runtime detects when the body sends or frees one of them.
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

static inline bool call_fits(const struct ck_obj *obj, const CkGenWanted *w, const CkGenSlot *slot,
		      struct ck_env *env)
{
	const CkGenEntry *e = &obj->coll->entries[w->entry];

	if (!w->by_number)
		return true;
	if (e->when && !(env->flags & CK_CALL_REDUCED))
		return e->when(&slot->number, payload_of(env));
	return env->refnum == slot->number;
}

/* Whether another member of the same alternative has chosen this call. */
static bool chosen(const CkGenSlot *slot, int from, int to, const struct ck_env *env)
{
	for (int i = from; i < to; i++)
		if (slot[i].env == env)
			return true;
	return false;
}

static struct ck_env *choose_call(const struct ck_obj *obj, struct sdag *s, const CkGenWanted *w,
				  const CkGenSlot *slot, int from, int to, int i)
{
	for (struct cmi_msg *m = s->kept[w[i].entry].head; m; m = m->next)
		if (call_fits(obj, &w[i], &slot[i], (struct ck_env *)m) &&
		    !chosen(slot, from, to, (struct ck_env *)m))
			return (struct ck_env *)m;
	return NULL;
}

static void choose_none(CkGenSlot *slot, int from, int to)
{
	for (int i = from; i < to; i++)
		slot[i].env = NULL;
}

/* Choose all calls of the alternative w[from .. to - 1]. Members with a number choose first,
 * because the others take any call. */
static bool choose_all(const struct ck_obj *obj, struct sdag *s, const CkGenWanted *w,
		       CkGenSlot *slot, int from, int to)
{
	for (int by_number = 1; by_number >= 0; by_number--)
		for (int i = from; i < to; i++)
			if (w[i].by_number == by_number &&
			    !(slot[i].env = choose_call(obj, s, w, slot, from, to, i))) {
				choose_none(slot, from, to);
				return false;
			}
	return true;
}

static int alternative_end(const CkGenWanted *w, int n, int from)
{
	int to = from;

	while (to < n && w[to].alternative == w[from].alternative)
		to++;
	return to;
}

static void unlink_call(struct msg_fifo *f, struct ck_env *env)
{
	struct cmi_msg **p = &f->head;

	while (*p != &env->head)
		p = &(*p)->next;
	*p = env->head.next;
	if (f->tail == &env->head.next)
		f->tail = p;
}

/* Find the first complete alternative, and take its calls out of those kept. -1: none. */
static int find_complete(const struct ck_obj *obj, struct sdag *s, const CkGenPlace *p,
			 CkGenSlot *slot)
{
	const CkGenWanted *w = p->wanted;
	int to;

	for (int from = 0; from < p->n; from = to) {
		to = alternative_end(w, p->n, from);
		if (slot[from].done || !choose_all(obj, s, w, slot, from, to))
			continue;
		for (int i = from; i < to; i++)
			unlink_call(&s->kept[w[i].entry], slot[i].env);
		return w[from].alternative;
	}
	return -1;
}

enum { NONE = -1, NOT_ALONE = -2 };

/* Most alternatives are one call, and most calls find their `when` waiting: then the call need not
 * be kept first. The alternative that takes it; or NONE; or NOT_ALONE, if a possible one has
 * several calls. */
static int takes_alone(const struct ck_obj *obj, const CkGenPlace *p, CkGenSlot *slot,
		       struct ck_env *env)
{
	const CkGenWanted *w = p->wanted;

	for (int i = 0; i < p->n; i++) {
		if (w[i].entry != env->entry || slot[i].done)
			continue;
		if ((i > 0 && w[i - 1].alternative == w[i].alternative) ||
		    (i + 1 < p->n && w[i + 1].alternative == w[i].alternative))
			return NOT_ALONE;
		if (!call_fits(obj, &w[i], &slot[i], env))
			continue;
		slot[i].env = env;
		return w[i].alternative;
	}
	return NONE;
}

/* Whether any call that is wanted at this point has arrived. */
static bool any_kept(const struct sdag *s, const CkGenPlace *p, const CkGenSlot *slot)
{
	int i = 0;

	do
		if (s->kept[p->wanted[i].entry].head && !slot[i].done)
			return true;
	while (++i < p->n);
	return false;
}

/* ---- a call arrives -------------------------------------------------------------------------- */

/* The run waits for calls. */
void sdag_wait(struct sdag *s, CkGenRun *run)
{
	run->waits = true;
	run->behind = NULL;
	*s->tail = run;
	s->tail = &run->behind;
}

static void wake(struct pe *pe, struct sdag *s, CkGenRun **p, int found)
{
	CkGenRun *run = *p;

	*p = run->behind;
	if (s->tail == &run->behind)
		s->tail = p;
	run->waits = false;
	run->found = found;
	if (run->thread)
		CthResume(run->thread);
	else
		run_resume(pe, run);
}

/* The usual arrival: the run that has waited longest waits for one call, which is this one. */
static inline bool first_takes(struct pe *pe, struct ck_obj *obj, struct sdag *s,
			       struct ck_env *env)
{
	CkGenRun *run = s->waiting;

	if (!run)
		return false;
	const CkGenPlace *at = run_place(run);
	const CkGenWanted *w = at->wanted;
	CkGenSlot *slot = &slots_of(run)[at->slot];

	if (at->n > 1 || w->entry != env->entry || slot->done || !call_fits(obj, w, slot, env))
		return false;
	slot->env = env;
	wake(pe, s, &s->waiting, w->alternative);
	return true;
}

static __attribute__((noinline)) bool any_takes(struct pe *pe, struct ck_obj *obj, struct sdag *s,
						struct ck_env *env)
{
	bool kept = false;

	for (CkGenRun **p = &s->waiting; *p; p = &(*p)->behind) {
		const CkGenPlace *at = run_place(*p);
		CkGenSlot *slot = &slots_of(*p)[at->slot];
		int found = takes_alone(obj, at, slot, env);

		if (found >= 0 && kept)
			unlink_call(&s->kept[env->entry], env);
		if (found == NOT_ALONE) {
			if (!kept)
				msg_fifo_push(&s->kept[env->entry], &env->head);
			kept = true;
			found = find_complete(obj, s, at, slot);
		}
		if (found >= 0) {
			wake(pe, s, p, found);
			return true;
		}
	}
	if (!kept)
		msg_fifo_push(&s->kept[env->entry], &env->head);
	return true;
}

bool sdag_takes(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared)
{
	struct sdag *s = sdag_of(pe, obj);

	if (shared)
		env = own_copy(pe, env);
	return first_takes(pe, obj, s, env) || any_takes(pe, obj, s, env);
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
			csd_tell(to, NULL, "%zu calls of %s are kept at %s, and no when takes them now", n,
				 entry_thing(x->obj->coll->type, (uint32_t)e).name, obj_thing(x->obj).name);
	}
}

/* ---- a `when` has its calls ------------------------------------------------------------------ */

/* The pointer to the running call while other code runs inside it. */
static void **holder_of(CkGenRun *run)
{
	return run->inner < 0 ? &run->env : &slots_of(run)[run->inner].env;
}

void run_set_aside(struct pe *pe, CkGenRun *run)
{
	struct ck_pe *ck = ck_of(pe);
	void **holder = holder_of(run);

	*holder = ck->now.env;
	ck->now.env = NULL;
	if (*holder && !ck->shared)
		owner_lend(*holder, holder);
	ck->shared = false;
}

void run_put_back(struct pe *pe, CkGenRun *run)
{
	struct ck_pe *ck = ck_of(pe);
	void **holder = holder_of(run);
	struct ck_env *env = *holder;

	*holder = NULL;
	ck->shared = run->inner < 0 && run->shared;
	ck->now.env = env;
	ck->now.entry = run->inner < 0 ? (uint32_t)run->body->entry : slots_of(run)[run->inner].entry;
	if (env && !ck->shared)
		env->head.mark = OWNER_HANDLER;
}

void run_begin(struct pe *pe, CkGenRun *run)
{
	const CkGenPlace *p = run_place(run);
	const CkGenWanted *w = p->wanted;
	int from = 0;

	while (w[from].alternative != run->found)
		from++;
	const int last = p->n == 1 ? 0 : alternative_end(w, p->n, from) - 1;
	CkGenSlot *slot = &slots_of(run)[p->slot];
	struct ck_env *env = slot[last].env;

	run_set_aside(pe, run);
	slot[from].before = ck_of(pe)->unpacked;
	for (int i = from; i < last; i++)
		owner_lend(slot[i].env, &slot[i].env);
	slot[last].env = NULL;
	slot[last].entry = (uint16_t)w[last].entry;
	run->inner = p->slot + last;
	ck_of(pe)->now.env = env;
	ck_of(pe)->now.entry = (uint32_t)w[last].entry;
	env->head.mark = OWNER_HANDLER;
}

bool CkGen_wait(CkGenRun *run, int place)
{
	struct pe *pe = ck_self();
	struct ck_obj *obj = run->obj;
	struct sdag *s = extra_of(pe, obj)->sdag;

	run->at = (uint32_t)place;
	const CkGenPlace *p = run_place(run);

	CkGenSlot *slot = &slots_of(run)[p->slot];

	run->found = NONE;
	if (CSD_UNLIKELY(any_kept(s, p, slot)))
		run->found = find_complete(obj, s, p, slot);
	if (run->found < 0) {
		sdag_wait(s, run);
		if (!run->thread)
			return false;
		/* Other code may awaken this thread before its calls are there. */
		while (run->waits)
			CthSuspend();
	}
	run_begin(pe, run);
	return true;
}

/* The last call of a `when` is the running one. */
static struct ck_env *call_in(const struct pe *pe, CkGenRun *run, int slot)
{
	return slot == run->inner ? ck_of(pe)->now.env : slots_of(run)[slot].env;
}

void take_params(struct pe *pe, const struct collection *c, struct ck_env *env, void *in)
{
	if (env->flags & CK_CALL_LENT)
		ncpy_arrived(pe, &c->entries[env->entry], env);
	checked_call(pe, c, env)(in, payload_of(env));
}

void CkGen_take(CkGenRun *run, int slot, void *in)
{
	struct pe *pe = ck_self();

	take_params(pe, ((struct ck_obj *)run->obj)->coll, call_in(pe, run, slot), in);
}

/* buffers/ finds the call as the running one. If it keeps the call, it owns it until
 * body_posted. */
bool CkGen_takePosted(CkGenRun *run, int place, void *in)
{
	struct pe *pe = ck_self();
	const CkGenPlace *p = &run->body->places[place];
	struct ck_env *env = call_in(pe, run, p->slot);
	const struct ck_running now = ck_of(pe)->now;

	run->at = (uint32_t)place;
	ck_of(pe)->now.env = env;
	ck_of(pe)->now.entry = env->entry;
	take_params(pe, now.obj->coll, env, in);
	ck_of(pe)->now = now;
	if (!(env->flags & CK_CALL_POSTED))
		return true;
	run->posted = env;
	if (p->slot == run->inner)
		ck_of(pe)->now.env = NULL;
	else
		slots_of(run)[p->slot].env = NULL;
	return false;
}

static void free_call(struct pe *pe, struct ck_env *env)
{
	if (CSD_UNLIKELY(pe->node->check))
		owner_free(pe, env);
	else
		csd_msg_free(pe, &env->head);
}

static void call_done(struct pe *pe, const struct ck_obj *obj, CkGenSlot *slot)
{
	struct ck_env *env = slot->env;

	slot->done = 1;
	slot->env = NULL;
	if (!env)
		return;
	const CkGenEntry *e = &obj->coll->entries[env->entry];

	if (e->flags & CKGEN_NOCOPY)
		ncpy_done(pe, e, env);
	free_call(pe, env);
}

void CkGen_done(CkGenRun *run, int first, int n, int around)
{
	struct pe *pe = ck_self();
	CkGenSlot *slot = &slots_of(run)[first];

	slot[n - 1].env = ck_of(pe)->now.env;
	for (int i = 0; i < n; i++)
		call_done(pe, run->obj, &slot[i]);
	if (CSD_UNLIKELY(ck_of(pe)->unpacked != slot->before))
		pup_forget_until(pe, slot->before);
	run->inner = around;
	run_put_back(pe, run);
}

int CkGen_steps(int low, int high, int step)
{
	int64_t n;

	if (!step)
		csd_abort(ck_self(), "a forall from %d to %d has the step 0", low, high);
	n = ((int64_t)high - low) / step + 1;
	if ((step > 0 && high < low) || (step < 0 && high > low))
		return 0;
	if (n > INT32_MAX)
		csd_abort(ck_self(), "a forall from %d to %d with the step %d has too many parts", low, high,
			  step);
	return (int)n;
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
	fprintf(stderr, "chard: PE %d: at exit %zu calls of element (%d, %d, %d) still wait for a 'when', "
		"the first is %s\n", pe->id, n, obj->index.v[0], obj->index.v[1], obj->index.v[2], name);
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
