/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tiles.c: a BLAS copies its operands to where its kernel wants them. Small operands it may use
 * where they lie: OpenBLAS with AVX-512 does so for products of up to 10^6 multiplications. So a
 * larger product is done as a sum of small ones, as long as its operands fit into the caches
 * without being packed. bench/mpi/matmul_mpi.c does the same.
 */
#include "tiles.h"

#include <cblas.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "matmul.decl.h"

enum {
	TILED_FROM = 1000 * 1000,       /* multiplications; up to here BLAS does not pack */
	TILED_COLS = 256,               /* wider operands do not stay in the caches unpacked */
	TILE_ROWS = 32,                 /* 32 x 64 x 256 is below TILED_FROM */
	TILE_DEPTH = 64,
};

static int at_most(int n, int most)
{
	return n < most ? n : most;
}

static void multiply_tile(double *out, double alpha, double beta, const double *a, int wide,
			  const double *b, int rows, int cols, int depth)
{
	cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, cols, depth, alpha, a, wide, b,
		    cols, beta, out, cols);
}

void multiply(double *out, double alpha, double beta, const double *a, int wide, const double *b,
	      int rows, int cols, int depth)
{
	bool tiled = (int64_t)rows * cols * depth > TILED_FROM && cols <= TILED_COLS;
	int tile_rows = tiled ? TILE_ROWS : rows, tile_depth = tiled ? TILE_DEPTH : depth;

	for (int i = 0; i < rows; i += tile_rows)
		for (int k = 0; k < depth; k += tile_depth)
			multiply_tile(out + (size_t)i * (size_t)cols, alpha, k ? 1.0 : beta,
				      a + (size_t)i * (size_t)wide + k, wide,
				      b + (size_t)k * (size_t)cols, at_most(rows - i, tile_rows),
				      cols, at_most(depth - k, tile_depth));
}

/* The chares make the parallelism; threads of a BLAS would compete with them. */
extern void openblas_set_num_threads(int n) __attribute__((weak));

void limit_blas_threads(void)
{
	if (openblas_set_num_threads)
		openblas_set_num_threads(1);
}
