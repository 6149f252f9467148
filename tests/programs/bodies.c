/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bodies: bodies of Structured Dagger that have a stack wait in serial code; others keep what serial code changes,
 * across whens; bodies end with their chare, with all that they hold.
 *
 *	bodies sync      a body without a stack calls a [sync] entry method, inside a `when`
 *	bodies future    ... waits for a future
 */
#include "bodies.h"

#include <stdlib.h>

#include "check.h"
#include "bodies.decl.h"

enum { CELLS = 6, LENT = 3 };

struct Main {
	int n_ended;
	double lent[LENT];
};
struct Cell {
	int left;
	long sum;
	CkFuture f;
};
struct Brief { int unused; };

static CProxyElement_Cell right(Cell *self)
{
	return Cell_at(cells, (Cell_thisIndex(self) + 1) % CELLS);
}

void Cell_on_new(Cell *self) { (void)self; }

int Cell_on_ask(Cell *self, int k) { return 10 * k + Cell_thisIndex(self); }

static void contribute(Cell *self, CkCallback cb)
{
	CkContribute(self, &self->sum, 1, CkReduction_sum_long, cb);
	self->sum = 0;
}

static long talk_sum(void)
{
	long sum = 0;

	for (int cell = 0; cell < CELLS; cell++) {
		for (int i = 0; i < 3; i++)
			sum += 10 * i + cell + 10 * (i + 1) + cell;
		sum += 10 * 3 + cell + 10 * 100 + cell + 2 * 5;
	}
	return sum;
}

/* The same with all cells in step: each gets from its left what it sends to its right. */
static long count_sum(void)
{
	long sum = 0;
	int tick = 1;

	for (int n = 9; n >= 0; n--) {
		int k = tick + n;

		sum += k;
		if (n % 3 == 0)
			k++; /* and that is what its neighbour sends, too */
		else
			k--;
		sum += 100 * k;
		tick = n;
	}
	for (int i = 0; i < 2; i++)
		sum += i + i + i;
	return CELLS * sum;
}

/* ---- chares that end ---------------------------------------------------------------------------------- */

void Row_pup(pup_er p, Row *x)
{
	pup_int(p, &x->n);
	x->v = (int *)pup_alloc(p, x->v, (size_t)x->n * sizeof *x->v);
	pup_bytes(p, x->v, (size_t)x->n * sizeof *x->v);
}

void Brief_on_new(Brief *self) { (void)self; }

static Block *new_block(int n)
{
	Block *b = Block_alloc((size_t)n);

	b->n = n;
	for (int i = 0; i < n; i++)
		b->v[i] = i;
	return b;
}

static void end_one(Main *self, CProxy_Brief one)
{
	int v[2] = { 1, 2 };
	Row row = { 2, v };
	CkCallback back = Main_cb_back(mainProxy);

	Brief_hold(one, new_block(3));
	Brief_row(one, &row);
	for (int i = 0; i < 2; i++)
		Brief_lent(one, LENT, CkSendBufferCb(self->lent, back));
	for (int i = 0; i < 6; i++)
		Brief_blocks(one, new_block(i + 1));
	Brief_rest(one);
	Brief_never(one);
	Brief_end(one);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)self;
	mainProxy = Main_thisProxy(self);
	cells = Cell_ckNew(CkDims(CELLS));
	if (m->argc == 1) {
		Main_run(mainProxy);
		return;
	}
	if (!strcmp(m->argv[1], "future")) {
		Cell_mistakeAtOnce(Cell_at(cells, 0));
		return;
	}
	Cell_mistake(Cell_at(cells, 0));
	Cell_go(Cell_at(cells, 0), 1);
}

#include "bodies.def.h"
