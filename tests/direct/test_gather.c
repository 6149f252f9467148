/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_gather.c: a gather moves exactly the bytes that it is told to, for all sizes and strides.
 *
 *     SEED=n test_gather     the seed that a failing run has printed
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../../runtime/direct/core/gather.h"
#include "../../runtime/machine/tools/cmi_random.h"

#include <cmocka.h>

enum { AREA = 1 << 18, GUARD = 64 };

static uint64_t random_state;
static unsigned char src[AREA], dst[AREA];

static uint64_t draw(uint64_t n)
{
	return cmi_random_below(&random_state, n);
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

static int64_t draw_stride(int64_t most)
{
	return (int64_t)draw((uint64_t)(2 * most)) - most;
}

/* Byte i of what `s` describes. */
static unsigned char byte_of(const unsigned char *base, const struct gather_shape *s, uint64_t i)
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
		struct gather_shape s = {
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
		gather_bytes(dst + GUARD, base, &s, n);
		for (size_t k = 0; k < n; k++)
			assert_int_equal(dst[GUARD + k], byte_of(base, &s, k));
		check_guards(GUARD, n);
		if (all < 8)
			continue;
		word = gather_last_word(base, &s);
		for (size_t k = 0; k < 8; k++)
			assert_int_equal(((unsigned char *)&word)[k], byte_of(base, &s, all - 8 + k));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gather_follows_the_strides),
	};
	const char *seed = getenv("SEED");
	uint64_t first = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL);

	printf("SEED=%llu\n", (unsigned long long)first);
	random_state = cmi_random_seed(first);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
