/* SPDX-License-Identifier: Apache-2.0 */
/*
 * singles: what a singleton chare costs when there are a million of them, and how evenly the seed
 * balancer spreads a tree whose branches differ.
 *
 *	build/bench/lab/singles                                one PE: the costs
 *	CK_SEED=neighbor ckrun -n 4 build/bench/lab/singles    the tree on four
 *
 * Options: --chares n (default 1000000), --tree n (31), --work us (2) per chare of the tree,
 * --smoke. Prints `name number value unit`:
 *	single-create    ns  per chare on the own PE, from ckNew until its constructor has run
 *	single-call      ns  per call of each of them, in the order of their creation
 *	single-end       ns  per chare that ends itself, the call included
 *	single-memory    B   per chare: growth of the resident memory, its 8 bytes included, without
 *	                     the messages that created it
 *	tree-time        ms  from the root to quiescence
 *	tree-ideal       ms  the work of all chares over the number of PEs
 *	tree-most        %   chares of the PE that had most, of a PE's fair share
 *	tree-moved       %   chares that run on another PE than their creator's
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "singles.decl.h"

struct Main {
	int phase, chares, tree;
	double t0, before, first_bytes, tree_us;
	long nodes;
	CProxy_One *all;
};
struct One { uint64_t n; };
struct Node { int unused; };
struct Tally { long nodes, moved; };

void One_on_new(One *self) { self->n = 1; }
void One_on_call(One *self) { self->n++; }

void One_on_end(One *self)
{
	if (self->n != 2)
		CkAbort("a chare was called %d times", (int)self->n - 1);
	CkDestroy(self);
}

/* ---- the tree ------------------------------------------------------------------------------- */

void Tally_on_new(Tally *self) { (void)self; }

void Node_on_new(Node *self, int n, int creator)
{
	Tally *t = Tally_ckLocalBranch(tallies);
	double end = bench_now_us() + work_us;

	t->nodes++;
	t->moved += creator != CkMyPe();
	if (n > 0) {
		Node_ckNew(CK_PE_ANY, n - 1, CkMyPe());
		Node_ckNew(CK_PE_ANY, n - 4, CkMyPe());
	}
	while (bench_now_us() < end)
		;
	CkDestroy(self);
}

static long tree_nodes(int n)
{
	return n > 0 ? 1 + tree_nodes(n - 1) + tree_nodes(n - 4) : 1;
}

void Tally_on_report(Tally *self)
{
	const long v[2] = { self->nodes, self->moved };

	CkContribute(self, v, 2, CkReduction_sum_long, Main_cb_sums(mainProxy));
	CkContribute(self, v, 1, CkReduction_max_long, Main_cb_most(mainProxy));
}

/* ---- one after the other ----------------------------------------------------------------------- */

static void print(const char *name, long number, double value, const char *unit)
{
	CkPrintf("%s %ld %.6g %s\n", name, number, value, unit);
}

/* Everything of one kind at once, then wait until it has run. */
static void each_new(Main *self, int i) { self->all[i] = One_ckNew(CkMyPe()); }
static void each_call(Main *self, int i) { One_call(self->all[i]); }
static void each_end(Main *self, int i) { One_end(self->all[i]); }

static void for_all(Main *self, void (*fn)(Main *self, int i))
{
	self->before = bench_resident_bytes();
	self->t0 = bench_now_us();
	for (int i = 0; i < self->chares; i++)
		fn(self, i);
	CkStartQD(Main_cb_next(mainProxy));
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	self->chares = 1000000;
	self->tree = 31;
	work_us = 2;
	for (int i = 1; i < m->argc; i++) {
		if (!strcmp(m->argv[i], "--smoke")) {
			self->chares = 10000;
			self->tree = 12;
		} else if (i + 1 < m->argc && !strcmp(m->argv[i], "--chares"))
			self->chares = (int)bench_number("singles", "--chares", m->argv[++i], 1, 100000000);
		else if (i + 1 < m->argc && !strcmp(m->argv[i], "--tree"))
			self->tree = (int)bench_number("singles", "--tree", m->argv[++i], 0, 60);
		else if (i + 1 < m->argc && !strcmp(m->argv[i], "--work"))
			work_us = (double)bench_number("singles", "--work", m->argv[++i], 0, 1000000);
		else
			CkAbort("singles: what is %s?", m->argv[i]);
	}
	mainProxy = Main_thisProxy(self);
	tallies = Tally_ckNew();
	self->all = calloc((size_t)self->chares, sizeof *self->all);
	memset(self->all, 1, (size_t)self->chares * sizeof *self->all);
	CkStartQD(Main_cb_next(mainProxy));
}

static double per_chare(const Main *self)
{
	return (bench_now_us() - self->t0) * 1e3 / self->chares;
}

/* Everything runs twice: the first time allocates the memory of a million messages, so the second is
 * timed. What a chare takes in memory is measured at the first creation. */
void Main_on_next(Main *self)
{
	int n = self->chares;

	switch (self->phase++) {
	case 0:
	case 3:
		for_all(self, each_new);
		return;
	case 1:
		self->first_bytes = bench_resident_bytes() - self->before;
		for_all(self, each_call);
		return;
	case 4:
		print("single-create", n, per_chare(self), "ns");
		for_all(self, each_call);
		return;
	case 5:
		print("single-call", n, per_chare(self), "ns");
		for_all(self, each_end);
		return;
	case 2:
		for_all(self, each_end);
		return;
	case 6:
		print("single-end", n, per_chare(self), "ns");
		/* Messages of 64 bytes stay in their pool: what is left are the chares. */
		print("single-memory", n, self->first_bytes / n - 64, "B");
		self->t0 = bench_now_us();
		Node_ckNew(CK_PE_ANY, self->tree, CkMyPe());
		CkStartQD(Main_cb_next(mainProxy));
		return;
	case 7:
		self->tree_us = bench_now_us() - self->t0;
		Tally_report_all(tallies);
		return;
	}
}

void Main_on_sums(Main *self, long nodes, long moved)
{
	if (nodes != tree_nodes(self->tree))
		CkAbort("the tree had %ld chares, not %ld", nodes, tree_nodes(self->tree));
	self->nodes = nodes;
	print("tree-time", nodes, self->tree_us / 1e3, "ms");
	print("tree-ideal", nodes, (double)nodes * work_us / 1e3 / CkNumPes(), "ms");
	print("tree-moved", nodes, 100.0 * (double)moved / (double)nodes, "%");
}

void Main_on_most(Main *self, long most)
{
	print("tree-most", self->nodes, 100.0 * (double)(most * CkNumPes()) / (double)self->nodes, "%");
	free(self->all);
	CkExit(0);
}

#include "singles.def.h"
