/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host: an MPI program with a phase of chares between two of its own, twice in a row. MPI's messages go on before,
 * during and after a phase. Started as MPI programs are; ckrun has no part in it.
 *
 *	mpirun -n 4 ./host [+p PEs of each process]
 */
#include <mpi.h>
#include <stdio.h>

#include "../embed.h"
#include "ck.h"

enum { RUNS = 2, LAST = 60000, TAG = 7 };

/* All that Chard needs of MPI. */
static int allgather(const void *mine, void *all, size_t bytes, void *comm)
{
	return MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, *(MPI_Comm *)comm);
}

static void abort_all(int code, void *comm)
{
	MPI_Abort(*(MPI_Comm *)comm, code);
}

/* A first phase of MPI: the first process says who counts what. */
static void scatter_ranges(MPI_Comm comm, int rank, int size, long range[2])
{
	long all[2 * size];

	for (int r = 0; rank == 0 && r < size; r++) {
		all[2 * r] = (long)LAST * r / size;
		all[2 * r + 1] = (long)LAST * (r + 1) / size;
	}
	MPI_Scatter(all, 2, MPI_LONG, range, 2, MPI_LONG, 0, comm);
}

/* The chares count while a message of MPI goes round. Whether both have worked. */
static bool chare_phase(MPI_Comm comm, int rank, int size, const long range[2])
{
	int sent = 100 + rank, got = -1, there = 0;
	MPI_Request r[2];
	MPI_Status status[2];

	embed_ask(range[0], range[1]);
	MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, TAG, comm, &r[0]);
	MPI_Isend(&sent, 1, MPI_INT, (rank + 1) % size, TAG, comm, &r[1]);
	while (!there) { /* a loop of the program's own, in which both make progress */
		if (CkProgress(4) < 0)
			return false;
		MPI_Testall(2, r, &there, status);
	}
	return CkRunUntil(&embed_done) && got == 100 + (rank + size - 1) % size;
}

/* A second phase of MPI: is the chares' answer that of all processes? */
static bool same_answer(MPI_Comm comm, const long range[2])
{
	const long mine = embed_count(range[0], range[1]);
	long sum;

	MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, comm);
	return sum == embed_answer;
}

int main(int argc, char **argv)
{
	int rank, size, given, ok = 1, all_ok;
	long range[2];
	MPI_Comm comm;

	/* Several PEs: CkAbort may call MPI_Abort on any of their threads. */
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	CkBoot boot = { .rank = rank, .size = size, .allgather = allgather, .arg = &comm,
			.abort = given == MPI_THREAD_MULTIPLE ? abort_all : NULL };

	for (int run = 0; run < RUNS; run++) {
		scatter_ranges(comm, rank, size, range);
		if (CkInit(&argc, &argv, &ck_module_embed, &boot))
			MPI_Abort(comm, 1);
		boot.pes = CkMyNodeSize(); /* the first run takes +p out of argv */
		ok &= chare_phase(comm, rank, size, range);
		ok &= CkFinalize() == 0;
		ok &= same_answer(comm, range);
	}
	MPI_Allreduce(&ok, &all_ok, 1, MPI_INT, MPI_MIN, comm);
	MPI_Comm_free(&comm);
	MPI_Finalize();
	if (rank == 0)
		printf("%d processes, %d runs, %ld primes: %s\n", size, RUNS, embed_answer, all_ok ? "checked" : "WRONG");
	return all_ok ? 0 : 1;
}
