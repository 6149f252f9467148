/* SPDX-License-Identifier: Apache-2.0 */
/* test_spans.c: a set of broadcasts has what was added and not taken, whatever the order, and no two of its spans touch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "../../runtime/chare/core/tables/spans.h"

enum { ROOTS = 4, NUMBERS = 12, STEPS = 20000 };

static uint64_t random_state = 1;

static uint32_t draw(uint32_t below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(random_state >> 33) % below;
}

/* A bit for each number from 1 on. */
struct model { uint32_t of[ROOTS]; };

static void check(const struct spans *s, const struct model *m)
{
	uint32_t n = 0;

	assert_true(spans_fit(s->list, s->n, ROOTS));
	for (int r = 0; r < ROOTS; r++) {
		assert_int_equal(spans_has_root(s, r), m->of[r] != 0);
		for (uint64_t no = 1; no <= NUMBERS; no++)
			assert_int_equal(spans_has(s, r, no), m->of[r] >> no & 1);
		for (uint32_t i = 1; i <= NUMBERS; i++)
			n += (m->of[r] >> i & 1) && !(m->of[r] >> (i - 1) & 1);
	}
	assert_int_equal(s->n, n);
}

static void change(struct spans *s, struct model *m)
{
	const int root = (int)draw(ROOTS);
	const uint64_t no = 1 + draw(NUMBERS);
	const uint32_t bit = UINT32_C(1) << no;

	switch (draw(3)) {
	case 0:
		assert_int_equal(spans_take(s, root, no), (m->of[root] & bit) != 0);
		m->of[root] &= ~bit;
		return;
	case 1:
		assert_int_equal(spans_add(s, root, no), !(m->of[root] & bit));
		break;
	default:
		if (!(m->of[root] & bit))
			spans_count(s, root, no);
	}
	m->of[root] |= bit;
}

static void sets_of_broadcasts(void **state)
{
	struct spans a = { 0 }, b = { 0 };
	struct model ma = { 0 }, mb = { 0 };

	(void)state;
	for (int i = 0; i < STEPS; i++) {
		struct model left = ma;
		struct spans minus;

		change(&a, &ma);
		change(&b, &mb);
		check(&a, &ma);
		minus = spans_minus(&a, &b);
		for (int r = 0; r < ROOTS; r++)
			left.of[r] = ma.of[r] & ~mb.of[r];
		check(&minus, &left);
		spans_free(&minus);
	}
	spans_free(&a);
	spans_free(&b);
}

static void what_comes_in_order_is_one_span(void **state)
{
	struct spans s = { 0 };

	(void)state;
	for (uint64_t no = 1; no <= 1000; no++)
		for (int r = ROOTS; r-- > 0;)
			spans_count(&s, r, no);
	assert_int_equal(s.n, ROOTS);
	spans_free(&s);
}

static void what_is_no_set_does_not_fit(void **state)
{
	const struct span touch[] = { { .root = 1, .from = 1, .to = 3 }, { .root = 1, .from = 3, .to = 4 } };
	const struct span back[] = { { .root = 2, .from = 1, .to = 3 }, { .root = 1, .from = 5, .to = 6 } };
	const struct span zero = { .root = 1, .from = 0, .to = 3 }, none = { .root = 1, .from = 3, .to = 3 };
	const struct span nobody = { .root = 4, .from = 1, .to = 2 }, below = { .root = -1, .from = 1, .to = 2 };

	(void)state;
	assert_true(spans_fit(touch, 1, ROOTS));
	assert_false(spans_fit(touch, 2, ROOTS));
	assert_false(spans_fit(back, 2, ROOTS));
	assert_false(spans_fit(&zero, 1, ROOTS) || spans_fit(&none, 1, ROOTS));
	assert_false(spans_fit(&nobody, 1, ROOTS) || spans_fit(&below, 1, ROOTS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets_of_broadcasts),
		cmocka_unit_test(what_comes_in_order_is_one_span),
		cmocka_unit_test(what_is_no_set_does_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
