/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.h: the room stats/: what the layer counts about a program, printed at the end of each PE
 * under CK_STATS=1.
 *
 * Owns     how many elements of each collection were created and destroyed, per PE.
 * Called   by nobody. It watches (part.h) on the PE where an element is created or destroyed. Without
 *          CK_STATS=1 the part is off and costs nothing.
 * Calls    core/.
 */
#ifndef CK_STATS_H
#define CK_STATS_H

#include "../core/core.h"

enum { PART_STATS = 24 };
extern const struct ck_part stats_part;

#endif
