/* SPDX-License-Identifier: Apache-2.0 */
/*
 * task.h: what a task does: it checks what it reads, computes for a number of iterations, and
 * writes its output. All ways and the MPI program call the same function.
 */
#ifndef BENCH_TASK_H
#define BENCH_TASK_H

#include <stdio.h>

#include "graph.h"

/*
 * An output is a row of lines, and each line begins with this. The smallest output is one of
 * these.
 */
struct output {
	int64_t step, point;
};
enum { TASK_LINE = 64 };

/* One iteration: 16 products and sums, enough to keep the units busy. About 3 ns. */
static __attribute__((noinline)) void task_compute(long iterations)
{
	typedef double two __attribute__((vector_size(16)));
	const two x = {0.9999, 0.9998}, y = {1e-4, 2e-4};
	two a = x, b = y, c = x + y, d = x - y, e = x, f = y, g = x + y, h = x - y;

	for (long i = 0; i < iterations; i++) {
		a = a * x + y;
		b = b * x + y;
		c = c * x + y;
		d = d * x + y;
		e = e * x + y;
		f = f * x + y;
		g = g * x + y;
		h = h * x + y;
		__asm__ volatile("" : : : "memory");
	}
	a = a + b + c + d + e + f + g + h;
	__asm__ volatile("" : : "m"(a));
}

/*
 * A mean of `iterations`, and up to the imbalance more or less. The tasks of step 0 are all
 * equal.
 */
static inline long task_iterations(const struct graph *g, long iterations, int step, int point)
{
	int percent;

	if (!g->imbalance || !step)
		return iterations;
	percent = (int)(graph_hash((uint32_t)(step * GRAPH_POINTS_MOST + point)) % 201) - 100;
	return iterations + iterations * percent * g->imbalance / 10000;
}

static __attribute__((noinline, cold)) void task_wrong(const struct output *o, int step, int point)
{
	fprintf(stderr, "grain: a task reads the output of step %lld, point %lld in place of %d, %d\n",
		(long long)o->step, (long long)o->point, step, point);
	abort();
}

static inline void task_check(const unsigned char *from, int bytes, int step, int point)
{
	for (int at = 0; at < bytes; at += TASK_LINE) {
		const struct output *o = (const struct output *)(const void *)(from + at);

		if (__builtin_expect(o->step != step || o->point != point, 0))
			task_wrong(o, step, point);
	}
}

static inline void task_write(unsigned char *to, int bytes, int step, int point)
{
	for (int at = 0; at < bytes; at += TASK_LINE)
		*(struct output *)(void *)(to + at) = (struct output){step, point};
}

/*
 * The task of `step` at `point`, which reads in[0..n-1], the outputs of the points
 * reads[0..n-1], and its own.
 */
static inline void task_run(const struct graph *g, long iterations, int step, int point,
			    const unsigned char *const *in,
			    const int *reads, int n, const unsigned char *own, unsigned char *out)
{
	if (g->check && step) {
		task_check(own, g->bytes, step - 1, point);
		for (int k = 0; k < n; k++)
			task_check(in[k], g->bytes, step - 1, reads[k]);
	}
	task_compute(task_iterations(g, iterations, step, point));
	task_write(out, g->bytes, step, point);
}

#endif
