/* SPDX-License-Identifier: Apache-2.0 */
/* check.c: each chare computes its own slice of C again, from matrices that never travelled. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "slices.h"
#include "tiles.h"

long factor_sum(void)
{
	long sum = 0;

	for (int k = 0; k < opt.iters; k++)
		sum += factor_of(k);
	return sum;
}

/* Element (row, column) of A or B. */
static double element(int kind, int row, int col)
{
	return kind == KIND_A ? ((row * 7 + col * 3) % 17 - 8) / 8.0
			      : ((row * 5 + col * 11) % 19 - 9) / 8.0;
}

void fill(double *out, int kind, int row0, int rows, int col0, int cols)
{
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < cols; j++)
			*out++ = element(kind, row0 + i, col0 + j);
}

/* By one dgemm over the whole depth. All chares together do the work of one serial product. */
static long count_wrong_rows(const Cube *m, int row0, int rows, int col0)
{
	size_t depth = (size_t)opt.n, cols = (size_t)m->nb;
	double *a = alloc_doubles((size_t)rows * depth);
	double *b = alloc_doubles(depth * cols);
	double *want = alloc_doubles((size_t)rows * cols);
	long wrong = 0;

	fill(a, KIND_A, row0, rows, 0, opt.n);
	fill(b, KIND_B, 0, opt.n, col0, m->nb);
	multiply(want, (double)factor_sum(), 0.0, a, opt.n, b, rows, m->nb, opt.n);
	for (size_t i = 0; i < (size_t)rows; i++)
		wrong += memcmp(m->c + i * cols, want + i * cols, cols * sizeof *want) != 0;
	free(a);
	free(b);
	free(want);
	return wrong;
}

void Cube_on_check(Cube *m)
{
	int row0 = m->x * m->nb + first_row(m->nb, m->y), rows = slice_rows(m->nb, m->y);
	int col0 = m->z * m->nb;
	const double *c = m->c;
	long sums[N_SUMS] = {0};
	uint64_t hash = 0;

	for (int r = 0; r < rows; r++)
		for (int j = 0; j < m->nb; j++, c++) {
			uint64_t place = (uint64_t)(row0 + r) * (uint64_t)opt.n +
					 (uint64_t)(col0 + j);

			sums[SUM_C] += (long)(*c * C_UNITS);
			hash += turns_hash(place, *c);
		}
	sums[SUM_WRONG] = opt.verify ? count_wrong_rows(m, row0, rows, col0) : 0;
	sums[SUM_HASH_LOW] = (long)(hash & UINT32_MAX);
	sums[SUM_HASH_HIGH] = (long)(hash >> 32);
	CkContribute(m, sums, N_SUMS, CkReduction_sum_long, Main_cb_checked(mainProxy));
}
