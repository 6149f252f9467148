/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.h: the numbers in the matrices, and whether C is right.
 *
 * Elements are small multiples of 1/8, so all products and sums are exact in a double and results
 * can be compared bit for bit, whatever the order of the sums. To make a slice that is too old
 * show, A is multiplied by 1, 2, 4, 1, 2, 4, ... from iteration to iteration, and C is the sum of
 * all products.
 */
#ifndef MATMUL_CHECK_H
#define MATMUL_CHECK_H

/* What the reduction of Cube::check adds up: integers, so that the order does not matter. */
enum { SUM_WRONG, SUM_C, SUM_HASH_LOW, SUM_HASH_HIGH, N_SUMS };

/* Makes integers of the elements of C: steps of 1/8 times steps of 1/8. */
#define C_UNITS 64.0

/** What A is multiplied by in an iteration, */
static inline int factor_of(int iter)
{
	return 1 << iter % 3;
}

/** and in a run, over all its iterations: C is so many times A B. */
long factor_sum(void);

/** Fill `out` with rows row0 .. of columns col0 .. of A or B. */
void fill(double *out, int kind, int row0, int rows, int col0, int cols);

#endif
