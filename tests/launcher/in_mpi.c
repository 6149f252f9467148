/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_mpi.c: a whole run of tests/programs/broadcast.c between two phases of MPI, for others.sh. Says "both phases" once if
 * MPI works before and after it; "twice" as an argument runs Chard a second time.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "broadcast.decl.h"
#include "ckgen.h"

static int sum_of_ranks(void)
{
	int rank, sum = 0;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	return sum;
}

int main(int argc, char **argv)
{
	const int twice = argc > 1 && !strcmp(argv[1], "twice");
	char *own[] = {argv[0], NULL};
	int rank, size, before, after, code;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	before = sum_of_ranks();
	code = CkMain(1, own, &ck_module_broadcast);
	if (twice)
		code = CkMain(1, own, &ck_module_broadcast);
	after = sum_of_ranks();
	if (rank == 0 && before == after && before == size * (size - 1) / 2)
		puts("both phases");
	MPI_Finalize();
	return code;
}
