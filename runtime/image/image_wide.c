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

#include <string.h>

uint64_t image_wide_long(const void *p, size_t bytes, uint64_t seed)
{
	return XXH3_64bits_withSeed(p, bytes, seed);
}

void image_wide_add(XXH3_state_t *sum, const void *p, size_t bytes)
{
	XXH3_64bits_update(sum, p, bytes);
}

enum { LINE = 64 };

#if defined __x86_64__ && !defined __SANITIZE_THREAD__
/* Round the caches: memcpy fetches each line of the target before it overwrites it. */
static void stream(char *to, const char *from, size_t bytes)
{
	size_t at = -(uintptr_t)to % LINE;

	at = at < bytes ? at : bytes;
	memcpy(to, from, at);
	for (; at + sizeof(__m256i) <= bytes; at += sizeof(__m256i))
		_mm256_stream_si256((__m256i *)(void *)(to + at),
				    _mm256_loadu_si256((const __m256i *)(const void *)(from + at)));
	memcpy(to + at, from + at, bytes - at);
}

/* Nothing else orders streaming stores, not even a later release store. */
static void stream_end(void) { _mm_sfence(); }
#else /* no such stores; or a sanitizer must see the writes */
static void stream(char *to, const char *from, size_t bytes) { memcpy(to, from, bytes); }
static void stream_end(void) { }
#endif

void image_wide_copy(XXH3_state_t *sum, char *to, const char *from, size_t bytes)
{
	for (size_t at = 0, n; at < bytes; at += n) { /* pieces end where lines end */
		n = IMAGE_SUM_PIECE - (uintptr_t)(to + at) % LINE;
		n = n < bytes - at ? n : bytes - at;
		stream(to + at, from + at, n);
		XXH3_64bits_update(sum, from + at, n);
	}
	stream_end();
}

#if defined __x86_64__ && defined __clang__
#pragma clang attribute pop
#endif
