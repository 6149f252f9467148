/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strided: would a channel pay that scatters what arrives into the rows of the receiver's array?
 *
 *	build/bench/strided [--size n] [--pad] [--reps n] [--smoke]
 *
 * Two pinned threads hold a block of n x n x n cells each, with a rim of ghost cells, and send one face to the other in each
 * iteration, by one copy into the other's memory and one release store: what a put does. There is no runtime, so whatever
 * else a channel costs is left out, which favours the fastest way. A face is gathered straight from the sender's block.
 *
 *	direct    it lands in one piece; the loop over the cells reads it from there
 *	unpack    it lands in one piece; the receiver copies it into the rim of its block
 *	scatter   it lands in the rim of the receiver's block
 *
 * Faces: x, n rows of n cells that lie close to each other; y, n rows of n cells, far apart; z, n x n single cells.
 * With --pad each row begins on a cache line, so that the face's rows have no line in common with other cells.
 * `face` computes only the cells behind the face, `block` all cells of the block: what a program does between two faces.
 * All ways must compute the same, bit for bit. The ways take turns; medians of --reps turns are printed:
 *
 *	strided-<face|block>-<x|y|z>-<way> <n> <us of one iteration>
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../runtime/direct/core/gather.h"
#include "bench.h"

enum way { DIRECT, UNPACK, SCATTER, WAYS };
enum { SIDES = 2, SLOTS = 2, AXES = 3, TURN_US = 5000, LEAST_ITERS = 4, MOST_ITERS = 20000, LOOKS = 1 << 14, LINE_CELLS = 8 };
static const char *const way_name[WAYS] = { "direct", "unpack", "scatter" };

/* A number that the other side waits for, on a line of its own. */
struct word {
	_Alignas(64) _Atomic uint64_t n;
};

struct side {
	double *u[SLOTS];          /* (n + 2)^3 cells; an iteration reads one and writes the other */
	double *piece[SLOTS];      /* where a face lands in one piece */
	double sum;                /* of its cells, behind a turn */
	struct word arrived;       /* iterations whose face has landed: the other side's */
};

/* What is measured in a turn. */
struct turn {
	int n, axis;
	bool block;                /* all cells are computed */
	bool pad;
	enum way way;
	long iters;
	double us;                 /* of one iteration */
	struct bench_cpus cpus;
	pthread_barrier_t start;
	struct side side[SIDES];
};

/* ---- a block -------------------------------------------------------------------------------------- */

/* Cells from a row to the next one. With --pad cell z = 1 of each row begins a cache line. */
static size_t pitch(const struct turn *t)
{
	return t->pad ? ((size_t)t->n + 2 + LINE_CELLS - 1 + LINE_CELLS - 1) / LINE_CELLS * LINE_CELLS : (size_t)t->n + 2;
}

static size_t plane(const struct turn *t) { return pitch(t) * ((size_t)t->n + 2); }
static size_t cells(const struct turn *t) { return plane(t) * ((size_t)t->n + 2); }

static size_t cell(const struct turn *t, int x, int y, int z)
{
	return (size_t)x * plane(t) + (size_t)y * pitch(t) + (size_t)z + (t->pad ? LINE_CELLS - 1 : 0);
}

/* Where layer number `at` along the axis begins, and its shape. */
static size_t layer_first(const struct turn *t, int at)
{
	return cell(t, t->axis == 0 ? at : 1, t->axis == 1 ? at : 1, t->axis == 2 ? at : 1);
}

static struct gather_shape layer_shape(const struct turn *t)
{
	const int64_t row = (int64_t)(pitch(t) * sizeof(double)), next = (int64_t)(plane(t) * sizeof(double));
	const uint64_t n = (uint64_t)t->n;

	if (t->axis == 2)
		return (struct gather_shape){ sizeof(double), n, n, row, next };
	return (struct gather_shape){ n * sizeof(double), n, 1, t->axis ? next : row, 0 };
}

/* From a piece, whose blocks follow each other, or from a layer of the same shape. As in gather.c: `block` is a constant
 * where blocks are short. */
static inline __attribute__((always_inline)) void blocks_to_layer(unsigned char *dst, const unsigned char *src,
								  const struct gather_shape *s, size_t block, bool piece)
{
	for (uint64_t p = 0; p < s->planes; p++)
		for (uint64_t b = 0; b < s->blocks; b++) {
			const int64_t at = (int64_t)p * s->plane_stride + (int64_t)b * s->stride;

			memcpy(dst + at, src + (piece ? (int64_t)((p * s->blocks + b) * block) : at), block);
		}
}

static inline __attribute__((always_inline)) void to_layer(double *to, const double *from, const struct gather_shape *s,
							   bool piece)
{
	void *dst = to;
	const void *src = from;

	switch (s->block_bytes) {
	case 8: blocks_to_layer(dst, src, s, 8, piece); break;
	case 64: blocks_to_layer(dst, src, s, 64, piece); break;
	case 128: blocks_to_layer(dst, src, s, 128, piece); break;
	default: blocks_to_layer(dst, src, s, s->block_bytes, piece); break;
	}
}

static __attribute__((noinline)) void unpack(double *to, const double *piece, const struct gather_shape *s)
{
	to_layer(to, piece, s, true);
}

static __attribute__((noinline)) void scatter(double *to, const double *layer, const struct gather_shape *s)
{
	to_layer(to, layer, s, false);
}

/* ---- the cells ---------------------------------------------------------------------------------------- */

/* The face that has landed. Cell (i, j) of it is at[i * row + j * col]. */
struct face {
	const double *at;
	size_t row, col;
};

/* A row along z. `below` is the row before it in one direction of x and y, in which rows are `along` apart; in the other one
 * they are `across` apart. */
static inline __attribute__((always_inline)) void compute_row(double *restrict out, const double *restrict c,
							      const double *restrict below, ptrdiff_t across,
							      ptrdiff_t along, int n)
{
	for (int z = 0; z < n; z++)
		out[z] = (c[z] + below[z] + c[z + along] + c[z - across] + c[z + across] + c[z - 1] + c[z + 1]) * (1.0 / 7);
}

/* The face lies before x = 1 or before y = 1. */
static void compute_xy(const struct turn *t, double *out, const double *in, struct face f)
{
	const ptrdiff_t px = (ptrdiff_t)plane(t), py = (ptrdiff_t)pitch(t);
	const int n = t->n, axis = t->axis;
	const ptrdiff_t along = axis ? py : px, across = axis ? px : py;
	const int n_along = t->block ? n : 1;

	for (int x = 0; x < (axis ? n : n_along); x++)
		for (int y = 0; y < (axis ? n_along : n); y++) {
			const size_t at = cell(t, x + 1, y + 1, 1);
			const bool first = !(axis ? y : x);

			compute_row(out + at, in + at, first ? f.at + (size_t)(axis ? x : y) * f.row : in + at - along, across,
				    along, n);
		}
}

/* The face lies before z = 1: one cell of each row has its neighbour there. */
static void compute_z(const struct turn *t, double *out, const double *in, struct face f)
{
	const ptrdiff_t px = (ptrdiff_t)plane(t), py = (ptrdiff_t)pitch(t);
	const int n = t->n;

	for (int x = 0; x < n; x++)
		for (int y = 0; y < n; y++) {
			const size_t at = cell(t, x + 1, y + 1, 1);
			const double *c = in + at;

			out[at] = (c[0] + c[-px] + c[px] + c[-py] + c[py] + f.at[(size_t)x * f.row + (size_t)y * f.col] + c[1]) *
				  (1.0 / 7);
			if (t->block)
				compute_row(out + at + 1, c + 1, c + 1 - px, py, px, n - 1);
		}
}

/* ---- an iteration ------------------------------------------------------------------------------------- */

static void put(struct turn *t, int me, int slot, uint64_t number)
{
	const struct gather_shape s = layer_shape(t);
	const double *from = t->side[me].u[slot] + layer_first(t, t->n);
	struct side *other = &t->side[!me];

	if (t->way == SCATTER)
		scatter(other->u[slot] + layer_first(t, 0), from, &s);
	else
		gather_bytes((void *)other->piece[slot], (const void *)from, &s, (size_t)t->n * (size_t)t->n * sizeof *from);
	/* release: pairs with the acquire in await. Whoever sees the number sees the face. */
	atomic_store_explicit(&other->arrived.n, number, memory_order_release);
}

static void await(const struct side *s, uint64_t number)
{
	long looks = 0;

	/* acquire: see put. */
	while (atomic_load_explicit(&s->arrived.n, memory_order_acquire) < number)
		if (++looks % LOOKS == 0)
			sched_yield();
}

static struct face take(const struct turn *t, const struct side *s, int slot)
{
	const struct gather_shape shape = layer_shape(t);
	const size_t n = (size_t)t->n, row = (size_t)shape.stride / sizeof(double);
	double *rim = s->u[slot] + layer_first(t, 0);

	if (t->way == DIRECT)
		return (struct face){ s->piece[slot], n, 1 };
	if (t->way == UNPACK)
		unpack(rim, s->piece[slot], &shape);
	if (t->axis == 2)
		return (struct face){ rim, (size_t)shape.plane_stride / sizeof(double), row };
	return (struct face){ rim, row, 1 };
}

/* A face is not overwritten before it has been used: the other side is at most one iteration ahead, and there are two
 * slots. */
static void iterate(struct turn *t, int me, uint64_t *done_p, long iters)
{
	const struct side *s = &t->side[me];

	for (long i = 0; i < iters; i++) {
		const int slot = (int)(*done_p % SLOTS);
		struct face f;

		put(t, me, slot, ++*done_p);
		await(s, *done_p);
		f = take(t, s, slot);
		if (t->axis == 2)
			compute_z(t, s->u[!slot], s->u[slot], f);
		else
			compute_xy(t, s->u[!slot], s->u[slot], f);
	}
}

/* ---- a turn ------------------------------------------------------------------------------------------- */

static void fill(const struct turn *t, int me)
{
	for (int k = 0; k < SLOTS; k++)
		for (size_t i = 0; i < cells(t); i++)
			t->side[me].u[k][i] = (double)(i % 101 + (size_t)me);
}

/* Of the cells inside, in a fixed order. */
static double sum_of(const struct turn *t, int me)
{
	double sum = 0;

	for (int k = 0; k < SLOTS; k++)
		for (int x = 1; x <= t->n; x++)
			for (int y = 1; y <= t->n; y++)
				for (int z = 1; z <= t->n; z++)
					sum += t->side[me].u[k][cell(t, x, y, z)] * (double)((x + 2 * y + 3 * z) % 7);
	return sum;
}

static void run_side(struct turn *t, int me)
{
	uint64_t done = 0;
	double from;

	bench_pin(&t->cpus, me);
	fill(t, me);
	/* relaxed: the barrier orders it. */
	atomic_store_explicit(&t->side[me].arrived.n, 0, memory_order_relaxed);
	pthread_barrier_wait(&t->start);
	iterate(t, me, &done, LEAST_ITERS);
	from = bench_now_us();
	iterate(t, me, &done, t->iters);
	if (!me)
		t->us = (bench_now_us() - from) / (double)t->iters;
	t->side[me].sum = sum_of(t, me);
}

static void *run_other(void *turn)
{
	run_side(turn, 1);
	return NULL;
}

static double run(struct turn *t)
{
	pthread_t other;

	if (pthread_create(&other, NULL, run_other, t)) {
		fprintf(stderr, "strided: cannot start a thread\n");
		exit(1);
	}
	run_side(t, 0);
	pthread_join(other, NULL);
	return t->us;
}

/* ---- all of them -------------------------------------------------------------------------------------- */

static void set_sides(struct turn *t, bool make)
{
	for (int i = 0; i < SIDES * SLOTS; i++) {
		struct side *s = &t->side[i / SLOTS];

		if (make) {
			s->u[i % SLOTS] = bench_alloc(cells(t) * sizeof(double));
			s->piece[i % SLOTS] = bench_alloc((size_t)t->n * (size_t)t->n * sizeof(double));
		} else {
			free(s->u[i % SLOTS]);
			free(s->piece[i % SLOTS]);
		}
	}
}

static long iters_for(double us)
{
	const double n = TURN_US / (us > 0 ? us : 1);

	return n < LEAST_ITERS ? LEAST_ITERS : n > MOST_ITERS ? MOST_ITERS : (long)n;
}

static void check_equal(const struct turn *t, const double sum[SIDES])
{
	if (t->side[0].sum == sum[0] && t->side[1].sum == sum[1])
		return;
	fprintf(stderr, "strided: %s computes %.17g and %.17g, direct %.17g and %.17g\n", way_name[t->way], t->side[0].sum,
		t->side[1].sum, sum[0], sum[1]);
	exit(1);
}

/* The ways in turn; the first round only warms up, and says how long a turn is. */
static void compare(struct turn *t, int reps)
{
	double us[WAYS][BENCH_REPEATS_MAX], sum[SIDES] = { 0 };

	t->iters = LEAST_ITERS;
	t->way = DIRECT;
	t->iters = iters_for(run(t));
	for (int r = 0; r < reps; r++)
		for (t->way = DIRECT; t->way < WAYS; t->way++) {
			us[t->way][r] = run(t);
			for (int i = 0; !r && t->way == DIRECT && i < SIDES; i++)
				sum[i] = t->side[i].sum;
			check_equal(t, sum);
		}
	for (int w = DIRECT; w < WAYS; w++)
		printf("strided-%s-%c-%s %d %.3f us\n", t->block ? "block" : "face", "xyz"[t->axis], way_name[w], t->n,
		       bench_median(us[w], reps));
	fflush(stdout);
}

static void run_size(struct turn *t, int n, int reps)
{
	t->n = n;
	set_sides(t, true);
	for (int b = 0; b < 2; b++)
		for (t->axis = 0; t->axis < AXES; t->axis++) {
			t->block = b;
			compare(t, reps);
		}
	set_sides(t, false);
}

int main(int argc, char **argv)
{
	static struct turn t;
	int sizes[BENCH_SIZES_MAX] = { 8, 16, 32, 64, 128, 256 }, n_sizes = 6, reps = 9;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--smoke")) {
			n_sizes = 2;
			reps = 1;
		} else if (!strcmp(argv[i], "--reps") && i + 1 < argc) {
			reps = (int)bench_number("strided", "--reps", argv[++i], 1, BENCH_REPEATS_MAX);
		} else if (!strcmp(argv[i], "--size") && i + 1 < argc) {
			sizes[0] = (int)bench_number("strided", "--size", argv[++i], 2, 512);
			n_sizes = 1;
		} else if (!strcmp(argv[i], "--pad")) {
			t.pad = true;
		} else {
			fprintf(stderr, "Usage: strided [--size n] [--pad] [--reps n] [--smoke]\n");
			return 2;
		}
	}
	bench_cpus_get(&t.cpus);
	pthread_barrier_init(&t.start, NULL, SIDES);
	for (int i = 0; i < n_sizes; i++)
		run_size(&t, sizes[i], reps);
	return 0;
}
