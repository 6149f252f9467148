/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settle.h: the room settle/: detects that work has ended.
 *
 * Owns     quiescence (quiesce.c), and in rooms of their own completion of one activity
 *          among others (completion/) and fences (fence/): a reduction followed by a quiescence
 *          detection.
 * Called   by programs only, on any PE.
 * Calls    reduce/, wait/, call/, core/. (core/wave.h makes the sums over all PEs, because place/
 *          needs them, too.)
 */
#ifndef CK_SETTLE_H
#define CK_SETTLE_H

#include "../reduce/reduce.h"

enum { PART_QUIESCE = 13, PART_COMPLETION = 14, PART_FENCE = 15 };
extern const struct ck_part quiesce_part, completion_part, fence_part;

/** Fire the callback when nothing is under way in the job. May be called on any PE. */
void qd_start(struct pe *pe, const CkCallback *cb);

/** On PE 0: whether the program, all of which waits now, must wait for a checkpoint that is due or
 * about to be taken (save/). Then `then` is fired when it may go on; NULL: nothing is. */
bool settle_waits(struct pe *pe, const CkCallback *then);
/** At the node's start: the function that knows. */
void settle_set_waits(struct node *node, bool (*waits)(struct pe *pe, const CkCallback *then));

#endif
