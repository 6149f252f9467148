/* SPDX-License-Identifier: Apache-2.0 */
/*
 * taken.c: calls that a `when` has taken. They are freed after its body, like a handler's message.
 * The last of them is the running message (now.env). The others, and the state before, lie in the
 * run and are lent (owner_lend), so the runtime detects when the body sends or frees one of them.
 */
#include "../../scheduler/cth.h"
#include "extra.h"

/* False: they have not arrived. */
static bool find_calls(struct sdag *s, CkGenRun *run)
{
	const int from = sdag_find(s, run);

	if (from < 0)
		return false;
	run->from = (uint16_t)from;
	return true;
}

static __attribute__((noinline)) bool wait_otherwise(CkGenRun *run)
{
	struct sdag *s = run->sdag;

	if (!find_calls(s, run)) {
		sdag_wait(s, run);
		if (!run->thread)
			return false;
		/* Other code may awaken this thread before its calls are there. */
		while (run->waits)
			CthSuspend();
	}
	run_begin(ck_self(), run);
	return true;
}

/* A call of w is kept: mostly the alternative takes the oldest one. */
static __attribute__((noinline)) bool take_oldest(CkGenRun *run, const CkGenWanted *w,
						  CkGenSlot *slot, int at)
{
	struct msg_fifo *f = &((struct sdag *)run->sdag)->kept[w->entry];
	struct ck_env *env = (struct ck_env *)f->head;

	if (run->thread || w->kind != CKGEN_ALONE || env->flags & CK_CALL_REDUCED ||
	    !fits_plainly(w, slot, env))
		return wait_otherwise(run);
	f->head = env->head.next;
	if (!f->head)
		f->tail = &f->head;
	run_begin_with(ck_self(), run, w, slot, at, env);
	return true;
}

/* The alternatives before the first one of which a call is kept cannot be complete. */
bool CkGen_wait(CkGenRun *run, int place)
{
	struct sdag *s = run->sdag;
	const CkGenPlace *p = &run->body->places[place];
	const CkGenWanted *w = p->wanted;
	CkGenSlot *slot = &slots_of(run)[p->slot];
	int i = 0;

	run->at = (uint32_t)place;
	do {
		if (s->kept[w->entry].head && !slot->done)
			return take_oldest(run, w, slot, p->slot + i);
		w++;
		slot++;
	} while (++i < p->n);
	if (CSD_UNLIKELY(run->thread != NULL))
		return wait_otherwise(run);
	sdag_wait(s, run);
	return false;
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

static inline void free_call(struct pe *pe, struct ck_env *env)
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

void CkGen_doneOne(CkGenRun *run, int at)
{
	CkGenSlot *slot = &slots_of(run)[at];
	struct ck_env *env = slot->env;

	slot->done = 1;
	slot->env = NULL;
	if (CSD_LIKELY(env != NULL))
		free_call(ck_self(), env);
}

void CkGen_doneAll(CkGenRun *run, int first, int n, int around)
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

void CkGen_done(CkGenRun *run, int slot, int around)
{
	struct pe *pe = ck_self();
	struct ck_env *env = ck_of(pe)->now.env;

	slots_of(run)[slot].done = 1;
	run->inner = around;
	run_put_back(pe, run);
	if (CSD_LIKELY(env != NULL))
		free_call(pe, env);
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
