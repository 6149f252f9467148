/* SPDX-License-Identifier: Apache-2.0 */
/* channel_none.c: there are no named channels. options.c refuses the mode, so no block has ends. */
#include "channel.h"

const bool has_named = false;

void named_make(Block *b) { (void)b; }
void named_destroy(Block *b) { (void)b; }

void named_put(Block *b, int side, int slot)
{
	(void)b;
	(void)side;
	(void)slot;
}

void named_ready(Block *b, int side, int slot)
{
	(void)b;
	(void)side;
	(void)slot;
}

void named_pup(pup_er p, Block *b, int side, int slot)
{
	(void)p;
	(void)b;
	(void)side;
	(void)slot;
}
