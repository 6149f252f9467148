/* SPDX-License-Identifier: Apache-2.0 */
/*
 * migrate_steps: elements move while their bodies of Structured Dagger wait: for one of two neighbours, inside a
 * `when` that has taken a call already, and in a loop. What lives across the whens goes along, so the sum is that of
 * elements that stay. `migrate_steps [seed [steps]]`.
 */
#include "check.h"

#include <stdlib.h>

struct Main {
	int unused;
};
struct Cell {
	long sum;
	int n_plain, n_moves;
	uint64_t random;
};

enum { N = 8, LEFT = 3, RIGHT = 7 };

static void send_both(struct Cell *self, int step);
static void wander(struct Cell *self);
static void end(struct Cell *self);
static long total(int m, const long *v);

#include "migrate_steps.decl.h"

static int length(int step)
{
	return step % 4 + 1;
}

static long value(int from, int step, int k)
{
	return from * 1000L + step * 10 + k;
}

static long total(int m, const long *v)
{
	long sum = 0;

	for (int k = 0; k < m; k++)
		sum += v[k];
	return sum;
}

static void send_both(Cell *self, int step)
{
	const int me = Cell_thisIndex(self), m = length(step);
	long v[4];

	for (int k = 0; k < m; k++)
		v[k] = value(me, step, k);
	Cell_left(Cell_at(cells, (me + 1) % N), step, m, v);
	Cell_right(Cell_at(cells, (me + N - 1) % N), step, m, v);
}

/* Half of the times it asks, to a random PE. */
static void wander(Cell *self)
{
	self->random = check_mix(self->random);
	if (self->random >> 63)
		return;
	self->n_moves++;
	CkMigrateMe(self, (int)((self->random >> 33) % (uint64_t)CkNumPes()));
}

static long expected(void)
{
	long sum = 0;

	for (int me = 0; me < N; me++)
		for (int step = 0; step < steps; step++)
			for (int k = 0; k < length(step); k++)
				sum += LEFT * value((me + N - 1) % N, step, k) + RIGHT * value((me + 1) % N, step, k);
	return sum;
}

static void end(Cell *self)
{
	CHECK_EQ(self->n_plain, (steps + 2) / 3);
	CkContribute(self, &self->sum, 1, CkReduction_sum_long, Main_cb_done(mainProxy));
}

void Cell_on_new(Cell *self)
{
	self->random = check_mix(seed + (uint64_t)Cell_thisIndex(self));
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)self;
	seed = m->argc > 1 ? strtoull(m->argv[1], NULL, 10) : 1;
	steps = m->argc > 2 ? atoi(m->argv[2]) : 60;
	mainProxy = Main_thisProxy(self);
	cells = Cell_ckNew(CkDims1(N));
	Cell_run_all(cells, 2, (const long[]){ LEFT, RIGHT });
}

void Main_on_done(Main *self, long sum)
{
	(void)self;
	CHECK_EQ(sum, expected());
	CkPrintf("migrate_steps: %d steps of %d elements\n", steps, N);
	CkExit(0);
}

#include "migrate_steps.def.h"
