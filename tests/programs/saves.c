/* SPDX-License-Identifier: Apache-2.0 */
/*
 * saves DIR N_ROUNDS SAVE_AT FILL CRASH LOOP: rounds in which each cell sends its value to
 * others, and the sum of all goes to the main chare. After every SAVE_AT-th round the job is
 * saved, and goes on. A job that is started from a checkpoint goes on there; what it prints at
 * the end must be the same. Each cell has at least FILL numbers besides. After round CRASH the
 * program ends by a signal; after round -CRASH only if it was not started from a checkpoint.
 * After round LOOP it stays in a handler for ever, if it was not started from one.
 */
#include "check.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "saves.decl.h"

struct Main { int round, n_rounds, save_at, n_saves, crash, loop; long sums; char dir[256]; };
struct Cell { long value, sum; int round, n_taken, n_more, *more, arrivals; };
struct Tally { long n; };

enum { CELLS = 37, TARGETS = 3 };

/* ---- the main chare -------------------------------------------------------------------------- */

static void next_round(Main *self)
{
	Cell_step_all(cells, ++self->round);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	main_proxy = Main_thisProxy(self);
	*self = (Main){ .n_rounds = m->argc > 2 ? atoi(m->argv[2]) : 20,
			.save_at = m->argc > 3 ? atoi(m->argv[3]) : 7,
			.crash = m->argc > 5 ? atoi(m->argv[5]) : 0,
			.loop = m->argc > 6 ? atoi(m->argv[6]) : 0 };
	if (m->argc > 1)
		strncpy(self->dir, m->argv[1], sizeof self->dir - 1);
	fill = m->argc > 4 ? atoi(m->argv[4]) : 0;
	cells = Cell_ckNew(CkDims(CELLS));
	tallies = Tally_ckNew();
	next_round(self);
}

static void maybe_crash(const Main *self)
{
	volatile bool loops = self->loop == self->round && !CkRestartedFrom(NULL);

	while (loops)
		;
	if (self->crash == self->round || (self->crash == -self->round && !CkRestartedFrom(NULL)))
		raise(SIGSEGV);
}

static void goes_on(Main *self)
{
	if (self->round < self->n_rounds)
		next_round(self);
	else
		Cell_leave_all(cells);
}

void Main_on_round_over(Main *self, long sum)
{
	self->sums = (long)((unsigned long)self->sums * 31 + (unsigned long)sum);
	maybe_crash(self);
	if (self->round % self->save_at)
		goes_on(self);
	else if (!strcmp(self->dir, "memory"))
		Tally_ask(Tally_at(tallies, self->round % CkNumPes()));
	else
		CkStartCheckpoint(self->dir, Main_cb_saved(main_proxy));
}

void Main_on_saved(Main *self, int status)
{
	CkRestart from;

	if (status == CK_CHECKPOINT_RESTARTED) {
		CHECK(CkRestartedFrom(&from));
		CkPrintf("saves: again after round %d, from %d PEs\n", self->round, from.pes);
	} else {
		CHECK_EQ(status, CK_CHECKPOINT_SUCCESS);
		self->n_saves++;
	}
	goes_on(self);
}

void Main_on_left(Main *self)
{
	(void)self;
	Tally_tell_all(tallies);
}

/* In a job with another number of PEs some branches are there twice, or not at all. */
void Main_on_tallied(Main *self, long n)
{
	CkRestart from = { .pes = 0 };

	if (!CkRestartedFrom(&from) || from.pes == CkNumPes())
		CHECK_EQ(n, (long)self->n_rounds * CELLS * TARGETS);
	CkPrintf("saves: %d rounds, %ld\n", self->round, self->sums);
	CkExit(0);
}

/* ---- cells ----------------------------------------------------------------------------------- */

void Cell_on_new(Cell *self)
{
	self->value = Cell_thisIndex(self) * 7 + 1;
}

/* tests/stages/stage.c has one. */
void saves_arrived(void) __attribute__((weak));

void Cell_on_arrived(Cell *self)
{
	if (saves_arrived)
		saves_arrived();
	self->arrivals = 1;
}

/* Values of a round come before or after its call. */
static void check_round(Cell *self)
{
	if (self->n_taken < TARGETS + 1)
		return;
	self->n_taken = 0;
	self->value = (long)(check_mix((uint64_t)self->sum) % 100000);
	self->n_more = (int)(self->value % 7) + fill;
	self->more = realloc(self->more, (size_t)self->n_more * sizeof *self->more + 1);
	for (int i = 0; i < self->n_more; i++)
		self->more[i] = (int)self->value + i;
	CkContribute(self, &self->sum, 1, CkReduction_sum_long, Main_cb_round_over(main_proxy));
}

void Cell_on_take(Cell *self, long value)
{
	self->sum = (long)((unsigned long)self->sum + (unsigned long)value);
	self->n_taken++;
	Tally_ckLocalBranch(tallies)->n++;
	check_round(self);
}

void Cell_on_step(Cell *self, int round)
{
	const int i = Cell_thisIndex(self);

	for (int k = 0; k < self->n_more; k++)
		CHECK_EQ(self->more[k], (int)self->value + k);
	self->round = round;
	for (int t = 1; t <= TARGETS; t++)
		Cell_take(Cell_at(cells, (i * t + round) % CELLS), self->value * t);
	self->n_taken++;
	check_round(self);
}

/* Nothing is left for a leak checker. */
void Cell_on_leave(Cell *self)
{
	free(self->more);
	self->more = NULL;
	self->n_more = 0;
	CkContributeBarrier(self, Main_cb_left(main_proxy));
}

/* ---- what all PEs have counted --------------------------------------------------------------- */

void Tally_on_new(Tally *self) { (void)self; }

/* Any PE may. */
void Tally_on_ask(Tally *self)
{
	(void)self;
	CkStartMemCheckpoint(Main_cb_saved(main_proxy));
}

void Tally_on_tell(Tally *self)
{
	CkContribute(self, &self->n, 1, CkReduction_sum_long, Main_cb_tallied(main_proxy));
}

#include "saves.def.h"
