/* SPDX-License-Identifier: Apache-2.0 */
/*
 * newborn: a broadcast asks each block to make a child on another PE. No child gets the broadcast in whose handler it was made,
 * whichever of the two PEs gets it first, and each gets the next one. So their number doubles with each.
 */
#include "check.h"

#include "newborn.decl.h"

enum { ROUNDS = 6, FIRST = 2 };

struct Main { int round; };
struct Block { int round; };

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	blocks = Block_ckNewEmpty();
	for (int i = 0; i < FIRST * CkNumPes(); i++)
		Block_insert(Block_at(blocks, i), i % CkNumPes(), 0);
	Block_doneInserting(blocks);
	CkStartQD(Main_cb_ready(mainProxy));
}

void Main_on_ready(Main *self)
{
	if (++self->round > ROUNDS) {
		Block_report_all(blocks);
		return;
	}
	Block_split_all(blocks, self->round);
	CkStartQD(Main_cb_ready(mainProxy));
}

void Block_on_new(Block *self, int round) { self->round = round; }

/* Parent i makes child i + FIRST * PEs * 2^(round - 1). */
void Block_on_split(Block *self, int round)
{
	CHECK_EQ(round, self->round + 1);
	self->round = round;
	Block_insert(Block_at(blocks, Block_thisIndex(self) + FIRST * CkNumPes() * (1 << (round - 1))),
		     (CkMyPe() + CkNumPes() - 1) % CkNumPes(), round);
}

void Block_on_report(Block *self)
{
	long one = 1;

	CHECK_EQ(self->round, ROUNDS);
	CkContribute(self, &one, 1, CkReduction_sum_long, Main_cb_total(mainProxy));
}

void Main_on_total(Main *self, long n)
{
	(void)self;
	CHECK_EQ(n, (long)FIRST * CkNumPes() * (1 << ROUNDS));
	CkPrintf("%ld blocks\n", n);
	CkExit(0);
}

#include "newborn.def.h"
