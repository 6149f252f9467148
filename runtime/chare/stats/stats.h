/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.h: the room stats/: what chares add to the counts of their PE (CK_STATS, ckrun --progress;
 * counted.h).
 *
 * Owns     a second table of each type's entries, with functions that count calls and time; how many elements of
 *          each type were created and destroyed; CkProgressLine.
 * Called   by layer.c. It watches (part.h) on the PE where an element
 *          is created or destroyed. Where nothing is counted the part is off and costs nothing.
 * Calls    wait/, core/.
 */
#ifndef CK_STATS_H
#define CK_STATS_H

#include "../core/core.h"

enum { PART_STATS = 25 };
extern const struct ck_part stats_part;

/** When the program's types are known: make the tables. 0. */
int stats_program(struct node *node);

#endif
