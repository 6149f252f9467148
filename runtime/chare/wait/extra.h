/* SPDX-License-Identifier: Apache-2.0 */
/* extra.h: shared by the files of this room and of along/: the record of an element that waits. */
#ifndef CK_EXTRA_H
#define CK_EXTRA_H

#include "wait.h"

#include <string.h>

enum { H_WHEN };                  /* handler of PART_WAIT */

enum { RUN_CLASSES = 16, RUN_CLASS_BYTES = 64 }; /* of memory for runs that is kept; larger ones are
						  * not */

/** The record of an element that has waiting calls or threads. Few elements have one, and not for
 * long (extra.c). */
struct ck_extra {
	struct ck_obj *obj;       /* NULL: the element was destroyed meanwhile, or the record is free */
	uint32_t no;              /* its number */
	uint32_t n_threads;       /* handlers of this element on stacks of their own */
	uint32_t n_held;          /* calls that keep it on this PE (obj_hold) */
	struct msg_fifo waiting;  /* calls whose condition was false, in order of arrival */
	struct sdag *sdag;        /* NULL: no `when` and no call for one so far (sdag.c) */
	bool asked;               /* a message to this PE that tests `waiting` again is under way */
	void (*end)(struct pe *pe, struct ck_obj *obj); /* called when the last thread has ended */
	void (*leave)(struct pe *pe, struct ck_obj *obj); /* the same, for an element that moves */
	struct ck_extra *next;    /* free list */
};

/** The records of one PE. They are found by number, and do not move. */
struct wait_pe {
	struct ck_extra **extras; /* [cap], by number; number 0 is nobody's */
	uint32_t n, cap;
	struct ck_extra *spare;
	CkGenRun *free_runs[RUN_CLASSES]; /* by size (bodies.c); linked by `behind` */
	struct idle_call *idle;   /* [whenidle] entry methods to call when there is nothing to do */
	bool idle_hook;           /* the scheduler will call run_idle, or it is running */
};

static inline struct wait_pe *wait_of(const struct pe *pe) { return ck_state(pe, PART_WAIT); }

/** Of a collection on a PE. */
struct wait_coll {
	uint32_t n_waiting;       /* elements that have calls which wait for their condition: then
				   * n_entries is 0 */
};

/** On a node: the observer of bodies, or NULL. Constant once the loops run. */
struct wait_node {
	body_watch_fn bodies;
};

/** The waiting runs and the kept calls of one element. */
struct sdag {
	CkGenRun *waiting, **tail; /* for calls, in the order in which they began to wait
				    * (CkGenRun.behind) */
	CkGenRun *runs;           /* all */
	int n_entries;
	struct msg_fifo kept[];   /* by entry */
};

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
	       "kept_swap copies them together");

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

/* ---- extra.c --------------------------------------------------------------------------------- */

static inline struct ck_extra *extra_of(const struct pe *pe, const struct ck_obj *obj)
{
	return wait_of(pe)->extras[obj->extra & OBJ_EXTRA];
}
/** The element's record, a new one if it has none. */
struct ck_extra *extra_make(struct pe *pe, struct ck_obj *obj);
/** If the element wanted to move, and the last obstacle is over: it may. */
void extra_may_leave(struct pe *pe, struct ck_extra *x);
/** Make the record a spare one; extra_trim does so only if the record has nothing left in it. */
void extra_free(struct pe *pe, struct ck_extra *x);
void extra_trim(struct pe *pe, struct ck_extra *x);
/** The element is no longer this PE's. The record becomes spare when no message to test its calls
 * is under way. */
void extra_let_go(struct pe *pe, struct ck_extra *x);

/* ---- when.c ---------------------------------------------------------------------------------- */

bool when_keeps(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared);
void when_test(struct pe *pe, struct ck_obj *obj);
/** Take the waiting calls. */
void when_take(struct ck_extra *x, struct msg_fifo *to);
/** Give them to the element. */
void when_give(struct pe *pe, struct ck_obj *obj, struct msg_fifo *from);
void when_test_soon(struct pe *pe, struct ck_obj *obj);
void when_drop(struct pe *pe, struct ck_extra *x);
/** Drop a call that will never run. Its caller may reuse its memory. */
void call_drop(struct pe *pe, const struct ck_obj *obj, struct ck_env *env);
void when_arrived(struct pe *pe, struct cmi_msg *m);

/* ---- when_idle.c ----------------------------------------------------------------------------- */

/** At the end: no more [whenidle] calls. */
void idle_drop(struct pe *pe);

/* ---- sdag.c ---------------------------------------------------------------------------------- */

struct sdag *sdag_make(struct pe *pe, struct ck_obj *obj);
static inline struct sdag *sdag_of(struct pe *pe, struct ck_obj *obj)
{
	struct sdag *s = obj->extra & OBJ_EXTRA ? extra_of(pe, obj)->sdag : NULL;

	return CSD_LIKELY(s != NULL) ? s : sdag_make(pe, obj);
}
bool sdag_takes(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared);
void sdag_drop_calls(struct pe *pe, struct ck_extra *x);
void sdag_drop(struct pe *pe, struct ck_extra *x);
void sdag_leave(struct pe *pe, struct ck_extra *x);
void sdag_describe(const struct ck_extra *x, struct csd_told *to);
/** Write a call's parameters to `in`, its entry's struct ck_in_X_f. */
void take_params(struct pe *pe, const struct collection *c, struct ck_env *env, void *in);
/** The run waits for calls from now on. */
void sdag_wait(struct sdag *s, CkGenRun *run);
/** The calls at its position have been taken: they are the running ones now. */
void run_begin(struct pe *pe, CkGenRun *run);
/** Save the state in the run, because calls of a `when`, or branches, run inside it; and the
 * reverse. */
void run_set_aside(struct pe *pe, CkGenRun *run);
void run_put_back(struct pe *pe, CkGenRun *run);

/* ---- bodies.c -------------------------------------------------------------------------------- */

static inline CkGenSlot *slots_of(CkGenRun *run) { return (CkGenSlot *)(void *)(run + 1); }
static inline const CkGenPlace *run_place(const CkGenRun *run)
{
	return &run->body->places[run->at];
}

bool body_start(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared);
bool body_on_thread(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared);
/** A call that has waited for buffers has them: resume the run that wants it. */
bool body_posted(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared);
/** A new run of the element. It has begun nothing. */
CkGenRun *run_new(struct pe *pe, struct ck_obj *obj, const CkGenBody *body);
/** Begin or resume the run at run->at, until it waits again or ends. Its state is in it. */
void run_resume(struct pe *pe, CkGenRun *run);
/** The run has arrived with its element: observers of bodies see it begin. */
void run_arrived(struct pe *pe, CkGenRun *run);
/** All runs of an element that moves within the process: it leaves this PE. */
void runs_leave(struct pe *pe, struct sdag *s);
/** It has arrived on this PE. */
void runs_arrived(struct pe *pe, struct sdag *s);
/** Free all runs of an element, which wait, and their calls. `told`: callers may reuse their
 * memory. */
void runs_drop(struct pe *pe, struct sdag *s, bool told);
/** At the end of the job: free the memory that was kept. */
void runs_trim(struct wait_pe *w);

/* ---- future.c, holders.c --------------------------------------------------------------------- */

/** Whether `obj` of this PE, which has the name of a future, could send its value. */
bool future_may_come_from(const struct pe *pe, CkFuture f, const struct ck_obj *obj);
/** Whether it is an open future of this PE that a handler of `obj` made. */
bool future_is_made_by(const struct pe *pe, CkFuture f, const struct ck_obj *obj);
/** For the watchdog: the elements that have names of futures. */
void holders_describe(struct pe *pe, struct csd_told *to);

/* ---- threaded.c ------------------------------------------------------------------------------ */

bool thread_start(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared);
bool thread_is_counted(const struct ck_obj *obj);
void thread_ended(struct pe *pe, struct ck_obj *obj);
/** At the end of the job: drop the messages of threads that still wait. */
void threads_drop(struct pe *pe);

#endif
