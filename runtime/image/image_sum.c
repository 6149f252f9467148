/* SPDX-License-Identifier: Apache-2.0 */
/* image_sum.c: sums of long inputs: which registers make them. The sums are the same. */
#include "image_sum.h"

#include <stdbool.h>

/* A program for any x86-64 has registers of 16 bytes only. */
static bool is_wide(void)
{
#ifdef __x86_64__
	return __builtin_cpu_supports("avx2");
#else
	return false;
#endif
}

uint64_t image_sum_long(const void *p, size_t bytes, uint64_t seed)
{
	return is_wide() ? image_wide_long(p, bytes, seed) : XXH3_64bits_withSeed(p, bytes, seed);
}

void image_sum_add(XXH3_state_t *sum, const void *p, size_t bytes)
{
	if (is_wide())
		image_wide_add(sum, p, bytes);
	else
		XXH3_64bits_update(sum, p, bytes);
}
