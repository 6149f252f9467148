/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refnum: every call carries the reference number that its caller gave it, all 32 bits, in every
 * kind of call: a plain call (0), options, a broadcast, a message that is sent on, a callback, the result of
 * a reduction.
 */
#include "check.h"

#include <limits.h>

#include "refnum.decl.h"

enum { CELLS = 9, LAPS = 3 };
static const int numbers[] = { 0, 1, -1, 65536, INT_MAX, INT_MIN, 0x12345678 };
enum { N = sizeof numbers / sizeof *numbers };

struct Main { int n_in; };
struct Cell { int n_in; };

void Cell_on_new(Cell *self) { (void)self; }

/* Three kinds from each of the PEs' calls, and the broadcasts. */
static void in(Cell *self)
{
	CkCallback cb = Main_cb_sum(mainProxy);

	if (++self->n_in != 2 * N + N + 1)
		return;
	CkCallbackSetRefNum(&cb, 4711);
	CkContribute(self, &(int){ 1 }, 1, CkReduction_sum_int, cb);
}

void Cell_on_plain(Cell *self, int expected)
{
	CHECK_EQ(CkGetRefNum(NULL), expected);
	in(self);
}

void Cell_on_array(Cell *self, int expected, int n, const double *v)
{
	CHECK_EQ(CkGetRefNum(NULL), expected);
	CHECK(n == 100 && v[99] == 99);
	in(self);
}

void Cell_on_all(Cell *self, int expected)
{
	CHECK_EQ(CkGetRefNum(NULL), expected);
	in(self);
}

/* A message keeps its number on all its way, also when it was kept; the sender's options change it. */
void Cell_on_pass(Cell *self, Letter *m)
{
	int me = Cell_thisIndex(self);
	const CkEntryOptions o = { .refnum = 99 };

	CHECK_EQ(CkGetRefNum(m), 77);
	CHECK_EQ(CkGetRefNum(NULL), 77);
	m->hops++;
	if (m->hops < LAPS * CELLS)
		Cell_pass(Cell_at(cells, (me + 1) % CELLS), me % 2 ? CkKeepMsg() : m);
	else
		Main_home_opt(&o, mainProxy, m);
}

static void finish(Main *self)
{
	CkCallback cb = Main_cb_finished(mainProxy);

	if (++self->n_in < 2)
		return;
	CkCallbackSetRefNum(&cb, -5);
	CkCallbackSend(cb, NULL, 0);
}

void Main_on_home(Main *self, Letter *m)
{
	CHECK_EQ(CkGetRefNum(m), 99);
	CHECK_EQ(m->hops, LAPS * CELLS);
	finish(self);
}

void Main_on_sum(Main *self, int n)
{
	CHECK_EQ(n, CELLS);
	CHECK_EQ(CkGetRefNum(NULL), 4711);
	finish(self);
}

void Main_on_finished(Main *self, const CkReductionMsg *m)
{
	(void)self;
	CHECK_EQ(CkGetRefNum(m), -5);
	CkPrintf("refnum: numbers came with their calls on %d PEs\n", CkNumPes());
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	double v[100];

	(void)m;
	mainProxy = Main_thisProxy(self);
	cells = Cell_ckNew(CkDims(CELLS));
	for (int i = 0; i < 100; i++)
		v[i] = i;
	for (int k = 0; k < N; k++) {
		const CkEntryOptions o = { .refnum = numbers[k] };

		for (int i = 0; i < CELLS; i++) {
			Cell_plain_opt(&o, Cell_at(cells, i), o.refnum);
			Cell_array_opt(&o, Cell_at(cells, i), o.refnum, 100, v);
		}
		Cell_all_all_opt(&o, cells, o.refnum);
	}
	for (int i = 0; i < CELLS; i++)
		Cell_plain(Cell_at(cells, i), 0);

	Letter *l = Letter_alloc();

	CHECK_EQ(CkGetRefNum(l), 0);
	CkSetRefNum(l, 77);
	Cell_pass(Cell_at(cells, 0), l);
}

#include "refnum.def.h"
