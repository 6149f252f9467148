/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heat1d: heat spreads round two rings of cells, one by messages and one by channels. In each step a
 * cell sends its value to both neighbours, waits for theirs and moves towards them. All cells are
 * checked, bit for bit, against a serial run.
 *
 * The program must guarantee that the receiver of a put is ready. Here a barrier between the steps
 * does: a cell says CkDirect_ready before it contributes to the barrier, and its neighbours put
 * again only after everybody has contributed. The stencil does without a barrier.
 */
#include "../args.h"
#include "heat1d.decl.h"

enum { LEFT, RIGHT };
enum { MAX_CELLS = 10000 };

/* The out-of-band value: a NaN, which no cell ever has. */
#define NO_VALUE UINT64_C(0x7ff8c0dec0dec0de)

struct Main {
	double serial[MAX_CELLS];       /* what the cells must end with */
	long n_results, n_wrong;
};

struct Cell {
	int by_channels;
	double x, next;                 /* the value in this step and in the next one */
	double *seen;                   /* [2]: what the left and the right neighbour sent */
	int n_heard;                    /* of 3: the call to begin the step, and both neighbours */
	int n_bound;                    /* of 2: channels to the neighbours */
	long n_steps;
	CkDirectHandle from[2], to[2];
};

static double first_value(long i) { return (double)(i * i % 97); }

static double next_value(double left, double x, double right)
{
	return x + 0.25 * (left - 2 * x + right);
}

static CProxyElement_Cell neighbour(const Cell *self, int side)
{
	int i = Cell_thisIndex(self), n = (int)cells;

	return Cell_at(Cell_thisProxy(self), (i + (side == LEFT ? n - 1 : 1)) % n);
}

/* The barrier: all cells begin the next step when all have contributed. */
static void meet(Cell *self)
{
	CkContributeBarrier(self, Cell_cb_step_all(Cell_thisProxy(self)));
}

/* Three things may come in any order; the last one completes the step. */
static void hear(Cell *self)
{
	if (++self->n_heard < 3)
		return;
	self->n_heard = 0;
	self->next = next_value(self->seen[LEFT], self->x, self->seen[RIGHT]);
	if (self->by_channels) {
		CkDirect_ready(&self->from[LEFT]);
		CkDirect_ready(&self->from[RIGHT]);
	}
	if (++self->n_steps < steps)
		meet(self);
	else
		Main_result(mainProxy, Cell_thisIndex(self), self->next);
}

/* A neighbour's value has come in a message: copy it to where it is read. */
void Cell_on_value(Cell *self, int side, double x)
{
	self->seen[side] = x;
	hear(self);
}

/* A neighbour's value has come through a channel: it is where it is read. */
static void got_value(void *self)
{
	hear(self);
}

void Cell_on_step(Cell *self)
{
	self->x = self->next;
	for (int side = LEFT; side <= RIGHT; side++)
		if (self->by_channels)
			CkDirect_put(&self->to[side]);
		else
			Cell_value(neighbour(self, side), side ^ 1, self->x);
	hear(self);
}

/* The sender binds the handle to what it sends. One send buffer serves both channels. */
void Cell_on_bind(Cell *self, int side, CkDirectHandle h)
{
	self->to[side] = h;
	CkDirect_assocLocalBuffer(&self->to[side], &self->x, sizeof self->x);
	if (++self->n_bound == 2)
		meet(self);
}

void Cell_on_new(Cell *self, int by_channels)
{
	self->by_channels = by_channels;
	self->next = first_value(Cell_thisIndex(self));
	self->seen = CkDirect_alloc(2 * sizeof *self->seen);
	if (!self->seen)
		CkAbort("heat1d: no memory: use fewer --cells");
	if (!by_channels)
		meet(self);
	/* The receiver makes a channel and sends its handle to the neighbour that will put. */
	for (int side = LEFT; side <= RIGHT && by_channels; side++) {
		self->from[side] = CkDirect_createHandle(&self->seen[side], sizeof(double), NO_VALUE,
							 got_value, self);
		Cell_bind(neighbour(self, side), side ^ 1, self->from[side]);
	}
}

static void run_serially(double *x)
{
	for (long i = 0; i < cells; i++)
		x[i] = first_value(i);
	for (long k = 0; k < steps; k++) {
		double first = x[0], left = x[cells - 1];

		for (long i = 0; i < cells; i++) {
			double old = x[i];

			x[i] = next_value(left, old, i + 1 < cells ? x[i + 1] : first);
			left = old;
		}
	}
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	const struct arg args[] = {
		{"cells", &cells, 12, 1, MAX_CELLS, "cells of the ring"},
		{"steps", &steps, 50, 1, 1000000, "steps in time"},
	};

	if (!args_read("heat1d", m, args, sizeof args / sizeof *args))
		return;
	mainProxy = Main_thisProxy(self);
	run_serially(self->serial);
	Cell_ckNew(CkDims((int)cells), 0);      /* by messages */
	Cell_ckNew(CkDims((int)cells), 1);      /* by channels */
}

void Main_on_result(Main *self, int i, double x)
{
	self->n_wrong += x != self->serial[i];
	if (++self->n_results < 2 * cells)
		return;
	CkPrintf("heat1d: %ld cells on %d PEs, %ld steps by messages and channels: %s\n", cells, CkNumPes(),
		 steps, self->n_wrong ? "WRONG" : "checked");
	CkExit(self->n_wrong ? 1 : 0);
}

#include "heat1d.def.h"
