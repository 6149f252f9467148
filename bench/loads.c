/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loads: the steps of an array whose elements have known work to do, which may be uneven and may change.
 *
 *	CK_LB=STRATEGY ckrun -n 2 build/bench/loads [--cells n] [--steps n] [--every n] [--grain n] [even|half|wave]
 *
 * In each step all elements work, and a reduction and a broadcast begin the next one. Every `every` steps they sync first
 * (CkAtSync). Work is a loop of a fixed number of turns, so that it is the same in each run, whatever has the core besides.
 *	even   all elements have as much
 *	half   the elements of the second half have three times as much as those of the first
 *	wave   a quarter of the elements has five times as much as the others, and wanders once around in 100 steps
 *
 * Prints, for the name NAME of CK_LB:
 *	loads-step-NAME   PATTERN us    a step, the median of all
 *	loads-mean-NAME   PATTERN us    the mean, syncs included
 *	loads-drift-NAME  PATTERN ratio the median of the last fifty, over that of the first fifty; of 100 steps and more
 * bench/loads.py runs it, and has the figures of load balancing that need other programs, too.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "ck.h"

enum { STEPS_MOST = 10000, PART = 50 };
enum pattern { EVEN, HALF, WAVE, N_PATTERNS };

static const char *const patterns[N_PATTERNS] = { "even", "half", "wave" };

struct Main {
	int step, steps;
	double began, t, *us;
};
struct Cell {
	int step;
	uint64_t state;
	double rest[32];
};

#include "loads.decl.h"

/* In each pattern the work of all elements together is the same. */
static long turns(int cell, int step)
{
	const int begin = step * n_cells / 100, at = (cell + n_cells - begin % n_cells) % n_cells;

	switch ((enum pattern)pattern) {
	case HALF:
		return cell < n_cells / 2 ? grain / 2 : 3 * (long)grain / 2;
	case WAVE:
		return at < n_cells / 4 ? 5 * (long)grain / 2 : grain / 2;
	default:
		return grain;
	}
}

static void work(Cell *self)
{
	for (long n = turns(Cell_thisIndex(self), self->step); n > 0; n--)
		self->state = self->state * 6364136223846793005u + 1442695040888963407u;
}

static void work_and_say(Cell *self)
{
	const long odd = (long)(self->state >> 63);

	work(self);
	CkContribute(self, &odd, 1, CkReduction_sum_long, Main_cb_stepped(mainProxy));
}

void Cell_on_new(Cell *self)
{
	self->state = (uint64_t)Cell_thisIndex(self);
}

void Cell_on_step(Cell *self, int step)
{
	self->step = step;
	if (step % every == 0)
		CkAtSync(self);
	else
		work_and_say(self);
}

void Cell_on_resumeFromSync(Cell *self)
{
	work_and_say(self);
}

/* ---- main ------------------------------------------------------------------------------------------------ */

static void end(Main *self)
{
	const char *lb = getenv("CK_LB"), *name = lb && *lb ? lb : "off";
	double first, last;

	if (self->steps >= 2 * PART) {
		first = bench_median(self->us, PART);
		last = bench_median(self->us + self->steps - PART, PART);
		CkPrintf("loads-drift-%s %s %.4f ratio\n", name, patterns[pattern], last / first);
	}
	CkPrintf("loads-mean-%s %s %.2f us\n", name, patterns[pattern], (self->t - self->began) / self->steps);
	CkPrintf("loads-step-%s %s %.1f us\n", name, patterns[pattern], bench_median(self->us, self->steps));
	free(self->us);
	CkExit(0);
}

void Main_on_stepped(Main *self, long sum)
{
	const double now = bench_now_us();

	if (sum < 0 || sum > n_cells)
		CkAbort("loads: %ld of %d", sum, n_cells);
	self->us[self->step++] = now - self->t;
	self->t = now;
	if (self->step == self->steps)
		end(self);
	else
		Cell_step_all(cells, self->step);
}

static int pattern_of(const char *name)
{
	int i = 0;

	while (i < N_PATTERNS && strcmp(patterns[i], name))
		i++;
	if (i == N_PATTERNS)
		CkAbort("loads: \"%s\" is no pattern: even, half or wave", name);
	return i;
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	self->steps = 100;
	n_cells = 64;
	every = 1;
	grain = 100000;
	for (int i = 1; i < m->argc; i++)
		if (strcmp(m->argv[i], "--cells") == 0 && i + 1 < m->argc)
			n_cells = (int)bench_number(m->argv[0], "--cells", m->argv[++i], 4, 1000000);
		else if (strcmp(m->argv[i], "--steps") == 0 && i + 1 < m->argc)
			self->steps = (int)bench_number(m->argv[0], "--steps", m->argv[++i], 1, STEPS_MOST);
		else if (strcmp(m->argv[i], "--every") == 0 && i + 1 < m->argc)
			every = (int)bench_number(m->argv[0], "--every", m->argv[++i], 1, STEPS_MOST);
		else if (strcmp(m->argv[i], "--grain") == 0 && i + 1 < m->argc)
			grain = (int)bench_number(m->argv[0], "--grain", m->argv[++i], 1, 1000000000);
		else
			pattern = pattern_of(m->argv[i]);
	self->us = calloc((size_t)self->steps, sizeof *self->us);
	if (!self->us)
		CkAbort("loads: no memory");
	cells = Cell_ckNew(CkDims(n_cells));
	self->began = self->t = bench_now_us();
	Cell_step_all(cells, 0);
}

#include "loads.def.h"
