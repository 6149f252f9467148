/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fan: one sender with many receivers, and many senders with one receiver, through named channels and by messages.
 *
 *	ckrun -n 2 build/bench/fan                 two nodes (processes)
 *	ckrun -n 2 --ppn 2 build/bench/fan         two PEs of one node (threads)
 *
 * Options: --reps n, --smoke (few turns, once), --leaves n (8).
 * Prints `name bytes value unit`, medians of each repeat's fastest turn, because a turn needs all PEs at the same time; a
 * name ends with -nodes or -threads. Element 0 sends to, or receives from, n others, which are spread over all PEs and
 * read what has come. A turn ends with a reduction of all.
 *	fan-puts     BYTES  us  a turn in which it puts to all (CkChannelPutAll)
 *	fan-calls    BYTES  us  the same by calls with an array
 *	fan-reduced  BYTES  us  a turn in which n elements put into its reducing channel
 *	fan-adds     BYTES  us  the same by calls, whose handler adds the array to a sum
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "ckchannel.h"
#include "ckdirect.h"
#include "fan.decl.h"

enum way { PUTS, CALLS, REDUCED, ADDS, WAYS };
static const char *const NAMES[] = { "puts", "calls", "reduced", "adds" };
static const int BYTES[] = { 1024, 65536, 1048576, 8388608 };
enum { N_BYTES = sizeof BYTES / sizeof *BYTES, BYTES_PER_REP = 64 << 20, TURNS_MOST = 2000 };

struct Main {
	int series, rep, reps, turns_most;
	bool begun;
	double us[BENCH_REPEATS_MAX];
};

/* Of element 0, which is on the main chare's PE. */
static double fastest_us, turn_began_us;

struct Leaf {
	int way, bytes, turns, n_came;
	double *in, *out, *sum, seen;
	CkChannel *from, *up;
	CkChannel **to;
	CkReducing *reduced;
};

static bool is_hub(const Leaf *self) { return Leaf_thisIndex(self) == 0; }
static int words(const Leaf *self) { return self->bytes / (int)sizeof(double); }

/* ---- elements ------------------------------------------------------------------------------------------ */

void Leaf_on_new(Leaf *self)
{
	self->in = CkDirect_alloc((size_t)most_bytes);
	self->out = calloc(1, (size_t)most_bytes);
	self->sum = calloc(1, (size_t)most_bytes);
	self->to = calloc((size_t)n_leaves + 1, sizeof(CkChannel *));
	if (!self->in || !self->out || !self->sum || !self->to)
		CkAbort("fan: no memory");
}

static void turn_over(Leaf *self)
{
	CkContribute(self, NULL, 0, CkReduction_nop, Leaf_cb_next_all(leaves));
}

/* One word of each cache line. */
static void read_all(Leaf *self, const double *v)
{
	for (int i = 0; i < words(self); i += BENCH_LINE_WORDS)
		self->seen += v[i];
}

static void write_all(Leaf *self)
{
	for (int i = 0; i < words(self); i += BENCH_LINE_WORDS)
		self->out[i] += 1;
}

static void fan_out(Leaf *self)
{
	write_all(self);
	if (self->way == PUTS)
		CkChannelPutAll(self->to + 1, n_leaves);
	for (int i = 1; self->way == CALLS && i <= n_leaves; i++)
		Leaf_take(Leaf_at(leaves, i), words(self), self->out);
	turn_over(self);
}

static void fan_in(Leaf *self)
{
	write_all(self);
	if (self->way == REDUCED)
		CkChannelPut(self->up);
	else
		Leaf_add(Leaf_at(leaves, 0), words(self), self->out);
	turn_over(self);
}

static void begin_turn(Leaf *self)
{
	if (is_hub(self) && self->way <= CALLS)
		fan_out(self);
	if (!is_hub(self) && self->way > CALLS)
		fan_in(self);
}

static void make_ends(Leaf *self)
{
	const size_t bytes = (size_t)self->bytes;
	CkElement from[64];

	if (!is_hub(self)) {
		self->from = Leaf_down_from(self, Leaf_at(leaves, 0), Leaf_thisIndex(self), self->in, bytes);
		self->up = Leaf_up_to(self, Leaf_at(leaves, 0), 0, self->out, bytes);
		return;
	}
	for (int i = 1; i <= n_leaves; i++) {
		from[i - 1] = Leaf_at(leaves, i).ck;
		self->to[i] = Leaf_down_to(self, Leaf_at(leaves, i), i, self->out, bytes);
	}
	self->reduced = Leaf_up_reduced(self, from, n_leaves, 0, self->sum, bytes, CkReduction_sum_double);
}

void Leaf_on_begin(Leaf *self, int way, int bytes, int turns)
{
	self->way = way;
	self->bytes = bytes;
	self->turns = turns;
	self->n_came = 0;
	make_ends(self);
	turn_over(self);
}

void Leaf_on_end(Leaf *self)
{
	for (int i = 1; is_hub(self) && i <= n_leaves; i++)
		CkChannelDestroy(self->to[i]);
	CkReducingDestroy(self->reduced);
	self->reduced = NULL;
	if (!is_hub(self)) {
		CkChannelDestroy(self->from);
		CkChannelDestroy(self->up);
	}
	CkContribute(self, NULL, 0, CkReduction_nop, Main_cb_ready(mainProxy));
}

static void note_turn(void)
{
	const double now = bench_now_us();

	if (turn_began_us && (!fastest_us || now - turn_began_us < fastest_us))
		fastest_us = now - turn_began_us;
	turn_began_us = now;
}

void Leaf_on_next(Leaf *self)
{
	if (is_hub(self))
		note_turn();
	if (self->turns-- > 0)
		begin_turn(self);
	else
		CkContribute(self, NULL, 0, CkReduction_nop, Main_cb_ready(mainProxy));
}

void Leaf_on_take(Leaf *self, int n, const double *v)
{
	memcpy(self->in, v, (size_t)n * sizeof *v); /* where a put would have written it */
	read_all(self, self->in);
	turn_over(self);
}

void Leaf_on_down(Leaf *self, int tag)
{
	(void)tag;
	read_all(self, self->in);
	CkChannelReady(self->from);
	turn_over(self);
}

void Leaf_on_add(Leaf *self, int n, const double *v)
{
	for (int i = 0; i < n; i++)
		self->sum[i] = self->n_came ? self->sum[i] + v[i] : v[i];
	if (++self->n_came < n_leaves)
		return;
	self->n_came = 0;
	read_all(self, self->sum);
	turn_over(self);
}

void Leaf_on_up(Leaf *self, int tag)
{
	(void)tag;
	read_all(self, self->sum);
	CkReducingReady(self->reduced);
	turn_over(self);
}

/* ---- main --------------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int bytes_now(const Main *self) { return BYTES[self->series / WAYS]; }

static int turns_now(const Main *self)
{
	const int turns = BYTES_PER_REP / bytes_now(self) / n_leaves;

	return turns > self->turns_most ? self->turns_most : turns < 3 ? 3 : turns;
}

static void report(Main *self)
{
	qsort(self->us, (size_t)self->reps, sizeof *self->us, by_value);
	CkPrintf("fan-%s-%s %d %.2f us\n", NAMES[self->series % WAYS], CkNumNodes() > 1 ? "nodes" : "threads",
		 bytes_now(self), self->us[self->reps / 2]);
}

static void start(Main *self)
{
	self->begun = true;
	fastest_us = turn_began_us = 0;
	Leaf_begin_all(leaves, self->series % WAYS, bytes_now(self), turns_now(self));
}

/* After the turns, and after the end of the channels. */
void Main_on_ready(Main *self)
{
	if (self->begun) {
		if (self->rep >= 0)
			self->us[self->rep] = fastest_us;
		self->begun = false;
		Leaf_end_all(leaves);
		return;
	}
	if (++self->rep == self->reps) {
		report(self);
		self->rep = -1;
		if (++self->series == WAYS * N_BYTES) {
			CkExit(0);
			return;
		}
	}
	start(self);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	self->reps = 7;
	self->rep = -1; /* the first one warms */
	self->turns_most = TURNS_MOST;
	n_leaves = 8;
	for (int i = 1; i < m->argc; i++) {
		if (strcmp(m->argv[i], "--smoke") == 0) {
			self->reps = 1;
			self->turns_most = 3;
		} else if (strcmp(m->argv[i], "--reps") == 0 && i + 1 < m->argc) {
			self->reps = (int)bench_number("fan", "repeats", m->argv[++i], 1, BENCH_REPEATS_MAX);
		} else if (strcmp(m->argv[i], "--leaves") == 0 && i + 1 < m->argc) {
			n_leaves = (int)bench_number("fan", "leaves", m->argv[++i], 1, 64);
		} else {
			CkAbort("fan: what is %s? See the top of bench/fan.c", m->argv[i]);
		}
	}
	mainProxy = Main_thisProxy(self);
	most_bytes = BYTES[N_BYTES - 1];
	leaves = Leaf_ckNew(CkDims1(n_leaves + 1));
	start(self);
}

#include "fan.def.h"
