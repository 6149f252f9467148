/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waiting: PE 0 computes, and all others wait for its answer. How much of a core do they take
 * meanwhile?
 *
 *	ckrun -n 4 build/bench/waiting              4 processes
 *	ckrun -n 4 --ppn 4 build/bench/waiting      4 threads of one process
 *
 * Options: --ms n (of computing, default 2000), --smoke.
 * Prints `waiting-processes PEs seconds s` or `waiting-threads ...`: user and system time of a PE
 * that waits, the mean of all, for one second of waiting. A process has its helper threads with it.
 */
#include <string.h>

#include "bench.h"
#include "waiting.decl.h"

struct Main {
	double t0;
};

struct Waiter {
	double before;
};

static double seconds_taken(void) { return bench_seconds_taken(CkNumNodes() == 1); }

void Waiter_on_new(Waiter *self)
{
	self->before = seconds_taken();
	CkContributeBarrier(self, Main_cb_began(mainProxy));
}

void Waiter_on_compute(Waiter *self)
{
	bench_compute(milliseconds * 1000.0);
	Waiter_end_all(Waiter_thisProxy(self));
}

void Waiter_on_end(Waiter *self)
{
	double taken = CkMyPe() ? seconds_taken() - self->before : 0;

	CkContribute(self, &taken, 1, CkReduction_sum_double, Main_cb_taken(mainProxy));
}

void Main_on_began(Main *self)
{
	self->t0 = bench_now_us();
	Waiter_compute(Waiter_at(waiters, 0));
}

void Main_on_taken(Main *self, double seconds)
{
	const double waited = (bench_now_us() - self->t0) / 1e6;

	CkPrintf("waiting-%s %d %.3f s\n", CkNumNodes() > 1 ? "processes" : "threads", CkNumPes(),
		 seconds / (CkNumPes() - 1) / waited);
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	milliseconds = 2000;
	for (int i = 1; i < m->argc; i++) {
		if (strcmp(m->argv[i], "--smoke") == 0) {
			milliseconds = 20;
		} else if (strcmp(m->argv[i], "--ms") == 0) {
			i++;
			milliseconds = (int)bench_number("waiting", "--ms", m->argv[i], 1, 1000000);
		} else {
			CkError("waiting: unknown option %s\n", m->argv[i]);
			CkExit(2);
			return;
		}
	}
	if (CkNumPes() < 2)
		CkAbort("waiting: give it two PEs or more");
	mainProxy = Main_thisProxy(self);
	waiters = Waiter_ckNew();
}

#include "waiting.def.h"
