/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The MPI program beside examples/halo: Jacobi's method for Poisson's equation on a ring of strips,
 * one for each rank. In each step two receives and two sends, then the whole strip.
 *
 *     halo_mpi ROWS COLUMNS STEPS [--no-compute]
 *
 * Prints
 *
 *     halo-<library> <ranks> <microseconds per step, slowest rank> us
 *     halo: ..., sum <of the final field>
 */
#include "bench_mpi.h"

struct strip {
	long rows, columns;
	double *u[2], *f;
	int above, below;
};

static double *get(long n)
{
	double *p = calloc((size_t)n, sizeof *p);

	if (!p)
		bench_mpi_refuse("halo_mpi: no memory\n");
	return p;
}

static void exchange(const struct strip *s, double *u)
{
	const int n = (int)s->columns;
	MPI_Request requests[4];
	MPI_Status statuses[4];

	MPI_Irecv(u, n, MPI_DOUBLE, s->above, 0, MPI_COMM_WORLD, &requests[0]);
	MPI_Irecv(u + (s->rows + 1) * n, n, MPI_DOUBLE, s->below, 1, MPI_COMM_WORLD, &requests[1]);
	MPI_Isend(u + n, n, MPI_DOUBLE, s->above, 1, MPI_COMM_WORLD, &requests[2]);
	MPI_Isend(u + s->rows * n, n, MPI_DOUBLE, s->below, 0, MPI_COMM_WORLD, &requests[3]);
	MPI_Waitall(4, requests, statuses);
}

static void compute_row(long columns, double *restrict next, const double *here, const double *f)
{
	const double *up = here - columns, *down = here + columns;

	for (long c = 1; c < columns - 1; c++)
		next[c] = 0.25 * (up[c] + down[c] + here[c - 1] + here[c + 1] - f[c]);
}

static void compute(const struct strip *s, double *next, const double *u)
{
	for (long row = 1; row <= s->rows; row++)
		compute_row(s->columns, next + row * s->columns, u + row * s->columns, s->f + row * s->columns);
}

static void begin(struct strip *s, int rank, int ranks)
{
	s->above = (rank + ranks - 1) % ranks;
	s->below = (rank + 1) % ranks;
	for (int i = 0; i < 2; i++)
		s->u[i] = get((s->rows + 2) * s->columns);
	s->f = get((s->rows + 2) * s->columns);
	for (long i = s->columns; i < (s->rows + 1) * s->columns; i++)
		s->u[0][i] = s->f[i] = (double)((i * 37 + rank) % 101) / 101;
}

/* The result is how many seconds it took. */
static double run(const struct strip *s, long steps, bool computes)
{
	double began;

	MPI_Barrier(MPI_COMM_WORLD);
	began = MPI_Wtime();
	for (long step = 0; step < steps; step++) {
		exchange(s, s->u[step % 2]);
		if (computes)
			compute(s, s->u[(step + 1) % 2], s->u[step % 2]);
	}
	return MPI_Wtime() - began;
}

int main(int argc, char **argv)
{
	struct strip s = {0};
	int rank, ranks;
	double mine[2] = {0}, all[2];
	long steps;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc < 4 || (s.rows = atol(argv[1])) < 1 || (s.columns = atol(argv[2])) < 1 ||
	    (steps = atol(argv[3])) < 1)
		bench_mpi_refuse("Usage: halo_mpi ROWS COLUMNS STEPS [--no-compute]\n");
	bench_mpi_pin(rank);
	begin(&s, rank, ranks);
	mine[0] = run(&s, steps, argc == 4);
	MPI_Reduce(&mine[0], &all[0], 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	for (long i = s.columns; i < (s.rows + 1) * s.columns; i++)
		mine[1] += s.u[steps % 2][i];
	MPI_Reduce(&mine[1], &all[1], 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("halo-%s %d %.3f us\nhalo: %ld rows of %ld points on each, sum %.6f\n",
		       bench_mpi_library(), ranks, all[0] * 1e6 / (double)steps, s.rows, s.columns, all[1]);
	for (int i = 0; i < 2; i++)
		free(s.u[i]);
	free(s.f);
	MPI_Finalize();
	return 0;
}
