/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bodies.c: the runs of bodies of Structured Dagger. ckci prints a body as a state machine: a
 * function that continues at its run's position, until it has to wait or ends. A waiting run is
 * only a struct. While a run continues, its function is on the stack of the code that delivered the
 * awaited call.
 *
 * A run saves its state (struct ck_running) as a thread does, and exchanges it in the same way, so
 * observers of threads see runs. A [threaded] body has a stack: there the same function waits where
 * it is, and its branches have threads, too.
 *
 * Runs lie in memory of their PE that is reused; beginning a body allocates nothing.
 */
#include "../../scheduler/cth.h"
#include "../../machine/base/cmi_alloc.h"
#include "extra.h"

#include <stdlib.h>
#include <string.h>

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t run_class(const CkGenBody *body)
{
	return (body->bytes - 1) / RUN_CLASS_BYTES;
}

static CkGenRun *run_alloc(struct wait_pe *w, const CkGenBody *body)
{
	const size_t class = run_class(body);
	CkGenRun *run = class < RUN_CLASSES ? w->free_runs[class] : NULL;

	if (CSD_LIKELY(run != NULL))
		w->free_runs[class] = run->behind;
	else
		run = cmi_alloc((class + 1) * RUN_CLASS_BYTES, "the run of a body");
	return run;
}

CkGenRun *run_new(struct pe *pe, struct ck_obj *obj, const CkGenBody *body)
{
	struct sdag *s = sdag_of(pe, obj);
	CkGenRun *run = run_alloc(wait_of(pe), body);

	/* The bytes behind the slots are the body's. */
	run->body = body;
	run->up = NULL;
	run->obj = obj;
	run->sdag = s;
	run->thread = run->own = run->env = run->posted = run->watched = NULL;
	run->running[CSD_RUNNING_WORDS] = 0;
	run->at = 0;
	run->found = 0;
	run->inner = -1;
	run->n_parts = 0;
	run->waits = run->joins = run->shared = run->holds = run->special = run->inside = false;
	for (int i = 0; i < body->n_slots; i++)
		slots_of(run)[i].env = NULL;
	run->next = s->runs;
	run->link = &s->runs;
	if (run->next)
		run->next->link = &run->next;
	return s->runs = run;
}

static void run_free(struct pe *pe, CkGenRun *run)
{
	struct wait_pe *w = wait_of(pe);
	const size_t class = run_class(run->body);

	*run->link = run->next;
	if (run->next)
		run->next->link = run->link;
	if (class >= RUN_CLASSES) {
		free(run);
		return;
	}
	run->behind = w->free_runs[class];
	w->free_runs[class] = run;
}

void runs_trim(struct wait_pe *w)
{
	for (int i = 0; i < RUN_CLASSES; i++)
		for (CkGenRun *run = w->free_runs[i], *next; run; run = next) {
			next = run->behind;
			free(run);
		}
}

/* ---- what runs ------------------------------------------------------------------------------- */

__attribute__((noinline)) void run_swap(struct pe *pe, CkGenRun *run)
{
	if (CSD_UNLIKELY(pe->node->up.swap_running != ck_swap_running))
		pe->node->up.swap_running(pe, run->running);
	else
		kept_swap(pe, run->running);
}

/* The run, which is new, runs with this call. */
static inline void enter_new(struct pe *pe, CkGenRun *run, struct ck_env *env)
{
	const struct kept_running own = {
		.now = { run->obj, env, (uint32_t)run->body->entry }, .shared = run->shared,
		.body = (uint32_t)run->body->entry,
	};

	run->inside = !runs_free(pe);
	if (CSD_UNLIKELY(run->inside)) {
		memcpy(run->running, &own, sizeof own);
		run_swap(pe, run);
	} else {
		memcpy(ck_of(pe), &own, KEPT_AT_ONCE);
	}
}

void bodies_watch(struct node *node, body_watch_fn fn)
{
	((struct wait_node *)ck_node_state(node, PART_WAIT))->bodies = fn;
}

static void tell(struct pe *pe, CkGenRun *run, enum ck_body_event event)
{
	const struct wait_node *w = ck_node_state(pe->node, PART_WAIT);

	if (w->bodies)
		w->bodies(pe, run->obj, (uint32_t)run->body->entry, event, &run->watched);
}

void run_arrived(struct pe *pe, CkGenRun *run)
{
	if (run->up)
		return;
	run_swap(pe, run);
	tell(pe, run, CK_BODY_BEGINS);
	run_swap(pe, run);
}

/* Each PE has observers of its own, so those of the PE that it leaves forget the runs. The words
 * that the scheduler has saved for a run, after ours, belong to the observers, too. */
void runs_leave(struct pe *pe, struct sdag *s)
{
	for (CkGenRun *run = s->runs; run; run = run->next) {
		if (!run->up)
			tell(pe, run, CK_BODY_DROPPED);
		run->running[CSD_RUNNING_WORDS] = 0;
	}
}

/* The run brings its memory along. If this PE has spare memory of that size, one piece is freed in
 * exchange. Otherwise memory would pile up where elements come from a PE of this process and end,
 * or leave for another process, while the other PE allocates more. */
static void give_one_back(struct wait_pe *w, const CkGenRun *run)
{
	const size_t class = run_class(run->body);
	CkGenRun *spare = class < RUN_CLASSES ? w->free_runs[class] : NULL;

	if (!spare)
		return;
	w->free_runs[class] = spare->behind;
	free(spare);
}

void runs_arrived(struct pe *pe, struct sdag *s)
{
	for (CkGenRun *run = s->runs; run; run = run->next) {
		give_one_back(wait_of(pe), run);
		run_arrived(pe, run);
	}
}

/* Freeing its call is all that is left to do for it. */
static inline bool is_own(const struct pe *pe, const CkGenEntry *e, const CkGenRun *run)
{
	return !run->shared && !(e->flags & CKGEN_NOCOPY) && !ck_of(pe)->unpacked && !pe->node->check &&
	       ck_of(pe)->now.env == run->own;
}

/* A run of a body, not of a branch, has ended: end its call as after a handler. */
static void own_call_ended(struct pe *pe, CkGenRun *run)
{
	const struct ck_obj *obj = run->obj;
	const CkGenEntry *e = &obj->coll->entries[run->body->entry];

	tell(pe, run, CK_BODY_ENDS);
	ck_of(pe)->now.obj = NULL;
	if (CSD_LIKELY(is_own(pe, e, run))) {
		csd_msg_free(pe, &((struct ck_env *)run->own)->head);
		return;
	}
	call_ended(pe, e, run->own, run->special, run->shared);
	if (run->holds)
		env_unref(pe, run->own);
}

/* A body that waits holds one more reference to a shared message. */
static inline void run_add_reference(CkGenRun *run)
{
	struct ck_env *env = run->own;

	if (CSD_LIKELY(!run->shared) || run->holds)
		return;
	run->holds = true;
	/* Relaxed: the caller holds a reference already, so the count cannot reach 0 meanwhile. */
	atomic_fetch_add_explicit(&env->refs, 1, memory_order_relaxed);
}

static inline void stop(struct pe *pe, CkGenRun *run)
{
	run_add_reference(run);
	run_leave(pe, run);
	when_test_if_any(pe, run->obj);
}

/* When the last branch has ended, the run that waits for the branches follows at once. */
static __attribute__((noinline)) void end(struct pe *pe, CkGenRun *run)
{
	struct ck_obj *obj = run->obj;
	CkGenRun *up = run->up;

	if (!up)
		own_call_ended(pe, run);
	run_left(pe, run);
	run_free(pe, run);
	when_test_if_any(pe, obj);
	if (!up || --up->n_parts || !up->joins)
		return;
	up->joins = false;
	run_enter(pe, up);
	run_go_on(pe, up);
}

void run_go_on(struct pe *pe, CkGenRun *run)
{
	if (CSD_LIKELY(!run->body->go(self_of(run->obj), run)))
		stop(pe, run);
	else
		end(pe, run);
}

/* run_enter and run_begin in one. */
void run_resume_with(struct pe *pe, CkGenRun *run, const CkGenWanted *w, CkGenSlot *slot, int at,
		     struct ck_env *env)
{
	const char *kept = (const char *)run->running;
	void **holder = holder_of(run);
	struct ck_pe *ck = ck_of(pe);
	struct ck_env *own;

	memcpy(&own, kept + offsetof(struct kept_running, now.env), sizeof own);
	*holder = own;
	if (own && !(run->inner < 0 && run->shared))
		owner_lend(own, holder);
	run->inside = false;
	memcpy(&ck->unpacked, kept + KEPT_AT_ONCE, sizeof ck->unpacked);
	slot->before = ck->unpacked;
	ck->now.obj = run->obj;
	ck->shared = false;
	ck->body = (uint32_t)run->body->entry;
	run_becomes(pe, run, w, slot, at, env);
	run_go_on(pe, run);
}

void run_resume(struct pe *pe, CkGenRun *run)
{
	run_enter(pe, run);
	run_begin(pe, run);
	run_go_on(pe, run);
}

/* ---- a body begins --------------------------------------------------------------------------- */

static void *input_of(CkGenRun *run)
{
	return (char *)run + run->body->input;
}

/* Make the run of a call, and run it. False: the call waits for buffers, and buffers/ has kept
 * it. */
static inline bool body_begin(struct pe *pe, CkGenRun *run, struct ck_env *env)
{
	const struct collection *c = ((struct ck_obj *)run->obj)->coll;

	run->own = env;
	run->special = env_is_special(pe, env);
	checked_call(pe, c, env)(input_of(run), payload_of(env));
	if (env->flags & CK_CALL_POSTED)
		return false;
	tell(pe, run, CK_BODY_BEGINS);
	return true;
}

bool body_start(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared)
{
	const CkGenEntry *e = &obj->coll->entries[env->entry];
	CkGenRun *run;

	/* A call is kept for its buffers by a single holder. */
	if (shared && (e->flags & CKGEN_NOCOPY)) {
		env = own_copy(pe, env);
		env->head.mark = OWNER_HANDLER;
		shared = false;
	}
	run = run_new(pe, obj, obj->coll->type->bodies[env->entry]);
	run->shared = shared;
	enter_new(pe, run, env);
	if (CSD_LIKELY(body_begin(pe, run, env))) {
		run_go_on(pe, run);
		return true;
	}
	run_left(pe, run);
	run_free(pe, run);
	return true;
}

void body_arrives(struct pe *pe, struct ck_obj *obj, struct ck_env *env, const CkGenEntry *e)
{
	(void)e;
	env->head.mark = OWNER_HANDLER;
	body_start(pe, obj, env, false);
}

/* On the thread of a [threaded] body. thread_body ends the call. */
bool body_on_thread(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared)
{
	CkGenRun *run = run_new(pe, obj, obj->coll->type->bodies[env->entry]);

	(void)shared; /* deliver.c does not expect a thread */
	run->shared = ck_of(pe)->shared;
	run->thread = CthSelf();
	ck_of(pe)->now = (struct ck_running){ obj, env, env->entry };
	ck_of(pe)->body = env->entry;
	body_begin(pe, run, env);
	run->body->go(self_of(obj), run);
	tell(pe, run, CK_BODY_ENDS);
	ck_of(pe)->now.obj = NULL;
	ck_of(pe)->body = 0;
	run_free(pe, run);
	return true;
}

bool body_posted(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared)
{
	CkGenRun *run = extra_of(pe, obj)->sdag->runs;

	(void)shared;
	while (run->posted != env)
		run = run->next;
	const int slot = run_place(run)->slot;

	run->posted = NULL;
	run_enter(pe, run);
	if (slot == run->inner) {
		ck_of(pe)->now.env = env;
	} else {
		slots_of(run)[slot].env = env;
		owner_lend(env, &slots_of(run)[slot].env);
	}
	run_go_on(pe, run);
	return true;
}

/* ---- branches side by side ------------------------------------------------------------------- */

void CkGen_split(CkGenRun *run)
{
	run->n_parts = 0;
	run_set_aside(ck_self(), run);
}

static void part_on_thread(void *arg)
{
	CkGenRun *run = arg, *up = run->up;
	struct pe *pe = ck_self();
	struct ck_obj *obj = run->obj;

	run->thread = CthSelf();
	ck_of(pe)->now = (struct ck_running){ obj, NULL, (uint32_t)run->body->entry };
	ck_of(pe)->body = (uint32_t)run->body->entry;
	run->body->go(self_of(obj), run);
	thread_settle(pe, obj);
	run_free(pe, run);
	thread_ended(pe, obj);
	if (--up->n_parts || !up->joins)
		return;
	up->joins = false;
	CthResume(up->thread);
}

void CkGen_part(CkGenRun *run, int part, int i)
{
	struct pe *pe = ck_self();
	struct ck_obj *obj = run->obj;
	CkGenRun *p = run_new(pe, obj, run->body->parts[part]);

	p->up = run;
	run->n_parts++;
	if (p->body->input)
		memcpy(input_of(p), &i, sizeof i);
	if (run->thread) {
		extra_of(pe, obj)->n_threads++;
		CthResume(CthCreate(part_on_thread, p, obj->coll->entries[p->body->entry].stack_bytes));
		return;
	}
	enter_new(pe, p, NULL);
	run_go_on(pe, p);
}

bool CkGen_join(CkGenRun *run, int place)
{
	run->at = (uint32_t)place;
	if (!run->n_parts)
		return true;
	run->joins = true;
	if (!run->thread)
		return false;
	while (run->joins)
		CthSuspend();
	return true;
}

void CkGen_joined(CkGenRun *run)
{
	run_put_back(ck_self(), run);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void drop_call(struct pe *pe, const CkGenRun *run, struct ck_env *env, bool told)
{
	if (!env || (run->shared && env == run->own))
		return;
	if (told)
		call_drop(pe, run->obj, env);
	else
		csd_msg_free(pe, &env->head);
}

/* A thread's state is not in its run. */
static void drop_running(struct pe *pe, CkGenRun *run, bool told)
{
	struct pup_block *unpacked = ck_of(pe)->unpacked;
	struct kept_running r;

	memcpy(&r, run->running, sizeof r);
	drop_call(pe, run, r.now.env, told);
	ck_of(pe)->unpacked = r.unpacked;
	pup_forget(pe);
	ck_of(pe)->unpacked = unpacked;
}

static void run_drop(struct pe *pe, CkGenRun *run, bool told)
{
	if (!run->thread)
		drop_running(pe, run, told);
	drop_call(pe, run, run->env, told);
	for (int i = 0; i < run->body->n_slots; i++)
		drop_call(pe, run, slots_of(run)[i].env, told);
	if (run->holds)
		env_unref(pe, run->own);
	if (!run->up)
		tell(pe, run, CK_BODY_DROPPED);
	run_free(pe, run);
}

void runs_drop(struct pe *pe, struct sdag *s, bool told)
{
	while (s->runs)
		run_drop(pe, s->runs, told);
}
