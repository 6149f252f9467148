/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matrix.h: a sparse matrix of whole numbers, of which every chare can make any block by itself.
 *
 * It is like the matrix of a mesh: most elements of a row are near the diagonal, others near a second
 * one. So a matrix that is cut into many blocks has empty ones. Vectors have whole numbers below
 * MATRIX_BELOW, so all products and sums are exact, in whatever order they are added.
 */
#ifndef SPMV_MATRIX_H
#define SPMV_MATRIX_H

#include <stdbool.h>

enum { MATRIX_BELOW = 1000 };

/** What makes a matrix: `rows` rows and columns, about per_row elements in each row. */
struct matrix {
	long rows, per_row, seed;
};

/** Rows and columns first .. end - 1. */
struct range {
	long first, end;
};

/** Element by element, row by row; first_of_row[i] says where row i begins. */
struct block {
	struct range rows, columns;
	long *first_of_row;
	int *column;            /* from the block's first */
	double *value;
	long n;
};

/** Part i of n of the rows. */
struct range matrix_range(const struct matrix *m, long i, long n);

/** Whether some element lies in these rows and columns. */
bool matrix_touches(const struct matrix *m, struct range rows, struct range columns);

/** Make that part of the matrix. Call block_fini when it is no longer needed. */
void block_init(struct block *b, const struct matrix *m, struct range rows, struct range columns);
void block_fini(struct block *b);

/** y = b x, for the rows and columns of the block. */
void block_multiply(const struct block *b, const double *x, double *y);

/** The first vector, and the next vector from a product. */
void vector_first(const struct matrix *m, struct range r, double *x);
void vector_next(long n, const double *y, double *x);

#endif
