/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logp: latency L, overheads o_send and o_recv, and gap g, of entry messages and of channels. How
 * long a message takes matters less to a program than how long it keeps the PEs from computing:
 * the overheads.
 *
 *	ckrun -n 2 build/bench/logp              between two nodes (processes)
 *	ckrun -n 2 --ppn 2 build/bench/logp      between two PEs of one node (threads)
 *
 * Options: bench.h's (sizes 8 to 65536, at most 4 of them), and --smoke for one short run.
 *
 * Everything comes from one exchange: PE 0 sends a burst of M, computes until a delay D has passed
 * since it began, and returns to its scheduler; PE 1 answers the M-th with one of the same size
 * and kind; when PE 0 handles the answer it begins the next exchange. T is the time from one to
 * the next, without D.
 *
 *	o_send  the time of the M send calls, divided by M, at M = 16, D = 0: few enough that
 *	        nothing has to be waited for. Writing the data is included.
 *	o_recv  T at M = 1 and D = 50 us, from the end of the delay. The answer has long been
 *	        there, so this is what PE 0 spends on receiving it: return to the loop, find,
 *	        dispatch, read, give the memory back.
 *	g       (T at M = 256 - T at M = 64) / 192, D = 0: the time per message in a long burst
 *	L       RTT / 2 - o_send - o_recv, RTT being T at M = 1, D = 0. What is left when both PEs
 *	        do their work one after the other; where they overlap it (PE 1 polls while PE 0
 *	        still returns from its send) it comes out small, and could be negative.
 *
 * Reading the clock is taken off where it lies in the interval. The overheads are medians over
 * exchanges. They need two PEs on two idle cores: where PEs share a core, an idle one soon sleeps,
 * and waking it becomes part of what PE 0 sees. With channels, M is the number of channels, each
 * of which is put through once per exchange; all share one source.
 *
 * Prints `name parameter value unit`, medians; "channel" for "message" with channels, "threads"
 * for "nodes" within a node:
 *	logp-message-rtt-nodes     bytes  us
 *	logp-message-L-nodes       bytes  us
 *	logp-message-o_send-nodes  bytes  us
 *	logp-message-o_recv-nodes  bytes  us
 *	logp-message-g-nodes       bytes  us
 *	logp-message-burst-nodes   M      us per message, T / M, for the first size: the signature
 *
 * Ancestor: Table 6-1 (L, o_s, o_r, g) and Figure 6-2 (signature) of the paper on Split-C over
 * VIA, by the method of Culler, Liu, Martin and Yoshikawa, "Assessing fast network interfaces"
 * (IEEE Micro, 1996). Theirs delay between the messages of a burst, ours behind it, because an
 * entry method is not interrupted by arrivals.
 */
#include <stdlib.h>
#include <string.h>

#include "stream.h"
#include "logp.decl.h"

enum { BURSTS = 5, DELAYED = BURSTS, SHAPES };
static const int BURST[SHAPES] = { 1, 4, 16, 64, 256, 1 };
enum { RTT = 0, FEW = 2, MANY = 3, MOST = 4 }; /* of these */

enum { LANES = 256, SIZES_MOST = 4, BYTES_LEAST = 8, BYTES_MOST = 65536, SAMPLES = 1000 };
/* Longer than a round trip of 64 kB. */
static const double DELAY_US = 50;

#define NEVER UINT64_MAX /* stamps are numbers of exchanges */

enum path { MESSAGE, CHANNEL, PATHS };

/* A series' kind is a path and a shape. */
static int kind_of(enum path path, int shape)
{
	return (int)path * SHAPES + shape;
}

struct Main {
	int unused;
};

/* What plan.h does not keep, by repeat. Each is the median of a run's exchanges, because an exchange
 * during which the other PE does not run costs as much as a thousand others. */
struct overheads {
	double send_us[BENCH_REPEATS_MAX], recv_us[BENCH_REPEATS_MAX];
};

/* The first exchanges of a run. */
struct samples {
	double us[SAMPLES];
	int n;
};

struct lane {
	Peer *peer;
	CkDirectHandle channel;
	struct stream_payload payload;
	void *memory;
};

struct Peer {
	/* Both ends: the run. */
	enum path path;
	int burst;
	size_t bytes;
	uint64_t stamp;            /* of this exchange */
	long arrived;              /* element 1: in this exchange */
	struct stream_payload source;
	struct lane lane[LANES];   /* element 0: put; element 1: received */
	struct lane answer;        /* element 0: received; element 1: put */
	/* Element 0: what is measured. */
	struct plan *plan;
	struct overheads *overheads; /* [plan->n] */
	long left;                 /* exchanges, one more than counted: the first maps pages */
	bool delayed, more;
	double t0, delay_end, clock_us;
	struct samples send, recv;
};

static CProxyElement_Peer other(const Peer *self)
{
	return Peer_at(peers, 1 - Peer_thisIndex(self));
}

static void sample(struct samples *s, double us)
{
	if (s->n < SAMPLES)
		s->us[s->n++] = us;
}

/* ---- one exchange ------------------------------------------------------------------------ */

static void send_one(Peer *self, CProxyElement_Peer to, int i)
{
	if (self->path == CHANNEL)
		CkDirect_put(&self->lane[i].channel);
	else
		Peer_data(to, self->bytes, self->source.at);
}

static void begin_exchange(Peer *self)
{
	CProxyElement_Peer to = other(self);
	double begin = bench_now_us(), sent;

	stream_refresh(&self->source, ++self->stamp);
	for (int i = 0; i < self->burst; i++)
		send_one(self, to, i);
	sent = bench_now_us();
	sample(&self->send, sent - begin);
	self->delay_end = sent;
	while (self->delayed && self->delay_end < begin + DELAY_US)
		self->delay_end = bench_now_us();
}

static void end_run(Peer *self);

static void check(const Peer *self, const char *v, uint64_t stamp)
{
	if (!stream_whole(&self->source, v, stamp))
		CkAbort("exchange %llu of %zu bytes is not what was sent",
			(unsigned long long)stamp, self->bytes);
}

static void answered(Peer *self, const char *v)
{
	check(self, v, self->stamp);
	if (self->path == CHANNEL)
		CkDirect_ready(&self->answer.channel);
	if (self->delayed)
		sample(&self->recv, bench_now_us() - self->delay_end);
	if (self->left-- == plan_current(self->plan)->count)
		self->t0 = bench_now_us();
	if (self->left >= 0)
		begin_exchange(self);
	else
		end_run(self);
}

/* One of a burst has been read. */
static void arrived(Peer *self)
{
	if (++self->arrived < self->burst)
		return;
	self->arrived = 0;
	stream_refresh(&self->source, ++self->stamp);
	if (self->path == CHANNEL)
		CkDirect_put(&self->answer.channel);
	else
		Peer_answer(other(self), self->bytes, self->source.at);
}

void Peer_on_data(Peer *self, size_t n, const char *v)
{
	(void)n;
	check(self, v, self->stamp + 1);
	arrived(self);
}

void Peer_on_answer(Peer *self, size_t n, const char *v)
{
	(void)n;
	answered(self, v);
}

/* The next put comes after our answer: by then this channel is armed. */
static void lane_arrived(void *arg)
{
	struct lane *l = arg;

	check(l->peer, l->payload.at, l->peer->stamp + 1);
	CkDirect_ready(&l->channel);
	arrived(l->peer);
}

static void answer_arrived(void *arg)
{
	struct lane *l = arg;

	answered(l->peer, l->payload.at);
}

/* ---- a run at both ends ------------------------------------------------------------------ */

static void make_receiver(Peer *self, struct lane *l, CkDirectFn fn)
{
	size_t area = bench_area_bytes(self->bytes);

	l->peer = self;
	l->memory = CkDirect_alloc(area);
	if (!l->memory)
		CkAbort("no memory for a channel of %zu bytes", area);
	/* A channel's buffer ends on a multiple of 8. */
	stream_payload_init(&l->payload, (char *)l->memory + area - self->bytes, self->bytes);
	l->channel = CkDirect_createHandle(l->payload.at, self->bytes, NEVER, fn, l);
}

static void destroy(struct lane *l)
{
	CkDirect_destroyHandle(&l->channel);
	CkDirect_free(l->memory); /* NULL at the sending end */
	memset(l, 0, sizeof *l);
}

static void bind(Peer *self, struct lane *l, CkDirectHandle theirs)
{
	l->channel = theirs;
	CkDirect_assocLocalBuffer(&l->channel, self->source.at, self->bytes);
}

static void set_up(Peer *self, int kind, size_t bytes)
{
	char *area_end = self->source.at + self->source.bytes;

	self->path = (enum path)(kind / SHAPES);
	self->burst = BURST[kind % SHAPES];
	self->delayed = kind % SHAPES == DELAYED;
	self->bytes = bytes;
	self->stamp = 0;
	self->arrived = 0;
	stream_payload_init(&self->source, area_end - bytes, bytes);
}

static void take_down(Peer *self)
{
	if (self->path != CHANNEL)
		return;
	for (int i = 0; i < self->burst; i++)
		destroy(&self->lane[i]);
	destroy(&self->answer);
}

void Peer_on_begin(Peer *self, int kind, size_t bytes, CkDirectHandle answer)
{
	CkDirectHandle lanes[LANES];

	set_up(self, kind, bytes);
	if (self->path == CHANNEL) {
		bind(self, &self->answer, answer);
		for (int i = 0; i < self->burst; i++) {
			make_receiver(self, &self->lane[i], lane_arrived);
			lanes[i] = self->lane[i].channel;
		}
	}
	Peer_begun(other(self), self->path == CHANNEL ? self->burst : 0, lanes);
}

void Peer_on_end(Peer *self)
{
	take_down(self);
	Peer_ended(other(self));
}

/* ---- element 0: one run after the other -------------------------------------------------- */

static void next_run(Peer *self)
{
	const struct series *s = plan_current(self->plan);

	set_up(self, s->kind, s->parameter);
	self->left = s->count;
	self->send.n = self->recv.n = 0;
	if (self->path == CHANNEL)
		make_receiver(self, &self->answer, answer_arrived);
	Peer_begin(other(self), s->kind, s->parameter, self->answer.channel);
}

void Peer_on_begun(Peer *self, int n, const CkDirectHandle *lanes)
{
	for (int i = 0; i < n; i++)
		bind(self, &self->lane[i], lanes[i]);
	begin_exchange(self);
}

static void end_run(Peer *self)
{
	double us = bench_now_us() - self->t0;
	struct series *s = plan_current(self->plan);
	struct overheads *o = &self->overheads[s - self->plan->series];

	if (plan_timed(self->plan)) {
		int r = self->plan->repeat;

		o->send_us[r] = (bench_median(self->send.us, self->send.n) - self->clock_us) /
				self->burst;
		if (self->delayed)
			o->recv_us[r] = bench_median(self->recv.us, self->recv.n) - self->clock_us;
	}
	self->more = plan_record(self->plan, us);
	Peer_end(other(self));
}

static void report(Peer *self);

void Peer_on_ended(Peer *self)
{
	take_down(self);
	if (self->more)
		next_run(self);
	else
		report(self);
}

/* ---- the four numbers -------------------------------------------------------------------- */

static struct overheads *overheads_of(Peer *self, int kind, size_t bytes)
{
	int i = 0;

	while (self->plan->series[i].kind != kind || self->plan->series[i].parameter != bytes)
		i++;
	return &self->overheads[i];
}

static double exchange_us(Peer *self, enum path path, int shape, size_t bytes)
{
	return plan_us(self->plan, kind_of(path, shape), bytes);
}

static void report_size(Peer *self, enum path path, const char *name, size_t bytes)
{
	const char *between = CkNumNodes() > 1 ? "nodes" : "threads";
	double rtt = exchange_us(self, path, RTT, bytes);
	double many = exchange_us(self, path, MANY, bytes);
	double most = exchange_us(self, path, MOST, bytes);
	double o_send = bench_median(overheads_of(self, kind_of(path, FEW), bytes)->send_us,
				     self->plan->repeats);
	double o_recv = bench_median(overheads_of(self, kind_of(path, DELAYED), bytes)->recv_us,
				     self->plan->repeats);

	CkPrintf("logp-%s-rtt-%s %zu %.3f us\n", name, between, bytes, rtt);
	CkPrintf("logp-%s-L-%s %zu %.3f us\n", name, between, bytes, rtt / 2 - o_send - o_recv);
	CkPrintf("logp-%s-o_send-%s %zu %.3f us\n", name, between, bytes, o_send);
	CkPrintf("logp-%s-o_recv-%s %zu %.3f us\n", name, between, bytes, o_recv);
	CkPrintf("logp-%s-g-%s %zu %.3f us\n", name, between, bytes,
		 (most - many) / (BURST[MOST] - BURST[MANY]));
}

static void report(Peer *self)
{
	static const char *const names[PATHS] = { "message", "channel" };
	const struct bench_options *o = &opt.common;
	const char *between = CkNumNodes() > 1 ? "nodes" : "threads";

	for (int p = 0; p < PATHS; p++) {
		for (int i = 0; i < o->nsizes; i++)
			report_size(self, (enum path)p, names[p], o->bytes[i]);
		for (int b = 0; b < BURSTS; b++)
			CkPrintf("logp-%s-burst-%s %d %.3f us\n", names[p], between, BURST[b],
				 exchange_us(self, (enum path)p, b, o->bytes[0]) / BURST[b]);
	}
	free(self->plan);
	free(self->overheads);
	CkExit(0);
}

/* What two readings of the clock, one behind the other, lie apart. */
static double clock_cost_us(void)
{
	double us[BENCH_REPEATS_MAX];

	for (int i = 0; i < BENCH_REPEATS_MAX; i++) {
		double t0 = bench_now_us();

		us[i] = bench_now_us() - t0;
	}
	return bench_median(us, BENCH_REPEATS_MAX);
}

void Peer_on_new(Peer *self)
{
	size_t area = bench_area_bytes(bench_largest(&opt.common));

	stream_payload_init(&self->source, bench_alloc(area), area);
}

void Peer_on_start(Peer *self)
{
	self->clock_us = clock_cost_us();
	self->plan = bench_alloc(sizeof *self->plan);
	plan_init(self->plan, &opt);
	for (int i = 0; i < opt.common.nsizes; i++)
		for (int p = 0; p < PATHS; p++)
			for (int shape = 0; shape < SHAPES; shape++)
				plan_add(self->plan, kind_of((enum path)p, shape),
					 opt.common.bytes[i]);
	self->overheads = bench_alloc((size_t)self->plan->n * sizeof *self->overheads);
	next_run(self);
}

/* ---- main -------------------------------------------------------------------------------- */

static bool parse(CkArgMsg *m)
{
	static const size_t sizes[] = { 32, 1024 };

	plan_options_init(&opt, sizes, sizeof sizes / sizeof sizes[0]);
	for (int i = 1; i < m->argc; i++) {
		if (!plan_option(&opt, m->argc, m->argv, &i)) {
			CkError("logp: unknown option %s\n", m->argv[i]);
			return false;
		}
	}
	if (opt.common.nsizes > SIZES_MOST || bench_largest(&opt.common) > BYTES_MOST) {
		CkError("logp: at most %d sizes, of at most %d bytes\n", SIZES_MOST, BYTES_MOST);
		return false;
	}
	if (CkNumPes() != 2) {
		CkError("logp: needs 2 PEs: ckrun -n 2 [--ppn 2] logp\n");
		return false;
	}
	return true;
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)self;
	if (!parse(m)) {
		CkExit(2);
		return;
	}
	peers = Peer_ckNew(CkDims(2));
	Peer_start(Peer_at(peers, 0));
}

#include "logp.def.h"
