/* SPDX-License-Identifier: Apache-2.0 */
/*
 * typedefs: types that only the C compiler knows as the target of a reduction, as an index, and behind
 * `*` in a [local] call; readonly variables and init functions that stand inside a chare.
 */
#include "check.h"
#include "typedefs.h"

#include <stdatomic.h>

#include "typedefs.decl.h"

enum { PARTS = 6, VALUES = 3 };

struct Main { int n_results; };
struct Part { int number; struct pair last; };
struct Board { Place me; };

/* Counted by the node's first thread before the PEs run, and by each PE before its first handler. */
static atomic_int n_nodes, n_pes;

void Part_begin_node(void) { atomic_fetch_add_explicit(&n_nodes, 1, memory_order_relaxed); }
void Part_begin_pe(void) { atomic_fetch_add_explicit(&n_pes, 1, memory_order_relaxed); }

void Part_on_new(Part *self)
{
	CHECK_EQ(atomic_load_explicit(&n_nodes, memory_order_relaxed), 1);
	CHECK(atomic_load_explicit(&n_pes, memory_order_relaxed) >= 1);
	CHECK(Part_scale == 2.5);
	CHECK_EQ(Part_corner.b, 7);
	self->number = 10 * Part_thisIndex(self);
}

void Part_on_give(Part *self, struct pair p, int times)
{
	struct pair wanted = { p.a + 1, p.b };
	real two[2] = { Part_scale * times, p.b };
	real many[VALUES] = { 1, p.a, p.b };
	int *found = NULL;

	self->last = p;
	CHECK(!Part_find(Part_thisElement(self), &wanted, &found));
	CHECK(found == NULL);
	CHECK(Part_find(Part_thisElement(self), &p, &found));
	CHECK_EQ(*found, 10 * Part_thisIndex(self));
	CkContribute(self, two, 2, CkReduction_sum_double, Main_cb_sums(mainProxy));
	CkContribute(self, many, VALUES, CkReduction_sum_double, Main_cb_any(mainProxy));
}

bool Part_on_find(Part *self, const struct pair *p, int **found)
{
	if (p->a != self->last.a || p->b != self->last.b)
		return false;
	*found = &self->number;
	return true;
}

void Board_on_new(Board *self, Place me)
{
	self->me = me;
	CHECK_EQ(Board_thisIndex(self).row, me.row);
}

void Board_on_step(Board *self, Place to)
{
	CHECK_EQ(self->me.column + 1, to.column);
	Main_ask(mainProxy);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	struct pair p = { 4, 5 };

	(void)m;
	mainProxy = Main_thisProxy(self);
	Part_scale = 2.5;
	Part_corner = (struct pair){ 6, 7 };
	Part_give_all(Part_ckNew(CkDims(PARTS)), p, 2);
}

static void result(Main *self)
{
	CProxy_Board board;

	if (++self->n_results < 2)
		return;
	board = Board_ckNewEmpty();
	Board_insert(Board_at(board, (Place){ 3, 4 }), CkNumPes() - 1, (Place){ 3, 4 });
	Board_doneInserting(board);
	Board_step(Board_at(board, (Place){ 3, 4 }), (Place){ 3, 5 });
}

void Main_on_sums(Main *self, real x, real y)
{
	CHECK(x == PARTS * 5.0);
	CHECK(y == PARTS * 5.0);
	result(self);
}

void Main_on_any(Main *self, int n, const real *v)
{
	CHECK_EQ(n, VALUES);
	CHECK(v[0] == PARTS && v[1] == PARTS * 4.0 && v[2] == PARTS * 5.0);
	result(self);
}

void Main_on_ask(Main *self)
{
	(void)self;
	CkPrintf("typedefs: all there\n");
	CkExit(0);
}

#include "typedefs.def.h"
