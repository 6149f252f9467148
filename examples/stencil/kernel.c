/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.c: a block is computed row by row along z. A row and its four neighbour rows are plain
 * pointers, which at the edge of the block point into the ghost sides. So the loop over z has no
 * condition in it, and the compiler can use vector instructions. Only the z sides are copied first,
 * to the two cells that each row has for them. Computing the ends of a row separately would cost two
 * more divisions, half the time of a row of 8 cells.
 */
#include "kernel.h"

#include <stdbool.h>
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

struct layer side_layer(struct box b, int side)
{
	size_t nx = (size_t)b.nx, ny = (size_t)b.ny, nz = (size_t)b.nz, pitch = nz + 2;
	bool last = side % 2;

	switch (side / 2) {
	case 0: return (struct layer){1 + (last ? (nx - 1) * ny * pitch : 0), nz, ny, pitch};
	case 1: return (struct layer){1 + (last ? (ny - 1) * pitch : 0), nz, nx, ny * pitch};
	default: return (struct layer){last ? nz : 1, 1, nx * ny, pitch};
	}
}

static inline __attribute__((always_inline)) void pack_runs(double *restrict out, const double *restrict u, struct layer l,
							    size_t run)
{
	for (size_t i = 0; i < l.runs; i++)
		memcpy(out + i * run, u + i * l.stride, run * sizeof *u);
}

/* Where a run is short, a call of memcpy takes as long as the copy. There is none where its length is a constant. */
void pack_side(double *restrict out, const double *restrict u, struct box b, int side)
{
	struct layer l = side_layer(b, side);

	u += l.first;
	switch (l.run) {
	case 1: pack_runs(out, u, l, 1); break;
	case 8: pack_runs(out, u, l, 8); break;
	case 16: pack_runs(out, u, l, 16); break;
	case 32: pack_runs(out, u, l, 32); break;
	default: pack_runs(out, u, l, l.run); break;
	}
}

/* A row and what surrounds it. */
struct rows {
	const double *c, *xm, *xp, *ym, *yp;
};

/* The Makefile asks for -O3, because at -O2 gcc 12 does not vectorise a loop of unknown length. */
static inline __attribute__((always_inline)) void jacobi_row(double *restrict out, struct rows r,
							     int n)
{
	const double *c = r.c, *xm = r.xm, *xp = r.xp, *ym = r.ym, *yp = r.yp;

	for (int z = 0; z < n; z++)
		out[z] = (c[z] + xm[z] + xp[z] + ym[z] + yp[z] + c[z - 1] + c[z + 1]) / 7.0;
}

static inline __attribute__((always_inline)) void jacobi_rows(double *restrict out,
							      const double *restrict in, struct box b,
							      const double *const ghost[N_SIDES])
{
	size_t nz = (size_t)b.nz, pitch = nz + 2, layer = (size_t)b.ny * pitch;

	out++;
	in++;
	for (int x = 0; x < b.nx; x++)
		for (int y = 0; y < b.ny; y++, in += pitch, out += pitch) {
			struct rows r = {
				.c = in,
				.xm = x > 0 ? in - layer : ghost[XM] + (size_t)y * nz,
				.xp = x < b.nx - 1 ? in + layer : ghost[XP] + (size_t)y * nz,
				.ym = y > 0 ? in - pitch : ghost[YM] + (size_t)x * nz,
				.yp = y < b.ny - 1 ? in + pitch : ghost[YP] + (size_t)x * nz,
			};

			jacobi_row(out, r, b.nz);
		}
}

#if defined(__x86_64__)
/* Vectors of four numbers where the processor has them, with the same operations on each. */
__attribute__((target("avx2"))) static void jacobi_avx2(double *restrict out,
							const double *restrict in, struct box b,
							const double *const ghost[N_SIDES])
{
	jacobi_rows(out, in, b, ghost);
}
#endif

/* The z sides, a cell per row, go to the ends of the rows. */
static void close_rows(double *in, struct box b, const double *zm, const double *zp)
{
	size_t rows = (size_t)b.nx * (size_t)b.ny, nz = (size_t)b.nz;

	for (size_t i = 0; i < rows; i++, in += nz + 2) {
		in[0] = zm[i];
		in[nz + 1] = zp[i];
	}
}

void jacobi(double *restrict out, double *restrict in, struct box b,
	    const double *const ghost[N_SIDES])
{
	close_rows(in, b, ghost[ZM], ghost[ZP]);
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2")) {
		jacobi_avx2(out, in, b, ghost);
		return;
	}
#endif
	jacobi_rows(out, in, b, ghost);
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
