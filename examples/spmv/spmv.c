/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spmv: multiplies a sparse matrix with a vector, again and again: x = A x. Blocks of the matrix
 * are a 2-D array of chares, pieces of the vector a 1-D one.
 *
 *	ckrun -n 2 ./spmv --rows 100000 --blocks 8 --iterations 100
 *
 * Shows   sections. A piece of the vector is sent once to those blocks of its column that have
 *         elements (a multicast: one message per PE, not one per block). Products are added up over
 *         those blocks of a row that have elements (a reduction over a section). Empty blocks take
 *         no part. There is no barrier: a piece goes on when its own product has come.
 * Checks  every number of the last vector, bit for bit, against a serial run.
 */
#include <stdlib.h>

#include "../args.h"
#include "matrix.h"
#include "spmv.decl.h"

struct Main {
	double began, took;
	double *last;           /* the last vector */
	long parts;             /* how many of its parts have come */
};

struct Piece {
	struct range range;
	double *x;
	CProxySection_Tile column;      /* the tiles that need x */
	long iteration;
};

struct Tile {
	struct block block;     /* made when it is asked for */
	double *y;
	CProxySection_Tile row;
	long iteration;
};

static struct matrix the_matrix(void)
{
	return (struct matrix){rows, per_row, seed};
}

static double *alloc_numbers(long n)
{
	double *v = malloc((size_t)n * sizeof *v);

	if (!v)
		CkAbort("spmv: no memory for a vector of %ld", n);
	return v;
}

/* ---- a block of the matrix --------------------------------------------------------------- */

void Tile_on_new(Tile *self)
{
	(void)self;
}

/* Every tile with elements is in the section of its row. The first reduction over the section says
 * that all have joined; from then on they can be sent pieces of vectors. */
void Tile_on_join(Tile *self, CProxySection_Tile row)
{
	CkIndex2D me = Tile_thisIndex(self);
	struct matrix m = the_matrix();
	CkCallback joined = Piece_cb_joined(Piece_at(pieces, me.x));

	self->row = row;
	block_init(&self->block, &m, matrix_range(&m, me.x, blocks), matrix_range(&m, me.y, blocks));
	self->y = alloc_numbers(self->block.rows.end - self->block.rows.first);
	CkContributeSection(self, row.ck, NULL, 0, CkReduction_nop, joined);
}

/* Iterations need no number. The owner of this row gets a sum only when all tiles of the row have
 * added to it, and the owner of the column sends the next piece only when it has its own sum. */
void Tile_on_multiply(Tile *self, int n, const double *x)
{
	long height = self->block.rows.end - self->block.rows.first;

	(void)n;
	block_multiply(&self->block, x, self->y);
	CkContributeSection(self, self->row.ck, self->y, (size_t)height, CkReduction_sum_double,
			    Piece_cb_product(Piece_at(pieces, Tile_thisIndex(self).x)));
	if (++self->iteration == iterations) {
		block_fini(&self->block);
		free(self->y);
	}
}

/* ---- a piece of the vector --------------------------------------------------------------- */

/* The tiles of a row or of a column that have elements. */
static CProxySection_Tile used_tiles(long i, bool in_row)
{
	struct matrix m = the_matrix();
	struct range mine = matrix_range(&m, i, blocks);
	CkIndex *list = malloc((size_t)blocks * sizeof *list);
	CProxySection_Tile s;
	size_t n = 0;

	if (!list)
		CkAbort("spmv: no memory for a list of %ld tiles", blocks);
	for (long j = 0; j < blocks; j++) {
		struct range other = matrix_range(&m, j, blocks);

		if (in_row && matrix_touches(&m, mine, other))
			list[n++] = Tile_index((int)i, (int)j);
		if (!in_row && matrix_touches(&m, other, mine))
			list[n++] = Tile_index((int)j, (int)i);
	}
	s = Tile_ckSection(tiles, list, n);
	free(list);
	return s;
}

void Piece_on_new(Piece *self)
{
	struct matrix m = the_matrix();
	CProxySection_Tile row = used_tiles(Piece_thisIndex(self), true);

	self->range = matrix_range(&m, Piece_thisIndex(self), blocks);
	self->x = alloc_numbers(self->range.end - self->range.first);
	vector_first(&m, self->range, self->x);
	self->column = used_tiles(Piece_thisIndex(self), false);
	Tile_join_section(row, row);
}

void Piece_on_joined(Piece *self)
{
	CkContributeBarrier(self, Main_cb_joined(mainProxy));
}

static void send_piece(const Piece *self)
{
	Tile_multiply_section(self->column, (int)(self->range.end - self->range.first), self->x);
}

void Piece_on_begin(Piece *self)
{
	send_piece(self);
}

static void end_piece(Piece *self)
{
	Main_part(mainProxy, Piece_thisIndex(self), (int)(self->range.end - self->range.first),
		  self->x);
	free(self->x);
}

void Piece_on_product(Piece *self, int n, const double *y)
{
	vector_next(n, y, self->x);
	if (++self->iteration < iterations)
		send_piece(self);
	else
		end_piece(self);
}

/* ---- the main chare ---------------------------------------------------------------------- */

void Main_on_new(Main *self, CkArgMsg *m)
{
	const struct arg args[] = {
		{"rows", &rows, 600, 1, 10000000, "rows and columns"},
		{"perrow", &per_row, 6, 1, 1000, "elements in each row"},
		{"blocks", &blocks, 10, 1, 1000, "blocks that rows and columns are cut into"},
		{"iterations", &iterations, 20, 1, 1000000, "products"},
		{"seed", &seed, 1, 0, 1000000000, "which matrix and which vector"},
	};

	if (!args_read("spmv", m, args, sizeof args / sizeof *args))
		return;
	if (blocks > rows) {
		CkError("spmv: %ld rows cannot be cut into %ld blocks\n", rows, blocks);
		CkExit(1);
		return;
	}
	mainProxy = Main_thisProxy(self);
	self->last = alloc_numbers(rows);
	tiles = Tile_ckNew(CkDims((int)blocks, (int)blocks));
	pieces = Piece_ckNew(CkDims((int)blocks));
}

void Main_on_joined(Main *self)
{
	self->began = CkWallTimer();
	Piece_begin_all(pieces);
}

static long wrong_numbers(const double *x)
{
	struct matrix m = the_matrix();
	struct range all = {0, rows};
	struct block whole;
	double *serial = alloc_numbers(rows), *y = alloc_numbers(rows);
	long wrong = 0;

	block_init(&whole, &m, all, all);
	vector_first(&m, all, serial);
	for (long i = 0; i < iterations; i++) {
		block_multiply(&whole, serial, y);
		vector_next(rows, y, serial);
	}
	for (long i = 0; i < rows; i++)
		wrong += x[i] != serial[i];
	block_fini(&whole);
	free(serial);
	free(y);
	return wrong;
}

static long count_used_tiles(void)
{
	struct matrix m = the_matrix();
	long n = 0;

	for (long i = 0; i < blocks; i++)
		for (long j = 0; j < blocks; j++)
			n += matrix_touches(&m, matrix_range(&m, i, blocks),
					    matrix_range(&m, j, blocks));
	return n;
}

static void end(Main *self)
{
	double took = CkWallTimer() - self->began;
	long wrong = wrong_numbers(self->last);

	CkPrintf("spmv: %ld rows, %ld of %ld blocks with elements, on %d PEs, %ld iterations in "
		 "%.1f ms: %s\n",
		 rows, count_used_tiles(), blocks * blocks, CkNumPes(), iterations, took * 1e3,
		 wrong ? "WRONG" : "checked");
	if (wrong)
		CkError("spmv: %ld numbers differ from the serial run\n", wrong);
	free(self->last);
	CkExit(wrong ? 1 : 0);
}

void Main_on_part(Main *self, int block, int n, const double *x)
{
	struct matrix m = the_matrix();

	memcpy(self->last + matrix_range(&m, block, blocks).first, x, (size_t)n * sizeof *x);
	if (++self->parts == blocks)
		end(self);
}

#include "spmv.def.h"
