/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys.h: what sample sort does on one processor: making keys, drawing samples, finding a bucket,
 * sorting. bench/mpi/samplesort_mpi.c uses the same, so that the two programs differ in their
 * communication only.
 */
#ifndef SAMPLESORT_KEYS_H
#define SAMPLESORT_KEYS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../random.h"

enum { KEYS_SAMPLES = 64 };     /* of each part: buckets then differ by some ten percent */

/** A vector of keys that grows. */
struct keys {
	uint32_t *v;
	long n, room;
};

/* False where there is no memory. */
static inline bool keys_reserve(struct keys *k, long room)
{
	uint32_t *v;

	if (room <= k->room)
		return true;
	v = realloc(k->v, (size_t)room * sizeof *v);
	if (!v)
		return false;
	k->v = v;
	k->room = room;
	return true;
}

static inline bool keys_push(struct keys *k, uint32_t key)
{
	if (k->n == k->room && !keys_reserve(k, 2 * k->room + 64))
		return false;
	k->v[k->n++] = key;
	return true;
}

static inline void keys_free(struct keys *k)
{
	free(k->v);
	*k = (struct keys){0};
}

/** The input of part i of n parts: its share of `total` random keys. */
static inline bool keys_make(struct keys *k, long seed, long total, long i, long n)
{
	long first = total * i / n, end = total * (i + 1) / n;

	k->n = 0;
	if (!keys_reserve(k, end - first))
		return false;
	for (long j = first; j < end; j++)
		k->v[k->n++] = (uint32_t)random_at((uint64_t)seed, (uint64_t)j);
	return true;
}

/** Some of the keys, from random places. Returns how many: KEYS_SAMPLES, or 0 of no keys. */
static inline int keys_sample(const struct keys *k, long seed, long part, uint32_t *sample)
{
	if (k->n == 0)
		return 0;
	for (uint64_t i = 0; i < KEYS_SAMPLES; i++)
		sample[i] = k->v[random_below((uint64_t)(seed + part + 1), i, k->n)];
	return KEYS_SAMPLES;
}

/** Sort a vector (radix sort, 11 bits at a time). False where there is no memory. */
static inline bool keys_sort(struct keys *k)
{
	enum { BITS = 11, DIGITS = 1 << BITS, PASSES = 3 };
	uint32_t *from = k->v, *to = malloc((size_t)k->n * sizeof *to + 1), *swap;

	if (!to)
		return false;
	for (int pass = 0; pass < PASSES; pass++) {
		long at[DIGITS] = {0}, sum = 0;

		for (long i = 0; i < k->n; i++)
			at[from[i] >> pass * BITS & (DIGITS - 1)]++;
		for (int d = 0; d < DIGITS; d++) {
			long count = at[d];

			at[d] = sum;
			sum += count;
		}
		for (long i = 0; i < k->n; i++)
			to[at[from[i] >> pass * BITS & (DIGITS - 1)]++] = from[i];
		swap = from;
		from = to;
		to = swap;
	}
	/* After an odd number of passes the sorted keys stand in the new memory. */
	free(to);
	k->v = from;
	k->room = k->n;
	return true;
}

/** From all samples, in any order: the `n` - 1 keys with which buckets 1 .. n - 1 begin. */
static inline bool keys_split(struct keys *samples, long n, uint32_t *splitters)
{
	if (!keys_sort(samples))
		return false;
	for (long i = 1; i < n; i++)
		splitters[i - 1] = samples->n ? samples->v[samples->n * i / n] : 0;
	return true;
}

/** The bucket of a key: how many of the n splitters are not above it. */
static inline int keys_bucket(uint32_t key, const uint32_t *splitters, int n)
{
	int low = 0;

	while (n > 0) {
		int half = n / 2;

		if (splitters[low + half] <= key) {
			low += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return low;
}

static inline bool keys_in_order(const struct keys *k)
{
	for (long i = 1; i < k->n; i++)
		if (k->v[i - 1] > k->v[i])
			return false;
	return true;
}

/** A sum over the keys, modulo 2^64. It depends on which keys there are, not on their order. */
static inline uint64_t keys_checksum(const struct keys *k)
{
	uint64_t sum = 0;

	for (long i = 0; i < k->n; i++)
		sum += random_mix(k->v[i] + UINT64_C(0x9e3779b97f4a7c15));
	return sum;
}

#endif
