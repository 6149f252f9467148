/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.h: what --move needs. place.c has it; place_none.c takes its place where the library has
 * been built without the room place.
 */
#ifndef STENCIL_PLACE_H
#define STENCIL_PLACE_H

#include "block.h"

extern const bool has_moves;

/** As CkMigrateMe. */
void block_move(Block *b, int to);

#endif
