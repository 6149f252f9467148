/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.c: a block is worked on row by row along z. A row and its four neighbour rows are
 * plain pointers, which at the edge of the block point into the ghost sides, so that the
 * loop over z has no condition in it and the compiler makes vectors of it. Only the two
 * ends of a row look at the z sides.
 */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

size_t side_cells(struct box b, int side)
{
	switch (side / 2) {
	case 0: return (size_t)b.ny * (size_t)b.nz;
	case 1: return (size_t)b.nx * (size_t)b.nz;
	default: return (size_t)b.nx * (size_t)b.ny;
	}
}

double wall_value(int side)
{
	return side == XM ? 1.0 : 0.0;
}

static const double *row(const double *u, struct box b, int x, int y)
{
	return u + ((size_t)x * (size_t)b.ny + (size_t)y) * (size_t)b.nz;
}

void pack_side(double *restrict out, const double *restrict u, struct box b, int side)
{
	size_t row_bytes = (size_t)b.nz * sizeof *u;
	int last;

	switch (side / 2) {
	case 0:
		memcpy(out, row(u, b, side == XM ? 0 : b.nx - 1, 0), (size_t)b.ny * row_bytes);
		break;
	case 1:
		for (int x = 0; x < b.nx; x++)
			memcpy(out + (size_t)x * (size_t)b.nz,
			       row(u, b, x, side == YM ? 0 : b.ny - 1), row_bytes);
		break;
	default:
		last = side == ZM ? 0 : b.nz - 1;
		for (int x = 0; x < b.nx; x++)
			for (int y = 0; y < b.ny; y++)
				*out++ = row(u, b, x, y)[last];
	}
}

/* A row and what surrounds it. */
struct rows {
	const double *c, *xm, *xp, *ym, *yp;
	double zm, zp;
};

/* The Makefile asks for -O3: at -O2 gcc 12 makes no vectors of a loop of unknown length. */
static void jacobi_row(double *restrict out, struct rows r, int n)
{
	const double *c = r.c, *xm = r.xm, *xp = r.xp, *ym = r.ym, *yp = r.yp;
	int e = n - 1;

	out[0] = (c[0] + xm[0] + xp[0] + ym[0] + yp[0] + r.zm + (e ? c[1] : r.zp)) / 7.0;
	for (int z = 1; z < e; z++)
		out[z] = (c[z] + xm[z] + xp[z] + ym[z] + yp[z] + c[z - 1] + c[z + 1]) / 7.0;
	if (e)
		out[e] = (c[e] + xm[e] + xp[e] + ym[e] + yp[e] + c[e - 1] + r.zp) / 7.0;
}

void jacobi(double *restrict out, const double *restrict in, struct box b,
	    const double *const ghost[N_SIDES])
{
	size_t nz = (size_t)b.nz, layer = (size_t)b.ny * nz;
	size_t i = 0;

	for (int x = 0; x < b.nx; x++)
		for (int y = 0; y < b.ny; y++, i++) {
			const double *c = in + i * nz;
			struct rows r = {
				.c = c,
				.xm = x > 0 ? c - layer : ghost[XM] + (size_t)y * nz,
				.xp = x < b.nx - 1 ? c + layer : ghost[XP] + (size_t)y * nz,
				.ym = y > 0 ? c - nz : ghost[YM] + (size_t)x * nz,
				.yp = y < b.ny - 1 ? c + nz : ghost[YP] + (size_t)x * nz,
				.zm = ghost[ZM][i],
				.zp = ghost[ZP][i],
			};

			jacobi_row(out + i * nz, r, b.nz);
		}
}

static double value_at(const double *u, struct box b, int x, int y, int z)
{
	if (x < 0)
		return 1.0;
	if (x >= b.nx || y < 0 || y >= b.ny || z < 0 || z >= b.nz)
		return 0.0;
	return row(u, b, x, y)[z];
}

static void serial_iteration(double *out, const double *u, struct box b)
{
	for (int x = 0; x < b.nx; x++)
		for (int y = 0; y < b.ny; y++)
			for (int z = 0; z < b.nz; z++) {
				double sum = value_at(u, b, x, y, z);

				sum += value_at(u, b, x - 1, y, z);
				sum += value_at(u, b, x + 1, y, z);
				sum += value_at(u, b, x, y - 1, z);
				sum += value_at(u, b, x, y + 1, z);
				sum += value_at(u, b, x, y, z - 1);
				sum += value_at(u, b, x, y, z + 1);
				*out++ = sum / 7.0;
			}
}

double *serial_jacobi(struct box b, int iters)
{
	double *u = calloc(box_cells(b), sizeof *u);
	double *next = malloc(box_cells(b) * sizeof *u);

	if (!u || !next) {
		free(u);
		free(next);
		return NULL;
	}
	for (int k = 0; k < iters; k++) {
		double *old = u;

		serial_iteration(next, u, b);
		u = next;
		next = old;
	}
	free(next);
	return u;
}
