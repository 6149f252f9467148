/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nocopy: each element sends two arrays to each other element. A receiver in the same process reads
 * them where they lie; the callback comes, on the sender's PE, when the receiver has returned. Then the
 * sender writes over its memory. The same in broadcasts, to a main chare, and to a group that the
 * receiving PE does not know yet.
 */
#include "check.h"

#include "nocopy.decl.h"

enum { CELLS = 6, NX = 1000, NY = 7 };
#define DWELL_S 0.02

struct Main { int phase, n_in; int v[3]; };
struct Cell {
	double x[NX];
	int y[NY];
	int n_sent, n_taken, n_said, n_all;
};
struct Member { int unused; };

void Cell_on_new(Cell *self) { (void)self; }

static void done(Cell *self)
{
	if (self->n_sent == 2 * CELLS && self->n_taken == CELLS) {
		self->n_taken++;
		CkContributeBarrier(self, Main_cb_phase(mainProxy));
	}
}

void Cell_on_go(Cell *self)
{
	int me = Cell_thisIndex(self);
	CkCallback cb = Cell_cb_sent(Cell_thisElement(self));

	for (int i = 0; i < NX; i++)
		self->x[i] = me + i;
	for (int i = 0; i < NY; i++)
		self->y[i] = me * i;
	for (int to = 0; to < CELLS; to++)
		Cell_take(Cell_at(cells, to), CkMyNode(), (uintptr_t)self->x, (uintptr_t)self->y, NX,
			  CkSendBufferCb(self->x, cb), "between them", NY,
			  CkSendBufferCb(self->y, cb));
}

void Cell_on_take(Cell *self, int node, uint64_t a, uint64_t b, int n, const double *x,
		  const char *text, int k, const int *y)
{
	int from = (int)x[0];

	CHECK(n == NX && k == NY && strcmp(text, "between them") == 0);
	CHECK(((uintptr_t)x == a) == (node == CkMyNode()));
	CHECK(((uintptr_t)y == b) == (node == CkMyNode()));
	/* It stays readable until we return, however long that takes, also to the last reader. */
	for (double start = CkWallTimer(); from == 0 && Cell_thisIndex(self) == CELLS - 1;)
		if (CkWallTimer() - start > DWELL_S)
			break;
	for (int i = 0; i < NX; i++)
		CHECK(x[i] == from + i);
	for (int i = 0; i < NY; i++)
		CHECK_EQ(y[i], from * i);
	self->n_taken++;
	done(self);
}

/* Twice for each receiver. Once all have come, the memory is free. */
void Cell_on_sent(Cell *self)
{
	if (++self->n_sent == 2 * CELLS) {
		memset(self->x, 0xff, sizeof self->x);
		memset(self->y, 0xff, sizeof self->y);
	}
	done(self);
}

/* A broadcast is copied, and the callback may come before it. */
void Cell_on_all(Cell *self, int n, const double *x)
{
	CHECK_EQ(n, NX);
	for (int i = 0; i < NX; i++)
		CHECK(x[i] == i);
	if (++self->n_all == CELLS)
		CkContributeBarrier(self, Main_cb_phase(mainProxy));
}

void Cell_on_said(Cell *self)
{
	memset(self->x, 0xff, sizeof self->x);
	CHECK_EQ(++self->n_said, 1);
}

static void say(void *ctx, const CkReductionMsg *m)
{
	Main *self = ctx;

	(void)m;
	self->v[0] = self->v[1] = self->v[2] = 0;
	self->n_in++;
	CkCallbackSend(Main_cb_phase(mainProxy), NULL, 0);
}

static const int answer[] = { 4, 5, 6 };

void Member_on_new(Member *self) { (void)self; }

void Member_on_one(Member *self, int n, const int *v)
{
	(void)self;
	CHECK(n == 3 && v[0] == 1 && v[1] == 2 && v[2] == 3);
	Main_in(mainProxy, 3, CkSendBuffer(answer));
}

void Main_on_in(Main *self, int n, const int *v)
{
	CHECK(n == 3 && v[0] == 4 && v[1] == 5 && v[2] == 6);
	self->n_in++;
	Main_on_phase(self);
}

void Main_on_phase(Main *self)
{
	static const unsigned bits[3] = { 7, 8, 9 };
	const CkEntryOptions o = { .queueing = CK_QUEUEING_BLIFO, .prio_bits = bits,
				   .n_prio_bits = 96 };
	static double zeros[NX];

	switch (self->phase++) {
	case 0:
		for (int i = 0; i < NX; i++)
			zeros[i] = i;
		for (int i = 0; i < CELLS; i++)
			Cell_all_all_opt(&o, cells, NX,
				     CkSendBufferCb(zeros, Cell_cb_said(Cell_at(cells, i))));
		/* Copied before the call returned. */
		memset(zeros, 0xff, sizeof zeros);
		break;
	case 1:
		self->v[0] = 1;
		self->v[1] = 2;
		self->v[2] = 3;
		Member_one_opt(&o, Member_at(Member_ckNew(), CkNumPes() - 1), 3,
			       CkSendBufferCb(self->v, CkCallbackFunction(say, self)));
		break;
	case 2:
		break; /* the second of: memory free, answer there */
	default:
		CHECK_EQ(self->n_in, 2);
		CkPrintf("nocopy: %d elements on %d PEs\n", CELLS, CkNumPes());
		CkExit(0);
	}
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	cells = Cell_ckNew(CkDims(CELLS));
	for (int i = 0; i < CELLS; i++)
		Cell_go(Cell_at(cells, i));
}

#include "nocopy.def.h"
