/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix.h"

#include <stdlib.h>

#include "../random.h"
#include "ck.h"

enum { LAYERS = 3 };

struct element {
	long column;
	double value;
};

/* The column of element k of a row. The first is on the diagonal, the others are near it; one in
 * eight of those is moved to the next layer. */
static struct element element_at(const struct matrix *m, long row, long k)
{
	uint64_t at = 3 * (uint64_t)(row * m->per_row + k), seed = (uint64_t)m->seed;
	long layer = m->rows / LAYERS, near_by = m->rows / 64 + 2;
	long column = row;

	if (k > 0)
		column += m->rows + random_below(seed, at, 2 * near_by) - near_by;
	if (k > 0 && random_below(seed, at + 1, 8) == 0)
		column += layer;
	column %= m->rows;
	return (struct element){column, (double)(1 + random_below(seed, at + 2, 9))};
}

static bool in_range(long i, struct range r)
{
	return i >= r.first && i < r.end;
}

static void *allocate(long n, size_t bytes)
{
	void *p = malloc((size_t)n * bytes + 1);

	if (!p)
		CkAbort("spmv: no memory for %ld elements", n);
	return p;
}

struct range matrix_range(const struct matrix *m, long i, long n)
{
	return (struct range){m->rows * i / n, m->rows * (i + 1) / n};
}

static long count_elements(const struct matrix *m, struct range rows, struct range columns, long most)
{
	long n = 0;

	for (long i = rows.first; i < rows.end; i++)
		for (long k = 0; k < m->per_row && n < most; k++)
			n += in_range(element_at(m, i, k).column, columns);
	return n;
}

bool matrix_touches(const struct matrix *m, struct range rows, struct range columns)
{
	return count_elements(m, rows, columns, 1) > 0;
}

void block_init(struct block *b, const struct matrix *m, struct range rows, struct range columns)
{
	long n = count_elements(m, rows, columns, m->rows * m->per_row);

	*b = (struct block){.rows = rows, .columns = columns};
	b->first_of_row = allocate(rows.end - rows.first + 1, sizeof *b->first_of_row);
	b->column = allocate(n, sizeof *b->column);
	b->value = allocate(n, sizeof *b->value);
	for (long i = rows.first; i < rows.end; i++) {
		b->first_of_row[i - rows.first] = b->n;
		for (long k = 0; k < m->per_row; k++) {
			struct element e = element_at(m, i, k);

			if (!in_range(e.column, columns))
				continue;
			b->column[b->n] = (int)(e.column - columns.first);
			b->value[b->n++] = e.value;
		}
	}
	b->first_of_row[rows.end - rows.first] = b->n;
}

void block_fini(struct block *b)
{
	free(b->first_of_row);
	free(b->column);
	free(b->value);
	*b = (struct block){0};
}

void block_multiply(const struct block *b, const double *x, double *y)
{
	for (long i = 0; i < b->rows.end - b->rows.first; i++) {
		double sum = 0;

		for (long k = b->first_of_row[i]; k < b->first_of_row[i + 1]; k++)
			sum += b->value[k] * x[b->column[k]];
		y[i] = sum;
	}
}

void vector_first(const struct matrix *m, struct range r, double *x)
{
	for (long i = r.first; i < r.end; i++)
		x[i - r.first] = (double)random_below((uint64_t)m->seed + 1, (uint64_t)i, MATRIX_BELOW);
}

void vector_next(long n, const double *y, double *x)
{
	for (long i = 0; i < n; i++)
		x[i] = (double)((long)y[i] % MATRIX_BELOW);
}
