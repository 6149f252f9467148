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

/** Points of a line are `stride` apart, and the beginnings of `n` lines are `apart` apart. */
struct lines {
	int points, n, stride, apart;
};

struct lines_plan {
	struct lines lines;
	fftw_plan forward, backward;
};

/** Plan transforms in place, for `v` and all that is aligned like it. `measure` tries several ways
 * and overwrites `v`; without it nothing is touched, and NULL is as good as memory that is aligned
 * to 16 bytes. False: FFTW has no memory. */
bool lines_plan(struct lines_plan *plan, struct lines lines, fftw_complex *v, bool measure);
void lines_forget(struct lines_plan *plan);

/** One transform of all lines; backward without the division by the number of points. */
void lines_forward(const struct lines_plan *plan, fftw_complex *v);
void lines_backward(const struct lines_plan *plan, fftw_complex *v);

/** The number at place i of the input: both parts in -1 .. 1. */
fftw_complex lines_input(uint64_t seed, uint64_t i);

#endif
