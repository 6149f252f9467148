/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crowd: the same work on more and more PEs, with no more cores: does the time grow? 256 cells in
 * a ring, 100 rounds, each round of a cell a message from either neighbour and some 20 us of work.
 *
 *	ckrun -n 16 build/bench/crowd               16 processes
 *	ckrun -n 16 --ppn 16 build/bench/crowd      16 threads of one process
 *	bench/suite.py -g crowd build               2 to 64 of both, and of MPI, beside each other
 *
 * Options: --cells n, --rounds n, --steps n (of the work), --reps n (default 3), --smoke.
 * Prints `crowd-processes PEs milliseconds ms` or `crowd-threads ...`: the time of all rounds, a
 * median, without the start of the job. The sum of all values must be the serial program's.
 */
#include <string.h>

#include "bench.h"
#include "crowd.h"

#include "crowd.decl.h"

struct Main {
	CProxy_Cell all;
	int repeats, repeat;
	long answer;
	double t0, ms[BENCH_REPEATS_MAX];
};

struct Cell {
	unsigned own;
	int round;
	bool going;
	int n_in[2];          /* of this round and the next, by the last bit of its number */
	unsigned neighbours[2];
};

/* ---- a cell -------------------------------------------------------------------------------- */

static void send_value(Cell *self)
{
	int me = Cell_thisIndex(self);
	CProxy_Cell all = Cell_thisProxy(self);

	Cell_value(Cell_at(all, (me + 1) % cells), self->round, self->own);
	Cell_value(Cell_at(all, (me + cells - 1) % cells), self->round, self->own);
}

static void one_round(Cell *self)
{
	int now = self->round & 1;

	self->own = crowd_next(self->own, self->neighbours[now], crowd_work(1, steps), right);
	self->n_in[now] = 0;
	self->neighbours[now] = 0;
	self->round++;
}

static void go_on(Cell *self)
{
	while (self->going && self->n_in[self->round & 1] == 2) {
		one_round(self);
		if (self->round < rounds) {
			send_value(self);
		} else {
			long own = self->own;

			self->going = false;
			CkContribute(self, &own, 1, CkReduction_sum_long,
				     Main_cb_finished(mainProxy));
		}
	}
}

/* A neighbour's first value may have come before this. */
void Cell_on_go(Cell *self)
{
	self->own = crowd_first(Cell_thisIndex(self));
	self->round = 0;
	self->going = true;
	send_value(self);
	go_on(self);
}

void Cell_on_value(Cell *self, int round, unsigned v)
{
	self->n_in[round & 1]++;
	self->neighbours[round & 1] += v;
	go_on(self);
}

void Cell_on_new(Cell *self)
{
	CkContributeBarrier(self, Main_cb_made(mainProxy));
}

/* ---- main ---------------------------------------------------------------------------------- */

static void start_run(Main *self)
{
	self->t0 = bench_now_us();
	Cell_go_all(self->all);
}

void Main_on_made(Main *self)
{
	start_run(self);
}

void Main_on_finished(Main *self, long sum)
{
	self->ms[self->repeat] = (bench_now_us() - self->t0) / 1000;
	if (sum != self->answer)
		CkAbort("the cells add up to %ld, not %ld", sum, self->answer);
	if (++self->repeat < self->repeats) {
		start_run(self);
		return;
	}
	CkPrintf("crowd-%s %d %.2f ms\n", CkNumNodes() > 1 ? "processes" : "threads", CkNumPes(),
		 bench_median(self->ms, self->repeats));
	CkExit(0);
}

/* Returns false where argv[*i] is no option of this program. */
static bool option(Main *self, char **argv, int *i)
{
	static const struct { const char *name; int *value; long most; } numbers[] = {
		{ "--cells", &cells, 1000000 },
		{ "--rounds", &rounds, 1000000 },
		{ "--steps", &steps, 100000000 },
	};

	for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
		if (strcmp(argv[*i], numbers[k].name) == 0) {
			++*i;
			*numbers[k].value = (int)bench_number(argv[0], numbers[k].name, argv[*i], 1,
							      numbers[k].most);
			return true;
		}
	if (strcmp(argv[*i], "--smoke"))
		return false;
	self->repeats = 1;
	cells = CROWD_CELLS_SMOKE;
	rounds = CROWD_ROUNDS_SMOKE;
	return true;
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	struct bench_options opt;

	bench_options_init(&opt);
	self->repeats = opt.repeats = 3;
	cells = CROWD_CELLS;
	rounds = CROWD_ROUNDS;
	steps = CROWD_STEPS;
	for (int i = 1; i < m->argc; i++) {
		if (option(self, m->argv, &i))
			continue;
		if (!bench_option(&opt, m->argc, m->argv, &i)) {
			CkError("crowd: unknown option %s\n", m->argv[i]);
			CkExit(2);
			return;
		}
		self->repeats = opt.repeats;
	}
	right = crowd_work(1, steps);
	self->answer = crowd_answer(cells, rounds);
	mainProxy = Main_thisProxy(self);
	self->all = Cell_ckNew(CkDims(cells));
}

#include "crowd.def.h"
