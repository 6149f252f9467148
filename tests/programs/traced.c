/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traced: what tests/trace/run.py looks for in a trace.
 *
 *	traced [ROUNDS [QUIET]]
 *
 * Two cells per PE. Each sends a token of ROUNDS calls to the next cell, one of calls with a priority, and has a
 * thread that gives way. The events of the program: a span "work" around each hop, a mark "first hop" in each
 * cell, a counter "left". With QUIET each PE turns its trace off for the first half of its hops.
 */
#include <stdlib.h>

#include "check.h"
#include "cth.h"
#include "traced.decl.h"

enum { PER_PE = 2 };

struct Main { char unused; };
struct Cell { int hops; };

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	n_rounds = m->argc > 1 ? atoi(m->argv[1]) : 20;
	quiet = m->argc > 2;
	cells = Cell_ckNew(CkDims(PER_PE * CkNumPes()));
	Cell_start_all(cells);
	CkStartQD(Main_cb_rest(mainProxy));
}

void Main_on_rest(Main *self)
{
	(void)self;
	Cell_end_all(cells);
}

void Main_on_counted(Main *self, int hops)
{
	(void)self;
	CHECK_EQ(hops, 2 * PER_PE * CkNumPes() * n_rounds);
	CkPrintf("traced: %d hops\n", hops);
	CkExit(0);
}

static CProxyElement_Cell next_of(const Cell *self)
{
	return Cell_at(cells, (Cell_thisIndex(self) + 1) % (PER_PE * CkNumPes()));
}

void Cell_on_new(Cell *self)
{
	self->hops = 0;
	if (CkMyPe() % 2)
		CkTraceMark("odd PE"); /* so the PEs number their events differently */
}

void Cell_on_start(Cell *self)
{
	const CkEntryOptions o = { .prio = -1 };

	if (quiet)
		CkTraceOff();
	Cell_hop(next_of(self), n_rounds - 1);
	Cell_first_opt(&o, next_of(self), n_rounds - 1);
	Cell_waits(Cell_thisElement(self));
	Cell_unseen(Cell_thisElement(self));
}

static void token(Cell *self, int left)
{
	if (!self->hops++)
		CkTraceMark("first hop");
	if (self->hops == n_rounds)
		CkTraceOn();
	CkTraceCounter("left", left);
}

void Cell_on_hop(Cell *self, int left)
{
	CkTraceBegin("work");
	if (left)
		Cell_hop(next_of(self), left - 1);
	token(self, left);
	CkTraceEnd();
}

void Cell_on_first(Cell *self, int left)
{
	const CkEntryOptions o = { .prio = left % 3 - 1 };

	CkTraceBegin("work");
	if (left)
		Cell_first_opt(&o, next_of(self), left - 1);
	token(self, left);
	CkTraceEnd();
}

void Cell_on_waits(Cell *self)
{
	(void)self;
	CkTraceBegin("waiting");
	for (int i = 0; i < 3; i++)
		CthYield();
	CkTraceEnd();
}

void Cell_on_unseen(Cell *self)
{
	(void)self;
}

void Cell_on_end(Cell *self)
{
	CkContribute(self, &self->hops, 1, CkReduction_sum_int, Main_cb_counted(mainProxy));
}

#include "traced.def.h"
