/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inline_early: the constructor of an element calls the elements before and after it by [inline]
 * entries, directly and through an [inline] entry of a group. One before it is called at once; one
 * after it is not constructed yet, so the call waits until it is. `inline_early local`: a [local]
 * entry of such an element is called, which ends the job.
 */
#include "check.h"

#include "inline_early.decl.h"

enum { EACH = 4 }; /* elements of each PE */

struct Main { CProxy_Cell cells; };
struct Cell { bool made; int touched; };
struct Hand { int unused; };

static _Thread_local int touched; /* calls that this PE has handled */

void Hand_on_new(Hand *self) { (void)self; }

void Hand_on_pass(Hand *self, CProxyElement_Cell to)
{
	(void)self;
	if (local)
		Cell_now(to);
	else
		Cell_touch(to);
}

static void touch_both_ways(CProxyElement_Cell e)
{
	Hand_pass(Hand_at(hands, CkMyPe()), e);
	Cell_touch(e);
}

/* The block map: element i lives on PE i / EACH. */
void Cell_on_new(Cell *self)
{
	const int me = Cell_thisIndex(self), was = touched;
	const CProxy_Cell cells = Cell_thisProxy(self);

	self->made = true;
	if (me % EACH > 0) {
		touch_both_ways(Cell_at(cells, me - 1));
		CHECK_EQ(touched, was + 2);
	}
	if (me % EACH < EACH - 1) {
		touch_both_ways(Cell_at(cells, me + 1));
		CHECK_EQ(touched, was + 2 * (me % EACH > 0));
	}
	touch_both_ways(Cell_at(cells, me));
	CHECK_EQ(touched, was + 2 + 2 * (me % EACH > 0));
}

void Cell_on_touch(Cell *self)
{
	CHECK(self->made);
	self->touched++;
	touched++;
}

void Cell_on_now(Cell *self) { CHECK(self->made); }

void Cell_on_count(Cell *self)
{
	const int at = Cell_thisIndex(self) % EACH;
	const long n = self->touched;

	CHECK_EQ(n, 2 * (1 + (at > 0) + (at < EACH - 1)));
	CkContribute(self, &n, 1, CkReduction_sum_long, Main_cb_counted(mainProxy));
}

void Main_on_counted(Main *self, long n)
{
	(void)self;
	CkPrintf("%ld calls of elements that were constructed\n", n);
	CkExit(0);
}

void Main_on_quiet(Main *self)
{
	Cell_count_all(self->cells);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	local = m->argc > 1 && !strcmp(m->argv[1], "local");
	hands = Hand_ckNew();
	self->cells = Cell_ckNew(CkDims(EACH * CkNumPes()));
	CkStartQD(Main_cb_quiet(mainProxy));
}

#include "inline_early.def.h"
