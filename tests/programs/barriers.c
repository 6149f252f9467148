/* SPDX-License-Identifier: Apache-2.0 */
/*
 * barriers: contributions to barriers, most of which take the short way (CkContributeBarrier). No
 * element gets a result before it has contributed, and each result comes once. Some elements
 * contribute late; now and then a sum comes between; the reference number changes; and elements of
 * PE 0 are guests of the last PE, whose own elements never move. A group does the same with one
 * member on each PE.
 *
 *	barriers                             all of this
 *	barriers number|entry|array|target   the third element of each PE gives another callback
 *	barriers sum                         it comes to a barrier, and the others to a sum
 */
#include "check.h"
#include "barriers.decl.h"

enum { PER_PE = 6, GUESTS = 2, ROUNDS = 40, HOPS = 300 };

struct Main { int n_over; };
struct Cell {
	int round;        /* contributions so far */
	int results;
	bool guest, late;
	CkCallback again;
};
struct Member { int round, results; CkCallback again; };

static bool is_sum(int round) { return round % 7 == 3; }
static int number(int round) { return round % 10 < 5 ? 0 : round / 10; }

/* ---- cells ----------------------------------------------------------------------------------- */

static void contribute(Cell *self)
{
	const long one = 1;
	const int round = self->round++;

	if (is_sum(round)) {
		CkContribute(self, &one, 1, CkReduction_sum_long, Cell_cb_sum_all(cells));
		return;
	}
	CkCallbackSetRefNum(&self->again, number(round));
	if (number(round))
		CkContributeBarrier(self, self->again);
	else
		CkContributeBarrier(self, Cell_cb_again_all(cells)); /* from a function */
}

void Cell_on_new(Cell *self, int guest)
{
	self->guest = guest && Cell_thisIndex(self) < GUESTS;
	self->late = Cell_thisIndex(self) % 3 == 2;
	self->again = Cell_cb_again_all(Cell_thisProxy(self));
}

void Cell_pup(pup_er p, Cell *self) { pup_bytes(p, self, sizeof *self); }

static void go_wrong(Cell *self, const char *wrong)
{
	const bool odd = Cell_thisIndex(self) % PER_PE == 2;
	const long one = 1;
	CkCallback to = self->again;

	if (!strcmp(wrong, "sum") && !odd) {
		CkContribute(self, &one, 1, CkReduction_sum_long, to);
		return;
	}
	if (odd && strcmp(wrong, "sum")) {
		if (!strcmp(wrong, "number"))
			CkCallbackSetRefNum(&to, 8);
		else
			to = !strcmp(wrong, "entry") ? Cell_cb_elsewhere_all(cells) :
			     !strcmp(wrong, "array") ? Cell_cb_again_all(others) :
						       Cell_cb_again(Cell_at(cells, 1));
	}
	CkContributeBarrier(self, to);
}

void Cell_on_go(Cell *self, const char *wrong)
{
	if (wrong[0])
		go_wrong(self, wrong);
	else if (self->guest)
		CkMigrateMe(self, CkNumPes() - 1);
	else
		contribute(self);
	if (self->guest)
		Cell_arrived(Cell_at(cells, Cell_thisIndex(self)));
}

/* On the last PE, after some of its elements have contributed. */
void Cell_on_arrived(Cell *self)
{
	CHECK_EQ(CkMyPe(), CkNumPes() - 1);
	contribute(self);
}

/* Late enough for a guest to come while two of its PE are missing. */
void Cell_on_later(Cell *self, int hops)
{
	if (hops)
		Cell_later(Cell_at(cells, Cell_thisIndex(self)), hops - 1);
	else
		contribute(self);
}

static void next(Cell *self)
{
	self->results++;
	CHECK_EQ(self->round, self->results);
	if (self->round == ROUNDS)
		CkContributeBarrier(self, Main_cb_over(mainProxy));
	else if (self->late)
		Cell_later(Cell_at(cells, Cell_thisIndex(self)), self->round % 4 ? 0 : HOPS);
	else
		contribute(self);
}

void Cell_on_again(Cell *self)
{
	CHECK(!is_sum(self->results));
	CHECK_EQ(CkGetRefNum(NULL), number(self->results));
	next(self);
}

void Cell_on_sum(Cell *self, long v)
{
	CHECK(is_sum(self->results));
	CHECK_EQ(v, PER_PE * CkNumPes());
	next(self);
}

void Cell_on_elsewhere(Cell *self) { (void)self; }

/* ---- members: the only one of its PE --------------------------------------------------------- */

static void member_next(Member *self)
{
	const int round = self->round++;
	const double one = 1;

	if (is_sum(round)) {
		CkContribute(self, &one, 1, CkReduction_sum_double, Member_cb_sum_all(members));
		return;
	}
	CkCallbackSetRefNum(&self->again, number(round));
	CkContributeBarrier(self, self->again);
}

static void member_got(Member *self)
{
	self->results++;
	CHECK_EQ(self->round, self->results);
	if (self->round < ROUNDS)
		member_next(self);
	else
		CkContributeBarrier(self, Main_cb_over(mainProxy));
}

void Member_on_new(Member *self) { self->again = Member_cb_again_all(Member_thisProxy(self)); }
void Member_on_go(Member *self) { member_next(self); }

void Member_on_again(Member *self)
{
	CHECK(!is_sum(self->results));
	CHECK_EQ(CkGetRefNum(NULL), number(self->results));
	member_got(self);
}

void Member_on_sum(Member *self, double v)
{
	CHECK(is_sum(self->results));
	CHECK_EQ(v, CkNumPes());
	member_got(self);
}

/* ---- main ------------------------------------------------------------------------------------ */

static const char *wrong = "";

void Main_on_begin(Main *self)
{
	(void)self;
	Cell_go_all(cells, wrong);
	if (!wrong[0])
		Member_go_all(members);
}

void Main_on_over(Main *self)
{
	if (++self->n_over < 2)
		return;
	CkPrintf("barriers: %d rounds on %d PEs\n", ROUNDS, CkNumPes());
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	wrong = m->argc > 1 ? m->argv[1] : "";
	mainProxy = Main_thisProxy(self);
	cells = Cell_ckNew(CkDims(PER_PE * CkNumPes()), !wrong[0] && CkNumPes() > 1);
	others = Cell_ckNew(CkDims(1), 0);
	members = Member_ckNew();
	CkStartQD(Main_cb_begin(mainProxy));
}

#include "barriers.def.h"
