/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channels: what N channels between two PEs cost: looking at them, finding an arrival, put, ready.
 * Element 0 puts, element 1 receives. Both have N armed channels of 64 bytes and use them in a
 * scattered order, so that with many of them nothing is in a cache.
 *
 *	ckrun -n 2 build/bench/channels              between two nodes (processes)
 *	ckrun -n 2 --ppn 2 build/bench/channels      between two PEs of one node (threads)
 *
 * A PE polls few channels; when it has more, their senders ring a doorbell. To see what the doorbell
 * is worth, run without it; to see what it costs where it is not needed, with nothing else:
 *
 *	CK_DIRECT_POLL_MAX=1000000 ckrun -n 2 build/bench/channels --most 10000
 *	CK_DIRECT_POLL_MAX=0 ckrun -n 2 build/bench/channels
 *
 * Options: --reps n, --most n (the last N; default 100000), --factor n (from one N to the next;
 * default 10), --smoke.
 * Prints `name N value unit`, medians; N = 0 is the reference:
 *	idle-armed     ns that N armed idle channels add to one pass of the scheduler loop
 *	idle-marked    ns that they add when they are marked ready but not polled
 *	message-trip   us of a message's round trip beside N armed idle channels at each end
 *	message-slow   message-trip over the one without channels of the same repeat (1: no cost)
 *	channel-trip   us of a round trip through one of N armed channels, another each time
 *	put            ns of one CkDirect_put: warm where N is small, cold where it is large
 *	arrival        ns per arrival when many of N are put at once, from the first put to the
 *	               message that says that all have come
 *	ready          ns of one CkDirect_ready; of its halves,
 *	ready-mark     CkDirect_readyMark
 *	ready-poll     and CkDirect_readyPollQ
 *
 * The questions are those of the CkDirect paper's section 5.2: polling thousands of channels made
 * OpenAtom slower than messages were, and ready split in two removed that.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "channels.decl.h"
#include "ckdirect.h"
#include "csd.h"

#define NEVER UINT64_MAX /* a stamp counts puts */

enum {
	WORDS = 8,          /* of a payload: one cache line */
	BLOCK = 64,         /* handles in one message: 16 kB */
	BURST = 1000,       /* puts between two answers, at most */
	SCATTER = 7919,     /* prime: steps of this length visit all of 10^k channels */
	LEAST = 10,         /* measurements of a kind */
};

enum figure {
	IDLE_ARMED, IDLE_MARKED, MESSAGE_TRIP, MESSAGE_SLOW, CHANNEL_TRIP, PUT, ARRIVAL, READY,
	READY_MARK, READY_POLL, FIGURES
};
static const struct {
	const char *name, *unit;
} figures[FIGURES] = {
	{"idle-armed", "ns"},    {"idle-marked", "ns"}, {"message-trip", "us"},
	{"message-slow", "x"},   {"channel-trip", "us"}, {"put", "ns"},
	{"arrival", "ns"},       {"ready", "ns"},        {"ready-mark", "ns"},
	{"ready-poll", "ns"},
};

/* What is measured in each step, in this order. */
enum experiment { IDLE_PASSES, MESSAGE_BALL, CHANNEL_BALL, BURSTS, EXPERIMENTS };

struct Main {
	int unused;
};

/* One channel each way. */
struct slot {
	_Alignas(64) uint64_t source[WORDS];
	CkDirectHandle in, out;
	uint64_t sent, received; /* stamps */
	Peer *peer;
	int number;
};

struct Peer {
	/* Both ends. */
	enum experiment doing;
	struct slot *slot;        /* [largest N] */
	uint64_t (*inbox)[WORDS]; /* [largest N], where channels write */
	int n, n_bound;
	bool growing;
	long at;                  /* channels used so far in this experiment */
	double clock_us;          /* of reading the clock, which no figure should contain */

	/* The receiving end. */
	int arrivals_left;
	bool split;               /* this burst is made ready in two halves */
	struct receipt receipt;
	double t0, *pass_ns;
	long passes;

	/* Element 0. */
	int repeat, step, n_grown;
	double began;
	long done;                /* trips or bursts of this experiment */
	double sum[FIGURES];
	long count[FIGURES];
	double idle_ns;           /* of a pass without channels */
	double message_us;        /* of a trip beside none */
	double *median[FIGURES];  /* [step * repeats + repeat] until it is taken */
};

static CProxyElement_Peer other(const Peer *self)
{
	return Peer_at(peers, 1 - Peer_thisIndex(self));
}

static double time_clock(void)
{
	double t0 = bench_now_us();

	for (int i = 0; i < 999; i++)
		(void)bench_now_us();
	return (bench_now_us() - t0) / 1000;
}

static double ns_per(const Peer *self, double t0, long n)
{
	double us = bench_now_us() - t0 - self->clock_us;

	return us > 0 ? us * 1000 / (double)n : 0;
}

static struct slot *scattered(Peer *self, long k)
{
	return &self->slot[(uint64_t)k * SCATTER % (uint64_t)self->n];
}

static int burst_size(const Peer *self)
{
	return self->doing == IDLE_PASSES || self->n < BURST ? self->n : BURST;
}

static void fill(uint64_t *words, uint64_t stamp)
{
	for (int i = 0; i < WORDS; i++)
		words[i] = stamp;
}

static void check(const uint64_t *words, uint64_t stamp, const char *what)
{
	for (int i = 0; i < WORDS; i++)
		if (words[i] != stamp)
			CkAbort("%s %llu came with word %d from %llu", what,
				(unsigned long long)stamp, i, (unsigned long long)words[i]);
}

/* ---- channels: made, bound, destroyed ----------------------------- */

static void arrived(void *slot);

static void say_grown(Peer *self)
{
	if (!self->growing || self->n_bound < self->n)
		return;
	self->growing = false;
	Peer_grown(Peer_at(peers, 0));
}

static CkDirectHandle create(Peer *self, int i)
{
	struct slot *s = &self->slot[i];

	s->sent = s->received = 0;
	s->peer = self;
	s->number = i;
	s->in = CkDirect_createHandle(self->inbox[i], sizeof self->inbox[i], NEVER, arrived, s);
	return s->in;
}

void Peer_on_grow(Peer *self, int n)
{
	CkDirectHandle block[BLOCK];

	while (self->n < n) {
		int first = self->n, len = 0;

		while (self->n < n && len < BLOCK)
			block[len++] = create(self, self->n++);
		Peer_bind(other(self), first, len, block);
	}
	self->growing = true;
	say_grown(self);
}

void Peer_on_bind(Peer *self, int first, int n, const CkDirectHandle *in)
{
	for (int i = 0; i < n; i++) {
		struct slot *s = &self->slot[first + i];

		s->out = in[i];
		CkDirect_assocLocalBuffer(&s->out, s->source, sizeof s->source);
	}
	self->n_bound += n;
	say_grown(self);
}

static void shrink(Peer *self)
{
	for (int i = 0; i < self->n; i++) {
		CkDirect_destroyHandle(&self->slot[i].out);
		CkDirect_destroyHandle(&self->slot[i].in);
	}
	self->n = self->n_bound = 0;
}

void Peer_on_shrink(Peer *self)
{
	shrink(self);
	Peer_shrunk(other(self));
}

/* ---- element 0: a step after the other ----------------------------- */

static void add(Peer *self, enum figure f, double value)
{
	self->sum[f] += value;
	self->count[f]++;
}

/* The figures of this step and repeat. */
static void keep_figures(Peer *self)
{
	for (int f = 0; f < FIGURES; f++) {
		double mean = self->count[f] ? self->sum[f] / (double)self->count[f] : NAN;

		self->median[f][self->step * plan.repeats + self->repeat] = mean;
		self->sum[f] = 0;
		self->count[f] = 0;
	}
}

static void report(Peer *self)
{
	for (int f = 0; f < FIGURES; f++)
		for (int s = 0; s < plan.n_steps; s++) {
			double *v = &self->median[f][s * plan.repeats];

			if (!isnan(v[0]))
				CkPrintf("%s %d %.3f %s\n", figures[f].name, plan.armed[s],
					 bench_median(v, plan.repeats), figures[f].unit);
		}
	CkExit(0);
}

static void next_step(Peer *self)
{
	self->n_grown = 0;
	Peer_grow_all(peers, plan.armed[self->step]);
}

static void start_experiment(Peer *self)
{
	self->at = self->done = 0;
	Peer_expect(other(self), self->doing);
}

void Peer_on_grown(Peer *self)
{
	if (++self->n_grown < 2)
		return;
	self->doing = IDLE_PASSES;
	start_experiment(self);
}

static void end_experiment(Peer *self)
{
	bool last = self->n ? self->doing == EXPERIMENTS - 1 : self->doing == MESSAGE_BALL;

	if (!last) {
		self->doing++;
		start_experiment(self);
		return;
	}
	keep_figures(self);
	if (++self->step < plan.n_steps) {
		next_step(self);
	} else {
		shrink(self);
		Peer_shrink(other(self));
	}
}

void Peer_on_shrunk(Peer *self)
{
	self->step = 0;
	if (++self->repeat < plan.repeats)
		next_step(self);
	else
		report(self);
}

/* ---- balls: there and back in a message, or through one of the channels ---------- */

static void throw_ball(Peer *self)
{
	uint64_t words[WORDS];
	struct slot *s;

	if (self->doing == MESSAGE_BALL) {
		fill(words, (uint64_t)self->at);
		Peer_ball(other(self), WORDS, words);
		return;
	}
	s = scattered(self, self->at);
	fill(s->source, ++s->sent);
	CkDirect_put(&s->out);
}

/* The first trip of an experiment warms up. */
static void catch_ball(Peer *self)
{
	double now = bench_now_us(), us = now - self->began;

	self->at++;
	if (self->done++ == 0)
		self->began = now;
	else if (us > plan.enough_us && self->done > LEAST) {
		us /= (double)(self->done - 1);
		add(self, self->doing == MESSAGE_BALL ? MESSAGE_TRIP : CHANNEL_TRIP, us);
		if (self->doing == MESSAGE_BALL) {
			if (!self->n)
				self->message_us = us;
			add(self, MESSAGE_SLOW, us / self->message_us);
		}
		end_experiment(self);
		return;
	}
	throw_ball(self);
}

void Peer_on_ball(Peer *self, int n, const uint64_t *words)
{
	(void)n;
	if (Peer_thisIndex(self) == 1) {
		Peer_ball(other(self), WORDS, (uint64_t *)(uintptr_t)words);
		return;
	}
	check(words, (uint64_t)self->at, "message");
	catch_ball(self);
}

static void catch_channel_ball(struct slot *s)
{
	CkDirect_ready(&s->in);
	if (Peer_thisIndex(s->peer) == 0) {
		catch_ball(s->peer);
	} else {
		fill(s->source, ++s->sent);
		CkDirect_put(&s->out);
	}
}

/* ---- bursts: many puts, then one answer ----------------------------- */

static void put_burst(Peer *self)
{
	int n = burst_size(self);
	double t0;

	for (int i = 0; i < n; i++) {
		struct slot *s = scattered(self, self->at + i);

		fill(s->source, ++s->sent);
	}
	self->began = t0 = bench_now_us();
	for (int i = 0; i < n; i++)
		CkDirect_put(&scattered(self, self->at + i)->out);
	if (self->doing == BURSTS)
		add(self, PUT, ns_per(self, t0, n));
	self->at += n;
}

static void keep_idle(Peer *self, const struct receipt *r)
{
	if (!self->n) {
		self->idle_ns = r->marked_pass;
		return;
	}
	add(self, IDLE_MARKED, r->marked_pass - self->idle_ns);
	add(self, IDLE_ARMED, r->armed_pass - self->idle_ns);
}

void Peer_on_consumed(Peer *self, struct receipt r)
{
	double us = bench_now_us() - self->began;

	if (self->doing == IDLE_PASSES) {
		keep_idle(self, &r);
		end_experiment(self);
		return;
	}
	add(self, ARRIVAL, us * 1000 / burst_size(self));
	if (r.ready > 0)
		add(self, READY, r.ready);
	if (r.mark > 0)
		add(self, READY_MARK, r.mark);
	if (r.poll > 0)
		add(self, READY_POLL, r.poll);
	self->done++;
	/* An even number: as many ready in one as in two halves. */
	if (self->done % 2 == 0 && self->done >= LEAST &&
	    (double)self->done * us > plan.enough_us)
		end_experiment(self);
	else
		put_burst(self);
}

void Peer_on_expected(Peer *self)
{
	if (self->doing == IDLE_PASSES || self->doing == BURSTS) {
		put_burst(self);
	} else {
		self->began = bench_now_us();
		throw_ball(self);
	}
}

/* ---- element 1: the receiving end of bursts ----------------------------- */

static double time_calls(Peer *self, void (*call)(CkDirectHandle *))
{
	int n = burst_size(self);
	double t0 = bench_now_us();

	for (int i = 0; i < n; i++)
		call(&scattered(self, self->at + i)->in);
	return ns_per(self, t0, n);
}

static void end_burst(Peer *self)
{
	self->at += burst_size(self);
	self->arrivals_left = burst_size(self);
	Peer_consumed(other(self), self->receipt);
}

static void pass(void *peer);

static void start_passes(Peer *self, double *ns)
{
	self->pass_ns = ns;
	self->passes = 0;
	self->t0 = bench_now_us();
	CcdCallFnAfter(pass, self, 0);
}

/* A timer that sets itself again is called once in each pass. */
static void pass(void *peer)
{
	Peer *self = peer;
	double us = bench_now_us() - self->t0;

	if (++self->passes < LEAST || us < plan.enough_us) {
		CcdCallFnAfter(pass, self, 0);
		return;
	}
	*self->pass_ns = us * 1000 / (double)self->passes;
	if (self->n && self->pass_ns == &self->receipt.marked_pass) {
		time_calls(self, CkDirect_readyPollQ);
		start_passes(self, &self->receipt.armed_pass);
	} else {
		end_burst(self);
	}
}

static void consume_burst(Peer *self)
{
	self->receipt = (struct receipt){0};
	if (self->doing == IDLE_PASSES) {
		time_calls(self, CkDirect_readyMark);
		start_passes(self, &self->receipt.marked_pass);
		return;
	}
	if (self->split) {
		self->receipt.mark = time_calls(self, CkDirect_readyMark);
		self->receipt.poll = time_calls(self, CkDirect_readyPollQ);
	} else {
		self->receipt.ready = time_calls(self, CkDirect_ready);
	}
	self->split = !self->split;
	end_burst(self);
}

static void arrived(void *slot)
{
	struct slot *s = slot;
	Peer *self = s->peer;

	check(self->inbox[s->number], ++s->received, "put");
	if (self->doing == CHANNEL_BALL)
		catch_channel_ball(s);
	else if (--self->arrivals_left == 0)
		consume_burst(self);
}

void Peer_on_expect(Peer *self, int what)
{
	self->doing = (enum experiment)what;
	self->at = 0;
	self->arrivals_left = burst_size(self);
	Peer_expected(other(self));
	if (self->doing == IDLE_PASSES && !self->n)
		consume_burst(self);
}

/* ---- start ----------------------------- */

void Peer_on_new(Peer *self)
{
	size_t most = (size_t)plan.armed[plan.n_steps - 1];

	self->clock_us = time_clock();
	self->slot = bench_alloc(most * sizeof *self->slot);
	self->inbox = CkDirect_alloc(most * sizeof *self->inbox);
	if (!self->inbox)
		CkAbort("no memory for %zu channels", most);
}

void Peer_on_start(Peer *self)
{
	for (int f = 0; f < FIGURES; f++)
		self->median[f] = bench_alloc((size_t)(plan.n_steps * plan.repeats) *
					      sizeof(double));
	next_step(self);
}

static void usage(void)
{
	CkError("Usage: ckrun -n 2 [--ppn 2] channels [--reps n] [--most n] [--factor n] "
		"[--smoke]\n");
	CkExit(2);
}

static bool parse(int argc, char **argv)
{
	int most = 100000, factor = 10;

	plan.repeats = 5;
	plan.enough_us = 10000;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--smoke") == 0) {
			plan.repeats = 1;
			plan.enough_us = 100;
			most = 100;
		} else if (strcmp(argv[i], "--reps") == 0 && i + 1 < argc) {
			plan.repeats = (int)bench_number("channels", "--reps", argv[++i], 1,
							 BENCH_REPEATS_MAX);
		} else if (strcmp(argv[i], "--most") == 0 && i + 1 < argc) {
			most = (int)bench_number("channels", "--most", argv[++i], 1, 1000000);
		} else if (strcmp(argv[i], "--factor") == 0 && i + 1 < argc) {
			factor = (int)bench_number("channels", "--factor", argv[++i], 2, 1000);
		} else {
			return false;
		}
	}
	plan.armed[plan.n_steps++] = 0;
	for (int n = 1; n <= most && plan.n_steps < STEPS_MAX; n *= factor)
		plan.armed[plan.n_steps++] = n;
	return CkNumPes() == 2;
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)self;
	if (!parse(m->argc, m->argv)) {
		usage();
		return;
	}
	peers = Peer_ckNew(CkDims(2));
	Peer_start(Peer_at(peers, 0));
}

#include "channels.def.h"
