/* SPDX-License-Identifier: Apache-2.0 */
/*
 * global.h: the room global/: global pointers (ckglobal.h).
 *
 * Owns     spreads (spread.c, spread_save.c), memory of CkGlobalAlloc (heap.c), gets, puts, stores
 *          and atomics under way (ops.c, far.c), who waits for them (sets.c), stores that have come
 *          (stores.c, phases.c).
 * Called   by programs, on any PE.
 * Calls    wait/ (elements that stay meanwhile), core/, and the scheduler's threads (cth.h).
 */
#ifndef CK_GLOBAL_H
#define CK_GLOBAL_H

#include "../wait/wait.h"

enum { PART_GLOBAL = 32 };
extern const struct ck_part global_part;

#endif
