/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_hears.c: calls that have been put are heard before two messages are handled which say that their way is empty:
 * SWITCH, at the home of an element that is away, and FLUSH, where an element is about to leave.
 *
 * Three PEs: PE 2 calls a cell whose home is PE 0, and which moves to PE 1. A PE that is deaf does not look at bells by
 * itself, so what it handles has been heard by one of these messages, or too late. Programs seldom get there: the bell would have to
 * be missed for as long as several messages travel.
 *
 * And a message that has waited hears nothing when it is handled again: what has been put since would overtake the calls that wait
 * behind the message. Such messages wait at the home of an element that moves, and where a collection is not open.
 *
 * And calls are heard that are put while the receiver sleeps, or has other work. They wake nobody, so it looks from time to time.
 */
#include <sched.h>
#include <stdlib.h>

#include "../../runtime/chare/ckchannel.h"
#include "../../runtime/chare/channel/pattern_int.h"
#include "../../runtime/chare/place/place_int.h"
#include "test_hears.decl.h"

#define CHECK(what) ((what) ? (void)0 : CkAbort("%s:%d: not true: %s", __FILE__, __LINE__, #what))

enum { HOME, PLACE, CALLER, PES };

struct Main { int step; };
struct Cell { int no, must, standing, tells, busy; };
struct Caller { int no; };
struct Stranger { uint64_t buf; };

__attribute__((constructor)) static void settings(void)
{
	setenv("CK_PES", "3", 1);
	setenv("CK_WATCHDOG", "0", 1); /* its questions would wake a PE that sleeps for ever */
}

static CProxyElement_Cell cell(void) { return Cell_at(cells, 0); }
static CProxyElement_Caller caller(int pe) { return Caller_at(callers, pe); }

/* ---- who is called --------------------------------------------------------------------------------------- */

void Cell_on_new(Cell *self) { (void)self; }

void Cell_on_put(Cell *self, int no)
{
	const struct ck_env *env = ck_of(csd_self())->now.env;

	CHECK(no == self->no);
	self->no++;
	self->standing = env && env->head.origin == CMI_ORIGIN_STANDING;
	self->busy = 0;
	if (self->tells) {
		CHECK(self->standing);
		Main_next(mainProxy);
	}
}

void Cell_on_begin_work(Cell *self)
{
	self->busy = 1;
	Cell_work(cell());
	Caller_put(caller(CALLER), 1);
}

/* Its PE has work until the call is heard. */
void Cell_on_work(Cell *self)
{
	if (self->busy)
		Cell_work(cell());
}

void Cell_on_plain(Cell *self) { (void)self; }

void Cell_on_tell(Cell *self) { self->tells = 1; }

void Cell_on_leave(Cell *self, int to, int must)
{
	CHECK(to == HOME || self->standing); /* a guest gets copies */
	self->must = must;
	CkMigrateMe(self, to);
}

/* What came for it while it was about to leave is handled next. */
void Cell_on_arrived(Cell *self) { Cell_came(Cell_thisElement(self)); }

void Cell_on_came(Cell *self)
{
	CHECK(self->no >= self->must);
	if (self->must < 0)
		Caller_deaf(caller(HOME), false);
}

/* ---- who calls ---------------------------------------------------------------------------------------------- */

void Caller_on_new(Caller *self) { self->no = 0; }

void Caller_on_put(Caller *self, int n)
{
	for (; n > 0; n--)
		Cell_put(cell(), self->no++);
}

static int (*hearing)(struct pe *pe);

void Caller_on_deaf(Caller *self, bool on)
{
	struct pe *pe = csd_self();

	(void)self;
	CHECK(pattern_of(pe)->n_lanes == 1);
	if (on)
		hearing = pe->poll;
	pe->poll = on ? pattern_of(pe)->below : hearing;
}

/* Home offers a lease for the second call that it passes on. */
void Caller_on_change_way(Caller *self)
{
	Cell_put(cell(), self->no++);
	Cell_plain(cell());
	Cell_plain(cell());
	Caller_wait_for_lease(caller(CALLER));
}

static bool has_lease(void)
{
	const struct collection *c = coll_get(csd_self(), cells.ck.id);
	const struct elemmap_slot *way = elemmap_find(&place_of(c)->ways.at, elem_key_of_place(0));

	return way && way->no >= WAY_LEASE;
}

void Caller_on_wait_for_lease(Caller *self)
{
	if (has_lease())
		Cell_put(cell(), self->no++);
	else
		Caller_wait_for_lease(caller(CALLER));
}

void Caller_on_send_away(Caller *self)
{
	Cell_put(cell(), self->no++);
	Cell_leave(cell(), HOME, self->no);
}

void Caller_on_put_asleep(Caller *self)
{
	while (!atomic_load(&csd_self()->node->pes[HOME]->sleeping))
		sched_yield();
	Cell_put(cell(), self->no++);
}

/* ---- what has waited ----------------------------------------------------------------------------------------- */

static _Atomic bool go;

/* The cell leaves, and cannot arrive here before all of the others' steps. */
void Caller_on_hold_up(Caller *self)
{
	(void)self;
	Cell_leave(cell(), PLACE, -1);
	Caller_wait_till_gone(caller(HOME));
	while (!atomic_load(&go))
		sched_yield();
}

void Caller_on_wait_till_gone(Caller *self)
{
	(void)self;
	if (coll_find(coll_get(csd_self(), cells.ck.id), 0))
		Caller_wait_till_gone(caller(HOME));
	else
		Stranger_tell(Stranger_at(strangers, CALLER));
}

/* As in place_bulk. */
void Caller_on_close(Caller *self)
{
	struct collection *c = coll_get(csd_self(), cells.ck.id);

	(void)self;
	c->constructed = false;
	c->n_here = c->n_line = 0;
	Stranger_tell(Stranger_at(strangers, CALLER));
}

void Stranger_on_new(Stranger *self) { (void)self; }

/* What waits at home: a word about a channel, of which the cell knows nothing, */
void Stranger_on_tell(Stranger *self)
{
	static int tag;

	Cell_in_to(self, cell(), tag++, &self->buf, sizeof self->buf);
	Caller_told(caller(HOME));
}

void Cell_on_in(Cell *self, int tag)
{
	(void)self;
	CHECK(tag < 0);
}

void Caller_on_told(Caller *self)
{
	(void)self;
	Caller_put_behind(caller(CALLER));
}

/* and two calls behind it. */
void Caller_on_put_behind(Caller *self)
{
	Caller_on_put(self, 2);
	Caller_hear_no_more(caller(HOME));
}

void Caller_on_hear_no_more(Caller *self)
{
	landing_hear(csd_self(), CALLER);
	Caller_on_deaf(self, true);
	Caller_put_unheard(caller(CALLER));
}

/* Then all three are handled again, while one more call has been put. */
void Caller_on_put_unheard(Caller *self)
{
	Caller_on_put(self, 1);
	atomic_store(&go, true);
	Caller_open(caller(HOME));
}

void Caller_on_open(Caller *self)
{
	struct pe *pe = csd_self();
	struct collection *c = coll_get(pe, cells.ck.id);

	if (c->constructed)
		return; /* it waits for the cell to arrive */
	c->constructed = true;
	coll_line_up(c);
	coll_resume(pe, c);
	Caller_on_deaf(self, false);
}

/* ---- the steps of the test ------------------------------------------------------------------------------------ */

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	cells = Cell_ckNew(CkDims(1));
	callers = Caller_ckNew();
	strangers = Stranger_ckNew(CkDims(PES));
	CkStartQD(Main_cb_next(mainProxy));
}

/* Calls are put from the third on, when nothing is under way. */
void Main_on_next(Main *self)
{
	switch (self->step++) {
	case 0: case 1: Caller_put(caller(CALLER), 4); break;
	case 2: Cell_leave(cell(), PLACE, 1); break;
	case 3: Caller_deaf(caller(HOME), true); break;
	case 4: Caller_change_way(caller(CALLER)); break;
	case 5:
		CkPrintf("ok  home hears what was put before it passes a SWITCH on\n");
		Caller_deaf(caller(HOME), false);
		break;
	case 6: case 7: Caller_put(caller(CALLER), 4); break;
	case 8: Caller_deaf(caller(PLACE), true); break;
	case 9: Caller_send_away(caller(CALLER)); break;
	case 10: Caller_deaf(caller(PLACE), false); break;
	case 11:
		CkPrintf("ok  a place hears what was put before its element leaves\n");
		Caller_put(caller(CALLER), 4);
		break;
	case 12: Caller_put(caller(CALLER), 4); break;
	case 13: Caller_hold_up(caller(PLACE)); break;
	case 14:
		CkPrintf("ok  what has waited at a home hears nothing when it goes on\n");
		Cell_leave(cell(), HOME, 0);
		break;
	case 15: case 16: Caller_put(caller(CALLER), 4); break;
	case 17: Caller_close(caller(HOME)); break;
	case 18:
		CkPrintf("ok  what has waited for its collection hears nothing when that is open\n");
		Caller_put(caller(CALLER), 4);
		break;
	case 19: Cell_tell(cell()); break;
	case 20: case 21: case 22: case 23: case 24:
		Caller_put_asleep(caller(CALLER));
		return; /* no messages that ask for quiescence: they would wake the receiver */
	case 25:
		CkPrintf("ok  a call is heard that is put while its receiver sleeps\n");
		Cell_begin_work(cell());
		return; /* the next call of this comes from it */
	default:
		CkPrintf("ok  a call is heard while its receiver has other work\n");
		CkExit(0);
	}
	CkStartQD(Main_cb_next(mainProxy));
}

#include "test_hears.def.h"
