/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spread: the main chare makes 400 tasks per PE in one handler, all on CK_PE_ANY. Whatever the seed
 * balancer knows of its neighbours, every PE gets some of them, and none gets most of them.
 */
#include "check.h"

#include <stdlib.h>

#include "spread.decl.h"

enum { PER_PE = 400 };

struct Main { bool made; };
struct Tally { int tasks; };
struct Task { int unused; };

void Task_on_new(Task *self)
{
	Tally_ckLocalBranch(tallies)->tasks++;
	CkDestroy(self);
}

void Tally_on_new(Tally *self) { (void)self; }

void Tally_on_report(Tally *self)
{
	int *v = calloc((size_t)CkNumPes(), sizeof *v);

	CHECK(v);
	v[CkMyPe()] = self->tasks;
	CkContribute(self, v, (size_t)CkNumPes(), CkReduction_sum_int, Main_cb_counted(mainProxy));
	free(v);
}

/* First the group is there, then the tasks have run. */
void Main_on_quiet(Main *self)
{
	if (self->made) {
		Tally_report_all(tallies);
		return;
	}
	self->made = true;
	for (int i = 0; i < PER_PE * CkNumPes(); i++)
		Task_ckNew(CK_PE_ANY);
	CkStartQD(Main_cb_quiet(mainProxy));
}

void Main_on_counted(Main *self, int n, const int *v)
{
	int sum = 0, least = v[0], most = v[0];

	(void)self;
	for (int i = 0; i < n; i++) {
		sum += v[i];
		least = v[i] < least ? v[i] : least;
		most = v[i] > most ? v[i] : most;
	}
	CHECK_EQ(sum, PER_PE * n);
	CHECK(least >= PER_PE / 4);
	CHECK(most <= PER_PE * 4);
	CkPrintf("spread: %d to %d tasks on each of %d PEs\n", least, most, n);
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	tallies = Tally_ckNew();
	CkStartQD(Main_cb_quiet(mainProxy));
}

#include "spread.def.h"
