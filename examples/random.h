/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random.h: random numbers by their place: number i of a seed, without the numbers before it. So each
 * chare can make its own part of a random input, and the input is the same for any number of chares
 * and PEs.
 *
 * Source: the output function of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
 */
#ifndef EXAMPLES_RANDOM_H
#define EXAMPLES_RANDOM_H

#include <stdint.h>

static inline uint64_t random_mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static inline uint64_t random_at(uint64_t seed, uint64_t i)
{
	return random_mix(random_mix(seed) + (i + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

/** Number i of a seed, in 0 .. below - 1; below >= 1. Slightly uneven when `below` is huge. */
static inline long random_below(uint64_t seed, uint64_t i, long below)
{
	return (long)(random_at(seed, i) % (uint64_t)below);
}

#endif
