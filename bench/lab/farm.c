/* SPDX-License-Identifier: Apache-2.0 */
/*
 * farm: a manager on the first PE deals tasks to workers on the others, as they ask for them. A
 * worker asks ahead, computes each task and returns a result. Beside that the last worker pings the
 * manager by expedited calls, one at a time. So it tells what bulk costs what is urgent.
 *
 *	ckrun -n 2 build/bench/lab/farm --bytes 300000 --tasks 200
 *
 * Options: farm.h's. bench/farm.py runs it between two hosts over bad cables, beside farm_mpi.c.
 * Prints `farm-chard bytes milliseconds ms`, and of the pings' round trips the median and the 99th
 * percentile. Source: the task farms of Penoff's thesis on SCTP (2006).
 */
#include "farm.h"
#include "farm.decl.h"

struct Main {
	char *task;
	int dealt, done;
	double t0, took;
};

struct Worker {
	char *result;
	bool ended;
	struct farm_pings pings;
};

static int last_worker(void) { return CkNumPes() - 1; }

void Main_on_new(Main *self, CkArgMsg *m)
{
	farm = farm_options(m->argc, m->argv);
	if (CkNumPes() < 2) {
		CkError("farm: it needs 2 PEs\n");
		CkExit(2);
		return;
	}
	self->task = calloc(1, (size_t)farm.bytes);
	mainProxy = Main_thisProxy(self);
	workers = Worker_ckNew();
}

void Main_on_there(Main *self)
{
	self->t0 = bench_now_us();
	Worker_begin_all(workers);
}

void Main_on_wants(Main *self, int worker)
{
	if (self->dealt++ < farm.tasks)
		Worker_task(Worker_at(workers, worker), farm.bytes, self->task);
}

void Main_on_ping(Main *self, int worker, double sent)
{
	(void)self;
	Worker_pong(Worker_at(workers, worker), sent);
}

void Main_on_result(Main *self, int n, const char *v)
{
	(void)n, (void)v;
	if (++self->done < farm.tasks)
		return;
	self->took = bench_now_us() - self->t0;
	Worker_end(Worker_at(workers, last_worker()));
}

void Main_on_times(Main *self, int n, const double *us)
{
	struct farm_pings *pings = calloc(1, sizeof *pings);

	for (int i = 0; i < n; i++)
		farm_pinged(pings, us[i]);
	farm_print("chard", &farm, self->took, pings);
	fflush(stdout);
	free(pings);
	free(self->task);
	CkExit(0);
}

void Worker_on_new(Worker *self)
{
	self->result = calloc(1, (size_t)farm.results);
	CkContributeBarrier(self, Main_cb_there(mainProxy));
}

void Worker_on_begin(Worker *self)
{
	(void)self;
	if (CkMyPe() == 0)
		return;
	for (int i = 0; i < farm.window; i++)
		Main_wants(mainProxy, CkMyPe());
	if (CkMyPe() == last_worker())
		Main_ping(mainProxy, CkMyPe(), bench_now_us());
}

void Worker_on_task(Worker *self, int n, const char *v)
{
	(void)n, (void)v;
	Main_wants(mainProxy, CkMyPe());
	bench_compute(farm.work_us);
	Main_result(mainProxy, farm.results, self->result);
}

void Worker_on_pong(Worker *self, double sent)
{
	farm_pinged(&self->pings, bench_now_us() - sent);
	if (!self->ended)
		Main_ping(mainProxy, CkMyPe(), bench_now_us());
	else
		Main_times(mainProxy, self->pings.n, self->pings.us);
}

/* The ping that is under way is the last one. */
void Worker_on_end(Worker *self)
{
	self->ended = true;
}

#include "farm.def.h"
