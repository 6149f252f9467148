/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.h: the room stats/: what chares add to the counts of their PE (CK_STATS, ckrun --progress;
 * counted.h).
 *
 * Owns     the rows of entry methods and the numbers of elements in these counts; CkProgressLine.
 * Called   by programs (CkProgressLine), by observe/ and by watches of elements. Without CK_STATS
 *          and --progress the part is off and costs nothing.
 * Calls    observe/, place/, core/.
 */
#ifndef CK_STATS_H
#define CK_STATS_H

#include "../core/core.h"

enum { PART_STATS = 27 };
extern const struct ck_part stats_part;

#endif
