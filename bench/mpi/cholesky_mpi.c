/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What examples/cholesky is measured against: ScaLAPACK's pdpotrf, on the same matrix, by the same
 * BLAS with one thread.
 *
 *     cholesky_mpi N [--width W] [--rows R] [--repeat K] [--no-pin]
 *
 * The matrix is dealt in blocks of W to a grid of R rows of ranks. It is factored once more than
 * --repeat says, and the first time does not count. Prints
 *
 *     cholesky-mpi us <microseconds, mean of the repeats>
 *     cholesky-mpi trace <sum of the factor's diagonal>
 *
 *     mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none -n 2 \
 *         build/bench/mpi/cholesky_mpi.openmpi 1536 --width 64 --rows 2
 *     mpiexec.hydra -n 2 build/bench/mpi/cholesky_mpi.mpich 1536 --width 64 --rows 2
 */
#include "bench_mpi.h"

#include <stdio.h>
#include <string.h>

#include "../../examples/random.h"

enum { N_MAX = 20000, REPEATS_MAX = 1000, SEED = 1 };

extern void Cblacs_get(int context, int what, int *value);
extern void Cblacs_gridinit(int *context, const char *order, int rows, int columns);
extern void Cblacs_gridinfo(int context, int *rows, int *columns, int *row, int *column);
extern void Cblacs_gridexit(int context);
extern int numroc_(const int *n, const int *width, const int *me, const int *first, const int *all);
extern void descinit_(int *desc, const int *m, const int *n, const int *mb, const int *nb,
		      const int *row, const int *column, const int *context, const int *gap,
		      int *info);
extern void pdpotrf_(const char *half, const int *n, double *a, const int *ia, const int *ja,
		     const int *desc, int *info);
extern void openblas_set_num_threads(int n) __attribute__((weak));

struct cholesky {
	int n, width, repeats;
	bool pin;
	int rank, ranks;
	int rows, columns, row, column; /* of the grid, and our place */
	int n_rows, n_columns;          /* of our part */
	int desc[9];
	double *a;
};

static void usage(const char *program)
{
	bench_mpi_refuse("usage: %s N [--width W] [--rows R] [--repeat K] [--no-pin]\n", program);
}

static void parse(struct cholesky *c, int argc, char **argv)
{
	*c = (struct cholesky){ .width = 64, .rows = 1, .repeats = 1, .pin = true };
	if (argc < 2)
		usage(argv[0]);
	c->n = (int)bench_number(argv[0], "N", argv[1], 1, N_MAX);
	for (int i = 2; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		if (!strcmp(argv[i], "--no-pin"))
			c->pin = false;
		else if (!strcmp(argv[i], "--width"))
			c->width = (int)bench_number(argv[0], "--width", value, 1, N_MAX), i++;
		else if (!strcmp(argv[i], "--rows"))
			c->rows = (int)bench_number(argv[0], "--rows", value, 1, 1000), i++;
		else if (!strcmp(argv[i], "--repeat"))
			c->repeats = (int)bench_number(argv[0], "--repeat", value, 1, REPEATS_MAX), i++;
		else
			usage(argv[0]);
	}
}

static void create(struct cholesky *c)
{
	const int zero = 0;
	int context, info;

	MPI_Comm_rank(MPI_COMM_WORLD, &c->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &c->ranks);
	if (c->pin)
		bench_mpi_pin(c->rank);
	if (openblas_set_num_threads)
		openblas_set_num_threads(1);
	if (c->ranks % c->rows)
		bench_mpi_refuse("cholesky_mpi: %d ranks make no grid of %d rows\n", c->ranks, c->rows);
	Cblacs_get(-1, 0, &context);
	Cblacs_gridinit(&context, "Row", c->rows, c->ranks / c->rows);
	Cblacs_gridinfo(context, &c->rows, &c->columns, &c->row, &c->column);
	c->n_rows = numroc_(&c->n, &c->width, &c->row, &zero, &c->rows);
	c->n_columns = numroc_(&c->n, &c->width, &c->column, &zero, &c->columns);
	c->a = bench_alloc(((size_t)c->n_rows * (size_t)c->n_columns + 1) * sizeof *c->a);
	descinit_(c->desc, &c->n, &c->n, &c->width, &c->width, &zero, &zero, &context,
		  c->n_rows ? &c->n_rows : &(int){ 1 }, &info);
	if (info)
		bench_mpi_refuse("cholesky_mpi: ScaLAPACK refuses the matrix: %d\n", info);
}

/* The row or column of the matrix that is number i of a part. */
static long global(const struct cholesky *c, int i, int me, int all)
{
	return ((long)(i / c->width) * all + me) * c->width + i % c->width;
}

/* As in examples/cholesky. */
static double element(const struct cholesky *c, long row, long column)
{
	const long i = row > column ? row : column, j = row > column ? column : row;

	if (i == j)
		return c->n;
	return (double)(int64_t)random_at(SEED, (uint64_t)(i * c->n + j)) * 0x1p-63;
}

static void fill(struct cholesky *c)
{
	double *a = c->a;

	for (int j = 0; j < c->n_columns; j++)
		for (int i = 0; i < c->n_rows; i++)
			*a++ = element(c, global(c, i, c->row, c->rows),
				       global(c, j, c->column, c->columns));
}

static double timed_factor(struct cholesky *c)
{
	const int one = 1;
	int info;
	double began;

	fill(c);
	MPI_Barrier(MPI_COMM_WORLD);
	began = bench_now_us();
	pdpotrf_("L", &c->n, c->a, &one, &one, c->desc, &info);
	MPI_Barrier(MPI_COMM_WORLD);
	if (info)
		bench_mpi_refuse("cholesky_mpi: the matrix has no factor: %d\n", info);
	return bench_now_us() - began;
}

static double trace(const struct cholesky *c)
{
	double sum = 0, all;

	for (int j = 0; j < c->n_columns; j++)
		for (int i = 0; i < c->n_rows; i++)
			if (global(c, i, c->row, c->rows) == global(c, j, c->column, c->columns))
				sum += c->a[(size_t)j * (size_t)c->n_rows + (size_t)i];
	MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	return all;
}

int main(int argc, char **argv)
{
	struct cholesky c;
	double us = 0, sum;

	MPI_Init(&argc, &argv);
	parse(&c, argc, argv);
	create(&c);
	timed_factor(&c);
	for (int i = 0; i < c.repeats; i++)
		us += timed_factor(&c);
	sum = trace(&c);
	if (c.rank == 0)
		printf("cholesky-mpi us %.3f\ncholesky-mpi trace %.12g\n", us / c.repeats, sum);
	Cblacs_gridexit(c.desc[1]);
	free(c.a);
	MPI_Finalize();
	return 0;
}
