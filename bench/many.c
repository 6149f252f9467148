/* SPDX-License-Identifier: Apache-2.0 */
/*
 * many: what an element costs when there are a million of them: memory, creation, its share of a
 * broadcast and of a reduction. It tells how fine the grain of a program may be.
 *
 *	ckrun -n 2 build/bench/many              two nodes (processes)
 *	ckrun -n 2 --ppn 2 build/bench/many      two PEs of one node (threads)
 *
 * Options: --elements n (default 1000000), --reps n, --smoke (10000, once).
 * Prints `name elements value unit`; a name ends with -nodes or -threads:
 *	many-memory      B   per element: growth of the resident memory of all nodes, by creation
 *	many-own         B   of these the program's own struct
 *	many-reduce-memory B  per element: what the reductions left behind
 *	many-create      ns  per element, from ckNew until all have been constructed
 *	many-broadcast   ns  per element, from the call of all until all have run
 *	many-reduce-nop  ns  per element: broadcast and empty reduction, less the broadcast
 *	many-reduce-sum  ns  the same with the sum of one double, combined in order of the index
 * Times are those of one PE: wall-clock time times PEs over elements. All but many-create are
 * medians. The sum and the numbers of calls are checked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "many.decl.h"

enum { ELEMENTS = 1000000, ELEMENTS_SMOKE = 10000 };
enum step { TOUCH, MEET, ADD, STEPS };

struct Main {
	CProxy_One all;
	int elements, repeats, repeat, weighings;
	double before, after, t0, create_us;
	double us[STEPS][BENCH_REPEATS_MAX];
};

struct Census {
	int unused;
};

struct One {
	int touched;
};

/* ---- on every PE --------------------------------------------------------------------------- */

/* One PE speaks for its node. */
void Census_on_weigh(Census *self)
{
	double bytes = CkMyRank() == 0 ? bench_resident_bytes() : 0;

	CkContribute(self, &bytes, 1, CkReduction_sum_double, Main_cb_weighed(mainProxy));
}

/* Broadcasts of one PE stay in order: when this comes, this PE has made its elements, ... */
void Census_on_made(Census *self)
{
	CkContributeBarrier(self, Main_cb_made(mainProxy));
}

/* ... or they have all run. */
void Census_on_touched(Census *self)
{
	CkContributeBarrier(self, Main_cb_touched(mainProxy));
}

void Census_on_new(Census *self)
{
	(void)self;
}

/* ---- the elements -------------------------------------------------------------------------- */

void One_on_new(One *self)
{
	self->touched = 0;
}

void One_on_touch(One *self)
{
	self->touched++;
}

void One_on_meet(One *self)
{
	CkContributeBarrier(self, Main_cb_met(mainProxy));
}

void One_on_add(One *self)
{
	double value = self->touched;

	CkContribute(self, &value, 1, CkReduction_sum_double, Main_cb_added(mainProxy));
}

/* ---- main: weigh, make, weigh, (touch, meet, add) x repeats, weigh ------------------------- */

static void touch_all(Main *self)
{
	self->t0 = bench_now_us();
	One_touch_all(self->all);
	Census_touched_all(census);
}

static void report(Main *self, double left_behind)
{
	const char *place = CkNumNodes() > 1 ? "nodes" : "threads";
	int n = self->elements;
	double ns = 1000.0 * CkNumPes() / n;
	double touch = bench_median(self->us[TOUCH], self->repeats);
	double meet = bench_median(self->us[MEET], self->repeats);
	double add = bench_median(self->us[ADD], self->repeats);

	CkPrintf("many-memory-%s %d %.1f B\n", place, n, (self->after - self->before) / n);
	CkPrintf("many-own-%s %d %zu B\n", place, n, sizeof(One));
	CkPrintf("many-reduce-memory-%s %d %.1f B\n", place, n, left_behind / n);
	CkPrintf("many-create-%s %d %.1f ns\n", place, n, self->create_us * ns);
	CkPrintf("many-broadcast-%s %d %.1f ns\n", place, n, touch * ns);
	CkPrintf("many-reduce-nop-%s %d %.1f ns\n", place, n, (meet - touch) * ns);
	CkPrintf("many-reduce-sum-%s %d %.1f ns\n", place, n, (add - touch) * ns);
	CkExit(0);
}

void Main_on_weighed(Main *self, double bytes)
{
	switch (self->weighings++) {
	case 0:
		self->before = bytes;
		self->t0 = bench_now_us();
		self->all = One_ckNew(CkDims(self->elements));
		Census_made_all(census);
		break;
	case 1:
		self->after = bytes;
		touch_all(self);
		break;
	default:
		report(self, bytes - self->after);
	}
}

void Main_on_made(Main *self)
{
	self->create_us = bench_now_us() - self->t0;
	Census_weigh_all(census);
}

void Main_on_touched(Main *self)
{
	self->us[TOUCH][self->repeat] = bench_now_us() - self->t0;
	self->t0 = bench_now_us();
	One_meet_all(self->all);
}

void Main_on_met(Main *self)
{
	self->us[MEET][self->repeat] = bench_now_us() - self->t0;
	self->t0 = bench_now_us();
	One_add_all(self->all);
}

void Main_on_added(Main *self, double sum)
{
	double expected = (double)self->elements * (self->repeat + 1);

	self->us[ADD][self->repeat] = bench_now_us() - self->t0;
	if (sum != expected)
		CkAbort("%d elements add up to %.0f, not %.0f", self->elements, sum, expected);
	if (++self->repeat < self->repeats)
		touch_all(self);
	else
		Census_weigh_all(census);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	struct bench_options opt;

	bench_options_init(&opt);
	self->elements = ELEMENTS;
	for (int i = 1; i < m->argc; i++) {
		if (strcmp(m->argv[i], "--smoke") == 0) {
			opt.repeats = 1;
			self->elements = ELEMENTS_SMOKE;
		} else if (strcmp(m->argv[i], "--elements") == 0) {
			i++;
			self->elements = (int)bench_number(m->argv[0], "--elements", m->argv[i], 1,
							   1000000000);
		} else if (!bench_option(&opt, m->argc, m->argv, &i)) {
			CkError("many: unknown option %s\n", m->argv[i]);
			CkExit(2);
			return;
		}
	}
	self->repeats = opt.repeats;
	mainProxy = Main_thisProxy(self);
	census = Census_ckNew();
	Census_weigh_all(census);
}

#include "many.def.h"
