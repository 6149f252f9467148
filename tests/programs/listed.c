/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listed: elements whose channels, messages and rows of pointers move by a list of their fields,
 * with balancing.
 *
 * Each cell of a ring puts into its neighbours and into some cells that are farther away, and into
 * a reducing channel of cell 0. It calls its neighbours by callbacks that it keeps, and looks
 * whether its messages are still there.
 *
 *	listed [STEPS]       a sync in every second step
 */
#include "check.h"
#include "ckchannel.h"
#include "ckdirect.h"

enum { WIDTH = 3, N = 8, FAR = 2 };

#include "listed.decl.h"

struct Main { int number, n_steps; };

/* Ends before their buffers, so that the order in which they are unpacked is not this one. */
struct Cell {
	CkChannel *from[2], *to[2];
	int number, n_far, n_heard, n_called;
	double *in[2], *out[2];
	CkChannel **far_from, **far_to;
	double **far_in, *far_out;
	CkReducing *sums;
	CkChannel *up;
	double total[2], part[2];
	Note *notes[3], **pile;
	CkCallback each[2], *more;
};

static int index_of(const Cell *self) { return Cell_thisIndex(self); }
static int beside(int cell, int side) { return (cell + (side ? 1 : N - 1)) % N; }
static int far(int cell, int k) { return (cell + 3 + k) % N; }
static int back(int cell, int k) { return (cell + 2 * N - 3 - k) % N; }
static double value(int cell, int number) { return 1000.0 * cell + number; }

/* ---- made ------------------------------------------------------------------------------------ */

static CProxyElement_Cell cell_at(int i) { return Cell_at(cells, i); }

/* The second far sender has one value more, and so has the right neighbour's. */
static void make_sides(Cell *self, int me)
{
	for (int s = 0; s < 2; s++) {
		self->in[s] = CkDirect_alloc(WIDTH * sizeof(double));
		self->out[s] = CkDirect_alloc((size_t)(WIDTH + s) * sizeof(double));
		self->from[s] = Cell_side_from(self, cell_at(beside(me, s)).ck, s, self->in[s],
					       WIDTH * sizeof(double));
		self->to[s] = Cell_side_to(self, cell_at(beside(me, s)), 1 - s, self->out[s],
					   WIDTH * sizeof(double));
	}
}

static void make_far(Cell *self, int me)
{
	self->n_far = FAR;
	self->far_from = calloc(FAR, sizeof *self->far_from);
	self->far_to = calloc(FAR, sizeof *self->far_to);
	self->far_in = calloc(FAR, sizeof *self->far_in);
	self->far_out = calloc(FAR, sizeof *self->far_out);
	for (int k = 0; k < FAR; k++) {
		self->far_in[k] = calloc((size_t)(WIDTH + k), sizeof(double));
		self->far_from[k] = Cell_side_from(self, cell_at(back(me, k)).ck, 2 + k, self->far_in[k],
						   sizeof(double));
		self->far_to[k] = Cell_side_to(self, cell_at(far(me, k)), 2 + k, &self->far_out[k],
					       sizeof(double));
	}
}

static void make_sums(Cell *self, int me)
{
	CkElement all[N];

	for (int i = 0; i < N; i++)
		all[i] = cell_at(i).ck;
	if (me == 0)
		self->sums = Cell_total_reduced(self, all, N, 0, self->total, sizeof self->total,
						CkReduction_sum_double);
	self->up = Cell_total_to(self, cell_at(0), 0, self->part, sizeof self->part);
}

static Note *note(int n)
{
	Note *m = Note_alloc(2);

	m->n = n;
	m->v[1] = n;
	return m;
}

static void make_rest(Cell *self, int me)
{
	self->notes[0] = note(me);
	self->notes[2] = note(me + 2);
	self->pile = calloc(FAR, sizeof *self->pile);
	self->pile[1] = note(me + 4);
	self->more = calloc(FAR, sizeof *self->more);
	for (int s = 0; s < 2; s++) {
		self->each[s] = Cell_cb_hear(cell_at(beside(me, s)));
		self->more[s] = Cell_cb_hear(cell_at(far(me, s)));
	}
}

void Cell_on_new(Cell *self)
{
	const int me = index_of(self);

	self->number = -1;
	make_sides(self, me);
	make_far(self, me);
	make_sums(self, me);
	make_rest(self, me);
	CkContributeBarrier(self, Main_cb_made(mainProxy));
}

/* ---- a step ---------------------------------------------------------------------------------- */

static int n_awaited(const Cell *self) { return 2 + FAR + (index_of(self) == 0); }

static void check_messages(const Cell *self, int me)
{
	CHECK_EQ(self->notes[0]->n, me);
	CHECK(self->notes[1] == NULL && self->pile[0] == NULL);
	CHECK_EQ(self->notes[2]->v[1], me + 2);
	CHECK_EQ(self->pile[1]->v[1], me + 4);
}

static void heard(Cell *self)
{
	if (self->number < 0 || self->n_heard < n_awaited(self) || self->n_called < 2 + FAR)
		return;
	self->n_heard = self->n_called = 0;
	CkContributeBarrier(self, Main_cb_done(mainProxy));
}

static void put_all(Cell *self, int me)
{
	for (int s = 0; s < 2; s++) {
		self->out[s][0] = value(me, self->number);
		CkChannelPut(self->to[s]);
	}
	for (int k = 0; k < self->n_far; k++) {
		self->far_out[k] = value(me, self->number);
		CkChannelPut(self->far_to[k]);
	}
	self->part[0] = me;
	self->part[1] = self->number;
	CkChannelPut(self->up);
}

static void call_all(const Cell *self)
{
	for (int s = 0; s < 2; s++) {
		CkCallbackSend(self->each[s], NULL, 0);
		CkCallbackSend(self->more[s], NULL, 0);
	}
}

static void go(Cell *self)
{
	const int me = index_of(self);

	check_messages(self, me);
	CkPupCheck(self);
	put_all(self, me);
	call_all(self);
	heard(self);
}

void Cell_on_step(Cell *self, int number)
{
	self->number = number;
	if (number % 2)
		CkAtSync(self);
	else
		go(self);
}

void Cell_on_resumeFromSync(Cell *self) { go(self); }

void Cell_on_hear(Cell *self)
{
	self->n_called++;
	heard(self);
}

/* A neighbour may be a step ahead of this cell's call, but no more than that. */
static void check_came(const Cell *self, double v, int sender)
{
	const int number = (int)(v - 1000.0 * sender);

	CHECK(number == self->number || number == self->number + 1);
}

void Cell_on_side(Cell *self, int tag)
{
	const int me = index_of(self);

	if (tag < 2) {
		check_came(self, self->in[tag][0], beside(me, tag));
		CkChannelReady(self->from[tag]);
	} else {
		check_came(self, self->far_in[tag - 2][0], back(me, tag - 2));
		CkChannelReady(self->far_from[tag - 2]);
	}
	self->n_heard++;
	heard(self);
}

void Cell_on_total(Cell *self, int tag)
{
	(void)tag;
	CHECK_EQ(self->total[0], N * (N - 1) / 2);
	CHECK_EQ((int)self->total[1] % N, 0);
	CkReducingReady(self->sums);
	self->n_heard++;
	heard(self);
}

/* Nothing is put any more, so the ends need their buffers no longer. */
void Cell_on_leave(Cell *self)
{
	for (int k = 0; k < self->n_far; k++)
		free(self->far_in[k]);
	CkFreeMsg(self->notes[0]);
	CkFreeMsg(self->notes[2]);
	CkFreeMsg(self->pile[1]);
	free(self->far_from);
	free(self->far_to);
	free(self->far_in);
	free(self->far_out);
	free(self->pile);
	free(self->more);
	CkContributeBarrier(self, Main_cb_left(mainProxy));
}

/* ---- the steps ------------------------------------------------------------------------------- */

void Main_on_new(Main *self, CkArgMsg *m)
{
	self->n_steps = check_argument(m, 1, 12);
	mainProxy = Main_thisProxy(self);
	cells = Cell_ckNew(CkDims(N));
}

void Main_on_made(Main *self) { Cell_step_all(cells, self->number); }

void Main_on_done(Main *self)
{
	if (++self->number < self->n_steps) {
		Cell_step_all(cells, self->number);
		return;
	}
	Cell_leave_all(cells);
}

void Main_on_left(Main *self)
{
	CkPrintf("listed: %d steps of %d cells\n", self->number, N);
	CkExit(0);
}

#include "listed.def.h"
