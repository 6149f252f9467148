/* SPDX-License-Identifier: Apache-2.0 */
/* image_sum.c: sums of long inputs: which registers make them. The sums are the same. */
#include "image_sum.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

XXH3_state_t *image_sum_new(void)
{
	XXH3_state_t *sum = aligned_alloc(_Alignof(XXH3_state_t), sizeof *sum);

	if (!sum) {
		fprintf(stderr, "checkpoint: no memory for a sum\n");
		abort();
	}
	return sum;
}

void image_sum_add(XXH3_state_t *sum, const void *p, size_t bytes)
{
	if (is_wide())
		image_wide_add(sum, p, bytes);
	else
		XXH3_64bits_update(sum, p, bytes);
}

void image_sum_copy(XXH3_state_t *sum, char *to, const char *from, size_t bytes)
{
	if (is_wide()) {
		image_wide_copy(sum, to, from, bytes);
		return;
	}
	for (size_t at = 0, n; at < bytes; at += n) {
		n = bytes - at < IMAGE_SUM_PIECE ? bytes - at : IMAGE_SUM_PIECE;
		memcpy(to + at, from + at, n);
		XXH3_64bits_update(sum, from + at, n);
	}
}
