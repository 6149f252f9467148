/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hand-written MPI program that examples/samplesort is measured against, as in the thesis
 * named there: each rank puts its keys into one local buffer per destination, then all buffers
 * are exchanged at once, then each rank sorts what it has received. Input, samples, splitters and the
 * serial sort are those of examples/samplesort/keys.h.
 *
 *     samplesort_mpi [--keys N] [--repeat N] [--seed N] [--no-pin]
 *
 * Prints the median time from the first sample to the last sorted bucket as
 * `samplesort-openmpi KEYS value us`, or mpich, and one line in words, which ends in "checked" when
 * all is in order and the keys are those of the input.
 *
 *     mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none -n 2 \
 *         build/bench/mpi/samplesort_mpi.openmpi --keys 1000000 --repeat 5
 *     mpiexec.hydra -n 2 build/bench/mpi/samplesort_mpi.mpich --keys 1000000 --repeat 5
 */
#include "bench_mpi.h"

#include "../../examples/samplesort/keys.h"

enum { TAG_KEYS = 1 };

struct samplesort {
	long keys, repeat, seed;
	bool pin;
	int rank, ranks;
	struct keys input, bucket;
	struct keys *outgoing;          /* one per rank */
	struct keys samples;
	uint32_t *splitters;
	int *send_n, *receive_n;        /* keys to and from each rank */
	MPI_Request *requests;          /* two per rank */
	MPI_Status *statuses;
};

static void need(bool there)
{
	if (there)
		return;
	fprintf(stderr, "samplesort_mpi: no memory\n");
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* From the samples of all ranks, the same at each; a rank without keys has none. */
static void choose_splitters(struct samplesort *s)
{
	uint32_t sample[KEYS_SAMPLES];
	int n = keys_sample(&s->input, s->seed, s->rank, sample), total = 0;
	int *counts = s->receive_n, *offsets = s->send_n;

	MPI_Allgather(&n, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD);
	for (int r = 0; r < s->ranks; r++) {
		offsets[r] = total;
		total += counts[r];
	}
	need(keys_reserve(&s->samples, total + 1));
	MPI_Allgatherv(sample, n, MPI_UINT32_T, s->samples.v, counts, offsets, MPI_UINT32_T,
		       MPI_COMM_WORLD);
	s->samples.n = total;
	need(keys_split(&s->samples, s->ranks, s->splitters));
}

static void fill_buffers(struct samplesort *s)
{
	for (int r = 0; r < s->ranks; r++)
		s->outgoing[r].n = 0;
	for (long i = 0; i < s->input.n; i++) {
		uint32_t key = s->input.v[i];

		need(keys_push(&s->outgoing[keys_bucket(key, s->splitters, s->ranks - 1)], key));
	}
}

static void exchange(struct samplesort *s)
{
	int n = 0;
	long at = 0;

	for (int r = 0; r < s->ranks; r++)
		s->send_n[r] = (int)s->outgoing[r].n;
	MPI_Alltoall(s->send_n, 1, MPI_INT, s->receive_n, 1, MPI_INT, MPI_COMM_WORLD);
	s->bucket.n = 0;
	for (int r = 0; r < s->ranks; r++)
		s->bucket.n += s->receive_n[r];
	need(keys_reserve(&s->bucket, s->bucket.n + 1));
	for (int r = 0; r < s->ranks; r++) {
		MPI_Irecv(s->bucket.v + at, s->receive_n[r], MPI_UINT32_T, r, TAG_KEYS,
			  MPI_COMM_WORLD, &s->requests[n++]);
		at += s->receive_n[r];
	}
	for (int k = 1; k <= s->ranks; k++) {
		int r = (s->rank + k) % s->ranks;

		MPI_Isend(s->outgoing[r].v, s->send_n[r], MPI_UINT32_T, r, TAG_KEYS,
			  MPI_COMM_WORLD, &s->requests[n++]);
	}
	MPI_Waitall(n, s->requests, s->statuses);
}

/* Microseconds, until the last rank is done. */
static double timed_sort(struct samplesort *s)
{
	double began;

	MPI_Barrier(MPI_COMM_WORLD);
	began = bench_now_us();
	choose_splitters(s);
	fill_buffers(s);
	exchange(s);
	need(keys_sort(&s->bucket));
	MPI_Barrier(MPI_COMM_WORLD);
	return bench_now_us() - began;
}

/* ---- the check ----------------------------------------------------------------------- */

struct summary {
	int64_t unsorted, n, first, last;
	uint64_t checksum;
};

static struct summary summarise(const struct keys *b)
{
	return (struct summary){!keys_in_order(b), b->n, b->n ? b->v[0] : 0,
				b->n ? b->v[b->n - 1] : 0, keys_checksum(b)};
}

static bool agrees(const struct samplesort *s, const struct summary *ranks, long *most_p)
{
	struct keys all = {0};
	uint64_t checksum = 0;
	int64_t n = 0, last = -1;
	bool sorted = true;

	for (int r = 0; r < s->ranks; r++) {
		const struct summary *b = &ranks[r];

		sorted = sorted && !b->unsorted && (b->n == 0 || b->first >= last);
		last = b->n ? b->last : last;
		n += b->n;
		checksum += b->checksum;
		*most_p = b->n > *most_p ? b->n : *most_p;
	}
	need(keys_make(&all, s->seed, s->keys, 0, 1));
	sorted = sorted && n == s->keys && checksum == keys_checksum(&all);
	keys_free(&all);
	return sorted;
}

/* At rank 0: print the line. Returns the exit code. */
static int report(struct samplesort *s, double *us)
{
	struct summary mine = summarise(&s->bucket);
	struct summary *ranks = bench_alloc((size_t)s->ranks * sizeof *ranks);
	long most = 0;
	int code = 0;

	MPI_Gather(&mine, sizeof mine, MPI_BYTE, ranks, sizeof mine, MPI_BYTE, 0, MPI_COMM_WORLD);
	if (s->rank == 0) {
		const char *library = bench_mpi_library();
		double median = bench_median(us, (int)s->repeat);

		code = agrees(s, ranks, &most) ? 0 : 1;
		printf("samplesort-%s %ld %.1f us\n", library, s->keys, median);
		printf("samplesort: %ld keys on %d ranks of %s, the largest bucket %ld, %.1f ms: %s\n",
		       s->keys, s->ranks, library, most, median / 1e3, code ? "WRONG" : "checked");
	}
	free(ranks);
	return code;
}

/* ---- set-up -------------------------------------------------------------------------- */

static void parse(struct samplesort *s, int argc, char **argv)
{
	*s = (struct samplesort){.keys = 20000, .repeat = 1, .seed = 1, .pin = true};
	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		if (!strcmp(argv[i], "--no-pin"))
			s->pin = false;
		else if (!strcmp(argv[i], "--keys"))
			s->keys = bench_number(argv[0], "--keys", value, 0, 2000000000), i++;
		else if (!strcmp(argv[i], "--repeat"))
			s->repeat = bench_number(argv[0], "--repeat", value, 1, 1000), i++;
		else if (!strcmp(argv[i], "--seed"))
			s->seed = bench_number(argv[0], "--seed", value, 0, 1000000000), i++;
		else
			bench_mpi_refuse("usage: %s [--keys N] [--repeat N] [--seed N] [--no-pin]\n",
					 argv[0]);
	}
}

static void create(struct samplesort *s)
{
	size_t n;

	MPI_Comm_rank(MPI_COMM_WORLD, &s->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &s->ranks);
	if (s->pin)
		bench_mpi_pin(s->rank);
	n = (size_t)s->ranks;
	s->outgoing = bench_alloc(n * sizeof *s->outgoing);
	s->splitters = bench_alloc(n * sizeof *s->splitters);
	s->send_n = bench_alloc(n * sizeof *s->send_n);
	s->receive_n = bench_alloc(n * sizeof *s->receive_n);
	s->requests = bench_alloc(2 * n * sizeof(MPI_Request));
	s->statuses = bench_alloc(2 * n * sizeof(MPI_Status));
	need(keys_make(&s->input, s->seed, s->keys, s->rank, s->ranks));
}

static void destroy(struct samplesort *s)
{
	for (int r = 0; r < s->ranks; r++)
		keys_free(&s->outgoing[r]);
	keys_free(&s->input);
	keys_free(&s->bucket);
	keys_free(&s->samples);
	free(s->outgoing);
	free(s->splitters);
	free(s->send_n);
	free(s->receive_n);
	free(s->requests);
	free(s->statuses);
}

int main(int argc, char **argv)
{
	struct samplesort s;
	double *us;
	int code;

	MPI_Init(&argc, &argv);
	parse(&s, argc, argv);
	create(&s);
	us = bench_alloc((size_t)s.repeat * sizeof *us);
	for (long i = 0; i < s.repeat; i++)
		us[i] = timed_sort(&s);
	code = report(&s, us);
	free(us);
	destroy(&s);
	MPI_Finalize();
	return code;
}
