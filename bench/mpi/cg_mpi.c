/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hand-written MPI program that examples/cg is measured against: conjugate gradients on the
 * same matrix, with the same loops (examples/cg/rows.h).
 *
 * Each rank has a range of the rows. In an iteration it starts persistent sends of its part of p to
 * the ranks whose rows touch it, and receives theirs where the matrix reads them; two allreduces
 * follow. Nothing is packed.
 *
 *     cg_mpi NX NY NZ [--digits D] [--repeat R] [--no-pin]
 *
 * Prints
 *
 *     cg-mpi iter_us <microseconds per iteration, over all repeats>
 *     cg-mpi iterations <of one solution>
 *     cg-mpi residual <the length of r over that of b>
 *
 *     mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none -n 2
 *     build/bench/mpi/cg_mpi.openmpi 64 64 1 mpiexec.hydra -n 2 build/bench/mpi/cg_mpi.mpich 64 64
 *     1
 */
#include "bench_mpi.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../examples/cg/rows.h"

enum { SIDE_MAX = 1000, DIGITS_MAX = 12, REPEATS_MAX = 100000, SEED = 1 };

struct cg {
	struct grid grid;
	long digits, repeats;
	bool pin;
	int rank, ranks;
	struct rows rows;
	double *p, *x, *r, *q;          /* as in examples/cg */
	MPI_Request *receives, *sends;
	MPI_Status *statuses;
	int n;                          /* of each */
	double first_rho, rho;
	long iterations;
};

static void usage(const char *program)
{
	bench_mpi_refuse("usage: %s NX NY NZ [--digits D] [--repeat R] [--no-pin]\n", program);
}

static void parse(struct cg *c, int argc, char **argv)
{
	*c = (struct cg){ .digits = 8, .repeats = 1, .pin = true };
	if (argc < 4)
		usage(argv[0]);
	c->grid.nx = bench_number(argv[0], "NX", argv[1], 1, SIDE_MAX);
	c->grid.ny = bench_number(argv[0], "NY", argv[2], 1, SIDE_MAX);
	c->grid.nz = bench_number(argv[0], "NZ", argv[3], 1, SIDE_MAX);
	for (int i = 4; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		if (!strcmp(argv[i], "--no-pin"))
			c->pin = false;
		else if (!strcmp(argv[i], "--digits"))
			c->digits = bench_number(argv[0], "--digits", value, 1, DIGITS_MAX), i++;
		else if (!strcmp(argv[i], "--repeat"))
			c->repeats = bench_number(argv[0], "--repeat", value, 1, REPEATS_MAX), i++;
		else
			usage(argv[0]);
	}
}

/* The other rank's part of p that our rows touch, and our part that its rows touch. */
static void connect_to(struct cg *c, int other)
{
	const struct range rows = grid_part(c->grid, other, c->ranks);
	const struct range in = range_both(c->rows.columns, rows);
	const struct range out = range_both(c->rows.rows, grid_columns(c->grid, rows));
	double *first = c->p - c->rows.columns.first;

	if (other == c->rank || range_length(in) <= 0)
		return;
	MPI_Recv_init(first + in.first, (int)range_length(in), MPI_DOUBLE, other, 0, MPI_COMM_WORLD,
		      &c->receives[c->n]);
	MPI_Send_init(first + out.first, (int)range_length(out), MPI_DOUBLE, other, 0, MPI_COMM_WORLD,
		      &c->sends[c->n++]);
}

static void create(struct cg *c)
{
	struct range rows;
	size_t own_bytes;

	MPI_Comm_rank(MPI_COMM_WORLD, &c->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &c->ranks);
	if (c->pin)
		bench_mpi_pin(c->rank);
	rows = grid_part(c->grid, c->rank, c->ranks);
	if (!rows_init(&c->rows, c->grid, rows))
		bench_mpi_refuse("cg_mpi: no memory for %ld rows\n", range_length(rows));
	own_bytes = (size_t)range_length(rows) * sizeof(double);
	c->p = bench_alloc((size_t)range_length(c->rows.columns) * sizeof(double));
	c->x = bench_alloc(own_bytes);
	c->r = bench_alloc(own_bytes);
	c->q = bench_alloc(own_bytes);
	c->receives = bench_alloc((size_t)c->ranks * sizeof(MPI_Request));
	c->sends = bench_alloc((size_t)c->ranks * sizeof(MPI_Request));
	c->statuses = bench_alloc((size_t)c->ranks * sizeof(MPI_Status));
	for (int i = 0; i < c->ranks; i++)
		connect_to(c, i);
}

static void destroy(struct cg *c)
{
	for (int i = 0; i < c->n; i++) {
		MPI_Request_free(&c->receives[i]);
		MPI_Request_free(&c->sends[i]);
	}
	rows_fini(&c->rows);
	free(c->p);
	free(c->x);
	free(c->r);
	free(c->q);
	free(c->receives);
	free(c->sends);
	free(c->statuses);
}

static double sum_of(double part)
{
	double sum;

	MPI_Allreduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	return sum;
}

/* p is sent again only after two allreduces, so all sends are complete by then. */
static double multiply(struct cg *c)
{
	MPI_Startall(c->n, c->receives);
	MPI_Startall(c->n, c->sends);
	MPI_Waitall(c->n, c->receives, c->statuses);
	return rows_multiply(&c->rows, c->p, c->q);
}

static void solve(struct cg *c)
{
	const long n = range_length(c->rows.rows);
	const double less = pow(10, (double)(-2 * c->digits));
	double *own = c->p + rows_own(&c->rows), beta = 0;

	c->first_rho = c->rho = sum_of(rows_begin(&c->rows, SEED, c->x, c->r));
	for (c->iterations = 0;; c->iterations++) {
		double p_a_p, rho;

		rows_turn(n, beta, c->r, own);
		if (c->rho <= c->first_rho * less)
			break;
		p_a_p = sum_of(multiply(c));
		rho = sum_of(rows_step(n, c->rho / p_a_p, own, c->q, c->x, c->r));
		MPI_Waitall(c->n, c->sends, c->statuses);
		beta = rho / c->rho;
		c->rho = rho;
	}
}

int main(int argc, char **argv)
{
	struct cg c;
	double us;

	MPI_Init(&argc, &argv);
	parse(&c, argc, argv);
	create(&c);
	MPI_Barrier(MPI_COMM_WORLD);
	us = bench_now_us();
	for (long i = 0; i < c.repeats; i++)
		solve(&c);
	us = bench_now_us() - us;
	if (c.rank == 0)
		printf("cg-mpi iter_us %.3f\ncg-mpi iterations %ld\ncg-mpi residual %.1e\n",
		       us / (double)(c.iterations * c.repeats), c.iterations, sqrt(c.rho / c.first_rho));
	destroy(&c);
	MPI_Finalize();
	return 0;
}
