/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stream of bench/rate.c and bench/machine.c through MPI: windows of MPI_Isend into windows
 * of MPI_Irecv that are posted before, two windows under way, one acknowledgement per window; and
 * the round trip of the same payload by MPI_Send and MPI_Recv. Sizes, windows and payload are
 * bench/stream.h's.
 *
 *	mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none -n 2 \
 *		build/bench/mpi/rate_mpi.openmpi
 *	mpiexec.hydra -n 2 build/bench/mpi/rate_mpi.mpich
 *
 * Options: bench.h's (sizes from the option start at 8), and --smoke for one short run.
 * Prints `name bytes value unit`, medians; "mpich" instead of "openmpi" with that:
 *	rtt-openmpi        us      there and back
 *	rate-openmpi       Mmsg/s  one way
 *	bandwidth-openmpi  MB/s    the same, counted in 10^6 bytes
 *
 * Each message under way has send and receive memory of its own. Every payload is new each time
 * and read on arrival; --no-touch leaves that out.
 */
#include "bench_mpi.h"

#include "../stream.h"

enum kind { RTT, STREAM };
enum { TAG_ORDER = 1, TAG_DATA, TAG_ACK };

/* A window of messages: at one rank all sends, at the other all receives. */
struct window {
	char *at[STREAM_WINDOW_MOST];   /* of a receive */
	MPI_Request request[STREAM_WINDOW_MOST];
};

struct rate {
	struct plan_options opt;
	int peer;
	struct stream_sources source;   /* to send from */
	char *inbox;                    /* to receive into: as much */
	struct window window[STREAM_WINDOWS];
	MPI_Status *no_statuses;        /* gcc warns of MPICH's constant where it sees it */
	/* of the run that goes on: */
	int n;                          /* messages in a window */
	uint64_t sent, seen;            /* the n-th bears stamp n */
	long acks;
	double t0;                      /* after the first STREAM_WINDOWS trips or windows */
};

/* What rank 0 tells rank 1 before each run; count 0: the end. */
struct order {
	int64_t kind, bytes, count;
};

static void set_up(struct rate *r, size_t bytes)
{
	size_t area = bench_area_bytes(bytes);
	char *at = r->inbox;

	r->n = (int)stream_window(bytes);
	r->sent = r->seen = 0;
	r->acks = 0;
	stream_sources_init(&r->source, bytes, r->n * STREAM_WINDOWS);
	for (int w = 0; w < STREAM_WINDOWS; w++)
		for (int i = 0; i < r->n; i++, at += area)
			r->window[w].at[i] = at;
}

static void check(struct rate *r, const char *v)
{
	r->seen++;
	if (r->opt.common.touch && !stream_whole(&r->source.layout, v, r->seen)) {
		fprintf(stderr, "rate_mpi: message %llu of %zu bytes is not what was sent\n",
			(unsigned long long)r->seen, r->source.layout.bytes);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

static int bytes_of(const struct rate *r)
{
	return (int)r->source.layout.bytes;
}

static const char *next_source(struct rate *r)
{
	return stream_sources_next(&r->source, ++r->sent, r->opt.common.touch);
}

/* ---- round trips ------------------------------------------------------------------------- */

static void throw_ball(struct rate *r)
{
	stream_sources_go(&r->source, 0);
	MPI_Send(next_source(r), bytes_of(r), MPI_BYTE, r->peer, TAG_DATA, MPI_COMM_WORLD);
}

static void catch_ball(struct rate *r)
{
	MPI_Recv(r->inbox, bytes_of(r), MPI_BYTE, r->peer, TAG_DATA, MPI_COMM_WORLD,
		 MPI_STATUS_IGNORE);
	check(r, r->inbox);
}

/* ---- streams ----------------------------------------------------------------------------- */

static void wait_for_ack(struct rate *r)
{
	MPI_Recv(NULL, 0, MPI_BYTE, r->peer, TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (++r->acks == STREAM_WINDOWS)
		r->t0 = bench_now_us();
}

static void send_stream(struct rate *r, int64_t count)
{
	for (int64_t w = 0; w < count; w++) {
		struct window *window = &r->window[w % STREAM_WINDOWS];

		if (w >= STREAM_WINDOWS) {
			wait_for_ack(r);
			MPI_Waitall(r->n, window->request, r->no_statuses);
		}
		for (int i = 0; i < r->n; i++)
			MPI_Isend(next_source(r), bytes_of(r), MPI_BYTE, r->peer, TAG_DATA,
				  MPI_COMM_WORLD, &window->request[i]);
	}
	for (int w = 0; w < STREAM_WINDOWS; w++) {
		MPI_Waitall(r->n, r->window[w].request, r->no_statuses);
		wait_for_ack(r);
	}
}

static void post_window(struct rate *r, struct window *window)
{
	for (int i = 0; i < r->n; i++)
		MPI_Irecv(window->at[i], bytes_of(r), MPI_BYTE, r->peer, TAG_DATA,
			  MPI_COMM_WORLD, &window->request[i]);
}

static void receive_stream(struct rate *r, int64_t count)
{
	for (int64_t w = 0; w < STREAM_WINDOWS; w++)
		post_window(r, &r->window[w]);
	for (int64_t w = 0; w < count; w++) {
		struct window *window = &r->window[w % STREAM_WINDOWS];

		MPI_Waitall(r->n, window->request, r->no_statuses);
		for (int i = 0; i < r->n; i++)
			check(r, window->at[i]);
		if (w + STREAM_WINDOWS < count)
			post_window(r, window);
		MPI_Send(NULL, 0, MPI_BYTE, r->peer, TAG_ACK, MPI_COMM_WORLD);
	}
}

/* ---- the two ranks ----------------------------------------------------------------------- */

static double lead(struct rate *r, const struct series *s)
{
	struct order order = { s->kind, (int64_t)s->parameter, s->count + STREAM_WINDOWS };

	set_up(r, s->parameter);
	MPI_Send(&order, sizeof order, MPI_BYTE, r->peer, TAG_ORDER, MPI_COMM_WORLD);
	if (s->kind == STREAM)
		send_stream(r, order.count);
	for (long i = 0; s->kind == RTT && i < order.count; i++) {
		if (i == STREAM_WINDOWS)
			r->t0 = bench_now_us();
		throw_ball(r);
		catch_ball(r);
	}
	return bench_now_us() - r->t0;
}

static void follow(struct rate *r)
{
	struct order order;

	for (;;) {
		MPI_Recv(&order, sizeof order, MPI_BYTE, r->peer, TAG_ORDER, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
		if (!order.count)
			return;
		set_up(r, (size_t)order.bytes);
		if (order.kind == STREAM) {
			receive_stream(r, order.count);
			continue;
		}
		for (int64_t i = 0; i < order.count; i++) {
			catch_ball(r);
			throw_ball(r);
		}
	}
}

static void report(struct plan *plan, const struct bench_options *o)
{
	const char *name = bench_mpi_library();

	for (int i = 0; i < o->nsizes; i++) {
		size_t bytes = o->bytes[i];
		double per_us = (double)stream_window(bytes) / plan_us(plan, STREAM, bytes);

		printf("rtt-%s %zu %.3f us\n", name, bytes, plan_us(plan, RTT, bytes));
		printf("rate-%s %zu %.4g Mmsg/s\n", name, bytes, per_us);
		printf("bandwidth-%s %zu %.4g MB/s\n", name, bytes, per_us * (double)bytes);
	}
}

static void measure(struct rate *r)
{
	const struct bench_options *o = &r->opt.common;
	struct plan *plan = bench_alloc(sizeof *plan);
	struct order end = { 0, 0, 0 };

	plan_init(plan, &r->opt);
	for (int i = 0; i < o->nsizes; i++) {
		plan_add(plan, RTT, o->bytes[i]);
		plan_add(plan, STREAM, o->bytes[i]);
	}
	while (plan_record(plan, lead(r, plan_current(plan))))
		;
	MPI_Send(&end, sizeof end, MPI_BYTE, r->peer, TAG_ORDER, MPI_COMM_WORLD);
	report(plan, o);
	free(plan);
}

int main(int argc, char **argv)
{
	struct rate *r = bench_alloc(sizeof *r);
	int ranks, rank;

	MPI_Init(&argc, &argv);
	stream_options_init(&r->opt);
	for (int i = 1; i < argc; i++)
		if (!plan_option(&r->opt, argc, argv, &i))
			bench_mpi_refuse("rate_mpi: unknown option %s\n", argv[i]);
	stream_options_end(&r->opt);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (ranks != 2)
		bench_mpi_refuse("rate_mpi: has %d ranks: start it with -n 2\n", ranks);
	r->peer = 1 - rank;
	r->no_statuses = MPI_STATUSES_IGNORE;
	if (r->opt.common.pin)
		bench_mpi_pin(rank);
	r->source.memory = bench_alloc(stream_sources_bytes(&r->opt.common));
	r->inbox = bench_alloc(stream_sources_bytes(&r->opt.common));
	if (rank == 0)
		measure(r);
	else
		follow(r);
	free(r->source.memory);
	free(r->inbox);
	free(r);
	MPI_Finalize();
	return 0;
}
