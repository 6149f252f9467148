/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait.h: the room wait/: handlers that wait, and calls that wait.
 *
 * Owns     the records of elements that have waiting handlers or calls (extra.c), conditions
 *          (when.c), [threaded] entries (threaded.c), Structured Dagger (sdag.c, bodies.c), answers
 *          (sync.c), futures (future.c; holders.c says who has their names), calls in their caller
 *          (inline.c), calls when there is nothing else to do (when_idle.c).
 * Called   on the element's PE, by the rooms above, and by call/ through attributes (part.h) and
 *          `behind` (struct call_node).
 * Calls    call/, params/, core/, and the scheduler's threads (cth.h).
 */
#ifndef CK_WAIT_H
#define CK_WAIT_H

#include "../call/call.h"

enum { PART_WAIT = 5, PART_SYNC = 6, PART_FUTURE = 7 };
/** "future 3 of PE 0" */
struct csd_thing future_thing(CkFuture f);

/** Whether [at, at + bytes) has the name of an open future of this PE that the element made; which
 * one. */
bool future_of_element(struct pe *pe, const struct ck_obj *obj, const void *at, size_t bytes,
		       CkFuture *f_p);

extern const struct ck_part wait_part, sync_part, future_part;

/* ---- elements that end ----------------------------------------------------------------------- */

/** Whether handlers of the element run on stacks of their own. If so, end(pe, obj) is called when
 * the last of them has ended, on any stack, and none of the element's waiting calls begins any
 * more. Code that destroys an element calls this first. */
bool obj_end_later(struct pe *pe, struct ck_obj *obj,
		   void (*end)(struct pe *pe, struct ck_obj *obj));
/** Whether the element cannot leave now: handlers of it run on stacks of their own, or it is held
 * (obj_hold). */
bool obj_stays(struct pe *pe, struct ck_obj *obj);
/** The same as obj_end_later for an element that moves: nothing else changes then. leave(pe, obj)
 * may be called once. */
bool obj_leave_later(struct pe *pe, struct ck_obj *obj,
		     void (*leave)(struct pe *pe, struct ck_obj *obj));
/** A call has begun here and waits without a thread for something of this PE: the element does not
 * move until the call continues. It may be destroyed meanwhile; then obj_release is called, too. */
void obj_hold(struct pe *pe, struct ck_obj *obj);
void obj_release(struct pe *pe, struct ck_obj *obj);
/** Drop the calls that wait at the element. Called when calls can no longer find the element. */
void obj_drop_calls(struct pe *pe, struct ck_obj *obj);
/** Drop these calls and the element's record. Called just before the element is freed. */
void obj_forget(struct pe *pe, struct ck_obj *obj);

/** No handler runs, and the element takes calls again: run those whose condition is true. */
void obj_calls_test(struct pe *pe, struct ck_obj *obj);
/** The same when no handler runs, by a message to this PE. */
void obj_calls_test_soon(struct pe *pe, struct ck_obj *obj);

/* ---- bodies ---------------------------------------------------------------------------------- */

enum ck_body_event { CK_BODY_BEGINS, CK_BODY_ENDS, CK_BODY_DROPPED };

/** A body of Structured Dagger, in which `entry` runs now, begins, ends, or is dropped because its
 * element, or the job, ends, or the element leaves the PE. *own is the function's. */
typedef void (*body_watch_fn)(struct pe *pe, struct ck_obj *obj, uint32_t entry,
			      enum ck_body_event event, void **own);
/** While the node starts: report bodies to fn from now on. At most one room above uses this. */
void bodies_watch(struct node *node, body_watch_fn fn);

/* ---- calls with a condition, kept elsewhere (a nodegroup's) ---------------------------------- */

/** Take out the oldest call whose condition is true now; NULL: there is none. */
struct ck_env *when_take_true(struct ck_obj *obj, struct msg_fifo *waiting);
/** For a report: which of these calls wait at obj, and for what. */
void when_describe(const struct ck_obj *obj, const struct msg_fifo *waiting, struct csd_told *to);
/** At the end of the job: drop the waiting calls; checked mode reports them. */
void when_leave(struct pe *pe, const struct ck_obj *obj, struct msg_fifo *waiting);

/** Whether an array of the call (nocopy) is the caller's memory until the call has run. */
bool call_is_lent(const CkGenChare *type, struct ck_env *env);

/* ---- [sync] calls ---------------------------------------------------------------------------- */

/** Before a [sync] call is sent: take a slot for its answer. After it is sent: wait for the answer
 * and copy it to `reply`. */
uint32_t sync_ask(struct pe *pe, const CkGenChare *chare, int entry, const CkElement *callee,
		  void *payload);
void sync_take_answer(struct pe *pe, const CkGenEntry *e, uint32_t slot, void *reply);

/** Called by the scheduler between two stacks, to exchange the PE's state (struct ck_running). */
void ck_swap_running(struct pe *pe, uint64_t state[CSD_RUNNING_WORDS]);

/* ---- when_idle.c ----------------------------------------------------------------------------- */

/** [whenidle] calls in checkpoints: each is a record, IMAGE_IDLE. Every PE reads all of them. When
 * all elements are there, it keeps those whose object it has. */
void idle_write(struct pe *pe, struct image_out *out);
const char *idle_read(struct pe *pe, const struct image_name *name, size_t n);
void idle_read_all(struct pe *pe);

#endif
