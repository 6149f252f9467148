/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heat: a loop of Structured Dagger, written in two other ways: as calls that wait for their iteration, and
 * as a thread in which the loop stays a loop. Both must give the serial answer, bit for bit, although
 * neighbours run an iteration ahead.
 */
#include "check.h"

#include "cth.h"
#include "heat.decl.h"

enum { N = 23, STEPS = 40, LEFT = 0, RIGHT = 1 };

struct Main { int n_arrived; };
struct Cell { int iter, n_in; double x, edge[2]; };
struct Rod { int iter, n_in; double x, edge[2]; CthThread thread; };

static double first_value(int i) { return (double)(check_mix((uint64_t)i) % 1000); }

static double next_value(double left, double x, double right)
{
	return x + 0.25 * (left - 2 * x + right);
}

/* Each element contributes a row in which only its own place is not zero. */
static void contribute(void *self, int i, double x)
{
	double v[N] = { 0 };

	v[i] = x;
	CkContribute(self, v, N, CkReduction_sum_double, Main_cb_arrived(mainProxy));
}

/* ---- by conditions ------------------------------------------------------------------------- */

void Cell_on_new(Cell *self) { self->x = first_value(Cell_thisIndex(self)); }

static void send_ghosts(Cell *self)
{
	CProxy_Cell all = Cell_thisProxy(self);
	int i = Cell_thisIndex(self);

	Cell_ghost(Cell_at(all, (i + N - 1) % N), self->iter, RIGHT, self->x);
	Cell_ghost(Cell_at(all, (i + 1) % N), self->iter, LEFT, self->x);
}

void Cell_on_run(Cell *self)
{
	send_ghosts(self);
}

void Cell_on_ghost(Cell *self, int iter, int side, double v)
{
	CHECK_EQ(iter, self->iter);
	self->edge[side] = v;
	if (++self->n_in < 2)                   /* overlap: both, in any order */
		return;
	self->n_in = 0;
	self->x = next_value(self->edge[LEFT], self->x, self->edge[RIGHT]);
	if (++self->iter < STEPS)               /* lets the ghosts of the next iteration in */
		send_ghosts(self);
	else
		contribute(self, Cell_thisIndex(self), self->x);
}

/* ---- in a thread ------------------------------------------------------------------------------ */

void Rod_on_new(Rod *self) { self->x = first_value(Rod_thisIndex(self)); }

void Rod_on_run(Rod *self)
{
	CProxy_Rod all = Rod_thisProxy(self);
	int i = Rod_thisIndex(self);

	for (; self->iter < STEPS; self->iter++) {
		Rod_ghost(Rod_at(all, (i + N - 1) % N), self->iter, RIGHT, self->x);
		Rod_ghost(Rod_at(all, (i + 1) % N), self->iter, LEFT, self->x);
		while (self->n_in < 2) {
			self->thread = CthSelf();
			CthSuspend();
		}
		self->n_in = 0;
		self->x = next_value(self->edge[LEFT], self->x, self->edge[RIGHT]);
	}
	contribute(self, i, self->x);
}

void Rod_on_ghost(Rod *self, int iter, int side, double v)
{
	CHECK_EQ(iter, self->iter);
	self->edge[side] = v;
	if (++self->n_in == 2 && self->thread) {
		CthAwaken(self->thread);
		self->thread = NULL;
	}
}

/* ---- main ---------------------------------------------------------------------------------------- */

void Main_on_arrived(Main *self, int n, const double *v)
{
	double x[N], y[N];

	CHECK_EQ(n, N);
	for (int i = 0; i < N; i++)
		x[i] = first_value(i);
	for (int iter = 0; iter < STEPS; iter++) {
		for (int i = 0; i < N; i++)
			y[i] = next_value(x[(i + N - 1) % N], x[i], x[(i + 1) % N]);
		memcpy(x, y, sizeof x);
	}
	for (int i = 0; i < N; i++)
		CHECK(v[i] == x[i]);
	if (++self->n_arrived < 2)
		return;
	CkPrintf("heat: %d steps, two ways, on %d PEs\n", STEPS, CkNumPes());
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	Cell_run_all(Cell_ckNew(CkDims(N)));
	Rod_run_all(Rod_ckNew(CkDims(N)));
}

#include "heat.def.h"
