/* SPDX-License-Identifier: Apache-2.0 */
/* test_ahead.c: a copy that tells how far it is copies like any other, never tells too much, and who
 * fetches by it does so line by line, never beyond. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../runtime/direct/ahead.h"

enum { MOST = 100000, SLACK = 128, LINE = 64 };

static unsigned char byte_at(size_t i) { return (unsigned char)(i * 7 + i / 251); }

static void copy_one(unsigned char *dst, const unsigned char *src, size_t n, uint64_t iteration)
{
	_Atomic uint64_t written = 0;

	memset(dst - SLACK, 0xa5, n + 2 * SLACK);
	ahead_copy(dst, src, n, &written, iteration);
	assert_memory_equal(dst, src, n);
	for (int i = 0; i < SLACK; i++)
		assert_true(dst[-1 - i] == 0xa5 && dst[n + (size_t)i] == 0xa5);
	if (written)
		assert_int_equal(written >> 32, (uint32_t)iteration);
	assert_true((uint32_t)written * (size_t)LINE <= n);
	/* Of much, most is told: a receiver that only waits has little left to fetch. */
	if (n >= 24 * 1024)
		assert_true((uint32_t)written * (size_t)LINE >= n / 4 * 3);
}

static void all_bytes_are_copied_and_no_others(void **state)
{
	static const size_t sizes[] = {0, 1, 63, 64, 4095, 4096, 4097, 8192, 12345, 24576, 65536, MOST};
	unsigned char *src = malloc(MOST + 8), *room = malloc(MOST + 2 * SLACK + 8);

	(void)state;
	for (size_t i = 0; i < MOST + 8; i++)
		src[i] = byte_at(i);
	for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
		for (size_t shift = 0; shift < 8; shift += 3)
			copy_one(room + SLACK + shift, src + 7 - shift, sizes[k], k + 1);
	free(src);
	free(room);
}

static void no_line_is_fetched_that_is_not_told(void **state)
{
	static const unsigned char buf[LINE * 1000];
	_Atomic uint64_t written = ahead_word(5, 700);
	uint32_t fetched = 0;

	(void)state;
	ahead_fetch(buf, &fetched, &written, 4); /* another put's */
	ahead_fetch(buf, &fetched, &written, 6);
	assert_int_equal(fetched, 0);
	for (uint32_t last = 0; ; last = fetched) {
		ahead_fetch(buf, &fetched, &written, 5);
		assert_true(fetched >= last && fetched <= 700);
		if (fetched == last)
			break;
	}
	assert_int_equal(fetched, 700);
}

/* 32 bits of the number travel. */
static void the_number_of_the_put_may_be_large(void **state)
{
	static const unsigned char buf[LINE * 10];
	uint64_t iteration = ((uint64_t)3 << 32) + 9;
	_Atomic uint64_t written = ahead_word(iteration, 10);
	uint32_t fetched = 0;

	(void)state;
	ahead_fetch(buf, &fetched, &written, iteration);
	assert_int_equal(fetched, 10);
}

/* ---- two threads -------------------------------------------------------------------------------- */

enum { PUTS = 300, BYTES = 40000 };

struct pair {
	unsigned char *src, *dst;
	_Atomic uint64_t written, arrived, taken;
};

static void *sender(void *p_)
{
	struct pair *p = p_;

	for (uint64_t k = 1; k <= PUTS; k++) {
		while (atomic_load_explicit(&p->taken, memory_order_acquire) != k - 1)
			;
		memset(p->src, (int)(k & 0xff), BYTES);
		ahead_copy(p->dst, p->src, BYTES, &p->written, k);
		atomic_store_explicit(&p->arrived, k, memory_order_release);
	}
	return p;
}

static bool all_are(const unsigned char *v, size_t n, unsigned char b)
{
	for (size_t i = 0; i < n; i++)
		if (v[i] != b)
			return false;
	return true;
}

static void fetching_changes_nothing(void **state)
{
	struct pair p = {.src = malloc(BYTES), .dst = calloc(1, BYTES)};
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, sender, &p), 0);
	for (uint64_t k = 1; k <= PUTS; k++) {
		uint32_t fetched = 0;

		while (atomic_load_explicit(&p.arrived, memory_order_acquire) != k)
			ahead_fetch(p.dst, &fetched, &p.written, k);
		assert_true(fetched <= BYTES / LINE);
		assert_true(all_are(p.dst, BYTES, (unsigned char)(k & 0xff)));
		atomic_store_explicit(&p.taken, k, memory_order_release);
	}
	pthread_join(thread, NULL);
	free(p.src);
	free(p.dst);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_bytes_are_copied_and_no_others),
		cmocka_unit_test(no_line_is_fetched_that_is_not_told),
		cmocka_unit_test(the_number_of_the_put_may_be_large),
		cmocka_unit_test(fetching_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
