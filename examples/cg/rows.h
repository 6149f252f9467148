/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.h: what conjugate gradients do on one processor: some rows of a sparse matrix, their product
 * with a vector, and the updates of vectors. bench/mpi/cg_mpi.c uses the same, so that the two
 * programs differ in their communication only.
 *
 * The matrix is Poisson's equation on a grid of nx * ny * nz points: 6 on the diagonal, -1 for each
 * neighbour in the grid (a flat grid, nz = 1, has 4). It is stored as any sparse matrix would be,
 * row by row. Rows first .. end - 1 touch columns low .. high - 1 only, which lets the neighbours'
 * parts be received where they are read.
 */
#ifndef CG_ROWS_H
#define CG_ROWS_H

#include <stdbool.h>
#include <stdint.h>

/** Points of the grid; z runs fastest. */
struct grid {
	long nx, ny, nz;
};

/** first .. end - 1 */
struct range {
	long first, end;
};

struct rows {
	struct range rows, columns;     /* of the matrix; all columns that the rows touch */
	int *start;                     /* of each row, in the two arrays below */
	int *column;                    /* from columns.first */
	double *value;
};

static inline long grid_points(struct grid g) { return g.nx * g.ny * g.nz; }
static inline long range_length(struct range r) { return r.end - r.first; }

/** Part i of n of the rows. */
static inline struct range grid_part(struct grid g, long i, long n)
{
	return (struct range){ grid_points(g) * i / n, grid_points(g) * (i + 1) / n };
}

/** The columns that these rows touch: the farthest neighbour of a point is a plane away, in a flat
 * grid a line. */
static inline struct range grid_columns(struct grid g, struct range rows)
{
	const long far = g.ny * g.nz, n = grid_points(g);

	return (struct range){ rows.first > far ? rows.first - far : 0,
			       rows.end < n - far ? rows.end + far : n };
}

/** What both have in common; not longer than 0 if they have nothing. */
static inline struct range range_both(struct range a, struct range b)
{
	return (struct range){ a.first > b.first ? a.first : b.first, a.end < b.end ? a.end : b.end };
}

/** Make these rows of the matrix. False: there is no memory. Call rows_fini in either case. */
bool rows_init(struct rows *m, struct grid g, struct range rows);
void rows_fini(struct rows *m);

/** q = A p. Returns the product of p and q. `p` has all columns that the rows touch. */
double rows_multiply(const struct rows *m, const double *p, double *q);

/** x += alpha p, r -= alpha q. Returns the product of r with itself. */
double rows_step(long n, double alpha, const double *p, const double *q, double *x, double *r);

/** p = r + beta p */
void rows_turn(long n, double beta, const double *r, double *p);

/** x = 0, r = the right side: random numbers in -1 .. 1. Returns the product of r with itself. */
double rows_begin(const struct rows *m, uint64_t seed, double *x, double *r);

/** Where the rows' own part of a vector begins that has all their columns. */
static inline long rows_own(const struct rows *m) { return m->rows.first - m->columns.first; }

#endif
