/* SPDX-License-Identifier: Apache-2.0 */
/* place_none.c: no block moves. options.c refuses --move. */
#include "place.h"

const bool has_moves = false;

void block_move(Block *b, int to) { (void)b, (void)to; }
