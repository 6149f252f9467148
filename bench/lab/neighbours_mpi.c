/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reference of neighbours.c: the same ring of 32 objects, in blocks over the ranks, as
 * one would write it with MPI. A rank posts all its receives, writes and sends what leaves it,
 * copies what does not from object to object, waits for all, and then reads every message.
 *
 *     mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none -n 2 \
 *         build/bench/lab/neighbours_mpi.openmpi
 *     mpiexec.hydra -n 2 build/bench/lab/neighbours_mpi.mpich
 *
 * Options: bench.h's, --objects n (17 to 180; default 32), and --smoke.
 * Prints `neighbours-kK-LIBRARY bytes microseconds us`, medians.
 */
#include "bench_mpi.h"

#include "plan.h"

enum { K_MOST = 16, OBJECTS_MOST = 180 /* tags count pairs of objects; MPI promises 32767 */ };
static const int KS[] = {2, 4, 8, 16};
enum { N_KS = sizeof KS / sizeof KS[0] };

struct ring {
	struct plan_options opt;
	int rank, ranks, objects, first, n; /* this rank's: first .. first + n - 1 */
	/* of the run that goes on: */
	int k;
	size_t bytes, area;
	struct bench_payload *out; /* [n] */
	unsigned char *out_area;   /* [n][area]    */
	unsigned char *in_area;    /* [n][k][area] */
	MPI_Request *request;
	MPI_Status *status;        /* nobody looks; gcc warns of MPICH's MPI_STATUSES_IGNORE */
	int n_requests;
};

/* The blocks: as even as can be, the longer ones first. */
static int first_of(const struct ring *r, int rank)
{
	int each = r->objects / r->ranks, more = r->objects % r->ranks;

	return rank * each + (rank < more ? rank : more);
}

static int rank_of(const struct ring *r, int object)
{
	int rank = 0;

	while (rank + 1 < r->ranks && first_of(r, rank + 1) <= object)
		rank++;
	return rank;
}

/* Neighbour j of an object: 0 .. k/2-1 to the left, the others to the right. */
static int neighbour(const struct ring *r, int object, int j)
{
	int half = r->k / 2, d = j < half ? -(j + 1) : j - half + 1;

	return (object + d + r->objects) % r->objects;
}

/* Seen from the other end, left is right. */
static int opposite(const struct ring *r, int j)
{
	return (j + r->k / 2) % r->k;
}

static unsigned char *inbox(const struct ring *r, int object, int j)
{
	return r->in_area + ((size_t)(object - r->first) * (size_t)r->k + (size_t)j) * r->area;
}

static int tag_of(const struct ring *r, int from, int to)
{
	return from * r->objects + to;
}

static void receive_all(struct ring *r)
{
	for (int o = r->first; o < r->first + r->n; o++)
		for (int j = 0; j < r->k; j++) {
			int from = neighbour(r, o, j), rank = rank_of(r, from);

			if (rank != r->rank)
				MPI_Irecv(inbox(r, o, j), (int)r->area, MPI_BYTE, rank,
					  tag_of(r, from, o), MPI_COMM_WORLD,
					  &r->request[r->n_requests++]);
		}
}

static void send_all(struct ring *r, uint64_t stamp)
{
	for (int o = r->first; o < r->first + r->n; o++) {
		int i = o - r->first;
		unsigned char *area = r->out_area + (size_t)i * r->area;

		if (r->opt.common.touch)
			bench_refresh(&r->out[i], stamp);
		for (int j = 0; j < r->k; j++) {
			int to = neighbour(r, o, j), rank = rank_of(r, to);

			if (rank == r->rank)
				memcpy(inbox(r, to, opposite(r, j)), area, r->area);
			else
				MPI_Isend(area, (int)r->area, MPI_BYTE, rank, tag_of(r, o, to),
					  MPI_COMM_WORLD, &r->request[r->n_requests++]);
		}
	}
}

static void read_all(struct ring *r, uint64_t stamp)
{
	if (!r->opt.common.touch)
		return;
	for (int o = r->first; o < r->first + r->n; o++)
		for (int j = 0; j < r->k; j++) {
			struct bench_payload in = r->out[0];

			in.words = (uint64_t *)(inbox(r, o, j) +
						((unsigned char *)in.words - r->out_area));
			if (bench_arrived_whole(&in, stamp))
				continue;
			fprintf(stderr, "neighbours_mpi: %zu bytes, iteration %llu: stale words\n",
				r->bytes, (unsigned long long)stamp);
			MPI_Abort(MPI_COMM_WORLD, 1);
		}
}

static void set_up(struct ring *r, const struct series *s)
{
	size_t n = (size_t)r->n, k = (size_t)s->kind;

	r->k = s->kind;
	r->bytes = s->parameter;
	r->area = bench_area_bytes(r->bytes);
	r->out = bench_alloc(n * sizeof *r->out);
	r->out_area = bench_alloc(n * r->area);
	r->in_area = bench_alloc(n * k * r->area);
	r->request = bench_alloc(2 * n * k * sizeof *r->request);
	r->status = bench_alloc(2 * n * k * sizeof *r->status);
	for (size_t i = 0; i < n; i++)
		bench_payload_init(&r->out[i], r->out_area + i * r->area, r->bytes);
}

static void take_down(struct ring *r)
{
	free(r->out);
	free(r->out_area);
	free(r->in_area);
	free(r->request);
	free(r->status);
}

/* The microseconds of all iterations, by rank 0's clock, so that all ranks plan alike. */
static double run(struct ring *r, const struct series *s)
{
	double us;

	set_up(r, s);
	MPI_Barrier(MPI_COMM_WORLD);
	us = bench_now_us();
	for (long i = 1; i <= s->count; i++) {
		r->n_requests = 0;
		receive_all(r);
		send_all(r, (uint64_t)i);
		MPI_Waitall(r->n_requests, r->request, r->status);
		read_all(r, (uint64_t)i);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	us = bench_now_us() - us;
	MPI_Bcast(&us, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	take_down(r);
	return us;
}

static void parse(struct ring *r, int argc, char **argv)
{
	static const size_t sizes[] = {64, 512, 4096, 16384, 65536};

	plan_options_init(&r->opt, sizes, sizeof sizes / sizeof sizes[0]);
	r->objects = 32;
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--objects")) {
			i++;
			r->objects = (int)bench_number(argv[0], "--objects", argv[i], K_MOST + 1,
						       OBJECTS_MOST);
		} else if (!plan_option(&r->opt, argc, argv, &i)) {
			bench_mpi_refuse("usage: %s [--objects n] [--no-touch] [--sizes a,b,c] "
					 "[--reps n] [--no-pin] [--smoke]\n",
					 argv[0]);
		}
	}
}

int main(int argc, char **argv)
{
	static struct plan plan;
	static struct ring r;

	MPI_Init(&argc, &argv);
	parse(&r, argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &r.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &r.ranks);
	if (r.ranks > r.objects)
		bench_mpi_refuse("neighbours_mpi: %d ranks, but only %d objects\n", r.ranks,
				 r.objects);
	r.first = first_of(&r, r.rank);
	r.n = first_of(&r, r.rank + 1) - r.first;
	if (r.opt.common.pin)
		bench_mpi_pin(r.rank);
	plan_init(&plan, &r.opt);
	for (int k = 0; k < N_KS; k++)
		for (int i = 0; i < r.opt.common.nsizes; i++)
			plan_add(&plan, KS[k], r.opt.common.bytes[i]);
	while (plan_record(&plan, run(&r, plan_current(&plan))))
		;
	for (int i = 0; r.rank == 0 && i < plan.n; i++) {
		const struct series *s = &plan.series[i];

		printf("neighbours-k%d-%s %zu %.3f us\n", s->kind, bench_mpi_library(),
		       s->parameter, plan_us(&plan, s->kind, s->parameter));
	}
	MPI_Finalize();
	return 0;
}
