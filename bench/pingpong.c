/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pingpong: round trip of an entry message and of a channel, by size. Element 0 throws, element
 * 1 returns; whoever has the ball reads all of it and writes fresh data before throwing it, as
 * bench/floor and bench/mpi do.
 *
 *	ckrun -n 2 build/bench/pingpong              between two nodes (processes)
 *	ckrun -n 2 --ppn 2 build/bench/pingpong      between two PEs of one node (threads)
 *
 * Options: bench.h's, and --message or --channel for only one of the two.
 * Prints `name bytes microseconds`, medians.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "pingpong.decl.h"

enum mode { MESSAGE, CHANNEL, MODES };

enum { TRIPS_PROBE = 200, TRIPS_LEAST = 20, TRIPS_MOST = 100000 };
static const double RUN_US = 20000; /* of one timed run */

#define NEVER UINT64_MAX /* the last word is a trip's number */

struct Main {
	int unused;
};

/* One measurement: a mode and a size, with all its repeats. */
struct series {
	enum mode mode;
	size_t bytes;
	long trips;
	double us[BENCH_REPEATS_MAX];
};

struct Peer {
	/* Both ends. */
	enum mode mode;
	size_t bytes;
	uint64_t trip;
	struct bench_payload out, in;
	void *out_area, *in_area;
	CkDirectHandle here, there;
	/* Element 0: what is measured, and how far it is. */
	struct series *series;
	int n_series, at, repeat;
	long left;
	bool timed;
	double t0;
};

static CProxyElement_Peer other(const Peer *self)
{
	return Peer_at(peers, 1 - Peer_thisIndex(self));
}

/* ---- the ball ---------------------------------------------------------------------------- */

static void throw_ball(Peer *self)
{
	self->trip++;
	if (opt.touch)
		bench_refresh(&self->out, self->trip);
	else
		*bench_last(&self->out) = self->trip;
	if (self->mode == CHANNEL)
		CkDirect_put(&self->there);
	else
		Peer_ball(other(self), bench_area_bytes(self->bytes), self->out_area);
}

static void finish(Peer *self);

static void catch_ball(Peer *self, const struct bench_payload *in)
{
	self->trip++;
	if (opt.touch && !bench_arrived_whole(in, self->trip))
		CkAbort("trip %llu of %zu bytes arrived torn", (unsigned long long)self->trip,
			self->bytes);
	if (self->mode == CHANNEL)
		CkDirect_ready(&self->here);
	if (Peer_thisIndex(self) == 0 && --self->left == 0)
		finish(self);
	else
		throw_ball(self);
}

static void channel_ball(void *self)
{
	catch_ball(self, &((Peer *)self)->in);
}

/* A payload as it lies in the message. */
void Peer_on_ball(Peer *self, size_t n, const char *v)
{
	struct bench_payload in = self->in;

	(void)n;
	in.words = (uint64_t *)(uintptr_t)(v + ((char *)in.words - (char *)self->in_area));
	catch_ball(self, &in);
}

/* ---- one run: buffers and channels for it, throw, take down ------------------------------------ */

static void set_up(Peer *self, enum mode mode, size_t bytes)
{
	size_t area = bench_area_bytes(bytes);

	self->mode = mode;
	self->bytes = bytes;
	self->trip = 0;
	self->out_area = bench_alloc(area);
	self->in_area = CkDirect_alloc(area);
	bench_payload_init(&self->out, self->out_area, bytes);
	bench_payload_init(&self->in, self->in_area, bytes);
	memset(&self->here, 0, sizeof self->here);
	if (mode == CHANNEL)
		self->here = CkDirect_createHandle(self->in.start, bytes, NEVER, channel_ball, self);
}

static void connect(Peer *self, CkDirectHandle theirs)
{
	self->there = theirs;
	if (self->mode == CHANNEL)
		CkDirect_assocLocal(&self->there, self->out.start);
}

static void take_down(Peer *self)
{
	if (self->mode == CHANNEL) {
		CkDirect_destroyHandle(&self->there);
		CkDirect_destroyHandle(&self->here);
	}
	CkDirect_free(self->in_area);
	free(self->out_area);
}

/* ---- element 1 ------------------------------------------------------------------------------ */

void Peer_on_begin(Peer *self, int mode, size_t bytes, CkDirectHandle theirs)
{
	set_up(self, (enum mode)mode, bytes);
	connect(self, theirs);
	Peer_begun(other(self), self->here);
}

void Peer_on_end(Peer *self)
{
	take_down(self);
	Peer_ended(other(self));
}

/* ---- element 0 -------------------------------------------------------------------------------- */

static void next_run(Peer *self)
{
	const struct series *s = &self->series[self->at];

	set_up(self, s->mode, s->bytes);
	Peer_begin(other(self), s->mode, s->bytes, self->here);
}

void Peer_on_begun(Peer *self, CkDirectHandle theirs)
{
	connect(self, theirs);
	self->timed = false;
	self->left = TRIPS_PROBE;
	self->t0 = bench_now_us();
	throw_ball(self);
}

/* The probe warms up and tells how many trips fill a run. */
static void finish(Peer *self)
{
	struct series *s = &self->series[self->at];
	double us = bench_now_us() - self->t0;

	if (self->timed) {
		s->us[self->repeat] = us / (double)s->trips;
		Peer_end(other(self));
		return;
	}
	if (!s->trips) {
		s->trips = (long)(RUN_US / (us / TRIPS_PROBE));
		if (s->trips < TRIPS_LEAST)
			s->trips = TRIPS_LEAST;
		if (s->trips > TRIPS_MOST)
			s->trips = TRIPS_MOST;
	}
	self->timed = true;
	self->left = s->trips;
	self->t0 = bench_now_us();
	throw_ball(self);
}

static void report(Peer *self)
{
	static const char *const name[MODES] = { "message", "channel" };
	const char *between = CkNumNodes() > 1 ? "nodes" : "threads";

	for (int i = 0; i < self->n_series; i++) {
		struct series *s = &self->series[i];

		CkPrintf("%s-%s %zu %.3f\n", name[s->mode], between, s->bytes,
			 bench_median(s->us, opt.repeats));
	}
	free(self->series);
	CkExit(0);
}

/* All series once per repeat, so that a disturbance costs each of them one repeat. */
void Peer_on_ended(Peer *self)
{
	take_down(self);
	if (++self->at == self->n_series) {
		self->at = 0;
		self->repeat++;
	}
	if (self->repeat == opt.repeats)
		report(self);
	else
		next_run(self);
}

void Peer_on_new(Peer *self)
{
	(void)self;
}

void Peer_on_start(Peer *self)
{
	self->series = calloc((size_t)opt.nsizes * MODES, sizeof *self->series);
	for (int m = 0; m < MODES; m++)
		for (int i = 0; i < opt.nsizes; i++)
			if (!only[MODES - 1 - m])
				self->series[self->n_series++] =
					(struct series){ .mode = (enum mode)m, .bytes = opt.bytes[i] };
	next_run(self);
}

/* ---- main ----------------------------------------------------------------------------------------- */

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)self;
	bench_options_init(&opt);
	for (int i = 1; i < m->argc; i++) {
		if (strcmp(m->argv[i], "--message") == 0) {
			only[MESSAGE] = true;
		} else if (strcmp(m->argv[i], "--channel") == 0) {
			only[CHANNEL] = true;
		} else if (!bench_option(&opt, m->argc, m->argv, &i)) {
			CkError("pingpong: unknown option %s\n", m->argv[i]);
			CkExit(2);
			return;
		}
	}
	if (CkNumPes() != 2) {
		CkError("pingpong: needs 2 PEs: ckrun -n 2 [--ppn 2] pingpong\n");
		CkExit(2);
		return;
	}
	peers = Peer_ckNew(CkDims(2));
	Peer_start(Peer_at(peers, 0));
}

#include "pingpong.def.h"
