/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pingpong: round trip of an entry message and of a channel, by size. Element 0 throws, element
 * 1 returns; whoever has the ball reads all of it and writes fresh data before throwing it, as
 * bench/floor and bench/mpi do.
 *
 *	ckrun -n 2 build/bench/pingpong              between two nodes (processes)
 *	ckrun -n 2 --ppn 2 build/bench/pingpong      between two PEs of one node (threads)
 *
 * Options: bench.h's, --smoke, and --message, --handover, --channel, --sequence for only those.
 * Prints `name bytes microseconds`, medians; "threads" instead of "nodes" within a node:
 *	message-nodes    a call with an array: copied into a message by the sender, read where it
 *	                 lies by the receiver
 *	handover-nodes   one message object that goes to and fro: nobody copies. With --no-touch
 *	                 nobody looks at its data either, and only a reference is handed over, as
 *	                 in the figures published for Charm++ on threads
 *	channel-nodes    CkDirect_put into the other's buffer
 *	sequence-nodes   the same in sequence mode; not without its option
 *
 * Ancestor: Table 1 of the CkDirect paper.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"
#include "pingpong.decl.h"

enum mode { MESSAGE, HANDOVER, CHANNEL, SEQUENCE, MODES };
static const char *const NAME[MODES] = { "message", "handover", "channel", "sequence" };

#define NEVER UINT64_MAX /* the last word is a trip's number */

struct Main {
	int unused;
};

struct Peer {
	/* Both ends. */
	enum mode mode;
	size_t bytes;
	uint64_t trip;
	struct bench_payload out, in;
	void *out_area, *in_area;
	CkDirectHandle here, there;
	/* Element 0: what is measured. */
	struct plan *plan;
	long left;                 /* trips; those beyond the plan's count are not timed */
	double t0;
	bool more;                 /* runs to come */
};

static bool by_channel(const Peer *self)
{
	return self->mode == CHANNEL || self->mode == SEQUENCE;
}

static CProxyElement_Peer other(const Peer *self)
{
	return Peer_at(peers, 1 - Peer_thisIndex(self));
}

/* ---- the ball ---------------------------------------------------------------------------- */

/* The layout `like` at another place. */
static struct bench_payload laid_over(const struct bench_payload *like, const void *area,
				      const char *v)
{
	struct bench_payload p = *like;

	p.words = (uint64_t *)(uintptr_t)(v + ((const char *)like->words - (const char *)area));
	return p;
}

static void throw_ball(Peer *self, Ball *b)
{
	struct bench_payload out = b ? laid_over(&self->out, self->out_area, b->v) : self->out;

	self->trip++;
	if (opt.common.touch)
		bench_refresh(&out, self->trip);
	else if (!b)
		*bench_last(&out) = self->trip;
	if (by_channel(self))
		CkDirect_put(&self->there);
	else if (b)
		Peer_handed(other(self), b);
	else
		Peer_ball(other(self), bench_area_bytes(self->bytes), self->out_area);
}

static void end_run(Peer *self);

static void catch_ball(Peer *self, const struct bench_payload *in, Ball *b)
{
	self->trip++;
	if (opt.common.touch && !bench_arrived_whole(in, self->trip))
		CkAbort("trip %llu of %zu bytes arrived torn", (unsigned long long)self->trip,
			self->bytes);
	if (by_channel(self))
		CkDirect_ready(&self->here);
	if (Peer_thisIndex(self) == 0 && --self->left == plan_current(self->plan)->count)
		self->t0 = bench_now_us();
	if (Peer_thisIndex(self) == 0 && self->left == 0)
		end_run(self);
	else
		throw_ball(self, b);
}

static void channel_ball(void *self)
{
	catch_ball(self, &((Peer *)self)->in, NULL);
}

/* A payload as it lies in the message. */
void Peer_on_ball(Peer *self, size_t n, const char *v)
{
	struct bench_payload in = laid_over(&self->in, self->in_area, v);

	(void)n;
	catch_ball(self, &in, NULL);
}

/* The last one is not sent on, so the runtime frees it. */
void Peer_on_handed(Peer *self, Ball *b)
{
	struct bench_payload in = laid_over(&self->out, self->out_area, b->v);

	catch_ball(self, &in, b);
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
	if (mode == SEQUENCE)
		self->here = CkDirect_createHandleSeq(self->in.start, bytes, channel_ball, self);
}

static void connect(Peer *self, CkDirectHandle theirs)
{
	self->there = theirs;
	if (by_channel(self))
		CkDirect_assocLocalBuffer(&self->there, self->out.start, self->bytes);
}

static void take_down(Peer *self)
{
	if (by_channel(self)) {
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
	const struct series *s = plan_current(self->plan);

	set_up(self, (enum mode)s->kind, s->parameter);
	Peer_begin(other(self), s->kind, s->parameter, self->here);
}

static Ball *new_ball(const Peer *self)
{
	size_t area = bench_area_bytes(self->bytes);
	Ball *b = Ball_alloc(area);

	memcpy(b->v, self->out_area, area);
	return b;
}

/* The first eighth is not timed: buffers and channels are new to the caches. */
void Peer_on_begun(Peer *self, CkDirectHandle theirs)
{
	long count = plan_current(self->plan)->count;

	connect(self, theirs);
	self->left = count + count / 8 + 1;
	throw_ball(self, self->mode == HANDOVER ? new_ball(self) : NULL);
}

static void end_run(Peer *self)
{
	self->more = plan_record(self->plan, bench_now_us() - self->t0);
	Peer_end(other(self));
}

static void report(Peer *self)
{
	const char *between = CkNumNodes() > 1 ? "nodes" : "threads";

	for (int i = 0; i < self->plan->n; i++) {
		const struct series *s = &self->plan->series[i];

		CkPrintf("%s-%s %zu %.3f\n", NAME[s->kind], between, s->parameter,
			 plan_us(self->plan, s->kind, s->parameter));
	}
	free(self->plan);
	CkExit(0);
}

void Peer_on_ended(Peer *self)
{
	take_down(self);
	if (self->more)
		next_run(self);
	else
		report(self);
}

void Peer_on_new(Peer *self)
{
	(void)self;
}

void Peer_on_start(Peer *self)
{
	self->plan = bench_alloc(sizeof *self->plan);
	plan_init(self->plan, &opt);
	for (int m = 0; m < MODES; m++)
		for (int i = 0; i < opt.common.nsizes; i++)
			if (wanted[m])
				plan_add(self->plan, m, opt.common.bytes[i]);
	next_run(self);
}

/* ---- main ----------------------------------------------------------------------------------------- */

/* "--message" and its like. */
static bool mode_option(const char *text)
{
	for (int m = 0; m < MODES; m++)
		if (strncmp(text, "--", 2) == 0 && strcmp(text + 2, NAME[m]) == 0)
			return wanted[m] = true;
	return false;
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)self;
	plan_options_init(&opt, NULL, 0);
	for (int i = 1; i < m->argc; i++) {
		if (!mode_option(m->argv[i]) && !plan_option(&opt, m->argc, m->argv, &i)) {
			CkError("pingpong: unknown option %s\n", m->argv[i]);
			CkExit(2);
			return;
		}
	}
	if (!wanted[MESSAGE] && !wanted[HANDOVER] && !wanted[CHANNEL] && !wanted[SEQUENCE])
		wanted[MESSAGE] = wanted[HANDOVER] = wanted[CHANNEL] = true;
	if (CkNumPes() != 2) {
		CkError("pingpong: needs 2 PEs: ckrun -n 2 [--ppn 2] pingpong\n");
		CkExit(2);
		return;
	}
	peers = Peer_ckNew(CkDims(2));
	Peer_start(Peer_at(peers, 0));
}

#include "pingpong.def.h"
