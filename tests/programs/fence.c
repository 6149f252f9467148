/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fence: in every round each cell starts chains of calls that multiply (the seeds tell how much),
 * puts through a channel to its neighbour, and enters a fence. One cell comes late, by a timer, and
 * starts its chains only then. After the fence the program counts the calls: a missing one was not
 * handled in time. Calls of the next round may have arrived already, but all of the last round must
 * have.
 *
 * Then the same with threads that wait in the fence.
 *
 * Meanwhile all elements but one of another array wait in a fence of their own. That fence delays
 * neither these fences nor quiescence.
 */
#include "check.h"

#include <stdlib.h>

#include "csd.h"
#include "cth.h"
#include "fence.decl.h"

enum { ROUNDS = 8, THREAD_ROUNDS = 5, DEPTH = 6, CHAINS = 2, OTHERS = 5, BYTES = 4096 };
static const uint64_t OOB = 0x7ff8123412341234u;

struct Main { int n_counted, stage; };
struct Cell {
	int round;                /* of the fence that it comes to next */
	long n_calls[2];          /* by the round's parity */
	long n_puts;
	double in[BYTES / 8], out[BYTES / 8];
	CkDirectHandle from, to;
};
struct Other { int n_arrived; };

static int n_cells(void) { return 3 * CkNumPes() + 1; }

/* ---- chains -------------------------------------------------------------------------------- */

static int fan_out(uint64_t seed) { return (int)(check_mix(seed) % 4); }
static uint64_t child(uint64_t seed, int i) { return check_mix(seed + 17 + (uint64_t)i); }

static long serial(uint64_t seed, int depth)
{
	long n = 1;

	for (int i = 0; depth && i < fan_out(seed); i++)
		n += serial(child(seed, i), depth - 1);
	return n;
}

static uint64_t chain(int round, int cell, int i)
{
	return check_mix((uint64_t)(round * 10000 + cell * CHAINS + i));
}

static long calls_of(int round)
{
	long n = 0;

	for (int cell = 0; cell < n_cells(); cell++)
		for (int i = 0; i < CHAINS; i++)
			n += serial(chain(round, cell, i), DEPTH);
	return n;
}

static CProxyElement_Cell cell_of(uint64_t seed)
{
	return Cell_at(cells, (int)(seed % (unsigned)n_cells()));
}

void Cell_on_grow(Cell *self, int round, uint64_t seed, int depth)
{
	self->n_calls[round % 2]++;
	for (int i = 0; depth && i < fan_out(seed); i++)
		Cell_grow(cell_of(child(seed, i)), round, child(seed, i), depth - 1);
}

static void start_chains(const Cell *self, int round)
{
	for (int i = 0; i < CHAINS; i++) {
		uint64_t seed = chain(round, Cell_thisIndex(self), i);

		Cell_grow(cell_of(seed), round, seed, DEPTH);
	}
}

/* ---- channels ------------------------------------------------------------------------------- */

static void put_arrived(void *arg)
{
	Cell *self = arg;

	CHECK(self->in[BYTES / 8 - 1] == (double)self->n_puts + 1);
	self->n_puts++;
	CkDirect_ready(&self->from);
}

void Cell_on_new(Cell *self)
{
	(void)self;
}

void Cell_on_connect(Cell *self)
{
	int next = (Cell_thisIndex(self) + 1) % n_cells();

	self->from = CkDirect_createHandle(self->in, BYTES, OOB, put_arrived, self);
	Cell_channel(Cell_at(cells, next), self->from);
}

void Cell_on_channel(Cell *self, CkDirectHandle h)
{
	self->to = h;
	CkDirect_assocLocalBuffer(&self->to, self->out, sizeof self->out);
	CkFence(self, Cell_cb_run_all(cells));
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static void put(Cell *self, int round)
{
	self->out[BYTES / 8 - 1] = round + 1;
	CkDirect_put(&self->to);
}

static void arrive(void *arg)
{
	Cell *self = arg;

	start_chains(self, self->round);
	put(self, self->round);
	CkFence(self, Cell_cb_passed_all(cells));
}

void Cell_on_run(Cell *self)
{
	if (Cell_thisIndex(self) == (self->round + 1) % n_cells())
		CcdCallFnAfter(arrive, self, 2);
	else
		arrive(self);
}

/* What the round has brought, by this fence; the next round's puts may have begun. */
static void count(Cell *self, CkCallback cb)
{
	long v[2] = { self->n_calls[self->round % 2], self->round };

	CHECK(self->n_puts > self->round);
	self->n_calls[self->round % 2] = 0;
	CkContribute(self, v, 2, CkReduction_sum_long, cb);
	self->round++;
}

void Cell_on_passed(Cell *self)
{
	count(self, Main_cb_counted(mainProxy));
	if (self->round < ROUNDS)
		Cell_on_run(self);
}

/* Results of one collection's reductions to one place may overtake each other. */
static void check_counted(const long *v)
{
	CHECK_EQ(v[1] % n_cells(), 0);
	CHECK_EQ(v[0], calls_of((int)(v[1] / n_cells())));
}

void Main_on_counted(Main *self, int n, const long *v)
{
	CHECK_EQ(n, 2);
	check_counted(v);
	if (++self->n_counted == ROUNDS)
		CkStartQD(Main_cb_quiet(mainProxy));
}

/* ---- threads ----------------------------------------------------------------------------------- */

static void drive(void *arg)
{
	Cell *self = arg;

	for (int i = 0; i < THREAD_ROUNDS; i++) {
		start_chains(self, self->round);
		put(self, self->round);
		if (i % 2)
			CthYield();
		CkFenceWait(self);
		count(self, Main_cb_threadsCounted(mainProxy));
	}
}

void Cell_on_drive(Cell *self)
{
	CthAwaken(CthCreate(drive, self, 0));
}

void Main_on_threadsCounted(Main *self, int n, const long *v)
{
	CHECK_EQ(n, 2);
	check_counted(v);
	if (++self->n_counted == ROUNDS + THREAD_ROUNDS)
		CkStartQD(Main_cb_quiet(mainProxy));
}

/* ---- others -------------------------------------------------------------------------------------- */

void Other_on_new(Other *self) { (void)self; }

void Other_on_arrive(Other *self)
{
	CHECK_EQ(self->n_arrived++, 0);
	CkFence(self, Main_cb_othersPassed(mainProxy));
}

void Main_on_quiet(Main *self)
{
	if (self->stage++ == 0)
		Cell_drive_all(cells);
	else
		Other_arrive(Other_at(others, OTHERS - 1));
}

void Main_on_othersPassed(Main *self)
{
	CHECK_EQ(self->stage, 2);
	CkPrintf("fence: %d rounds of %d cells on %d PEs\n", ROUNDS + THREAD_ROUNDS, n_cells(),
		 CkNumPes());
	CkExit(0);
}

enum { NO_THREAD = 1, DISAGREE, UNSET };

void Other_on_misuse(Other *self, int what)
{
	if (what == NO_THREAD)
		CkFenceWait(self);
	if (what == UNSET)
		CkFence(self, (CkCallback){ 0 });
	if (Other_thisIndex(self) % 2)
		CkFence(self, Main_cb_quiet(mainProxy));
	else
		CkContributeBarrier(self, Main_cb_quiet(mainProxy));
}

static int misuse(const char *what)
{
	return !strcmp(what, "no-thread") ? NO_THREAD : !strcmp(what, "disagree") ? DISAGREE : UNSET;
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)self;
	mainProxy = Main_thisProxy(self);
	cells = Cell_ckNew(CkDims(n_cells()));
	others = Other_ckNew(CkDims(OTHERS));
	if (m->argc > 1) {
		Other_misuse_all(others, misuse(m->argv[1]));
		return;
	}
	for (int i = 0; i < OTHERS - 1; i++)
		Other_arrive(Other_at(others, i));
	Cell_connect_all(cells);
}

#include "fence.def.h"
