/* SPDX-License-Identifier: Apache-2.0 */
/*
 * callbacks: the main chare makes one callback of each kind and sends them all to every element of an
 * array, which fires them. The program counts the hits and checks the count at quiescence. The last
 * callback ends the job.
 */
#include "check.h"

#include <stdlib.h>

#include "callbacks.decl.h"

enum { NX = 3, NY = 4, CELLS = NX * NY };
enum { TO_MAIN, TO_MAIN_1, TO_MAIN_N, TO_MAIN_BYTES, TO_CELL, TO_CELL_2, TO_CELLS, TO_MEMBER,
	TO_MEMBERS, TO_FUNCTION, TO_NOBODY, KINDS };

struct Main { int n[KINDS]; bool asked; CkCallback stored; };
struct Cell { int n_hit, n_with; };
struct Member { int n_hit; };

/* ---- targets ---------------------------------------------------------------------------- */

void Main_on_number(Main *self, double x)
{
	CHECK(x == 0.5);
	self->n[TO_MAIN_1]++;
}

void Main_on_numbers(Main *self, int n, const float *v)
{
	CHECK_EQ(n, 3);
	CHECK(v[0] == 1 && v[1] == 2 && v[2] == 3);
	self->n[TO_MAIN_N]++;
}

void Main_on_bytes(Main *self, const CkReductionMsg *m)
{
	CHECK(m->type == CK_BYTE && m->bytes == 6);
	CHECK(strcmp(CkReductionMsg_data(m), "bytes") == 0);
	self->n[TO_MAIN_BYTES]++;
}

static void function(void *ctx, const CkReductionMsg *m)
{
	Main *self = ctx;

	CHECK_EQ(CkMyPe(), 0);
	CHECK_EQ(m->count, 1);
	CHECK_EQ(*(const long *)CkReductionMsg_data(m), 11);
	self->n[TO_FUNCTION]++;
}

void Cell_on_new(Cell *self) { (void)self; }
void Member_on_new(Member *self) { (void)self; }
void Cell_on_hit(Cell *self) { self->n_hit++; }
void Member_on_hit(Member *self) { self->n_hit++; }

void Cell_on_hitWith(Cell *self, long a, long b)
{
	CHECK(a == 8 && b == 9);
	self->n_with++;
}

/* ---- firing -------------------------------------------------------------------------------- */

void Cell_on_fire(Cell *self, int n, const CkCallback *all)
{
	const float three[3] = { 1, 2, 3 };
	const long two[2] = { 8, 9 }, eleven = 11;
	const double half = 0.5;
	CkIndex2D i = Cell_thisIndex(self);

	CHECK_EQ(n, KINDS);
	CkCallbackSend(all[TO_MAIN], NULL, 0);
	if (i.y % 2) /* plain bytes fit by their number, too */
		CkCallbackSend(all[TO_MAIN_1], &half, sizeof half);
	else
		CkCallbackSendTyped(all[TO_MAIN_1], CK_DOUBLE, &half, 1);
	CkCallbackSendTyped(all[TO_MAIN_N], CK_FLOAT, three, 3);
	CkCallbackSend(all[TO_MAIN_BYTES], "bytes", 6);
	CkCallbackSendTyped(all[TO_CELL], CK_FLOAT, three, 3); /* the entry ignores them */
	CkCallbackSendTyped(all[TO_CELL_2], CK_LONG, two, 2);
	CkCallbackSend(all[TO_CELLS], NULL, 0);
	CkCallbackFn((void *)(uintptr_t)&all[TO_MEMBER]);
	CkCallbackSend(all[TO_MEMBERS], NULL, 0);
	CkCallbackSendTyped(all[TO_FUNCTION], CK_LONG, &eleven, 1);
	CkCallbackSendTyped(all[TO_NOBODY], CK_LONG, &eleven, 1);
	if (i.x == NX - 1 && i.y == NY - 1)
		Main_returned(mainProxy, CkCallbackExit());
}

/* ---- main ------------------------------------------------------------------------------------ */

void Main_on_returned(Main *self, CkCallback cb)
{
	self->stored = cb;
	CkStartQD(Main_cb_nothing(mainProxy));
	self->asked = true;
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	CkCallback all[KINDS];
	int last_pe = CkNumPes() - 1;

	(void)m;
	mainProxy = Main_thisProxy(self);
	cells = Cell_ckNew(CkDims(NX, NY));
	members = Member_ckNew();
	all[TO_MAIN] = Main_cb_nothing(mainProxy);
	all[TO_MAIN_1] = Main_cb_number(mainProxy);
	all[TO_MAIN_N] = Main_cb_numbers(mainProxy);
	all[TO_MAIN_BYTES] = Main_cb_bytes(mainProxy);
	all[TO_CELL] = Cell_cb_hit(Cell_at(cells, 1, 2));
	all[TO_CELL_2] = Cell_cb_hitWith(Cell_at(cells, 2, 3));
	all[TO_CELLS] = Cell_cb_hit_all(cells);
	all[TO_MEMBER] = Member_cb_hit(Member_at(members, last_pe));
	all[TO_MEMBERS] = Member_cb_hit_all(members);
	all[TO_FUNCTION] = CkCallbackFunction(function, self);
	all[TO_NOBODY] = CkCallbackIgnore();
	Cell_fire_all(cells, KINDS, all);
}

static void check_counts(const Main *self)
{
	const Cell *c = Cell_ckLocal(Cell_at(cells, 0, 0));
	const Member *m = Member_ckLocalBranch(members);

	for (int k = TO_MAIN; k <= TO_MAIN_BYTES; k++)
		CHECK_EQ(self->n[k], CELLS);
	CHECK_EQ(self->n[TO_FUNCTION], CELLS);
	CHECK(c && m);
	CHECK_EQ(c->n_hit, CELLS);
	CHECK_EQ(m->n_hit, CELLS + (CkNumPes() == 1 ? CELLS : 0));
	if (CkNumPes() > 1)
		return;
	c = Cell_ckLocal(Cell_at(cells, 1, 2));
	CHECK_EQ(c->n_hit, 2 * CELLS);
	c = Cell_ckLocal(Cell_at(cells, 2, 3));
	CHECK_EQ(c->n_with, CELLS);
}

/* Once from each cell, and once more when all is quiet. */
void Main_on_nothing(Main *self)
{
	if (++self->n[TO_MAIN] <= CELLS)
		return;
	CHECK(self->asked);
	self->n[TO_MAIN]--;
	check_counts(self);
	CkPrintf("callbacks: %d kinds on %d PEs\n", KINDS, CkNumPes());
	CkCallbackSend(self->stored, NULL, 0);
}

#include "callbacks.def.h"
