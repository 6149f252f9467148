/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steered SECONDS [abort]: the last PE computes in handlers of so many seconds, for ever; others are
 * idle. With abort: it ends the job after the first.
 */
#include "ck.h"

#include <stdlib.h>

#include "steered.decl.h"

struct Main { int unused; };
struct Cell { int unused; };

void Main_on_new(Main *self, CkArgMsg *m)
{
	CProxy_Cell cells = Cell_ckNew(CkDims(CkNumPes()));

	(void)self;
	CkPrintf("steered: begins\n");
	Cell_compute(Cell_at(cells, CkNumPes() - 1), m->argc > 1 ? atof(m->argv[1]) : 1, m->argc > 2);
}

void Cell_on_new(Cell *self)
{
	(void)self;
}

void Cell_on_compute(Cell *self, double seconds, int aborts)
{
	const double until = CkWallTimer() + seconds;

	while (CkWallTimer() < until)
		;
	if (aborts)
		CkAbort("steered: as it was told");
	Cell_compute(Cell_at(Cell_thisProxy(self), Cell_thisIndex(self)), seconds, 0);
}

#include "steered.def.h"
