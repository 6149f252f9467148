/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order: every promise about the order of calls, tried with numbered calls. In every round PE 0 makes a
 * new array and at once tells every PE of it by a call, which may arrive before the array does. Every PE
 * then makes random calls: of all kinds of entries and sizes, to single elements, to all, of several
 * priorities. Each stream of calls whose order is promised has a number that grows, and the receiver
 * checks that no number is missing.
 *
 *	streams from one PE to the elements of one array on another PE:
 *	   one per priority, one of expedited calls
 *	streams from one PE to all: elements of the array, one per priority; members of the group
 *
 * At the end of a round the elements contribute to reductions that take different routes, and get
 * the results in the order of the reductions.
 *
 * The program counts what is not promised: a call that came before a call of all that its sender had
 * made earlier, or after a later one. Randomised queues and delays must bring it about.
 *
 * order [seed [rounds]]: the seed of the first round; it is printed.
 */
#include "check.h"

#include <stdlib.h>

#include "order.decl.h"

enum {
	MOST_PES = 64, CALLS = 400, AT_ONCE = 40, RESULTS = 24,
	BIG = 20000,              /* ints; more than an exchange takes */
	HUGE_BYTES = 5 << 20,     /* more than UCX sends without asking the receiver */
};

enum stream {
	PLAIN, URGENT_PRIO, LAZY_PRIO, EXPEDITED, N_PAIR,     /* to the elements of a PE */
	ALL = N_PAIR, ALL_URGENT, ALL_LAZY, N_CELL, GROUP = N_CELL, N_STREAMS
};
static const int prios[] = { 0, -5, 3 };

/* For tests/chare/test_order_chare.c, which has all nodes in its process. */
extern long order_overtaken;
long order_overtaken;

struct Main {
	int round, rounds;
	uint64_t seed;
	CProxy_Agent agents;
	CProxy_Cell cells;
	long n_overtaken;
};
struct Agent { CProxy_Main home; };
struct Cell { int last_result; unsigned next[N_CELL - ALL][MOST_PES]; };

/* What each PE has sent to and got from others in this round. Only its PE uses a row, also where PEs
 * are threads. */
static struct row {
	int round;
	long n_sent, n_got, n_overtaken;
	unsigned sent[N_STREAMS][MOST_PES], got[N_STREAMS][MOST_PES];
} rows[MOST_PES];

static struct row *my_row(int round)
{
	struct row *r = &rows[CkMyPe()];

	if (r->round != round) {
		memset(r, 0, sizeof *r);
		r->round = round;
	}
	return r;
}

static int n_cells(void) { return 3 * CkNumPes() + 1; }

/* ---- receiving --------------------------------------------------------------------------- */

static void in_order(const char *what, unsigned is, unsigned should, int src, int stream)
{
	if (is != should)
		CkAbort("order: %s stream %d from PE %d: call %u came where %u was next", what,
			stream, src, is, should);
}

static void got(int round, int src, int stream, unsigned no)
{
	struct row *r = my_row(round);

	r->n_got++;
	in_order("pair", no, r->got[stream][src]++, src, stream);
}

void Cell_on_new(Cell *self) { self->last_result = -1; }

void Cell_on_plain(Cell *self, int round, int src, int stream, unsigned no, unsigned alls)
{
	got(round, src, stream, no);
	my_row(round)->n_overtaken += self->next[0][src] != alls;
}

void Cell_on_urgent(Cell *self, int round, int src, int stream, unsigned no)
{
	(void)self;
	got(round, src, stream, no);
}

void Cell_on_item(Cell *self, int round, int src, int stream, unsigned no, int n,
		  const char *filler)
{
	(void)self;
	CHECK(!n || filler[n - 1] == (char)no);
	got(round, src, stream, no);
}

void Cell_on_take(Cell *self, Parcel *p)
{
	(void)self;
	got(p->round, p->src, p->stream, p->no);
}

void Cell_on_all(Cell *self, int round, int src, int stream, unsigned no, int n,
		 const char *filler)
{
	CHECK(!n || filler[n - 1] == (char)no);
	my_row(round)->n_got++;
	in_order("array", no, self->next[stream - ALL][src]++, src, stream);
}

void Agent_on_all(Agent *self, int round, int src, int stream, unsigned no)
{
	(void)self;
	got(round, src, stream, no);
}

/* ---- sending ------------------------------------------------------------------------------- */

/* Around the places where the way of a message changes: 368 bytes (a ring's slot), 512, 1 kB. */
static int some_bytes(uint64_t x)
{
	static const int most[] = { 0, 60, 320, 400, 2000, 20 };

	return x % 97 == 0 ? 40000 : (int)(x / 97 % (unsigned)(most[x % 6] + 1));
}

struct call {
	int round, src, stream, n;
	unsigned no;
	const char *filler;
	CkEntryOptions o;
};

static void call_one(struct call *c, int to, CProxyElement_Cell e, uint64_t x)
{
	struct row *r = my_row(c->round);

	c->stream = (int)(x % N_PAIR);
	c->no = r->sent[c->stream][to]++;
	r->n_sent++;
	if (c->stream == EXPEDITED) {
		Cell_urgent(e, c->round, c->src, c->stream, c->no);
		return;
	}
	c->o.prio = prios[c->stream];
	if (x / N_PAIR % 3 == 0) {
		Parcel *p = Parcel_alloc((size_t)c->n);

		p->round = c->round;
		p->src = c->src;
		p->stream = c->stream;
		p->no = c->no;
		Cell_take_opt(&c->o, e, p);
	} else if (x / N_PAIR % 3 == 1 && c->stream == PLAIN) {
		Cell_plain(e, c->round, c->src, c->stream, c->no, r->sent[ALL][0]);
	} else {
		char *filler = calloc(1, (size_t)c->n + 1);

		CHECK(filler);
		filler[c->n ? c->n - 1 : 0] = (char)c->no;
		Cell_item_opt(&c->o, e, c->round, c->src, c->stream, c->no, c->n, filler);
		free(filler);
	}
}

static void call_all(struct call *c, CProxy_Agent agents, CProxy_Cell cells, uint64_t x)
{
	struct row *r = my_row(c->round);

	c->stream = ALL + (int)(x % (N_STREAMS - ALL));
	c->no = r->sent[c->stream][0]++;
	if (c->stream == GROUP) {
		r->n_sent += CkNumPes();
		Agent_all_all(agents, c->round, c->src, c->stream, c->no);
		return;
	}
	char *filler = calloc(1, (size_t)c->n + 1);

	CHECK(filler);
	filler[c->n ? c->n - 1 : 0] = (char)c->no;
	c->o.prio = prios[c->stream - ALL];
	r->n_sent += n_cells();
	Cell_all_all_opt(&c->o, cells, c->round, c->src, c->stream, c->no, c->n, filler);
	free(filler);
}

void Agent_on_new(Agent *self, CProxy_Main home) { self->home = home; }

/* In portions, so that others' calls are handled between them. */
void Agent_on_go(Agent *self, int round, uint64_t seed, int left, CProxy_Agent agents,
		 CProxy_Cell cells)
{
	(void)self;
	for (int i = 0; i < AT_ONCE; i++) {
		uint64_t x = check_mix(seed + (uint64_t)(left - i) * 64 + (uint64_t)CkMyPe());
		int index = (int)(x % (unsigned)n_cells());
		struct call c = { .round = round, .src = CkMyPe(), .n = some_bytes(x >> 20) };

		if (CkMyPe() == 0 && left == CALLS && i == AT_ONCE / 2) {
			c.n = HUGE_BYTES;
			index = n_cells() - 1;
			x |= 1 << 8;
		}
		if (x >> 8 & 15)
			call_one(&c, check_block_home(index, n_cells(), CkNumPes()),
				 Cell_at(cells, index), x >> 32);
		else
			call_all(&c, agents, cells, x >> 32);
	}
	if (left > AT_ONCE)
		Agent_go(Agent_at(agents, CkMyPe()), round, seed, left - AT_ONCE, agents, cells);
}

/* ---- results of reductions ------------------------------------------------------------------ */

void Cell_on_results(Cell *self, int n)
{
	CProxy_Cell cells = Cell_thisProxy(self);
	int *many = calloc(BIG, sizeof *many);

	CHECK(many);
	for (int no = 0; no < n; no++) {
		CkCallback all = Cell_cb_result_all(cells);
		CkCallback one = Cell_cb_result(Cell_at(cells, no % n_cells()));

		many[0] = no;
		if (no % 8 == 5)
			CkContribute(self, many, BIG, CkReduction_max_int,
				     Cell_cb_bigResult_all(cells));
		else
			CkContribute(self, &no, 1, CkReduction_max_int, no % 3 ? all : one);
	}
	free(many);
}

void Cell_on_result(Cell *self, int no)
{
	CHECK(no > self->last_result);
	self->last_result = no;
}

void Cell_on_bigResult(Cell *self, int n, const int *no)
{
	CHECK_EQ(n, BIG);
	Cell_on_result(self, no[0]);
}

/* ---- rounds ----------------------------------------------------------------------------------- */

static void start(Main *self)
{
	self->round++;
	self->cells = Cell_ckNew(CkDims(n_cells()));
	/* The farthest first. */
	for (int pe = CkNumPes(); pe-- > 0;)
		Agent_go(Agent_at(self->agents, pe), self->round,
			 check_mix(self->seed + (uint64_t)self->round), CALLS, self->agents,
			 self->cells);
	CkStartQD(Main_cb_quiet(Main_thisProxy(self)));
}

void Main_on_quiet(Main *self)
{
	Cell_results_all(self->cells, RESULTS);
	CkStartQD(Main_cb_resultsQuiet(Main_thisProxy(self)));
}

void Main_on_resultsQuiet(Main *self)
{
	Agent_count_all(self->agents, self->round);
}

void Agent_on_count(Agent *self, int round)
{
	const struct row *r = my_row(round);
	long v[3] = { r->n_sent, r->n_got, r->n_overtaken };

	CkContribute(self, v, 3, CkReduction_sum_long, Main_cb_counted(self->home));
}

void Main_on_counted(Main *self, int n, const long *v)
{
	CHECK_EQ(n, 3);
	CHECK_EQ(v[1], v[0]);
	CHECK(v[0] >= CALLS * CkNumPes());
	self->n_overtaken += v[2];
	if (self->round < self->rounds) {
		start(self);
		return;
	}
	CkPrintf("order: %d rounds on %d PEs, seed %llu; %ld calls and calls of all changed places\n",
		 self->rounds, CkNumPes(), (unsigned long long)self->seed, self->n_overtaken);
	order_overtaken = self->n_overtaken;
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	CHECK(CkNumPes() <= MOST_PES);
	self->seed = m->argc > 1 ? strtoull(m->argv[1], NULL, 0) : 1;
	self->rounds = m->argc > 2 ? atoi(m->argv[2]) : 5;
	self->agents = Agent_ckNew(Main_thisProxy(self));
	start(self);
}

#include "order.def.h"
