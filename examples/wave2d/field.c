/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field.c: the wave equation u_tt = c^2 (u_xx + u_yy), second order in space and time:
 *
 *	u(t+1) = 2 u(t) - u(t-1) + C (left + right + up + down - 4 u(t))
 *
 * with C = (c dt / dx)^2 = 1/4; it is stable up to 1/2. Beyond the domain u is 0.
 */
#include "field.h"

#include <stdlib.h>

#include "../random.h"
#include "wave2d.decl.h"

#define C 0.25
enum { N_BUMPS = 4 };

double *field_cell(const struct field *f, int step, int x, int y)
{
	return f->u[step % 2] + (size_t)(y + 1) * (size_t)(f->w + 2) + (size_t)(x + 1);
}

/* All bumps together at one cell of the domain: smooth, 0 outside their radius. */
static double bumps(int x, int y)
{
	double r = 1 + (double)(width < height ? width : height) / 6, sum = 0;

	for (uint64_t i = 0; i < N_BUMPS; i++) {
		double dx = x - (double)random_below((uint64_t)seed, 2 * i, width);
		double dy = y - (double)random_below((uint64_t)seed, 2 * i + 1, height);
		double d = 1 - (dx * dx + dy * dy) / (r * r);

		if (d > 0)
			sum += d * d;
	}
	return sum;
}

void field_init(struct field *f, int x0, int y0, int w, int h)
{
	*f = (struct field){.x0 = x0, .y0 = y0, .w = w, .h = h};
	for (int i = 0; i < 2; i++) {
		f->u[i] = calloc((size_t)(w + 2) * (size_t)(h + 2), sizeof(double));
		if (!f->u[i])
			CkAbort("wave2d: no memory for %d x %d cells", w, h);
	}
	for (int y = 0; y < h; y++)
		for (int x = 0; x < w; x++)
			*field_cell(f, 0, x, y) = *field_cell(f, 1, x, y) = bumps(x0 + x, y0 + y);
}

void field_fini(struct field *f)
{
	free(f->u[0]);
	free(f->u[1]);
}

void field_advance(struct field *f, int step)
{
	size_t row = (size_t)f->w + 2;

	for (int y = 0; y < f->h; y++) {
		const double *restrict u = field_cell(f, step, 0, y);
		double *restrict next = field_cell(f, step + 1, 0, y);

		for (int x = 0; x < f->w; x++)
			next[x] = 2 * u[x] - next[x] +
				  C * (u[x - 1] + u[x + 1] + (u - row)[x] + u[(size_t)x + row] -
				       4 * u[x]);
	}
}

/* The first cell of the line that is `out` cells outside of a side, and the way along it. */
static double *line(const struct field *f, int step, int side, int out, size_t *stride_p)
{
	*stride_p = side == LEFT || side == RIGHT ? (size_t)f->w + 2 : 1;
	switch (side) {
	case LEFT: return field_cell(f, step, -out, 0);
	case RIGHT: return field_cell(f, step, f->w - 1 + out, 0);
	case UP: return field_cell(f, step, 0, -out);
	default: return field_cell(f, step, 0, f->h - 1 + out);
	}
}

static int side_cells(const struct field *f, int side)
{
	return side == LEFT || side == RIGHT ? f->h : f->w;
}

int field_take_edge(const struct field *f, int step, int side, double *v)
{
	size_t stride;
	const double *at = line(f, step, side, 0, &stride);
	int n = side_cells(f, side);

	for (int i = 0; i < n; i++)
		v[i] = at[(size_t)i * stride];
	return n;
}

void field_put_ghosts(struct field *f, int step, int side, const double *v)
{
	size_t stride;
	double *at = line(f, step, side, 1, &stride);

	for (int i = 0; i < side_cells(f, side); i++)
		at[(size_t)i * stride] = v[i];
}
