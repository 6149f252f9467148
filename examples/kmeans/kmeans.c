/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kmeans: groups points in the plane around k centres (Lloyd's algorithm).
 *
 *	ckrun -n 2 ./kmeans --points 1000000 --clusters 20 --chunks 64
 *
 * Shows   the loop of a bulk-synchronous program, without a loop: a broadcast of the centres, a
 *         reduction of an array of sums, whose target sends the next broadcast. Structs as array
 *         parameters.
 * Checks  the number of rounds, the centres (bit for bit) and the cluster of every point against a
 *         serial run.
 */
#include <stdlib.h>
#include <string.h>

#include "../args.h"
#include "kmeans.decl.h"

struct Main {
	CProxy_Chunk all;
	struct centre *centres;
	long round;
	double started, took;
	bool same;              /* rounds and centres as in the serial run */
};

struct Chunk {
	long first;
	struct part part;
	long *sums;
};

static void *alloc(size_t n, size_t bytes)
{
	void *p = calloc(n, bytes);

	if (!p)
		CkAbort("kmeans: no memory for %zu values", n);
	return p;
}

/* ---- a chunk of the points ----------------------------------------------------------- */

void Chunk_on_new(Chunk *self)
{
	long i = Chunk_thisIndex(self);

	self->first = points * i / chunks;
	part_init(&self->part, self->first, points * (i + 1) / chunks - self->first);
	self->sums = alloc((size_t)sums_count((int)clusters), sizeof *self->sums);
}

void Chunk_on_assign(Chunk *self, int k, const struct centre *centres)
{
	part_assign(&self->part, k, centres, self->sums);
	CkContribute(self, self->sums, (size_t)sums_count(k), CkReduction_sum_long,
		     Main_cb_assigned(mainProxy));
}

/* The serial run has put point i into cluster[i]. */
void Chunk_on_compare(Chunk *self, int n, const int *cluster)
{
	long wrong = 0;

	(void)n;
	for (long i = 0; i < self->part.n; i++)
		wrong += self->part.cluster[i] != cluster[self->first + i];
	part_fini(&self->part);
	free(self->sums);
	CkContribute(self, &wrong, 1, CkReduction_sum_long, Main_cb_compared(mainProxy));
}

/* ---- the main chare ------------------------------------------------------------------ */

void Main_on_new(Main *self, CkArgMsg *m)
{
	const struct arg args[] = {
		{"points", &points, 5000, 1, 100000000, "points in the plane"},
		{"clusters", &clusters, 6, 1, 10000, "centres"},
		{"chunks", &chunks, 16, 1, 1000000, "chares that the points are spread over"},
		{"rounds", &rounds, 100, 1, 1000000, "stop after so many"},
		{"seed", &seed, 1, 0, 1000000000, "where the points are"},
	};

	if (!args_read("kmeans", m, args, sizeof args / sizeof *args))
		return;
	if (clusters > points) {
		CkError("kmeans: %ld points cannot make %ld clusters\n", points, clusters);
		CkExit(1);
		return;
	}
	mainProxy = Main_thisProxy(self);
	self->centres = alloc((size_t)clusters, sizeof *self->centres);
	centres_init((int)clusters, self->centres);
	self->all = Chunk_ckNew(CkDims((int)chunks));
	self->started = CkWallTimer();
	Chunk_assign_all(self->all, (int)clusters, self->centres);
}

/* The same on one part that has all points. Returns the number of rounds. */
static long run_serially(struct part *whole, struct centre *centres)
{
	int k = (int)clusters;
	long *sums = alloc((size_t)sums_count(k), sizeof *sums);
	long round = 0, changed = 1;

	part_init(whole, 0, points);
	centres_init(k, centres);
	while (changed > 0 && round < rounds) {
		part_assign(whole, k, centres, sums);
		changed = centres_move(k, centres, sums);
		round++;
	}
	free(sums);
	return round;
}

static void compare(Main *self)
{
	struct centre *centres = alloc((size_t)clusters, sizeof *centres);
	struct part whole;
	long n_rounds = run_serially(&whole, centres);

	self->same = n_rounds == self->round &&
		     !memcmp(centres, self->centres, (size_t)clusters * sizeof *centres);
	Chunk_compare_all(self->all, (int)points, whole.cluster);
	part_fini(&whole);
	free(centres);
}

void Main_on_assigned(Main *self, int n, const long *sums)
{
	long changed = centres_move((int)clusters, self->centres, sums);

	(void)n;
	self->round++;
	if (changed > 0 && self->round < rounds) {
		Chunk_assign_all(self->all, (int)clusters, self->centres);
		return;
	}
	self->took = CkWallTimer() - self->started;
	compare(self);
}

void Main_on_compared(Main *self, long wrong)
{
	bool right = self->same && wrong == 0;

	CkPrintf("kmeans: %ld points in %ld chunks on %d PEs, %ld clusters after %ld rounds in "
		 "%.1f ms: %s\n",
		 points, chunks, CkNumPes(), clusters, self->round, self->took * 1e3,
		 right ? "checked" : "WRONG");
	if (!right)
		CkError("kmeans: rounds and centres %s, %ld points are in another cluster than "
			"serially\n",
			self->same ? "agree" : "differ", wrong);
	free(self->centres);
	CkExit(right ? 0 : 1);
}

#include "kmeans.def.h"
