/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines.h: one-dimensional transforms of many lines by FFTW, both ways, and the input. Knows no
 * chares.
 *
 * FFTW's plans are made for an array; those of equal lines in other arrays may use them.
 */
#ifndef FFT_LINES_H
#define FFT_LINES_H

#include <complex.h>
#include <fftw3.h>
#include <stdbool.h>
#include <stdint.h>

#include "../random.h"

/** Points of a line are `stride` apart, and the beginnings of `n` lines are `apart` apart. */
struct lines {
	int points, n, stride, apart;
};

struct lines_plan {
	struct lines lines;
	fftw_plan ways[2];              /* forward and backward */
};

/** Plan transforms in place, for `v` and all that is aligned like it. `measure` tries several ways
 * and overwrites `v`; without it nothing is touched, and NULL is as good as memory that is aligned
 * to 16 bytes. False: FFTW has no memory. */
static inline bool lines_plan(struct lines_plan *plan, struct lines l, fftw_complex *v,
			      bool measure)
{
	plan->lines = l;
	for (int way = 0; way < 2; way++)
		plan->ways[way] = fftw_plan_many_dft(1, &l.points, l.n, v, NULL, l.stride, l.apart, v, NULL,
						     l.stride, l.apart, way ? FFTW_BACKWARD : FFTW_FORWARD,
						     measure ? FFTW_MEASURE : FFTW_ESTIMATE);
	return plan->ways[0] && plan->ways[1];
}

static inline void lines_forget(struct lines_plan *plan)
{
	fftw_destroy_plan(plan->ways[0]);
	fftw_destroy_plan(plan->ways[1]);
}

/** One transform of all lines; backward without the division by the number of points. */
static inline void lines_forward(const struct lines_plan *plan, fftw_complex *v)
{
	fftw_execute_dft(plan->ways[0], v, v);
}

static inline void lines_backward(const struct lines_plan *plan, fftw_complex *v)
{
	fftw_execute_dft(plan->ways[1], v, v);
}

/** The number at place i of the input: both parts in -1 .. 1. */
static inline fftw_complex lines_input(uint64_t seed, long i)
{
	return (double)(int64_t)random_at(seed, 2 * (uint64_t)i) * 0x1p-63 +
	       (double)(int64_t)random_at(seed, 2 * (uint64_t)i + 1) * 0x1p-63 * I;
}

#endif
