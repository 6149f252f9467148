/* SPDX-License-Identifier: Apache-2.0 */
/*
 * migrate_change: elements that move after each handler, contribute wherever they are, and are destroyed while they
 * are away, by themselves or by a call; new ones take their indices at once. Every reduction has the contributions of all, and between two rounds
 * X_nextLocal shows each element on one PE, X_ckLocal finds it there, and stubs are never shown. In an array with
 * extents and in one whose elements were inserted away from their home.
 */
#include "check.h"

#include "migrate_change.decl.h"

enum { CELLS = 14, ROUNDS = 10, HOPS = 3 };

struct Main {
	int phase, round, n_made;
	CProxy_Cell cells;
	CProxy_Census census;
};
struct Cell { int me, hop; };
struct Census { int none; };

/* Those that contribute to this round, and to no other any more. */
static bool ends(int e, int round) { return (e + round) % 4 == 0; }

/* ---- cells ------------------------------------------------------------------------------------ */

void Cell_on_new(Cell *self) { self->me = Cell_thisIndex(self); }

void Cell_pup(pup_er p, Cell *self) { pup_bytes(p, self, sizeof *self); }

static void hop(Cell *self)
{
	self->hop++;
	CkMigrateMe(self, (int)(check_mix((uint64_t)(self->me * 131 + self->hop)) % (uint64_t)CkNumPes()));
}

static void contribute(Cell *self, int round, int part)
{
	const long v[4] = { 1, self->me, round, part };

	CkContribute(self, v, 4, CkReduction_sum_long, Main_cb_counted(mainProxy));
}

/* The first part here, the others elsewhere. */
void Cell_on_go(Cell *self, int round)
{
	contribute(self, round, 0);
	Cell_gone_next(Cell_thisElement(self), round);
	hop(self);
}

void Cell_on_gone_next(Cell *self, int round)
{
	contribute(self, round, 1);
	Cell_last(Cell_thisElement(self), round);
	hop(self);
}

void Cell_on_last(Cell *self, int round)
{
	contribute(self, round, 2);
	if (ends(self->me, round) && self->me % 2)
		CkDestroy(self);
	else
		hop(self);
}

/* ---- what a PE has ------------------------------------------------------------------------------ */

void Census_on_new(Census *self) { (void)self; }

void Census_on_count(Census *self, CProxy_Cell cells)
{
	long v[2] = { 0, 0 };

	for (Cell *c = NULL; (c = Cell_nextLocal(cells, c));) {
		CHECK(c == Cell_ckLocal(Cell_at(cells, c->me)));
		v[0]++;
		v[1] += 1L << c->me;
	}
	for (int e = 0; e < CELLS; e++)
		CHECK((Cell_ckLocal(Cell_at(cells, e)) != NULL) == (v[1] >> e & 1));
	CkContribute(self, v, 2, CkReduction_sum_long, Main_cb_census(mainProxy));
}

/* ---- rounds ---------------------------------------------------------------------------------------- */

static int pe_of(const Main *self, int e)
{
	return self->phase ? (e * 5 + self->round) % CkNumPes() : CK_PE_ANY;
}

static void begin(Main *self)
{
	self->round = 0;
	self->cells = self->phase ? Cell_ckNewEmpty() : Cell_ckNew(CkDims(CELLS));
	for (int e = 0; self->phase && e < CELLS; e++)
		Cell_insert(Cell_at(self->cells, e), pe_of(self, e));
	if (self->phase)
		Cell_doneInserting(self->cells);
	CkStartQD(Main_cb_quiet(mainProxy));
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	self->census = Census_ckNew();
	begin(self);
}

void Main_on_quiet(Main *self)
{
	Census_count_all(self->census, self->cells);
}

void Main_on_census(Main *self, int n, const long *v)
{
	CHECK_EQ(n, 2);
	CHECK_EQ(v[0], CELLS);
	CHECK_EQ(v[1], (1L << CELLS) - 1);
	if (self->round < ROUNDS) {
		Cell_go_all(self->cells, self->round);
	} else if (self->phase++ == 0) {
		begin(self);
	} else {
		CkPrintf("migrate_change: %d elements anew on %d PEs\n", self->n_made, CkNumPes());
		CkExit(0);
	}
}

void Main_on_counted(Main *self, int n, const long *v)
{
	CHECK_EQ(n, 4);
	CHECK_EQ(v[0], CELLS);
	CHECK_EQ(v[1], CELLS * (CELLS - 1) / 2);
	CHECK_EQ(v[2], CELLS * self->round);
	if (v[3] < 2 * CELLS)
		return;
	for (int e = 0; e < CELLS; e++) {
		if (!ends(e, self->round))
			continue;
		if (e % 2 == 0)
			Cell_ckDestroy(Cell_at(self->cells, e));
		Cell_insert(Cell_at(self->cells, e), pe_of(self, e));
		self->n_made++;
	}
	self->round++;
	CkStartQD(Main_cb_quiet(mainProxy));
}

#include "migrate_change.def.h"
