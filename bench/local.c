/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local: what a call that stays on its PE costs, beside a C call, direct and through a pointer.
 *
 *	build/bench/local [HOPS]
 *
 * Prints `name parameter value unit`:
 *	call-direct   0     ns per C call that is not inlined, the loop around it included
 *	call-pointer  0     ns per C call through a pointer
 *	local-call    0     ns per entry call to an array element: send, queue, dispatch; the
 *	                    calls were queued 1000 at a time
 *	local-opt     0     the same by the stub with options, a priority of 0 among them
 *	local-array   0     the same with 4 doubles in an array parameter
 *	local-2d      0     the same to an element of two dimensions
 *	local-hop     0     a plain call, when each call makes the next
 *	local-pass    0     ns of a pass of the scheduler loop: one timer, which sets itself again
 *	local-cut     0     as local-call, in an array whose elements have moved, with cuts
 *	local-cut-2d  0     as local-2d, in such an array
 *
 * Instructions: bench/instructions.sh has valgrind count them, and tells the series apart by the
 * functions here that are not inlined.
 *
 * Ancestor: Table II of the ARMI thesis, "Overhead of method invocation (ns)": direct, by method
 * pointer, and a local asynchronous RMI. The inliner was disabled there, too.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../runtime/chare/place/record/place.h"
#include "bench.h"
#include "csd.h"
#include "local.decl.h"

enum { BURST = 1000, ROUNDS = 7, VALUES = 4 };

/* What a burst consists of. */
enum kind { PLAIN, OPTIONS, ARRAY, GRID, KINDS, CUT = KINDS, CUT_GRID, ALL_KINDS };
static const char *const KIND[] = { "local-call", "local-opt", "local-array", "local-2d", "local-cut", "local-cut-2d" };

struct Main {
	int unused;
};

struct Grid {
	int unused;
};

struct Hopper {
	enum kind kind;
	int hops, bursts, passes, round;
	double t0, us[ROUNDS];
};

/* ---- references ------------------------------------------------------------------------- */

static __attribute__((noinline)) void callee(void *arg, int n)
{
	*(volatile int *)arg += n;
}

static __attribute__((noinline)) void call_directly(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		callee(&sum, i);
}

static __attribute__((noinline)) void call_by_pointer(int n)
{
	void (*volatile fn)(void *, int) = callee;
	int sum = 0;

	for (int i = 0; i < n; i++)
		fn(&sum, i);
}

static __attribute__((noinline)) void print_references(double direct_us, double pointer_us, int n)
{
	CkPrintf("call-direct 0 %.2f ns\n", direct_us * 1000 / n);
	CkPrintf("call-pointer 0 %.2f ns\n", pointer_us * 1000 / n);
}

static void report_references(int n)
{
	double t0 = bench_now_us(), t1, t2;

	call_directly(n);
	t1 = bench_now_us();
	call_by_pointer(n);
	t2 = bench_now_us();
	print_references(t1 - t0, t2 - t1, n);
}

/* ---- one series after the other ---------------------------------------------------------- */

static void burst_plain(Hopper *self)
{
	CProxyElement_Hopper me = Hopper_thisElement(self);

	for (int i = BURST; i-- > 0;)
		Hopper_count(me, i);
}

static void burst_options(Hopper *self)
{
	CProxyElement_Hopper me = Hopper_thisElement(self);
	const CkEntryOptions o = { .prio = 0 };

	for (int i = BURST; i-- > 0;)
		Hopper_count_opt(&o, me, i);
}

static void burst_array(Hopper *self)
{
	CProxyElement_Hopper me = Hopper_thisElement(self);
	const double v[VALUES] = { 1, 2, 3, 4 };

	for (int i = BURST; i-- > 0;)
		Hopper_values(me, i, VALUES, v);
}

static void burst_grid(void)
{
	CProxyElement_Grid to = Grid_at(grid, 1, 1);

	for (int i = BURST; i-- > 0;)
		Grid_count(to, i);
}

static void start_burst(Hopper *self)
{
	switch (self->kind) {
	case PLAIN:
	case CUT: burst_plain(self); break;
	case OPTIONS: burst_options(self); break;
	case ARRAY: burst_array(self); break;
	default: burst_grid();
	}
}

static void start_series(Hopper *self)
{
	self->bursts = self->hops / BURST;
	self->t0 = bench_now_us();
	start_burst(self);
}

/* One for each kind, for valgrind to tell them apart. */
static __attribute__((noinline)) void start_bursts(Hopper *self) { start_series(self); }
static __attribute__((noinline)) void start_options(Hopper *self) { start_series(self); }
static __attribute__((noinline)) void start_arrays(Hopper *self) { start_series(self); }
static __attribute__((noinline)) void start_grids(Hopper *self) { start_series(self); }
static __attribute__((noinline)) void start_cuts(Hopper *self) { start_series(self); }
static __attribute__((noinline)) void start_cut_grids(Hopper *self) { start_series(self); }

static void (*const START[])(Hopper *) = {
	start_bursts, start_options, start_arrays, start_grids, start_cuts, start_cut_grids
};

static void all_there(struct pe *pe, struct collection *c, void *arg)
{
	(void)pe;
	(void)c;
	(void)arg;
}

/* On one PE, and outside handlers: nothing is under way. */
static void cut(CkProxy array, uint64_t n)
{
	struct pe *pe = csd_self();
	struct collection *c = coll_get(pe, array.id);
	const uint64_t cuts[] = { 0, n };

	place_close(pe, c);
	place_bulk(pe, c, &(struct place_plan){ .cuts = cuts, .still = place_still_of(pe, c) },
		   all_there, NULL);
	place_open(pe, c);
}

static void start_with_cuts(Hopper *self)
{
	cut(hoppers.ck, 1);
	cut(grid.ck, 4);
	self->kind = CUT;
	START[CUT](self);
}

static __attribute__((noinline)) void start_hops(Hopper *self)
{
	self->t0 = bench_now_us();
	Hopper_hop(Hopper_thisElement(self), self->hops);
}

/* A round is over. True, and the median is out, when it was the last of its series. */
static bool round_done(Hopper *self, const char *name, int units)
{
	self->us[self->round++] = bench_now_us() - self->t0;
	if (self->round < ROUNDS)
		return false;
	CkPrintf("%s 0 %.1f ns\n", name, bench_median(self->us, ROUNDS) * 1000 / units);
	self->round = 0;
	return true;
}

static void start_passes(Hopper *self);

/* Called once in each pass. */
static void pass(void *arg)
{
	Hopper *self = arg;

	if (--self->passes)
		CcdCallFnAfter(pass, self, 0);
	else if (round_done(self, "local-pass", self->hops))
		start_with_cuts(self);
	else
		start_passes(self);
}

static __attribute__((noinline)) void start_passes(Hopper *self)
{
	self->passes = self->hops;
	self->t0 = bench_now_us();
	CcdCallFnAfter(pass, self, 0);
}

static void burst_done(Hopper *self)
{
	if (--self->bursts > 0) {
		start_burst(self);
		return;
	}
	if (round_done(self, KIND[self->kind], self->hops / BURST * BURST))
		self->kind++;
	if (self->kind == ALL_KINDS)
		CkExit(0);
	else if (self->kind == KINDS && !self->round)
		start_hops(self);
	else
		START[self->kind](self);
}

void Hopper_on_count(Hopper *self, int left)
{
	if (!left)
		burst_done(self);
}

void Hopper_on_values(Hopper *self, int left, int n, const double *v)
{
	if (left)
		return;
	if (n != VALUES || v[0] + v[n - 1] != 1 + VALUES)
		CkAbort("an array of %d values is not what was sent", n);
	burst_done(self);
}

void Grid_on_new(Grid *self) { (void)self; }

void Grid_on_count(Grid *self, int left)
{
	(void)self;
	if (!left)
		burst_done(Hopper_ckLocal(Hopper_at(hoppers, 0)));
}

void Hopper_on_hop(Hopper *self, int left)
{
	if (left)
		Hopper_hop(Hopper_thisElement(self), left - 1);
	else if (round_done(self, "local-hop", self->hops))
		start_passes(self);
	else
		start_hops(self);
}

void Hopper_on_new(Hopper *self)
{
	(void)self;
}

void Hopper_on_start(Hopper *self, int n)
{
	self->hops = n;
	START[self->kind](self);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	int n = m->argc > 1 ? (int)bench_number("local", "hops", m->argv[1], BURST, 100000000)
			    : 200000;

	(void)self;
	report_references(n);
	hoppers = Hopper_ckNew(CkDims(1));
	grid = Grid_ckNew(CkDims(2, 2));
	Hopper_start(Hopper_at(hoppers, 0), n);
}

#include "local.def.h"
