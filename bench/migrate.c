/* SPDX-License-Identifier: Apache-2.0 */
/*
 * migrate: what it costs to move an element, and to call one that has moved.
 *
 *	ckrun -n 3 build/bench/migrate             three nodes (processes)
 *	ckrun -n 3 --ppn 3 build/bench/migrate     three PEs of one node (threads)
 *
 * Options: --reps n, --smoke (few calls and moves, once).
 * Prints `name parameter value unit`, medians; a name ends with -nodes or -threads:
 *	migrate-never   0      us  a call from PE 0 to an element of PE 2 that never moved, and its answer
 *	migrate-lease   MOVES  us  the same to an element whose home is PE 1, after so many moves: straight to its place
 *	migrate-home    1      us  the same with a priority: such calls go by way of home
 *	migrate-move    BYTES  us  from a call that moves the element to the next call there, between PE 1 and PE 2; the
 *	                           element has so many bytes
 *	migrate-many    N      us  a move of one of N elements of 1 kB that all leave PE 1 for PE 2 at once, with a call that
 *	                           says so and an answer to PE 0
 *	migrate-first   K      us  the K-th call from PE 0 to an element that moved before PE 0 ever called it
 * and between nodes
 *	migrate-memory-away   N bytes  of home, seat and place together, for each of N elements that are away, beside the
 *	                               element
 *	migrate-memory-lease  N bytes  of a PE, for each of N elements of which it has a lease
 *	migrate-memory-holder N bytes  of their place, for each of these
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "migrate.decl.h"

/* Two elements on each of the three PEs. */
enum { ON_LEASE = 2, BY_HOME = 3, NEVER = 4, N_BLOCKS = 6, PES = 3 };
enum { CALLS = 20000, WARM = 1000, MANY_MOVES = 300, FIRST_CALLS = 4, MOTES = 1000, MOTES_SMOKE = 20 };

struct Block { int n; char *bytes; };
struct Mote { char bytes[1000]; };
struct Scale { char unused; };

struct series {
	const char *name;
	int parameter;
	int block;
	bool prioritised;
	int moves;               /* before the calls */
	int bytes;               /* >= 0: moves are measured, not calls */
};
static const struct series SERIES[] = {
	{ "never", 0, NEVER, false, 0, -1 },
	{ "lease", 1, ON_LEASE, false, 1, -1 },
	{ "lease", MANY_MOVES, ON_LEASE, false, MANY_MOVES, -1 },
	{ "home", 1, BY_HOME, true, 1, -1 },
	{ "move", 0, ON_LEASE, false, 0, 0 },
	{ "move", 1000, ON_LEASE, false, 0, 1000 },
	{ "move", 100000, ON_LEASE, false, 0, 100000 },
	{ "move", 1000000, ON_LEASE, false, 0, 1000000 },
};
enum { N_SERIES = sizeof SERIES / sizeof *SERIES };

enum stage { PREPARE, WARMING, MEASURED, FIRST };
enum weight { HOME_BEFORE, PLACE_BEFORE, HOME_AFTER, PLACE_AFTER, PLACE_LEASED, WEIGHTS };

struct Main {
	int series, rep, reps, calls, left;
	enum stage stage;
	double t0, us[BENCH_REPEATS_MAX];
	/* Of many at once. */
	int n_motes, n_landed, n_weighed, mote, call;
	double weight[WEIGHTS], own, first_us[FIRST_CALLS];
};

/* ---- an element ----------------------------------------------------------------------------------- */

void Block_on_new(Block *self) { (void)self; }

void Block_on_resize(Block *self, int n)
{
	free(self->bytes);
	self->bytes = calloc(n ? (size_t)n : 1, 1);
	self->n = n;
	if (!self->bytes)
		CkAbort("migrate: no memory for %d bytes", n);
	Main_answer(mainProxy);
}

/* To and fro between PE 1 and PE 2. */
void Block_on_hop(Block *self, int left)
{
	if (!left) {
		Main_answer(mainProxy);
		return;
	}
	CkMigrateMe(self, CkMyPe() == 1 ? 2 : 1);
	Block_hop(Block_thisElement(self), left - 1);
}

void Block_on_ping(Block *self)
{
	(void)self;
	Main_answer(mainProxy);
}

/* ---- main ------------------------------------------------------------------------------------------ */

static const struct series *now(const Main *self) { return &SERIES[self->series]; }

static int n_moves(const Main *self)
{
	return (now(self)->bytes > 10000 ? self->calls / 100 : self->calls / 10) * 2;
}

static void ping(Main *self)
{
	const CkEntryOptions o = { .prio = 1 };
	CProxyElement_Block to = Block_at(blocks, now(self)->block);

	self->left--;
	if (now(self)->prioritised)
		Block_ping_opt(&o, to);
	else
		Block_ping(to);
}

/* An even number of moves ends where it began, an odd one on the other PE. */
static void prepare(Main *self)
{
	self->stage = PREPARE;
	if (now(self)->bytes >= 0)
		Block_resize(Block_at(blocks, now(self)->block), now(self)->bytes);
	else
		Block_hop(Block_at(blocks, now(self)->block), now(self)->moves);
}

static void measure(Main *self)
{
	self->stage = MEASURED;
	self->t0 = bench_now_us();
	if (now(self)->bytes >= 0) {
		self->left = 0;
		Block_hop(Block_at(blocks, now(self)->block), n_moves(self));
	} else {
		self->left = self->calls;
		ping(self);
	}
}

/* ---- many at once ---------------------------------------------------------------------------------- */

static const char *ends(void) { return CkNumNodes() > 1 ? "nodes" : "threads"; }

/* Of this process. */
static double of_malloc(void) { return (double)mallinfo2().uordblks; }

/* The motes in the middle of the array, whose home is PE 1. */
static CProxyElement_Mote mote(const Main *self, int i) { return Mote_at(motes, self->n_motes + i); }

void Scale_on_new(Scale *self) { (void)self; }
void Scale_on_weigh(Scale *self) { (void)self; Main_weighed(mainProxy, of_malloc()); }

void Mote_on_new(Mote *self) { (void)self; }
void Mote_on_ping(Mote *self) { (void)self; Main_answer(mainProxy); }
void Mote_on_land(Mote *self) { (void)self; Main_landed(mainProxy); }

void Mote_on_fly(Mote *self, int pe)
{
	CkMigrateMe(self, pe);
	Mote_land(Mote_thisElement(self));
}

/* Home is the seat, too. */
static void weigh(Main *self)
{
	const bool home = self->n_weighed == HOME_BEFORE || self->n_weighed == HOME_AFTER;

	Scale_weigh(Scale_at(scales, home ? 1 : 2));
}

static void fly(Main *self)
{
	self->t0 = bench_now_us();
	for (int i = 0; i < self->n_motes; i++)
		Mote_fly(mote(self, i), 2);
}

static void call_first(Main *self)
{
	self->stage = FIRST;
	self->t0 = bench_now_us();
	Mote_ping(mote(self, self->mote));
}

static void print_memory(const Main *self)
{
	const double *w = self->weight;

	if (CkNumNodes() == 1)
		return;
	CkPrintf("migrate-memory-away %d %.1f bytes\n", self->n_motes,
		 (w[HOME_AFTER] - w[HOME_BEFORE] + w[PLACE_AFTER] - w[PLACE_BEFORE]) / self->n_motes);
	CkPrintf("migrate-memory-lease %d %.1f bytes\n", self->n_motes, self->own / self->n_motes);
	CkPrintf("migrate-memory-holder %d %.1f bytes\n", self->n_motes,
		 (w[PLACE_LEASED] - w[PLACE_AFTER]) / self->n_motes);
}

static void first_called(Main *self)
{
	self->first_us[self->call] += bench_now_us() - self->t0;
	if (++self->call == FIRST_CALLS) {
		self->call = 0;
		self->mote++;
	}
	if (self->mote < self->n_motes) {
		call_first(self);
		return;
	}
	for (int k = 0; k < FIRST_CALLS; k++)
		CkPrintf("migrate-first-%s %d %.3f us\n", ends(), k + 1, self->first_us[k] / self->n_motes);
	self->own = of_malloc() - self->own;
	weigh(self);
}

void Main_on_weighed(Main *self, double bytes)
{
	self->weight[self->n_weighed++] = bytes;
	if (self->n_weighed == HOME_AFTER) {
		fly(self);
	} else if (self->n_weighed < PLACE_LEASED) {
		weigh(self);
	} else if (self->n_weighed == PLACE_LEASED) {
		self->own = of_malloc();
		call_first(self);
	} else {
		print_memory(self);
		CkExit(0);
	}
}

void Main_on_landed(Main *self)
{
	if (++self->n_landed < self->n_motes)
		return;
	CkPrintf("migrate-many-%s %d %.3f us\n", ends(), self->n_motes, (bench_now_us() - self->t0) / self->n_motes);
	weigh(self);
}

static void measured(Main *self)
{
	const struct series *s = now(self);
	const int n = s->bytes >= 0 ? n_moves(self) : self->calls;

	self->us[self->rep] = (bench_now_us() - self->t0) / n;
	if (++self->rep < self->reps) {
		measure(self);
		return;
	}
	CkPrintf("migrate-%s-%s %d %.3f us\n", s->name, ends(), s->parameter,
		 bench_median(self->us, self->reps));
	self->rep = 0;
	if (++self->series < N_SERIES)
		prepare(self);
	else
		weigh(self);
}

void Main_on_answer(Main *self)
{
	if (self->left > 0) {
		ping(self);
	} else if (self->stage == PREPARE) {
		self->stage = WARMING;
		self->left = WARM;
		ping(self);
	} else if (self->stage == WARMING) {
		measure(self);
	} else if (self->stage == FIRST) {
		first_called(self);
	} else {
		measured(self);
	}
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	struct bench_options opt;

	bench_options_init(&opt);
	self->calls = CALLS;
	self->n_motes = MOTES;
	for (int i = 1; i < m->argc; i++) {
		if (strcmp(m->argv[i], "--smoke") == 0) {
			opt.repeats = 1;
			self->calls = 200;
			self->n_motes = MOTES_SMOKE;
		} else if (!bench_option(&opt, m->argc, m->argv, &i)) {
			CkError("migrate: unknown option %s\n", m->argv[i]);
			CkExit(2);
			return;
		}
	}
	if (CkNumPes() != PES) {
		CkError("migrate: needs %d PEs: ckrun -n %d [--ppn %d]\n", PES, PES, PES);
		CkExit(2);
		return;
	}
	self->reps = opt.repeats;
	mainProxy = Main_thisProxy(self);
	blocks = Block_ckNew(CkDims(N_BLOCKS));
	motes = Mote_ckNew(CkDims(PES * self->n_motes));
	scales = Scale_ckNew();
	prepare(self);
}

#include "migrate.def.h"
