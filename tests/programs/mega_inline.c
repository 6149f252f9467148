/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mega_inline: the main chare makes a group, and then a chare on each PE that gets the group's
 * proxy. The chare calls an [inline] entry of its PE's member, and finds the call done when it
 * returns. If it calls the member of another PE, nothing has happened here. It does the same with
 * elements of an array, which call back, and which call themselves within the call.
 */
#include "mega.h"

#include "mega_inline.decl.h"

enum { CELLS = 12, DEPTH = 30 };

struct Main { struct mega runs; int n_testers; };
struct Flag { bool called; int calls; };
struct Cell { int depth, calls; };
struct Tester { CProxy_Flag flags; int n_heard; unsigned heard; };

/* ---- those who are called -------------------------------------------------------------------- */

void Flag_on_new(Flag *self) { (void)self; }
void Cell_on_new(Cell *self) { (void)self; }

void Flag_on_tryInline(Flag *self, int v, int n, const int *list)
{
	for (int i = 0; i < n; i++)
		CHECK_EQ(list[i], v + i);
	self->called = true;
	self->calls++;
}

void Flag_on_report(Flag *self)
{
	CkContribute(self, &self->calls, 1, CkReduction_sum_int, Main_cb_counted(mainProxy));
}

void Cell_on_tryInline(Cell *self, CProxy_Tester t)
{
	self->calls++;
	Tester_heard(t, Cell_thisIndex(self));
}

/* An [inline] call of itself, from within it. */
void Cell_on_down(Cell *self, int depth)
{
	self->depth = depth;
	if (depth == 0)
		return;
	Cell_down(Cell_thisElement(self), depth - 1);
	CHECK_EQ(self->depth, 0);
}

/* ---- who calls ------------------------------------------------------------------------------- */

void Tester_on_new(Tester *self, CProxy_Flag f, int pe)
{
	CHECK_EQ(CkMyPe(), pe);
	self->flags = f;
}

static void try_members(Tester *self)
{
	Flag *here = Flag_ckLocalBranch(self->flags);
	int me = CkMyPe(), calls, list[] = {me, me + 1, me + 2};

	here->called = false;
	calls = here->calls;
	Flag_tryInline(Flag_at(self->flags, me), me, 3, list);
	if (!here->called)
		CkAbort("mega_inline: the call should have been made by now");
	CHECK_EQ(here->calls, calls + 1);
	here->called = false;
	if (CkNumPes() > 1)
		Flag_tryInline(Flag_at(self->flags, (me + 1) % CkNumPes()), me, 3, list);
	CHECK(!here->called);
	CHECK_EQ(here->calls, calls + 1);
}

/* An element of this PE has been called when the call returns. All elements call back. */
static void try_cells(Tester *self)
{
	for (int i = 0; i < CELLS; i++) {
		Cell *here = Cell_ckLocal(Cell_at(cells, i));
		int calls = here ? here->calls : 0;

		Cell_tryInline(Cell_at(cells, i), Tester_thisProxy(self));
		if (!here)
			continue;
		CHECK_EQ(here->calls, calls + 1);
		Cell_down(Cell_at(cells, i), DEPTH);
		CHECK_EQ(here->depth, 0);
	}
}

void Tester_on_startTest(Tester *self)
{
	try_members(self);
	try_cells(self);
}

void Tester_on_heard(Tester *self, int cell)
{
	self->heard |= 1u << cell;
	if (++self->n_heard < CELLS)
		return;
	CHECK_EQ(self->heard, (1u << CELLS) - 1);
	Main_finish(mainProxy);
	CkDestroy(self);
}

/* ---- main ------------------------------------------------------------------------------------ */

/* As in Charm++, nothing says that the testers depend on the group. */
static void begin(int no)
{
	(void)no;
	for (int pe = 0; pe < CkNumPes(); pe++)
		Tester_startTest(Tester_ckNew(pe, flags, pe));
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	flags = Flag_ckNew();
	cells = Cell_ckNew(CkDims(CELLS));
	mainProxy = Main_thisProxy(self);
	mega_start(&self->runs, begin);
}

void Main_on_finish(Main *self)
{
	if (++self->n_testers % CkNumPes() == 0 && mega_ended(&self->runs, begin))
		CkStartQD(Main_cb_quiet(mainProxy));
}

/* Nothing answers the calls of the next PE's members, so the end of all of them is quiescence. */
void Main_on_quiet(Main *self)
{
	(void)self;
	Flag_report_all(flags);
}

void Main_on_counted(Main *self, int calls)
{
	CHECK_EQ(calls, self->n_testers * (CkNumPes() > 1 ? 2 : 1));
	CkPrintf("mega_inline: %d testers\n", self->n_testers);
	CkExit(0);
}

#include "mega_inline.def.h"
