/* SPDX-License-Identifier: Apache-2.0 */
/*
 * migrate_low: calls of a low priority wait at an element's home, behind work, while the PE that sent them gets a way straight
 * to the element, which moves meanwhile. The later ones come behind the earlier ones all the same. `migrate_low [rounds]`.
 *
 *	caller                     home                      element
 *	move, plain, low... ------>
 *	                           (works) ---move, plain--->         it asks to leave for the caller's PE
 *	       <--- "come straight"
 *	asks to --------------->   behind the low ones, which still wait
 *	low...  (wait for the answer)
 *	        "enough" -------->                                    the low ones go on, when it is there
 */
#include "check.h"

#include <stdlib.h>

#include "migrate_low.decl.h"

enum { HOME, PLACE, EARLY = 100, LATE = 20 };

struct Main { int rounds, stage; };
struct Mover { int next; };
struct Hand { bool works; };

static int caller(void) { return CkNumPes() - 1; }
static CProxyElement_Mover mover(void) { return Mover_at(movers, 0); }

/* ---- the element ------------------------------------------------------------------------------------ */

void Mover_pup(pup_er p, Mover *self) { pup_int(p, &self->next); }
void Mover_on_new(Mover *self) { self->next = 0; }
void Mover_on_move(Mover *self, int to) { CkMigrateMe(self, to); }
void Mover_on_plain(Mover *self) { (void)self; }

void Mover_on_low(Mover *self, int no)
{
	CHECK_EQ(no, self->next);
	self->next++;
}

void Mover_on_report(Mover *self, int n)
{
	CHECK_EQ(self->next, n);
	CHECK_EQ(CkMyPe(), caller());
	self->next = 0;
}

/* ---- the PEs ---------------------------------------------------------------------------------------- */

static void call_low(int from, int to)
{
	const CkEntryOptions low = { .prio = 1 };

	for (int no = from; no < to; no++)
		Mover_low_opt(&low, mover(), no);
}

void Hand_on_new(Hand *self) { self->works = false; }

/* At home: there is always something that goes before calls of a low priority. */
void Hand_on_begin(Hand *self)
{
	self->works = true;
	Hand_work(Hand_thisElement(self));
	Hand_burst(Hand_at(hands, caller()));
}

void Hand_on_work(Hand *self)
{
	if (self->works)
		Hand_work(Hand_thisElement(self));
}

/* The caller. The second call makes the home offer the straight way, before it answers the mark. */
void Hand_on_burst(Hand *self)
{
	(void)self;
	Mover_move(mover(), caller());
	Mover_plain(mover());
	call_low(0, EARLY);
	Hand_mark(Hand_at(hands, HOME));
}

void Hand_on_mark(Hand *self)
{
	(void)self;
	Hand_echo(Hand_at(hands, caller()));
}

void Hand_on_echo(Hand *self)
{
	(void)self;
	call_low(EARLY, EARLY + LATE);
	Hand_stop(Hand_at(hands, HOME));
}

void Hand_on_stop(Hand *self) { self->works = false; }

/* ---- main -------------------------------------------------------------------------------------------- */

/* The element goes by its home, so that its caller has no way to it but that one. */
void Main_on_quiet(Main *self)
{
	switch (self->stage++) {
	case 0:
		Mover_move(mover(), PLACE);
		break;
	case 1:
		Hand_begin(Hand_at(hands, HOME));
		break;
	case 2:
		Mover_report(mover(), EARLY + LATE);
		Mover_move(mover(), HOME);
		self->stage = 0;
		if (!--self->rounds) {
			CkPrintf("all in order\n");
			CkExit(0);
			return;
		}
		break;
	}
	CkStartQD(Main_cb_quiet(mainProxy));
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	self->rounds = check_argument(m, 1, 200);
	self->stage = 0;
	if (CkNumPes() < 3)
		CkAbort("migrate_low needs 3 PEs or more");
	hands = Hand_ckNew();
	movers = Mover_ckNew(CkDims(1));
	CkStartQD(Main_cb_quiet(mainProxy));
}

#include "migrate_low.def.h"
