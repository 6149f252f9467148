/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_multicast.c: a multicast is one message to each PE with members, however many they are, and
 * all of them get it once, in order. PEs count the messages that they handle.
 *
 * Then PE 0 calls a section of its own elements, which takes the fast path. While their array is
 * closed the call waits. All of them may keep the message. When the first element has left, the
 * others get their calls here, and it gets its own there.
 */
#include <stdlib.h>

#include "../../runtime/chare/call/call.h"
#include "../../runtime/scheduler/pe.h"
#include "test_multicast.decl.h"

#define CHECK(what) ((what) ? (void)0 : CkAbort("%s:%d: not true: %s", __FILE__, __LINE__, #what))

/* A few messages besides belong to the program: broadcasts, their reports, a reduction. */
enum { PES = 4, EACH = 8, CALLS = 1000, BESIDES = 20 };
enum { KEPT = 2, VALUES = 5 };

struct Main { int phase; CProxy_Cell cells; CProxySection_Cell all, here; };
struct Tally { uint64_t before; };
struct Cell { int n, heard, n_kept; void *kept[KEPT]; const double *v[KEPT]; };

static long calls; /* of all cells */
static int heard;  /* by those of PE 0, wherever they are */

__attribute__((constructor)) static void settings(void)
{
	setenv("CK_PES", "4", 1);
}

void Cell_on_new(Cell *self) { self->n = self->heard = self->n_kept = 0; }

void Cell_on_note(Cell *self, int no)
{
	CHECK(no == self->n);
	self->n++;
	/* Relaxed: it is read after quiescence. */
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
}

static void has_heard(Cell *self, int no)
{
	CHECK(Cell_thisIndex(self) < EACH);
	CHECK(no == self->heard);
	self->heard++;
	/* Relaxed: as above. */
	__atomic_fetch_add(&heard, 1, __ATOMIC_RELAXED);
}

void Cell_on_hear(Cell *self, int no) { has_heard(self, no); }

void Cell_on_values(Cell *self, int n, const double *v)
{
	CHECK(n == VALUES);
	self->v[self->n_kept] = v;
	self->kept[self->n_kept++] = CkKeepMsg();
}

void Cell_on_others(Cell *self, int n, const double *v)
{
	(void)self;
	CHECK(n == VALUES && v[0] < 0);
}

void Cell_on_compare(Cell *self)
{
	while (self->n_kept--) {
		for (int i = 0; i < VALUES; i++)
			CHECK(self->v[self->n_kept][i] == self->n_kept * VALUES + i);
		CkFreeMsg(self->kept[self->n_kept]);
	}
	self->n_kept = 0;
	/* Relaxed: as above. */
	__atomic_fetch_add(&heard, 1, __ATOMIC_RELAXED);
}

void Cell_on_leave(Cell *self) { CkMigrateMe(self, PES - 1); }

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
	CHECK(n < CALLS + BESIDES);
	CHECK(calls == (long)CALLS * PES * EACH);
	Cell_hear_section(self->here, 0);
	CkStartQD(Main_cb_quiet(mainProxy));
}

/* The second call is made while the array is closed. */
static void call_closed(Main *self)
{
	struct collection *c = coll_get(csd_self(), self->cells.ck.id);

	CHECK(heard == EACH);
	call_close(c);
	Cell_hear_section(self->here, 1);
	Main_look(mainProxy, EACH);
}

/* The queue is in order, so a call that had not waited would have been handled. */
void Main_on_look(Main *self, int expected)
{
	CHECK(heard == expected);
	call_release(csd_self(), coll_get(csd_self(), self->cells.ck.id));
}

static void let_keep(Main *self, int k)
{
	double v[VALUES];

	for (int i = 0; i < VALUES; i++)
		v[i] = k * VALUES + i;
	Cell_values_section(self->here, VALUES, v);
}

/* So many messages of the same size that they would get the memory of those that are kept, if it
 * were free. */
static void use_memory(Main *self)
{
	const double v[VALUES] = { -1, -1, -1, -1, -1 };

	for (int i = 0; i < CALLS; i++)
		Cell_others_section(self->here, VALUES, v);
}

static void call_after_move(Main *self)
{
	CHECK(heard == 3 * EACH);
	Cell_hear_section(self->here, 2);
}

/* Whether the phases are over. */
static bool phase_is_last(Main *self)
{
	switch (self->phase++) {
	case 0:
		Tally_begin_all(tallies);
		break;
	case 1:
		for (int i = 0; i < CALLS; i++)
			Cell_note_section(self->all, i);
		break;
	case 2:
		Tally_end_all(tallies); /* most */
		return true;
	case 3:
		call_closed(self);
		break;
	case 4:
		CHECK(heard == 2 * EACH);
		let_keep(self, 0);
		break;
	case 5:
		let_keep(self, 1);
		break;
	case 6:
		use_memory(self);
		break;
	case 7:
		Cell_compare_section(self->here);
		break;
	case 8:
		Cell_leave(Cell_at(self->cells, 0));
		break;
	case 9:
		call_after_move(self);
		break;
	default:
		CHECK(heard == 4 * EACH);
		CkExit(0);
		return true;
	}
	return false;
}

void Main_on_quiet(Main *self)
{
	if (!phase_is_last(self))
		CkStartQD(Main_cb_quiet(mainProxy));
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	self->phase = 0;
	self->cells = Cell_ckNew(CkDims(PES * EACH));
	mainProxy = Main_thisProxy(self);
	tallies = Tally_ckNew();
	self->all = (CProxySection_Cell){ CkSectionRange1D(self->cells.ck, 0, PES * EACH - 1, 1) };
	self->here = (CProxySection_Cell){ CkSectionRange1D(self->cells.ck, 0, EACH - 1, 1) };
	CkStartQD(Main_cb_quiet(mainProxy));
}

#include "test_multicast.def.h"
