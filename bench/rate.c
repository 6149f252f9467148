/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rate: round trip, bandwidth and rate of entry messages, and bandwidth and rate of channels, by
 * size. bench/machine measures the same messages below the chares, bench/pingpong the round trip
 * of a channel, bench/mpi/rate_mpi the same stream through MPI.
 *
 *	ckrun -n 2 build/bench/rate              between two nodes (processes)
 *	ckrun -n 2 --ppn 2 build/bench/rate      between two PEs of one node (threads)
 *
 * Options: bench.h's (sizes from the option start at 8), and --smoke for one short run.
 * Prints `name bytes value unit`, medians; "threads" instead of "nodes" within a node:
 *	chare-rtt-nodes          us      an entry message there and back
 *	chare-rate-nodes         Mmsg/s  entry messages one way, two windows of them under way
 *	chare-bandwidth-nodes    MB/s    the same stream, counted in 10^6 bytes
 *	channel-rate-nodes       Mmsg/s  puts one way, over two groups of channels (from 8 bytes)
 *	channel-bandwidth-nodes  MB/s    the same
 *
 * An entry message acknowledges a window of messages. A group is as many channels as a window has
 * messages; when all of a group have been received and made ready, one put of 8 bytes says so, and
 * the sender puts through the whole group again. With less memory under way both are slower, because
 * the lines to be written still lie in the receiver's own cache: at 16 kB, 16 channels carried a
 * third of what 128 did, and messages half as much in windows of 16 as in windows of 64. So both
 * have the same windows.
 *
 * Every payload is new each time and read on arrival; --no-touch leaves that out.
 *
 * Ancestor: chapter 6 of the thesis on Charm++ over VMI, latency and bandwidth from 1 byte to
 * 1 MB for Charm++ (Figures 6.2, 6.4; its latency is one way, half of ours); Figure 6-1 of the
 * paper on Split-C over VIA.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream.h"
#include "rate.decl.h"

enum kind { RTT, MESSAGE, CHANNEL };

enum { LANES_MOST = STREAM_WINDOWS * STREAM_WINDOW_MOST, CHANNEL_LEAST = 8 };

#define NEVER UINT64_MAX /* rounds and stamps are counted from 1 */

struct Main {
	int unused;
};

/* A group of channels, acknowledged together. */
struct group {
	Peer *peer;
	uint64_t round;            /* element 0: put; element 1: received */
	long arrived;              /* element 1: in this round */
	CkDirectHandle ack;
	uint64_t *ack_word;        /* element 0: received here; element 1: put from here */
};

struct lane {
	Peer *peer;
	struct group *group;
	CkDirectHandle channel;
	struct stream_payload payload; /* element 1: received here */
	void *memory;
};

struct Peer {
	/* Both ends: the run. */
	enum kind kind;
	size_t bytes;
	long window;
	uint64_t sent, seen;       /* messages; the n-th bears stamp n */
	struct stream_sources source;
	struct group group[STREAM_WINDOWS];
	struct lane lane[LANES_MOST];
	/* Element 0: what is measured. Trips, or windows; the first STREAM_WINDOWS are not timed,
	 * and have negative numbers. */
	struct plan *plan;
	long count, started, done;
	double t0;
	bool more;                 /* runs to come */
};

static CProxyElement_Peer other(const Peer *self)
{
	return Peer_at(peers, 1 - Peer_thisIndex(self));
}

static bool first(const Peer *self)
{
	return Peer_thisIndex(self) == 0;
}

static void end_run(Peer *self);

/* One trip or window is done. True when that was the last one of the run. */
static bool count_one(Peer *self)
{
	if (++self->done == 0)
		self->t0 = bench_now_us();
	return self->done == self->count;
}

/* ---- messages ---------------------------------------------------------------------------- */

static const char *next_source(Peer *self)
{
	return stream_sources_next(&self->source, ++self->sent, opt.common.touch);
}

static void check(Peer *self, size_t n, const char *v)
{
	self->seen++;
	if (n != self->bytes ||
	    (opt.common.touch && !stream_whole(&self->source.layout, v, self->seen)))
		CkAbort("message %llu of %zu bytes is not what was sent",
			(unsigned long long)self->seen, self->bytes);
}

static void throw_ball(Peer *self)
{
	Peer_ball(other(self), self->bytes, next_source(self));
}

void Peer_on_ball(Peer *self, size_t n, const char *v)
{
	check(self, n, v);
	if (first(self) && count_one(self))
		end_run(self);
	else
		throw_ball(self);
}

static void send_window(Peer *self)
{
	CProxyElement_Peer to = other(self);

	self->started++;
	for (long i = 0; i < self->window; i++)
		Peer_data(to, self->bytes, next_source(self));
}

void Peer_on_data(Peer *self, size_t n, const char *v)
{
	check(self, n, v);
	if (self->seen % (uint64_t)self->window == 0)
		Peer_ack(other(self));
}

void Peer_on_ack(Peer *self)
{
	if (count_one(self))
		end_run(self);
	else if (self->started < self->count)
		send_window(self);
}

/* ---- channels ---------------------------------------------------------------------------- */

/* The send buffers are free: the acknowledgement says that their last puts have arrived. */
static void put_group(Peer *self, struct group *g)
{
	struct lane *lane = &self->lane[(g - self->group) * self->window];

	self->started++;
	g->round++;
	for (long i = 0; i < self->window; i++) {
		stream_sources_go(&self->source, &lane[i] - self->lane);
		if (opt.common.touch)
			stream_refresh(&self->source.layout, g->round);
		CkDirect_put(&lane[i].channel);
	}
}

static void lane_arrived(void *arg)
{
	struct lane *l = arg;
	struct group *g = l->group;

	if (opt.common.touch && !stream_whole(&l->payload, l->payload.at, g->round + 1))
		CkAbort("put %llu of %zu bytes is not what was sent",
			(unsigned long long)g->round + 1, l->payload.bytes);
	CkDirect_ready(&l->channel);
	if (++g->arrived < l->peer->window)
		return;
	g->arrived = 0;
	*g->ack_word = ++g->round;
	CkDirect_put(&g->ack);
}

static void group_acked(void *arg)
{
	struct group *g = arg;
	Peer *self = g->peer;

	if (*g->ack_word != g->round)
		CkAbort("acknowledgement of round %llu, expected %llu",
			(unsigned long long)*g->ack_word, (unsigned long long)g->round);
	CkDirect_ready(&g->ack);
	if (count_one(self))
		end_run(self);
	else if (self->started < self->count)
		put_group(self, g);
}

static void make_lane(Peer *self, long group, long i)
{
	struct lane *l = &self->lane[group * self->window + i];
	size_t area = bench_area_bytes(self->bytes);

	*l = (struct lane){ .peer = self, .group = &self->group[group] };
	if (first(self))
		return;
	l->memory = CkDirect_alloc(area);
	if (!l->memory)
		CkAbort("no memory for a channel of %zu bytes", area);
	/* A channel's buffer ends on a multiple of 8. */
	stream_payload_init(&l->payload, (char *)l->memory + area - self->bytes, self->bytes);
	l->channel = CkDirect_createHandle(l->payload.at, self->bytes, NEVER, lane_arrived, l);
}

static void make_channels(Peer *self)
{
	for (long g = 0; g < STREAM_WINDOWS; g++) {
		struct group *group = &self->group[g];

		*group = (struct group){ .peer = self };
		group->ack_word = CkDirect_alloc(sizeof *group->ack_word);
		if (!group->ack_word)
			CkAbort("no memory for a channel");
		if (first(self))
			group->ack = CkDirect_createHandle(group->ack_word,
							   sizeof *group->ack_word, NEVER,
							   group_acked, group);
		for (long i = 0; i < self->window; i++)
			make_lane(self, g, i);
	}
}

static void destroy_channels(Peer *self)
{
	for (long g = 0; g < STREAM_WINDOWS; g++) {
		CkDirect_destroyHandle(&self->group[g].ack);
		CkDirect_free(self->group[g].ack_word);
		for (long i = 0; i < self->window; i++) {
			struct lane *l = &self->lane[g * self->window + i];

			CkDirect_destroyHandle(&l->channel);
			CkDirect_free(l->memory);
		}
	}
}

/* ---- a run at both ends ------------------------------------------------------------------ */

static long sources_of(const Peer *self)
{
	if (self->kind == RTT || !first(self))
		return 1;
	return STREAM_WINDOWS * self->window;
}

static void set_up(Peer *self, enum kind kind, size_t bytes)
{
	self->kind = kind;
	self->bytes = bytes;
	self->window = stream_window(bytes);
	self->sent = self->seen = 0;
	stream_sources_init(&self->source, bytes, sources_of(self));
	if (kind == CHANNEL)
		make_channels(self);
}

void Peer_on_begin(Peer *self, int kind, size_t bytes, int n, const CkDirectHandle *acks)
{
	CkDirectHandle lanes[LANES_MOST];
	int n_lanes;

	set_up(self, (enum kind)kind, bytes);
	for (int g = 0; g < n; g++) {
		self->group[g].ack = acks[g];
		CkDirect_assocLocalBuffer(&self->group[g].ack, self->group[g].ack_word,
					  sizeof *self->group[g].ack_word);
	}
	n_lanes = kind == CHANNEL ? STREAM_WINDOWS * (int)self->window : 0;
	for (int i = 0; i < n_lanes; i++)
		lanes[i] = self->lane[i].channel;
	Peer_begun(other(self), n_lanes, lanes);
}

void Peer_on_end(Peer *self)
{
	if (self->kind == CHANNEL)
		destroy_channels(self);
	Peer_ended(other(self));
}

/* ---- element 0: one run after the other -------------------------------------------------- */

static void next_run(Peer *self)
{
	const struct series *s = plan_current(self->plan);
	CkDirectHandle acks[STREAM_WINDOWS];

	set_up(self, (enum kind)s->kind, s->parameter);
	self->count = s->count;
	self->started = self->done = -STREAM_WINDOWS;
	for (int g = 0; g < STREAM_WINDOWS; g++)
		acks[g] = self->group[g].ack;
	Peer_begin(other(self), s->kind, s->parameter, s->kind == CHANNEL ? STREAM_WINDOWS : 0,
		   acks);
}

static void bind_lanes(Peer *self, int n, const CkDirectHandle *lanes)
{
	for (int i = 0; i < n; i++) {
		struct lane *l = &self->lane[i];

		l->channel = lanes[i];
		stream_sources_go(&self->source, i);
		CkDirect_assocLocalBuffer(&l->channel, self->source.layout.at, self->bytes);
	}
}

void Peer_on_begun(Peer *self, int n, const CkDirectHandle *lanes)
{
	bind_lanes(self, n, lanes);
	if (self->kind == RTT) {
		throw_ball(self);
		return;
	}
	for (int w = 0; w < STREAM_WINDOWS; w++) {
		if (self->kind == CHANNEL)
			put_group(self, &self->group[w]);
		else
			send_window(self);
	}
}

static void report_stream(Peer *self, enum kind kind, const char *name, size_t bytes)
{
	const char *between = CkNumNodes() > 1 ? "nodes" : "threads";
	double per_us = (double)stream_window(bytes) / plan_us(self->plan, kind, bytes);

	CkPrintf("%s-rate-%s %zu %.4g Mmsg/s\n", name, between, bytes, per_us);
	CkPrintf("%s-bandwidth-%s %zu %.4g MB/s\n", name, between, bytes,
		 per_us * (double)bytes);
}

static void report(Peer *self)
{
	const char *between = CkNumNodes() > 1 ? "nodes" : "threads";

	for (int i = 0; i < opt.common.nsizes; i++) {
		size_t bytes = opt.common.bytes[i];

		CkPrintf("chare-rtt-%s %zu %.3f us\n", between, bytes,
			 plan_us(self->plan, RTT, bytes));
		report_stream(self, MESSAGE, "chare", bytes);
		if (bytes >= CHANNEL_LEAST)
			report_stream(self, CHANNEL, "channel", bytes);
	}
	free(self->plan);
	CkExit(0);
}

static void end_run(Peer *self)
{
	self->more = plan_record(self->plan, bench_now_us() - self->t0);
	Peer_end(other(self));
}

void Peer_on_ended(Peer *self)
{
	if (self->kind == CHANNEL)
		destroy_channels(self);
	if (self->more)
		next_run(self);
	else
		report(self);
}

void Peer_on_new(Peer *self)
{
	self->source.memory = bench_alloc(stream_sources_bytes(&opt.common));
}

void Peer_on_start(Peer *self)
{
	self->plan = bench_alloc(sizeof *self->plan);
	plan_init(self->plan, &opt);
	for (int i = 0; i < opt.common.nsizes; i++) {
		plan_add(self->plan, RTT, opt.common.bytes[i]);
		plan_add(self->plan, MESSAGE, opt.common.bytes[i]);
		if (opt.common.bytes[i] >= CHANNEL_LEAST)
			plan_add(self->plan, CHANNEL, opt.common.bytes[i]);
	}
	next_run(self);
}

/* ---- main -------------------------------------------------------------------------------- */

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)self;
	stream_options_init(&opt);
	for (int i = 1; i < m->argc; i++) {
		if (!plan_option(&opt, m->argc, m->argv, &i)) {
			CkError("rate: unknown option %s\n", m->argv[i]);
			CkExit(2);
			return;
		}
	}
	stream_options_end(&opt);
	if (CkNumPes() != 2) {
		CkError("rate: needs 2 PEs: ckrun -n 2 [--ppn 2] rate\n");
		CkExit(2);
		return;
	}
	peers = Peer_ckNew(CkDims(2));
	Peer_start(Peer_at(peers, 0));
}

#include "rate.def.h"
