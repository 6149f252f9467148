/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steered SECONDS [abort]: the last PE computes in handlers of so many seconds, for ever; others
 * are idle. With abort: it ends the job after the first. A negative number: it computes for so many
 * seconds, is idle for as many, and so on.
 */
#include "ck.h"
#include "csd.h"

#include <math.h>
#include <stdlib.h>

#include "steered.decl.h"

struct Main { int unused; };
struct Cell { double seconds; };

void Main_on_new(Main *self, CkArgMsg *m)
{
	CProxy_Cell cells = Cell_ckNew(CkDims(CkNumPes()));

	(void)self;
	CkPrintf("steered: begins\n");
	Cell_compute(Cell_at(cells, CkNumPes() - 1), m->argc > 1 ? atof(m->argv[1]) : 1, m->argc > 2);
}

void Cell_on_new(Cell *self)
{
	self->seconds = 0;
}

static void again(void *cell)
{
	Cell_compute(Cell_at(Cell_thisProxy(cell), CkNumPes() - 1), ((Cell *)cell)->seconds, 0);
}

/* On the first PE: so the last one is idle until a call comes. */
void Cell_on_later(Cell *self, double seconds)
{
	self->seconds = seconds;
	CcdCallFnAfter(again, self, -seconds * 1000);
}

void Cell_on_compute(Cell *self, double seconds, int aborts)
{
	const double until = CkWallTimer() + fabs(seconds);

	while (CkWallTimer() < until)
		;
	if (aborts)
		CkAbort("steered: as it was told");
	if (seconds > 0)
		Cell_compute(Cell_at(Cell_thisProxy(self), Cell_thisIndex(self)), seconds, 0);
	else
		Cell_later(Cell_at(Cell_thisProxy(self), 0), seconds);
}

#include "steered.def.h"
