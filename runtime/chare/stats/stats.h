/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.h: the room stats/: what chares add to the counts of their PE (CK_STATS, ckrun --progress;
 * counted.h).
 *
 * Owns     the rows of entry methods and the numbers of elements in these counts; CkProgressLine.
 * Called   by programs, CkProgressLine alone. It observes (observe.h), and watches elements that
 *          come and go. Where nothing is counted the part is off and costs nothing.
 * Calls    observe/, place/, core/.
 */
#ifndef CK_STATS_H
#define CK_STATS_H

#include "../core/core.h"

enum { PART_STATS = 26 };
extern const struct ck_part stats_part;

#endif
