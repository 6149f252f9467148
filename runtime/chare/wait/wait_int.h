/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait_int.h: what the files of this room share: the record of an element that waits.
 */
#ifndef CK_WAIT_INT_H
#define CK_WAIT_INT_H

#include "wait.h"

enum { H_WHEN };                  /* handler of PART_WAIT */

/** The record of an element that has waiting calls or threads. Few elements have one, and not for long
 * (extra.c). */
struct ck_extra {
	struct ck_obj *obj;       /* NULL: the element was destroyed meanwhile, or the record is free */
	uint32_t no;              /* its number */
	uint32_t n_threads;       /* handlers of this element on stacks of their own */
	struct msg_fifo waiting;  /* calls whose condition was false, in order of arrival */
	struct sdag *sdag;        /* NULL: no `when` and no call for one so far (sdag.c) */
	bool asked;               /* a message is on its way to this PE that tests `waiting` again */
	void (*end)(struct pe *pe, struct ck_obj *obj); /* called when the last thread has ended */
	void (*leave)(struct pe *pe, struct ck_obj *obj); /* the same, for an element that moves */
	struct ck_extra *next;    /* free list */
};

/** The records of one PE. They are found by number, and do not move. */
struct wait_pe {
	struct ck_extra **extras; /* [cap], by number; number 0 is nobody's */
	uint32_t n, cap;
	struct ck_extra *spare;
	struct idle_call *idle;   /* [whenidle] entry methods to call when there is nothing to do */
	bool idle_hook;           /* the scheduler will call run_idle, or it is running */
};

static inline struct wait_pe *wait_of(const struct pe *pe) { return ck_state(pe, PART_WAIT); }

/* ---- extra.c ------------------------------------------------------------------------------------- */

static inline struct ck_extra *extra_of(const struct pe *pe, const struct ck_obj *obj)
{
	return wait_of(pe)->extras[obj->extra & OBJ_EXTRA];
}
/** The element's record, a new one if it has none. */
struct ck_extra *extra_make(struct pe *pe, struct ck_obj *obj);
/** Make the record a spare one; extra_trim does so only if the record has nothing left in it. */
void extra_free(struct pe *pe, struct ck_extra *x);
void extra_trim(struct pe *pe, struct ck_extra *x);

/* ---- when.c --------------------------------------------------------------------------------------- */

bool when_keeps(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared);
void when_test(struct pe *pe, struct ck_obj *obj);
/** Take the waiting calls; / give them to the element. */
void when_take(struct ck_extra *x, struct msg_fifo *to);
void when_give(struct pe *pe, struct ck_obj *obj, struct msg_fifo *from);
void when_test_soon(struct pe *pe, struct ck_obj *obj);
void when_drop(struct pe *pe, struct ck_extra *x);
void when_arrived(struct pe *pe, struct cmi_msg *m);

/* ---- idle.c --------------------------------------------------------------------------------------- */

/** At the end: no more [whenidle] calls. */
void idle_drop(struct pe *pe);

/* ---- sdag.c --------------------------------------------------------------------------------------- */

bool sdag_takes(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared);
void sdag_drop_calls(struct pe *pe, struct ck_extra *x);
void sdag_drop(struct pe *pe, struct ck_extra *x);
void sdag_leave(struct pe *pe, struct ck_extra *x);
void sdag_describe(const struct ck_extra *x, csd_line_fn line, void *arg);

/* ---- future.c, holders.c --------------------------------------------------------------------------- */

/** Whether `obj` of this PE, which has the name of a future, could be the one to send its value. */
bool future_may_come_from(struct pe *pe, CkFuture f, const struct ck_obj *obj);
/** For the watchdog: the elements that have names of futures. */
void holders_describe(struct pe *pe, csd_line_fn line, void *arg);

/* ---- threaded.c ----------------------------------------------------------------------------------- */

bool thread_start(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared);
bool thread_is_counted(const struct ck_obj *obj);
void thread_ended(struct pe *pe, struct ck_obj *obj);
/** At the end of the job: drop the messages of threads that still wait. */
void threads_drop(struct pe *pe);

#endif
