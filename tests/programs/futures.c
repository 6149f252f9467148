/* SPDX-License-Identifier: Apache-2.0 */
/*
 * futures: threads wait for messages, data, results of reductions and quiescence, one or several at a
 * time, before the value is there and afterwards. Slots are used again and again.
 */
#include "check.h"

#include "cth.h"
#include "futures.decl.h"
#include "own_message.h"

enum { CELLS = 8, ROUNDS = 20, WAITERS = 5, FIB = 8 };

struct Main { int n_done; };
struct Cell { int n_seen; };

void Cell_on_new(Cell *self) { (void)self; }

/* ---- senders -------------------------------------------------------------------------------------- */

void Cell_on_answerBlock(Cell *self, CkFuture f, int n)
{
	Block *b = Block_alloc((size_t)n);

	b->n = n;
	for (int i = 0; i < n; i++)
		b->v[i] = i + Cell_thisIndex(self);
	Block_sendToFuture(f, b);
}

void Cell_on_answerOwn(Cell *self, CkFuture f, int x)
{
	Own_sendToFuture(f, own_new(x + Cell_thisIndex(self)));
}

void Cell_on_answerInts(Cell *self, CkFuture f, int n)
{
	int v[100];

	for (int i = 0; i < n; i++)
		v[i] = i * Cell_thisIndex(self);
	CkSendToFutureTyped(f, CK_INT, v, (size_t)n);
}

void Cell_on_fire(Cell *self, CkCallback cb, int n)
{
	long v[2] = { n, Cell_thisIndex(self) };

	CkCallbackSendTyped(cb, CK_LONG, v, 2);
}

void Cell_on_sum(Cell *self, CkCallback cb)
{
	double x = Cell_thisIndex(self);

	CkContribute(self, &x, 1, CkReduction_sum_double, cb);
}

void Cell_on_barrier(Cell *self, CkCallback cb) { CkContributeBarrier(self, cb); }

/* Two futures for each call: fork and join. */
void Cell_on_fib(Cell *self, int n, CkFuture f)
{
	int me = Cell_thisIndex(self), sum = n;

	if (n > 1) {
		CkFuture a = CkCreateFutureTyped(CK_INT), b = CkCreateFuture();

		Cell_fib(Cell_at(cells, (me * 5 + n) % CELLS), n - 1, a);
		Cell_fib(Cell_at(cells, (me + 1) % CELLS), n - 2, b);
		CkReductionMsg *x = CkWaitReleaseFuture(a), *y = CkWaitReleaseFuture(b);

		sum = *(const int *)CkReductionMsg_data(x) + *(const int *)CkReductionMsg_data(y);
		CkFreeMsg(x);
		CkFreeMsg(y);
	}
	CkSendToFutureTyped(f, CK_INT, &sum, 1);
}

/* ---- waiters ---------------------------------------------------------------------------------------- */

static void check_ints(CkReductionMsg *m, int n, int times)
{
	const int *v = CkReductionMsg_data(m);

	CHECK(m->type == CK_INT);
	CHECK_EQ(m->count, n);
	for (int i = 0; i < n; i++)
		CHECK_EQ(v[i], i * times);
	CkFreeMsg(m);
}

static void wait_singly(int other, int round)
{
	CkFuture f = CkCreateFuture(), g = CkCreateFuture(), h = CkCreateFutureTyped(CK_INT);

	CHECK(!CkProbeFuture(f));
	Cell_answerBlock(Cell_at(cells, other), f, round);
	Cell_answerInts(Cell_at(cells, other), g, round);
	Cell_answerInts(Cell_at(cells, other), h, 3);
	check_ints(CkWaitFuture(g), round, other);
	check_ints(CkWaitReleaseFuture(h), 3, other);
	Block *b = Block_waitFuture(f);

	CHECK(CkProbeFuture(f) && CkProbeFuture(g));
	check_ints(CkWaitFuture(g), round, other); /* once more */
	CkReleaseFuture(f);
	CkReleaseFuture(g);
	CHECK_EQ(b->n, round);
	for (int i = 0; i < round; i++)
		CHECK(b->v[i] == i + other);
	/* Nobody else holds it: it can be sent on. */
	f = CkCreateFuture();
	b->n = -1;
	CkSendToFuture(f, b);
	b = CkWaitReleaseFuture(f);
	CHECK_EQ(b->n, -1);
	CkFreeMsg(b);
}

/* Several threads of one element, some of which come when the value is there already. */
void Cell_on_waits(Cell *self, CkFuture f, CkFuture seen)
{
	Block *b = Block_waitFuture(f);

	CHECK_EQ(b->n, 50);
	for (int i = 0; i < 50; i++)
		CHECK(b->v[i] == i + 3);
	CkFreeMsg(b);
	if (++self->n_seen % WAITERS == 0)
		CkSendToFuture(seen, &self->n_seen, sizeof self->n_seen); /* plain bytes */
}

/* Before it is there, and when it has come packed. */
static void wait_for_own(int other)
{
	CkFuture f = CkCreateFuture(), g = CkCreateFuture();
	Own *m;

	Cell_answerOwn(Cell_at(cells, other), f, 1);
	m = Own_waitFuture(f);
	CkReleaseFuture(f);
	own_check_and_free(m, 1 + other);
	Cell_answerOwn(Cell_at(cells, other), g, 2);
	while (!CkProbeFuture(g))
		CthYield();
	m = Own_waitFuture(g);
	CkReleaseFuture(g);
	own_check_and_free(m, 2 + other);
}

static void wait_together(CProxyElement_Cell me)
{
	CkFuture f = CkCreateFuture(), seen = CkCreateFuture();

	for (int i = 0; i < WAITERS - 2; i++)
		Cell_waits(me, f, seen);
	Cell_answerBlock(Cell_at(cells, 3), f, 50);
	Block *b = Block_waitFuture(f);

	for (int i = 0; i < 2; i++)
		Cell_waits(me, f, seen);
	CkReductionMsg *m = CkWaitReleaseFuture(seen);

	CHECK(m->bytes == sizeof(int) && *(const int *)CkReductionMsg_data(m) % WAITERS == 0);
	CkFreeMsg(m);
	CHECK_EQ(b->n, 50);
	CkReleaseFuture(f);
	CHECK_EQ(b->v[49], 52); /* still ours */
	CkFreeMsg(b);
}

static void check_longs(CkReductionMsg *m, int n, int other)
{
	const long *v = CkReductionMsg_data(m);

	CHECK(m->type == CK_LONG && m->count == 2);
	CHECK(v[0] == n && v[1] == other);
	CkFreeMsg(m);
}

static void wait_for_callbacks(int other)
{
	CkFuture f = CkCreateFutureTyped(CK_LONG);
	CkCallback cb = CkCallbackResumeThread(), once = CkCallbackExpect(CkCallbackResumeThread(), CK_LONG);

	Cell_fire(Cell_at(cells, other), CkCallbackFuture(f), 8);
	Cell_fire(Cell_at(cells, other), cb, 9);
	Cell_fire(Cell_at(cells, other), once, 10);
	check_longs(CkCallbackThreadDelay(once), 10, other);
	check_longs(CkCallbackThreadDelay(cb), 9, other);
	check_longs(CkWaitReleaseFuture(f), 8, other);
}

/* One element asks all to contribute, and waits for the result. */
static void wait_for_reductions(void)
{
	CkCallback cb = CkCallbackResumeThread();
	CkFuture f = CkCreateFutureTyped(CK_DOUBLE);

	Cell_sum_all(cells, CkCallbackFuture(f));
	Cell_barrier_all(cells, cb);
	CkReductionMsg *m = CkWaitReleaseFuture(f);

	CHECK(*(const double *)CkReductionMsg_data(m) == CELLS * (CELLS - 1) / 2);
	CkFreeMsg(m);
	CkFreeMsg(CkCallbackThreadDelay(cb));
}

void Cell_on_work(Cell *self)
{
	int me = Cell_thisIndex(self);
	CkFuture f = CkCreateFuture();

	for (int r = 0; r < ROUNDS; r++) {
		wait_singly((me + r) % CELLS, r);
		wait_for_callbacks((me + r) % CELLS);
		wait_for_own((me + r) % CELLS);
	}
	wait_together(Cell_thisElement(self));
	Cell_fib(Cell_at(cells, me), FIB, f);
	CkReductionMsg *m = CkWaitReleaseFuture(f);

	CHECK_EQ(*(const int *)CkReductionMsg_data(m), 21);
	CkFreeMsg(m);
	if (!me)
		wait_for_reductions();
	CkWaitQD();
	CkCallbackSend(Main_cb_done(mainProxy), NULL, 0);
}

void Main_on_done(Main *self)
{
	if (++self->n_done < CELLS)
		return;
	CkPrintf("futures: %d cells on %d PEs\n", CELLS, CkNumPes());
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	cells = Cell_ckNew(CkDims(CELLS));
	Cell_work_all(cells);
}

#include "futures.def.h"
