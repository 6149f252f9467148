/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pencil.h: the state of a pencil, and where in it everything is.
 */
#ifndef FFT_PENCIL_H
#define FFT_PENCIL_H

#include "fft.decl.h"

/* Channels are made by the side that receives, and the side that sends; `split` is the way there,
 * `join` back. */
struct Pencil {
	int iteration, end;
	double error;                   /* of the spectrum, with --verify */
	fftw_complex *z_lines, *y_lines, *x_lines;
	fftw_complex *pieces;           /* received on the way back, in order of the sender */
	struct lines_plan z, y, x;      /* of a plane of z lines, one of y lines, x lines of one y */
	CkChannel **split_z_in, **split_z_out, **split_y_in, **split_y_out;
	CkChannel **join_y_in, **join_y_out, **join_z_in, **join_z_out;
};

/* A cache line between rows of z, and between planes of x_lines: without it all points of a line
 * fall on the same few sets of a cache when the sides are powers of two. Pieces bring it along.
 * (256^3: lines of y take 31 ms for 42, of x 33 for 53.) */
enum { PAD = 4 };

/* x, y or z from first on. */
struct part {
	int first, n;
};

static inline struct part part_of(long i, long parts)
{
	return (struct part){ (int)(side * i / parts),
			      (int)(side * (i + 1) / parts) - (int)(side * i / parts) };
}

static inline int row(const Pencil *self) { return Pencil_thisIndex(self).x; }
static inline int column(const Pencil *self) { return Pencil_thisIndex(self).y; }

/* The length of the directions that are cut: of x in z_lines and y_lines, of y in z_lines, of z in
 * y_lines and x_lines, and of y in x_lines. */
static inline int nx(const Pencil *self) { return part_of(row(self), rows).n; }
static inline int ny_early(const Pencil *self) { return part_of(column(self), columns).n; }
static inline int nz(const Pencil *self) { return part_of(column(self), columns).n; }
static inline int ny(const Pencil *self) { return part_of(row(self), rows).n; }

/* From one row of z to the next: in z_lines; in y_lines and x_lines. The same in a slab. */
static inline int z_row(void) { return (int)side + PAD; }
static inline int y_row(const Pencil *self) { return nz(self) + PAD; }

/* Numbers of a plane of x, with their padding, and of all. */
static inline long z_stride(const Pencil *self) { return ny_early(self) * (long)z_row(); }
static inline long y_stride(const Pencil *self) { return side * y_row(self); }
static inline long x_stride(const Pencil *self) { return ny(self) * (long)y_row(self) + PAD; }
static inline long pieces_stride(const Pencil *self)
{
	return ny_early(self) * (side + columns * PAD);
}
static inline long z_count(const Pencil *self) { return nx(self) * z_stride(self); }
static inline long y_count(const Pencil *self) { return nx(self) * y_stride(self); }
static inline long x_count(const Pencil *self) { return side * x_stride(self); }
static inline long pieces_count(const Pencil *self) { return nx(self) * pieces_stride(self); }

/* Pieces that are exchanged within a row, one for each plane and pencil, and within a column. */
static inline int n_row(const Pencil *self) { return columns == 1 ? 0 : nx(self) * (int)columns; }
static inline int n_column(const Pencil *self) { return nx(self) * (int)rows; }

static inline fftw_complex *z_plane(const Pencil *self, int x)
{
	return self->z_lines + x * z_stride(self);
}

static inline fftw_complex *y_plane(const Pencil *self, int x)
{
	return (columns == 1 ? self->z_lines : self->y_lines) + x * y_stride(self);
}

static inline fftw_complex *x_plane(const Pencil *self, int x)
{
	return self->x_lines + x * x_stride(self);
}

/* The lines of x with one y: few enough for a cache. */
static inline fftw_complex *x_lines_at(const Pencil *self, int y)
{
	return self->x_lines + y * y_row(self);
}

/* Piece i of a row: where it leaves z_lines, is in y_lines, and comes back. */
static inline fftw_complex *in_z_lines(const Pencil *self, int i)
{
	return z_plane(self, i / (int)columns) + part_of(i % columns, columns).first;
}

static inline fftw_complex *in_y_lines(const Pencil *self, int i)
{
	return y_plane(self, i / (int)columns) + part_of(i % columns, columns).first * y_row(self);
}

static inline fftw_complex *in_pieces(const Pencil *self, int i)
{
	return self->pieces + i / columns * pieces_stride(self) +
	       (part_of(i % columns, columns).first + i % columns * PAD) * ny_early(self);
}

/* Piece i of a column. */
static inline fftw_complex *in_planes(const Pencil *self, int i)
{
	return y_plane(self, i / (int)rows) + part_of(i % rows, rows).first * y_row(self);
}

/** Memory into which channels can lead, zeroed. */
static inline fftw_complex *get_numbers(long n)
{
	fftw_complex *v = CkDirect_alloc((size_t)n * sizeof *v);

	if (!v)
		CkAbort("no memory for %ld numbers", n);
	return v;
}

#endif
