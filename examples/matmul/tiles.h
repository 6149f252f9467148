/* SPDX-License-Identifier: Apache-2.0 */
/* tiles.h: the product of two blocks by BLAS, in tiles where those are faster. Knows no chares. */
#ifndef MATMUL_TILES_H
#define MATMUL_TILES_H

/** out = alpha * a * b + beta * out, where `out` is rows x cols, `a` rows x depth, `b` depth x cols;
 * rows of `a` are `wide` doubles apart. */
void multiply(double *out, double alpha, double beta, const double *a, int wide, const double *b,
	      int rows, int cols, int depth);

#endif
