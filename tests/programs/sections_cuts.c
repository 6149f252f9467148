/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sections_cuts: with CK_LB=last a step at rest moves all elements to the last PE, which becomes their home. Then PE 0, where
 * some of them were made, calls a section of them again and again while they wander. Each gets all calls in their order.
 */
#include "check.h"

struct Main { int k; };
struct Cell { int next; };

#include "sections_cuts.decl.h"

enum { N = 8, CALLS = 100, UNDER_WAY = 3 };

static int last(const CkLBStats *s, int32_t *to, void *arg)
{
	(void)arg;
	for (size_t i = 0; i < s->n; i++)
		to[i] = s->n_pes - 1;
	return 0;
}

void register_strategies(void) { CkLBRegister("last", last, 0, NULL); }

void Cell_on_new(Cell *self) { (void)self; }

void Cell_on_sync(Cell *self)
{
	CkSetLoad(self, Cell_thisIndex(self) ? 1 : 1000);
	CkAtSync(self);
}

void Cell_on_resumeFromSync(Cell *self) { CkContribute(self, NULL, 0, CkReduction_nop, Main_cb_synced(mainProxy)); }

void Cell_on_hear(Cell *self, int k)
{
	CHECK_EQ(k, self->next);
	self->next++;
	if (k % N == Cell_thisIndex(self))
		Main_next(mainProxy);
	if (k % 3 == Cell_thisIndex(self) % 3)
		CkMigrateMe(self, CkMyPe() ? 0 : CkNumPes() - 1);
	if (self->next == CALLS)
		CkContribute(self, NULL, 0, CkReduction_nop, Main_cb_heard(mainProxy));
}


void Main_on_next(Main *self)
{
	if (self->k < CALLS)
		Cell_hear_section(all, self->k++);
}

void Main_on_synced(Main *self)
{
	for (int i = 0; i < UNDER_WAY; i++)
		Main_on_next(self);
}

void Main_on_heard(Main *self)
{
	CHECK_EQ(self->k, CALLS);
	CkPrintf("sections_cuts: %d calls\n", self->k);
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	CProxy_Cell cells = Cell_ckNew(CkDims(N));
	CkIndex list[N];

	(void)m;
	mainProxy = Main_thisProxy(self);
	for (int i = 0; i < N; i++)
		list[i] = Cell_index(i);
	all = Cell_ckSection(cells, list, N);
	Cell_sync_all(cells);
}

#include "sections_cuts.def.h"
