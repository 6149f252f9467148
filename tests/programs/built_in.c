/* SPDX-License-Identifier: Apache-2.0 */
/*
 * built_in: the runtime's own types of messages as parameters and answers. Callbacks, reductions, the
 * creation of an array and quiescence bring them; stubs send them; handlers change them, send them on,
 * free and keep them. `built_in wrong` fires a callback that brings no array to an entry that takes one.
 */
#include "check.h"

#include "built_in.decl.h"

enum { CELLS = 10, SUM = CELLS * (CELLS - 1) / 2, HOPS = 25, VALUES = 300, NUMBER = 77 };

struct Main { int n_made, n_data, n_anything, n_results; };
struct Cell { int n_seen; bool open; };
struct One { int unused; };
struct Node { int n_seen; };

static void took(Cell *self, CkDataMsg *m, CkMessage *u);
static void took_result(Cell *self, const CkReductionMsg *r);

static int int_of(CkDataMsg *m)
{
	CHECK_EQ(CkDataMsg_getSize(m), sizeof(int));
	return *(const int *)CkDataMsg_getData(m);
}

static CkDataMsg *data_of(int x)
{
	return CkDataMsg_buildNew(sizeof x, &x);
}

/* ---- CkQdMsg, CkArrayCreatedMsg ------------------------------------------------------------- */

void Cell_on_news(Cell *self, CkQdMsg *m)
{
	self->n_seen++;
	if (Cell_thisIndex(self) % 2)
		CkFreeMsg(m);
}

void Main_on_made(Main *self, CkArrayCreatedMsg *m)
{
	const CProxy_Cell made = { m->aid };

	CHECK(made.ck.id == cells.ck.id);
	if (self->n_made++ == 0)
		Main_made(mainProxy, m);        /* sent on */
	else if (self->n_made == 2)
		Main_made(mainProxy, CkArrayCreatedMsg_alloc(cells.ck));
	else
		Main_drive(mainProxy);
}

/* ---- CkDataMsg ------------------------------------------------------------------------------- */

/* Round, the same message; it keeps its reference number. */
void Cell_on_pass(Cell *self, CkDataMsg *m)
{
	int *v = CkDataMsg_getData(m), next = (Cell_thisIndex(self) + 1) % CELLS;

	CHECK_EQ(CkDataMsg_getSize(m), 3 * sizeof(int));
	CHECK_EQ(CkGetRefNum(m), NUMBER);
	CHECK_EQ(v[0] + v[1], HOPS);
	v[0]--;
	v[1]++;
	if (v[0])
		Cell_pass(Cell_at(cells, next), m);
	else
		Main_data(mainProxy, m);
}

void Main_on_data(Main *self, CkDataMsg *m)
{
	const int *v = CkDataMsg_getData(m);

	CHECK_EQ(CkGetRefNum(NULL), NUMBER);
	CHECK(v[0] == 0 && v[1] == HOPS && v[2] == -9);
	self->n_data++;
}

/* Each element has its own. */
void Cell_on_all(Cell *self, CkDataMsg *m)
{
	CHECK_EQ(int_of(m), SUM);
	*(int *)CkDataMsg_getData(m) = Cell_thisIndex(self);
	self->n_seen++;
	if (Cell_thisIndex(self) % 3 == 0) {
		CHECK(CkKeepMsg() == m);
		CHECK_EQ(int_of(m), Cell_thisIndex(self));
		CkFreeMsg(m);
	}
}

void Cell_on_later(Cell *self, CkDataMsg *m)
{
	CHECK(self->open);
	CHECK_EQ(int_of(m), SUM);
	self->n_seen++;
}

void Cell_on_opened(Cell *self) { self->open = true; }

void One_on_new(One *self, CkDataMsg *m)
{
	(void)self;
	CkCallbackSend(Main_cb_anything(mainProxy), CkDataMsg_getData(m), CkDataMsg_getSize(m));
}

void Node_on_new(Node *self) { (void)self; }

void Node_on_all(Node *self, CkDataMsg *m)
{
	CHECK_EQ(int_of(m), SUM);
	self->n_seen++;
}

int Node_on_seen(Node *self) { return self->n_seen; }

/* ---- CkReductionMsg --------------------------------------------------------------------------- */

void Cell_on_contribute(Cell *self, int what)
{
	int x = Cell_thisIndex(self);

	CkContribute(self, &x, 1, CkReduction_sum_int, what == 0 ? Cell_cb_all_all(cells) :
		     what == 1 ? Cell_cb_result_all(cells) : Main_cb_anything(mainProxy));
}

/* The result is the runtime's; what the stub sends is a copy. */
void Cell_on_result(Cell *self, const CkReductionMsg *m)
{
	CHECK_EQ(CkReductionMsg_getSize(m), sizeof(int));
	CHECK_EQ(*(const int *)CkReductionMsg_getData(m), SUM);
	self->n_seen++;
	if (Cell_thisIndex(self) == 3)
		Main_result(mainProxy, m);
}

void Main_on_result(Main *self, const CkReductionMsg *m)
{
	CHECK(m->count == 1 && m->type == CK_INT);
	CHECK_EQ(*(const int *)CkReductionMsg_getData(m), SUM);
	self->n_results++;
}

/* ---- CkMessage ---------------------------------------------------------------------------------- */

static CkMessage *block_of(int hops)
{
	Block *b = Block_alloc(VALUES, 8);

	b->hops = hops;
	for (int i = 0; i < VALUES; i++)
		b->v[i] = i * 0.25;
	strcpy(b->text, "untyped");
	return Block_toMessage(b);
}

static Block *checked(CkMessage *m)
{
	Block *b = Block_fromMessage(m);

	for (int i = 0; i < VALUES; i++)
		CHECK(b->v[i] == i * 0.25);
	CHECK(strcmp(b->text, "untyped") == 0);
	return b;
}

void Cell_on_any(Cell *self, CkMessage *m)
{
	Block *b = checked(m);

	self->n_seen++;
	if (b->hops-- > 0)
		Cell_any(Cell_at(cells, (Cell_thisIndex(self) + 1) % CELLS), m);
	else
		b->v[1] = self->n_seen;
}

/* From callbacks, a reduction, and a stub. */
void Main_on_anything(Main *self, CkMessage *m)
{
	CHECK_EQ(int_of((CkDataMsg *)m), SUM);
	self->n_anything++;
}

/* ---- answers --------------------------------------------------------------------------------------- */

int Cell_on_seen(Cell *self)
{
	int n = self->n_seen;

	self->n_seen = 0;
	return n;
}

CkDataMsg *Cell_on_doubled(Cell *self, CkDataMsg *m)
{
	(void)self;
	*(int *)CkDataMsg_getData(m) *= 2;
	return m;
}

CkReductionMsg *Cell_on_one(Cell *self, int x)
{
	(void)self;
	return CkReductionMsg_buildNew(sizeof x, &x);
}

CkMessage *Cell_on_block(Cell *self, CkMessage *m)
{
	(void)self;
	checked(m);
	return m;
}

/* ---- Structured Dagger -------------------------------------------------------------------------------- */

static void took(Cell *self, CkDataMsg *m, CkMessage *u)
{
	CHECK_EQ(int_of(m), SUM);
	checked(u);
	self->n_seen++;
}

static void took_result(Cell *self, const CkReductionMsg *r)
{
	CHECK_EQ(*(const int *)CkReductionMsg_getData(r), SUM);
	self->n_seen++;
}

/* ---- main ---------------------------------------------------------------------------------------------- */

/* Wait until all is quiet, and expect the handlers to have run so often. */
static void expect(int n)
{
	CkWaitQD();
	for (int i = 0; i < CELLS; i++)
		n -= Cell_seen_sync(Cell_at(cells, i));
	CHECK_EQ(n, 0);
}

static void news(void)
{
	CkStartQD(Cell_cb_news_all(cells));
	CkWaitQD();             /* the same moment: the callbacks may be under way */
	expect(CELLS);
	Cell_news(Cell_at(cells, CELLS - 1), CkQdMsg_alloc());
	Cell_news_all(cells, CkQdMsg_alloc());
	expect(CELLS + 1);
}

static void data(Main *self)
{
	const int v[] = { HOPS, 0, -9 }, sum = SUM;
	CkCallback cb = Cell_cb_pass(Cell_at(cells, 0));
	CkDataMsg *m = CkDataMsg_buildNew(sizeof v, v);

	CkCallbackSetRefNum(&cb, NUMBER);
	CkCallbackSend(cb, v, sizeof v);
	CkSetRefNum(m, NUMBER);
	Cell_pass(Cell_at(cells, 5), m);
	CkCallbackSend(Cell_cb_all_all(cells), &sum, sizeof sum);
	CkCallbackSendTyped(Cell_cb_all(Cell_at(cells, 2)), CK_INT, &sum, 1);
	Cell_all_all(cells, data_of(SUM));
	Cell_contribute_all(cells, 0);
	expect(3 * CELLS + 1);
	CHECK_EQ(self->n_data, 2);
	CkCallbackSend(Cell_cb_later(Cell_at(cells, 1)), &sum, sizeof sum);
	CkCallbackSend(Cell_cb_later_all(cells), &sum, sizeof sum);
	Cell_later(Cell_at(cells, 8), data_of(SUM));
	expect(0);
	Cell_opened_all(cells);
	expect(CELLS + 2);
}

static void untyped(Main *self)
{
	const int sum = SUM;

	Cell_any(Cell_at(cells, 3), block_of(HOPS));
	Cell_any_all(cells, block_of(0));
	Block_sendToCallback(Cell_cb_any(Cell_at(cells, 6)), Block_fromMessage(block_of(1)));
	One_ckNew(CkNumPes() - 1, data_of(SUM));
	CkCallbackSendTyped(Main_cb_anything(mainProxy), CK_INT, &sum, 1);
	Main_anything(mainProxy, (CkMessage *)data_of(SUM));
	Cell_contribute_all(cells, 1);
	Cell_contribute_all(cells, 2);
	expect(HOPS + 1 + CELLS + 2 + CELLS);
	CHECK_EQ(self->n_anything, 4);
	CHECK_EQ(self->n_results, 1);
}

static void answers(void)
{
	for (int i = 0; i < CELLS; i++) {
		CkDataMsg *d = Cell_doubled_sync(Cell_at(cells, i), data_of(i));
		CkReductionMsg *r = Cell_one_sync(Cell_at(cells, i), 3 * i);
		CkMessage *m = Cell_block_sync(Cell_at(cells, i), block_of(i));

		CHECK_EQ(int_of(d), 2 * i);
		CHECK_EQ(*(const int *)CkReductionMsg_getData(r), 3 * i);
		CHECK_EQ(checked(m)->hops, i);
		CkFreeMsg(d);
		CkFreeMsg(r);
		CkFreeMsg(m);
	}
}

static void bodies(void)
{
	const int sum = SUM;
	CkCallback third = Cell_cb_third(Cell_at(cells, 4));

	Cell_body(Cell_at(cells, 4));
	CkCallbackSetRefNum(&third, 3);
	CkCallbackSend(third, &sum, sizeof sum);
	Cell_second(Cell_at(cells, 4), block_of(0));
	CkCallbackSend(Cell_cb_first(Cell_at(cells, 4)), &sum, sizeof sum);
	expect(2);
}

static void on_nodes(void)
{
	const int sum = SUM;

	CkCallbackSend(Node_cb_all_all(nodes), &sum, sizeof sum);
	Node_all(Node_at(nodes, CkNumNodes() - 1), data_of(SUM));
	CkWaitQD();
	for (int i = 0; i < CkNumNodes(); i++)
		CHECK_EQ(Node_seen_sync(Node_at(nodes, i)), i == CkNumNodes() - 1 ? 2 : 1);
}

void Main_on_drive(Main *self)
{
	news();
	data(self);
	untyped(self);
	answers();
	bodies();
	on_nodes();
	CkPrintf("built_in: %d cells on %d PEs\n", CELLS, CkNumPes());
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	const CkCallback made = Main_cb_made(mainProxy = Main_thisProxy(self));
	const CkArrayOptions o = { .dims = CkDims(CELLS), .ready = &made };

	nodes = Node_ckNew();
	if (m->argc > 1)
		CkCallbackSend(made, NULL, 0);
	else
		cells = Cell_ckNew_opt(&o);
}

void Cell_on_new(Cell *self) { (void)self; }

#include "built_in.def.h"
