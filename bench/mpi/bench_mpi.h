/* SPDX-License-Identifier: Apache-2.0 */
/* What the MPI reference programs share beyond bench.h: pinning by rank, the library's name, and
 * refusing bad arguments. */
#ifndef CHARD_BENCH_MPI_H
#define CHARD_BENCH_MPI_H

#include "bench.h"

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Pin this rank to a CPU of its own where there are enough. A launcher that has bound the rank
 * already left it one CPU to choose from. */
static inline void bench_mpi_pin(int rank)
{
	struct bench_cpus cpus;

	bench_cpus_get(&cpus);
	bench_pin(&cpus, rank);
}

/* What the lines call this library. */
static inline const char *bench_mpi_library(void)
{
	char version[MPI_MAX_LIBRARY_VERSION_STRING];
	int len;

	MPI_Get_library_version(version, &len);
	if (strstr(version, "Open MPI"))
		return "openmpi";
	return strstr(version, "MPICH") ? "mpich" : "mpi";
}

/* Called by all ranks, which agree that they cannot go on: rank 0 says why and ends the job,
 * while the others wait for that, so that the line comes once. */
__attribute__((format(printf, 1, 2))) _Noreturn static inline void
bench_mpi_refuse(const char *format, ...)
{
	int rank;
	va_list args;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0) {
		va_start(args, format);
		vfprintf(stderr, format, args);
		va_end(args);
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	exit(2);
}

#endif
