/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_copy.c: copies and gathers move exactly the bytes that they were told, whatever the sizes,
 * alignments and strides.
 *
 *     SEED=n test_copy     the seed that a failing run has printed
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../../runtime/direct/copy.h"

#include <cmocka.h>

enum { AREA = 1 << 18, GUARD = 64 };

static uint64_t random_state;
static unsigned char src[AREA], dst[AREA];

static uint64_t draw(uint64_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (random_state >> 11) % n;
}

static void refill(void)
{
	for (size_t i = 0; i < AREA; i++) {
		src[i] = (unsigned char)draw(256);
		dst[i] = 0xa5;
	}
}

static void check_guards(size_t begin, size_t n)
{
	for (size_t i = 1; i <= GUARD; i++) {
		assert_int_equal(dst[begin - i], 0xa5);
		assert_int_equal(dst[begin + n + i - 1], 0xa5);
	}
}

static void a_copy_to_another_core_moves_all_and_nothing_else(void **state)
{
	struct copy_way way = {0};

	(void)state;
	for (int i = 0; i < 300; i++) {
		size_t n = i % 3 == 0 ? draw(2000)
			 : i % 3 == 1 ? CMI_COPY_MIN - 4 + draw(8)
				      : CMI_COPY_MIN + draw(100000);
		size_t to = GUARD + draw(130), from = draw(130);

		refill();
		way.through = i & 1;
		if (n < CMI_COPY_MIN)
			cmi_copy_shared(dst + to, src + from, n);
		else
			copy_large(&way, dst + to, src + from, n);
		assert_memory_equal(dst + to, src + from, n);
		check_guards(to, n);
		if (n < CMI_COPY_MIN)
			continue;
		memset(dst + to, 0x5a, n);
		cmi_copy_bulk(dst + to, src + from, n);
		assert_memory_equal(dst + to, src + from, n);
		check_guards(to, n);
	}
}

static int64_t draw_stride(int64_t most)
{
	return (int64_t)draw((uint64_t)(2 * most)) - most;
}

/* Byte i of what `s` describes. */
static unsigned char byte_of(const unsigned char *base, const struct copy_strides *s, uint64_t i)
{
	uint64_t block = i / s->block_bytes;

	return base[(int64_t)(block / s->blocks) * s->plane_stride +
		    (int64_t)(block % s->blocks) * s->stride + (int64_t)(i % s->block_bytes)];
}

static void a_gather_follows_the_strides(void **state)
{
	static const uint64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 24, 32, 40, 64, 72, 128, 1000};

	(void)state;
	for (int i = 0; i < 2000; i++) {
		const unsigned char *base = src + AREA / 2;
		struct copy_strides s = {
			.block_bytes = sizes[draw(sizeof(sizes) / sizeof(sizes[0]))],
			.blocks = 1 + draw(12),
			.planes = 1 + draw(4),
			.stride = draw_stride(4000),
			.plane_stride = draw_stride(20000),
		};
		size_t all = s.block_bytes * s.blocks * s.planes, n = draw(3) ? draw(all + 1) : all;
		uint64_t word;

		if (i % 100 == 0)
			refill();
		memset(dst, 0xa5, all + 2 * GUARD);
		copy_gather(dst + GUARD, base, &s, n);
		for (size_t k = 0; k < n; k++)
			assert_int_equal(dst[GUARD + k], byte_of(base, &s, k));
		check_guards(GUARD, n);
		if (all < 8)
			continue;
		word = copy_last_word(base, &s);
		for (size_t k = 0; k < 8; k++)
			assert_int_equal(((unsigned char *)&word)[k], byte_of(base, &s, all - 8 + k));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_to_another_core_moves_all_and_nothing_else),
		cmocka_unit_test(a_gather_follows_the_strides),
	};
	const char *seed = getenv("SEED");

	random_state = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL) * 2654435761u | 1;
	printf("SEED=%llu\n", (unsigned long long)random_state);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
