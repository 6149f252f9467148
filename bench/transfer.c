/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer: what one transfer of a fine-grained program costs a PE, by messages and by channels,
 * and so how much of its time channels can save at most.
 *
 *	ckrun -n 2 build/bench/transfer              2 processes
 *	ckrun -n 2 --ppn 2 build/bench/transfer      2 PEs of one process
 *
 * Two pairs of elements exchange bursts of 128 transfers, to and fro: "here" the elements of a
 * pair are on one PE; "nodes" or "threads" on two, and the pairs take turns, so that both PEs
 * always send and receive. The time of all divided by the transfers of one PE is what sending and
 * receiving one costs it, misses included. The data is written anew for each burst, and a word of
 * every cache line is read at the end.
 *
 *	call     an entry call without data: make, queue, dispatch
 *	read     with data, which the handler uses where it lies in the message
 *	place    with data, which the handler copies to where it is needed
 *	channel  put, arrival function, ready
 *
 * Options: --reps, --sizes (bytes, multiples of 8), --smoke.
 * Prints `name bytes value unit`, medians; WHERE is here and nodes, or here and threads:
 *	transfer-call-WHERE 0, transfer-read-WHERE, transfer-place-WHERE, transfer-channel-WHERE  ns
 *	transfer-send-read-here, transfer-send-channel-here   ns  the part of the call or the put
 *	transfer-ready-here                                   ns  and that of the ready
 *	transfer-copy                                         ns  a memcpy to 128 places in turn
 *	transfer-gain-WHERE      %   of a channel over a message that is copied to its place, with
 *	                             no work at all beside it
 *	transfer-dgemm, transfer-daxpy  ns  of the work that examples/matmul --p 4 has to do with
 *	                             slices of so many bytes
 *	transfer-matmul-gain, transfer-matmul-gain-spread
 *	                         %   what follows for examples/matmul --p 4 on 2 PEs, by default and
 *	                             with --map spread, if only these cost time
 *
 * A chare of matmul --p 4 gets 3 slices each of A, B and C in an iteration. On 2 PEs 2 of B come from
 * the other one; with --map spread 2 of each kind. Slices of C are read where they lie, those of A
 * and B copied to their place, or put there.
 */
#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ckdirect.h"
#include "plan.h"
#include "transfer.decl.h"

enum { LANES = 128, PEERS = 4, DOUBLES_MOST = 1 << 13, CUBES = 4 };
enum how { CALL, READ, PLACE, CHANNEL, HOWS };
enum where { HERE, AWAY, WHERES };
static const char *const how_name[HOWS] = {"call", "read", "place", "channel"};

#define OUT_OF_BAND UINT64_C(0x7ff8c0dec0dec0de) /* a NaN */

static int kind_of(enum how how, enum where where)
{
	return (int)how * WHERES + (int)where;
}

/* What plan.h does not keep: parts of the time of element 0, by repeat. */
struct parts {
	double send_us[BENCH_REPEATS_MAX], ready_us[BENCH_REPEATS_MAX];
};

struct Main {
	struct plan *plan;
	struct parts *parts;       /* [plan->n] */
	int n_done;
	double t0;
};

/* As in examples/matmul: an arrival and its ready touch one line, a put another. */
struct lane {
	_Alignas(64) Peer *peer;
	CkDirectHandle in;
	_Alignas(64) CkDirectHandle out;
};

struct Peer {
	enum how how;
	enum where where;
	int n;                     /* doubles in a transfer */
	double *source;            /* [n] */
	double *places;            /* [LANES][n] */
	struct lane *lane;         /* [LANES] */
	int missing;               /* of the burst that is expected */
	double sent, received;     /* bursts */
	int n_bound, n_wanted;     /* channels that go out from here */
	bool beginning;
	/* Of this run. */
	bool starts;
	long rounds;
	double send_us, ready_us;
};

/* ---- bursts ----------------------------------------------------------------------------- */

static int partner(const Peer *self)
{
	return Peer_thisIndex(self) ^ (self->where == HERE ? 1 : 2);
}

static void refresh(Peer *self)
{
	self->sent++;
	for (int i = 0; i < self->n; i += BENCH_LINE_WORDS)
		self->source[i] = self->sent;
	self->source[self->n - 1] = self->sent;
}

static void send_one(Peer *self, CProxyElement_Peer to, int lane)
{
	switch (self->how) {
	case CALL: Peer_call(to); break;
	case READ: Peer_read(to, lane, self->n, self->source); break;
	case PLACE: Peer_place(to, lane, self->n, self->source); break;
	default: CkDirect_put(&self->lane[lane].out);
	}
}

static void send_burst(Peer *self)
{
	CProxyElement_Peer to = Peer_at(peers, partner(self));
	double t0;

	refresh(self);
	t0 = bench_now_us();
	for (int lane = 0; lane < LANES; lane++)
		send_one(self, to, lane);
	self->send_us += bench_now_us() - t0;
}

static void ready_all(Peer *self)
{
	double t0 = bench_now_us();

	for (int lane = 0; lane < LANES; lane++)
		CkDirect_ready(&self->lane[lane].in);
	self->ready_us += bench_now_us() - t0;
}

/* Reads every line, as the work on the data would: to fetch it from the other PE's cache is part of
 * what a transfer costs, be it in a copy or here. */
static void check(const Peer *self, const double *v)
{
	bool fresh = v[self->n - 1] == self->received + 1;

	for (int i = 0; i < self->n; i += BENCH_LINE_WORDS)
		fresh &= v[i] == self->received + 1;
	if (!fresh)
		CkAbort("transfer: %s of %d doubles: an element is stale", how_name[self->how],
			self->n);
}

static void end_burst(Peer *self)
{
	self->missing = LANES;
	for (int lane = 0; lane < LANES && self->how >= PLACE; lane++)
		check(self, self->places + lane * self->n);
	if (self->how == CHANNEL)
		ready_all(self);
	self->received++;
	if (!self->starts || --self->rounds)
		send_burst(self);
	else
		Main_done(mainProxy, self->send_us, self->ready_us);
}

static void arrived(Peer *self)
{
	if (--self->missing == 0)
		end_burst(self);
}

void Peer_on_call(Peer *self)
{
	arrived(self);
}

void Peer_on_read(Peer *self, int lane, int n, const double *v)
{
	(void)lane;
	(void)n;
	check(self, v);
	arrived(self);
}

void Peer_on_place(Peer *self, int lane, int n, const double *v)
{
	memcpy(self->places + lane * n, v, (size_t)n * sizeof *v);
	arrived(self);
}

static void on_put(void *lane)
{
	arrived(((struct lane *)lane)->peer);
}

/* ---- runs --------------------------------------------------------------------------------- */

void Peer_on_new(Peer *self)
{
	self->lane = aligned_alloc(64, LANES * sizeof *self->lane);
	self->source = aligned_alloc(64, DOUBLES_MOST * sizeof(double));
	self->places = CkDirect_alloc((size_t)LANES * DOUBLES_MOST * sizeof(double));
	if (!self->lane || !self->source || !self->places)
		CkAbort("transfer: no memory");
	memset(self->source, 0, DOUBLES_MOST * sizeof(double));
}

static void say_begun(Peer *self)
{
	if (!self->beginning || self->n_bound < self->n_wanted)
		return;
	self->beginning = false;
	CkContributeBarrier(self, Main_cb_begun(mainProxy));
}

void Peer_on_begin(Peer *self, int kind, int n)
{
	size_t bytes = (size_t)n * sizeof(double);

	self->how = (enum how)(kind / WHERES);
	self->where = (enum where)(kind % WHERES);
	self->n = n;
	self->missing = LANES;
	self->sent = self->received = 0;
	self->starts = false;
	self->n_wanted = self->how == CHANNEL ? LANES : 0;
	self->beginning = true;
	for (int lane = 0; lane < self->n_wanted; lane++) {
		struct lane *l = &self->lane[lane];

		l->peer = self;
		l->in = CkDirect_createHandle(self->places + lane * n, bytes, OUT_OF_BAND, on_put,
					      l);
		Peer_bind(Peer_at(peers, partner(self)), lane, n, l->in);
	}
	say_begun(self);
}

/* May come before begin. */
void Peer_on_bind(Peer *self, int lane, int n, CkDirectHandle h)
{
	self->lane[lane].out = h;
	CkDirect_assocLocalBuffer(&self->lane[lane].out, self->source, (size_t)n * sizeof(double));
	self->n_bound++;
	say_begun(self);
}

void Peer_on_run(Peer *self, long rounds)
{
	self->starts = true;
	self->rounds = rounds;
	self->send_us = self->ready_us = 0;
	send_burst(self);
}

void Peer_on_end(Peer *self)
{
	for (int lane = 0; lane < self->n_bound; lane++) {
		CkDirect_destroyHandle(&self->lane[lane].in);
		CkDirect_destroyHandle(&self->lane[lane].out);
	}
	self->n_bound = 0;
	CkContributeBarrier(self, Main_cb_ended(mainProxy));
}

void Peer_on_finish(Peer *self)
{
	free(self->lane);
	free(self->source);
	CkDirect_free(self->places);
	CkContributeBarrier(self, Main_cb_finished(mainProxy));
}

/* ---- without the runtime -------------------------------------------------------------------- */

/* ns of one call of fn(context), median. */
static double time_of(void (*fn)(double *), double *context)
{
	double ns[BENCH_REPEATS_MAX];
	int repeats = opt.smoke ? 1 : opt.common.repeats;
	long count = opt.smoke ? 10 : 1000;

	for (int r = 0; r < repeats; r++) {
		double t0 = bench_now_us();

		for (long i = 0; i < count; i++)
			fn(context);
		ns[r] = (bench_now_us() - t0) * 1000 / (double)count;
	}
	return bench_median(ns, repeats);
}

/* context[0]: doubles of a slice, [1]: rows of a block; then a block of A, B, C, and the places. */
static void copy_all(double *context)
{
	size_t n = (size_t)context[0];

	for (size_t lane = 0; lane < LANES; lane++)
		memcpy(context + 64 + (lane + 1) * n, context + 64, n * sizeof(double));
}

static void do_dgemm(double *context)
{
	int nb = (int)context[1], block = nb * nb;
	double *a = context + 64, *b = a + block, *c = b + block;

	cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, nb, nb, nb, 1.0, a, nb, b, nb, 0.0, c,
		    nb);
}

static void do_daxpy(double *context)
{
	cblas_daxpy((int)context[0], 1.0, context + 64, 1, context + 64 + (size_t)context[0], 1);
}

/* ---- main ----------------------------------------------------------------------------------- */

static void begin_run(Main *self)
{
	struct series *s = plan_current(self->plan);

	Peer_begin_all(peers, s->kind, (int)(s->parameter / sizeof(double)));
}

/* The pairs of two PEs start on different ones. */
void Main_on_begun(Main *self)
{
	struct series *s = plan_current(self->plan);
	long rounds = s->count;

	self->n_done = 0;
	self->t0 = bench_now_us();
	Peer_run(Peer_at(peers, 0), rounds);
	Peer_run(Peer_at(peers, s->kind % WHERES == HERE ? 2 : 3), rounds);
}

/* From the two that started. */
void Main_on_done(Main *self, double send_us, double ready_us)
{
	struct plan *p = self->plan;
	struct parts *parts = &self->parts[p->at];
	double transfers = 2.0 * LANES * (double)plan_current(p)->count;

	if (plan_timed(p)) {
		/* Both started as often and as long; whichever comes last. */
		parts->send_us[p->repeat] = 2 * send_us / transfers;
		parts->ready_us[p->repeat] = 2 * ready_us / transfers;
	}
	if (++self->n_done == 2) {
		self->t0 = bench_now_us() - self->t0;
		Peer_end_all(peers);
	}
}

static double transfer_ns(Main *self, enum how how, enum where where, size_t bytes)
{
	return plan_us(self->plan, kind_of(how, where), bytes) * 1000 / (2 * LANES);
}

static double part_ns(Main *self, enum how how, size_t bytes, bool ready)
{
	for (int i = 0; i < self->plan->n; i++) {
		struct series *s = &self->plan->series[i];
		struct parts *p = &self->parts[i];

		if (s->kind == kind_of(how, HERE) && s->parameter == bytes)
			return 1000 * bench_median(ready ? p->ready_us : p->send_us,
						   self->plan->repeats);
	}
	return -1;
}

/* Slices that a chare of examples/matmul --p 4 gets in an iteration on 2 PEs. */
struct slices {
	int inputs[WHERES], parts[WHERES];
};

static double exchange_ns(Main *self, size_t bytes, const struct slices *n, enum how inputs,
			  enum how parts)
{
	double ns = 0;

	for (int w = 0; w < WHERES; w++)
		ns += n->inputs[w] * transfer_ns(self, inputs, (enum where)w, bytes) +
		      n->parts[w] * transfer_ns(self, parts, (enum where)w, bytes);
	return ns;
}

static void report_bound(Main *self, const char *name, size_t bytes, const struct slices *n,
			 double work)
{
	double by_messages = exchange_ns(self, bytes, n, PLACE, READ) + work;
	double by_channels = exchange_ns(self, bytes, n, CHANNEL, CHANNEL) + work;

	CkPrintf("%s %zu %.1f %%\n", name, bytes, 100 - 100 * by_channels / by_messages);
}

static void report_work(Main *self, size_t bytes)
{
	size_t n = bytes / sizeof(double);
	int nb = (int)lround(sqrt((double)n * CUBES));
	size_t block = (size_t)(nb * nb);
	double *context = bench_alloc((64 + 3 * block + (LANES + 1) * n) * sizeof(double));
	double dgemm, daxpy, work;

	context[0] = (double)n;
	context[1] = nb;
	dgemm = time_of(do_dgemm, context);
	daxpy = time_of(do_daxpy, context);
	CkPrintf("transfer-copy %zu %.1f ns\n", bytes, time_of(copy_all, context) / LANES);
	CkPrintf("transfer-dgemm %zu %.1f ns\n", bytes, dgemm);
	CkPrintf("transfer-daxpy %zu %.1f ns\n", bytes, daxpy);
	work = dgemm + CUBES * daxpy;
	report_bound(self, "transfer-matmul-gain", bytes,
		     &(struct slices){.inputs = {4, 2}, .parts = {3, 0}}, work);
	report_bound(self, "transfer-matmul-gain-spread", bytes,
		     &(struct slices){.inputs = {2, 4}, .parts = {1, 2}}, work);
	free(context);
}

static void report_size(Main *self, size_t bytes)
{
	const char *where_name[WHERES] = {"here", CkNumNodes() > 1 ? "nodes" : "threads"};

	for (int w = 0; w < WHERES; w++) {
		double place = transfer_ns(self, PLACE, (enum where)w, bytes);
		double channel = transfer_ns(self, CHANNEL, (enum where)w, bytes);

		for (int how = READ; how < HOWS; how++)
			CkPrintf("transfer-%s-%s %zu %.1f ns\n", how_name[how], where_name[w],
				 bytes, transfer_ns(self, (enum how)how, (enum where)w, bytes));
		CkPrintf("transfer-gain-%s %zu %.1f %%\n", where_name[w], bytes,
			 100 - 100 * channel / place);
	}
	CkPrintf("transfer-send-read-here %zu %.1f ns\n", bytes, part_ns(self, READ, bytes, false));
	CkPrintf("transfer-send-channel-here %zu %.1f ns\n", bytes,
		 part_ns(self, CHANNEL, bytes, false));
	CkPrintf("transfer-ready-here %zu %.1f ns\n", bytes, part_ns(self, CHANNEL, bytes, true));
	report_work(self, bytes);
}

static void report(Main *self)
{
	for (int w = 0; w < WHERES; w++)
		CkPrintf("transfer-call-%s 0 %.1f ns\n",
			 w == HERE ? "here" : CkNumNodes() > 1 ? "nodes" : "threads",
			 plan_us(self->plan, kind_of(CALL, (enum where)w), sizeof(double)) * 1000 /
				 (2 * LANES));
	for (int i = 0; i < opt.common.nsizes; i++)
		report_size(self, opt.common.bytes[i]);
	free(self->parts);
	free(self->plan);
	Peer_finish_all(peers);
}

void Main_on_finished(Main *self)
{
	(void)self;
	CkExit(0);
}

void Main_on_ended(Main *self)
{
	if (plan_record(self->plan, self->t0))
		begin_run(self);
	else
		report(self);
}

static void make_plan(Main *self)
{
	self->plan = bench_alloc(sizeof *self->plan);
	plan_init(self->plan, &opt);
	for (int w = 0; w < WHERES; w++)
		plan_add(self->plan, kind_of(CALL, (enum where)w), sizeof(double));
	for (int i = 0; i < opt.common.nsizes; i++)
		for (int how = READ; how < HOWS; how++)
			for (int w = 0; w < WHERES; w++)
				plan_add(self->plan, kind_of((enum how)how, (enum where)w),
					 opt.common.bytes[i]);
	self->parts = bench_alloc((size_t)self->plan->n * sizeof *self->parts);
}

/* Parallelism comes from the chares; a BLAS with threads of its own would be in the way. */
extern void openblas_set_num_threads(int n) __attribute__((weak));

static bool parse(int argc, char **argv)
{
	/* Slices of n = 16, 32, 64, 128, 256 with p = 4. */
	static const size_t sizes[] = {32, 128, 512, 2048, 8192}, few[] = {128, 2048};

	plan_options_init(&opt, sizes, sizeof sizes / sizeof sizes[0]);
	for (int i = 1; i < argc; i++)
		if (!plan_option(&opt, argc, argv, &i)) {
			CkError("transfer: unknown option %s\n", argv[i]);
			return false;
		}
	for (int i = 0; i < opt.common.nsizes; i++)
		if (opt.common.bytes[i] % 8 ||
		    opt.common.bytes[i] > DOUBLES_MOST * sizeof(double)) {
			CkError("transfer: %zu bytes: sizes are multiples of 8 up to %zu\n",
				opt.common.bytes[i], DOUBLES_MOST * sizeof(double));
			return false;
		}
	if (opt.smoke) {
		memcpy(opt.common.bytes, few, sizeof few);
		opt.common.nsizes = sizeof few / sizeof few[0];
	}
	return true;
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	if (!parse(m->argc, m->argv)) {
		CkExit(2);
		return;
	}
	if (CkNumPes() != 2) {
		CkError("transfer: needs 2 PEs: ckrun -n 2 [--ppn 2] transfer\n");
		CkExit(2);
		return;
	}
	if (openblas_set_num_threads)
		openblas_set_num_threads(1);
	make_plan(self);
	mainProxy = Main_thisProxy(self);
	peers = Peer_ckNew(CkDims(PEERS));
	begin_run(self);
}

#include "transfer.def.h"
