/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moments: what an element's thread changes just before it ends, a call that comes between a change and the look at
 * those that wait for it, parameters that several elements keep, an array of which PE 0 has all its elements, broadcasts
 * that one PE does not handle, two fences of which one is over, a batch that becomes full with calls of two kinds, and
 * two packed messages of which the second is more urgent. The main thread makes each moment, and lets all come to
 * rest between them.
 */
#include "check.h"

#include <stdatomic.h>

#include "cth.h"
#include "moments.decl.h"
#include "own_message.h"

enum { BATCH = 3, URGENT = -5, LATER = 5 };

struct Main { int unused; };
struct Cell { bool open; int n_gated; };
struct Keeper { void *kept[2]; const int *v[2]; };
struct Slow { int unused; };
struct First { int unused; };
struct Second { int unused; };
struct Member { int n_in, n_taken, n_loads; long passed[2]; };

/* ---- conditions ------------------------------------------------------------------------------ */

void Cell_on_new(Cell *self) { (void)self; }

void Cell_on_gated(Cell *self, int i)
{
	CHECK(self->open);
	CHECK_EQ(i, ++self->n_gated);
}

/* A thread's stop asks for a look at the calls that wait. When it goes on for the second time, that is over. */
static void settle(void)
{
	CthYield();
	CthYield();
}

/* Nothing but the thread's end follows the change. */
void Cell_on_openAtEnd(Cell *self)
{
	settle();
	self->open = true;
}

void Cell_on_close(Cell *self) { self->open = false; }

/* A second call is on its way when the first one, which waits, may be made. */
void Cell_on_openAndGoOn(Cell *self)
{
	settle();
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

void Keeper_on_keep(Keeper *self, int k, int n, const int *v)
{
	CHECK_EQ(n, NOTE);
	self->v[k] = v;
	self->kept[k] = CkKeepMsg();
}

/* Both notes of all elements are whole, though some have been freed. */
void Keeper_on_look(Keeper *self)
{
	for (int k = 0; k < 2; k++) {
		for (int i = 0; i < NOTE; i++)
			CHECK_EQ(self->v[k][i], k * NOTE + i);
		CkFreeMsg(self->kept[k]);
	}
}

static void notes(void)
{
	int v[NOTE];

	for (int k = 0; k < 2; k++) {
		for (int i = 0; i < NOTE; i++)
			v[i] = k * NOTE + i;
		Keeper_keep_all(keepers, k, NOTE, v);
		CkWaitQD();
	}
	Keeper_look_all(keepers);
	CkWaitQD();
}

/* ---- an array whose last elements are slow ----------------------------------------------------- */

/* Of this process. */
static atomic_int n_slow;

void Slow_on_new(Slow *self)
{
	double start = CkWallTimer();

	while (Slow_thisIndex(self) > 0 && CkWallTimer() - start < 1e-3)
		;
	atomic_fetch_add(&n_slow, 1);
}

static void array_is_ready(int n)
{
	CkFuture f = CkCreateFuture();
	CkCallback made = CkCallbackFuture(f);

	Slow_ckNew_opt(&(CkArrayOptions){ .dims = CkDims(n), .ready = &made });
	CkFreeMsg(CkWaitReleaseFuture(f));
	if (CkNumNodes() == 1)
		CHECK_EQ(n_slow, n);
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

/* ---- broadcasts that one PE does not handle ---------------------------------------------------- */

/* With CK_FLOW_BYTES=FLOW_BYTES in one process of several PEs. PE 1 stays in its first handler until PE 0 has had time
 * to send far more than it may. */
enum { FLOW_BYTES = 20000, LOAD = 1000, LOADS = 300, HOPS = 3000, SENT_MOST = 2 * FLOW_BYTES / LOAD };
static atomic_int n_loads_sent, probe_is_back;

void Member_on_flood(Member *self)
{
	char v[LOAD] = { 0 };

	(void)self;
	for (int i = 0; i < LOADS; i++) {
		Member_load_all(members, LOAD, v);
		atomic_fetch_add(&n_loads_sent, 1);
	}
}

void Member_on_load(Member *self, int n, const char *v)
{
	CHECK(n == LOAD && v[n - 1] == 0);
	if (CkMyPe() != 1 || self->n_loads++)
		return;
	Member_probe(Member_at(members, 0), HOPS);
	while (!atomic_load(&probe_is_back))
		;
}

void Member_on_probe(Member *self, int hops)
{
	if (hops > 0) {
		Member_probe(Member_thisElement(self), hops - 1);
		return;
	}
	CHECK(atomic_load(&n_loads_sent) <= SENT_MOST);
	atomic_store(&probe_is_back, 1);
}

static void broadcasts(int n)
{
	const char *flow = getenv("CK_FLOW_BYTES");

	if (!flow || atoi(flow) != FLOW_BYTES || CkNumNodes() > 1 || n == 1)
		return;
	Member_flood(Member_at(members, 0));
	CkWaitQD();
	CHECK_EQ(n_loads_sent, LOADS);
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
	array_is_ready(2 * n);
	broadcasts(n);
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
