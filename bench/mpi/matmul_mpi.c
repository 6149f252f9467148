/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hand-written MPI program that examples/matmul is measured against: C = A B for N x N
 * doubles with the 3-D decomposition of section 4.2 of the CkDirect paper (Agarwal et al., IBM J.
 * R&D 39(5), 1995).
 *
 * p x p x p ranks; rank (x, y, z) multiplies block A(x, y) by block B(y, z), a share of block
 * C(x, z). Before an iteration each block is spread over the ranks that will need it, cut into p
 * slices of rows:
 *
 *     A(x, y) over z, B(y, z) over x; afterwards C(x, z) over y.
 *
 * So an iteration is: all-gather A along z, all-gather B along x, one dgemm, reduce-scatter C
 * along y. A slice of rows of a block is contiguous, hence nothing is packed.
 *
 *     matmul_mpi N ITERATIONS [--no-verify] [--no-pin]        N a multiple of p * p
 *
 * runs on 1, 8, 27, ... ranks (dgemm is single-threaded) and prints
 *
 *     matmul-mpi iter_us <median over the iterations of the slowest rank's time, in microseconds>
 *     matmul-mpi sum <sum of the elements of C>
 *     matmul-mpi verified
 *
 * Each rank verifies its slice of C against one dgemm over the whole rows of A and columns of B.
 *
 *     mpicc.openmpi -std=c11 -D_GNU_SOURCE -O2 -Ibench $(pkg-config --cflags openblas) \
 *         -o build/bench/mpi/matmul_mpi.openmpi bench/mpi/matmul_mpi.c bench/bench.c -lopenblas -lm
 *     mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none -n 8 \
 *         build/bench/mpi/matmul_mpi.openmpi 1024 10
 *     mpicc.mpich ... -o build/bench/mpi/matmul_mpi.mpich ...
 *     mpiexec.hydra -n 8 build/bench/mpi/matmul_mpi.mpich 1024 10
 */
#include "bench_mpi.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { X, Y, Z, AXES, N_MAX = 32768, ITERATIONS_MAX = 1000 };

struct matmul {
	int n, iterations;
	bool verify, pin;
	int rank, p;
	int at[AXES];
	MPI_Comm cube;
	MPI_Comm line[AXES]; /* line[a]: the ranks that differ from this one along a only */
	int block;                 /* rows and columns of a block: n / p */
	int slice;                 /* rows of a slice: block / p         */
	double *a_slice, *b_slice, *c_slice;
	double *a, *b, *c; /* whole blocks */
};

/* Elements of the operands, small and of both signs so that errors do not hide in a large sum. */
static double element_a(int row, int column)
{
	return (double)((row * 7 + column * 3) % 17 - 8) / 8.0;
}

static double element_b(int row, int column)
{
	return (double)((row * 5 + column * 11) % 19 - 9) / 9.0;
}

static void fill(double *m, int rows, int columns, int row0, int column0,
		 double (*element)(int, int))
{
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < columns; j++)
			m[(size_t)i * (size_t)columns + (size_t)j] =
				element(row0 + i, column0 + j);
}

/* c = a b, all row-major and without gaps. */
static void multiply(int rows, int columns, int inner, const double *a, const double *b, double *c)
{
	cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, columns, inner, 1.0, a, inner,
		    b, columns, 0.0, c, columns);
}

static double *matrix(int rows, int columns)
{
	return bench_alloc((size_t)rows * (size_t)columns * sizeof(double));
}

static void iterate(struct matmul *m)
{
	const int slice_elements = m->slice * m->block;

	MPI_Allgather(m->a_slice, slice_elements, MPI_DOUBLE, m->a, slice_elements, MPI_DOUBLE,
		      m->line[Z]);
	MPI_Allgather(m->b_slice, slice_elements, MPI_DOUBLE, m->b, slice_elements, MPI_DOUBLE,
		      m->line[X]);
	multiply(m->block, m->block, m->block, m->a, m->b, m->c);
	MPI_Reduce_scatter_block(m->c, m->c_slice, slice_elements, MPI_DOUBLE, MPI_SUM,
				 m->line[Y]);
}

/* Microseconds per iteration, at rank 0. An iteration before lets the library connect. */
static double timed_iterations(struct matmul *m)
{
	double us[ITERATIONS_MAX];

	iterate(m);
	for (int i = 0; i < m->iterations; i++) {
		MPI_Barrier(m->cube);
		double mine = bench_now_us();
		iterate(m);
		mine = bench_now_us() - mine;
		MPI_Reduce(&mine, &us[i], 1, MPI_DOUBLE, MPI_MAX, 0, m->cube);
	}
	return m->rank == 0 ? bench_median(us, m->iterations) : 0;
}

/* How far this rank's slice of C is from one serial dgemm, at most. */
static double slice_error(const struct matmul *m)
{
	double *a = matrix(m->slice, m->n), *b = matrix(m->n, m->block);
	double *c = matrix(m->slice, m->block), error = 0;

	fill(a, m->slice, m->n, m->at[X] * m->block + m->at[Y] * m->slice, 0, element_a);
	fill(b, m->n, m->block, 0, m->at[Z] * m->block, element_b);
	multiply(m->slice, m->block, m->n, a, b, c);
	for (size_t i = 0; i < (size_t)m->slice * (size_t)m->block; i++)
		error = fmax(error, fabs(c[i] - m->c_slice[i]));
	free(a);
	free(b);
	free(c);
	return error;
}

/* All ranks learn whether C is right: two orders of addition of n products of size <= 1 may
 * differ by some n * n roundings of the unit, and any misplaced element differs by far more. */
static bool verified(const struct matmul *m)
{
	double mine = slice_error(m), worst;
	double allowed = 1e-16 * (double)m->n * (double)m->n;

	MPI_Allreduce(&mine, &worst, 1, MPI_DOUBLE, MPI_MAX, m->cube);
	if (m->rank == 0 && worst <= allowed)
		printf("matmul-mpi verified\n");
	else if (m->rank == 0)
		fprintf(stderr, "matmul_mpi: C differs from a serial dgemm by %g\n", worst);
	return worst <= allowed;
}

static double c_sum(const struct matmul *m)
{
	double mine = 0, sum = 0;

	for (size_t i = 0; i < (size_t)m->slice * (size_t)m->block; i++)
		mine += m->c_slice[i];
	MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, m->cube);
	return sum;
}

static void parse(struct matmul *m, int argc, char **argv)
{
	int n = 0;

	m->verify = m->pin = true;
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--no-verify"))
			m->verify = false;
		else if (!strcmp(argv[i], "--no-pin"))
			m->pin = false;
		else if (++n == 1)
			m->n = (int)bench_number(argv[0], "N", argv[i], 1, N_MAX);
		else
			m->iterations = (int)bench_number(argv[0], "ITERATIONS", argv[i], 1,
							  ITERATIONS_MAX);
	}
	if (n != 2)
		bench_mpi_refuse("usage: %s N ITERATIONS [--no-verify] [--no-pin]\n", argv[0]);
}

static void cube_create(struct matmul *m)
{
	int ranks, sides[AXES];
	const int periods[AXES] = {0, 0, 0};

	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (m->p = 1; m->p * m->p * m->p < ranks; m->p++)
		;
	if (m->p * m->p * m->p != ranks)
		bench_mpi_refuse("matmul_mpi: needs 1, 8, 27, ... ranks, has %d\n", ranks);
	if (m->n % (m->p * m->p))
		bench_mpi_refuse("matmul_mpi: N = %d is not a multiple of %d * %d\n", m->n, m->p,
				 m->p);
	sides[X] = sides[Y] = sides[Z] = m->p;
	MPI_Cart_create(MPI_COMM_WORLD, AXES, sides, periods, 0, &m->cube);
	MPI_Comm_rank(m->cube, &m->rank);
	MPI_Cart_coords(m->cube, m->rank, AXES, m->at);
	for (int axis = 0; axis < AXES; axis++) {
		const int keep[AXES] = {axis == X, axis == Y, axis == Z};
		MPI_Cart_sub(m->cube, keep, &m->line[axis]);
	}
}

static void blocks_create(struct matmul *m)
{
	m->block = m->n / m->p;
	m->slice = m->block / m->p;
	m->a = matrix(m->block, m->block);
	m->b = matrix(m->block, m->block);
	m->c = matrix(m->block, m->block);
	m->a_slice = matrix(m->slice, m->block);
	m->b_slice = matrix(m->slice, m->block);
	m->c_slice = matrix(m->slice, m->block);
	fill(m->a_slice, m->slice, m->block, m->at[X] * m->block + m->at[Z] * m->slice,
	     m->at[Y] * m->block, element_a);
	fill(m->b_slice, m->slice, m->block, m->at[Y] * m->block + m->at[X] * m->slice,
	     m->at[Z] * m->block, element_b);
}

static void matmul_destroy(struct matmul *m)
{
	free(m->a);
	free(m->b);
	free(m->c);
	free(m->a_slice);
	free(m->b_slice);
	free(m->c_slice);
	for (int axis = 0; axis < AXES; axis++)
		MPI_Comm_free(&m->line[axis]);
	MPI_Comm_free(&m->cube);
}

int main(int argc, char **argv)
{
	struct matmul m;
	bool good = true;

	MPI_Init(&argc, &argv);
	openblas_set_num_threads(1);
	parse(&m, argc, argv);
	cube_create(&m);
	if (m.pin)
		bench_mpi_pin(m.rank);
	blocks_create(&m);
	double us = timed_iterations(&m);
	double sum = c_sum(&m);
	if (m.rank == 0)
		printf("matmul-mpi iter_us %.3f\nmatmul-mpi sum %.17g\n", us, sum);
	if (m.verify)
		good = verified(&m);
	matmul_destroy(&m);
	MPI_Finalize();
	return good ? 0 : 1;
}
