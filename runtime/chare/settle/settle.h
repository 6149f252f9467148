/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settle.h: the room settle/: when everything has ended.
 *
 * Owns     quiescence (quiesce.c), completion of one process among others (completion.c), fences
 *          (fence.c), which are a reduction and then a quiescence.
 * Called   by programs only, on any PE.
 * Calls    reduce/, wait/, call/, core/. (The sums over all PEs are core/wave.h, because place/ needs
 *          them, too.)
 */
#ifndef CK_SETTLE_H
#define CK_SETTLE_H

#include "../reduce/reduce.h"

enum { PART_QUIESCE = 12, PART_COMPLETION = 13, PART_FENCE = 14 };
extern const struct ck_part quiesce_part, completion_part, fence_part;

/** Fire the callback, anywhere, when nothing is under way in the job. */
void qd_start(struct pe *pe, const CkCallback *cb);

#endif
