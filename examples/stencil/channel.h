/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.h: the mode named: channels that follow blocks. channel.c has it; channel_none.c takes
 * its place where the library has been built without the room channel.
 */
#ifndef STENCIL_CHANNEL_H
#define STENCIL_CHANNEL_H

#include "block.h"

extern const bool has_named;

/** The tag of a named channel says where it arrives. */
static inline int tag_of(int slot, int side) { return slot * N_SIDES + side; }

/** Make and destroy a block's ends. No handle travels, and nobody waits until all have made theirs:
 * a put that comes before is kept. */
void named_make(Block *b);
void named_destroy(Block *b);
void named_put(Block *b, int side, int slot);
void named_ready(Block *b, int side, int slot);
/** Both ends of a side, in a block that moves. */
void named_pup(pup_er p, Block *b, int side, int slot);

#endif
