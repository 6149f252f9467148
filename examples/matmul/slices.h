/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slices.h: how a block is cut into slices, where each slice stands, and to whom it goes.
 *
 * A block that p chares share is cut into p slices of rows; cube.h has the table of who owns which.
 * Blocks are row-major, so a slice is one piece of memory: it is sent and received as it stands.
 * A function that ends in _place says where, one that ends in _doubles how much.
 */
#ifndef MATMUL_SLICES_H
#define MATMUL_SLICES_H

#include "cube.h"

/* ---- the slices of a block ---- */

static inline int first_row(int nb, int i)
{
	return (int)((int64_t)nb * i / opt.p);
}

static inline int slice_rows(int nb, int i)
{
	return first_row(nb, i + 1) - first_row(nb, i);
}

static inline int slice_doubles(const Cube *m, int i)
{
	return m->start[i + 1] - m->start[i];
}

static inline double *slice_of(const Cube *m, double *block, int i)
{
	return block + m->start[i];
}

/* ---- what peer q sends here: its slice of A or B, or its share of the own slice of C ---- */

static inline int in_doubles(const Cube *m, int kind, int q)
{
	return slice_doubles(m, kind == KIND_C ? m->me[KIND_C] : q);
}

static inline double *in_place(const Cube *m, int kind, int slot, int q)
{
	if (kind == KIND_C)
		return m->area[slot] + (size_t)q * (size_t)slice_doubles(m, m->me[KIND_C]);
	return slice_of(m, m->ab[kind][slot], q);
}

/* ---- what peer q gets from here: the own slice of A or B, or slice q of the product ---- */

static inline int out_doubles(const Cube *m, int kind, int q)
{
	return slice_doubles(m, kind == KIND_C ? q : m->me[kind]);
}

static inline double *out_place(const Cube *m, int kind, int slot, int q)
{
	if (kind == KIND_C)
		return slice_of(m, m->partial, q);
	return slice_of(m, m->ab[kind][slot], m->me[kind]);
}

/* ---- peers ---- */

/** The q-th of the chares that share a block of this kind with m. */
static inline CProxyElement_Cube peer(const Cube *m, int kind, int q)
{
	int x = kind == KIND_B ? q : m->x, y = kind == KIND_C ? q : m->y;
	int z = kind == KIND_A ? q : m->z, first = opt.spread ? x + y + z : x;

	while (first >= opt.p)
		first -= opt.p;
	return Cube_at(Cube_thisProxy(m), first, y, z);
}

/** Whether that chare is on this PE; known once find_neighbours has run. */
static inline bool is_here(const Cube *m, int kind, int q)
{
	return m->here[kind * opt.p + q];
}

#endif
