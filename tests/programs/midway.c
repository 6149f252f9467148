/* SPDX-License-Identifier: Apache-2.0 */
/*
 * midway: in the middle of the first reduction of an array, when some elements of each PE have
 * contributed and others have not, one of them leaves, or moves to another PE. That is the first
 * change of the array. Sums of doubles are combined in the order of the elements, which contribute
 * in another order here. No contribution may be lost, or come twice.
 */
#include "check.h"

#include "midway.decl.h"

enum { EACH = 6 }; /* elements of each PE; the last one leaves or moves */

struct Main { bool moves; };
struct Cell { int unused; };

void Cell_pup(pup_er p, Cell *self) { pup_bytes(p, self, sizeof *self); }
void Cell_on_new(Cell *self) { (void)self; }

void Cell_on_give(Cell *self)
{
	double v[2] = { 1, Cell_thisIndex(self) };

	CkContribute(self, v, 2, CkReduction_sum_double, Main_cb_total(mainProxy));
}

void Cell_on_leave(Cell *self) { CkDestroy(self); }
void Cell_on_move(Cell *self) { CkMigrateMe(self, (CkMyPe() + 1) % CkNumPes()); }

static void reduce(bool moves)
{
	const CProxy_Cell cells = Cell_ckNew(CkDims(EACH * CkNumPes()));

	for (int first = 0; first < EACH * CkNumPes(); first += EACH) {
		CProxyElement_Cell last = Cell_at(cells, first + EACH - 1);

		Cell_give(Cell_at(cells, first));
		if (moves)
			Cell_move(last);
		else
			Cell_leave(last);
		Cell_give(Cell_at(cells, first + 2));
		Cell_give(Cell_at(cells, first + 1));
		if (moves)
			Cell_give(last);
		Cell_give(Cell_at(cells, first + 4));
		Cell_give(Cell_at(cells, first + 3));
	}
}

void Main_on_total(Main *self, double n, double sum)
{
	const int all = EACH * CkNumPes();
	int missing = 0;

	for (int last = EACH - 1; last < all && !self->moves; last += EACH)
		missing += last;
	CHECK_EQ(n, self->moves ? all : all - CkNumPes());
	CHECK_EQ(sum, all * (all - 1) / 2 - missing);
	if (self->moves)
		CkExit(0);
	else
		reduce(self->moves = true);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	reduce(false);
}

#include "midway.def.h"
