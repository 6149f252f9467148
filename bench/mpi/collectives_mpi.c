/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reference of bench/collectives.c: the same through MPI's collectives.
 *
 *     mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none -n 2 \
 *         build/bench/mpi/collectives_mpi.openmpi
 *     mpiexec.hydra -n 2 build/bench/mpi/collectives_mpi.mpich
 *
 * Options: --reps n, --per-rank n (default 100), --only NAME (figures whose names begin with it),
 * --doubles n (only figures of n doubles), --called, --no-pin, --smoke.
 * Prints `name n microseconds us`, medians; n counts doubles. A name ends with the library's:
 *     barrier-group       MPI_Barrier
 *     allreduce-group     MPI_Allreduce of n doubles, all written before and read after
 *     bcast-group         MPI_Bcast of n doubles: from the call on rank 0 until the last rank has
 *                         read them, by the clock of the one host
 *     bcast-acked-group   the same, and an MPI_Reduce of one double back to rank 0
 *     ...-array           every rank stands for 100 objects: each writes its own n values, the
 *                         rank adds them up and goes into MPI_Allreduce once; each object reads
 *                         the result. A barrier of 100 objects is one MPI_Barrier.
 *     ...-array-called    with --called: each object is a struct that a call through a pointer
 *                         reaches with the result; it hands over its next values (in a barrier:
 *                         that it has come) by another such call. No program whose objects are
 *                         compiled apart from what runs them does with less, so this is the floor
 *                         of the same by chares.
 * There is no line for quiescence, which MPI has not.
 */
#include "bench_mpi.h"

enum op { BARRIER, ALLREDUCE, BCAST };

enum { ROUNDS_PROBE = 8, ROUNDS_LEAST = 4, ROUNDS_MOST = 20000, SERIES_MAX = 16 };
static const double RUN_US = 20000, SMOKE_RUN_US = 200; /* of one timed run */
enum { N_MOST = 10000 };

struct series {
	enum op op;
	int objects; /* of this rank: 1 or --per-rank */
	int n;
	int rounds;
	double us[BENCH_REPEATS_MAX];
	double latency[BENCH_REPEATS_MAX];
};

struct collectives;
/* With --called. */
struct object {
	int index, round;
	double *v;
	void (*result)(struct object *self, struct collectives *c, const struct series *s);
};

struct collectives {
	struct bench_options opt;
	struct object *object;  /* [per_rank]; NULL: without --called */
	void (*take)(struct collectives *c, const struct series *s, const double *v);
	int come;       /* objects of this rank, to a barrier */
	int rank, ranks, per_rank;
	double run_us;
	const char *only;
	int doubles;    /* -1: all */
	double *values; /* [per_rank][n] */
	double *mine, *result;
};

static void wrong(const char *what, int n)
{
	fprintf(stderr, "collectives_mpi: %d values of %s are wrong\n", n, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Values whose sum over all objects is exact in a double and differs from round to round. */
static void write_values(double *v, int n, double first)
{
	for (int i = 0; i < n; i++)
		v[i] = first + i;
}

static void check_sum(const struct collectives *c, const struct series *s, int round)
{
	double objects = (double)c->ranks * s->objects;
	double first = objects * (objects - 1) / 2 + objects * round;
	int bad = 0;

	for (int i = 0; i < s->n; i++)
		bad += c->result[i] != first + objects * i;
	if (bad)
		wrong("a sum", bad);
}

/* v[0] is the time, the others are the round's. */
static void begin_bcast(struct collectives *c, const struct series *s, int round)
{
	if (c->rank == 0) {
		write_values(c->result, s->n, round);
		c->result[0] = bench_now_us();
	}
	MPI_Bcast(c->result, s->n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static void check_payload(const struct series *s, const double *v)
{
	int bad = 0;

	for (int i = 2; i < s->n; i++)
		bad += v[i] != v[1] + (i - 1);
	if (bad)
		wrong("a broadcast", bad);
}

/* ---- objects that are called ---- */

static void take_value(struct collectives *c, const struct series *s, const double *v)
{
	if (s->op == BARRIER)
		c->come++;
	else if (s->op == BCAST)
		c->mine[0] = *v > c->mine[0] ? *v : c->mine[0];
	else
		for (int i = 0; i < s->n; i++)
			c->mine[i] += v[i];
}

static void object_comes(struct object *self, struct collectives *c, const struct series *s)
{
	self->round++;
	c->take(c, s, NULL);
}

static void object_writes(struct object *self, struct collectives *c, const struct series *s)
{
	write_values(self->v, s->n, self->index + self->round);
	c->take(c, s, self->v);
}

static void object_reads(struct object *self, struct collectives *c, const struct series *s)
{
	check_sum(c, s, self->round++);
	object_writes(self, c, s);
}

static void object_hears(struct object *self, struct collectives *c, const struct series *s)
{
	double latency;

	check_payload(s, c->result);
	latency = bench_now_us() - c->result[0];
	self->round++;
	c->take(c, s, &latency);
}

static void call_objects(struct collectives *c, const struct series *s)
{
	for (int o = 0; o < s->objects; o++)
		c->object[o].result(&c->object[o], c, s);
}

static void objects_begin(struct collectives *c, const struct series *s)
{
	for (int o = 0; o < s->objects; o++)
		c->object[o] = (struct object){ c->rank * s->objects + o, 0, c->values + (size_t)o * s->n,
						s->op == BARRIER ? object_comes :
						s->op == BCAST	 ? object_hears :
								   object_reads };
}

/* The objects have come before the first round, and come to the next one when it is over. */
static __attribute__((noinline)) void barrier_called(struct collectives *c, const struct series *s)
{
	MPI_Barrier(MPI_COMM_WORLD);
	c->come = 0;
	call_objects(c, s);
	if (c->come != s->objects)
		wrong("a barrier", c->come);
}

/* The values of the first round are written before it, the next ones when a result is read. */
static __attribute__((noinline)) void allreduce_called(struct collectives *c,
						       const struct series *s, int round)
{
	memset(c->mine, 0, (round == 0) * (size_t)s->n * sizeof *c->mine);
	for (int o = 0; round == 0 && o < s->objects; o++)
		object_writes(&c->object[o], c, s);
	MPI_Allreduce(c->mine, c->result, s->n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	memset(c->mine, 0, (size_t)s->n * sizeof *c->mine);
	call_objects(c, s);
}

static double bcast_called(struct collectives *c, const struct series *s, int round)
{
	double last = 0;

	begin_bcast(c, s, round);
	c->mine[0] = 0;
	call_objects(c, s);
	MPI_Reduce(c->mine, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	return last;
}

/* Returns the last rank's latency at rank 0, of a broadcast. */
static double called(struct collectives *c, const struct series *s, int round)
{
	if (round == 0)
		objects_begin(c, s);
	if (s->op == BCAST)
		return bcast_called(c, s, round);
	if (s->op == BARRIER)
		barrier_called(c, s);
	else
		allreduce_called(c, s, round);
	return 0;
}

/* ---- without calls ---- */

static __attribute__((noinline)) void allreduce(struct collectives *c, const struct series *s,
						int round)
{
	double *sum = s->objects == 1 ? c->values : c->mine;

	for (int o = 0; o < s->objects; o++) {
		double *v = c->values + (size_t)o * s->n;

		write_values(v, s->n, c->rank * s->objects + o + round);
		for (int i = 0; s->objects > 1 && i < s->n; i++)
			sum[i] = o ? sum[i] + v[i] : v[i];
	}
	MPI_Allreduce(sum, c->result, s->n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	for (int o = 0; o < s->objects; o++)
		check_sum(c, s, round);
}

/* Returns the last rank's latency at rank 0. */
static double bcast(struct collectives *c, const struct series *s, int round)
{
	double latency = 0, last = 0;

	begin_bcast(c, s, round);
	for (int o = 0; o < s->objects; o++) {
		check_payload(s, c->result);
		latency = bench_now_us() - c->result[0];
	}
	MPI_Reduce(&latency, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	return last;
}

/* The round before the first is not timed: it brings all together. */
static double run(struct collectives *c, const struct series *s, int rounds, double *latency_p)
{
	double t0 = 0, latency = 0;

	for (int round = 0; round <= rounds; round++) {
		double l = 0;

		if (c->object)
			l = called(c, s, round);
		else if (s->op == BARRIER)
			MPI_Barrier(MPI_COMM_WORLD);
		else if (s->op == ALLREDUCE)
			allreduce(c, s, round);
		else
			l = bcast(c, s, round);
		if (round == 0)
			t0 = bench_now_us();
		else
			latency += l;
	}
	*latency_p = latency / rounds;
	return (bench_now_us() - t0) / rounds;
}

/* Rank 0 finds how many rounds fill a run, and all do as many. */
static void probe(struct collectives *c, struct series *s)
{
	double latency, rounds = c->run_us / run(c, s, ROUNDS_PROBE, &latency);

	s->rounds = rounds < ROUNDS_LEAST  ? ROUNDS_LEAST
		    : rounds > ROUNDS_MOST ? ROUNDS_MOST
					   : (int)rounds;
	MPI_Bcast(&s->rounds, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

static const char *const OP[] = {"barrier", "allreduce", "bcast"};

static const char *whom_of(const struct series *s) { return s->objects > 1 ? "array" : "group"; }

static void report(const struct collectives *c, struct series *s)
{
	const char *whom = whom_of(s), *library = bench_mpi_library();
	double us = bench_median(s->us, c->opt.repeats);
	double latency = bench_median(s->latency, c->opt.repeats);

	printf("%s-%s%s-%s %d %.3f us\n", OP[s->op], whom, c->object ? "-called" : "", library, s->n,
	       s->op == BCAST ? latency : us);
	if (s->op == BCAST)
		printf("bcast-acked-%s%s-%s %d %.3f us\n", whom, c->object ? "-called" : "", library, s->n,
		       us);
}

static int add(const struct collectives *c, struct series *series, int k, struct series s)
{
	char name[64];

	snprintf(name, sizeof name, "%s-%s", OP[s.op], whom_of(&s));
	if (strncmp(name, c->only, strlen(c->only)) != 0 || (c->doubles >= 0 && c->doubles != s.n) ||
	    (c->take && s.objects == 1))
		return k;
	series[k] = s;
	return k + 1;
}

static int plan(const struct collectives *c, struct series *series)
{
	static const int sizes[] = {1, 100, N_MOST};
	int k = 0;

	for (int kind = 0; kind < 2; kind++) {
		int objects = kind ? c->per_rank : 1;

		k = add(c, series, k, (struct series){.op = BARRIER, .objects = objects});
		for (int op = ALLREDUCE; op <= BCAST; op++)
			for (int i = 0; i < 3; i++)
				k = add(c, series, k,
					(struct series){(enum op)op, objects, sizes[i], 0, {0}, {0}});
	}
	return k;
}

static void parse(struct collectives *c, int argc, char **argv)
{
	bench_options_init(&c->opt);
	c->per_rank = 100;
	c->take = NULL;
	c->only = "";
	c->doubles = -1;
	c->run_us = RUN_US;
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--smoke")) {
			c->run_us = SMOKE_RUN_US;
			c->opt.repeats = 1;
		} else if (!strcmp(argv[i], "--per-rank")) {
			i++;
			c->per_rank = (int)bench_number(argv[0], "--per-rank", argv[i], 2, 100000);
		} else if (!strcmp(argv[i], "--doubles")) {
			i++;
			c->doubles = (int)bench_number(argv[0], "--doubles", argv[i], 0, N_MOST);
		} else if (!strcmp(argv[i], "--called")) {
			c->take = take_value;
		} else if (!strcmp(argv[i], "--only") && i + 1 < argc) {
			c->only = argv[++i];
		} else if (!bench_option(&c->opt, argc, argv, &i)) {
			bench_mpi_refuse("usage: %s [--reps n] [--per-rank n] [--only NAME] [--doubles n] "
					 "[--called] [--no-pin] [--smoke]\n",
					 argv[0]);
		}
	}
}

int main(int argc, char **argv)
{
	static struct series series[SERIES_MAX];
	struct collectives c;
	int n;

	MPI_Init(&argc, &argv);
	parse(&c, argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &c.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &c.ranks);
	if (c.opt.pin)
		bench_mpi_pin(c.rank);
	c.values = bench_alloc((size_t)c.per_rank * N_MOST * sizeof *c.values);
	c.mine = bench_alloc(N_MOST * sizeof *c.mine);
	c.result = bench_alloc(N_MOST * sizeof *c.result);
	c.object = c.take ? bench_alloc((size_t)c.per_rank * sizeof *c.object) : NULL;
	n = plan(&c, series);
	for (int k = 0; k < n; k++)
		probe(&c, &series[k]);
	for (int r = 0; r < c.opt.repeats; r++)
		for (int k = 0; k < n; k++)
			series[k].us[r] = run(&c, &series[k], series[k].rounds,
					      &series[k].latency[r]);
	for (int k = 0; c.rank == 0 && k < n; k++)
		report(&c, &series[k]);
	free(c.values);
	free(c.mine);
	free(c.result);
	free(c.object);
	MPI_Finalize();
	return 0;
}
