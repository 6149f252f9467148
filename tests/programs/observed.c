/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observed: in each round each of 4 elements for each PE takes 300 us in a handler, as long in a
 * thread, and as long in a body, and syncs. tests/stats/together.py compares what observers have
 * seen. `observed [rounds]`.
 */
#include "check.h"

#include "cth.h"

struct Main { int unused; };
struct Cell { int round, n_plain, n_unseen; };

static void spin(void);
static void begin_round(struct Cell *self);
static void end(struct Cell *self);

#include "observed.decl.h"

static void spin(void)
{
	const double until = CkWallTimer() + 300e-6;

	while (CkWallTimer() < until)
		;
}

/* What takes time is the element's own, so that it falls into the round. */
static void begin_round(Cell *self)
{
	const CProxyElement_Cell next = Cell_at(cells, (Cell_thisIndex(self) + 1) % (4 * CkNumPes()));

	Cell_plain(Cell_thisElement(self));
	Cell_unseen(next);
	Cell_side(next, self->round);
}

void Cell_on_new(Cell *self) { self->round = self->n_plain = self->n_unseen = 0; }

void Cell_on_plain(Cell *self)
{
	self->n_plain++;
	spin();
}

void Cell_on_unseen(Cell *self) { self->n_unseen++; }

void Cell_on_nap(Cell *self)
{
	const CProxyElement_Cell me = Cell_thisElement(self);

	CthYield();
	spin();
	CthYield();
	Cell_awake(me);
}

static void end(Cell *self)
{
	const int n[2] = { self->n_plain, self->n_unseen };

	CkContribute(self, n, 2, CkReduction_sum_int, Main_cb_done(mainProxy));
}

void Main_on_done(Main *self, int plain, int unseen)
{
	(void)self;
	CHECK_EQ(plain, 4 * CkNumPes() * rounds);
	CHECK_EQ(unseen, plain);
	CkPrintf("observed: %d rounds\n", rounds);
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)self;
	rounds = check_argument(m, 1, 6);
	mainProxy = Main_thisProxy(self);
	cells = Cell_ckNew(CkDims(4 * CkNumPes()));
	Cell_run_all(cells);
}

#include "observed.def.h"
