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
 * With --aggregate N rank 0 puts N ints by hand into a buffer before each MPI_Send; rank 1 looks at
 * each. Then the names are kpings-aN-openmpi and so on.
 *
 * Ancestor: the hand-coded MPI of Figure 9 in the ARMI thesis, chapter V.
 */
#include "bench_mpi.h"

#include "../plan.h"

static const int K[] = { 1, 3, 10, 30, 100, 300, 1000, 3000, 10000 };
enum { N_K = sizeof K / sizeof K[0], FACTOR_MOST = 65536 };

static int factor = 1, buffer[FACTOR_MOST];

/* What rank 0 tells rank 1 before each run; k 0: the end. */
struct order {
	int64_t k, rows;
};

static void send_row(int left)
{
	int n = 0;

	while (left-- > 0) {
		buffer[n++] = left;
		if (n == factor || left == 0) {
			MPI_Send(buffer, n, MPI_INT, 1, 0, MPI_COMM_WORLD);
			n = 0;
		}
	}
}

static double ping(const struct series *s)
{
	struct order order = { (int64_t)s->parameter, s->count };
	int answer;

	MPI_Send(&order, sizeof order, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
	double t0 = bench_now_us();

	for (long row = 0; row < s->count; row++) {
		send_row((int)s->parameter);
		MPI_Recv(&answer, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	return bench_now_us() - t0;
}

static void receive_row(const struct order *order)
{
	for (int left = (int)order->k; left > 0;) {
		int n = left < factor ? left : factor;

		MPI_Recv(buffer, n, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		for (int i = 0; i < n; i++) {
			if (buffer[i] == --left)
				continue;
			fprintf(stderr, "kpings_mpi: %d came for %d\n", buffer[i], left);
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
	char by[16] = "";

	if (factor > 1)
		snprintf(by, sizeof by, "-a%d", factor);

	plan_init(plan, opt);
	for (int i = 0; i < N_K; i++)
		plan_add(plan, 0, (size_t)K[i]);
	while (plan_record(plan, ping(plan_current(plan))))
		;
	MPI_Send(&end, sizeof end, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
	for (int i = 0; i < N_K; i++) {
		double us = plan_us(plan, 0, (size_t)K[i]);

		printf("kpings%s-%s %d %.3f us\n", by, bench_mpi_library(), K[i], us);
		printf("kpings%s-each-%s %d %.1f ns\n", by, bench_mpi_library(), K[i],
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
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--aggregate") == 0 && i + 1 < argc)
			factor = (int)bench_number(argv[0], argv[i], argv[i + 1], 1, FACTOR_MOST), i++;
		else if (!plan_option(&opt, argc, argv, &i))
			bench_mpi_refuse("kpings_mpi: unknown option %s\n", argv[i]);
	}
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
