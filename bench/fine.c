/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fine: what the smallest steps within a PE cost, beside those of bench/local.
 *
 *	build/bench/fine [STEPS]
 *
 * Prints `name parameter value unit`:
 *	fine-put      0     ns of a put of 64 bytes into a channel of the same PE, its function, and
 *	                    CkDirect_ready in it; 8 channels are put into, then all functions run
 *	fine-hop      0     the same when each function makes the next put, passes of the loop included
 *	fine-inline   0     ns of an [inline] call of another element of this PE
 *	fine-values   0     the same with 4 doubles in an array parameter
 *	fine-section  0     ns an element of a call of a section of 4 elements of this PE; 10 calls are
 *	                    queued, then all elements get them
 *	fine-calls    0     ns of four calls with two ints to another element, whose handler counts them
 *	fine-count    0     the same by a [count(4)] entry: one handler
 *	fine-set      0     ns of puts of 64 bytes into a set of 4 channels, its function, and
 *	                    CkDirect_readySet in it
 *
 * Instructions: bench/fine.sh has valgrind count them, and tells the series apart by the functions
 * here that are not inlined.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "ckdirect.h"
#include "fine.decl.h"

enum { CHANNELS = 8, ROUNDS = 7, VALUES = 4, WORDS = 8, SIDES = 4 };
enum { MEMBERS = 4, MULTICASTS = 10, BURST = MEMBERS * MULTICASTS };

enum series { PUTS, HOPS, POKES, POKES_OF_VALUES, SECTIONS, CALLS, COUNTED, SETS, SERIES };
static const char *const NAME[] = { "fine-put", "fine-hop", "fine-inline", "fine-values",
				    "fine-section", "fine-calls", "fine-count", "fine-set" };

struct Main {
	int unused;
};

/* A channel from cell 0 to cell 1, which is on the same PE. */
struct pipe {
	uint64_t from[WORDS], to[WORDS];
	CkDirectHandle handle;
	Cell *cell;               /* cell 0 */
};

struct Cell {
	enum series series;
	int steps, left, round;
	int n_in;                 /* calls of the step so far */
	Cell *other;              /* cell 0, of cell 1 */
	double t0, us[ROUNDS];
	struct pipe pipes[CHANNELS + SIDES]; /* the last ones are the set */
	CkDirectSet *set;
	CProxySection_Cell members; /* cells 1 to MEMBERS */
};

/* ---- one series after the other ---------------------------------------------------------- */

static void put_all(Cell *self)
{
	for (int i = 0; i < CHANNELS; i++)
		CkDirect_put(&self->pipes[i].handle);
}

static void poke_all(Cell *self)
{
	CProxyElement_Cell other = Cell_at(cells, 1);

	for (int i = self->steps; i-- > 0;)
		Cell_poke(other, i);
}

static void poke_all_values(Cell *self)
{
	CProxyElement_Cell other = Cell_at(cells, 1);
	const double v[VALUES] = { 1, 2, 3, 4 };

	for (int i = self->steps; i-- > 0;)
		Cell_poke_values(other, i, VALUES, v);
}

static void call_members(Cell *self)
{
	for (int i = MULTICASTS; i-- > 0;)
		Cell_note_section(self->members, i);
}

/* The other element answers when all have come. */
static void call_sides(Cell *self)
{
	CProxyElement_Cell other = Cell_at(cells, 1);

	for (int i = 0; i < SIDES; i++)
		Cell_side(other, self->left, i);
}

static void call_counted(Cell *self)
{
	CProxyElement_Cell other = Cell_at(cells, 1);

	for (int i = 0; i < SIDES; i++)
		Cell_counted(other, self->left, i);
}

static void put_set(Cell *self)
{
	for (int i = CHANNELS; i < CHANNELS + SIDES; i++)
		CkDirect_put(&self->pipes[i].handle);
}

/* One for each series, for valgrind to tell them apart. */
static __attribute__((noinline)) void start_puts(Cell *self) { put_all(self); }
static __attribute__((noinline)) void start_hops(Cell *self)
{
	CkDirect_put(&self->pipes[0].handle);
}
static __attribute__((noinline)) void start_pokes(Cell *self) { poke_all(self); }
static __attribute__((noinline)) void start_values(Cell *self) { poke_all_values(self); }
static __attribute__((noinline)) void start_sections(Cell *self) { call_members(self); }
static __attribute__((noinline)) void start_calls(Cell *self) { call_sides(self); }
static __attribute__((noinline)) void start_counted(Cell *self) { call_counted(self); }
static __attribute__((noinline)) void start_sets(Cell *self) { put_set(self); }
static __attribute__((noinline)) void finish(void) { CkExit(0); }

static void (*const START[])(Cell *) = { start_puts, start_hops, start_pokes, start_values,
					 start_sections, start_calls, start_counted, start_sets };

static void start_round(Cell *self)
{
	self->left = self->steps;
	self->t0 = bench_now_us();
	START[self->series](self);
}

/* By a message, so that series of calls that run inside their caller do not nest. */
static void round_done(Cell *self)
{
	self->us[self->round++] = bench_now_us() - self->t0;
	Cell_next(Cell_at(cells, 0));
}

void Cell_on_next(Cell *self)
{
	if (self->round == ROUNDS) {
		CkPrintf("%s 0 %.1f ns\n", NAME[self->series],
			 bench_median(self->us, ROUNDS) * 1000 / self->steps);
		self->round = 0;
		self->series++;
	}
	if (self->series == SERIES)
		finish();
	else
		start_round(self);
}

/* ---- what is called ------------------------------------------------------------------------ */

static Cell *cell_0(void) { return Cell_ckLocal(Cell_at(cells, 0)); }

static void arrived(void *arg)
{
	struct pipe *p = arg;
	Cell *self = p->cell;

	CkDirect_ready(&p->handle);
	if (--self->left == 0)
		round_done(self);
	else if (self->series == HOPS)
		CkDirect_put(&p->handle);
	else if (self->left % CHANNELS == 0)
		put_all(self);
}

static void set_arrived(void *arg)
{
	Cell *self = arg;

	CkDirect_readySet(self->set);
	if (--self->left == 0)
		round_done(self);
	else
		put_set(self);
}

void Cell_on_poke(Cell *self, int left)
{
	self->left++;
	if (!left)
		round_done(cell_0());
}

void Cell_on_poke_values(Cell *self, int left, int n, const double *v)
{
	if (n != VALUES || v[0] + v[n - 1] != 1 + VALUES)
		CkAbort("an array of %d values is not what was sent", n);
	self->left++;
	if (!left)
		round_done(cell_0());
}

static __attribute__((noinline)) void members_done(Cell *self)
{
	if ((self->left -= BURST) > 0)
		call_members(self);
	else
		round_done(self);
}

void Cell_on_note(Cell *self, int left)
{
	if (!left && Cell_thisIndex(self) == MEMBERS)
		members_done(cell_0());
}

static void sides_in(Cell *first)
{
	if (--first->left == 0)
		round_done(first);
	else if (first->series == CALLS)
		call_sides(first);
	else
		call_counted(first);
}

void Cell_on_side(Cell *self, int step, int side)
{
	if (++self->n_in < SIDES)
		return;
	self->n_in = 0;
	sides_in(self->other);
}

void Cell_on_counted(Cell *self, int step, int n, const Cell_counted_call *calls)
{
	if (n != SIDES || calls[0].side + calls[n - 1].side != SIDES - 1)
		CkAbort("%d calls make a step", n);
	sides_in(self->other);
}

void Cell_on_new(Cell *self)
{
	self->other = Cell_thisIndex(self) ? cell_0() : NULL;
}

void Cell_on_start(Cell *self, int n)
{
	CkIndex list[MEMBERS];

	for (int i = 0; i < MEMBERS; i++)
		list[i] = Cell_index(i + 1);
	self->members = Cell_ckSection(cells, list, MEMBERS);
	self->steps = n;
	CkDirectHandle *set[SIDES];

	for (int i = 0; i < CHANNELS + SIDES; i++) {
		struct pipe *p = &self->pipes[i];

		p->cell = self;
		p->handle = CkDirect_createHandle(p->to, sizeof p->to, UINT64_MAX, arrived, p);
		if (i >= CHANNELS)
			set[i - CHANNELS] = &p->handle;
		else
			CkDirect_assocLocalBuffer(&p->handle, p->from, sizeof p->from);
	}
	self->set = CkDirect_createSet(set, SIDES, set_arrived, self);
	for (int i = 0; i < SIDES; i++)
		CkDirect_assocLocalBuffer(set[i], self->pipes[CHANNELS + i].from, WORDS * 8);
	start_round(self);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	int n = m->argc > 1 ? (int)bench_number("fine", "steps", m->argv[1], BURST, 100000000)
			    : 200000;

	(void)self;
	cells = Cell_ckNew(CkDims(1 + MEMBERS));
	Cell_start(Cell_at(cells, 0), n / BURST * BURST);
}

#include "fine.def.h"
