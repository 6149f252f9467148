/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sweep.h: which runs are measured, and what follows from them: METG(50 %), as Task Bench defines
 * it (Slaughter et al., SC 2020). The efficiency of a run is the time that its tasks compute,
 * divided by the time that the PEs took. The granularity is the PEs' time divided by the tasks.
 * METG is the granularity at which the efficiency is 50 %.
 *
 * The first runs have one step, so that nothing is sent: they tell the time of an iteration of
 * the kernel while all PEs compute. Then the tasks get smaller, by a factor of 2 each time, until
 * the efficiency is below 50 % for two sizes: one alone may have been disturbed. Between the last
 * size above 50 % and the next one the overhead of a task is taken to change evenly.
 *
 * Of the runs of one size the fastest counts: runs are short, and what else the machine does only
 * makes them slower.
 */
#ifndef BENCH_SWEEP_H
#define BENCH_SWEEP_H

#include "bench.h"
#include "task.h"

enum { SWEEP_CALIBRATIONS = 15, SWEEP_LEAST_STEPS = 30 };

/* What the command line asks for (options.h). */
struct sweep_options {
	struct graph graph;
	int n_graphs;
	int width;              /* points of a graph on each PE */
	bool metg;              /* or only tasks of `iterations`, in runs of `steps` */
	long iterations;
	int steps;
	int reps;               /* runs of each size, of which the fastest counts */
	double run_us;          /* that a run should take, if metg */
};

struct sweep_task {
	double compute_us, overhead_us;
};

struct sweep {
	struct sweep_options opt;
	int pes;
	long iterations;        /* of the next run */
	int steps;
	int run;                /* of this size */
	double us[BENCH_REPEATS_MAX];
	double iteration_us;    /* 0 while the kernel is timed */
	struct sweep_task last, above, below; /* of the last size; of those around 50 %, or zeros */
	double result_us;       /* METG, or the granularity */
};

/** The first run: steps and iterations. */
static inline void sweep_begin(struct sweep *s, const struct sweep_options *opt, int pes)
{
	*s = (struct sweep){.opt = *opt, .pes = pes, .steps = 1};
	s->iterations = 1000000 / (opt->width * opt->n_graphs);
}

static inline double sweep_tasks(const struct sweep *s)
{
	return (double)s->opt.graph.points * s->opt.n_graphs * s->steps;
}

/* The mean of the tasks of a run. */
static inline double sweep_mean_iterations(const struct sweep *s)
{
	const struct graph *g = &s->opt.graph;
	double sum = 0;

	for (int t = 0; t < s->steps; t++)
		for (int p = 0; p < g->points; p++)
			sum += (double)task_iterations(g, s->iterations, t, p);
	return sum / g->points / s->steps;
}

/* A run as long as is wanted, if the overhead of a task is what it was before. */
static inline void sweep_next_size(struct sweep *s, long iterations)
{
	const double task_us = (double)iterations * s->iteration_us + s->last.overhead_us;
	const double steps = s->opt.run_us / task_us / s->opt.width / s->opt.n_graphs;

	s->iterations = iterations;
	s->run = 0;
	s->steps = steps < SWEEP_LEAST_STEPS ? SWEEP_LEAST_STEPS : (int)steps;
	if (!s->opt.metg)
		s->steps = s->opt.steps;
}

static inline double sweep_fastest(const struct sweep *s)
{
	double least = s->us[0];

	for (int i = 1; i < s->run; i++)
		least = s->us[i] < least ? s->us[i] : least;
	return least;
}

static inline void sweep_calibrated(struct sweep *s)
{
	s->iteration_us = sweep_fastest(s) * s->pes / sweep_tasks(s) / (double)s->iterations;
	sweep_next_size(s, s->opt.iterations);
}

/* The granularity at which a task's overhead is as long as it computes, from those of two sizes. */
static inline double sweep_even(struct sweep_task a, struct sweep_task b)
{
	const double slope = (b.overhead_us - a.overhead_us) / (b.compute_us - a.compute_us);

	return 2 * (a.overhead_us - slope * a.compute_us) / (1 - slope);
}

/* True if two sizes in a row are below 50 %. */
static inline bool sweep_found(struct sweep *s)
{
	const bool again = s->below.compute_us > 0;

	if (s->last.overhead_us < s->last.compute_us) {
		s->above = s->last;
		s->below = (struct sweep_task){0};
	} else if (!again) {
		s->below = s->last;
	} else {
		return true;
	}
	return s->iterations == 1;
}

static inline double sweep_result(const struct sweep *s)
{
	if (s->opt.metg && s->above.compute_us > 0 && s->below.compute_us > 0)
		return sweep_even(s->above, s->below);
	return s->last.compute_us + s->last.overhead_us;
}

/* True if a smaller one has to be measured. */
static inline bool sweep_size_done(struct sweep *s)
{
	const double us = sweep_fastest(s) * s->pes / sweep_tasks(s);

	s->last.compute_us = sweep_mean_iterations(s) * s->iteration_us;
	s->last.overhead_us = us - s->last.compute_us;
	if (!s->opt.metg || sweep_found(s)) {
		s->result_us = sweep_result(s);
		return false;
	}
	sweep_next_size(s, s->iterations / 2);
	return true;
}

/** A run took `us`. True if there is another one, of s->steps and s->iterations. */
static inline bool sweep_ran(struct sweep *s, double us)
{
	s->us[s->run++] = us;
	if (s->iteration_us > 0)
		return s->run < s->opt.reps || sweep_size_done(s);
	if (s->run == SWEEP_CALIBRATIONS)
		sweep_calibrated(s);
	return true;
}

/** The share of its time that a PE computed, in runs of the last size. */
static inline double sweep_percent(const struct sweep *s)
{
	return 100 * s->last.compute_us / (s->last.compute_us + s->last.overhead_us);
}

#endif
