/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_lb_dump.c: statistics that were written come back to the bit; a damaged file is refused with a line that says
 * where, and never read as something else.
 */
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "check_skip.h"
#include "lb_make.h"
#include "../../bench/lb_read.h"
#include "../../runtime/strategies/loads/lb_dump.h"

enum { WHY = 160 };

/* What is written of these statistics; free() it. */
static char *text_of(const CkLBStats *s, int times, size_t *len_p)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, len_p);

	for (int k = 0; k < times; k++)
		assert_int_equal(lb_dump_write(f, "Block", s), 0);
	fclose(f);
	return text;
}

/* The result of reading a text's n-th record, 0 the first. */
static int read_text(const char *text, size_t len, int n, struct lb_dump *d, char *why)
{
	FILE *f = fmemopen((void *)text, len, "r");
	size_t line = 1;
	int is = 1;

	why[0] = '\0';
	for (int k = 0; k <= n && is == 1; k++) {
		if (k)
			lb_dump_free(d);
		is = lb_dump_read(f, &line, d, why, WHY);
	}
	fclose(f);
	return is;
}

static void assert_same(const CkLBStats *a, const CkLBStats *b)
{
	size_t pes = (size_t)a->n_pes;

	assert_true(a->n_pes == b->n_pes && a->n_nodes == b->n_nodes && a->n == b->n && a->n_edges == b->n_edges);
	assert_true(a->step == b->step && a->tolerance == b->tolerance);
	assert_memory_equal(a->node_of, b->node_of, pes * sizeof *a->node_of);
	assert_memory_equal(a->background, b->background, pes * sizeof *a->background);
	assert_memory_equal(a->speed, b->speed, pes * sizeof *a->speed);
	assert_memory_equal(a->element, b->element, a->n * sizeof *a->element);
	for (size_t k = 0; k < a->n_edges; k++) {
		const CkLBEdge *x = &a->edge[k], *y = &b->edge[k];

		assert_true(x->from == y->from && x->to == y->to && x->messages == y->messages && x->bytes == y->bytes);
	}
}

static void what_is_written_comes_back(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 32; seed++) {
		struct made m = made_random(seed);
		struct lb_dump d;
		char why[WHY];
		size_t len;

		/* Positions that are the index, and others; indices of all lengths. */
		for (size_t i = 0; i < m.s.n; i += 3) {
			m.element[i].position[2] = (float)(1 / (1 + (double)i));
			m.element[i].index[i % 6] = -(int32_t)i;
			m.element[i].bytes = i << 40;
		}
		char *text = text_of(&m.s, 3, &len);

		for (int k = 0; k < 3; k++) {
			assert_int_equal(read_text(text, len, k, &d, why), 1);
			assert_string_equal(d.array, "Block");
			assert_same(&m.s, &d.s);
			lb_dump_free(&d);
		}
		assert_int_equal(read_text(text, len, 3, &d, why), 0);
		free(text);
		made_free(&m);
	}
}

static void the_locale_does_not_matter(void **state)
{
	static const char *const names[] = { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8" };
	struct made m = made_random(3);
	struct lb_dump d;
	char why[WHY];
	size_t len;
	bool found = false;

	(void)state;
	for (int k = 0; k < 3 && !found; k++)
		found = setlocale(LC_NUMERIC, names[k]);
	if (!found) {
		made_free(&m);
		CHECK_SKIP("no locale with a decimal comma is installed");
	}
	char *text = text_of(&m.s, 1, &len);

	assert_int_equal(read_text(text, len, 0, &d, why), 1);
	assert_same(&m.s, &d.s);
	assert_string_equal(localeconv()->decimal_point, ",");
	setlocale(LC_NUMERIC, "C");
	lb_dump_free(&d);
	free(text);
	made_free(&m);
}

static void a_file_that_cannot_be_written_is_reported(void **state)
{
	struct made m = made_random(1);
	FILE *f = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(f);
	assert_int_equal(lb_dump_write(f, "Block", &m.s), -28); /* ENOSPC */
	fclose(f);
	made_free(&m);
}

#define HEAD "chard-lb 1\narray A step 7 tolerance 0.05\n"
#define PES HEAD "sizes 2 1 2 1\npe 0 0 1\npe 0 0.5 1\n"
#define ELEMENTS PES "element 0 0 1.5 10 0\nelement 1 1 0 0 1,2 0,1,2\n"

static void what_is_wrong_is_named(void **state)
{
	static const struct { const char *text, *why; } cases[] = {
		{ "bla", "line 1: \"bla\" where \"chard-lb\" is expected" },
		{ "chard-lbx", "line 1: \"chard-lbx\" where \"chard-lb\" is expected" },
		{ "chard-lb 2\n", "line 1: version 2 of statistics; this one reads version 1" },
		{ "chard-lb 1\n", "line 2: the file ends where \"array\" is expected" },
		{ "chard-lb 1\narray\n", "line 2: the array has no name, or a long one" },
		{ "chard-lb 1\narray A step -1 tolerance 0\n", "line 2: no step and tolerance" },
		{ "chard-lb 1\narray A step 1 tolerance 0 x\n", "line 2: no step and tolerance" },
		{ HEAD "sizes 0 1 1 1\n", "line 3: bad sizes" },
		{ HEAD "sizes 1 2 1 1\n", "line 3: bad sizes" },
		{ HEAD "sizes 1 1 -1 1\n", "line 3: bad sizes" },
		{ HEAD "sizes 1 1 1 99999999999\n", "line 3: bad sizes" },
		{ HEAD "sizes 2 1 2 1\npe 1 0 1\n", "line 4: a bad PE" },
		{ HEAD "sizes 2 1 2 1\npe 0 0\n", "line 4: a bad PE" },
		{ PES "element 2 0 0 0 0\n", "line 6: a bad element" },
		{ PES "element 0 2 0 0 0\n", "line 6: a bad element" },
		{ PES "element 0 0 x 0 0\n", "line 6: a bad element" },
		{ PES "element 0 0 0 0\n", "line 6: a bad element" },
		{ PES "element 0 0 0 0 1,2,3,4,5,6,7\n", "line 6: a bad element" },
		{ PES "element 0 0 0 0 1 0,0\n", "line 6: a bad element" },
		{ PES "element 0 0 0 0 1,\n", "line 6: a bad element" },
		{ PES "edge 0 1 1 1\n", "line 6: \"edge 0 1 1 1\" where \"element\" is expected" },
		{ ELEMENTS "edge 0 2 1 1\nend\n", "line 8: a bad edge" },
		{ ELEMENTS "edge 0 1 1 1\n", "line 9: the file ends where \"end\" is expected" },
		{ ELEMENTS "edge 0 1 1 1\nedge 0 1 1 1\n", "line 9: \"edge 0 1 1 1\" where \"end\" is expected" },
		{ HEAD "sizes 1 1 1 2\npe 0 0 1\nelement 0 0 0 0 0\nedge 0 0 1 1\nedge 0 0 1 1\n",
		  "line 7: the edge does not follow the one before" },
	};
	struct lb_dump d;
	char why[WHY];

	(void)state;
	assert_int_equal(read_text(ELEMENTS "edge 0 1 1 1\nend\n", strlen(ELEMENTS "edge 0 1 1 1\nend\n"), 0, &d, why), 1);
	assert_int_equal(d.s.element[1].index[1], 2);
	assert_int_equal(d.s.element[1].position[0], 0);
	lb_dump_free(&d);
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		assert_int_equal(read_text(cases[k].text, strlen(cases[k].text), 0, &d, why), -1);
		assert_string_equal(why, cases[k].why);
	}
}

/* Cut off anywhere it is refused. With a changed byte it may still be statistics; then strategies can use them. */
static void damage_is_survived(void **state)
{
	struct made m = made_grid(3, 2, 4, 3);
	uint64_t random = cmi_random_seed(1);
	size_t len, which;
	char *text = text_of(&m.s, 1, &len), why[WHY];
	struct lb_dump d;
	int n_read = 0;

	(void)state;
	for (size_t cut = 1; cut + 1 < len; cut++)
		assert_int_equal(read_text(text, cut, 0, &d, why), -1);
	for (int k = 0; k < 5000; k++) {
		size_t at = cmi_random_below(&random, len);
		char before = text[at];

		text[at] = (char)cmi_random_below(&random, 256);
		if (read_text(text, len, 0, &d, why) == 1) {
			int32_t *to = calloc(d.s.n + 1, sizeof *to);

			n_read++;
			assert_int_equal(lb_strategy_run(lb_strategy_find(NULL, "cuts"), &d.s, to, &which), 0);
			assert_int_equal(lb_strategy_run(lb_strategy_find(NULL, "hier"), &d.s, to, &which), 0);
			free(to);
			lb_dump_free(&d);
		}
		text[at] = before;
	}
	assert_in_range(n_read, 50, 4500);
	free(text);
	made_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_comes_back),
		cmocka_unit_test(the_locale_does_not_matter),
		cmocka_unit_test(a_file_that_cannot_be_written_is_reported),
		cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(damage_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
