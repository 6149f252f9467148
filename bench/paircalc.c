/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paircalc: what channels are worth to a kernel like OpenAtom's PairCalculator, and what polling
 * them all the time costs its other phases (section 5 of the CkDirect paper, figures 4 and 5).
 *
 *	ckrun -n 2 build/bench/paircalc              2 processes
 *	ckrun -n 2 --ppn 2 build/bench/paircalc      2 PEs of one process
 *
 * State(s, p) holds the points of state s on plane p. Pair(b, c, p) takes those of the states of
 * block b and of block c. An iteration has two phases, with a reduction after each:
 *
 *	1. States exchange small messages with the next plane, --hops times: everything else that
 *	   such a program does.
 *	2. Each state sends its points to all pairs of its block, 2 * states / block of them. A
 *	   pair that has all its inputs multiplies, S = B C' and R = S C, with dgemm, and returns
 *	   the rows of R to the states of block b. A state adds up what comes back, and goes on.
 *
 * The paper's calculators also wait, between the two products, for a reduction of S over all
 * pairs and for what comes of it. That is no transfer of points and the same in all modes: it is
 * left out, and phase 1 stands for everything else.
 *
 * The points travel as messages, which the pair copies to where dgemm reads; or through channels
 * that are made ready in one (CkDirect_ready after the product), or in two (CkDirect_readyMark
 * after it, CkDirect_readyPollQ when phase 2 begins). Results travel as messages in all three, as
 * in the paper, and are added from where they lie. They are a third of the transfers: that, and
 * the products, bound the gain (bench/transfer tells what a transfer of a size costs).
 *
 * Options: --states n, --planes n, --points n, --block n, --hops n (0: phase 2 alone, the paper's
 * "PC only"), --iters n, --reps n, --smoke.
 * Prints `name channels value unit`, medians; "paircalc-only" instead of "paircalc" with --hops 0:
 *	paircalc-message, paircalc-ready, paircalc-split     us per iteration
 *	paircalc-ready-gain, paircalc-split-gain             percent of the message version's time,
 *	                                                     of the same repeat
 *
 * All numbers are small multiples of 1/4, so sums are exact in any order. Points are multiplied by
 * 1, 2, 4, 1, ... from iteration to iteration, so that stale ones show. At the end each state
 * compares the sum of its results with a serial computation; a difference ends with code 1.
 */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "ckdirect.h"
#include "paircalc.decl.h"

#define OUT_OF_BAND UINT64_C(0x7ff8c0dec0dec0de) /* a NaN */

enum mode { MESSAGES, READY, SPLIT, MODES };
static const char *const mode_name[MODES] = {"message", "ready", "split"};

enum { WARM_UP = 2 };

struct Main {
	int run;                /* of all runs, the modes taking turns */
	int iteration;          /* negative: warming up */
	int n_connected;        /* arrays */
	double began;
	double *us[MODES];      /* per iteration, [repeat] */
};

struct State {
	enum mode mode;
	int iteration;          /* of all runs */
	double *points;         /* [points], as sent: */
	double factor;          /* multiplied by this, see below */
	double *sum;            /* [points], of all results */
	int n_results;
	/* Phase 1: */
	bool hopping;
	int round, n_neighbour; /* what came and was not used yet */
	double neighbour_sum;
	/* Channels: */
	CkDirectHandle *to;     /* [2 * blocks] */
	int n_bound, n_wanted;
	bool connecting;
};

/* One input of a pair: a state of one of its blocks. An arrival and the ready after it, which reads
 * the front of the handle, touch one cache line. */
struct input {
	_Alignas(64) Pair *pair;
	double *place;
	CkDirectHandle channel;
};

struct Pair {
	enum mode mode;
	double *in;             /* [2 * block][points]: where dgemm reads */
	double *overlap;        /* [block][block] */
	double *product;        /* [block][points] */
	struct input *input;    /* [2 * block] */
	int n_arrived;
	bool waiting;           /* armed */
};

static int n_blocks(void)
{
	return shape.states / shape.block;
}

static int n_channels(void)
{
	return shape.states * shape.planes * 2 * n_blocks();
}

/* On a cache line, but not on a page each, as bench_alloc's: the arrays of hundreds of chares would
 * fall on the same sets of a cache. */
static void *allocate(size_t bytes)
{
	void *p = aligned_alloc(64, (bytes + 63) / 64 * 64);

	if (!p)
		CkAbort("no memory for %zu bytes", bytes);
	return memset(p, 0, bytes);
}

static double factor_of(int iteration)
{
	return 1 << iteration % 3;
}

static double point(int state, int plane, int k)
{
	return ((state * 7 + plane * 5 + k * 3) % 9 - 4) / 4.0;
}

/* Parallelism comes from the chares; a BLAS with threads of its own would be in the way. */
extern void openblas_set_num_threads(int n) __attribute__((weak));

void limit_blas_threads(void)
{
	if (openblas_set_num_threads)
		openblas_set_num_threads(1);
}

/* out (rows x cols) = a (rows x depth) * b, which is (cols x depth) if `transposed`. */
static void multiply(double *out, const double *a, const double *b, bool transposed, int rows,
		     int cols, int depth)
{
	cblas_dgemm(CblasRowMajor, CblasNoTrans, transposed ? CblasTrans : CblasNoTrans, rows,
		    cols, depth, 1.0, a, depth, b, transposed ? depth : cols, 0.0, out, cols);
}

/* ---- states: who gets the points ----------------------------- */

/* A state of block x sends to Pair(x, c, p) for all c, and to Pair(b, x, p) for all b: the
 * to-th of these, and which of its inputs the state is. */
static CProxyElement_Pair target(const State *self, int to, int *input_p)
{
	CkIndex2D i = State_thisIndex(self);
	int x = i.x / shape.block, within = i.x % shape.block;

	*input_p = to < n_blocks() ? within : shape.block + within;
	if (to < n_blocks())
		return Pair_at(pairs, x, to, i.y);
	return Pair_at(pairs, to - n_blocks(), x, i.y);
}

void State_on_new(State *self)
{
	CkIndex2D i = State_thisIndex(self);
	size_t bytes = (size_t)shape.points * sizeof(double);

	self->points = allocate(bytes);
	for (int k = 0; k < shape.points; k++)
		self->points[k] = point(i.x, i.y, k);
	self->factor = 1;
	self->sum = allocate(bytes);
	self->to = allocate((size_t)(2 * n_blocks()) * sizeof *self->to);
}

static void say_connected(State *self)
{
	if (!self->connecting || self->n_bound < self->n_wanted)
		return;
	self->connecting = false;
	CkContributeBarrier(self, Main_cb_connected(mainProxy));
}

void State_on_begin(State *self, int mode)
{
	self->mode = (enum mode)mode;
	self->n_wanted = self->mode == MESSAGES ? 0 : 2 * n_blocks();
	self->connecting = true;
	say_connected(self);
}

/* May come before begin. */
void State_on_bind(State *self, int to, CkDirectHandle h)
{
	self->to[to] = h;
	CkDirect_assocLocalBuffer(&self->to[to], self->points,
				  (size_t)shape.points * sizeof(double));
	self->n_bound++;
	say_connected(self);
}

void State_on_finish(State *self)
{
	for (int to = 0; to < self->n_bound; to++)
		CkDirect_destroyHandle(&self->to[to]);
	self->n_bound = 0;
	CkContributeBarrier(self, Main_cb_disconnected(mainProxy));
}

/* ---- states: phase 1 ----------------------------- */

static void send_hop(State *self)
{
	CkIndex2D i = State_thisIndex(self);

	State_neighbour(State_at(states, i.x, (i.y + 1) % shape.planes), self->round + i.y);
}

/* The neighbour may be some rounds ahead. */
static void hop_on(State *self)
{
	while (self->hopping && self->n_neighbour) {
		self->n_neighbour--;
		self->hopping = ++self->round < shape.hops;
		if (self->hopping)
			send_hop(self);
		else
			CkContributeBarrier(self, Main_cb_hopped(mainProxy));
	}
}

void State_on_hop(State *self)
{
	self->round = 0;
	self->hopping = true;
	send_hop(self);
	hop_on(self);
}

void State_on_neighbour(State *self, double v)
{
	self->neighbour_sum += v;
	self->n_neighbour++;
	hop_on(self);
}

/* ---- states: phase 2 ----------------------------- */

void State_on_send_points(State *self)
{
	double factor = factor_of(self->iteration);

	cblas_dscal(shape.points, factor / self->factor, self->points, 1);
	self->factor = factor;
	for (int to = 0; to < 2 * n_blocks(); to++) {
		int input;
		CProxyElement_Pair pair = target(self, to, &input);

		if (self->mode == MESSAGES)
			Pair_points(pair, input, shape.points, self->points);
		else
			CkDirect_put(&self->to[to]);
	}
}

/* When all results have come to all states, all pairs are ready again: each has sent its results
 * after it was. The reduction says so to the next iteration's puts. */
void State_on_result(State *self, int n, const double *v)
{
	cblas_daxpy(n, 1.0, v, 1, self->sum, 1);
	if (++self->n_results < n_blocks())
		return;
	self->n_results = 0;
	self->iteration++;
	CkContributeBarrier(self, Main_cb_updated(mainProxy));
}

/* ---- pairs ----------------------------- */

void Pair_on_new(Pair *self)
{
	size_t block = (size_t)shape.block, points = (size_t)shape.points;

	self->in = CkDirect_alloc(2 * block * points * sizeof(double));
	if (!self->in)
		CkAbort("no memory for a pair of %d states with %d points", 2 * shape.block,
			shape.points);
	self->overlap = allocate(block * block * sizeof(double));
	self->product = allocate(block * points * sizeof(double));
	self->input = allocate(2 * block * sizeof *self->input);
	for (size_t i = 0; i < 2 * block; i++) {
		self->input[i].pair = self;
		self->input[i].place = self->in + i * points;
	}
}

static void arrived(void *input);

/* The state whose points are an input; and the number under which it knows this pair. */
static CProxyElement_State source(const Pair *self, int input, int *to_p)
{
	CkIndex3D i = Pair_thisIndex(self);
	bool left = input < shape.block;

	*to_p = left ? i.y : n_blocks() + i.x;
	return State_at(states, (left ? i.x : i.y) * shape.block + input % shape.block, i.z);
}

void Pair_on_begin(Pair *self, int mode)
{
	self->mode = (enum mode)mode;
	self->waiting = true;
	CkContributeBarrier(self, Main_cb_connected(mainProxy));
	for (int i = 0; i < 2 * shape.block && self->mode != MESSAGES; i++) {
		struct input *in = &self->input[i];
		int to;
		CProxyElement_State from = source(self, i, &to);

		in->channel = CkDirect_createHandle(in->place, (size_t)shape.points *
						    sizeof(double), OUT_OF_BAND, arrived, in);
		State_bind(from, to, in->channel);
	}
}

void Pair_on_finish(Pair *self)
{
	for (int i = 0; i < 2 * shape.block && self->mode != MESSAGES; i++)
		CkDirect_destroyHandle(&self->input[i].channel);
}

/* SPLIT: the phase in which points come begins. */
void Pair_on_expect(Pair *self)
{
	if (self->waiting)
		return;
	self->waiting = true;
	for (int i = 0; i < 2 * shape.block; i++)
		CkDirect_readyPollQ(&self->input[i].channel);
}

static void release(Pair *self)
{
	self->n_arrived = 0;
	if (self->mode == MESSAGES)
		return;
	for (int i = 0; i < 2 * shape.block; i++)
		if (self->mode == READY)
			CkDirect_ready(&self->input[i].channel);
		else
			CkDirect_readyMark(&self->input[i].channel);
	self->waiting = self->mode == READY;
}

void Pair_on_multiply(Pair *self)
{
	const double *b = self->in, *c = self->in + shape.block * shape.points;

	multiply(self->overlap, b, c, true, shape.block, shape.block, shape.points);
	multiply(self->product, self->overlap, c, false, shape.block, shape.points, shape.block);
	release(self);
	for (int i = 0; i < shape.block; i++) {
		int to;

		State_result(source(self, i, &to), shape.points,
			     self->product + i * shape.points);
	}
}

void Pair_on_points(Pair *self, int input, int n, const double *v)
{
	memcpy(self->input[input].place, v, (size_t)n * sizeof *v);
	if (++self->n_arrived == 2 * shape.block)
		Pair_on_multiply(self);
}

/* As in the paper the arrival function only counts; the product is an entry method's. */
static void arrived(void *input)
{
	Pair *self = ((struct input *)input)->pair;

	if (++self->n_arrived == 2 * shape.block)
		Pair_multiply(Pair_thisElement(self));
}

/* ---- the answer ----------------------------- */

/* What one iteration adds to a state with points x: the sum over all states c of (x . c) c. */
static void serial_result(CkIndex2D i, double *result)
{
	memset(result, 0, (size_t)shape.points * sizeof *result);
	for (int c = 0; c < shape.states; c++) {
		double overlap = 0;

		for (int k = 0; k < shape.points; k++)
			overlap += point(i.x, i.y, k) * point(c, i.y, k);
		for (int k = 0; k < shape.points; k++)
			result[k] += overlap * point(c, i.y, k);
	}
}

void State_on_check(State *self)
{
	double *result = bench_alloc((size_t)shape.points * sizeof *result), cubes = 0;
	int wrong = 0;

	for (int i = 0; i < self->iteration; i++)
		cubes += factor_of(i) * factor_of(i) * factor_of(i);
	serial_result(State_thisIndex(self), result);
	for (int k = 0; k < shape.points; k++)
		wrong |= self->sum[k] != cubes * result[k];
	free(result);
	CkContribute(self, &wrong, 1, CkReduction_sum_int, Main_cb_checked(mainProxy));
}

/* ---- main ----------------------------- */

static enum mode mode_of(const Main *self)
{
	return (enum mode)(self->run % MODES);
}

static void begin_run(Main *self)
{
	self->iteration = -WARM_UP;
	self->n_connected = 0;
	State_begin_all(states, mode_of(self));
	Pair_begin_all(pairs, mode_of(self));
}

static void begin_phase_2(Main *self)
{
	if (mode_of(self) == SPLIT)
		Pair_expect_all(pairs);
	State_send_points_all(states);
}

static void begin_iteration(Main *self)
{
	if (self->iteration == 0)
		self->began = bench_now_us();
	if (shape.hops)
		State_hop_all(states);
	else
		begin_phase_2(self);
}

/* All pairs know the mode, and all states have their channels. */
void Main_on_connected(Main *self)
{
	if (++self->n_connected == 2)
		begin_iteration(self);
}

void Main_on_hopped(Main *self)
{
	begin_phase_2(self);
}

void Main_on_updated(Main *self)
{
	if (++self->iteration < shape.iterations) {
		begin_iteration(self);
		return;
	}
	self->us[mode_of(self)][self->run / MODES] =
		(bench_now_us() - self->began) / shape.iterations;
	Pair_finish_all(pairs);
	State_finish_all(states);
}

void Main_on_disconnected(Main *self)
{
	if (++self->run < shape.repeats * MODES)
		begin_run(self);
	else
		State_check_all(states);
}

static void report_gain(Main *self, const char *name, enum mode mode)
{
	double gain[BENCH_REPEATS_MAX];

	for (int i = 0; i < shape.repeats; i++)
		gain[i] = (1 - self->us[mode][i] / self->us[MESSAGES][i]) * 100;
	CkPrintf("%s-%s-gain %d %.1f %%\n", name, mode_name[mode], n_channels(),
		 bench_median(gain, shape.repeats));
}

void Main_on_checked(Main *self, int wrong)
{
	const char *name = shape.hops ? "paircalc" : "paircalc-only";

	if (wrong)
		CkAbort("%d of %d states have a wrong result", wrong,
			shape.states * shape.planes);
	report_gain(self, name, READY);
	report_gain(self, name, SPLIT);
	for (int m = 0; m < MODES; m++)
		CkPrintf("%s-%s %d %.1f us\n", name, mode_name[m], n_channels(),
			 bench_median(self->us[m], shape.repeats));
	CkExit(0);
}

static bool parse(int argc, char **argv)
{
	static const struct {
		const char *name;
		int *value;
		int min, max;
	} options[] = {
		{"--states", &shape.states, 1, 4096},  {"--planes", &shape.planes, 2, 4096},
		{"--points", &shape.points, 1, 65536}, {"--block", &shape.block, 1, 1024},
		{"--hops", &shape.hops, 0, 100000},    {"--iters", &shape.iterations, 1, 100000},
		{"--reps", &shape.repeats, 1, BENCH_REPEATS_MAX},
	};
	const int n = sizeof options / sizeof options[0];

	shape = (struct shape){.states = 64, .planes = 4, .points = 128, .block = 8, .hops = 16,
			       .iterations = 20, .repeats = 7};
	for (int i = 1; i < argc; i++) {
		int o = 0;

		if (strcmp(argv[i], "--smoke") == 0) {
			shape = (struct shape){8, 2, 16, 4, 2, 4, 1};
			continue;
		}
		while (o < n && strcmp(argv[i], options[o].name))
			o++;
		if (o == n)
			return false;
		*options[o].value = (int)bench_number("paircalc", argv[i],
						      i + 1 < argc ? argv[i + 1] : NULL,
						      options[o].min, options[o].max);
		i++;
	}
	return shape.states % shape.block == 0;
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	if (!parse(m->argc, m->argv)) {
		CkError("Usage: ckrun -n 2 [--ppn 2] paircalc [--states n] [--planes n] "
			"[--points n] [--block n] [--hops n] [--iters n] [--reps n] [--smoke]; "
			"block must divide states\n");
		CkExit(2);
		return;
	}
	for (int i = 0; i < MODES; i++)
		self->us[i] = bench_alloc((size_t)shape.repeats * sizeof(double));
	mainProxy = Main_thisProxy(self);
	states = State_ckNew(CkDims(shape.states, shape.planes));
	pairs = Pair_ckNew(CkDims(n_blocks(), n_blocks(), shape.planes));
	begin_run(self);
}

#include "paircalc.def.h"
