/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_multicast.c: a multicast is one message to each PE with members, however many they are, and
 * all of them get it once, in order. PEs count the messages that they handle.
 */
#include <stdlib.h>

#include "../../runtime/scheduler/pe.h"
#include "test_multicast.decl.h"

#define CHECK(what) ((what) ? (void)0 : CkAbort("%s:%d: not true: %s", __FILE__, __LINE__, #what))

/* A few messages besides belong to the program: broadcasts, their reports, a reduction. */
enum { PES = 4, EACH = 8, CALLS = 1000, BESIDES = 20 };

struct Main { int phase; CProxySection_Cell all; };
struct Tally { uint64_t before; };
struct Cell { int n; };

static long calls; /* of all cells */

__attribute__((constructor)) static void settings(void)
{
	setenv("CK_PES", "4", 1);
}

void Cell_on_new(Cell *self) { self->n = 0; }

void Cell_on_note(Cell *self, int no)
{
	CHECK(no == self->n);
	self->n++;
	/* Relaxed: it is read after quiescence. */
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
}

void Tally_on_new(Tally *self) { (void)self; }
void Tally_on_begin(Tally *self) { self->before = csd_self()->n_processed; }

void Tally_on_end(Tally *self)
{
	const long n = (long)(csd_self()->n_processed - self->before);

	CHECK(n >= CALLS);
	CkContribute(self, &n, 1, CkReduction_max_long, Main_cb_most(mainProxy));
}

void Main_on_most(Main *self, long n)
{
	(void)self;
	CHECK(n < CALLS + BESIDES);
	CHECK(calls == (long)CALLS * PES * EACH);
	CkExit(0);
}

void Main_on_quiet(Main *self)
{
	switch (self->phase++) {
	case 0:
		Tally_begin_all(tallies);
		break;
	case 1:
		for (int i = 0; i < CALLS; i++)
			Cell_note_section(self->all, i);
		break;
	default:
		Tally_end_all(tallies);
		return;
	}
	CkStartQD(Main_cb_quiet(mainProxy));
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	const CProxy_Cell cells = Cell_ckNew(CkDims(PES * EACH));

	(void)m;
	self->phase = 0;
	mainProxy = Main_thisProxy(self);
	tallies = Tally_ckNew();
	self->all = (CProxySection_Cell){ CkSectionRange1D(cells.ck, 0, PES * EACH - 1, 1) };
	CkStartQD(Main_cb_quiet(mainProxy));
}

#include "test_multicast.def.h"
