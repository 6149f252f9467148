/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync: every element asks others, from a thread: for values, structs, nothing, messages, its own
 * message back, NULL. It asks elements, members of a group, and the main chare. An entry that is asked
 * may itself wait, for its turn or for answers. Many calls are under way at the same time.
 */
#include "check.h"

#include "cth.h"
#include "sync.decl.h"
#include "own_message.h"

enum { CELLS = 10, ROUNDS = 4, FIB = 7 };

struct Main { int phase; };
struct Cell { int turn, n_marked; };
struct Grid { int unused; };
struct Member { int unused; };

/* ---- asked entries ---------------------------------------------------------------------------------- */

void Cell_on_new(Cell *self) { (void)self; }
void Grid_on_new(Grid *self) { (void)self; }
void Member_on_new(Member *self) { (void)self; }

int Cell_on_square(Cell *self, int x) { return x * x + Cell_thisIndex(self); }
int Cell_on_square2(Cell *self, int x) { return x * x + Cell_thisIndex(self); }
CkIndex2D Grid_on_whoAreYou(Grid *self) { return Grid_thisIndex(self); }
int Main_on_phase(Main *self) { return self->phase; }
void Cell_on_mark(Cell *self, int x) { self->n_marked += x; }

Big Cell_on_big(Cell *self, int n, const double *v, const char *text)
{
	Big b;

	memset(&b, 0, sizeof b);
	b.n = Cell_thisIndex(self);
	memcpy(b.v, v, (size_t)n * sizeof *v);
	strcpy(b.text, text);
	return b;
}

Block *Cell_on_block(Cell *self, int n)
{
	if (n < 0)
		return NULL;
	Block *b = Block_alloc((size_t)n);

	b->n = n;
	for (int i = 0; i < n; i++)
		b->v[i] = i + Cell_thisIndex(self);
	return b;
}

Block *Cell_on_echo(Cell *self, Block *b)
{
	for (int i = 0; i < b->n; i++)
		b->v[i] += Cell_thisIndex(self);
	return b;
}

Own *Cell_on_own(Cell *self, int x) { return own_new(x + Cell_thisIndex(self)); }

Own *Cell_on_ownBack(Cell *self, Own *m)
{
	CthYield();
	m->x += Cell_thisIndex(self);
	m->other->x = 2 * m->x;
	return m;
}

/* Threads that wait for threads, everywhere. */
long Cell_on_fib(Cell *self, int n)
{
	int me = Cell_thisIndex(self);

	if (n < 2)
		return n;
	return Cell_fib_sync(Cell_at(cells, (me * 7 + n) % CELLS), n - 1) +
	       Cell_fib_sync(Cell_at(cells, (me + 3) % CELLS), n - 2);
}

/* Asked in any order, answered in the order of the turns. */
int Cell_on_inTurn(Cell *self, int turn)
{
	CHECK_EQ(turn, self->turn);
	self->turn++;
	return turn * 10;
}

int Member_on_pe(Member *self, int hops)
{
	if (!hops)
		return CkMyPe();
	CthYield();
	return Member_pe_sync(Member_at(members, (Member_thisIndex(self) + 1) % CkNumPes()),
			      hops - 1);
}

/* ---- askers ------------------------------------------------------------------------------------------- */

static void ask_values(CProxyElement_Cell other, int i)
{
	double v[40];

	for (int k = 0; k < 40; k++)
		v[k] = k + i;
	CHECK_EQ(Cell_square_sync(other, i), i * i + i);
	CHECK_EQ(Cell_square2_sync(other, -i), i * i + i);
	Big b = Cell_big_sync(other, 40, v, "how are you");
	CHECK_EQ(b.n, i);
	CHECK(strcmp(b.text, "how are you") == 0 && memcmp(b.v, v, sizeof v) == 0);
	Cell_mark_sync(other, 1);
	CkIndex2D x = Grid_whoAreYou_sync(Grid_at(grid, i % 3, i % 2));
	CHECK(x.x == i % 3 && x.y == i % 2);
	CHECK_EQ(Main_phase_sync(mainProxy), 1);
	CHECK_EQ(Member_pe_sync(Member_at(members, 0), i), i % CkNumPes());
}

static void ask_messages(CProxyElement_Cell other, int i)
{
	CHECK(Cell_block_sync(other, -1) == NULL);
	Block *b = Cell_block_sync(other, 100 * i);

	CHECK_EQ(b->n, 100 * i);
	for (int k = 0; k < b->n; k++)
		CHECK(b->v[k] == k + i);
	b = Cell_echo_sync(other, b);
	for (int k = 0; k < b->n; k++)
		CHECK(b->v[k] == k + 2 * i);
	CkFreeMsg(b);
	own_check_and_free(Cell_own_sync(other, 5), 5 + i);
	own_check_and_free(Cell_ownBack_sync(other, own_new(7)), 7 + i);
}

void Cell_on_work(Cell *self)
{
	int me = Cell_thisIndex(self);

	for (int i = 0; i < CELLS; i++) {
		ask_values(Cell_at(cells, i), i);
		ask_messages(Cell_at(cells, i), i);
	}
	CHECK_EQ(Cell_fib_sync(Cell_at(cells, me), FIB), 13);
	for (int i = 0; i < CELLS; i++)
		CHECK_EQ(Cell_inTurn_sync(Cell_at(cells, i), me), 10 * me);
	CkContributeBarrier(self, Main_cb_done(mainProxy));
}

void Main_on_done(Main *self)
{
	(void)self;
	CkPrintf("sync: %d cells on %d PEs\n", CELLS, CkNumPes());
	CkExit(0);
}

/* In the constructor nothing can be waited for: no PE but this one has begun. */
void Main_on_run(Main *self)
{
	CHECK_EQ(self->phase, 0);
	CHECK_EQ(Cell_square_sync(Cell_at(cells, 3), 3), 12);
	self->phase = 1;
	Cell_work_all(cells);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	cells = Cell_ckNew(CkDims(CELLS));
	grid = Grid_ckNew(CkDims(3, 2));
	members = Member_ckNew();
	Main_run(mainProxy);
}

#include "sync.def.h"
