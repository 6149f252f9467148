/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collectives: what barriers, allreduces, broadcasts and quiescence cost. The ARMI report compares
 * its fence with MPI_Barrier in the same way (chapter V, figures 10 to 12).
 *
 *	ckrun -n 2 build/bench/collectives              between two nodes (processes)
 *	ckrun -n 2 --ppn 2 build/bench/collectives      between two PEs of one node (threads)
 *
 * Options: --reps n, --per-pe n (elements of the array on one PE, default 100), --only NAME
 * (figures whose names begin with it, as in --only barrier-group), --doubles n (only figures of n
 * doubles), --rounds n (of each run, instead of as many as take 20 ms), --smoke.
 * Prints `name n microseconds us`, medians; n counts doubles. A name ends with -nodes or
 * -threads, and before it stands -group (one member on each PE) or -array (100 on each):
 *	barrier       an empty reduction, whose callback is a broadcast to the contributors
 *	allreduce     a sum of n doubles, whose callback is a broadcast of them; every element
 *	              writes its n values before, and reads all n of the result
 *	bcast         from the call on PE 0 until the last element has read all n doubles. The
 *	              elements compare the clock with the time in the message, so this figure
 *	              needs one host
 *	bcast-acked   the same and back: a maximum of one double, to the element that broadcasts
 *	quiescence-idle   from CkStartQD to its callback, when nothing else goes on
 *	quiescence-burst  from the last of n messages, handled, to the callback of a CkStartQD
 *	                  that was called when each PE was told to send n to the next (one host)
 * bench/mpi/collectives_mpi.c does the same with MPI_Barrier, MPI_Allreduce and MPI_Bcast.
 *
 * Rounds are timed as a chain: each starts when the one before it is over. All results are
 * checked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "collectives.decl.h"

enum op { BARRIER, ALLREDUCE, BCAST, QUIET_IDLE, QUIET_BURST };
enum whom { GROUP, ARRAY, NOBODY };
static const char *const OP[] = { "barrier", "allreduce", "bcast", "quiescence-idle",
				  "quiescence-burst" };
static const char *const WHOM[] = { "-group", "-array", "" };

enum { ROUNDS_PROBE = 8, ROUNDS_LEAST = 4, ROUNDS_MOST = 20000, SERIES_MAX = 32 };
static const double RUN_US = 20000, SMOKE_RUN_US = 200; /* of one timed run */

/* One measurement with all its repeats. */
struct series {
	enum op op;
	enum whom whom;
	int n;
	int rounds;                        /* 0: not known yet */
	double us[BENCH_REPEATS_MAX];      /* of one round */
	double latency[BENCH_REPEATS_MAX]; /* BCAST, QUIET_BURST */
};

struct Main {
	CProxy_Part parts;
	struct bench_options opt;
	struct series series[SERIES_MAX];
	int n_series, at, repeat;
	double run_us;
	int rounds;                        /* --rounds; 0: found for each series */
	int doubles;                       /* --doubles; -1: all */
	/* Quiescence: the round that goes on. */
	int round, drops;
	double t0, quiet_at, latency;
};

/* What a Member and a Part are: one that takes part. */
struct party {
	enum whom whom;
	int index, n_parties;
	CkCallback again, sum, ack;
	double *v;
	size_t cap_v;
	/* The run that goes on. */
	enum op op;
	int n, round, rounds;
	double t0, latency;
};

struct Member {
	struct party party;
	int dropped;
	double last_drop;
};

struct Part {
	struct party party;
};

/* ---- one party ----------------------------------------------------------------------------- */

/* Values whose sum over the parties is exact in a double and differs from round to round. */
static void write_values(struct party *p)
{
	double first = p->index + p->round;

	for (int i = 0; i < p->n; i++)
		p->v[i] = first + i;
}

static void check_sum(const struct party *p, int n, const double *v)
{
	double parties = p->n_parties;
	double first = parties * (parties - 1) / 2 + parties * p->round;
	int wrong = 0;

	for (int i = 0; i < n; i++)
		wrong += v[i] != first + parties * i;
	if (wrong || n != p->n)
		CkAbort("round %d: %d of %d sums are wrong", p->round, wrong, n);
}

/* v[0] is the time, the others are the round's. */
static void check_payload(int n, const double *v)
{
	int wrong = 0;

	for (int i = 2; i < n; i++)
		wrong += v[i] != v[1] + (i - 1);
	if (wrong)
		CkAbort("%d of %d values of a broadcast are wrong", wrong, n);
}

static void broadcast(struct party *p)
{
	write_values(p);
	p->v[0] = bench_now_us();
	if (p->whom == GROUP)
		Member_payload_all(members, p->n, p->v);
	else
		Part_payload_all(Part_thisProxy((Part *)p), p->n, p->v);
}

static void start_round(struct party *p)
{
	switch (p->op) {
	case BARRIER:
		CkContributeBarrier(p, p->again);
		break;
	case ALLREDUCE:
		write_values(p);
		CkContribute(p, p->v, (size_t)p->n, CkReduction_sum_double, p->sum);
		break;
	default:
		if (p->index == 0)
			broadcast(p);
	}
}

/* A party may see the end of the last round after another has: the next run waits for all. A
 * broadcast's last round is over when all have answered it. */
static void run_over(struct party *p)
{
	double us = (bench_now_us() - p->t0) / p->rounds;
	double result[2] = { us, p->latency / p->rounds };

	if (p->op == BCAST)
		Main_done(mainProxy, 2, result);
	else
		CkContribute(p, result, 2, CkReduction_max_double, Main_cb_done(mainProxy));
}

/* The round before the first is not timed: it brings all together. */
static void round_over(struct party *p)
{
	if (p->round == 0)
		p->t0 = bench_now_us();
	if (p->round++ < p->rounds)
		start_round(p);
	else
		run_over(p);
}

static void party_init(struct party *p, enum whom whom, int index, int n_parties)
{
	p->whom = whom;
	p->index = index;
	p->n_parties = n_parties;
}

static void party_begin(struct party *p, enum op op, int n, int rounds)
{
	if ((size_t)n > p->cap_v) {
		/* Not whole pages: those of all elements would lie in the same few lines of the cache. */
		p->v = realloc(p->v, (size_t)n * sizeof *p->v);
		p->cap_v = (size_t)n;
		if (!p->v)
			CkAbort("no memory for %d values", n);
	}
	p->op = op;
	p->n = n;
	p->rounds = rounds;
	p->round = 0;
	p->latency = 0;
	start_round(p);
}

static void party_payload(struct party *p, int n, const double *v)
{
	double latency;

	check_payload(n, v);
	latency = bench_now_us() - v[0];
	CkContribute(p, &latency, 1, CkReduction_max_double, p->ack);
}

static void party_ack(struct party *p, double latency)
{
	if (p->round > 0)
		p->latency += latency;
	round_over(p);
}

static void party_sum(struct party *p, int n, const double *v)
{
	check_sum(p, n, v);
	round_over(p);
}

/* ---- the same for both kinds --------------------------------------------------------------- */

void Member_on_new(Member *self)
{
	CProxy_Member all = Member_thisProxy(self);

	party_init(&self->party, GROUP, CkMyPe(), CkNumPes());
	self->party.again = Member_cb_again_all(all);
	self->party.sum = Member_cb_sum_all(all);
	self->party.ack = Member_cb_ack(Member_at(all, 0));
}

void Member_on_begin(Member *self, int op, int n, int rounds)
{
	party_begin(&self->party, (enum op)op, n, rounds);
}

void Member_on_again(Member *self) { round_over(&self->party); }

void Member_on_sum(Member *self, int n, const double *v) { party_sum(&self->party, n, v); }

void Member_on_payload(Member *self, int n, const double *v) { party_payload(&self->party, n, v); }

void Member_on_ack(Member *self, double latency) { party_ack(&self->party, latency); }

void Part_on_new(Part *self, int n_parts)
{
	CProxy_Part all = Part_thisProxy(self);

	party_init(&self->party, ARRAY, Part_thisIndex(self), n_parts);
	self->party.again = Part_cb_again_all(all);
	self->party.sum = Part_cb_sum_all(all);
	self->party.ack = Part_cb_ack(Part_at(all, 0));
}

void Part_on_begin(Part *self, int op, int n, int rounds)
{
	party_begin(&self->party, (enum op)op, n, rounds);
}

void Part_on_again(Part *self) { round_over(&self->party); }

void Part_on_sum(Part *self, int n, const double *v) { party_sum(&self->party, n, v); }

void Part_on_payload(Part *self, int n, const double *v) { party_payload(&self->party, n, v); }

void Part_on_ack(Part *self, double latency) { party_ack(&self->party, latency); }

/* ---- quiescence, seen from the members ----------------------------------------------------- */

void Member_on_burst(Member *self, int n)
{
	CProxyElement_Member next = Member_at(members, (CkMyPe() + 1) % CkNumPes());

	(void)self;
	for (int i = 0; i < n; i++)
		Member_drop(next);
}

void Member_on_drop(Member *self)
{
	self->dropped++;
	self->last_drop = bench_now_us();
}

void Member_on_report(Member *self, int expected)
{
	if (self->dropped != expected)
		CkAbort("quiescence was found when %d of %d messages had been handled",
			self->dropped, expected);
	self->dropped = 0;
	CkContribute(self, &self->last_drop, 1, CkReduction_max_double,
		     Main_cb_lastDrop(mainProxy));
}

/* ---- main: one series after the other, all once per repeat --------------------------------- */

static void quiet_round(const struct series *s)
{
	if (s->op == QUIET_BURST)
		Member_burst_all(members, s->n);
	CkStartQD(Main_cb_quiet(mainProxy));
}

static void start_run(Main *self)
{
	const struct series *s = &self->series[self->at];
	int rounds = s->rounds ? s->rounds : ROUNDS_PROBE;

	if (s->whom == GROUP) {
		Member_begin_all(members, s->op, s->n, rounds);
	} else if (s->whom == ARRAY) {
		Part_begin_all(self->parts, s->op, s->n, rounds);
	} else {
		self->round = rounds;
		self->latency = 0;
		self->t0 = bench_now_us();
		quiet_round(s);
	}
}

static void report(const Main *self, struct series *s)
{
	const char *place = CkNumNodes() > 1 ? "nodes" : "threads";
	double us = bench_median(s->us, self->opt.repeats);
	double latency = bench_median(s->latency, self->opt.repeats);
	bool one_way = s->op == BCAST || s->op == QUIET_BURST;

	CkPrintf("%s%s-%s %d %.3f us\n", OP[s->op], WHOM[s->whom], place, s->n,
		 one_way ? latency : us);
	if (s->op == BCAST)
		CkPrintf("bcast-acked%s-%s %d %.3f us\n", WHOM[s->whom], place, s->n, us);
}

static void next_run(Main *self)
{
	if (++self->at == self->n_series) {
		self->at = 0;
		self->repeat++;
	}
	if (self->repeat < self->opt.repeats) {
		start_run(self);
		return;
	}
	for (int i = 0; i < self->n_series; i++)
		report(self, &self->series[i]);
	CkExit(0);
}

/* The first run of a series warms up and tells how many rounds fill the others. */
static void record(Main *self, double us, double latency_us)
{
	struct series *s = &self->series[self->at];
	double rounds = self->run_us / us;

	if (!s->rounds) {
		s->rounds = rounds < ROUNDS_LEAST  ? ROUNDS_LEAST
			    : rounds > ROUNDS_MOST ? ROUNDS_MOST
						   : (int)rounds;
		start_run(self);
		return;
	}
	s->us[self->repeat] = us;
	s->latency[self->repeat] = latency_us;
	next_run(self);
}

void Main_on_done(Main *self, int n, const double *v)
{
	(void)n;
	record(self, v[0], v[1]);
}

static void quiet_round_over(Main *self)
{
	const struct series *s = &self->series[self->at];
	int rounds = s->rounds ? s->rounds : ROUNDS_PROBE;

	if (--self->round)
		quiet_round(s);
	else
		record(self, (bench_now_us() - self->t0) / rounds, self->latency / rounds);
}

void Main_on_quiet(Main *self)
{
	const struct series *s = &self->series[self->at];

	self->quiet_at = bench_now_us();
	if (s->op == QUIET_BURST)
		Member_report_all(members, s->n);
	else
		quiet_round_over(self);
}

void Main_on_lastDrop(Main *self, double us)
{
	self->latency += self->quiet_at - us;
	quiet_round_over(self);
}

static void add(Main *self, const char *only, enum op op, enum whom whom, int n)
{
	char name[64];

	snprintf(name, sizeof name, "%s%s", OP[op], WHOM[whom]);
	if (strncmp(name, only, strlen(only)) == 0 && (self->doubles < 0 || self->doubles == n))
		self->series[self->n_series++] =
			(struct series){ .op = op, .whom = whom, .n = n, .rounds = self->rounds };
}

static void plan(Main *self, const char *only)
{
	static const int sizes[] = { 1, 100, 10000 };

	for (int whom = GROUP; whom <= ARRAY; whom++) {
		add(self, only, BARRIER, (enum whom)whom, 0);
		for (int op = ALLREDUCE; op <= BCAST; op++)
			for (int i = 0; i < 3; i++)
				add(self, only, (enum op)op, (enum whom)whom, sizes[i]);
	}
	add(self, only, QUIET_IDLE, NOBODY, 0);
	add(self, only, QUIET_BURST, NOBODY, 1000);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	const char *only = "";
	int per_pe = 100;

	bench_options_init(&self->opt);
	self->run_us = RUN_US;
	self->doubles = -1;
	for (int i = 1; i < m->argc; i++) {
		if (strcmp(m->argv[i], "--smoke") == 0) {
			self->run_us = SMOKE_RUN_US;
			self->opt.repeats = 1;
		} else if (strcmp(m->argv[i], "--per-pe") == 0) {
			i++;
			per_pe = (int)bench_number(m->argv[0], "--per-pe", m->argv[i], 1, 1000000);
		} else if (strcmp(m->argv[i], "--rounds") == 0) {
			i++;
			self->rounds = (int)bench_number(m->argv[0], "--rounds", m->argv[i], 1, ROUNDS_MOST);
		} else if (strcmp(m->argv[i], "--doubles") == 0) {
			i++;
			self->doubles = (int)bench_number(m->argv[0], "--doubles", m->argv[i], 0, 10000);
		} else if (strcmp(m->argv[i], "--only") == 0 && i + 1 < m->argc) {
			only = m->argv[++i];
		} else if (!bench_option(&self->opt, m->argc, m->argv, &i)) {
			CkError("collectives: unknown option %s\n", m->argv[i]);
			CkExit(2);
			return;
		}
	}
	plan(self, only);
	if (!self->n_series) {
		CkError("collectives: nothing begins with %s\n", only);
		CkExit(2);
		return;
	}
	mainProxy = Main_thisProxy(self);
	members = Member_ckNew();
	self->parts = Part_ckNew(CkDims(per_pe * CkNumPes()), per_pe * CkNumPes());
	start_run(self);
}

#include "collectives.def.h"
