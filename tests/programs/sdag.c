/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdag: structured bodies in a ring, whose answer is compared with a serial one; each kind of parameter
 * and each statement; several bodies of one element at a time. CK_RANDOM_QUEUE and CK_RANDOM_DELAY vary
 * the order of arrival.
 *
 *	sdag leave      end the job while bodies wait and calls are kept
 *	sdag step PE    a forall that never ends, there
 */
#include "sdag.h"

#include <stdlib.h>

#include "check.h"
#include "sdag.decl.h"

struct Main {
	CProxy_Ring ring;
	CProxy_Cell cells;
	int n_started, n_gone;
};
struct Ring {
	int iter;
	double x, edge[2];
};
struct Cell {
	int n_loop, n_parts, sum, i;
	Block *kept;
	double w[3];
};
struct Node { int n; };
struct One { int unused; };
struct Left { int n; };

/* ---- the ring ---------------------------------------------------------------------------------- */

static double first_value(int i) { return (double)(check_mix((uint64_t)i) % 1000); }

static double next_value(double left, double x, double right)
{
	return x + 0.25 * (left - 2 * x + right);
}

void Ring_on_new(Ring *self) { self->x = first_value(Ring_thisIndex(self)); }

static void send_edges(Ring *self)
{
	CProxy_Ring all = Ring_thisProxy(self);
	int i = Ring_thisIndex(self);

	Ring_right(Ring_at(all, (i + RING - 1) % RING), self->iter, self->x);
	Ring_left(Ring_at(all, (i + 1) % RING), self->iter, self->x);
}

static void ring_done(Ring *self)
{
	double v[RING] = { 0 };

	v[Ring_thisIndex(self)] = self->x;
	CkContribute(self, v, RING, CkReduction_sum_double, Main_cb_ringDone(mainProxy));
}

static void check_ring(int n, const double *v)
{
	double x[RING], y[RING];

	CHECK_EQ(n, RING);
	for (int i = 0; i < RING; i++)
		x[i] = first_value(i);
	for (int iter = 0; iter < STEPS; iter++) {
		for (int i = 0; i < RING; i++)
			y[i] = next_value(x[(i + RING - 1) % RING], x[i], x[(i + 1) % RING]);
		memcpy(x, y, sizeof x);
	}
	for (int i = 0; i < RING; i++)
		CHECK(v[i] == x[i]);
}

/* ---- cells ---------------------------------------------------------------------------------------- */

/* Main waits for the numbers 0, 1, 2 and 0: two calls, a reduction, and a call with an option. */
void Cell_on_ticks(Cell *self)
{
	CkCallback cb = Main_cb_tick(mainProxy);

	CkCallbackSetRefNum(&cb, 1);
	if (Cell_thisIndex(self) == CELLS - 1)
		Main_tick_opt(&(CkEntryOptions){ .refnum = 2 }, mainProxy);
	CkContributeBarrier(self, cb);
	if (Cell_thisIndex(self) < 2)
		Main_tick(mainProxy);
}

void Row_pup(pup_er p, Row *x)
{
	pup_int(p, &x->n);
	x->v = (int *)pup_alloc(p, x->v, (size_t)x->n * sizeof *x->v);
	pup_bytes(p, x->v, (size_t)x->n * sizeof *x->v);
}

void Cell_on_new(Cell *self) { (void)self; }

static Block *new_block(int n, int value, int number)
{
	Block *b = Block_alloc((size_t)n);

	b->n = n;
	for (int i = 0; i < n; i++)
		b->v[i] = value;
	CkSetRefNum(b, number);
	return b;
}

/* To the next cell, which may not have begun, in no order. */
static void send_all_kinds(Cell *self, int round)
{
	CProxyElement_Cell to = Cell_at(Cell_thisProxy(self), (Cell_thisIndex(self) + 1) % CELLS);
	int v[4] = { round, round + 1, round + 2, round + 3 };
	Row row = { 4, v };

	self->w[2] = 2.5;
	Cell_one(to, 1);
	Cell_two(to, 2);
	Cell_lent(to, 3, CkSendBufferCb(self->w, Cell_cb_lentBack(Cell_thisElement(self))));
	Cell_row(to, &row);
	Cell_text(to, round, round ? "second" : "first");
	Cell_vec(to, round, 4, v);
	Cell_back(to, new_block(3, 2 * round, 2 * round));
	Cell_block(to, new_block(5, round, round));
	if (round)
		Cell_last(to, new_block(5, 9, 0));
}

static void check_array(int n, const int *v, int round)
{
	CHECK_EQ(n, 4);
	for (int i = 0; i < n; i++)
		CHECK_EQ(v[i], round + i);
}

static void check_text(const char *s, int round)
{
	CHECK(strcmp(s, round ? "second" : "first") == 0);
}

static void check_row(const Row *r)
{
	CHECK_EQ(r->n, 4);
	CHECK_EQ(r->v[3], r->v[0] + 3);
}

static void give_all(Cell *self)
{
	CProxyElement_Cell me = Cell_thisElement(self);

	Cell_give(me, new_block(3, 1, 0));
	Cell_spare(me, new_block(4, 2, 0));
	Cell_x1(me);
	Cell_x2(me);
	Cell_x3(me);
}

static void cell_done(Cell *self, int round)
{
	double x = round + 1;

	CkContribute(self, &x, 1, CkReduction_sum_double, Main_cb_done(mainProxy));
}

/* ---- ends ------------------------------------------------------------------------------------------- */

void One_on_new(One *self) { (void)self; }

static void end_one(CProxy_One one)
{
	One_run(one);
	One_wait(one);
	One_kept(one, 1);
	One_kept(one, 2);
	One_end(one, 4711);
}

void Left_on_new(Left *self) { (void)self; }

/* Three bodies of each element get that far. */
static void is_waiting(Left *self)
{
	if (++self->n == 3)
		CkContributeBarrier(self, Main_cb_leave(mainProxy));
}

static void leave(void)
{
	CProxy_Left all = Left_ckNew(CkDims(LEFT));

	for (int i = 0; i < LEFT; i++) {
		CProxyElement_Left to = Left_at(all, i);

		for (int number = 3; number >= 0; number--)
			Left_big(to, new_block(BIG, i, number)); /* nobody takes the last */
		Left_run(to, new_block(BIG, i, 0));
		Left_numbered(to, 1);
		Left_numbered(to, 0);
	}
	Main_left(mainProxy);
}

static void tell_all(Main *self, int round)
{
	int v[4] = { round, round + 1, round + 2, round + 3 };

	Cell_news_all(self->cells, round, 4, v);
}

/* ---- a group, and main ------------------------------------------------------------------------------ */

void Node_on_new(Node *self) { (void)self; }

static void node_done(Node *self)
{
	int one = 1;

	CHECK_EQ(self->n, CkNumPes());
	CkContribute(self, &one, 1, CkReduction_sum_int, Main_cb_grouped(mainProxy));
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	if (m->argc == 2) {
		leave();
		return;
	}
	if (m->argc == 3) {
		CProxy_Left all = Left_ckNew(CkDims(CkNumPes()));

		Left_steps(Left_at(all, atoi(m->argv[2])), 0);
		return;
	}
	self->ring = Ring_ckNew(CkDims(RING));
	self->cells = Cell_ckNew(CkDims(CELLS));
	Main_run(mainProxy);
	Main_started(mainProxy);
	Main_told(mainProxy, 1);
	Main_told(mainProxy, 2);
}

#include "sdag.def.h"
