/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_choose.c: what CK_LB=auto decides: when a step pays, on loads that two programs had, and which strategy is asked, on
 * statistics of bench/stats and on made-up ones. Times are in ms.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "../../runtime/chare/balance/balance_int.h"
#include "../../bench/lb_read.h"
#include "lb_make.h"

static const struct balance_node with_auto = { .automatic = true, .tolerance = 0.05, .period = 1 };
static struct choice choice;
static struct past past[2]; /* of two PEs */

static void start(void)
{
	choice = (struct choice){ 0 };
	past[0] = past[1] = (struct past){ 0 };
}

static void add_pe(struct sync_sums *s, struct past *p, double now)
{
	const struct past was = *p;

	past_learn(p, now);
	s->pes++;
	s->speed++;
	s->seconds += now;
	for (int k = 0; k < N_FORECASTS; k++) {
		struct sync_forecast *f = &s->by[k];
		const double said = (double)was.says[k], says = (double)p->says[k];

		f->sum += said;
		f->square += said * said;
		f->both += said * now;
		f->work += says;
		f->max = says > f->max ? says : f->max;
	}
}

static bool step_with(double a, double b)
{
	const struct past was[2] = { past[0], past[1] };
	struct sync_sums s = { 0 };

	add_pe(&s, &past[0], 1e-3 * a);
	add_pe(&s, &past[1], 1e-3 * b);
	if (!choose_step(&with_auto, &choice, &s, true)) {
		if (choose_measuring(&choice, true) == MEASURE_ANEW)
			memcpy(past, was, sizeof past);
		return false;
	}
	for (int k = 0; k < N_FORECASTS; k++) /* the step leaves each PE as much, as far as is known */
		past[0].says[k] = past[1].says[k] = (past[0].says[k] + past[1].says[k]) / 2;
	return true;
}

/* A sync in which the first PE takes longest. */
static bool step_at(double max, double level) { return step_with(max, 2 * level - max); }

static void took(double ms) { auto_took(&choice, ms * 1e-3); }

/* ---- when a step pays ------------------------------------------------------------------------------- */

/* The uneven stencil: its blocks touched their memory before the first step. */
static void the_second_step_does_not_wait(void **state)
{
	(void)state;
	start();
	assert_true(step_at(5.257, 3.911));
	took(1.048);
	assert_true(step_at(2.687, 2.288));
	took(0.601);
	assert_false(step_at(2.160, 2.144));
	assert_false(step_at(2.148, 2.132));
}

static void later_steps_wait_until_their_cost_is_lost(void **state)
{
	(void)state;
	start();
	assert_true(step_at(20, 10));
	took(3);
	assert_true(step_at(12, 10));
	took(2);
	assert_false(step_at(10.9, 10));
	assert_false(step_at(10.9, 10));
	assert_true(step_at(10.9, 10));
}

static void what_is_tolerated_takes_no_step(void **state)
{
	(void)state;
	start();
	for (int i = 0; i < 1000; i++)
		assert_false(step_at(10.4, 10));
}

static void start_with_two_steps(void)
{
	start();
	assert_true(step_at(1.54, 1.29));
	took(1.1);
	assert_true(step_at(1.45, 1.2));
	took(0.3);
}

/* The stencil with equal blocks, on a machine that has other work: a PE is late in half of the syncs, by 3.6 % on average. */
static void an_imbalance_that_goes_by_itself_is_forgotten(void **state)
{
	(void)state;
	start_with_two_steps();
	for (int i = 0; i < 100; i++) {
		assert_false(step_with(1.4, 1.2));
		assert_false(step_with(1.36, 1.2));
		assert_false(step_with(1.2, 1.2));
		assert_false(step_with(1.2, 1.2));
	}
}

/* Before any of it has cost something. */
static void start_balanced(void)
{
	start();
	assert_false(step_at(1, 1));
}

/* Also if they are late by much. */
static void what_happens_once_moves_nothing(void **state)
{
	(void)state;
	start_balanced();
	for (int i = 0; i < 100; i++) {
		assert_false(step_with(1.2, i % 3 ? 1.4 : 2.4));
		for (int k = 0; k < 9; k++)
			assert_false(step_with(1.2, 1.2));
	}
}

static void what_happens_twice_is_no_chance(void **state)
{
	(void)state;
	start_balanced();
	assert_false(step_with(1.5, 1));
	assert_true(step_with(1.5, 1));
}

/* Nor is what every third sync shows, like forces that are far away. */
static void what_comes_again_is_no_chance(void **state)
{
	int n = 0;

	(void)state;
	start_balanced();
	for (; n < 8 && !step_with(n % 3 ? 1 : 2, 1); n++)
		;
	assert_in_range(n, 1, 7);
}

/* If it does not come again, nothing of it has come true, and another one, long after, is
 * believed no more than it. */
static void what_does_not_come_again_is_forgotten(void **state)
{
	(void)state;
	start_balanced();
	assert_false(step_with(1.5, 1));
	for (int i = 1; i < 8; i++)
		assert_false(step_with(1, 1));
	assert_false(step_with(1.5, 1));
}

static void no_pause_follows_an_imbalance(void **state)
{
	(void)state;
	start_balanced();
	assert_int_equal(choice.rest, 1);
	choice.rest = 0;
	assert_false(step_with(2, 1));
	assert_int_equal(choose_measuring(&choice, true), MEASURE_LEARN);
	assert_true(choose_looks(&with_auto, &choice, 10));
}

/* Programs may sync in step 0, before they have done anything. Then that sync does not count, as if it had not been. */
static void a_sync_before_all_work_says_nothing(void **state)
{
	(void)state;
	start();
	assert_false(step_with(0.001, 0.003));
	assert_int_equal(choice.looked, 0);
	assert_false(choice.settled);
	assert_true(step_with(3, 1));
}

/* Nor does one in which no element did anything: it says nothing about the next one. */
static void a_sync_without_work_is_skipped(void **state)
{
	(void)state;
	start_balanced();
	assert_false(step_with(0, 0));
	assert_false(step_with(1.5, 1));
	assert_true(step_with(1.5, 1));
}

static void nothing_moves_for_less_than_any_step_costs(void **state)
{
	(void)state;
	start();
	for (int i = 0; i < 3; i++)
		assert_false(step_with(0.13, 0.07)); /* 30 us each */
	assert_true(step_with(0.13, 0.07));
}

/* It may be new elements, or a step that was wrong. */
static void where_nothing_was_balanced_yet_a_step_does_not_wait(void **state)
{
	(void)state;
	start();
	assert_true(step_with(3, 1));
	took(0.1);
	assert_true(step_with(2, 1));
	took(0.1);
	assert_true(step_with(2, 1));
}

/* The same with more of it: each sync loses a third of what a step costs. It takes some syncs to
 * see that. */
static void pes_that_are_late_in_turn_take_few_steps(void **state)
{
	int n = 0;

	(void)state;
	start_with_two_steps();
	for (int i = 0; i < 400; i++)
		if (i / 2 % 2 ? step_with(1.1, 1.3) : step_with(1.3, 1.1)) {
			took(0.3);
			n++;
		}
	assert_in_range(n, 0, 10);
}

/* What was balanced for long does not hide an imbalance that is new. */
static void a_balanced_past_does_not_count(void **state)
{
	(void)state;
	start();
	assert_true(step_at(20, 10));
	took(3);
	assert_true(step_at(12, 10));
	took(2);
	for (int i = 0; i < 1000; i++)
		assert_false(step_at(10, 10));
	for (int i = 0; i < 3; i++) /* the first one is not believed */
		assert_false(step_at(10.9, 10));
	assert_true(step_at(10.9, 10));
}

/* How many of 1000 syncs of balanced PEs are looked at. */
static int looked_at(uint64_t period, bool only)
{
	const struct balance_node b = { .automatic = true, .tolerance = 0.05, .period = period };
	const struct sync_sums s = { .pes = 2, .speed = 2, .seconds = 2,
				     .by[AS_LAST] = { .max = 1, .work = 2 } };
	int n = 0;

	start();
	for (uint32_t round = 0; round < 1000; round++) {
		if (!choose_looks(&b, &choice, round))
			continue;
		assert_false(choose_step(&b, &choice, &s, only));
		n++;
	}
	return n;
}

/* Others need to know what the array takes, or the user has said how often to look. */
static void pauses_are_for_the_only_array_without_a_period(void **state)
{
	(void)state;
	assert_in_range(looked_at(1, true), 111, 115);
	assert_int_equal(looked_at(1, false), 1000);
	assert_int_equal(looked_at(2, true), 500);
}

/* One that was not goes on. */
static void fixed_strategies_learn_nothing(void **state)
{
	const struct balance_node fixed = { .tolerance = 0.05 };
	const struct sync_sums s = { .pes = 2, .speed = 2, .seconds = 2,
				     .by[AS_LAST] = { .max = 1.04, .work = 2 } };

	(void)state;
	start();
	assert_false(choose_step(&fixed, &choice, &s, true));
	assert_int_equal(choose_measuring(&choice, true), MEASURE_ANEW);
	assert_int_equal(choose_measuring(&choice, false), MEASURE_ON);
}

/* The particles, which wander: the step was asked to leave no more than that. */
static void a_step_that_leaves_what_is_tolerated_has_helped(void **state)
{
	(void)state;
	start();
	assert_true(step_at(26.8, 14.4));
	took(2.5);
	assert_true(step_at(14.9, 13.9));
	took(0.9);
	assert_false(step_at(10.344, 9.912));  /* 0.044 after 0.073 */
	assert_false(step_at(10.6, 10));
	assert_true(step_at(10.6, 10));        /* the cost is lost once, not twice */
}

static void steps_that_do_not_help_become_rare(void **state)
{
	int n = 0;

	(void)state;
	start();
	for (int i = 0; i < 1000; i++)
		if (step_at(12, 10)) {
			took(2);
			n++;
		}
	assert_in_range(n, 4, 24);     /* patience grows to 64 */
}

/* ---- who is asked --------------------------------------------------------------------------------------- */

static const char *asked(const CkLBStats *s, bool extents, struct lb_quality *q)
{
	int32_t *to = calloc(s->n + 1, sizeof *to);
	const struct lb_strategy *st;
	size_t which;

	assert_int_equal(auto_answer(NULL, &(struct choice){ 0 }, s, extents, to, &which, &st), 0);
	lb_quality(s, to, q);
	free(to);
	return st->name;
}

/* Cuts leave neighbours together, which no load shows. greedy is better by less than what is tolerated. */
static void cuts_that_are_tolerated_are_taken(void **state)
{
	static const char *const files[] = { "bench/stats/particles.lb", "bench/stats/stencil.lb" };
	struct lb_quality q;
	struct lb_dump d;
	char why[200];

	(void)state;
	for (int i = 0; i < 2; i++) {
		FILE *f = fopen(files[i], "r");
		size_t line = 1;

		assert_non_null(f);
		while (lb_dump_read(f, &line, &d, why, sizeof why) > 0) {
			assert_string_equal(asked(&d.s, true, &q), "cuts");
			assert_true(q.max <= q.fair * (1 + d.s.tolerance));
			assert_string_equal(asked(&d.s, false, &q), "refine");
			lb_dump_free(&d);
		}
		fclose(f);
	}
}

/* So that the next step is not due at once. */
static void half_of_the_tolerance_is_left(void **state)
{
	struct made m = made_create(2, 1, 1000, 0);
	struct lb_quality q;

	(void)state;
	for (size_t i = 0; i < m.s.n; i++)
		m.element[i].pe = i >= 700;
	assert_string_equal(asked(&m.s, true, &q), "cuts");
	assert_true(q.max <= q.fair * 1.026);
	made_free(&m);
}

/* Large ones and small ones in turn: no cut is good. */
static void who_helps_more_is_asked_where_cuts_do_not(void **state)
{
	static const float seconds[] = { 9, 1, 1, 1, 8, 1, 1, 1, 1, 1, 1, 2, 9, 1, 1, 1 };
	const size_t n = sizeof seconds / sizeof *seconds;
	struct made m = made_create(4, 1, n, 0);
	struct lb_quality q;

	(void)state;
	for (size_t i = 0; i < n; i++) {
		m.element[i].seconds = seconds[i];
		m.element[i].pe = (int32_t)(i / 4);
	}
	assert_string_not_equal(asked(&m.s, true, &q), "cuts");
	assert_true(q.max <= 11);
	made_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_second_step_does_not_wait),
		cmocka_unit_test(later_steps_wait_until_their_cost_is_lost),
		cmocka_unit_test(what_is_tolerated_takes_no_step),
		cmocka_unit_test(an_imbalance_that_goes_by_itself_is_forgotten),
		cmocka_unit_test(what_happens_once_moves_nothing),
		cmocka_unit_test(what_happens_twice_is_no_chance),
		cmocka_unit_test(what_comes_again_is_no_chance),
		cmocka_unit_test(what_does_not_come_again_is_forgotten),
		cmocka_unit_test(no_pause_follows_an_imbalance),
		cmocka_unit_test(a_sync_before_all_work_says_nothing),
		cmocka_unit_test(a_sync_without_work_is_skipped),
		cmocka_unit_test(nothing_moves_for_less_than_any_step_costs),
		cmocka_unit_test(where_nothing_was_balanced_yet_a_step_does_not_wait),
		cmocka_unit_test(pes_that_are_late_in_turn_take_few_steps),
		cmocka_unit_test(a_balanced_past_does_not_count),
		cmocka_unit_test(pauses_are_for_the_only_array_without_a_period),
		cmocka_unit_test(fixed_strategies_learn_nothing),
		cmocka_unit_test(a_step_that_leaves_what_is_tolerated_has_helped),
		cmocka_unit_test(steps_that_do_not_help_become_rare),
		cmocka_unit_test(cuts_that_are_tolerated_are_taken),
		cmocka_unit_test(half_of_the_tolerance_is_left),
		cmocka_unit_test(who_helps_more_is_asked_where_cuts_do_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
