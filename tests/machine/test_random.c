/* SPDX-License-Identifier: Apache-2.0 */
/* test_random.c: the random number generator is replayable, never stuck, and evenly spread. */
#include "../../runtime/machine/tools/cmi_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void no_seed_gives_the_state_zero(void **state)
{
	/* The one seed whose mixed bits are all 0. */
	const uint64_t worst = -0x9e3779b97f4a7c15u;

	(void)state;
	assert_true(cmi_random_seed(worst) != 0);
	for (uint64_t seed = 0; seed < 1000; seed++)
		assert_true(cmi_random_seed(seed) != 0);
}

static void a_seed_replays(void **state)
{
	uint64_t a = cmi_random_seed(42), b = cmi_random_seed(42);

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_true(cmi_random_next(&a) == cmi_random_next(&b));
}

/* The first number of Vigna's xorshift64* from the state 1. */
static void it_is_xorshift64_star(void **state)
{
	uint64_t s = 1;

	(void)state;
	/* 1 -> x ^= x >> 12: 1; x ^= x << 25: 2^25 + 1; x ^= x >> 27: the same */
	assert_true(cmi_random_next(&s) == 0x2000001u * 0x2545f4914f6cdd1du);
	assert_true(s == 0x2000001u);
}

static void neighbouring_seeds_begin_differently(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 100; seed++) {
		uint64_t a = cmi_random_seed(seed), b = cmi_random_seed(seed + 1);
		int equal = 64 - __builtin_popcountll(cmi_random_next(&a) ^ cmi_random_next(&b));

		assert_in_range(equal, 12, 52);
	}
}

static void below_spreads_evenly(void **state)
{
	enum { N = 7, DRAWS = 70000 };
	uint64_t s = cmi_random_seed(3);
	int count[N] = {0};

	(void)state;
	for (int i = 0; i < DRAWS; i++) {
		uint64_t k = cmi_random_below(&s, N);

		assert_true(k < N);
		count[k]++;
	}
	for (int i = 0; i < N; i++)
		assert_in_range(count[i], DRAWS / N - 500, DRAWS / N + 500);
}

static void below_takes_any_bound(void **state)
{
	uint64_t s = cmi_random_seed(4);
	uint64_t most = 0;

	(void)state;
	for (int i = 0; i < 100; i++) {
		uint64_t k = cmi_random_below(&s, UINT64_MAX);

		most = k > most ? k : most;
		assert_true(cmi_random_below(&s, 1) == 0);
		assert_true(cmi_random_below(&s, 0) == 0);
	}
	assert_true(most > UINT64_MAX / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_seed_gives_the_state_zero),
		cmocka_unit_test(a_seed_replays),
		cmocka_unit_test(it_is_xorshift64_star),
		cmocka_unit_test(neighbouring_seeds_begin_differently),
		cmocka_unit_test(below_spreads_evenly),
		cmocka_unit_test(below_takes_any_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
