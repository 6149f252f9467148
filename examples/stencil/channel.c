/* SPDX-License-Identifier: Apache-2.0 */
/* channel.c: sides through named channels, which follow blocks that move. */
#include "channel.h"

const bool has_named = true;

static void make_ends(Block *b, int slot, int side)
{
	const size_t bytes = side_cells(b->box, side) * sizeof(double);
	const CProxyElement_Block other = b->neighbour[side];

	b->slot[slot].from[side] = Block_side_from_oob(
		b, other.ck, tag_of(slot, side), recv_of(b, slot, side), bytes, OUT_OF_BAND);
	b->slot[slot].to[side] = Block_side_to_strided(
		b, other, tag_of(slot, side ^ 1), send_of(b, slot, side), side_shape(b, side));
}

void named_make(Block *b)
{
	for (int s = 0; s < N_SLOTS; s++)
		for (int side = 0; side < N_SIDES; side++)
			if (!b->wall[side])
				make_ends(b, s, side);
	b->has_ends = true;
}

void named_destroy(Block *b)
{
	for (int s = 0; s < N_SLOTS; s++)
		for (int side = 0; side < N_SIDES; side++) {
			CkChannelDestroy(b->slot[s].from[side]);
			CkChannelDestroy(b->slot[s].to[side]);
			b->slot[s].from[side] = b->slot[s].to[side] = NULL;
		}
	b->has_ends = false;
}

void named_put(Block *b, int side, int slot) { CkChannelPut(b->slot[slot].to[side]); }

void named_ready(Block *b, int side, int slot) { CkChannelReady(b->slot[slot].from[side]); }

void named_pup(pup_er p, Block *b, int side, int slot)
{
	pup_channel(p, &b->slot[slot].from[side], b->recv ? recv_of(b, slot, side) : NULL);
	pup_channel(p, &b->slot[slot].to[side], send_of(b, slot, side));
}
