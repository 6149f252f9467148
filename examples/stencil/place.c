/* SPDX-License-Identifier: Apache-2.0 */
/* place.c: blocks that move. */
#include "place.h"

const bool has_moves = true;

void block_move(Block *b, int to) { CkMigrateMe(b, to); }
