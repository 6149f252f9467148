/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emptied: what a PE says of its elements reaches PEs that do not know the array yet. In each round
 * another PE makes two arrays. One has no extents, but begins with elements on some PEs. In the
 * other the constructors on all PEs but one destroy their elements. So PEs tell others at once that
 * they have elements, or that none is left, and these may get the creation later, by another way.
 * Then the elements that are there reduce, and the sums must come.
 */
#include "check.h"

#include "emptied.decl.h"

enum { ROUNDS = 30, EACH = 2 };

struct Main { int round, n_spread, n_left; };
struct Maker { char unused; };
struct Spread { char unused; };
struct Brief { char unused; };

/* On about half of the PEs. */
static int n_spread(void) { return CkNumPes() / 2 + 1; }

void Spread_on_new(Spread *self)
{
	CkContribute(self, &(int){ 1 }, 1, CkReduction_sum_int, Main_cb_spread(mainProxy));
}

void Brief_on_new(Brief *self, int stays)
{
	if (CkMyPe() == stays)
		CkContribute(self, &(int){ 1 }, 1, CkReduction_sum_int, Main_cb_left(mainProxy));
	else
		CkDestroy(self);
}

void Maker_on_new(Maker *self) { (void)self; }

void Maker_on_make(Maker *self, int round)
{
	CkArrayOptions some = { .start = { -4 }, .end = { -4 + 3 * n_spread() }, .step = { 3 } };

	(void)self;
	Spread_ckNew_opt(&some);
	Brief_ckNew(CkDims(EACH * CkNumPes()), round % CkNumPes());
}

static void next(Main *self)
{
	if (self->n_spread < self->round || self->n_left < self->round)
		return;
	if (self->round == ROUNDS) {
		CkPrintf("emptied: %d rounds\n", ROUNDS);
		CkExit(0);
		return;
	}
	self->round++;
	Maker_make(Maker_at(makers, self->round * 3 % CkNumPes()), self->round);
}

void Main_on_spread(Main *self, int n)
{
	CHECK_EQ(n, n_spread());
	self->n_spread++;
	next(self);
}

void Main_on_left(Main *self, int n)
{
	CHECK_EQ(n, EACH);
	self->n_left++;
	next(self);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	makers = Maker_ckNew();
	next(self);
}

#include "emptied.def.h"
