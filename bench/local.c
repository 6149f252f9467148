/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local: what a call costs that stays on its PE, against a call through a pointer.
 *
 *	build/bench/local [HOPS]
 *
 * Prints `name parameter value unit`:
 *	call-pointer  0     ns per C call through a pointer, the reference
 *	local-call    0     ns per entry call to an array element: send, queue, dispatch; the
 *	                    calls were queued 1000 at a time
 *	local-hop     0     the same when each call makes the next
 *	idle-scan     N     ns that N armed idle channels add to one pass of the scheduler loop (a
 *	                    timer that sets itself again is called once in each pass)
 *
 * Instructions: valgrind --tool=callgrind --toggle-collect=Hopper_on_count build/bench/local 20000
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "ckdirect.h"
#include "csd.h"
#include "local.decl.h"

enum { BURST = 1000, ROUNDS = 7 };
static const int ARMED[] = { 0, 1, 10, 100, 1000, 10000 };
enum { N_ARMED = sizeof ARMED / sizeof ARMED[0] };

struct Main {
	int unused;
};

struct Hopper {
	int hops, bursts, passes, at, round;
	double t0, us[ROUNDS], base_ns;
	CkDirectHandle *channel;
	uint64_t *buffer;
	int n_channels;
};

/* ---- reference -------------------------------------------------------------------------- */

static void callee(void *arg, int n)
{
	*(volatile int *)arg += n;
}

static void report_pointer_call(int n)
{
	void (*volatile fn)(void *, int) = callee;
	int sum = 0;
	double t0 = bench_now_us();

	for (int i = 0; i < n; i++)
		fn(&sum, i);
	CkPrintf("call-pointer 0 %.2f ns\n", (bench_now_us() - t0) * 1000 / n);
}

/* ---- calls queued in bursts -------------------------------------------------------------- */

static void start_burst(Hopper *self)
{
	CProxyElement_Hopper me = Hopper_thisElement(self);

	for (int i = BURST; i-- > 0;)
		Hopper_count(me, i);
}

static void start_hops(Hopper *self)
{
	self->t0 = bench_now_us();
	Hopper_hop(Hopper_thisElement(self), self->hops);
}

static void never(void *arg)
{
	(void)arg;
	CkAbort("an idle channel fired");
}

static void start_passes(Hopper *self);

/* Called once in each pass. */
static void pass(void *arg)
{
	Hopper *self = arg;

	if (--self->passes) {
		CcdCallFnAfter(pass, self, 0);
		return;
	}
	self->us[self->round++] = bench_now_us() - self->t0;
	if (self->round == ROUNDS) {
		double ns = bench_median(self->us, ROUNDS) * 1000 / self->hops;

		if (self->at == 0)
			self->base_ns = ns;
		else
			CkPrintf("idle-scan %d %.1f ns\n", ARMED[self->at], ns - self->base_ns);
		self->round = 0;
		self->at++;
	}
	if (self->at == N_ARMED)
		CkExit(0);
	else
		start_passes(self);
}

/* Bring the number of armed channels to ARMED[at], and count passes. */
static void start_passes(Hopper *self)
{
	while (self->n_channels < ARMED[self->at]) {
		int i = self->n_channels++;

		self->channel[i] = CkDirect_createHandle(&self->buffer[i * 8], sizeof(uint64_t),
							 UINT64_MAX, never, self);
	}
	self->passes = self->hops;
	self->t0 = bench_now_us();
	CcdCallFnAfter(pass, self, 0);
}

void Hopper_on_count(Hopper *self, int left)
{
	if (left)
		return;
	if (--self->bursts > 0) {
		start_burst(self);
		return;
	}
	self->us[self->round++] = bench_now_us() - self->t0;
	if (self->round < ROUNDS) {
		self->bursts = self->hops / BURST;
		self->t0 = bench_now_us();
		start_burst(self);
		return;
	}
	CkPrintf("local-call 0 %.1f ns\n", bench_median(self->us, ROUNDS) * 1000 /
		 (self->hops / BURST * BURST));
	self->round = 0;
	start_hops(self);
}

void Hopper_on_hop(Hopper *self, int left)
{
	if (left) {
		Hopper_hop(Hopper_thisElement(self), left - 1);
		return;
	}
	self->us[self->round++] = bench_now_us() - self->t0;
	if (self->round < ROUNDS) {
		start_hops(self);
		return;
	}
	CkPrintf("local-hop 0 %.1f ns\n", bench_median(self->us, ROUNDS) * 1000 / self->hops);
	self->round = 0;
	start_passes(self);
}

void Hopper_on_new(Hopper *self)
{
	self->channel = calloc((size_t)ARMED[N_ARMED - 1], sizeof *self->channel);
	self->buffer = aligned_alloc(64, (size_t)ARMED[N_ARMED - 1] * 64);
	if (!self->channel || !self->buffer)
		CkAbort("no memory for the channels");
}

void Hopper_on_burst(Hopper *self, int n)
{
	self->hops = n;
	self->bursts = n / BURST;
	self->t0 = bench_now_us();
	start_burst(self);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	int n = m->argc > 1 ? (int)bench_number("local", "hops", m->argv[1], BURST, 100000000)
			    : 200000;

	(void)self;
	report_pointer_call(n);
	Hopper_burst(Hopper_at(Hopper_ckNew(CkDims(1)), 0), n);
}

#include "local.def.h"
