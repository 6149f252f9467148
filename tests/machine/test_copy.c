/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_copy.c: each way to copy moves exactly the bytes that it was told to. A copy that reports its
 * progress never reports too much. A reader that follows it fetches line by line and never beyond it.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../runtime/machine/tools/cmi_copy_int.h"
#include "../../runtime/machine/tools/cmi_random.h"
#include "check_skip.h"

enum { MOST = 1 << 20, SLACK = 128 };

static unsigned char *src, *room;
static uint64_t random_state;

static int open_buffers(void **state)
{
	(void)state;
	random_state = cmi_random_seed(1);
	src = malloc(MOST + SLACK);
	room = malloc(MOST + 3 * SLACK);
	for (size_t i = 0; i < MOST + SLACK; i++)
		src[i] = (unsigned char)(i * 7 + i / 251);
	return 0;
}

static int close_buffers(void **state)
{
	(void)state;
	free(src);
	free(room);
	return 0;
}

/* ---- what is copied ------------------------------------------------------------------------- */

static struct cmi_copy_way way;
static _Atomic uint64_t told;

static void by_shared(unsigned char *dst, const unsigned char *from, size_t n)
{
	cmi_copy_shared(dst, from, n);
}

static void by_bulk(unsigned char *dst, const unsigned char *from, size_t n)
{
	cmi_copy_bulk(dst, from, n);
}

static void by_awaited(unsigned char *dst, const unsigned char *from, size_t n)
{
	cmi_copy_awaited(&way, dst, from, n, &told, 1);
}

/* This and the next are not both what cmi_copy_awaited would choose here. */
static void by_round(unsigned char *dst, const unsigned char *from, size_t n)
{
	copy_round(&way, dst, from, n);
	way.through ^= (uint32_t)cmi_random_below(&random_state, 2);
}

static void by_telling(unsigned char *dst, const unsigned char *from, size_t n)
{
	copy_telling(dst, from, n, &told, 1);
}

/** n bytes arrive at any alignment of both ends, and their neighbours stay. */
static void copies(void (*copy)(unsigned char *, const unsigned char *, size_t), size_t n)
{
	unsigned char *dst = room + SLACK + cmi_random_below(&random_state, SLACK);
	const unsigned char *from = src + cmi_random_below(&random_state, SLACK);

	memset(dst - SLACK, 0xa5, n + 2 * SLACK);
	copy(dst, from, n);
	assert_memory_equal(dst, from, n);
	for (size_t i = 0; i < SLACK; i++)
		assert_true(dst[-1 - (ptrdiff_t)i] == 0xa5 && dst[n + i] == 0xa5);
}

static void small_copies_move_all_and_nothing_else(void **state)
{
	(void)state;
	for (size_t n = 0; n < 300; n++)
		copies(by_shared, n);
	for (int i = 0; i < 200; i++)
		copies(by_shared, cmi_random_below(&random_state, CMI_COPY_MIN));
}

static void large_copies_move_all_and_nothing_else(void **state)
{
	(void)state;
#if !defined(__SSE2__) || defined(__SANITIZE_THREAD__)
	CHECK_SKIP_PART("round the caches", "this build has no such copy");
#endif
	for (int i = 0; i < 200; i++) {
		size_t n = CMI_COPY_MIN + cmi_random_below(&random_state, i % 10 ? 100000 : MOST - CMI_COPY_MIN);

		copies(by_bulk, n);
		copies(by_awaited, n);
		copies(by_round, n);
		copies(by_telling, n);
	}
	copies(by_bulk, CMI_COPY_MIN);
	copies(by_awaited, CMI_COPY_MIN);
	copies(by_round, CMI_COPY_MIN);
}

/* ---- what is told ------------------------------------------------------------------------------ */

static void most_is_told_and_never_too_much(void **state)
{
	static const size_t sizes[] = {0, 1, 63, 64, 4095, 4096, 4097, 8192, 12345, 24576, 65536, 100000};

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		const size_t n = sizes[i];
		_Atomic uint64_t word = 0;

		copies(by_telling, n);
		copy_telling(room, src, n, &word, 7);
		if (word)
			assert_int_equal(word >> 32, 7);
		assert_true((uint32_t)word * (size_t)CMI_LINE <= n);
		/* Of much, most is told: a reader that only waits has little left to fetch. */
		if (n >= CMI_COPY_MIN)
			assert_true((uint32_t)word * (size_t)CMI_LINE >= n / 4 * 3);
	}
}

static void no_line_is_fetched_that_is_not_told(void **state)
{
	_Atomic uint64_t word = copy_told_word(5, 700);
	uint32_t fetched = 0;

	(void)state;
	cmi_fetch_told(src, &fetched, &word, 4); /* another copy's */
	cmi_fetch_told(src, &fetched, &word, 6);
	assert_int_equal(fetched, 0);
	for (uint32_t last = 0; ; last = fetched) {
		cmi_fetch_told(src, &fetched, &word, 5);
		assert_true(fetched >= last && fetched <= 700);
		if (fetched == last)
			break;
	}
	assert_int_equal(fetched, 700);
}

/* 32 bits of the stamp travel. */
static void a_stamp_may_be_large(void **state)
{
	const uint64_t stamp = ((uint64_t)3 << 32) + 9;
	_Atomic uint64_t word = copy_told_word(stamp, 10);
	uint32_t fetched = 0;

	(void)state;
	cmi_fetch_told(src, &fetched, &word, stamp);
	assert_int_equal(fetched, 10);
}

/* ---- two threads -------------------------------------------------------------------------------- */

enum { COPIES = 300, BYTES = 40000 };

struct pair {
	unsigned char *src, *dst;
	struct cmi_copy_way way;
	_Atomic uint64_t told, arrived, taken;
};

static void *sender(void *arg)
{
	struct pair *p = arg;

	for (uint64_t k = 1; k <= COPIES; k++) {
		while (atomic_load_explicit(&p->taken, memory_order_acquire) != k - 1)
			;
		memset(p->src, (int)(k & 0xff), BYTES);
		if (k & 1)
			copy_telling(p->dst, p->src, BYTES, &p->told, k);
		else
			cmi_copy_awaited(&p->way, p->dst, p->src, BYTES, &p->told, k);
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
	for (uint64_t k = 1; k <= COPIES; k++) {
		uint32_t fetched = 0;

		while (atomic_load_explicit(&p.arrived, memory_order_acquire) != k)
			cmi_fetch_told(p.dst, &fetched, &p.told, k);
		assert_true(fetched <= BYTES / CMI_LINE);
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
		cmocka_unit_test(small_copies_move_all_and_nothing_else),
		cmocka_unit_test(large_copies_move_all_and_nothing_else),
		cmocka_unit_test(most_is_told_and_never_too_much),
		cmocka_unit_test(no_line_is_fetched_that_is_not_told),
		cmocka_unit_test(a_stamp_may_be_large),
		cmocka_unit_test(fetching_changes_nothing),
	};

	return cmocka_run_group_tests(tests, open_buffers, close_buffers);
}
