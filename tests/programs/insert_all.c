/* SPDX-License-Identifier: Apache-2.0 */
/*
 * insert_all: all PEs insert elements on each other, a reduction says that all have called insert, then inserting ends and a
 * broadcast calls them all. Each element gets it, because each creator had inserted before it could see the broadcast. No
 * quiescence comes between: each element says that it was called. Programs in which cells make their pairs do so.
 */
#include "check.h"

#include "insert_all.decl.h"

enum { EACH = 100 };

struct Main { int n_called; };
struct Hand { int unused; };
struct Pair { bool called; };

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	pairs = Pair_ckNewEmpty();
	hands = Hand_ckNew();
	Hand_make_all(hands);
}

void Hand_on_new(Hand *self) { (void)self; }

void Hand_on_make(Hand *self)
{
	for (int i = 0; i < EACH; i++)
		Pair_insert(Pair_at(pairs, CkMyPe() * EACH + i), (CkMyPe() + i) % CkNumPes());
	CkContributeBarrier(self, Main_cb_made(mainProxy));
}

void Main_on_made(Main *self)
{
	(void)self;
	Pair_doneInserting(pairs);
	Pair_run_all(pairs);
}

void Pair_on_new(Pair *self) { self->called = false; }

void Pair_on_run(Pair *self)
{
	CHECK(!self->called);
	self->called = true;
	Main_called(mainProxy);
}

void Main_on_called(Main *self)
{
	if (++self->n_called < EACH * CkNumPes())
		return;
	CkPrintf("all %d elements were called\n", self->n_called);
	CkExit(0);
}

#include "insert_all.def.h"
