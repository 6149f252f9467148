/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sections_cuts: with CK_LB=last a step at rest moves all elements to the last PE, which becomes their home. Then PE 0, where
 * some of them were made, calls a section of them again and again while they wander. Each gets all calls in their order.
 *
 * `sections_cuts steps`, with CK_LB=turn: each step moves the last elements, which are large, from one PE to another and back.
 * Element 0 calls them as a section and syncs at once. The last PE, where they were made, hands out the calls. It has so much to do
 * that it hears first that the array closes. When they come back to it, it sometimes opens after the next call has come.
 */
#include "check.h"

struct Main { int k; };
struct Cell { int next, steps; char ballast[1 << 18]; };
struct Busy { volatile int n; };

#include "sections_cuts.decl.h"

enum { N = 8, CALLS = 100, UNDER_WAY = 3, STEPS = 100, FIRST = N - 2, BUSY = 500 };

static int last(const CkLBStats *s, int32_t *to, void *arg)
{
	(void)arg;
	for (size_t i = 0; i < s->n; i++)
		to[i] = s->n_pes - 1;
	return 0;
}

static int turn(const CkLBStats *s, int32_t *to, void *arg)
{
	(void)arg;
	for (size_t i = 0; i < s->n; i++)
		to[i] = i < FIRST ? 0 : s->n_pes - 1 - (int32_t)(s->step % 2);
	return 0;
}

void register_strategies(void)
{
	CkLBRegister("last", last, 0, NULL);
	CkLBRegister("turn", turn, 0, NULL);
}

void Cell_on_new(Cell *self) { (void)self; }

void Cell_on_sync(Cell *self)
{
	CkSetLoad(self, Cell_thisIndex(self) ? 1 : 1000);
	CkAtSync(self);
}

void Busy_on_new(Busy *self) { self->n = 0; }

void Busy_on_work(Busy *self)
{
	for (int i = 0; i < 1000; i++)
		self->n++;
}

static void call_and_sync(Cell *self)
{
	if (Cell_thisIndex(self) == 0) {
		for (int i = 0; i < BUSY; i++)
			Busy_work(Busy_at(busy, CkNumPes() - 1));
		Cell_step_section(all, self->steps);
	}
	self->steps++;
	Cell_on_sync(self);
}

void Cell_on_steps(Cell *self) { call_and_sync(self); }

void Cell_on_step(Cell *self, int k)
{
	CHECK_EQ(k, self->next);
	self->next++;
	if (self->next == STEPS)
		CkContribute(self, NULL, 0, CkReduction_nop, Main_cb_stepped(mainProxy));
}

void Cell_on_resumeFromSync(Cell *self)
{
	if (!self->steps)
		CkContribute(self, NULL, 0, CkReduction_nop, Main_cb_synced(mainProxy));
	else if (self->steps < STEPS)
		call_and_sync(self);
	else if (Cell_thisIndex(self) < FIRST)
		CkContribute(self, NULL, 0, CkReduction_nop, Main_cb_stepped(mainProxy));
}

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

void Main_on_stepped(Main *self)
{
	(void)self;
	CkPrintf("sections_cuts: %d steps\n", STEPS);
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	CProxy_Cell cells = Cell_ckNew(CkDims(N));
	CkIndex list[N];

	mainProxy = Main_thisProxy(self);
	for (int i = 0; i < N; i++)
		list[i] = Cell_index(i);
	if (m->argc > 1) {
		busy = Busy_ckNew();
		all = Cell_ckSection(cells, list + FIRST, N - FIRST);
		Cell_steps_all(cells);
	} else {
		all = Cell_ckSection(cells, list, N);
		Cell_sync_all(cells);
	}
}

#include "sections_cuts.def.h"
