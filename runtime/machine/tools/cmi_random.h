/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmi_random.h: the only pseudo-random number generator, xorshift64* (Vigna, An experimental
 * exploration of Marsaglia's xorshift generators, scrambled, 2016). Its state is one word that must
 * never be 0. Equal seeds give equal numbers, so a test that prints its seed can be replayed.
 */
#ifndef CMI_RANDOM_H
#define CMI_RANDOM_H

#include <stdint.h>

/** A state for this seed, never 0. The bits are mixed first, as in splitmix64, so that neighbouring
 * seeds give unrelated numbers. */
static inline uint64_t cmi_random_seed(uint64_t seed)
{
	uint64_t z = seed + 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	z ^= z >> 31;
	return z ? z : 1;
}

static inline uint64_t cmi_random_next(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1du;
}

/** A number below n; 0 when n is 0. Taken from the high bits, which are the better ones. */
static inline uint64_t cmi_random_below(uint64_t *state, uint64_t n)
{
	return (uint64_t)((unsigned __int128)cmi_random_next(state) * n >> 64);
}

#endif
