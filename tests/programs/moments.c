/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moments: what an element's thread changes just before it ends, a call that comes between a change and the look at
 * those that wait for it, messages that several elements keep, two fences of which one is over, a batch that becomes full with calls of two kinds, and
 * two packed messages of which the second is more urgent. The main thread makes each moment, and lets all come to
 * rest between them.
 */
#include "check.h"

#include "cth.h"
#include "moments.decl.h"
#include "own_message.h"

enum { BATCH = 3, URGENT = -5, LATER = 5 };

struct Main { int unused; };
struct Cell { bool open; int n_gated; };
struct Keeper { Note *note[2]; int n; };
struct First { int unused; };
struct Second { int unused; };
struct Member { int n_in, n_taken; long passed[2]; };

/* ---- conditions ------------------------------------------------------------------------------ */

void Cell_on_new(Cell *self) { (void)self; }

void Cell_on_gated(Cell *self, int i)
{
	CHECK(self->open);
	CHECK_EQ(i, ++self->n_gated);
}

/* Nothing but the thread's end follows the change. */
void Cell_on_openAtEnd(Cell *self)
{
	CthYield();
	self->open = true;
}

void Cell_on_close(Cell *self) { self->open = false; }

/* A second call is on its way when the first one, which waits, may be made. */
void Cell_on_openAndGoOn(Cell *self)
{
	Cell_gated(Cell_thisElement(self), self->n_gated + 2);
	self->open = true;
	CthYield();
}

void Cell_on_report(Cell *self, CkCallback cb)
{
	long n = self->n_gated;

	CkContribute(self, &n, 1, CkReduction_sum_long, cb);
}

/* ---- messages that several elements keep ------------------------------------------------------- */

enum { NOTE = 40 };

void Keeper_on_new(Keeper *self) { (void)self; }

void Keeper_on_keep(Keeper *self, Note *m)
{
	self->note[self->n++] = m;
	CkKeepMsg();
}

/* Both notes of all elements are whole, though some have been freed. */
void Keeper_on_look(Keeper *self)
{
	for (int k = 0; k < 2; k++) {
		Note *m = self->note[k];

		CHECK_EQ(m->n, k);
		for (int i = 0; i < NOTE; i++)
			CHECK_EQ(m->v[i], k * NOTE + i);
		CkFreeMsg(m);
	}
}

static void send_note(int k)
{
	Note *m = Note_alloc(NOTE);

	m->n = k;
	for (int i = 0; i < NOTE; i++)
		m->v[i] = k * NOTE + i;
	Keeper_keep_all(keepers, m);
}

static void notes(void)
{
	send_note(0);
	CkWaitQD();
	send_note(1);
	CkWaitQD();
	Keeper_look_all(keepers);
	CkWaitQD();
}

/* ---- fences ---------------------------------------------------------------------------------- */

void First_on_new(First *self) { (void)self; }
void Second_on_new(Second *self) { (void)self; }

void First_on_fence(First *self)
{
	CkFenceWait(self);
	Member_ckLocalBranch(members)->passed[0]++;
}

void Second_on_fence(Second *self)
{
	CkFenceWait(self);
	Member_ckLocalBranch(members)->passed[1]++;
}

/* ---- messages of a group --------------------------------------------------------------------- */

void Member_on_new(Member *self) { (void)self; }

/* The block has room for three wide calls. The third call fills the batch all the same, so it leaves at once, and
 * before the call behind it. The fourth is in the next batch, which waits. */
void Member_on_callInTurn(Member *self, int to)
{
	CProxyElement_Member there = Member_at(members, to);

	(void)self;
	CkSetAggregation(BATCH, 4096);
	Member_wide(there, 0, 1, 2, 3, 4, 5, 6);
	Member_odd(there, 1);
	Member_even(there, 2);
	Member_even(there, 3);
	Member_behind(there);
}

static void in_turn(Member *self, int i) { CHECK_EQ(i, self->n_in++); }

void Member_on_wide(Member *self, int i, double a, double b, double c, double d, double e, double f)
{
	CHECK(a + b + c + d + e + f == 21);
	in_turn(self, i);
}

void Member_on_even(Member *self, int i) { in_turn(self, i); }
void Member_on_odd(Member *self, int i) { in_turn(self, i); }
void Member_on_behind(Member *self) { CHECK_EQ(self->n_in, BATCH); }

void Member_on_sendBoth(Member *self)
{
	(void)self;
	Member_take_all_opt(&(CkEntryOptions){ .prio = LATER }, members, own_new(LATER));
	Member_take_all_opt(&(CkEntryOptions){ .prio = URGENT }, members, own_new(URGENT));
}

/* Both lie in the queue of the PE that has sent them when it takes the first. */
void Member_on_take(Member *self, Own *m)
{
	if (CkMyPe() == 0)
		CHECK_EQ(m->x, self->n_taken == 0 ? URGENT : LATER);
	self->n_taken++;
	own_check_and_free(m, m->x);
}

void Member_on_report(Member *self, CkCallback cb)
{
	CkContribute(self, self->passed, 2, CkReduction_sum_long, cb);
}

/* ---- the course ------------------------------------------------------------------------------ */

static void expect_calls(long n)
{
	CkFuture f = CkCreateFuture();

	Cell_report_all(cells, CkCallbackFuture(f));
	CkReductionMsg *m = CkWaitReleaseFuture(f);
	const long *sum = CkReductionMsg_data(m);

	CHECK_EQ(*sum, n);
	CkFreeMsg(m);
}

static void conditions(int n)
{
	for (int i = 0; i < n; i++)
		Cell_gated(Cell_at(cells, i), 1);
	CkWaitQD();
	expect_calls(0);
	Cell_openAtEnd_all(cells);
	CkWaitQD();
	expect_calls(n);
	Cell_close_all(cells);
	CkWaitQD();
	for (int i = 0; i < n; i++)
		Cell_gated(Cell_at(cells, i), 2);
	CkWaitQD();
	Cell_openAndGoOn_all(cells);
	CkWaitQD();
	expect_calls(3 * n);
}

static void expect_passed(long n_first, long n_second)
{
	CkFuture f = CkCreateFuture();

	Member_report_all(members, CkCallbackFuture(f));
	CkReductionMsg *m = CkWaitReleaseFuture(f);
	const long *sum = CkReductionMsg_data(m);

	CHECK_EQ(sum[0], n_first);
	CHECK_EQ(sum[1], n_second);
	CkFreeMsg(m);
}

/* A fence is over at quiescence; what it lets go on, at the next. */
static void await_fences(void)
{
	CkWaitQD();
	CkWaitQD();
}

/* The second fence lacks one element. */
static void fences(int n)
{
	for (int i = 1; i <= n; i++)
		Second_fence(Second_at(seconds, i));
	await_fences();
	First_fence_all(firsts);
	await_fences();
	expect_passed(n, 0);
	Second_fence(Second_at(seconds, 0));
	await_fences();
	expect_passed(n, n + 1);
}

void Main_on_run(Main *self)
{
	int n = CkNumPes();

	(void)self;
	conditions(n);
	notes();
	fences(n);
	if (n > 1)
		Member_callInTurn(Member_at(members, 0), n - 1);
	CkWaitQD();
	Member_sendBoth(Member_at(members, 0));
	CkWaitQD();
	CkPrintf("moments: all came in their turn\n");
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)self;
	(void)m;
	cells = Cell_ckNew(CkDims1(CkNumPes()));
	keepers = Keeper_ckNew(CkDims1(2 * CkNumPes()));
	firsts = First_ckNew(CkDims1(CkNumPes()));
	seconds = Second_ckNew(CkDims1(CkNumPes() + 1));
	members = Member_ckNew();
	mainProxy = Main_thisProxy(self);
	Main_run(mainProxy);
}

#include "moments.def.h"
