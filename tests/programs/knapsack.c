/* SPDX-License-Identifier: Apache-2.0 */
/*
 * knapsack.c: the most valuable choice of items, by branch and bound. [aggregate] calls, searchers
 * that move meanwhile, a bound in a group, quiescence. Written from the guide alone
 * (docs/decisions/0105); the answer is compared with dynamic programming.
 */
#include <stdint.h>
#include <stdlib.h>

#include "knapsack.decl.h"

struct Main { int room; };
struct Bound { int best; };
struct Searcher { long n_visited, n_cut; };

static int by_ratio(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return y[1] * x[0] - x[1] * y[0];
}

static void draw_items(void)
{
	uint32_t r = 12345;
	int item[32][2];                        /* weight, value */

	for (int i = 0; i < n_items; i++) {
		r = r * 1103515245 + 12345;
		item[i][0] = 20 + (int)(r >> 16) % 100;
		item[i][1] = item[i][0] + (int)(r >> 8) % 13;
	}
	qsort(item, (size_t)n_items, sizeof *item, by_ratio);
	for (int i = 0; i < n_items; i++) {
		weight[i] = item[i][0];
		value[i] = item[i][1];
	}
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	n_items = m->argc > 1 ? atoi(m->argv[1]) : 26;
	n_searchers = m->argc > 2 ? atoi(m->argv[2]) : 16;
	if (n_items < 1 || n_items > 32)
		CkAbort("1 to 32 items, not %d", n_items);
	draw_items();
	for (int i = 0; i < n_items; i++)
		self->room += weight[i] / 2;
	mainProxy = Main_thisProxy(self);
	bounds = Bound_ckNew();
	searchers = Searcher_ckNew(CkDims(n_searchers));
	Searcher_visit(Searcher_at(searchers, 0), 0, self->room, 0);
	CkStartQD(Main_cb_quiet(mainProxy));
}

void Main_on_quiet(Main *self)
{
	Searcher_count_all(searchers);
}

/* The serial answer, by dynamic programming. */
static int best_of(int room)
{
	int *best = calloc((size_t)room + 1, sizeof *best), answer;

	for (int i = 0; i < n_items; i++)
		for (int r = room; r >= weight[i]; r--)
			if (best[r - weight[i]] + value[i] > best[r])
				best[r] = best[r - weight[i]] + value[i];
	answer = best[room];
	free(best);
	return answer;
}

void Main_on_counted(Main *self, long visited, long cut)
{
	int best = Bound_ckLocalBranch(bounds)->best;

	CkPrintf("the knapsack holds %d; %ld visited, %ld cut\n", best, visited, cut);
	CkExit(best == best_of(self->room) ? 0 : 1);
}

void Bound_on_new(Bound *self)
{
	(void)self;
}

void Bound_on_better(Bound *self, int worth)
{
	if (worth > self->best)
		self->best = worth;
}

/* What a choice could be worth at most: as if items could be cut. */
static int at_most(int item, int room, int worth)
{
	for (; item < n_items && weight[item] <= room; item++) {
		room -= weight[item];
		worth += value[item];
	}
	return item < n_items ? worth + value[item] * room / weight[item] : worth;
}

static void send(int item, int room, int worth)
{
	uint32_t hash = ((uint32_t)item * 31 + (uint32_t)room) * 2654435761u;

	Searcher_visit(Searcher_at(searchers, (int)((hash >> 8) % (uint32_t)n_searchers)), item, room,
		       worth);
}

void Searcher_on_new(Searcher *self)
{
	(void)self;
}

void Searcher_on_visit(Searcher *self, int item, int room, int worth)
{
	Bound *bound = Bound_ckLocalBranch(bounds);

	if (++self->n_visited % 500 == 0)
		CkMigrateMe(self, (CkMyPe() + 1) % CkNumPes());
	if (worth > bound->best) {
		bound->best = worth;
		Bound_better_all(bounds, worth);
	}
	if (at_most(item, room, worth) <= bound->best) {
		self->n_cut++;
		return;
	}
	if (weight[item] <= room)
		send(item + 1, room - weight[item], worth + value[item]);
	send(item + 1, room, worth);
}

void Searcher_on_count(Searcher *self)
{
	long counts[2] = {self->n_visited, self->n_cut};

	CkContribute(self, counts, 2, CkReduction_sum_long, Main_cb_counted(mainProxy));
}

#include "knapsack.def.h"
