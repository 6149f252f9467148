/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/parts.c through MPI: a buffer that is made part by part, sent, and used at the other side.
 *
 *	mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none -n 2 \
 *		build/bench/mpi/parts_mpi.openmpi
 *	mpiexec.hydra -n 2 build/bench/mpi/parts_mpi.mpich
 *
 * Options: those of parts.c.
 * Prints `name bytes value unit`, medians; "mpich" instead of "openmpi" with that:
 *	parts-isend-openmpi-16        us   MPI_Isend of each part when it is made
 *	parts-one-openmpi-16          us   a persistent request of the whole buffer
 *	parts-persistent-openmpi-16   us   a persistent request for each part, started when that is made
 *	parts-partitioned-openmpi-16  us   MPI_Psend_init, MPI_Pready for each part (MPI 4)
 *
 * The receives are posted before the maker begins. The user waits for the parts in the order in
 * which they are made, and uses each when it has come.
 */
#include "bench_mpi.h"

#include "../parts.h"

enum way { ISEND, ONE, PERSISTENT, PARTITIONED, WAYS };
static const char *const way_name[WAYS] = { "isend", "one", "persistent", "partitioned" };
enum { MAKER, USER, ANSWER = PARTS_MOST };

/* What the maker tells the user before each run; parts 0: the end. */
struct order {
	int64_t way, parts, bytes, rounds;
};

struct side {
	enum way way;
	int parts, n_requests;     /* a partitioned request is one */
	size_t words;              /* of a part */
	uint64_t *buffer, round;
	MPI_Request request[PARTS_MOST];
	MPI_Status status[PARTS_MOST];
};

#if MPI_VERSION >= 4
enum { WAYS_HERE = WAYS };

static void partitioned_init(struct side *s, int maker)
{
	if (maker)
		MPI_Psend_init(s->buffer, s->parts, (MPI_Count)s->words, MPI_UINT64_T, USER, 0, MPI_COMM_WORLD,
			       MPI_INFO_NULL, s->request);
	else
		MPI_Precv_init(s->buffer, s->parts, (MPI_Count)s->words, MPI_UINT64_T, MAKER, 0, MPI_COMM_WORLD,
			       MPI_INFO_NULL, s->request);
}

static void partition_ready(struct side *s, int i)
{
	MPI_Pready(i, s->request[0]);
}

static void partition_await(struct side *s, int i)
{
	int flag = 0;

	while (!flag)
		MPI_Parrived(s->request[0], i, &flag);
}
#else
enum { WAYS_HERE = PARTITIONED };

static void partitioned_init(struct side *s, int maker) { (void)s, (void)maker; }
static void partition_ready(struct side *s, int i) { (void)s, (void)i; }
static void partition_await(struct side *s, int i) { (void)s, (void)i; }
#endif

static void requests_init(struct side *s, int maker)
{
	const int n = s->way == ONE ? 1 : s->parts;
	const int words = (int)s->words * s->parts / n;

	s->n_requests = s->way == PARTITIONED ? 1 : n;
	if (s->way == PARTITIONED)
		partitioned_init(s, maker);
	for (int i = 0; i < n && (s->way == ONE || s->way == PERSISTENT); i++) {
		uint64_t *at = s->buffer + (size_t)words * (size_t)i;

		if (maker)
			MPI_Send_init(at, words, MPI_UINT64_T, USER, i, MPI_COMM_WORLD, &s->request[i]);
		else
			MPI_Recv_init(at, words, MPI_UINT64_T, MAKER, i, MPI_COMM_WORLD, &s->request[i]);
	}
}

static void side_init(struct side *s, const struct order *o, uint64_t *buffer, int maker)
{
	*s = (struct side){ .way = (enum way)o->way, .parts = (int)o->parts, .buffer = buffer,
			    .words = (size_t)(o->bytes / o->parts) / PARTS_WORD };
	requests_init(s, maker);
}

static void side_fini(struct side *s)
{
	for (int i = 0; i < s->n_requests && s->way != ISEND; i++)
		MPI_Request_free(&s->request[i]);
}

/* ---- the rank that makes ---------------------------------------------------------------- */

static void send_part(struct side *s, int i)
{
	if (s->way == ISEND)
		MPI_Isend(s->buffer + s->words * (size_t)i, (int)s->words, MPI_UINT64_T, USER, i, MPI_COMM_WORLD,
			  &s->request[i]);
	else if (s->way == PERSISTENT)
		MPI_Start(&s->request[i]);
	else if (s->way == PARTITIONED)
		partition_ready(s, i);
}

static void make_round(struct side *s)
{
	uint64_t answer;

	s->round++;
	if (s->way == PARTITIONED)
		MPI_Start(s->request);
	for (int i = 0; i < s->parts; i++) {
		parts_make(s->buffer, s->words * (size_t)i, s->words, s->round);
		send_part(s, i);
	}
	if (s->way == ONE)
		MPI_Start(s->request);
	MPI_Waitall(s->n_requests, s->request, s->status);
	MPI_Recv(&answer, 1, MPI_UINT64_T, USER, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (answer != s->round)
		bench_mpi_refuse("parts_mpi: the answer to another round\n");
}

static double run(const struct series *series, uint64_t *buffer)
{
	const struct order order = { parts_way(series), parts_count(series),
				     (int64_t)series->parameter, series->count };
	struct side s;
	double t0;

	MPI_Send(&order, sizeof order, MPI_BYTE, USER, ANSWER, MPI_COMM_WORLD);
	side_init(&s, &order, buffer, 1);
	MPI_Recv(NULL, 0, MPI_BYTE, USER, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	t0 = bench_now_us();
	for (long i = 0; i < series->count; i++)
		make_round(&s);
	t0 = bench_now_us() - t0;
	side_fini(&s);
	return t0;
}

static void make_all(const struct parts_options *o, uint64_t *buffer)
{
	struct plan *plan = bench_alloc(sizeof *plan);
	struct order end = { 0, 0, 0, 0 };

	parts_plan(plan, o, WAYS_HERE);
	while (plan_record(plan, run(plan_current(plan), buffer)))
		;
	MPI_Send(&end, sizeof end, MPI_BYTE, USER, ANSWER, MPI_COMM_WORLD);
	for (int i = 0; i < plan->n; i++) {
		struct series *s = &plan->series[i];

		printf("parts-%s-%s-%d %zu %.2f us\n", way_name[parts_way(s)], bench_mpi_library(),
		       parts_count(s), s->parameter, bench_median(s->us, plan->repeats));
	}
	free(plan);
}

/* ---- the rank that uses ----------------------------------------------------------------- */

static void use_words(const struct side *s, size_t from, size_t words)
{
	if (parts_use(s->buffer, from, words, s->round))
		return;
	fprintf(stderr, "parts_mpi: round %llu: words %zu to %zu are not what was sent\n",
		(unsigned long long)s->round, from, from + words - 1);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void start_receives(struct side *s)
{
	for (int i = 0; s->way == ISEND && i < s->parts; i++)
		MPI_Irecv(s->buffer + s->words * (size_t)i, (int)s->words, MPI_UINT64_T, MAKER, i, MPI_COMM_WORLD,
			  &s->request[i]);
	if (s->way != ISEND)
		MPI_Startall(s->n_requests, s->request);
}

static void await_part(struct side *s, int i)
{
	if (s->way == PARTITIONED)
		partition_await(s, i);
	else
		MPI_Wait(&s->request[i], MPI_STATUS_IGNORE);
}

static void use_round(struct side *s)
{
	const int n = s->way == ONE ? 1 : s->parts;
	const size_t words = s->words * (size_t)(s->parts / n);

	s->round++;
	for (int i = 0; i < n; i++) {
		await_part(s, i);
		use_words(s, words * (size_t)i, words);
	}
	if (s->way == PARTITIONED)
		MPI_Wait(s->request, MPI_STATUS_IGNORE);
}

static void use_run(const struct order *order, uint64_t *buffer)
{
	struct side s;

	side_init(&s, order, buffer, 0);
	start_receives(&s);
	MPI_Send(NULL, 0, MPI_BYTE, MAKER, ANSWER, MPI_COMM_WORLD);
	for (int64_t i = 1; i <= order->rounds; i++) {
		use_round(&s);
		if (i < order->rounds)
			start_receives(&s);
		MPI_Send(&s.round, 1, MPI_UINT64_T, MAKER, ANSWER, MPI_COMM_WORLD);
	}
	side_fini(&s);
}

static void use_all(uint64_t *buffer)
{
	struct order order;

	for (;;) {
		MPI_Recv(&order, sizeof order, MPI_BYTE, MAKER, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (!order.parts)
			return;
		use_run(&order, buffer);
	}
}

int main(int argc, char **argv)
{
	struct parts_options options;
	uint64_t *buffer;
	int ranks, rank;

	MPI_Init(&argc, &argv);
	parts_options_init(&options);
	for (int i = 1; i < argc; i++)
		if (!parts_option(&options, argc, argv, &i))
			bench_mpi_refuse("parts_mpi: unknown option %s\n", argv[i]);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (ranks != 2)
		bench_mpi_refuse("parts_mpi: has %d ranks: start it with -n 2\n", ranks);
	if (options.plan.common.pin)
		bench_mpi_pin(rank);
	buffer = bench_alloc(bench_largest(&options.plan.common));
	if (rank == MAKER)
		make_all(&options, buffer);
	else
		use_all(buffer);
	free(buffer);
	MPI_Finalize();
	return 0;
}
