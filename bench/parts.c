/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parts: a buffer that is made part by part, put as a whole or in parts, and used at the other
 * side. parts_mpi.c is the same by MPI; parts.py prints both beside each other.
 *
 *	ckrun -n 2 build/bench/parts               two processes
 *	ckrun -n 2 --ppn 2 build/bench/parts       two PEs of one process
 *	CK_DIRECT_PATH=message ckrun -n 2 ...      or rma: what channels cost without shared memory;
 *	                                           with CK_SHARE=0 through UCX
 *
 * Options: --parts a,b,c (1 to 256), --sizes, --reps, --smoke.
 * Prints `name bytes value unit`, medians. The name ends with the number of parts; before that it
 * says threads, or the path between two processes: memory, rma, message.
 *	parts-whole-memory-16   us   one channel: a put when all parts are made
 *	parts-each-memory-16    us   a channel for each part, put when the part is made, and used when
 *	                             it has come
 *	parts-set-memory-16     us   the same, but used when all have come (CkDirect_createSet)
 *
 * The time is that of a round: from before the first part is made until the answer has come, a put
 * of 8 bytes that says that all has been used. The parts are made in one entry method, one after
 * the other. The user makes a channel ready as soon as it has used its data. parts.h says what
 * making and using are: about 1 ns for each 8 bytes on each side, the same for any number of parts.
 */
#include <string.h>

#include "ckdirect.h"
#include "parts.h"
#include "parts.decl.h"

enum way { WHOLE, EACH, SET, WAYS };
static const char *const way_name[WAYS] = { "whole", "each", "set" };
enum { MAKER, USER };
enum path { MEMORY, RMA, MESSAGE, PATHS };
static const char *const path_name[PATHS] = { "memory", "rma", "message" };
static const uint64_t NO_VALUE = 0;

struct Main {
	struct parts_options options;
	struct plan *plan;
	enum path path;
};

struct part {
	struct Side *side;
	size_t from, words;    /* of the buffer */
	CkDirectHandle handle; /* the end that is here */
};

struct Side {
	enum way way;
	int n_parts, n_channels;
	size_t words;
	uint64_t *buffer;
	struct part part[PARTS_MOST];
	CkDirectSet *set;
	uint64_t round;
	int n_used;            /* of this round's parts */
	uint64_t answer;
	CkDirectHandle answers;
	double t0;
	long left;
};

static void lay_out(Side *self, int n_channels, int n_parts, size_t bytes)
{
	self->n_parts = n_parts;
	self->n_channels = n_channels;
	self->words = bytes / PARTS_WORD;
	self->round = 0;
	self->n_used = 0;
	for (int i = 0; i < n_channels; i++) {
		self->part[i].side = self;
		self->part[i].words = self->words / (size_t)n_channels;
		self->part[i].from = self->part[i].words * (size_t)i;
	}
}

/* ---- the side that makes ---------------------------------------------------------------- */

static void make_round(Side *self)
{
	const size_t words = self->words / (size_t)self->n_parts;

	self->round++;
	for (int i = 0; i < self->n_parts; i++) {
		parts_make(self->buffer, words * (size_t)i, words, self->round);
		if (self->n_channels > 1)
			CkDirect_put(&self->part[i].handle);
	}
	if (self->n_channels == 1)
		CkDirect_put(&self->part[0].handle);
}

static void on_answer(void *arg)
{
	Side *self = arg;

	if (self->answer != self->round)
		CkAbort("parts: the answer to another round");
	CkDirect_ready(&self->answers);
	if (--self->left > 0)
		make_round(self);
	else
		Main_done(mainProxy, bench_now_us() - self->t0);
}

void Side_on_run(Side *self, long rounds)
{
	self->left = rounds;
	self->t0 = bench_now_us();
	make_round(self);
}

static int path_of(const CkDirectHandle *h)
{
	int path = 0;

	while (path < PATHS - 1 && strcmp(CkDirect_path(h), path_name[path]))
		path++;
	return path;
}

void Side_on_bind(Side *self, int parts, size_t bytes, int n, const CkDirectHandle *h)
{
	lay_out(self, n, parts, bytes);
	for (int i = 0; i < n; i++) {
		struct part *p = &self->part[i];

		p->handle = h[i];
		CkDirect_assocLocalBuffer(&p->handle, self->buffer + p->from, p->words * PARTS_WORD);
	}
	Main_bound(mainProxy, path_of(&self->part[0].handle));
}

/* ---- the side that uses ----------------------------------------------------------------- */

static void use_words(const Side *self, size_t from, size_t words)
{
	if (!parts_use(self->buffer, from, words, self->round + 1))
		CkAbort("parts: round %llu: words %zu to %zu are not what was sent",
			(unsigned long long)self->round + 1, from, from + words - 1);
}

static void round_used(Side *self)
{
	self->n_used = 0;
	self->answer = ++self->round;
	CkDirect_put(&self->answers);
}

static void use_part(void *arg)
{
	struct part *p = arg;
	Side *self = p->side;

	use_words(self, p->from, p->words);
	CkDirect_ready(&p->handle);
	if (++self->n_used == self->n_channels)
		round_used(self);
}

static void use_set(void *arg)
{
	Side *self = arg;

	for (int i = 0; i < self->n_channels; i++)
		use_words(self, self->part[i].from, self->part[i].words);
	CkDirect_readySet(self->set);
	round_used(self);
}

static void make_set(Side *self)
{
	CkDirectHandle *h[PARTS_MOST];

	for (int i = 0; i < self->n_channels; i++)
		h[i] = &self->part[i].handle;
	self->set = CkDirect_createSet(h, self->n_channels, use_set, self);
}

void Side_on_begin(Side *self, int way, int parts, size_t bytes)
{
	CkDirectHandle h[PARTS_MOST];

	self->way = (enum way)way;
	lay_out(self, self->way == WHOLE ? 1 : parts, parts, bytes);
	for (int i = 0; i < self->n_channels; i++) {
		struct part *p = &self->part[i];

		h[i] = p->handle = CkDirect_createHandle(self->buffer + p->from, p->words * PARTS_WORD, NO_VALUE,
							 use_part, p);
	}
	if (self->way == SET)
		make_set(self);
	Side_bind(Side_at(sides, MAKER), parts, bytes, self->n_channels, h);
}

void Side_on_answer_to(Side *self, CkDirectHandle h)
{
	self->answers = h;
	CkDirect_assocLocalBuffer(&self->answers, &self->answer, sizeof self->answer);
	Main_connected(mainProxy);
}

/* ---- both ------------------------------------------------------------------------------- */

/* After a run the last put has been used and answered. */
void Side_on_end(Side *self)
{
	if (self->set)
		CkDirect_destroySet(self->set);
	for (int i = 0; i < self->n_channels && !self->set; i++)
		CkDirect_destroyHandle(&self->part[i].handle);
	self->set = NULL;
	CkContributeBarrier(self, Main_cb_ended(mainProxy));
}

void Side_on_new(Side *self)
{
	self->buffer = CkDirect_alloc(most_bytes);
	if (!self->buffer)
		CkAbort("parts: no memory");
	memset(self->buffer, 0, most_bytes);
	if (Side_thisIndex(self) != MAKER)
		return;
	self->answers = CkDirect_createHandle(&self->answer, sizeof self->answer, NO_VALUE,
					      on_answer, self);
	Side_answer_to(Side_at(sides, USER), self->answers);
}

static void begin_series(Main *self)
{
	const struct series *s = plan_current(self->plan);

	Side_begin(Side_at(sides, USER), parts_way(s), parts_count(s), s->parameter);
}

/* Before that no part may be sent: a put, which no call precedes, would be answered too early. */
void Main_on_connected(Main *self)
{
	begin_series(self);
}

void Main_on_bound(Main *self, int path)
{
	self->path = (enum path)path;
	Side_run(Side_at(sides, MAKER), plan_current(self->plan)->count);
}

static void print_all(Main *self)
{
	const char *where = CkNumNodes() == 1 ? "threads" : path_name[self->path];

	for (int i = 0; i < self->plan->n; i++) {
		struct series *s = &self->plan->series[i];

		CkPrintf("parts-%s-%s-%d %zu %.2f us\n", way_name[parts_way(s)], where,
			 parts_count(s), s->parameter, bench_median(s->us, self->plan->repeats));
	}
}

void Main_on_done(Main *self, double us)
{
	if (!plan_record(self->plan, us)) {
		print_all(self);
		CkExit(0);
		return;
	}
	Side_end_all(sides);
}

void Main_on_ended(Main *self)
{
	begin_series(self);
}

/* 1 for bad arguments. */
static int read_options(Main *self, CkArgMsg *m)
{
	parts_options_init(&self->options);
	for (int i = 1; i < m->argc; i++)
		if (!parts_option(&self->options, m->argc, m->argv, &i)) {
			CkError("parts: unknown option %s\n", m->argv[i]);
			return 1;
		}
	if (CkNumPes() != 2)
		CkError("parts: needs 2 PEs: ckrun -n 2 [--ppn 2] parts\n");
	return CkNumPes() != 2;
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	if (read_options(self, m)) {
		CkExit(2);
		return;
	}
	self->plan = bench_alloc(sizeof *self->plan);
	parts_plan(self->plan, &self->options, WAYS);
	most_bytes = bench_largest(&self->options.plan.common);
	mainProxy = Main_thisProxy(self);
	sides = Side_ckNew(CkDims1(2));
}

#include "parts.def.h"
