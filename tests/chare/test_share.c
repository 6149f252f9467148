/* SPDX-License-Identifier: Apache-2.0 */
/* test_share.c: the share of its core that a PE gets, by a clock that the test moves. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "../../runtime/strategies/loads/core_share.h"

static struct share s;
static struct moment now;

static void start(void **state)
{
	(void)state;
	s = (struct share){ 0 };
	now = (struct moment){ .wall_ns = 5000000000u };
}

static void pass(double ms, double share)
{
	now.wall_ns += (uint64_t)(ms * 1e6);
	now.cpu_ns += (uint64_t)(ms * 1e6 * share);
}

/* Busy for a while, with that share of the core; then idle, in which it has hardly any of it. */
static void busy_and_idle(double ms, double share, double idle_ms)
{
	if (share_wants(&s, now.wall_ns))
		share_begin(&s, &now);
	pass(ms, share);
	if (s.on)
		share_end(&s, &now);
	pass(idle_ms, 0.1);
}

static void assert_near(double is, double should)
{
	if (fabs(is - should) > 0.001)
		fail_msg("%g, not %g", is, should);
}

static void look(void) { share_look(&s, &now); }

static void only_busy_time_counts(void **state)
{
	start(state);
	for (int i = 0; i < 10; i++)
		busy_and_idle(10, 0.6, 30);
	look();
	assert_near(share_speed(&s), 0.6);
}

static void a_stretch_goes_on_over_a_look(void **state)
{
	start(state);
	share_begin(&s, &now);
	for (int i = 0; i < 10; i++) {
		pass(50, 0.7);
		look();
	}
	assert_true(s.on);
	assert_near(share_speed(&s), 0.7);
	assert_near(s.all.wall, 0.5);
}

static void a_short_time_says_nothing(void **state)
{
	start(state);
	busy_and_idle(19, 0.5, 1);
	assert_near(share_speed(&s), 1);
	busy_and_idle(2, 0.5, 1);
	assert_near(share_speed(&s), 0.5);
}

static void nearly_all_is_all(void **state)
{
	start(state);
	busy_and_idle(1000, 0.951, 1);
	assert_true(share_speed(&s) == 1);
	start(state);
	busy_and_idle(1000, 0.949, 1);
	assert_near(share_speed(&s), 0.949);
}

static void clocks_that_differ_do_not_make_a_pe_faster_than_its_core(void **state)
{
	start(state);
	busy_and_idle(1000, 1.01, 1);
	assert_true(share_speed(&s) == 1);
}

static void no_pe_stands_still(void **state)
{
	start(state);
	busy_and_idle(1000, 0, 1);
	assert_true(share_speed(&s) > 0);
}

/* A change of the share is seen in about a second of work, however long the job has run. */
static void what_is_old_counts_less(void **state)
{
	start(state);
	for (int i = 0; i < 1000; i++) {
		busy_and_idle(20, 1, 1);
		look();
	}
	assert_true(share_speed(&s) == 1);
	for (int i = 0; i < 100; i++) {
		busy_and_idle(20, 0.5, 1);
		look();
	}
	assert_true(fabs(share_speed(&s) - 0.5) < 0.02);
}

static void a_pe_without_work_is_as_fast_as_any_after_a_while(void **state)
{
	start(state);
	busy_and_idle(500, 0.1, 1);
	look();
	assert_near(share_speed(&s), 0.1);
	for (int i = 0; i < 40; i++) {
		pass(100, 0);
		look();
	}
	assert_true(share_speed(&s) == 1);
}

static void who_waits_for_a_file_is_not_slow(void **state)
{
	start(state);
	busy_and_idle(100, 0.9, 1);
	share_begin(&s, &now);
	pass(1000, 0.01);
	now.n_blocked++;
	share_end(&s, &now);
	look();
	assert_near(share_speed(&s), 0.9);
}

static int n_measured(int n, double ms)
{
	int measured = 0;

	for (int i = 0; i < n; i++) {
		const double before = s.all.wall;

		busy_and_idle(ms / 2, 1, ms / 2);
		measured += s.all.wall > before;
	}
	return measured;
}

static void of_many_stretches_few_are_measured(void **state)
{
	start(state);
	assert_int_equal(n_measured(1000, 0.25), 1000);
	n_measured(1000, 0.01); /* it takes some to know that there are many */
	assert_in_range(n_measured(10000, 0.01), 400, 600);
	n_measured(1000, 0.25);
	assert_int_equal(n_measured(1000, 0.25), 1000);
}

/* The core is taken away in long stretches only, which come when many short ones have been measured. */
static void a_long_stretch_behind_many_short_ones_has_its_chance(void **state)
{
	start(state);
	for (int i = 0; i < 2000; i++) {
		for (int k = 0; k < 50; k++)
			busy_and_idle(0.002, 1, 0.002);
		busy_and_idle(1.9, 0.5, 0.002);
	}
	assert_true(fabs(s.all.cpu / s.all.wall - (0.1 + 1.9 * 0.5) / 2) < 0.01);
}

/* A daemon has had the core for 50 ms, once in a second: one handler took longer for it, and nothing else did. */
static void one_stretch_says_nothing(void **state)
{
	struct share_time before;

	start(state);
	for (int i = 0; i < 20; i++) {
		busy_and_idle(5, 0.99, 1);
		look();
	}
	before = s.all;
	busy_and_idle(55, 0.1, 1);
	look();
	assert_true(share_speed(&s) == 1);
	assert_true(share_evens(&s, &before, 0.055) == 1);
	before = s.all;
	busy_and_idle(25, 0.1, 1);
	look();
	assert_true(share_speed(&s) < 0.8); /* another one does */
	assert_true(share_evens(&s, &before, 0.025) < 0.2);
}

/* The only one that there is must do. */
static void one_stretch_is_better_than_none(void **state)
{
	start(state);
	busy_and_idle(10, 1, 1);
	busy_and_idle(1000, 0.5, 1);
	look();
	assert_true(fabs(share_speed(&s) - 0.505) < 0.001);
}

/* In this interval the PE had less of its core than it has in general, so what it has measured is too much. */
static void an_interval_is_evened_out(void **state)
{
	struct share_time before;

	start(state);
	busy_and_idle(1000, 0.5, 0);
	look();
	before = s.all;
	assert_near(share_evens(&s, &before, 0), 1); /* nothing was measured */
	busy_and_idle(10, 0.25, 0);
	look();
	assert_true(fabs(share_evens(&s, &before, 0.01) - 0.5) < 0.02);
	assert_true(fabs(share_evens(&s, &before, 0.0199) - 0.5) < 0.02);
	assert_near(share_evens(&s, &before, 0.0201), 1); /* too little of it was measured */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_busy_time_counts),
		cmocka_unit_test(a_stretch_goes_on_over_a_look),
		cmocka_unit_test(a_short_time_says_nothing),
		cmocka_unit_test(nearly_all_is_all),
		cmocka_unit_test(clocks_that_differ_do_not_make_a_pe_faster_than_its_core),
		cmocka_unit_test(no_pe_stands_still),
		cmocka_unit_test(what_is_old_counts_less),
		cmocka_unit_test(a_pe_without_work_is_as_fast_as_any_after_a_while),
		cmocka_unit_test(who_waits_for_a_file_is_not_slow),
		cmocka_unit_test(of_many_stretches_few_are_measured),
		cmocka_unit_test(a_long_stretch_behind_many_short_ones_has_its_chance),
		cmocka_unit_test(one_stretch_says_nothing),
		cmocka_unit_test(one_stretch_is_better_than_none),
		cmocka_unit_test(an_interval_is_evened_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
