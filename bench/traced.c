/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traced: what a record of a trace costs, as the difference between a trace that is on and one that is off, in
 * one run. Run it with CK_TRACE=folder.
 *
 *	CK_TRACE=folder build/bench/traced [CALLS]
 *
 * Prints `name parameter value unit`:
 *	trace-off    0   ns per call to an element of the same PE, queued 1000 at a time, while the trace is off
 *	trace-on     0   the same with three records each: sent, begun, ended
 *	trace-event  0   ns per record: a third of the difference
 *	trace-mark   0   ns per CkTraceMark
 */
#include <stdlib.h>

#include "bench.h"
#include "traced.decl.h"

enum { BURST = 1000, ROUNDS = 15, RECORDS = 3 };

struct Main { char unused; };
struct Counter {
	int calls, bursts, round;
	double t0, us[2][ROUNDS];        /* off, on */
};

void Main_on_new(Main *self, CkArgMsg *m)
{
	CProxy_Counter counters = Counter_ckNew(CkDims(1));

	mainProxy = Main_thisProxy(self);
	Counter_start(Counter_at(counters, 0),
		      m->argc > 1 ? (int)bench_number(m->argv[0], "CALLS", m->argv[1], BURST, 100000000) : 100000);
}

void Counter_on_new(Counter *self)
{
	self->round = 0;
}

static void burst(Counter *self)
{
	for (int i = BURST; i-- > 0;)
		Counter_count(Counter_thisElement(self), i);
}

/* Rounds with the trace off and on take turns. */
static void start_round(Counter *self)
{
	if (self->round % 2)
		CkTraceOn();
	else
		CkTraceOff();
	self->bursts = self->calls / BURST;
	self->t0 = bench_now_us();
	burst(self);
}

void Counter_on_start(Counter *self, int calls)
{
	self->calls = calls / BURST * BURST;
	start_round(self);
}

static double mark_ns(int n)
{
	double t0 = bench_now_us();

	for (int i = 0; i < n; i++)
		CkTraceMark("mark");
	return (bench_now_us() - t0) * 1000 / n;
}

/* The fastest round: what else runs on the machine only adds. */
static double fastest(const double *us)
{
	double least = us[0];

	for (int i = 1; i < ROUNDS; i++)
		least = us[i] < least ? us[i] : least;
	return least;
}

static void report(Counter *self)
{
	double off = fastest(self->us[0]) * 1000 / self->calls;
	double on = fastest(self->us[1]) * 1000 / self->calls;

	CkPrintf("trace-off 0 %.1f ns\n", off);
	CkPrintf("trace-on 0 %.1f ns\n", on);
	CkPrintf("trace-event 0 %.1f ns\n", (on - off) / RECORDS);
	CkPrintf("trace-mark 0 %.1f ns\n", mark_ns(self->calls));
	CkExit(0);
}

void Counter_on_count(Counter *self, int left)
{
	if (left)
		return;
	if (--self->bursts) {
		burst(self);
		return;
	}
	self->us[self->round % 2][self->round / 2] = bench_now_us() - self->t0;
	if (++self->round < 2 * ROUNDS)
		start_round(self);
	else
		report(self);
}

#include "traced.def.h"
