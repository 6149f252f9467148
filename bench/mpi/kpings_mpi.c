/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/kpings.c through MPI: k messages of one int by MPI_Send, received one by one with
 * MPI_Recv, then one answer.
 *
 *	mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none -n 2 \
 *		build/bench/mpi/kpings_mpi.openmpi
 *	mpiexec.hydra -n 2 build/bench/mpi/kpings_mpi.mpich
 *
 * Options: --reps, --no-pin, and --smoke for one short run.
 * Prints `name k value unit`, medians; "mpich" instead of "openmpi" with that:
 *	kpings-openmpi       us   from before the first message until the answer has come
 *	kpings-each-openmpi  ns   the same, divided by k
 *
 * Ancestor: the hand-coded MPI of Figure 9 in the ARMI thesis, chapter V.
 */
#include "bench_mpi.h"

#include "../plan.h"

static const int K[] = { 1, 3, 10, 30, 100, 300, 1000, 3000, 10000 };
enum { N_K = sizeof K / sizeof K[0] };

/* What rank 0 tells rank 1 before each run; k 0: the end. */
struct order {
	int64_t k, rows;
};

static double ping(const struct series *s)
{
	struct order order = { (int64_t)s->parameter, s->count };
	int answer;

	MPI_Send(&order, sizeof order, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
	double t0 = bench_now_us();

	for (long row = 0; row < s->count; row++) {
		for (int left = (int)s->parameter; left-- > 0;)
			MPI_Send(&left, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
		MPI_Recv(&answer, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	return bench_now_us() - t0;
}

static void receive_row(const struct order *order)
{
	for (int left = (int)order->k; left-- > 0;) {
		int got;

		MPI_Recv(&got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (got != left) {
			fprintf(stderr, "kpings_mpi: message %d came for %d\n", got, left);
			MPI_Abort(MPI_COMM_WORLD, 1);
		}
	}
	MPI_Send(&(int){ 0 }, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
}

static void pong(void)
{
	struct order order;

	for (;;) {
		MPI_Recv(&order, sizeof order, MPI_BYTE, 0, 0, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
		if (!order.k)
			return;
		for (int64_t row = 0; row < order.rows; row++)
			receive_row(&order);
	}
}

static void measure(const struct plan_options *opt)
{
	struct plan *plan = bench_alloc(sizeof *plan);
	struct order end = { 0, 0 };

	plan_init(plan, opt);
	for (int i = 0; i < N_K; i++)
		plan_add(plan, 0, (size_t)K[i]);
	while (plan_record(plan, ping(plan_current(plan))))
		;
	MPI_Send(&end, sizeof end, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
	for (int i = 0; i < N_K; i++) {
		double us = plan_us(plan, 0, (size_t)K[i]);

		printf("kpings-%s %d %.3f us\n", bench_mpi_library(), K[i], us);
		printf("kpings-each-%s %d %.1f ns\n", bench_mpi_library(), K[i],
		       us * 1000 / K[i]);
	}
	free(plan);
}

int main(int argc, char **argv)
{
	struct plan_options opt;
	int ranks, rank;

	MPI_Init(&argc, &argv);
	plan_options_init(&opt, NULL, 0);
	for (int i = 1; i < argc; i++)
		if (!plan_option(&opt, argc, argv, &i))
			bench_mpi_refuse("kpings_mpi: unknown option %s\n", argv[i]);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (ranks != 2)
		bench_mpi_refuse("kpings_mpi: has %d ranks: start it with -n 2\n", ranks);
	if (opt.common.pin)
		bench_mpi_pin(rank);
	if (rank == 0)
		measure(&opt);
	else
		pong();
	MPI_Finalize();
	return 0;
}
