/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait.h: the room wait/: handlers that wait, and calls that wait.
 *
 * Owns     the records of elements that have any of this (extra.c), conditions (when.c), [threaded]
 *          entries (threaded.c), Structured Dagger (sdag.c), answers (sync.c), futures (future.c), calls
 *          inside their caller (inline.c).
 * Called   by the rooms above; by call/ through attributes and `behind` (part.h); on the element's PE.
 * Calls    call/, params/, core/, and the scheduler's threads (cth.h).
 */
#ifndef CK_WAIT_H
#define CK_WAIT_H

#include "../call/call.h"

enum { PART_WAIT = 5, PART_SYNC = 6, PART_FUTURE = 7 };
extern const struct ck_part wait_part, sync_part, future_part;

/* ---- elements that end -------------------------------------------------------------------------- */

/** Whether handlers of the element run on stacks of their own; then end(pe, obj) is called when
 * the last of them has ended, on whatever stack, and no further call of the element is begun
 * from its waiting ones. Whoever destroys an element asks first. */
bool obj_end_later(struct pe *pe, struct ck_obj *obj,
		   void (*end)(struct pe *pe, struct ck_obj *obj));
/** Nobody finds the element any more: drop the calls that wait at it. */
void obj_drop_calls(struct pe *pe, struct ck_obj *obj);
/** The element is about to be freed: drop its record, too. */
void obj_forget(struct pe *pe, struct ck_obj *obj);

/* ---- calls with a condition, kept elsewhere (a nodegroup's) -------------------------------------- */

/** The oldest that may go now, taken out; NULL: none. */
struct ck_env *when_take_true(struct ck_obj *obj, struct msg_fifo *waiting);
/** The job ends: what waits is dropped, in checked mode not in silence. */
void when_leave(struct pe *pe, const struct ck_obj *obj, struct msg_fifo *waiting);

/* ---- [sync] calls ---------------------------------------------------------------------------------- */

/** Before and behind the sending of a call that is answered. */
uint32_t sync_ask(struct pe *pe, const CkGenChare *chare, int entry, void *payload);
void sync_take_answer(struct pe *pe, const CkGenEntry *e, uint32_t slot, void *reply);

/** The scheduler's: between two stacks, exchange what runs. */
void ck_swap_running(struct pe *pe, uint64_t state[CSD_RUNNING_WORDS]);

#endif
