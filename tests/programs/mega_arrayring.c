/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mega_arrayring: the first element of an array sends itself a message in its constructor. The
 * elements send the message on to their neighbours, ten times round, and count in the local
 * branches of a group that the main chare has made before. At the end all elements have seen the
 * message equally often.
 */
#include "mega.h"

#include "mega_arrayring.decl.h"

enum { ELEMENTS = 50, LAPS = 10 };

struct Main { struct mega runs; };
struct Ring { int n, visits; };
struct Tally { int visits; };

void Tally_on_new(Tally *self) { (void)self; }

void Ring_on_new(Ring *self, int n)
{
	self->n = n;
	if (Ring_thisIndex(self) == 0) {
		Token *t = Token_alloc();

		strcpy(t->text, "Ringing");
		t->iter = -1;
		t->from = n - 1;
		Ring_start(Ring_at(Ring_thisProxy(self), 0), t);
	}
}

void Ring_on_start(Ring *self, Token *t)
{
	int i = Ring_thisIndex(self);

	if (strcmp(t->text, "Ringing") != 0)
		CkAbort("mega_arrayring: message corrupted: \"%.8s\"", t->text);
	CHECK_EQ(t->from, (i + self->n - 1) % self->n);
	if (i == 0)
		t->iter++;
	CHECK_EQ(t->iter, self->visits);
	if (t->iter < LAPS) {
		self->visits++;
		Tally_ckLocalBranch(tallies)->visits++;
		t->from = i;
		Ring_start(Ring_at(Ring_thisProxy(self), (i + 1) % self->n), t);
	} else {
		CkFreeMsg(t);
		Ring_report_all(Ring_thisProxy(self));
	}
}

void Ring_on_report(Ring *self)
{
	int v[2] = {self->visits, -self->visits};

	CkContribute(self, v, 2, CkReduction_max_int, Main_cb_ring(mainProxy));
}

void Tally_on_report(Tally *self)
{
	CkContribute(self, &self->visits, 1, CkReduction_sum_int, Main_cb_counted(mainProxy));
}

static void begin(int no)
{
	(void)no;
	Ring_ckNew(CkDims(ELEMENTS), ELEMENTS);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	tallies = Tally_ckNew();
	mainProxy = Main_thisProxy(self);
	mega_start(&self->runs, begin);
}

void Main_on_ring(Main *self, int most, int minus_least)
{
	CHECK_EQ(most, LAPS);
	CHECK_EQ(-minus_least, LAPS);
	if (mega_ended(&self->runs, begin))
		Tally_report_all(tallies);
}

void Main_on_counted(Main *self, int visits)
{
	(void)self;
	CHECK_EQ(visits, MEGA_RUNS * ELEMENTS * LAPS);
	CkPrintf("mega_arrayring: %d rings of %d elements\n", MEGA_RUNS, ELEMENTS);
	CkExit(0);
}

#include "mega_arrayring.def.h"
