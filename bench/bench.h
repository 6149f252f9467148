/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every benchmark here needs, so that all of them measure the same thing: the sizes of Table
 * 1 of the CkDirect paper, a payload that is fresh on every trip and read on arrival, a clock,
 * medians, pinning, and the common options.
 *
 * Why fresh and read: a source that never changes stays in the caches of both sides, and a
 * message that nobody reads never leaves the writer's. Either makes a transfer look two to five
 * times cheaper than any real program will find it. --no-touch measures that case on purpose.
 *
 * Nothing here depends on the runtime or on MPI, and nothing keeps state between calls.
 */
#ifndef CHARD_BENCH_H
#define CHARD_BENCH_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	BENCH_SIZES_MAX = 32,
	BENCH_REPEATS_MAX = 101,
	BENCH_LINE_WORDS = 8, /* one word in this many is rewritten: one per 64-byte line */
};

/* Options that all ping-pongs share:
 *   --sizes a,b,c  bytes, 8 to 2^30     --reps n    repeats, of which the median is printed
 *   --no-touch     write and read nothing           --no-pin  leave placement to the system */
struct bench_options {
	size_t bytes[BENCH_SIZES_MAX];
	int nsizes;
	int repeats;
	bool touch;
	bool pin;
};

/** Defaults: the sizes of Table 1 plus 8 bytes and 500 kB, 7 repeats, touched, pinned. */
void bench_options_init(struct bench_options *opt);

/** Try to read argv[*i], and the value after it, as a common option.
 *
 * Returns true and moves *i to the last argument used, or false if the argument is not a common
 * one.
 * Errors  a missing or bad value prints one line naming argv[0] and exits with 2.
 */
bool bench_option(struct bench_options *opt, int argc, char **argv, int *i);

/** The number in `text`, or one line on stderr and exit code 2 unless it lies in [min, max]. */
long bench_number(const char *program, const char *what, const char *text, long min, long max);

/** The largest of opt->bytes. */
size_t bench_largest(const struct bench_options *opt);

/** Microseconds of the monotonic clock. */
double bench_now_us(void);

/** Compute for so long. */
void bench_compute(double us);

/** Seconds of processor time that this process has taken, or only this thread. */
double bench_seconds_taken(bool thread);

/** Bytes of this process's memory that are in RAM, shared ones included. Ends the program when that
 * cannot be told. */
double bench_resident_bytes(void);

/** The median of v[0..n-1], n >= 1; sorts v. */
double bench_median(double *v, int n);

/* The CPUs that this process may use, taken once, before anything is pinned. */
struct bench_cpus {
	int n;
	int cpu[CPU_SETSIZE];
};

void bench_cpus_get(struct bench_cpus *cpus);

/** Pin the calling thread to the k-th CPU of `cpus`, counting round when there are fewer. */
void bench_pin(const struct bench_cpus *cpus, int k);

/** One timed run: `iterations` round trips of `bytes`, after a warm-up of its own; returns the
 * microseconds of all of them together. */
typedef double (*bench_run_fn)(void *context, size_t bytes, long iterations);

/** Measure every size and print one line each: `name`, bytes, microseconds of one round trip.
 *
 * For each size, finds the number of iterations that fills about 40 ms, then goes `repeats` times
 * through all sizes and prints the medians. The repeats of one size thus lie apart in time, and a
 * disturbance that lasts half a second (a virtual machine whose CPUs are moved apart makes the
 * small sizes four times slower) costs each size one repeat instead of one size all of them.
 * Eleven sizes stay well under ten seconds.
 */
void bench_sweep(const struct bench_options *opt, const char *name, bench_run_fn run,
		 void *context);

/*
 * A payload of `bytes` bytes that ends on an 8-byte boundary, as a channel's buffer must:
 *
 *     area (64-aligned)                                              area + bench_area_bytes
 *     | 0..7 unused | bytes % 8 odd bytes | word 0 | word 1 | ... | last word |
 *                   ^ start               ^ words
 *
 * Word i holds i, except one word per line and the last word, which hold the stamp of the trip.
 * The sum over all words therefore has a closed form, and comparing with it finds any word that
 * is stale.
 */
struct bench_payload {
	unsigned char *start;
	uint64_t *words;
	size_t bytes;
	size_t nwords;
	uint64_t constant; /* the part of the sum that no stamp changes */
	uint64_t stamped;  /* how many words carry the stamp            */
};

/** How long an area for `bytes` must be. */
size_t bench_area_bytes(size_t bytes);

/** Lay a payload over `area`, which stays the caller's, and write its words with stamp 0. */
void bench_payload_init(struct bench_payload *p, void *area, size_t bytes);

/** The word that a receiver may poll. */
static inline uint64_t *bench_last(const struct bench_payload *p)
{
	return &p->words[p->nwords - 1];
}

/** Write this trip's stamp: one word per cache line, and the last word. */
static inline void bench_refresh(struct bench_payload *p, uint64_t stamp)
{
	for (size_t i = 0; i < p->nwords; i += BENCH_LINE_WORDS)
		p->words[i] = stamp;
	*bench_last(p) = stamp;
}

/** Read every word. True if all of them belong to the trip `stamp`. */
bool bench_arrived_whole(const struct bench_payload *p, uint64_t stamp);

/** Page-aligned zeroed memory, touched; ends the program with one line if there is none. */
void *bench_alloc(size_t bytes);

#endif
