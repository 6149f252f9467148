/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pingack: how many messages per second leave one PE for all others, until the last has been
 * handled and the sender knows it. It is Charm++'s ping-ack; among the ancestors' tables the nearest
 * is LogP's overhead and gap in the Split-C report (section 6, table 6-1).
 *
 *	ckrun -n 2 build/bench/lab/pingack              between two nodes (processes)
 *	ckrun -n 2 --ppn 2 build/bench/lab/pingack      between two PEs of one node (threads)
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
 * pingack_mpi.c does the same with MPI.
 */
#include <stdlib.h>
#include <string.h>

#include "pingack.h"
#include "pingack.decl.h"

enum kind { ONE_ACK, EACH_ACK, KINDS };

struct Main {
	int unused;
};

struct Peer {
	/* Everyone: the run. */
	struct bench_payload payload; /* a receiver's gives only the layout */
	char *area;
	int flood, n_in;
	bool each;
	/* PE 0. */
	struct plan *plan;
	double (*send_us)[BENCH_REPEATS_MAX]; /* [plan->n]: of one flood */
	long floods;                 /* still to be sent; the first of a run is not timed */
	int waiting;                 /* for so many answers */
	double t0, sending_us;
};

static void set_up(Peer *self, bool each, size_t bytes)
{
	free(self->area);
	self->area = bench_alloc(bench_area_bytes(bytes));
	bench_payload_init(&self->payload, self->area, bytes);
	self->flood = pingack_flood(bytes);
	self->n_in = 0;
	self->each = each;
}

/* ---- the receivers ------------------------------------------------------------------------- */

void Peer_on_begin(Peer *self, bool each, size_t bytes)
{
	set_up(self, each, bytes);
	Peer_begun(Peer_at(peers, 0));
}

void Peer_on_item(Peer *self, int trip, size_t n, const char *v)
{
	struct bench_payload in = self->payload;

	(void)n;
	in.words = (uint64_t *)(uintptr_t)(v + ((char *)in.words - self->area));
	if (trip != ++self->n_in)
		CkAbort("message %d came as number %d", trip, self->n_in);
	if (opt.common.touch && !bench_arrived_whole(&in, (uint64_t)trip))
		CkAbort("message %d of %zu bytes arrived torn", trip, in.bytes);
	if (self->each)
		Peer_ack(Peer_at(peers, 0), 1);
	else if (trip == self->flood)
		Peer_ack(Peer_at(peers, 0), self->flood);
	if (trip == self->flood)
		self->n_in = 0;
}

/* ---- the sender ---------------------------------------------------------------------------- */

static void next_run(Peer *self)
{
	const struct series *s = plan_current(self->plan);

	set_up(self, s->kind == EACH_ACK, s->parameter);
	self->floods = s->count;
	self->sending_us = 0;
	self->waiting = CkNumPes() - 1;
	for (int pe = 1; pe < CkNumPes(); pe++)
		Peer_begin(Peer_at(peers, pe), s->kind == EACH_ACK, s->parameter);
}

static void send_flood(Peer *self)
{
	double t0 = bench_now_us();

	self->waiting = self->flood * (CkNumPes() - 1);
	for (int i = 1; i <= self->flood; i++) {
		if (opt.common.touch)
			bench_refresh(&self->payload, (uint64_t)i);
		for (int pe = 1; pe < CkNumPes(); pe++)
			Peer_item(Peer_at(peers, pe), i, bench_area_bytes(self->payload.bytes),
				  self->area);
	}
	self->sending_us += bench_now_us() - t0;
}

void Peer_on_begun(Peer *self)
{
	if (--self->waiting == 0)
		send_flood(self);
}

static void report(Peer *self)
{
	const char *place = CkNumNodes() > 1 ? "nodes" : "threads";

	for (int i = 0; i < self->plan->n; i++) {
		struct series *s = &self->plan->series[i];
		double n = (double)pingack_flood(s->parameter) * (CkNumPes() - 1);

		CkPrintf("pingack%s-%s %zu %.3f Mmsg/s\n", s->kind == EACH_ACK ? "-each" : "",
			 place, s->parameter, n / plan_us(self->plan, s->kind, s->parameter));
		if (s->kind == ONE_ACK)
			CkPrintf("pingack-send-%s %zu %.1f ns\n", place, s->parameter,
				 bench_median(self->send_us[i], self->plan->repeats) * 1000 / n);
	}
	free(self->send_us);
	free(self->plan);
	CkExit(0);
}

static void end_run(Peer *self)
{
	double us = bench_now_us() - self->t0;
	struct series *s = plan_current(self->plan);

	if (plan_timed(self->plan))
		self->send_us[s - self->plan->series][self->plan->repeat] =
			self->sending_us / (double)s->count;
	if (plan_record(self->plan, us))
		next_run(self);
	else
		report(self);
}

void Peer_on_ack(Peer *self, int n)
{
	self->waiting -= n;
	if (self->waiting)
		return;
	if (self->floods == plan_current(self->plan)->count) {
		self->t0 = bench_now_us();
		self->sending_us = 0;
	}
	if (self->floods--)
		send_flood(self);
	else
		end_run(self);
}

void Peer_on_start(Peer *self)
{
	self->plan = bench_alloc(sizeof *self->plan);
	plan_init(self->plan, &opt);
	for (int kind = 0; kind < KINDS; kind++)
		for (int i = 0; i < opt.common.nsizes; i++)
			plan_add(self->plan, kind, opt.common.bytes[i]);
	self->send_us = bench_alloc((size_t)self->plan->n * sizeof *self->send_us);
	next_run(self);
}

void Peer_on_new(Peer *self)
{
	(void)self;
}

/* ---- main ---------------------------------------------------------------------------------- */

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)self;
	pingack_options_init(&opt);
	for (int i = 1; i < m->argc; i++) {
		if (!plan_option(&opt, m->argc, m->argv, &i)) {
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
