/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reference of bench/grain: the same tasks, in blocks of points over the ranks. Tasks of one
 * rank read each other's outputs where they lie. Between ranks each output travels once to each
 * rank that reads it.
 *
 *	mpiexec.hydra -n 2 build/bench/mpi/grain_mpi.mpich [--how each|packed] [options]
 *
 * In every step a rank first runs the tasks whose outputs others read, sends these, and then runs
 * the rest while they travel. Receives are posted a step ahead. With `each` (the default) an
 * output is a message; with `packed` all outputs for one rank are copied into one message.
 *
 * Options are those of bench/grain (grain/options.h). Prints `grain-PATTERN-each-LIBRARY WIDTH
 * us`, as grain does.
 */
#include "bench_mpi.h"

#include "grain/options.h"

/* Outputs that go from one rank to another in steps of one phase. */
struct link {
	int rank, n;
	int *points;            /* in the same order at both ends */
	/* By the parity of the step in which they are read. Received outputs lie here in any case. */
	unsigned char *packed[2];
};

/* The tasks of one rank, in one phase. */
struct tasks {
	int *order;             /* local points, those whose outputs others read first */
	int n_first;
	struct link *from, *to; /* [ranks]; what is read, and the readers of what is written */
	int n_from, n_to;       /* with anything in them */
	const unsigned char ***in[2]; /* by the parity of the step, and local point: what it reads */
};

struct requests {
	int n;
	MPI_Request *of;
	MPI_Status *statuses;
};

struct layer {                  /* one graph */
	struct phase **phases;  /* of each local point */
	struct tasks *tasks;    /* [period] */
	unsigned char *out[2];  /* by the parity of the step */
	struct requests sends[2], recvs[2]; /* by the parity of the step */
};

struct program {
	struct sweep sweep;
	struct sweep_options opt;
	bool packed;
	int rank, ranks, first; /* first: the rank's first point */
	struct layer *layers;
};

static size_t bytes(const struct program *m)
{
	return (size_t)m->opt.graph.bytes;
}

static int rank_of(const struct program *m, int point)
{
	return point / m->opt.width;
}

static struct tasks *tasks_of(const struct program *m, const struct layer *l, int step)
{
	return &l->tasks[step % m->opt.graph.period];
}

static const struct phase *phase_of(const struct program *m, const struct layer *l, int local,
				    int step)
{
	return &l->phases[local][step % m->opt.graph.period];
}

static unsigned char *out(const struct program *m, const struct layer *l, int step, int local)
{
	return l->out[step & 1] + (size_t)local * bytes(m);
}

/*
 * ---- once: who sends what
 * ----------------------------------------------------------------------
 */

static int place_in(const struct link *k, int point)
{
	int i = 0;

	while (i < k->n && k->points[i] != point)
		i++;
	return i;
}

static void add_point(struct link *k, int point)
{
	if (place_in(k, point) == k->n)
		k->points[k->n++] = point;
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Links without points go. The result is how many are left. */
static int finish_links(const struct program *m, struct link *links)
{
	int n = 0;

	for (int r = 0; r < m->ranks; r++) {
		struct link k = links[r];

		if (!k.n)
			continue;
		qsort(k.points, (size_t)k.n, sizeof *k.points, by_number);
		for (int side = 0; side < 2; side++)
			k.packed[side] = bench_alloc((size_t)k.n * bytes(m));
		links[n++] = k;
	}
	return n;
}

static struct link *links(const struct program *m)
{
	struct link *all = graph_alloc((size_t)m->ranks, sizeof *all);

	for (int r = 0; r < m->ranks; r++)
		all[r] = (struct link){
			.rank = r, .points = graph_alloc((size_t)m->opt.graph.points, sizeof(int)),
		};
	return all;
}

static void find_links(const struct program *m, const struct layer *l, int step, struct tasks *s)
{
	s->from = links(m);
	s->to = links(m);
	for (int p = 0; p < m->opt.width; p++) {
		const struct phase *f = phase_of(m, l, p, step);

		for (int k = 0; k < f->n_reads; k++)
			if (rank_of(m, f->reads[k]) != m->rank)
				add_point(&s->from[rank_of(m, f->reads[k])], f->reads[k]);
		for (int k = 0; k < f->n_readers; k++)
			if (rank_of(m, f->readers[k].point) != m->rank)
				add_point(&s->to[rank_of(m, f->readers[k].point)], m->first + p);
	}
	s->n_from = finish_links(m, s->from);
	s->n_to = finish_links(m, s->to);
}

static bool is_sent(const struct tasks *s, int point)
{
	for (int r = 0; r < s->n_to; r++)
		if (place_in(&s->to[r], point) < s->to[r].n)
			return true;
	return false;
}

static void find_order(const struct program *m, struct tasks *s)
{
	int n = 0;

	s->order = graph_alloc((size_t)m->opt.width, sizeof *s->order);
	for (int sent = 1; sent >= 0; sent--) {
		for (int p = 0; p < m->opt.width; p++)
			if (is_sent(s, m->first + p) == sent)
				s->order[n++] = p;
		if (sent)
			s->n_first = n;
	}
}

static const unsigned char *where(const struct program *m, const struct layer *l,
				  const struct tasks *s, int side, int point)
{
	if (rank_of(m, point) == m->rank)
		return out(m, l, side + 1, point - m->first);
	for (int r = 0;; r++)
		if (place_in(&s->from[r], point) < s->from[r].n)
			return s->from[r].packed[side] + (size_t)place_in(&s->from[r], point) * bytes(m);
}

static void find_inputs(const struct program *m, const struct layer *l, int step, struct tasks *s)
{
	for (int side = 0; side < 2; side++) {
		s->in[side] = graph_alloc((size_t)m->opt.width, sizeof *s->in[side]);
		for (int p = 0; p < m->opt.width; p++) {
			const struct phase *f = phase_of(m, l, p, step);

			s->in[side][p] = graph_alloc((size_t)f->n_reads, sizeof(unsigned char *));
			for (int k = 0; k < f->n_reads; k++)
				s->in[side][p][k] = where(m, l, s, side, f->reads[k]);
		}
	}
}

static struct requests requests(size_t most)
{
	return (struct requests){
		.of = graph_alloc(most, sizeof(MPI_Request)),
		.statuses = graph_alloc(most, sizeof(MPI_Status)),
	};
}

static void begin_layer(const struct program *m, struct layer *l)
{
	const struct graph *g = &m->opt.graph;

	l->phases = graph_alloc((size_t)m->opt.width, sizeof *l->phases);
	for (int p = 0; p < m->opt.width; p++)
		l->phases[p] = graph_phases(g, m->first + p);
	for (int side = 0; side < 2; side++) {
		l->out[side] = bench_alloc((size_t)m->opt.width * bytes(m));
		l->recvs[side] = requests((size_t)g->points);
		l->sends[side] = requests((size_t)(m->opt.width * m->ranks));
	}
	l->tasks = graph_alloc((size_t)g->period, sizeof *l->tasks);
	for (int f = 0; f < g->period; f++) {
		find_links(m, l, f, &l->tasks[f]);
		find_order(m, &l->tasks[f]);
		find_inputs(m, l, f, &l->tasks[f]);
	}
}

/*
 * ---- in each step
 * ------------------------------------------------------------------------------
 */

static int tag(const struct program *m, const struct layer *l, int point)
{
	return (int)(l - m->layers) * GRAPH_POINTS_MOST + point;
}

static MPI_Request *next_of(struct requests *r)
{
	return &r->of[r->n++];
}

/* What the tasks of `step` read from other ranks. */
static void post_receives(const struct program *m, struct layer *l, int step)
{
	const struct tasks *s = tasks_of(m, l, step);
	const int side = step & 1, size = m->opt.graph.bytes;

	for (int r = 0; r < s->n_from; r++) {
		const struct link *k = &s->from[r];

		if (m->packed)
			MPI_Irecv(k->packed[side], size * k->n, MPI_BYTE, k->rank, tag(m, l, 0), MPI_COMM_WORLD,
				  next_of(&l->recvs[side]));
		for (int i = 0; i < k->n && !m->packed; i++)
			MPI_Irecv(k->packed[side] + (size_t)i * bytes(m), size, MPI_BYTE, k->rank,
				  tag(m, l, k->points[i]), MPI_COMM_WORLD, next_of(&l->recvs[side]));
	}
}

static void send_packed(const struct program *m, struct layer *l, int step, const struct link *k)
{
	unsigned char *to = k->packed[step & 1];

	for (int i = 0; i < k->n; i++)
		memcpy(to + (size_t)i * bytes(m), out(m, l, step, k->points[i] - m->first), bytes(m));
	MPI_Isend(to, m->opt.graph.bytes * k->n, MPI_BYTE, k->rank, tag(m, l, 0), MPI_COMM_WORLD,
			  next_of(&l->sends[step & 1]));
}

static void send_each(const struct program *m, struct layer *l, int step, const struct link *k)
{
	for (int i = 0; i < k->n; i++)
		MPI_Isend(out(m, l, step, k->points[i] - m->first), m->opt.graph.bytes, MPI_BYTE, k->rank,
			  tag(m, l, k->points[i]), MPI_COMM_WORLD,
			  next_of(&l->sends[step & 1]));
}

static void run_tasks(const struct program *m, const struct layer *l, int step, int from, int to)
{
	const struct tasks *s = tasks_of(m, l, step);

	for (int i = from; i < to; i++) {
		const int p = s->order[i];
		const struct phase *f = phase_of(m, l, p, step);

		task_run(&m->opt.graph, m->sweep.iterations, step, m->first + p, s->in[step & 1][p],
			 f->reads, f->n_reads, out(m, l, step - 1, p), out(m, l, step, p));
	}
}

static void wait_for(struct requests *r)
{
	if (r->n)
		MPI_Waitall(r->n, r->of, r->statuses);
	r->n = 0;
}

/* Sends are complete before the tasks overwrite what they read, two steps later. */
static void run_step(const struct program *m, struct layer *l, int step)
{
	const struct tasks *s = tasks_of(m, l, step);
	const bool last = step + 1 == m->sweep.steps;

	wait_for(&l->recvs[step & 1]);
	wait_for(&l->sends[step & 1]);
	if (!last)
		post_receives(m, l, step + 1);
	run_tasks(m, l, step, 0, s->n_first);
	for (int r = 0; r < s->n_to && !last; r++)
		(m->packed ? send_packed : send_each)(m, l, step, &s->to[r]);
	run_tasks(m, l, step, s->n_first, m->opt.width);
}

/* Microseconds of a run. */
static double run(struct program *m)
{
	double t0;

	MPI_Barrier(MPI_COMM_WORLD);
	t0 = bench_now_us();
	for (int step = 0; step < m->sweep.steps; step++)
		for (int g = 0; g < m->opt.n_graphs; g++)
			run_step(m, &m->layers[g], step);
	for (int g = 0; g < m->opt.n_graphs; g++) {
		wait_for(&m->layers[g].sends[0]);
		wait_for(&m->layers[g].sends[1]);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	return bench_now_us() - t0;
}

/*
 * ---- all of it
 * -----------------------------------------------------------------------------------
 */

static void parse(struct program *m, int argc, char **argv)
{
	const char *wrong = NULL;

	m->opt = options_default;
	for (int i = 1; i < argc && !wrong; i++)
		if (!strcmp(argv[i], "--how") && i + 1 < argc)
			m->packed = !strcmp(argv[++i], "packed");
		else if (!options_read(&m->opt, argc, argv, &i))
			wrong = argv[i];
	if (!wrong)
		wrong = options_finish(&m->opt, m->ranks);
	if (wrong)
		bench_mpi_refuse("grain_mpi: %s\n", wrong);
}

static void report(const struct program *m)
{
	const char *pattern = graph_patterns[m->opt.graph.pattern].name;
	const char *how = m->packed ? "packed" : "each";

	printf("grain-%s-%s-%s %d %.4f us\n", pattern, how, bench_mpi_library(), m->opt.width,
	       m->sweep.result_us);
	if (!m->opt.metg)
		printf("grain-%s-%s-%s-efficiency %d %.1f %%\n", pattern, how, bench_mpi_library(), m->opt.width,
		       sweep_percent(&m->sweep));
}

int main(int argc, char **argv)
{
	struct program m = {0};
	int more = 1;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &m.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &m.ranks);
	parse(&m, argc, argv);
	bench_mpi_pin(m.rank);
	m.first = m.rank * m.opt.width;
	m.layers = graph_alloc((size_t)m.opt.n_graphs, sizeof *m.layers);
	for (int g = 0; g < m.opt.n_graphs; g++)
		begin_layer(&m, &m.layers[g]);
	sweep_begin(&m.sweep, &m.opt, m.ranks);
	while (more) {
		const double us = run(&m);

		more = sweep_ran(&m.sweep, us);
		MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
		MPI_Bcast(&m.sweep.steps, 1, MPI_INT, 0, MPI_COMM_WORLD);
		MPI_Bcast(&m.sweep.iterations, 1, MPI_LONG, 0, MPI_COMM_WORLD);
	}
	if (m.rank == 0)
		report(&m);
	MPI_Finalize();
	return 0;
}
