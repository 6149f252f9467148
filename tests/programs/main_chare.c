/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main_chare: the main chare is called main, as in many programs for Charm++, and so is an entry method
 * of another chare. Neither is in the way of the function main. The command line stays until the job ends.
 */
#include "check.h"

#include "main_chare.decl.h"

enum { WORKERS = 12 };

struct main { int n_hello, from; CkArgMsg *args; };
struct Worker { int unused; };

void Worker_on_new(Worker *self)
{
	report *r = report_alloc();

	r->from = Worker_thisIndex(self);
	main_hello(mainProxy, r);
}

void Worker_on_main(Worker *self, int x)
{
	x += Worker_thisIndex(self);
	CkContribute(self, &x, 1, CkReduction_sum_int, main_cb_done(mainProxy));
}

void main_on_new(main *self, CkArgMsg *m)
{
	CHECK_EQ(m->argc, 1);
	self->args = m;
	CkFreeMsg(m); /* as programs for Charm++ do; it stays */
	CkFreeMsg(m);
	CHECK_EQ(self->n_hello, 0);
	mainProxy = main_thisProxy(self);
	n_workers = WORKERS;
	workers = Worker_ckNew(CkDims(WORKERS));
}

void main_on_hello(main *self, report *r)
{
	self->from += r->from;
	if (++self->n_hello < n_workers)
		return;
	CHECK_EQ(self->from, WORKERS * (WORKERS - 1) / 2);
	Worker_main_all(workers, 100);
}

void main_on_done(main *self, int sum)
{
	CHECK_EQ(self->n_hello, WORKERS);
	CHECK(self->args->argc == 1 && strstr(self->args->argv[0], "main_chare"));
	CHECK_EQ(sum, WORKERS * 100 + WORKERS * (WORKERS - 1) / 2);
	CkPrintf("main_chare: %d workers on %d PEs\n", WORKERS, CkNumPes());
	CkExit(0);
}

#include "main_chare.def.h"
