/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bnb: the travelling salesman's shortest trip, by branch and bound. A chare stands for the beginning
 * of a trip. It gives up when no trip that begins so can be shorter than one that is known.
 *
 *	ckrun -n 2 ./bnb --cities 15 --grain 6
 *
 * Shows   a bound that all share: each process has one copy, in a nodegroup. Its PEs read it
 *         without a message. They may read one that is a little too high, which costs time but
 *         never the answer. A chare that finds a shorter trip tells all nodes; [exclusive] keeps the
 *         PEs of one node from writing at the same time. Priorities: the most promising beginning
 *         is tried first. Chares that live for one handler, and quiescence at the end.
 * Checks  the length against the result of dynamic programming, and on every node that the trip has
 *         this length.
 */
#include <limits.h>
#include <stdatomic.h>

#include "../args.h"
#include "tour.h"
#include "bnb.decl.h"

enum { MADE, BOUND };           /* --prio */

struct Main {
	int ready;              /* nodes that have their copy of Best */
	double began, took;
	int reports;            /* nodes that have reported */
	int shortest;           /* what it should be */
	int wrong;              /* nodes that report something else */
	long chares;
};

struct Branch { int unused; };

struct Best {
	/* All PEs of the node read it and lower it. Relaxed is enough: no other data is read because
	 * of its value, and a value that is too high is as right as one read a little earlier. */
	_Atomic int bound;
	_Atomic long chares;
	struct tour tour;       /* for [exclusive] handlers */
};

/* ---- one per node ------------------------------------------------------------------------ */

void Best_on_new(Best *self)
{
	atomic_store_explicit(&self->bound, INT_MAX, memory_order_relaxed);
	self->tour.length = INT_MAX;
	Main_ready(mainProxy);
}

static int bound_of(Best *b)
{
	return atomic_load_explicit(&b->bound, memory_order_relaxed);
}

/* False if it was that low before. */
static bool lower_bound(Best *b, int length)
{
	int old = bound_of(b);

	while (length < old)
		if (atomic_compare_exchange_weak_explicit(&b->bound, &old, length,
							  memory_order_relaxed,
							  memory_order_relaxed))
			return true;
	return false;
}

void Best_on_shorter(Best *self, struct tour t)
{
	lower_bound(self, t.length);
	if (t.length < self->tour.length)
		self->tour = t;
}

void Best_on_report(Best *self)
{
	Main_found(mainProxy, self->tour,
		   atomic_load_explicit(&self->chares, memory_order_relaxed));
}

/* ---- the beginning of a tour ------------------------------------------------------------- */

static void found(Best *here, const struct tour *t)
{
	if (lower_bound(here, t->length))
		Best_shorter_all(best, *t);
}

static void search_alone(Best *here, const struct tour *t)
{
	unsigned visited = tour_visited(t);

	if (t->n == cities) {
		found(here, t);
		return;
	}
	for (int c = 0; c < cities; c++) {
		struct tour next;

		if (visited >> c & 1)
			continue;
		next = tour_extend(t, road, (int)cities, c);
		if (tour_bound(&next, road, (int)cities) < bound_of(here))
			search_alone(here, &next);
	}
}

static void make_branch(struct tour t, int bound)
{
	CkEntryOptions o = {.queueing = CK_QUEUEING_IFIFO, .prio = bound};

	Branch_ckNew_opt(prio == BOUND ? &o : NULL, CK_PE_ANY, t, bound);
}

static void make_branches(Best *here, const struct tour *t)
{
	unsigned visited = tour_visited(t);

	for (int c = 0; c < cities; c++) {
		struct tour next;
		int bound;

		if (visited >> c & 1)
			continue;
		next = tour_extend(t, road, (int)cities, c);
		bound = tour_bound(&next, road, (int)cities);
		if (bound < bound_of(here))
			make_branch(next, bound);
	}
}

/* A shorter trip may have been found since this beginning looked good. */
void Branch_on_new(Branch *self, struct tour t, int bound)
{
	Best *here = Best_ckLocalBranch(best);

	atomic_fetch_add_explicit(&here->chares, 1, memory_order_relaxed);
	if (bound < bound_of(here)) {
		if (cities - t.n <= grain)
			search_alone(here, &t);
		else
			make_branches(here, &t);
	}
	CkDestroy(self);
}

/* ---- the main chare ---------------------------------------------------------------------- */

void Main_on_new(Main *self, CkArgMsg *m)
{
	const struct arg args[] = {
		{"cities", &cities, 11, 1, TOUR_MAX, "cities to visit"},
		{"grain", &grain, 5, 0, TOUR_MAX, "with so few left a chare searches alone"},
		{"prio", &prio, BOUND, MADE, BOUND, "made|bound"},
		{"seed", &seed, 1, 0, 1000000000, "where the cities are"},
	};

	if (!args_read("bnb", m, args, sizeof args / sizeof *args))
		return;
	tour_make_roads(road, cities, seed);
	mainProxy = Main_thisProxy(self);
	best = Best_ckNew();
}

void Main_on_ready(Main *self)
{
	struct tour start = {.n = 1};

	if (++self->ready < CkNumNodes())
		return;
	self->began = CkWallTimer();
	make_branch(start, 0);
	CkStartQD(Main_cb_searched(mainProxy));
}

void Main_on_searched(Main *self)
{
	self->took = CkWallTimer() - self->began;
	self->shortest = tour_shortest(road, (int)cities);
	Best_report_all(best);
}

void Main_on_found(Main *self, struct tour t, long chares)
{
	self->chares += chares;
	self->wrong += t.length != self->shortest ||
		       tour_length(&t, road, (int)cities) != self->shortest;
	if (++self->reports < CkNumNodes())
		return;
	CkPrintf("bnb: %ld cities, the shortest trip %d, by %ld chares on %d PEs in %.1f ms: %s\n",
		 cities, t.length, self->chares, CkNumPes(), self->took * 1e3,
		 self->wrong ? "WRONG" : "checked");
	if (self->wrong)
		CkError("bnb: on %d nodes; the shortest trip is %d\n", self->wrong, self->shortest);
	CkExit(self->wrong ? 1 : 0);
}

#include "bnb.def.h"
