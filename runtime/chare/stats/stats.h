/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.h: the room stats/: what chares add to the counts of their PE (CK_STATS, ckrun --progress; counted.h).
 *
 * Owns     a second table of each type's entries, with functions that count calls and time; how many elements of
 *          each type were created and destroyed; CkProgressLine.
 * Called   by layer.c, and by trace/, whose own tables lie over these. It watches (part.h) on the PE where an element
 *          is created or destroyed. Where nothing is counted the part is off and costs nothing.
 * Calls    balance/, core/.
 */
#ifndef CK_STATS_H
#define CK_STATS_H

#include "../balance/balance.h"

enum { PART_STATS = 25 };
extern const struct ck_part stats_part;

/** When the program's types are known: make the tables. 0. */
int stats_program(struct node *node);

/** The table by which entries of the type are called: the counting one, or the type's own. */
const CkGenEntry *stats_entries(const struct node *node, const CkGenChare *type);

#endif
