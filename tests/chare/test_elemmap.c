/* SPDX-License-Identifier: Apache-2.0 */
/* test_elemmap.c: a table from elements to numbers has what was added and not removed, whatever the order, the keys and
 * the size; and it stays small. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <cmocka.h>

#include "../../runtime/chare/core/tables/elemmap.h"

enum { KEYS = 3000, STEPS = 200000 };

static uint64_t random_state = 1;
static uint32_t has[KEYS];        /* the number that the table should have; 0: none */

static uint32_t draw(uint32_t below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(random_state >> 33) % below;
}

/* Places in a row; places far apart; indices that differ in one of three numbers. */
static struct elem_key dense(uint32_t i) { return elem_key_of_place(i); }
static struct elem_key far_apart(uint32_t i) { return elem_key_of_place((uint64_t)i << 32); }
static struct elem_key by_index(uint32_t i)
{
	return (struct elem_key){ i % 10 | (uint64_t)(i / 10 % 10) << 32, i / 100 };
}

static void check_all(const struct elemmap *m, struct elem_key (*key)(uint32_t))
{
	uint32_t n = 0, n_seen = 0;

	for (uint32_t i = 0; i < KEYS; i++) {
		const struct elemmap_slot *s = elemmap_find(m, key(i));

		assert_int_equal(s ? s->no : 0, has[i]);
		n += has[i] != 0;
	}
	for (uint32_t i = 0; elemmap_each(m, &i); i++)
		n_seen++;
	assert_int_equal(m->n, n);
	assert_int_equal(n_seen, n);
}

/* The number of elements swells and shrinks. */
static void one_step(struct elemmap *m, struct elem_key (*key)(uint32_t), int step)
{
	const uint32_t i = draw(KEYS);
	struct elemmap_slot *s = elemmap_find(m, key(i));
	const uint32_t no = 1 + draw(UINT32_MAX - 1);
	const bool more = draw(100) < (step / 20000 % 2 ? 20u : 80u);

	if (!s && more)
		elemmap_add(m, key(i), has[i] = no);
	else if (s && more)
		s->no = has[i] = no;
	else if (s)
		elemmap_remove(m, s), has[i] = 0;
}

static void it_has_what_was_added(void **state)
{
	static struct elem_key (*const keys[])(uint32_t) = { dense, far_apart, by_index };

	(void)state;
	for (int k = 0; k < 3; k++) {
		struct elemmap m = { 0 };

		for (uint32_t i = 0; i < KEYS; i++)
			has[i] = 0;
		for (int step = 0; step < STEPS; step++) {
			one_step(&m, keys[k], step);
			if (step % 5000 == 0)
				check_all(&m, keys[k]);
		}
		check_all(&m, keys[k]);
		elemmap_free(&m);
		assert_null(elemmap_find(&m, keys[k](1)));
	}
}

/* Bytes for each element, and slots that a search looks at: what the comment in elemmap.h promises. */
static void it_is_small_and_searches_are_short(void **state)
{
	struct elemmap m = { 0 };
	uint64_t n_looked = 0;

	(void)state;
	for (uint32_t i = 0; i < 100000; i++) {
		elemmap_add(&m, elem_key_of_place(i), i + 1);
		if (i > 100)
			assert_true((double)m.size * sizeof *m.slot / m.n <= 16 / 0.8 * 1.25 + 0.5);
	}
	for (uint32_t i = 0; i < 100000; i++) {
		const struct elem_key k = elem_key_of_place(i);
		const uint32_t at = (uint32_t)(elemmap_find(&m, k) - m.slot), from = elemmap_start(&m, k);

		n_looked += (at >= from ? at - from : at + m.size - from) + 1;
	}
	assert_true(n_looked < 100000 * 4);
	elemmap_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_has_what_was_added),
		cmocka_unit_test(it_is_small_and_searches_are_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
