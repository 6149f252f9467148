/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs that stream messages share (machine, rate, mpi/rate_mpi), so that their
 * figures can be divided by each other: the sizes, how many messages are under way, and a payload
 * of any size from one byte, new in every message and read on arrival.
 *
 * A stream is a sequence of windows. The receiver acknowledges each window as a whole, and the sender
 * has two of them under way. So nobody waits for a round trip, and memory stays bounded without
 * flow control. The first two windows of a run are not timed: pages are mapped and
 * memory is allocated while they pass.
 *
 * Every message under way has a source of its own. MPI demands it, and a program that sends 100
 * rows does not first write them all to one place.
 */
#ifndef CHARD_BENCH_STREAM_H
#define CHARD_BENCH_STREAM_H

#include <string.h>

#include "plan.h"

enum {
	STREAM_WINDOWS = 2,              /* under way */
	STREAM_WINDOW_BYTES = 1 << 20,
	STREAM_WINDOW_LEAST = 4,
	STREAM_WINDOW_MOST = 256,        /* messages; the thesis has 1000, and one of them */
};

static inline void stream_options_init(struct plan_options *o)
{
	static const size_t sizes[] = { 1,    4,     16,    32,    64,     256,
					1024, 4096, 16384, 65536, 262144, 1048576 };

	plan_options_init(o, sizes, sizeof sizes / sizeof sizes[0]);
}

/** For a smoke run a small, a middle and a large size are enough. */
static inline void stream_options_end(struct plan_options *o)
{
	static const size_t few[] = { 1, 32, 4096, 65536 };

	if (o->smoke) {
		memcpy(o->common.bytes, few, sizeof few);
		o->common.nsizes = sizeof few / sizeof few[0];
	}
}

static inline long stream_window(size_t bytes)
{
	size_t n = STREAM_WINDOW_BYTES / bytes;

	if (n < STREAM_WINDOW_LEAST)
		return STREAM_WINDOW_LEAST;
	return n > STREAM_WINDOW_MOST ? STREAM_WINDOW_MOST : (long)n;
}

/*
 * A payload at any address: words, then bytes % 8 odd bytes. Word i holds i, except that one word
 * per cache line and the last word hold the stamp, as the odd bytes do.
 */
struct stream_payload {
	char *at;
	size_t bytes;
	uint64_t constant, stamped; /* sum of the other words; number of stamped ones */
};

static inline void stream_store(char *at, size_t word, uint64_t value)
{
	memcpy(at + word * sizeof value, &value, sizeof value);
}

static inline uint64_t stream_load(const char *at, size_t word)
{
	uint64_t value;

	memcpy(&value, at + word * sizeof value, sizeof value);
	return value;
}

/** Lay a payload over `at`, which stays the caller's. */
static inline void stream_payload_init(struct stream_payload *p, void *at, size_t bytes)
{
	size_t n = bytes / sizeof(uint64_t);

	*p = (struct stream_payload){ .at = at, .bytes = bytes };
	for (size_t i = 0; i < n; i++) {
		bool stamped = i % BENCH_LINE_WORDS == 0 || i == n - 1;

		stream_store(p->at, i, i);
		p->constant += stamped ? 0 : i;
		p->stamped += stamped;
	}
}

static inline void stream_refresh(const struct stream_payload *p, uint64_t stamp)
{
	size_t n = p->bytes / sizeof stamp;

	for (size_t i = 0; i < n; i += BENCH_LINE_WORDS)
		stream_store(p->at, i, stamp);
	if (n)
		stream_store(p->at, n - 1, stamp);
	for (size_t i = n * sizeof stamp; i < p->bytes; i++)
		p->at[i] = (char)stamp;
}

/** Read all of `v`, which came from a payload like `p`. True if it is the one of that stamp. Four
 * sums, so that reading runs at the speed of the cache, not of one chain of adds. */
static inline bool stream_whole(const struct stream_payload *p, const char *v, uint64_t stamp)
{
	uint64_t sum[4] = { 0 };
	size_t n = p->bytes / sizeof stamp, i = 0;
	bool whole = true;

	for (; i + 4 <= n; i += 4)
		for (size_t k = 0; k < 4; k++)
			sum[k] += stream_load(v, i + k);
	for (; i < n; i++)
		sum[0] += stream_load(v, i);
	for (i = n * sizeof stamp; i < p->bytes; i++)
		whole = whole && v[i] == (char)stamp;
	return whole && sum[0] + sum[1] + sum[2] + sum[3] == p->constant + p->stamped * stamp;
}

/* The sources of the messages under way, all of one size, used in turn. */
struct stream_sources {
	char *memory;                   /* stream_sources_bytes, the caller's */
	struct stream_payload layout;   /* that of all; `at` is the current one's */
	size_t stride;
	long n, at;
};

/** A source ends on a multiple of 8, as a channel's buffer must. */
static inline void stream_sources_go(struct stream_sources *s, long i)
{
	s->at = i;
	s->layout.at = s->memory + (size_t)(i + 1) * s->stride - s->layout.bytes;
}

static inline void stream_sources_init(struct stream_sources *s, size_t bytes, long n)
{
	s->stride = bench_area_bytes(bytes);
	s->n = n;
	s->layout.bytes = bytes;
	for (long i = n; i-- > 0;) {
		stream_sources_go(s, i);
		stream_payload_init(&s->layout, s->layout.at, bytes);
	}
}

/** Write the current source anew and return it; the next call is for the next one. */
static inline char *stream_sources_next(struct stream_sources *s, uint64_t stamp, bool touch)
{
	char *current = s->layout.at;

	if (touch)
		stream_refresh(&s->layout, stamp);
	stream_sources_go(s, s->at + 1 < s->n ? s->at + 1 : 0);
	return current;
}

static inline size_t stream_sources_bytes(const struct bench_options *o)
{
	size_t most = 0;

	for (int i = 0; i < o->nsizes; i++) {
		size_t bytes = bench_area_bytes(o->bytes[i]) * (size_t)stream_window(o->bytes[i]);

		most = bytes > most ? bytes : most;
	}
	return most * STREAM_WINDOWS;
}

#endif
