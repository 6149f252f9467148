/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.h: a run of a body, and the state of the PE that it runs with. A run that waits has its state
 * in CkGenRun.running, in the form in which a thread saves it. Most runs are resumed by the
 * scheduler, when no handler runs: then there is no other state to save. Otherwise the two are
 * exchanged.
 */
#ifndef CK_RUN_H
#define CK_RUN_H

#include "wait.h"

#include <string.h>

/** The state of a thread, or of a run of a body, while it does not run. */
struct kept_running {
	struct ck_running now;
	bool shared;
	uint32_t body;
	struct pup_block *unpacked;
};
_Static_assert(sizeof(struct kept_running) == CSD_RUNNING_WORDS * sizeof(uint64_t),
	       "a thread has room for it");
_Static_assert(offsetof(struct kept_running, now) == 0, "core/describe.c reads it");
/* A struct ck_pe begins in the same way. */
enum { KEPT_AT_ONCE = offsetof(struct kept_running, unpacked) };
_Static_assert(offsetof(struct ck_pe, now) == 0 &&
	       offsetof(struct ck_pe, shared) == offsetof(struct kept_running, shared) &&
	       offsetof(struct ck_pe, body) == offsetof(struct kept_running, body),
	       "they are copied together");

/** Exchange the PE's state with `state`. Returns the object that ran, or NULL. */
static inline struct ck_obj *kept_swap(struct pe *pe, uint64_t state[CSD_RUNNING_WORDS])
{
	struct ck_pe *ck = ck_of(pe);
	struct kept_running ours, theirs;

	memcpy(&ours, ck, KEPT_AT_ONCE);
	ours.unpacked = ck->unpacked;
	memcpy(&theirs, state, sizeof theirs);
	memcpy(state, &ours, sizeof ours);
	memcpy(ck, &theirs, KEPT_AT_ONCE);
	ck->unpacked = theirs.unpacked;
	return ours.now.obj;
}

static inline CkGenSlot *slots_of(CkGenRun *run) { return (CkGenSlot *)(void *)(run + 1); }
static inline const CkGenPlace *run_place(const CkGenRun *run)
{
	return &run->body->places[run->at];
}

/* ---- what runs ------------------------------------------------------------------------------- */

/** As ck_swap_running, unless there are observers. The callers test the calls that wait for
 * conditions. */
void run_swap(struct pe *pe, CkGenRun *run);

/** No handler runs, and nobody observes what runs. */
static inline bool runs_free(const struct pe *pe)
{
	const struct ck_pe *ck = ck_of(pe);

	return !ck->now.obj && !ck->body && pe->node->up.swap_running == ck_swap_running;
}

/** The run continues: its state becomes the PE's. */
static inline void run_enter(struct pe *pe, CkGenRun *run)
{
	struct ck_pe *ck = ck_of(pe);

	run->inside = !runs_free(pe);
	if (CSD_UNLIKELY(run->inside)) {
		run_swap(pe, run);
		return;
	}
	memcpy(ck, run->running, KEPT_AT_ONCE);
	memcpy(&ck->unpacked, (char *)run->running + KEPT_AT_ONCE, sizeof ck->unpacked);
}

static inline void nothing_runs(struct ck_pe *ck)
{
	ck->now.obj = NULL;
	ck->shared = false;
	ck->body = 0;
	ck->unpacked = NULL;
}

/** It waits: the reverse. */
static inline void run_leave(struct pe *pe, CkGenRun *run)
{
	struct ck_pe *ck = ck_of(pe);

	if (CSD_UNLIKELY(run->inside)) {
		run_swap(pe, run);
		return;
	}
	memcpy(run->running, ck, KEPT_AT_ONCE);
	memcpy((char *)run->running + KEPT_AT_ONCE, &ck->unpacked, sizeof ck->unpacked);
	nothing_runs(ck);
}

/** It has ended. */
static inline void run_left(struct pe *pe, CkGenRun *run)
{
	if (CSD_UNLIKELY(run->inside))
		run_swap(pe, run);
	else
		nothing_runs(ck_of(pe));
}

/* ---- calls inside it ------------------------------------------------------------------------- */

/** The pointer to the running call while other code runs inside it. */
static inline void **holder_of(CkGenRun *run)
{
	return run->inner < 0 ? &run->env : &slots_of(run)[run->inner].env;
}

/** Save the running call in the run, because calls of a `when`, or branches, run inside it. */
static inline void run_set_aside(struct pe *pe, CkGenRun *run)
{
	struct ck_pe *ck = ck_of(pe);
	void **holder = holder_of(run);

	*holder = ck->now.env;
	if (*holder && !ck->shared)
		owner_lend(*holder, holder);
	ck->now.env = NULL;
	ck->shared = false;
}

/** The reverse. */
static inline void run_put_back(struct pe *pe, CkGenRun *run)
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

/* Entries' `call` functions take a call's payload, except for results and for arrays that still lie
 * in another process. */
static inline void *plain_payload(struct ck_env *env)
{
	return env->flags & (CK_CALL_REDUCED | CK_CALL_LENT) ? NULL : payload_of(env);
}

/** `env` is the running call now: w's, in this slot, which has the number `at`. */
static inline void run_becomes(struct pe *pe, CkGenRun *run, const CkGenWanted *w,
			       CkGenSlot *slot, int at, struct ck_env *env)
{
	struct ck_pe *ck = ck_of(pe);

	run->found = w->alternative;
	run->inner = at;
	run->plain = plain_payload(env);
	slot->entry = (uint16_t)w->entry;
	ck->now.env = env;
	ck->now.entry = (uint32_t)w->entry;
	env->head.mark = OWNER_HANDLER;
}

/** The calls of the alternative `from` are in its slots: they are the running ones now. */
static inline void run_begin(struct pe *pe, CkGenRun *run)
{
	const CkGenPlace *p = run_place(run);
	const CkGenWanted *w = &p->wanted[run->from];
	CkGenSlot *slot = &slots_of(run)[p->slot + run->from];
	const int last = w->calls - 1;
	struct ck_env *env = slot[last].env;

	run_set_aside(pe, run);
	slot->before = ck_of(pe)->unpacked;
	for (int i = 0; i < last; i++) {
		slot[i].plain = plain_payload(slot[i].env) != NULL;
		owner_lend(slot[i].env, &slot[i].env);
	}
	slot[last].env = NULL;
	run_becomes(pe, run, &w[last], &slot[last], p->slot + run->from + last, env);
}

/** run_begin for an alternative of one call, w, which is in no slot. `slot` is the call's, number
 * `at`. */
static inline void run_begin_with(struct pe *pe, CkGenRun *run, const CkGenWanted *w,
				  CkGenSlot *slot, int at, struct ck_env *env)
{
	run_set_aside(pe, run);
	slot->before = ck_of(pe)->unpacked;
	run_becomes(pe, run, w, slot, at, env);
}

#endif
