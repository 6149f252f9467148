/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pingack: how many messages per second leave one PE for all others, until the last has been
 * handled and the sender knows it. It is Charm++'s ping-ack; of the ancestors' tables it comes
 * next to the overhead and the gap of LogP in the Split-C report (section 6, table 6-1).
 *
 *	ckrun -n 2 build/bench/pingack              between two nodes (processes)
 *	ckrun -n 2 --ppn 2 build/bench/pingack      between two PEs of one node (threads)
 *
 * More PEs: PE 0 sends to all others in turn. Options: bench.h's, and --smoke.
 * Prints `name bytes value unit`, medians; a name ends with -nodes or -threads:
 *	pingack       Mmsg/s  messages sent, over the time from the first send until each
 *	                      receiver's one acknowledgement is back
 *	pingack-each  Mmsg/s  the same when every message is acknowledged by one of its own, which
 *	                      is not counted
 *	pingack-send  ns      what one call takes the sender, which makes them all in a row
 *
 * Every message is written afresh, read on arrival, and must come in order.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "pingack.decl.h"

/* A flood: enough messages for a run of the wanted length, but no more than this under way. */
enum { N_PROBE = 100, N_LEAST = 10, N_MOST = 20000, FLOOD_BYTES = 16 << 20 };
static const double RUN_US = 20000, SMOKE_RUN_US = 200;

struct Main {
	int unused;
};

struct series {
	size_t bytes;
	bool each;
	int n; /* messages to each receiver */
	double rate[BENCH_REPEATS_MAX], send_ns[BENCH_REPEATS_MAX];
};

struct Peer {
	/* Everyone. */
	struct bench_payload payload; /* a receiver's gives only the layout */
	char *area;
	int n, n_in;
	bool each;
	/* PE 0. */
	struct series *series;
	int n_series, at, repeat;
	int waiting; /* for so many answers */
	double t0, sent_us;
};

static void set_up(Peer *self, size_t bytes, int n, bool each)
{
	free(self->area);
	self->area = bench_alloc(bench_area_bytes(bytes));
	bench_payload_init(&self->payload, self->area, bytes);
	self->n = n;
	self->n_in = 0;
	self->each = each;
}

/* ---- the receivers ------------------------------------------------------------------------- */

void Peer_on_begin(Peer *self, size_t bytes, int n, bool each)
{
	set_up(self, bytes, n, each);
	Peer_begun(Peer_at(peers, 0));
}

void Peer_on_item(Peer *self, unsigned trip, size_t n, const char *v)
{
	struct bench_payload in = self->payload;

	(void)n;
	in.words = (uint64_t *)(uintptr_t)(v + ((char *)in.words - self->area));
	if (trip != (unsigned)++self->n_in)
		CkAbort("message %u came as number %d", trip, self->n_in);
	if (opt.touch && !bench_arrived_whole(&in, trip))
		CkAbort("message %u of %zu bytes arrived torn", trip, in.bytes);
	if (self->each)
		Peer_ack(Peer_at(peers, 0), 1);
	else if (self->n_in == self->n)
		Peer_ack(Peer_at(peers, 0), self->n);
}

/* ---- the sender ---------------------------------------------------------------------------- */

/* The probe of a series goes first. */
static int messages_of(const struct series *s)
{
	return s->n ? s->n : N_PROBE;
}

static void next_run(Peer *self)
{
	const struct series *s = &self->series[self->at];

	set_up(self, s->bytes, messages_of(s), s->each);
	self->waiting = CkNumPes() - 1;
	for (int pe = 1; pe < CkNumPes(); pe++)
		Peer_begin(Peer_at(peers, pe), s->bytes, self->n, s->each);
}

void Peer_on_begun(Peer *self)
{
	if (--self->waiting)
		return;
	self->waiting = self->n * (CkNumPes() - 1);
	self->t0 = bench_now_us();
	for (int i = 1; i <= self->n; i++) {
		if (opt.touch)
			bench_refresh(&self->payload, (uint64_t)i);
		for (int pe = 1; pe < CkNumPes(); pe++)
			Peer_item(Peer_at(peers, pe), (unsigned)i,
				  bench_area_bytes(self->payload.bytes), self->area);
	}
	self->sent_us = bench_now_us() - self->t0;
}

/* As many as fill a run, but the sender should not wait for the flow control. */
static int messages_for(size_t bytes, double us_each)
{
	double n = run_us / us_each, fit = (double)FLOOD_BYTES / (double)(bytes + 64);

	n = n < fit ? n : fit;
	return n < N_LEAST ? N_LEAST : n > N_MOST ? N_MOST : (int)n;
}

static void report(Peer *self)
{
	const char *place = CkNumNodes() > 1 ? "nodes" : "threads";

	for (int i = 0; i < self->n_series; i++) {
		struct series *s = &self->series[i];

		CkPrintf("pingack%s-%s %zu %.3f Mmsg/s\n", s->each ? "-each" : "", place, s->bytes,
			 bench_median(s->rate, opt.repeats));
		if (!s->each)
			CkPrintf("pingack-send-%s %zu %.1f ns\n", place, s->bytes,
				 bench_median(s->send_ns, opt.repeats));
	}
	free(self->series);
	CkExit(0);
}

void Peer_on_ack(Peer *self, int n)
{
	struct series *s = &self->series[self->at];
	double sent = (double)self->n * (CkNumPes() - 1), us;

	self->waiting -= n;
	if (self->waiting)
		return;
	us = bench_now_us() - self->t0;
	if (!s->n) {
		s->n = messages_for(s->bytes, us / self->n);
		next_run(self);
		return;
	}
	s->rate[self->repeat] = sent / us;
	s->send_ns[self->repeat] = self->sent_us * 1000 / sent;
	if (++self->at == self->n_series) {
		self->at = 0;
		self->repeat++;
	}
	if (self->repeat == opt.repeats)
		report(self);
	else
		next_run(self);
}

void Peer_on_start(Peer *self)
{
	self->series = calloc((size_t)opt.nsizes * 2, sizeof *self->series);
	if (!self->series)
		CkAbort("no memory for the results");
	for (int each = 0; each < 2; each++)
		for (int i = 0; i < opt.nsizes; i++)
			self->series[self->n_series++] =
				(struct series){ .bytes = opt.bytes[i], .each = each };
	next_run(self);
}

void Peer_on_new(Peer *self)
{
	(void)self;
}

/* ---- main ---------------------------------------------------------------------------------- */

void Main_on_new(Main *self, CkArgMsg *m)
{
	static const size_t sizes[] = { 8, 32, 128, 1024, 8192, 65536 };

	(void)self;
	bench_options_init(&opt);
	memcpy(opt.bytes, sizes, sizeof sizes);
	opt.nsizes = sizeof sizes / sizeof sizes[0];
	run_us = RUN_US;
	for (int i = 1; i < m->argc; i++) {
		if (strcmp(m->argv[i], "--smoke") == 0) {
			run_us = SMOKE_RUN_US;
			opt.repeats = 1;
		} else if (!bench_option(&opt, m->argc, m->argv, &i)) {
			CkError("pingack: unknown option %s\n", m->argv[i]);
			CkExit(2);
			return;
		}
	}
	if (CkNumPes() < 2) {
		CkError("pingack: needs 2 PEs or more: ckrun -n 2 [--ppn 2] pingack\n");
		CkExit(2);
		return;
	}
	peers = Peer_ckNew();
	Peer_start(Peer_at(peers, 0));
}

#include "pingack.def.h"
