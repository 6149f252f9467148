/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reference of farm.c: the same farm, as one would write it with MPI, with a tag for each kind
 * of message. The manager receives whatever comes next, and so do workers.
 *
 *     mpiexec.hydra -n 2 build/bench/lab/farm_mpi.mpich
 *     mpirun.openmpi --allow-run-as-root -n 2 build/bench/lab/farm_mpi.openmpi
 */
#include "bench_mpi.h"

#include "farm.h"

enum { WANTS, PING, RESULT, TASK, PONG, END, TIMES };

static struct farm farm;
static int rank, ranks;

/* Forgets the sends that are over, so that there are never more than workers want. */
static void forget_sent(MPI_Request *sent, int *n)
{
	int left = 0;

	for (int i = 0; i < *n; i++) {
		int over;

		MPI_Test(&sent[i], &over, MPI_STATUS_IGNORE);
		if (!over)
			sent[left++] = sent[i];
	}
	*n = left;
}

static void deal(void)
{
	MPI_Request *sent = calloc((size_t)(farm.window * ranks) + 1, sizeof *sent);
	char *task = calloc(1, (size_t)farm.bytes), *in = calloc(1, (size_t)farm.results);
	struct farm_pings *pings = calloc(1, sizeof *pings);
	int n_sent = 0, dealt = 0, done = 0, n;
	MPI_Status status;
	double t0 = bench_now_us(), took;

	while (done < farm.tasks) {
		MPI_Recv(in, farm.results, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
		if (status.MPI_TAG == WANTS && dealt++ < farm.tasks) {
			forget_sent(sent, &n_sent);
			MPI_Isend(task, farm.bytes, MPI_CHAR, status.MPI_SOURCE, TASK, MPI_COMM_WORLD,
				  &sent[n_sent++]);
		} else if (status.MPI_TAG == PING) {
			MPI_Send(in, sizeof(double), MPI_CHAR, status.MPI_SOURCE, PONG, MPI_COMM_WORLD);
		} else if (status.MPI_TAG == RESULT) {
			done++;
		}
	}
	took = bench_now_us() - t0;
	for (int worker = 1; worker < ranks; worker++)
		MPI_Send(NULL, 0, MPI_CHAR, worker, END, MPI_COMM_WORLD);
	/* The wishes that nobody fulfils, and the last pings. */
	for (int ended = 1; ended < ranks;) {
		MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
		if (status.MPI_TAG == TIMES) {
			MPI_Get_count(&status, MPI_DOUBLE, &n);
			MPI_Recv(pings->us, n, MPI_DOUBLE, status.MPI_SOURCE, TIMES, MPI_COMM_WORLD, &status);
			pings->n = status.MPI_SOURCE == ranks - 1 ? n : pings->n;
			ended++;
			continue;
		}
		MPI_Recv(in, farm.results, MPI_CHAR, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status);
		if (status.MPI_TAG == PING)
			MPI_Send(in, sizeof(double), MPI_CHAR, status.MPI_SOURCE, PONG, MPI_COMM_WORLD);
	}
	farm_print(bench_mpi_library(), &farm, took, pings);
	free(sent);
	free(task);
	free(in);
	free(pings);
}

static void send_number(int tag, double x)
{
	MPI_Send(&x, sizeof x, MPI_CHAR, 0, tag, MPI_COMM_WORLD);
}

static void work(void)
{
	char *in = calloc(1, (size_t)farm.bytes), *result = calloc(1, (size_t)farm.results);
	struct farm_pings *pings = calloc(1, sizeof *pings);
	bool ended = false, pinging = rank == ranks - 1;
	MPI_Status status;

	for (int i = 0; i < farm.window; i++)
		send_number(WANTS, 0);
	if (pinging)
		send_number(PING, bench_now_us());
	while (!ended || pinging) {
		double sent;

		MPI_Recv(in, farm.bytes, MPI_CHAR, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
		if (status.MPI_TAG == TASK) {
			send_number(WANTS, 0);
			bench_compute(farm.work_us);
			MPI_Send(result, farm.results, MPI_CHAR, 0, RESULT, MPI_COMM_WORLD);
		} else if (status.MPI_TAG == PONG) {
			memcpy(&sent, in, sizeof sent);
			farm_pinged(pings, bench_now_us() - sent);
			if (!ended)
				send_number(PING, bench_now_us());
			pinging = !ended;
		} else {
			ended = true;
		}
	}
	MPI_Send(pings->us, pings->n, MPI_DOUBLE, 0, TIMES, MPI_COMM_WORLD);
	free(in);
	free(result);
	free(pings);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	farm = farm_options(argc, argv);
	if (ranks < 2)
		bench_mpi_refuse("%s: it needs 2 ranks\n", argv[0]);
	if (rank == 0)
		deal();
	else
		work();
	MPI_Finalize();
	return 0;
}
