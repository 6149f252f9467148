/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ping-pong of bench/floor.c through MPI: what a C programmer has today. Two ranks, the same
 * sizes, the same payload (one word per cache line is new on every trip, every word is read on
 * arrival).
 *
 *     mpi-openmpi          MPI_Send / MPI_Recv          (mpi-mpich with MPICH)
 *     mpi-openmpi-put      MPI_Put into the peer's window with post-start-complete-wait (--put)
 *     ...-notouch          nothing rewritten, nothing read (--no-touch)
 *     also: --sizes a,b,c  --reps n  --no-pin
 *
 * The window comes from MPI_Win_allocate, which lets the library use shared memory, and each side
 * posts its exposure as early as the standard allows: before it starts the put that asks for the
 * answer.
 *
 * Each rank pins itself to a CPU by its rank, so the launchers need no binding options:
 *
 *     mpicc.openmpi -std=c11 -D_GNU_SOURCE -O2 -Ibench -o build/bench/mpi/pingpong_mpi.openmpi \
 *         bench/mpi/pingpong_mpi.c bench/bench.c
 *     mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none -n 2 \
 *         build/bench/mpi/pingpong_mpi.openmpi
 *     mpicc.mpich -std=c11 -D_GNU_SOURCE -O2 -Ibench -o build/bench/mpi/pingpong_mpi.mpich \
 *         bench/mpi/pingpong_mpi.c bench/bench.c
 *     mpiexec.hydra -n 2 build/bench/mpi/pingpong_mpi.mpich
 */
#include "bench_mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_DATA = 1, TAG_ORDER = 2 };

struct pingpong {
	struct bench_options opt;
	bool put;
	int rank, peer;
	void *source; /* private: sent from           */
	void *inbox;  /* the window's memory if `put` */
	MPI_Win window;
	MPI_Group peer_group;
	/* of the run that goes on: */
	struct bench_payload out, in;
	MPI_Aint offset; /* of the payload in the peer's window: the layouts are the same */
};

/* What rank 0 tells rank 1 before each run; no trips: the end. */
struct order {
	uint64_t bytes;
	int64_t trips;
};

static void send_payload(struct pingpong *p, uint64_t stamp)
{
	if (p->opt.touch)
		bench_refresh(&p->out, stamp);
	if (!p->put) {
		MPI_Send(p->out.start, (int)p->out.bytes, MPI_BYTE, p->peer, TAG_DATA,
			 MPI_COMM_WORLD);
		return;
	}
	MPI_Win_start(p->peer_group, 0, p->window);
	MPI_Put(p->out.start, (int)p->out.bytes, MPI_BYTE, p->peer, p->offset,
		(int)p->out.bytes, MPI_BYTE, p->window);
	MPI_Win_complete(p->window);
}

/* Let the peer put: after this the inbox is the peer's until receive_payload returns. */
static void expose(struct pingpong *p)
{
	if (p->put)
		MPI_Win_post(p->peer_group, 0, p->window);
}

static void receive_payload(struct pingpong *p, uint64_t stamp)
{
	if (p->put)
		MPI_Win_wait(p->window);
	else
		MPI_Recv(p->in.start, (int)p->in.bytes, MPI_BYTE, p->peer, TAG_DATA,
			 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (p->opt.touch && !bench_arrived_whole(&p->in, stamp)) {
		fprintf(stderr, "pingpong_mpi: %zu bytes, trip %llu: stale words in the payload\n",
			p->in.bytes, (unsigned long long)stamp);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

static void lay_out(struct pingpong *p, size_t bytes)
{
	bench_payload_init(&p->out, p->source, bytes);
	bench_payload_init(&p->in, p->inbox, bytes);
	p->offset = p->in.start - (unsigned char *)p->inbox;
}

/* Rank 0: a bench_run_fn. */
static double ping(void *context, size_t bytes, long iterations)
{
	struct pingpong *p = context;
	struct order order = {bytes, iterations + iterations / 8 + 1};
	double begin = 0;

	lay_out(p, bytes);
	MPI_Send(&order, sizeof order, MPI_BYTE, p->peer, TAG_ORDER, MPI_COMM_WORLD);
	for (int64_t trip = 1; trip <= order.trips; trip++) {
		if (trip == order.trips - iterations + 1)
			begin = bench_now_us();
		expose(p);
		send_payload(p, (uint64_t)trip);
		receive_payload(p, (uint64_t)trip);
	}
	return bench_now_us() - begin;
}

/* Rank 1. */
static void echo(struct pingpong *p)
{
	struct order order;

	for (;;) {
		MPI_Recv(&order, sizeof order, MPI_BYTE, p->peer, TAG_ORDER, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
		if (!order.trips)
			return;
		lay_out(p, order.bytes);
		expose(p);
		for (int64_t trip = 1; trip <= order.trips; trip++) {
			receive_payload(p, (uint64_t)trip);
			if (trip < order.trips)
				expose(p);
			send_payload(p, (uint64_t)trip);
		}
	}
}

static const char *library_name(void)
{
	char version[MPI_MAX_LIBRARY_VERSION_STRING];
	int len;

	MPI_Get_library_version(version, &len);
	if (strstr(version, "Open MPI"))
		return "mpi-openmpi";
	return strstr(version, "MPICH") ? "mpi-mpich" : "mpi-other";
}

static void parse(struct pingpong *p, int argc, char **argv)
{
	bench_options_init(&p->opt);
	p->put = false;
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--put")) {
			p->put = true;
		} else if (!bench_option(&p->opt, argc, argv, &i)) {
			bench_mpi_refuse("usage: %s [--put] [--no-touch] [--sizes a,b,c] "
					 "[--reps n] [--no-pin]\n",
					 argv[0]);
		}
	}
}

/* Whole pages: with others MPICH 4.0.2 puts beside the peer's window (8, 1000 and 5000 bytes did,
 * 4096 did not). */
static void memory_create(struct pingpong *p)
{
	enum { PAGE = 4096 };
	size_t bytes = (bench_largest(&p->opt) + PAGE - 1) / PAGE * PAGE;

	p->source = bench_alloc(bytes);
	if (!p->put) {
		p->inbox = bench_alloc(bytes);
		return;
	}
	MPI_Group world;
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 1, &p->peer, &p->peer_group);
	MPI_Group_free(&world);
	MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &p->inbox,
			 &p->window);
}

static void memory_destroy(struct pingpong *p)
{
	free(p->source);
	if (p->put) {
		MPI_Win_free(&p->window);
		MPI_Group_free(&p->peer_group);
	} else {
		free(p->inbox);
	}
}

int main(int argc, char **argv)
{
	struct pingpong p;
	int ranks;

	MPI_Init(&argc, &argv);
	parse(&p, argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (ranks != 2)
		bench_mpi_refuse("pingpong_mpi: has %d ranks: start it with -n 2\n", ranks);
	p.peer = !p.rank;
	if (p.opt.pin)
		bench_mpi_pin(p.rank);
	memory_create(&p);
	if (p.rank == 0) {
		char name[64];
		struct order end = {0, 0};
		snprintf(name, sizeof name, "%s%s%s", library_name(), p.put ? "-put" : "",
			 p.opt.touch ? "" : "-notouch");
		bench_sweep(&p.opt, name, ping, &p);
		MPI_Send(&end, sizeof end, MPI_BYTE, p.peer, TAG_ORDER, MPI_COMM_WORLD);
	} else {
		echo(&p);
	}
	memory_destroy(&p);
	MPI_Finalize();
	return 0;
}
