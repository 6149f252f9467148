/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan of timed runs, for benchmarks that cannot be a loop around a function, because a run
 * ends in some later entry method, and for the MPI programs that are compared with them.
 *
 *	plan_init(&plan, &options);
 *	plan_add(&plan, KIND, parameter);                 each series once
 *	do {
 *		s = plan_current(&plan);                  s->count units of work, timed
 *	} while (plan_record(&plan, microseconds));
 *	plan_us(&plan, KIND, parameter)                   median microseconds of one unit
 *
 * First each series is repeated with more and more units until it fills a run; that also warms it
 * up. Then all series come once per repeat, so that a disturbance that lasts costs each of them
 * one repeat instead of one of them all.
 */
#ifndef CHARD_BENCH_PLAN_H
#define CHARD_BENCH_PLAN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/* As long as several of a scheduler's time slices. A smoke run only shows that it runs. */
#define PLAN_RUN_US 20000.0
#define PLAN_SMOKE_US 100.0

enum { PLAN_SERIES_MAX = 3 * BENCH_SIZES_MAX, PLAN_GROWTH_MAX = 8 };

/* bench.h's options, and --smoke: one short run of each series. */
struct plan_options {
	struct bench_options common;
	bool smoke;
};

struct series {
	int kind;
	size_t parameter;
	long count;                     /* units of work in one run */
	double us[BENCH_REPEATS_MAX];   /* of one unit */
};

struct plan {
	struct series series[PLAN_SERIES_MAX];
	int n, at;
	int repeat, repeats;            /* repeat -1: finding the counts */
	bool confirmed;                 /* it was long enough before, so no single disturbance made it so */
	double run_us;
};

/** bench_options_init with other sizes; none: what bench.h has. */
static inline void plan_options_init(struct plan_options *o, const size_t *bytes, int nsizes)
{
	bench_options_init(&o->common);
	o->smoke = false;
	if (!nsizes)
		return;
	memcpy(o->common.bytes, bytes, (size_t)nsizes * sizeof *bytes);
	o->common.nsizes = nsizes;
}

/** As bench_option. */
static inline bool plan_option(struct plan_options *o, int argc, char **argv, int *i)
{
	if (strcmp(argv[*i], "--smoke") != 0)
		return bench_option(&o->common, argc, argv, i);
	o->smoke = true;
	return true;
}

static inline void plan_init(struct plan *p, const struct plan_options *o)
{
	memset(p, 0, sizeof *p);
	p->repeats = o->smoke ? 1 : o->common.repeats;
	p->run_us = o->smoke ? PLAN_SMOKE_US : PLAN_RUN_US;
	p->repeat = -1;
}

static inline void plan_add(struct plan *p, int kind, size_t parameter)
{
	if (p->n == PLAN_SERIES_MAX) {
		fprintf(stderr, "bench: more than %d series; give fewer sizes\n",
			PLAN_SERIES_MAX);
		exit(2);
	}
	p->series[p->n++] = (struct series){ .kind = kind, .parameter = parameter, .count = 1 };
}

static inline struct series *plan_current(struct plan *p)
{
	return &p->series[p->at];
}

/** Take down that the current run took `us`. False when the plan is done. */
static inline bool plan_record(struct plan *p, double us)
{
	struct series *s = plan_current(p);

	if (p->repeat >= 0) {
		s->us[p->repeat] = us / (double)s->count;
	} else if (us < p->run_us / 2) {
		double growth = us > p->run_us / PLAN_GROWTH_MAX ? p->run_us / us
								  : PLAN_GROWTH_MAX;

		s->count = (long)((double)s->count * growth) + 1;
		p->confirmed = false;
		return true;
	} else if (!p->confirmed) {
		p->confirmed = true;
		return true;
	}
	p->confirmed = false;
	if (++p->at == p->n) {
		p->at = 0;
		p->repeat++;
	}
	return p->repeat < p->repeats;
}

/** Whether the run that comes, or the one just made, is one of those that count. */
static inline bool plan_timed(const struct plan *p)
{
	return p->repeat >= 0;
}

/** Median microseconds of one unit; negative when there was no such series. */
static inline double plan_us(struct plan *p, int kind, size_t parameter)
{
	for (int i = 0; i < p->n; i++)
		if (p->series[i].kind == kind && p->series[i].parameter == parameter)
			return bench_median(p->series[i].us, p->repeats);
	return -1;
}

#endif
