/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include <stdlib.h>

#include "../random.h"

static void rows_add(struct rows *m, int *n, long column, double value)
{
	m->column[*n] = (int)(column - m->columns.first);
	m->value[(*n)++] = value;
}

static void rows_fill_one(struct rows *m, struct grid g, long row, int *n)
{
	const long at[] = { row / g.nz / g.ny, row / g.nz % g.ny, row % g.nz };
	const long length[] = { g.nx, g.ny, g.nz }, step[] = { g.ny * g.nz, g.nz, 1 };

	for (int d = 0; d < 3; d++)
		if (at[d] > 0)
			rows_add(m, n, row - step[d], -1);
	rows_add(m, n, row, g.nz > 1 ? 6 : 4);
	for (int d = 2; d >= 0; d--)
		if (at[d] < length[d] - 1)
			rows_add(m, n, row + step[d], -1);
}

bool rows_init(struct rows *m, struct grid g, struct range rows)
{
	const size_t n_rows = (size_t)range_length(rows);
	int n = 0;

	*m = (struct rows){ .rows = rows, .columns = grid_columns(g, rows) };
	m->start = malloc((n_rows + 1) * sizeof *m->start);
	m->column = malloc((7 * n_rows + 1) * sizeof *m->column);
	m->value = malloc((7 * n_rows + 1) * sizeof *m->value);
	if (!m->start || !m->column || !m->value)
		return false;
	for (long row = rows.first; row < rows.end; row++) {
		m->start[row - rows.first] = n;
		rows_fill_one(m, g, row, &n);
	}
	m->start[n_rows] = n;
	return true;
}

void rows_fini(struct rows *m)
{
	free(m->start);
	free(m->column);
	free(m->value);
	*m = (struct rows){ 0 };
}

double rows_multiply(const struct rows *m, const double *p, double *q)
{
	const double *own = p + rows_own(m);
	const long n = range_length(m->rows);
	double product = 0;

	for (long i = 0; i < n; i++) {
		double sum = 0;

		for (int k = m->start[i]; k < m->start[i + 1]; k++)
			sum += m->value[k] * p[m->column[k]];
		q[i] = sum;
		product += sum * own[i];
	}
	return product;
}

double rows_step(long n, double alpha, const double *p, const double *q, double *x, double *r)
{
	double product = 0;

	for (long i = 0; i < n; i++) {
		x[i] += alpha * p[i];
		r[i] -= alpha * q[i];
		product += r[i] * r[i];
	}
	return product;
}

void rows_turn(long n, double beta, const double *r, double *p)
{
	for (long i = 0; i < n; i++)
		p[i] = r[i] + beta * p[i];
}

double rows_begin(const struct rows *m, uint64_t seed, double *x, double *r)
{
	double product = 0;

	for (long i = 0; i < range_length(m->rows); i++) {
		x[i] = 0;
		r[i] = (double)(int64_t)random_at(seed, (uint64_t)(m->rows.first + i)) * 0x1p-63;
		product += r[i] * r[i];
	}
	return product;
}
