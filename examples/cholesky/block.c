/* SPDX-License-Identifier: Apache-2.0 */
#include "block.h"

#include <cblas.h>

#include "../random.h"

/* LAPACK, which is part of OpenBLAS; its header would need another package. */
extern void dpotrf_(const char *half, const int *n, double *a, const int *gap, int *info);
extern void openblas_set_num_threads(int n) __attribute__((weak));

void limit_blas_threads(void)
{
	if (openblas_set_num_threads)
		openblas_set_num_threads(1);
}

/* Elements off the diagonal are in -1 .. 1, and the diagonal outweighs them. */
static double element(long row, long column, long n, uint64_t seed)
{
	const long i = row > column ? row : column, j = row > column ? column : row;

	if (i == j)
		return (double)n;
	return (double)(int64_t)random_at(seed, (uint64_t)(i * n + j)) * 0x1p-63;
}

void block_fill(double *a, int rows, int columns, long row, long column, long n, uint64_t seed)
{
	for (int j = 0; j < columns; j++)
		for (int i = 0; i < rows; i++)
			*a++ = element(row + i, column + j, n, seed);
}

void block_update(double *a, int rows, int columns, const double *left, const double *right,
		  int depth, bool lower)
{
	if (lower)
		cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, rows, depth, -1, left, rows, 1,
			    a, rows);
	else
		cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, rows, columns, depth, -1, left,
			    rows, right, columns, 1, a, rows);
}

void block_solve(double *a, int rows, int columns, const double *l)
{
	cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, rows, columns,
		    1, l, columns, a, rows);
}

bool block_factor(double *a, int rows)
{
	int info;

	dpotrf_("L", &rows, a, &rows, &info);
	return info == 0;
}
