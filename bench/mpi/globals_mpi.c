/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/globals.c through MPI's windows: MPI_Get, MPI_Put, MPI_Fetch_and_op, MPI_Compare_and_swap
 * within one MPI_Win_lock_all.
 *
 *	mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none -n 2 \
 *		build/bench/mpi/globals_mpi.openmpi
 *	mpiexec.hydra -n 2 build/bench/mpi/globals_mpi.mpich
 *
 * Options: those of globals.c. --raw changes nothing; --apart makes no shared memory, which not all
 * of Open MPI's ways have. No rank uses its own memory: Open MPI 4.1.4 ends by SIGSEGV in a
 * compare-and-swap of that.
 * Prints `name bytes value ns`, medians of one operation; the names are globals.c's with openmpi or
 * mpich as the path. N operations belong to a round:
 *	load, set, copyin, copyout  bare, in memory of MPI_Win_allocate_shared; left out where the ranks
 *	                            do not share memory
 *	read, write      MPI_Get, MPI_Put, and MPI_Win_flush
 *	get, put         N of them, then MPI_Win_flush
 *	add, cas         N MPI_Fetch_and_op (MPI_SUM) or MPI_Compare_and_swap, then MPI_Win_flush
 *	phase            N MPI_Put, MPI_Win_flush, and MPI_Barrier of both ranks
 *	stream           MPI_Put, with one MPI_Win_flush at the end and an MPI_Barrier
 *
 * A rank that is idle waits in MPI_Recv, so MPI makes progress there.
 */
#include "bench_mpi.h"

#include "../globals.h"

enum { ORDER, TIME };

/* What rank 0 tells before each run; rounds 0: the end. */
struct order {
	int64_t kind, bytes, rounds;
};

struct side {
	int me;
	uint16_t table[GLOBALS_WORDS];
	MPI_Win words, bulk, shared;
	uint64_t *shared_words[2]; /* NULL: there is no shared memory */
	char *shared_bulk[2];
	char *buffer;
	uint64_t got[GLOBALS_MOST];
};

/* ---- the loops ------------------------------------------------------------------------------ */

static MPI_Aint read_at(const struct side *s, long k)
{
	return GLOBALS_READ + (MPI_Aint)globals_at(s->table, k);
}

static MPI_Aint written_at(const struct side *s, long k)
{
	return GLOBALS_WRITTEN + (MPI_Aint)globals_at(s->table, k);
}

static MPI_Aint counter_at(const struct side *s, long k)
{
	return GLOBALS_COUNTERS + (MPI_Aint)globals_at(s->table, k);
}

static uint64_t gets(struct side *s, int to, int n, long rounds)
{
	uint64_t sum = 0;

	for (long r = 0; r < rounds; r++) {
		for (int i = 0; i < n; i++)
			MPI_Get(&s->got[i], 1, MPI_UINT64_T, to, read_at(s, r * n + i), 1, MPI_UINT64_T, s->words);
		MPI_Win_flush(to, s->words);
		for (int i = 0; i < n; i++)
			sum += s->got[i];
	}
	return sum;
}

static void puts_n(struct side *s, int to, int n, long from)
{
	for (int i = 0; i < n; i++)
		MPI_Put(&s->got[i], 1, MPI_UINT64_T, to, written_at(s, from + i), 1, MPI_UINT64_T, s->words);
}

static void puts_(struct side *s, int to, int n, long rounds)
{
	for (long r = 0; r < rounds; r++) {
		puts_n(s, to, n, r * n);
		MPI_Win_flush(to, s->words);
	}
}

static void atomics(struct side *s, enum globals_op op, int to, int n, long rounds)
{
	static const uint64_t one = 1;

	for (long r = 0; r < rounds; r++) {
		for (int i = 0; i < n; i++) {
			const MPI_Aint at = counter_at(s, r * n + i);

			if (op == G_ADD)
				MPI_Fetch_and_op(&one, &s->got[i], MPI_UINT64_T, to, at, MPI_SUM, s->words);
			else
				MPI_Compare_and_swap(&one, &one, &s->got[i], MPI_UINT64_T, to, at, s->words);
		}
		MPI_Win_flush(to, s->words);
	}
}

static void phases(struct side *s, bool active, int to, int n, long rounds)
{
	for (long r = 0; r < rounds; r++) {
		if (active) {
			puts_n(s, to, n, r * n);
			MPI_Win_flush(to, s->words);
		}
		MPI_Barrier(MPI_COMM_WORLD);
	}
}

static void stream_words(struct side *s, int to, long n)
{
	for (long k = 0; k < n; k++)
		MPI_Put(&s->got[0], 1, MPI_UINT64_T, to, written_at(s, k), 1, MPI_UINT64_T, s->words);
	MPI_Win_flush(to, s->words);
}

static void bulks(struct side *s, enum globals_op op, int to, size_t bytes, long rounds)
{
	const int n = (int)bytes;

	for (long r = 0; r < rounds; r++) {
		if (op == G_GET)
			MPI_Get(s->buffer, n, MPI_BYTE, to, 0, n, MPI_BYTE, s->bulk);
		else
			MPI_Put(s->buffer, n, MPI_BYTE, to, 0, n, MPI_BYTE, s->bulk);
		if (op != G_STREAM || r == rounds - 1)
			MPI_Win_flush(to, s->bulk);
	}
}

static void check(const struct side *s, uint64_t sum, long n)
{
	if (sum == globals_sum(s->table, n))
		return;
	fprintf(stderr, "globals_mpi: %ld words are not what they should be\n", n);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void do_op(struct side *s, const struct globals_case *c, size_t bytes, long rounds)
{
	const int to = globals_target(c, s->me);
	const long n = rounds * c->n;

	switch (c->op) {
	case G_LOAD:
		check(s, globals_loads(s->shared_words[to], s->table, n), n);
		break;
	case G_SET:
		globals_sets(s->shared_words[to], s->table, n);
		break;
	case G_COPYIN:
		globals_copies(s->buffer, s->shared_bulk[to], bytes, n);
		break;
	case G_COPYOUT:
		globals_copies(s->shared_bulk[to], s->buffer, bytes, n);
		break;
	case G_ADD:
	case G_CAS:
		atomics(s, c->op, to, c->n, rounds);
		break;
	case G_STREAM:
		if (c->bulk)
			bulks(s, c->op, to, bytes, rounds);
		else
			stream_words(s, to, n);
		break;
	default:
		if (c->bulk)
			bulks(s, c->op, to, bytes, rounds);
		else if (c->op == G_READ || c->op == G_GET)
			check(s, gets(s, to, c->n, rounds), n);
		else
			puts_(s, to, c->n, rounds);
	}
}

static double run(struct side *s, const struct order *o)
{
	const struct globals_case c = globals_case_of((int)o->kind);
	double t0 = bench_now_us();

	if (c.op == G_PHASE)
		phases(s, globals_active(&c, s->me), globals_target(&c, s->me), c.n, o->rounds);
	else if (globals_active(&c, s->me))
		do_op(s, &c, (size_t)o->bytes, o->rounds);
	if (c.op == G_STREAM)
		MPI_Barrier(MPI_COMM_WORLD);
	return bench_now_us() - t0;
}

/* ---- the ranks ------------------------------------------------------------------------------ */

static double run_both(struct side *s, const struct series *series)
{
	const struct order o = { series->kind, (int64_t)series->parameter, series->count };
	double us, other;

	MPI_Send(&o, sizeof o, MPI_BYTE, 1, ORDER, MPI_COMM_WORLD);
	us = run(s, &o);
	MPI_Recv(&other, 1, MPI_DOUBLE, 1, TIME, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return us > other ? us : other;
}

static void lead(struct side *s, const struct globals_options *options)
{
	const struct order end = { 0, 0, 0 };
	struct plan *plan = bench_alloc(sizeof *plan);

	globals_plan(plan, options);
	while (plan_record(plan, run_both(s, plan_current(plan))))
		;
	MPI_Send(&end, sizeof end, MPI_BYTE, 1, ORDER, MPI_COMM_WORLD);
	globals_report(plan, bench_mpi_library());
	free(plan);
}

static void follow(struct side *s)
{
	struct order o;
	double us;

	for (;;) {
		MPI_Recv(&o, sizeof o, MPI_BYTE, 0, ORDER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (!o.rounds)
			return;
		us = run(s, &o);
		MPI_Send(&us, 1, MPI_DOUBLE, 0, TIME, MPI_COMM_WORLD);
	}
}

/* ---- memory --------------------------------------------------------------------------------- */

static void fill(uint64_t *words)
{
	memset(words, 0, GLOBALS_EACH * GLOBALS_WORD);
	for (int i = 0; i < GLOBALS_WORDS; i++)
		words[GLOBALS_READ + i] = (uint64_t)i;
}

static bool share(struct side *s)
{
	const MPI_Aint words = GLOBALS_EACH * GLOBALS_WORD, bytes = words + (MPI_Aint)GLOBALS_BULK;
	MPI_Comm host;
	int ranks, unit;
	MPI_Aint size;
	char *base;

	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
	MPI_Comm_size(host, &ranks);
	if (ranks == 2) {
		MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, host, &base, &s->shared);
		fill((uint64_t *)(void *)base);
		memset(base + words, 0, GLOBALS_BULK);
		for (int i = 0; i < 2; i++) {
			MPI_Win_shared_query(s->shared, i, &size, &unit, &base);
			s->shared_words[i] = (uint64_t *)(void *)base;
			s->shared_bulk[i] = base + words;
		}
	}
	MPI_Comm_free(&host);
	return ranks == 2;
}

static void side_init(struct side *s, struct globals_options *o, int rank)
{
	uint64_t *words;
	char *bulk;

	memset(s, 0, sizeof *s);
	s->me = rank;
	globals_table(s->table);
	s->buffer = bench_alloc(GLOBALS_BULK);
	MPI_Win_allocate(GLOBALS_EACH * GLOBALS_WORD, GLOBALS_WORD, MPI_INFO_NULL, MPI_COMM_WORLD, &words,
			 &s->words);
	MPI_Win_allocate((MPI_Aint)GLOBALS_BULK, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &bulk, &s->bulk);
	fill(words);
	memset(bulk, 0, GLOBALS_BULK);
	o->floors = o->floors && share(s);
	o->own = false;
	MPI_Win_lock_all(MPI_MODE_NOCHECK, s->words);
	MPI_Win_lock_all(MPI_MODE_NOCHECK, s->bulk);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void side_fini(struct side *s)
{
	MPI_Win_unlock_all(s->words);
	MPI_Win_unlock_all(s->bulk);
	MPI_Win_free(&s->words);
	MPI_Win_free(&s->bulk);
	if (s->shared_words[0])
		MPI_Win_free(&s->shared);
	free(s->buffer);
}

int main(int argc, char **argv)
{
	struct globals_options options;
	struct side side;
	int ranks, rank;

	MPI_Init(&argc, &argv);
	globals_options_init(&options);
	for (int i = 1; i < argc; i++)
		if (!globals_option(&options, argc, argv, &i))
			bench_mpi_refuse("globals_mpi: unknown option %s\n", argv[i]);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (ranks != 2)
		bench_mpi_refuse("globals_mpi: has %d ranks: start it with -n 2\n", ranks);
	if (options.plan.common.pin)
		bench_mpi_pin(rank);
	side_init(&side, &options, rank);
	if (rank == 0)
		lead(&side, &options);
	else
		follow(&side);
	side_fini(&side);
	MPI_Finalize();
	return 0;
}
