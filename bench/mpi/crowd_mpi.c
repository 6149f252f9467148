/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reference of bench/crowd.c: the same ring of cells, in blocks over the ranks. A rank sends
 * the values at its two ends, works on the cells that need nobody else's while those of its
 * neighbours travel, and then on the two at the ends.
 *
 *     mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none -n 16 \
 *         build/bench/mpi/crowd_mpi.openmpi
 *     mpiexec.hydra -n 16 build/bench/mpi/crowd_mpi.mpich
 *
 * Options: --cells n, --rounds n, --steps n, --reps n (default 3), --no-pin, --smoke. Ranks are
 * pinned only where each has a CPU of its own.
 * Prints `crowd-LIBRARY ranks milliseconds ms`, a median, without MPI_Init.
 */
#include "bench_mpi.h"

#include "crowd.h"

struct crowd {
	struct bench_options opt;
	int cells, rounds, steps;
	int rank, ranks, left, right;
	int n, first;
	uint32_t *now, *then; /* [n + 2]: the neighbours' values at both ends */
	uint32_t work_result;
};

static void work_on(struct crowd *c, int i)
{
	c->then[i] = crowd_next(c->now[i], c->now[i - 1] + c->now[i + 1], crowd_work(1, c->steps),
				c->work_result);
}

static void one_round(struct crowd *c)
{
	MPI_Request request[4];
	MPI_Status status[4];
	uint32_t *old = c->now;

	/* The tag is the direction: with two ranks both neighbours are the same one. */
	MPI_Irecv(&c->now[0], 1, MPI_UINT32_T, c->left, 1, MPI_COMM_WORLD, &request[0]);
	MPI_Irecv(&c->now[c->n + 1], 1, MPI_UINT32_T, c->right, 2, MPI_COMM_WORLD, &request[1]);
	MPI_Isend(&c->now[c->n], 1, MPI_UINT32_T, c->right, 1, MPI_COMM_WORLD, &request[2]);
	MPI_Isend(&c->now[1], 1, MPI_UINT32_T, c->left, 2, MPI_COMM_WORLD, &request[3]);
	for (int i = 2; i < c->n; i++)
		work_on(c, i);
	MPI_Waitall(4, request, status);
	work_on(c, 1);
	if (c->n > 1)
		work_on(c, c->n);
	c->now = c->then;
	c->then = old;
}

/* Milliseconds of all rounds. */
static double run(struct crowd *c)
{
	long sum = 0, all = 0;
	double t0;

	for (int i = 1; i <= c->n; i++)
		c->now[i] = crowd_first(c->first + i - 1);
	MPI_Barrier(MPI_COMM_WORLD);
	t0 = bench_now_us();
	for (int r = 0; r < c->rounds; r++)
		one_round(c);
	for (int i = 1; i <= c->n; i++)
		sum += c->now[i];
	MPI_Reduce(&sum, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
	if (c->rank == 0 && all != crowd_answer(c->cells, c->rounds)) {
		fprintf(stderr, "crowd_mpi: the cells add up to %ld, which is wrong\n", all);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return (bench_now_us() - t0) / 1000;
}

static void parse(struct crowd *c, int argc, char **argv)
{
	bench_options_init(&c->opt);
	c->opt.repeats = 3;
	c->cells = CROWD_CELLS;
	c->rounds = CROWD_ROUNDS;
	c->steps = CROWD_STEPS;
	for (int i = 1; i < argc; i++) {
		const char *name = argv[i];

		if (!strcmp(name, "--smoke")) {
			c->opt.repeats = 1;
			c->cells = CROWD_CELLS_SMOKE;
			c->rounds = CROWD_ROUNDS_SMOKE;
		} else if (!strcmp(name, "--cells")) {
			c->cells = (int)bench_number(argv[0], name, argv[++i], 1, 1000000);
		} else if (!strcmp(name, "--rounds")) {
			c->rounds = (int)bench_number(argv[0], name, argv[++i], 1, 1000000);
		} else if (!strcmp(name, "--steps")) {
			c->steps = (int)bench_number(argv[0], name, argv[++i], 1, 100000000);
		} else if (!bench_option(&c->opt, argc, argv, &i)) {
			bench_mpi_refuse("usage: %s [--cells n] [--rounds n] [--steps n] "
					 "[--reps n] [--no-pin] [--smoke]\n",
					 argv[0]);
		}
	}
}

static void lay_out(struct crowd *c)
{
	int each = c->cells / c->ranks, more = c->cells % c->ranks;

	c->n = each + (c->rank < more);
	c->first = c->rank * each + (c->rank < more ? c->rank : more);
	c->left = (c->rank + c->ranks - 1) % c->ranks;
	c->right = (c->rank + 1) % c->ranks;
	c->now = bench_alloc(((size_t)c->n + 2) * sizeof *c->now);
	c->then = bench_alloc(((size_t)c->n + 2) * sizeof *c->then);
	c->work_result = crowd_work(1, c->steps);
}

int main(int argc, char **argv)
{
	struct crowd c;
	struct bench_cpus cpus;
	double ms[BENCH_REPEATS_MAX];

	MPI_Init(&argc, &argv);
	parse(&c, argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &c.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &c.ranks);
	if (c.ranks > c.cells)
		bench_mpi_refuse("crowd_mpi: %d ranks, but only %d cells\n", c.ranks, c.cells);
	bench_cpus_get(&cpus);
	if (c.opt.pin && c.ranks <= cpus.n)
		bench_mpi_pin(c.rank);
	lay_out(&c);
	for (int r = 0; r < c.opt.repeats; r++)
		ms[r] = run(&c);
	if (c.rank == 0)
		printf("crowd-%s %d %.2f ms\n", bench_mpi_library(), c.ranks,
		       bench_median(ms, c.opt.repeats));
	free(c.now);
	free(c.then);
	MPI_Finalize();
	return 0;
}
