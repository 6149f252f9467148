/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.h: the arithmetic of the 7-point Jacobi stencil on one block, without any chares.
 *
 * A block is an array of nx * ny rows of nz + 2 doubles, z fastest. The first and the last double of a
 * row stand for its neighbours beyond the block. What lies beyond the six sides is in six separate
 * arrays, which the kernel reads wherever they are: in a message, in a channel's buffer, or in a
 * constant wall. So the sides x and y are not copied on the receiving side.
 *
 *	new = (c + xm + xp + ym + yp + zm + zp) / 7.0      added from left to right
 *
 * The order is part of the contract: it makes the result the same, bit for bit, for every
 * cut of the domain.
 */
#ifndef STENCIL_KERNEL_H
#define STENCIL_KERNEL_H

#include <stddef.h>

/** The sides of a block; a side and the one opposite differ in bit 0. */
enum side { XM, XP, YM, YP, ZM, ZP, N_SIDES };

struct box {
	int nx, ny, nz;
};

static inline size_t box_cells(struct box b)
{
	return (size_t)b.nx * (size_t)b.ny * (size_t)b.nz;
}

/** Doubles of a block's array. */
static inline size_t field_doubles(struct box b)
{
	return (size_t)b.nx * (size_t)b.ny * ((size_t)b.nz + 2);
}

/** Cells of one side. Side x is [ny][nz], side y is [nx][nz], side z is [nx][ny]. */
size_t side_cells(struct box b, int side);

/** What lies outside the domain: 1.0 before x = 0, else 0.0. */
double wall_value(int side);

/** Where the outermost layer of cells on one side lies in a block's array: `runs` runs of `run`
 * doubles, `stride` doubles apart, from `first` on. */
struct layer {
	size_t first, run, runs, stride;
};

struct layer side_layer(struct box b, int side);

/** Copy that layer of `u` to `out`. */
void pack_side(double *restrict out, const double *restrict u, struct box b, int side);

/** One iteration: `out` from `in` and what lies beyond its sides. It writes the row ends of `in`. */
void jacobi(double *restrict out, double *restrict in, struct box b,
	    const double *const ghost[N_SIDES]);

/** `iters` iterations over a whole domain from zero, cell by cell and with nothing shared
 * with jacobi(), to compare with. Returns malloc'ed memory, or NULL. */
double *serial_jacobi(struct box b, int iters);

#endif
