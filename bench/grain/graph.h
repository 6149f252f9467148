/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.h: which task reads the outputs of which. The same code serves every way and the MPI
 * program.
 *
 * A graph has `points` points and any number of steps. The task of step t at point p reads its
 * own output of step t - 1, and those of the points that graph_reads lists. The pattern repeats
 * after `period` steps, a power of two; a step's phase is its number modulo the period.
 *
 * A point may be some steps ahead of others, so a reader needs room for the outputs of several
 * steps: `slots`, a power of two. graph_finish computes how many are enough. When a point has
 * done its task of step t it knows that every point that reads its outputs has done step t + 1 -
 * slots. So each slot is free before its next output comes, in every way. The period divides the
 * slots, so what is made once for a slot (a channel) serves one phase.
 */
#ifndef BENCH_GRAPH_H
#define BENCH_GRAPH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum pattern { STENCIL, NEAREST, FFT, TREE, SPREAD, RANDOM, ALL, PATTERNS };
enum { GRAPH_POINTS_MOST = 1024, GRAPH_SLOTS_MOST = 32, GRAPH_PHASES = 4 };

/* Plain data: a readonly. */
struct graph {
	enum pattern pattern;
	int points, period, slots;
	int radix;              /* points that a task reads: nearest, spread, random */
	int bytes;              /* of an output */
	int imbalance;          /* percent by which the durations of tasks differ from the mean, at most */
	bool check;             /* readers check each output */
};

/* ---- the patterns: points that a task may read, which may lie outside, or come twice ---- */

static inline int stencil_reads(const struct graph *g, int phase, int p, int *to)
{
	(void)g, (void)phase;
	to[0] = p - 1;
	to[1] = p + 1;
	return 2;
}

static inline int nearest_reads(const struct graph *g, int phase, int p, int *to)
{
	(void)phase;
	for (int k = 0; k < g->radix; k++)
		to[k] = p - g->radix / 2 + k;
	return g->radix;
}

static inline int graph_log2(int n)
{
	int bits = 0;

	while (1 << bits < n)
		bits++;
	return bits ? bits : 1;
}

static inline int fft_reads(const struct graph *g, int phase, int p, int *to)
{
	to[0] = p ^ 1 << phase % graph_log2(g->points);
	return 1;
}

/* Down the tree in one step, up in the next. */
static inline int tree_reads(const struct graph *g, int phase, int p, int *to)
{
	(void)g;
	to[0] = phase ? 2 * p : p / 2;
	to[1] = phase ? 2 * p + 1 : p / 2;
	return 2;
}

static inline int spread_reads(const struct graph *g, int phase, int p, int *to)
{
	for (int k = 0; k < g->radix; k++)
		to[k] = (p + k * g->points / g->radix + (k ? phase : 0)) % g->points;
	return g->radix;
}

/* Marsaglia's xorshift, after a product that spreads the bits. */
static inline uint32_t graph_hash(uint32_t x)
{
	x = (x + 1) * 2654435761u;
	for (int i = 0; i < 3; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
	}
	return x;
}

static inline int random_reads(const struct graph *g, int phase, int p, int *to)
{
	const int first = (p * GRAPH_PHASES + phase) * g->radix;

	for (int k = 0; k < g->radix; k++)
		to[k] = (int)(graph_hash((uint32_t)(first + k)) % (uint32_t)g->points);
	return g->radix;
}

static inline int all_reads(const struct graph *g, int phase, int p, int *to)
{
	(void)phase, (void)p;
	for (int k = 0; k < g->points; k++)
		to[k] = k;
	return g->points;
}

static const struct graph_pattern {
	const char *name;
	int (*reads)(const struct graph *g, int phase, int p, int *to);
	int period;                     /* 0: the binary logarithm of the points, or more */
	int radix;                      /* unless the command line says otherwise */
} graph_patterns[PATTERNS] = {
	[STENCIL] = { "stencil", stencil_reads, 1, 0 },
	[NEAREST] = { "nearest", nearest_reads, 1, 5 },
	[FFT] = { "fft", fft_reads, 0, 0 },
	[TREE] = { "tree", tree_reads, 2, 0 },
	[SPREAD] = { "spread", spread_reads, GRAPH_PHASES, 5 },
	[RANDOM] = { "random", random_reads, GRAPH_PHASES, 5 },
	[ALL] = { "all", all_reads, 1, 0 },
};

/*
 * The other points that the task of this phase at `p` reads, each once; `to` has room for the
 * points or the radix.
 */
static inline int graph_reads(const struct graph *g, int phase, int p, int *to)
{
	const int n = graph_patterns[g->pattern].reads(g, phase, p, to);
	int kept = 0;

	for (int k = 0; k < n; k++) {
		bool again = to[k] < 0 || to[k] >= g->points || to[k] == p;

		for (int i = 0; i < kept && !again; i++)
			again = to[i] == to[k];
		if (!again)
			to[kept++] = to[k];
	}
	return kept;
}

/* ---- what a point knows of its tasks in one phase ---- */

struct reader {
	int point;
	int place;              /* of this output among those that it reads */
};

struct phase {
	int n_reads, n_readers;
	int *reads;
	struct reader *readers; /* of the output, in the next step */
};

static inline void *graph_alloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		abort();
	return p;
}

static inline int *graph_room(const struct graph *g)
{
	return graph_alloc((size_t)(g->points + g->radix + 2), sizeof(int));
}

static inline void graph_add_reader(struct phase *f, int point, int place)
{
	f->readers = realloc(f->readers, (size_t)(f->n_readers + 1) * sizeof *f->readers);
	if (!f->readers)
		abort();
	f->readers[f->n_readers++] = (struct reader){point, place};
}

static inline void graph_find_readers(const struct graph *g, int phase, int p, struct phase *f)
{
	int *reads = graph_room(g);

	for (int q = 0; q < g->points; q++) {
		const int n = graph_reads(g, (phase + 1) % g->period, q, reads);

		for (int k = 0; k < n; k++)
			if (reads[k] == p)
				graph_add_reader(f, q, k);
	}
	free(reads);
}

/* An array with an entry for each phase. */
static inline struct phase *graph_phases(const struct graph *g, int p)
{
	struct phase *all = graph_alloc((size_t)g->period, sizeof *all);

	for (int phase = 0; phase < g->period; phase++) {
		all[phase].reads = graph_room(g);
		all[phase].n_reads = graph_reads(g, phase, p, all[phase].reads);
		graph_find_readers(g, phase, p, &all[phase]);
	}
	return all;
}

static inline void graph_free_phases(const struct graph *g, struct phase *all)
{
	for (int phase = 0; phase < g->period; phase++) {
		free(all[phase].reads);
		free(all[phase].readers);
	}
	free(all);
}

/* ---- how far ahead of its readers a point may be ---- */

/* What is known of the steps before: one step further back from the tasks in `known`. */
static inline void graph_step_back(const struct graph *g, int phase, bool *known, int *reads)
{
	bool *before = graph_alloc((size_t)g->points, sizeof *before);

	memcpy(before, known, (size_t)g->points * sizeof *before);
	for (int p = 0; p < g->points; p++)
		if (known[p])
			for (int k = graph_reads(g, phase, p, reads); k-- > 0;)
				before[reads[k]] = true;
	memcpy(known, before, (size_t)g->points * sizeof *before);
	free(before);
}

static inline bool graph_all_known(const struct graph *g, const struct phase *of, const bool *known)
{
	for (int f = 0; f < g->period; f++)
		for (int k = 0; k < of[f].n_readers; k++)
			if (!known[of[f].readers[k].point])
				return false;
	return true;
}

/* The steps by which `p`, in this phase, may be ahead of any that ever reads its outputs. */
static inline int graph_ahead_of(const struct graph *g, const struct phase *of, int phase, int p,
				 int *reads)
{
	bool *known = graph_alloc((size_t)g->points, sizeof *known);
	int d = 0;

	known[p] = true;
	for (; d < GRAPH_SLOTS_MOST && !graph_all_known(g, of, known); d++)
		graph_step_back(g, (phase + (d + 1) * g->period - d) % g->period, known, reads);
	free(known);
	return d;
}

static inline int graph_ahead(const struct graph *g)
{
	int *reads = graph_room(g), most = 1;

	for (int p = 0; p < g->points; p++) {
		struct phase *of = graph_phases(g, p);

		for (int phase = 0; phase < g->period; phase++) {
			const int d = graph_ahead_of(g, of, phase, p, reads);

			most = d > most ? d : most;
		}
		graph_free_phases(g, of);
	}
	free(reads);
	return most;
}

/*
 * Fill in what follows from the pattern. False if some point may be ahead of its readers without
 * bound.
 */
static inline bool graph_finish(struct graph *g)
{
	const struct graph_pattern *p = &graph_patterns[g->pattern];
	int ahead;

	g->period = p->period ? p->period : 1 << graph_log2(graph_log2(g->points));
	if (!g->radix)
		g->radix = p->radix;
	ahead = graph_ahead(g);
	g->slots = 1 << graph_log2(ahead + 1 > g->period ? ahead + 1 : g->period);
	return ahead < GRAPH_SLOTS_MOST;
}

#endif
