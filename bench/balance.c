/* SPDX-License-Identifier: Apache-2.0 */
/*
 * balance: what a sync of an array costs, by the number of elements and by what follows.
 *
 *	CK_LB=STRATEGY ckrun -n 4 --ppn 2 build/bench/balance [--syncs n] ELEMENTS
 *
 * Elements do nothing but sync, so the time of a sync is the runtime's. Besides CK_LB's own strategies there are
 *	stay     a whole step in which nothing moves
 *	tenth    every tenth element goes to the next PE
 *	half     the array's order stays, and half of each PE's elements go to a neighbour, and back in the next step: cuts
 * bench/balance.sh runs all of them. Prints `balance-STRATEGY ELEMENTS us`, the median of the syncs, from the last
 * CkAtSync of one to the last of the next.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "ck.h"

enum { SYNCS = 15, SYNCS_MOST = BENCH_REPEATS_MAX };

struct Main {
	int n, elements;
	double t, us[SYNCS_MOST];
};
struct Cell {
	int n;
	double x[3];
};

#include "balance.decl.h"

/* ---- strategies ---------------------------------------------------------------------------------------- */

static int stay(const CkLBStats *s, int32_t *to, void *arg)
{
	(void)s;
	(void)to;
	(void)arg;
	return 0;
}

static int tenth(const CkLBStats *s, int32_t *to, void *arg)
{
	(void)arg;
	for (size_t i = s->step % 10; i < s->n; i += 10)
		to[i] = (s->element[i].pe + 1) % s->n_pes;
	return 0;
}

static int half(const CkLBStats *s, int32_t *to, void *arg)
{
	const size_t each = s->n / (size_t)s->n_pes + 1, shift = s->step % 2 ? 0 : each / 2;

	(void)arg;
	for (size_t i = 0; i < s->n; i++) {
		const size_t pe = (i + shift) / each;

		to[i] = pe < (size_t)s->n_pes ? (int32_t)pe : s->n_pes - 1;
	}
	return 0;
}

void register_strategies(void)
{
	CkLBRegister("stay", stay, 0, NULL);
	CkLBRegister("tenth", tenth, 0, NULL);
	CkLBRegister("half", half, 0, NULL);
}

/* ---- elements --------------------------------------------------------------------------------------------- */

void Cell_on_new(Cell *self)
{
	(void)self;
	CkContributeBarrier(self, Main_cb_begin(mainProxy));
}

/* The first element has more, so that loads are never even. */
static void sync_once(Cell *self)
{
	CkSetLoad(self, Cell_thisIndex(self) ? 1e-3 : 2e-3);
	CkAtSync(self);
}

void Cell_on_go(Cell *self)
{
	sync_once(self);
}

void Cell_on_resumeFromSync(Cell *self)
{
	if (Cell_thisIndex(self) == 0)
		Main_synced(mainProxy);
	if (++self->n < syncs)
		sync_once(self);
}

/* ---- main --------------------------------------------------------------------------------------------------- */

void Main_on_begin(Main *self)
{
	(void)self;
	Cell_go_all(cells);
}

/* The first interval is a warm-up. */
void Main_on_synced(Main *self)
{
	const char *name = getenv("CK_LB");
	const double now = bench_now_us();

	if (self->n)
		self->us[self->n - 1] = now - self->t;
	self->t = now;
	if (++self->n < syncs)
		return;
	CkPrintf("balance-%s %d %.1f us\n", name && *name ? name : "off", self->elements,
		 bench_median(self->us + 1, syncs - 2));
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	syncs = SYNCS;
	self->elements = 1000;
	for (int i = 1; i < m->argc; i++)
		if (strcmp(m->argv[i], "--syncs") == 0 && i + 1 < m->argc)
			syncs = (int)bench_number(m->argv[0], "--syncs", m->argv[++i], 4, SYNCS_MOST);
		else
			self->elements = (int)bench_number(m->argv[0], "elements", m->argv[i], 1, 100000000);
	cells = Cell_ckNew(CkDims(self->elements));
}

#include "balance.def.h"
