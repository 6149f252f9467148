/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block.h: what the factorisation does to blocks of a matrix, by BLAS and LAPACK. Knows no chares.
 *
 * A block is stored by columns, without gaps. `rows` and `columns` are those of the first block.
 */
#ifndef CHOLESKY_BLOCK_H
#define CHOLESKY_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

/** One thread for each PE: those of a BLAS would compete with the other PEs. */
void limit_blas_threads(void);

/** Part of a symmetric matrix of n rows that has a factor: the rows from `row` on, and columns from
 * `column` on. */
void block_fill(double *a, int rows, int columns, long row, long column, long n, uint64_t seed);

/** a -= left * right', where right has `columns` rows and both have `depth` columns. With `lower`
 * left is right, and only the lower half of `a` is computed. */
void block_update(double *a, int rows, int columns, const double *left, const double *right,
		  int depth, bool lower);

/** a = a * inverse of l', with l the factor of the block on the diagonal of these columns. */
void block_solve(double *a, int rows, int columns, const double *l);

/** The lower half of `a` becomes its factor. False: it has none. */
bool block_factor(double *a, int rows);

#endif
