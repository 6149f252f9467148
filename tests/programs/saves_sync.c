/* SPDX-License-Identifier: Apache-2.0 */
/*
 * saves_sync N SAY: cells exchange values and call CkAtSync, N times. CK_CHECKPOINT saves them
 * there; a job that is started from a checkpoint goes on with resumeFromSync. The last line is
 * always the same. If SAY is not 0, there is a line for each sync.
 */
#include "check.h"

#include <stdlib.h>

#include "saves_sync.decl.h"

struct Main { int unused; };
struct Cell { long value, sum; int n_taken, round; };

enum { CELLS = 23 };

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)self;
	main_proxy = Main_thisProxy(self);
	n_syncs = m->argc > 1 ? atoi(m->argv[1]) : 50;
	says = m->argc > 2 ? atoi(m->argv[2]) : 0;
	cells = Cell_ckNew(CkDims(CELLS));
	Cell_begin_all(cells);
}

void Main_on_over(Main *self, long sum)
{
	(void)self;
	CkPrintf("saves_sync: %ld\n", sum);
	CkExit(0);
}

void Cell_on_new(Cell *self)
{
	self->value = Cell_thisIndex(self) + 1;
}

static void maybe_sync(Cell *self)
{
	if (self->n_taken < 2)
		return;
	self->n_taken = 0;
	self->value = (long)(check_mix((uint64_t)self->sum) % 1000);
	if (++self->round == n_syncs)
		CkContribute(self, &self->sum, 1, CkReduction_sum_long, Main_cb_over(main_proxy));
	else
		CkAtSync(self);
}

void Cell_on_begin(Cell *self)
{
	Cell_take(Cell_at(cells, (Cell_thisIndex(self) + 1 + self->round) % CELLS), self->value);
	self->n_taken++;
	maybe_sync(self);
}

/* Without a sync a neighbour may be a round ahead; with one it is not. */
void Cell_on_take(Cell *self, long value)
{
	self->sum = (long)((unsigned long)self->sum * 3 + (unsigned long)value);
	self->n_taken++;
	maybe_sync(self);
}

void Cell_on_resumeFromSync(Cell *self)
{
	if (says && Cell_thisIndex(self) == 0)
		CkPrintf("saves_sync: sync %d\n", self->round);
	Cell_on_begin(self);
}

#include "saves_sync.def.h"
