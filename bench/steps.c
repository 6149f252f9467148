/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps: what a step of a body of Structured Dagger costs, beside a plain call, and what a waiting body takes.
 *
 *	build/bench/steps [STEPS]
 *
 * Prints `name parameter value unit`:
 *	step-hop      0     ns of a plain call, when each call makes the next
 *	step-when     0     ns of a step of a loop: send oneself a call, wait for it with a `when`
 *	step-number   0     the same with `when f[n]`
 *	step-overlap  0     the same with two calls in an overlap, which is one step
 *	step-both     0     the same with two calls of one `when`, which is one step
 *	step-brief    0     ns of a body that begins, takes a call that is there, and ends, with both calls
 *	step-memory   0     bytes of memory that a body takes while it waits
 *
 * Instructions: bench/steps.sh has valgrind count them, and tells the series apart by the functions here
 * that are not inlined.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "steps.decl.h"

enum { ROUNDS = 7, PARKED = 10000 };

struct Main {
	int unused;
};

static long before;               /* bytes of memory */

struct Stepper {
	int n, i, round;
	long sum;
	double edge[2], t0, us[ROUNDS];
};

struct Parked {
	int n;
};

static void round_begins(Stepper *self)
{
	self->sum = 0;
	self->edge[1] = 0;
	self->t0 = bench_now_us();
}

/* One for each series, for valgrind to tell them apart. */
static __attribute__((noinline)) void start_hops(Stepper *self)
{
	round_begins(self);
	Stepper_hop(Stepper_thisElement(self), self->n);
}

static __attribute__((noinline)) void start_steps(Stepper *self)
{
	round_begins(self);
	Stepper_steps(Stepper_thisElement(self), self->n);
}

static __attribute__((noinline)) void start_numbered(Stepper *self)
{
	round_begins(self);
	Stepper_numbered(Stepper_thisElement(self), self->n);
}

static __attribute__((noinline)) void start_pairs(Stepper *self)
{
	round_begins(self);
	Stepper_pairs(Stepper_thisElement(self), self->n);
}

static __attribute__((noinline)) void start_both(Stepper *self)
{
	round_begins(self);
	Stepper_both(Stepper_thisElement(self), self->n);
}

static void next_brief(Stepper *self, int left)
{
	Stepper_one(Stepper_thisElement(self), left);
	Stepper_brief(Stepper_thisElement(self), left);
}

static __attribute__((noinline)) void start_briefs(Stepper *self)
{
	round_begins(self);
	next_brief(self, self->n);
}

/* A round is over: begin the next one of the series, or the next series. */
static void round_done(Stepper *self, const char *name, void (*again)(Stepper *), void (*next)(Stepper *))
{
	self->us[self->round++] = bench_now_us() - self->t0;
	if (self->round < ROUNDS) {
		again(self);
		return;
	}
	CkPrintf("%s 0 %.1f ns\n", name, bench_median(self->us, ROUNDS) * 1000 / self->n);
	self->round = 0;
	next(self);
}

static void check_sum(const Stepper *self)
{
	if (self->sum != (long)self->n * (self->n - 1) / 2)
		CkAbort("%d steps gave the sum %ld", self->n, self->sum);
}

void Stepper_on_hop(Stepper *self, int left)
{
	if (left)
		Stepper_hop(Stepper_thisElement(self), left - 1);
	else
		round_done(self, "step-hop", start_hops, start_steps);
}

static void steps_done(Stepper *self)
{
	check_sum(self);
	round_done(self, "step-when", start_steps, start_numbered);
}

static void numbered_done(Stepper *self)
{
	check_sum(self);
	round_done(self, "step-number", start_numbered, start_pairs);
}

static void send_edges(Stepper *self)
{
	CProxyElement_Stepper me = Stepper_thisElement(self);

	Stepper_left(me, self->i, self->i);
	Stepper_right(me, self->i, self->i + 1);
}

static void check_edge(const Stepper *self)
{
	if (self->edge[1] != self->n)
		CkAbort("%d steps ended with %g", self->n, self->edge[1]);
}

static void pairs_done(Stepper *self)
{
	check_edge(self);
	round_done(self, "step-overlap", start_pairs, start_both);
}

static void both_done(Stepper *self)
{
	check_edge(self);
	round_done(self, "step-both", start_both, start_briefs);
}

/* ---- memory --------------------------------------------------------------------------------------- */

static long resident(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%*d %ld", &pages) != 1)
		CkAbort("/proc/self/statm cannot be read");
	fclose(f);
	return pages * sysconf(_SC_PAGESIZE);
}

static void park(Stepper *self)
{
	CProxy_Parked all = Parked_ckNew(CkDims(PARKED));

	(void)self;
	/* After the construction, whose memory is not meant. */
	before = resident();
	Parked_wait_all(all);
}

void Parked_on_new(Parked *self) { (void)self; }

void Main_on_parked(Main *self)
{
	(void)self;
	CkPrintf("step-memory 0 %.0f bytes\n", (double)(resident() - before) / PARKED);
	CkExit(0);
}

static void brief_done(Stepper *self, int left)
{
	if (left)
		next_brief(self, left - 1);
	else
		round_done(self, "step-brief", start_briefs, park);
}

void Stepper_on_new(Stepper *self) { (void)self; }

void Stepper_on_start(Stepper *self, int n)
{
	self->n = n;
	start_hops(self);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	Stepper_start(Stepper_at(Stepper_ckNew(CkDims(1)), 0),
		      m->argc > 1 ? (int)bench_number("steps", "steps", m->argv[1], 1, 100000000) : 200000);
}

#include "steps.def.h"
