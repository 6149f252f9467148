/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h: the options that grain and grain_mpi share.
 *
 *	--pattern p     stencil (1D, both neighbours; the default), nearest (the radix nearest
 *	                points), fft (a butterfly), tree (down in one step, up in the next),
 *	                spread (radix points far apart), random (radix points), all
 *	--width n       points on each PE, 8
 *	--graphs n      independent graphs at once, 1: the tasks of one may hide the
 *	                communication of another
 *	--bytes n       of an output, 16
 *	--radix n       5
 *	--imbalance n   percent by which durations differ from the mean, at most; drawn for each task
 *	--no-check      tasks do not read what they get
 *	--metg          find METG(50 %), beginning with tasks of --iters; the default measures
 *	                such tasks, in runs of --steps
 *	--iters n       iterations of the kernel, 3 ns each: 64, with --metg 16384
 *	--steps n       1000
 *	--ms n          how long a run should take, with --metg: 2
 *	--reps n        runs of each size, of which the fastest counts: 15
 *	--smoke         short
 */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "sweep.h"

static const struct sweep_options options_default = {
	.n_graphs = 1, .width = 8, .steps = 1000, .reps = 15, .run_us = 2000,
	.graph = {.bytes = sizeof(struct output), .check = true},
};

/* The entry of a table of names, or -1. */
static inline int options_pattern(const char *name)
{
	int p = 0;

	while (p < PATTERNS && strcmp(graph_patterns[p].name, name) != 0)
		p++;
	return p < PATTERNS ? p : -1;
}

static inline bool options_flag(struct sweep_options *o, const char *name)
{
	if (!strcmp(name, "--no-check"))
		o->graph.check = false;
	else if (!strcmp(name, "--metg"))
		o->metg = true;
	else if (!strcmp(name, "--smoke"))
		o->steps = 40, o->reps = 2, o->run_us = 300;
	else
		return false;
	return true;
}

static inline bool options_number(struct sweep_options *o, const char *name, const char *value)
{
	const struct {
		const char *name;
		int *to;
		long least, most;
	} numbers[] = {
		{"--width", &o->width, 1, GRAPH_POINTS_MOST}, {"--graphs", &o->n_graphs, 1, 64},
		{"--bytes", &o->graph.bytes, sizeof(struct output), 1 << 24}, {"--radix", &o->graph.radix, 1, 64},
		{"--imbalance", &o->graph.imbalance, 0, 100}, {"--steps", &o->steps, 1, 100000000},
		{"--reps", &o->reps, 1, BENCH_REPEATS_MAX},
	};

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (!strcmp(name, numbers[i].name)) {
			*numbers[i].to = (int)bench_number("grain", name, value, numbers[i].least, numbers[i].most);
			return true;
		}
	return false;
}

/** Reads argv[*i], and the value after it; false if it is no option of both programs. */
static inline bool options_read(struct sweep_options *o, int argc, char **argv, int *i)
{
	const char *name = argv[*i], *value = *i + 1 < argc ? argv[*i + 1] : "";

	if (options_flag(o, name))
		return true;
	if (!strcmp(name, "--pattern"))
		o->graph.pattern = (enum pattern)options_pattern(value);
	else if (!strcmp(name, "--iters"))
		o->iterations = bench_number("grain", name, value, 1, 1000000000);
	else if (!strcmp(name, "--ms"))
		o->run_us = 1000 * (double)bench_number("grain", name, value, 1, 10000);
	else if (!options_number(o, name, value))
		return false;
	++*i;
	return true;
}

/** What follows from the options. What is wrong with them, or NULL. */
static inline const char *options_finish(struct sweep_options *o, int pes)
{
	if ((int)o->graph.pattern < 0)
		return "--pattern wants stencil, nearest, fft, tree, spread, random or all";
	if (o->graph.bytes % (int)sizeof(struct output))
		return "--bytes wants a multiple of 16";
	if (!o->iterations)
		o->iterations = o->metg ? 16384 : 64;
	o->graph.points = o->width * pes;
	if (o->graph.points > GRAPH_POINTS_MOST)
		return "too many points";
	if (!graph_finish(&o->graph))
		return "in this pattern some points may be ahead of others without bound";
	return NULL;
}

#endif
