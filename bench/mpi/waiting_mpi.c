/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reference of bench/waiting.c: rank 0 computes, and all others wait in MPI_Bcast.
 *
 *     mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none -n 4 \
 *         build/bench/mpi/waiting_mpi.openmpi
 *     mpiexec.hydra -n 4 build/bench/mpi/waiting_mpi.mpich
 *
 * Options: --ms n (default 2000), --smoke.
 * Prints `waiting-LIBRARY ranks seconds s`: user and system time of a rank that waits, the mean of
 * all, for one second of waiting.
 */
#include "bench_mpi.h"

#include <string.h>

int main(int argc, char **argv)
{
	int rank, ranks, answer = 0, milliseconds = 2000;
	double before, taken, all = 0, t0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--smoke"))
			milliseconds = 20;
		else if (!strcmp(argv[i], "--ms") && i + 1 < argc)
			milliseconds = (int)bench_number(argv[0], "--ms", argv[++i], 1, 1000000);
		else
			bench_mpi_refuse("usage: %s [--ms n] [--smoke]\n", argv[0]);
	}
	if (ranks < 2)
		bench_mpi_refuse("waiting_mpi: give it two ranks or more\n");
	MPI_Barrier(MPI_COMM_WORLD);
	t0 = bench_now_us();
	before = bench_seconds_taken(false);
	if (rank == 0)
		bench_compute(milliseconds * 1000.0);
	MPI_Bcast(&answer, 1, MPI_INT, 0, MPI_COMM_WORLD);
	taken = rank ? bench_seconds_taken(false) - before : 0;
	MPI_Reduce(&taken, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("waiting-%s %d %.3f s\n", bench_mpi_library(), ranks,
		       all / (ranks - 1) / ((bench_now_us() - t0) / 1e6));
	MPI_Finalize();
	return 0;
}
