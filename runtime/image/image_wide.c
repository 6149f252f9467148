/* SPDX-License-Identifier: Apache-2.0 */
/* image_wide.c: the sums of long inputs once more, on x86-64 compiled for AVX2: twice as fast as
 * with what all of these have. Others never call them. */
#ifdef __x86_64__
#include <immintrin.h>
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif
#define XXH_VECTOR XXH_AVX2
#endif
#include "image_sum.h"

uint64_t image_wide_long(const void *p, size_t bytes, uint64_t seed)
{
	return XXH3_64bits_withSeed(p, bytes, seed);
}

void image_wide_add(XXH3_state_t *sum, const void *p, size_t bytes)
{
	XXH3_64bits_update(sum, p, bytes);
}

#if defined __x86_64__ && defined __clang__
#pragma clang attribute pop
#endif
