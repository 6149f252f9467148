/* SPDX-License-Identifier: Apache-2.0 */
/* extra.h: shared by the files of this room and of along/: the record of an element that waits. */
#ifndef CK_EXTRA_H
#define CK_EXTRA_H

#include "run.h"

enum { H_WHEN };                  /* handler of PART_WAIT */

enum { RUN_CLASSES = 32, RUN_CLASS_BYTES = 32 }; /* of memory for runs that is kept; larger ones are
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
	struct rounds *rounds;    /* NULL: no call of a [count] entry so far (round.c) */
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
	struct rounds *free_rounds;
	struct round_more *free_more;
	struct idle_call *idle;   /* [whenidle] entry methods to call when there is nothing to do */
	bool idle_hook;           /* the scheduler will call run_idle, or it is running */
	struct image_name *idles; /* ours, [n_idles]: a checkpoint's, until all of it has been read */
	size_t n_idles, idles_room;
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

/** Calls of one [count] entry with the same number, until all have come (rounds/). */
struct round {
	struct msg_fifo calls;
	uint32_t call;            /* the calls' own word: their entry | CKGEN_SEEN; 0: no round */
	int32_t number;
	uint32_t n, left;         /* calls that make it, and that are still to come: at least 1 */
};

/** The rounds of an element. A round is in the slot of its number, or, if another one was there
 * when it began, in `more`. Few are open at a time: mostly of one entry, with successive
 * numbers. */
enum { ROUNDS_SLOTS = 4 };
struct rounds {
	struct round slots[ROUNDS_SLOTS];
	struct round_more *more;
	struct rounds *next;      /* free list */
};
struct round_more {
	struct round round;
	struct round_more *next;
};

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
/** The same, if one of the calls may run now. */
void when_test_if_true(struct pe *pe, struct ck_obj *obj);
/** The same, and cheap where no element of its collection has such calls. */
static inline void when_test_if_any(struct pe *pe, struct ck_obj *obj)
{
	if (CSD_UNLIKELY(!obj->coll->n_entries))
		when_test_soon(pe, obj);
}
void when_drop(struct pe *pe, struct ck_extra *x);
/** Drop a call that will never run. Its caller may reuse its memory. */
void call_drop(struct pe *pe, const struct ck_obj *obj, struct ck_env *env);
void when_arrived(struct pe *pe, struct cmi_msg *m);

/* ---- when_idle.c ----------------------------------------------------------------------------- */

/** At the end: no more [whenidle] calls. */
void idle_drop(struct pe *pe);

/* ---- wait_save.c ----------------------------------------------------------------------------- */

/** Of the part's `save`. */
void wait_refuse(struct pe *pe, struct csd_told *to);

/* ---- sdag.c ---------------------------------------------------------------------------------- */

struct sdag *sdag_make(struct pe *pe, struct ck_obj *obj);
static inline struct sdag *sdag_if(const struct pe *pe, const struct ck_obj *obj)
{
	return obj->extra & OBJ_EXTRA ? extra_of(pe, obj)->sdag : NULL;
}
static inline struct sdag *sdag_of(struct pe *pe, struct ck_obj *obj)
{
	struct sdag *s = sdag_if(pe, obj);

	return CSD_LIKELY(s != NULL) ? s : sdag_make(pe, obj);
}
bool sdag_takes(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared);
/** The same for a call that is not shared (call_node.takers). */
void sdag_arrives(struct pe *pe, struct ck_obj *obj, struct ck_env *env, const CkGenEntry *e);
/** Find the first alternative at the run's position whose calls are all kept, and take them: the
 * index of its first call; -1: none. */
int sdag_find(struct sdag *s, CkGenRun *run);
void sdag_drop_calls(struct pe *pe, struct ck_extra *x);
void sdag_drop(struct pe *pe, struct ck_extra *x);
void sdag_leave(struct pe *pe, struct ck_extra *x);
void sdag_describe(const struct ck_extra *x, struct csd_told *to);
/* Whether the int at this place of the message is the number that is wanted. */
static inline bool number_fits(const struct ck_env *env, int at, const CkGenSlot *slot)
{
	int number;

	memcpy(&number, (const char *)env + at, sizeof number);
	return number == slot->number;
}

/** Whether this call of the same entry, no result, has the number that w wants. Not for
 * CKGEN_BY_FUNCTION. */
static inline bool fits_plainly(const CkGenWanted *w, const CkGenSlot *slot,
				const struct ck_env *env)
{
	return !w->by_number || number_fits(env, w->by_number, slot);
}

/** The run waits for calls from now on. */
static inline void sdag_wait(struct sdag *s, CkGenRun *run)
{
	run->waits = true;
	run->behind = NULL;
	*s->tail = run;
	s->tail = &run->behind;
}

/* ---- taken.c --------------------------------------------------------------------------------- */

/** Write a call's parameters to `in`, its entry's struct ck_in_X_f. */
void take_params(struct pe *pe, const struct collection *c, struct ck_env *env, void *in);

/* ---- round.c --------------------------------------------------------------------------------- */

static inline struct round *rounds_slot(struct rounds *s, int32_t number)
{
	return &s->slots[(uint32_t)number % ROUNDS_SLOTS];
}
/** The element's rounds, none yet if it has no record of them. */
struct rounds *rounds_make(struct pe *pe, struct ck_obj *obj);
/** The open round of this entry with this number; NULL: there is none. */
struct round *rounds_find(struct rounds *s, uint32_t call, int32_t number);
/** A round without calls. There must be none like it. */
struct round *rounds_begin(struct pe *pe, struct rounds *s, uint32_t call, int32_t number,
			   uint32_t n);
/** It is over, and has no calls any more. */
void rounds_end(struct pe *pe, struct rounds *s, struct round *r);
/** All that are open, one after the other; r == NULL: the first one. NULL: there are no more. */
struct round *rounds_next(struct rounds *s, struct round *r);
static inline uint32_t round_entry(const struct round *r) { return r->call ^ CKGEN_SEEN; }
/** Drop the rounds of an element, and their calls, as call_drop does; rounds_leave at the end of
 * the job. */
void rounds_drop(struct pe *pe, struct ck_extra *x);
void rounds_leave(struct pe *pe, struct ck_extra *x);
/** At the end of the job: free what an element had that was on its way. */
void rounds_dispose(struct rounds *s);
/** At the end of the job: free the memory that was kept. */
void rounds_trim(struct wait_pe *w);

/* ---- bodies.c -------------------------------------------------------------------------------- */

bool body_start(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared);
/** The same for a plain call that is not shared (call_node.takers). */
void body_arrives(struct pe *pe, struct ck_obj *obj, struct ck_env *env, const CkGenEntry *e);
bool body_on_thread(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared);
/** A call that has waited for buffers has them: resume the run that wants it. */
bool body_posted(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared);
/** A new run of the element. It has begun nothing. */
CkGenRun *run_new(struct pe *pe, struct ck_obj *obj, const CkGenBody *body);
/** Begin or resume the run at run->at, until it waits again or ends. Its state is in it. */
void run_resume(struct pe *pe, CkGenRun *run);
/** The same for an alternative of one call, w, which is in no slot, where runs_free is true. `slot`
 * is the call's, number `at`. */
void run_resume_with(struct pe *pe, CkGenRun *run, const CkGenWanted *w, CkGenSlot *slot, int at,
		     struct ck_env *env);
/** Resume the run, whose state is the PE's. */
void run_go_on(struct pe *pe, CkGenRun *run);
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
/** Before: its handler has returned, and gets and puts of it may be under way; see
 * csd_thread_settle. */
void thread_settle(struct pe *pe, struct ck_obj *obj);
/** At the end of the job: drop the messages of threads that still wait. */
void threads_drop(struct pe *pe);
/** Describe those that refuse_extra does not, for a checkpoint. */
void threads_refuse(struct pe *pe, struct csd_told *to);

#endif
