/* SPDX-License-Identifier: Apache-2.0 */
/* test_cores.c: nodes with the same cores count them once, nodes with cores of their own all. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../runtime/machine/start/cores.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void each_set_counts_once(void **state)
{
	static const struct cores_name a = { .set = 1, .n = 4 }, b = { .set = 2, .n = 3 };
	struct cores all = { 0 };

	(void)state;
	cores_add(&all, &a);
	cores_add(&all, &a);
	assert_int_equal(all.n, 4);
	cores_add(&all, &b);
	cores_add(&all, &a);
	cores_add(&all, &b);
	assert_int_equal(all.n, 7);
	free(all.sets);
}

static void the_process_says_what_it_may_use(void **state)
{
	cpu_set_t before, one;
	struct cores_name all, less;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
	all = cores_look();
	assert_int_equal(all.n, CPU_COUNT(&before));
	assert_true(cores_look().set == all.set);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
	less = cores_look();
	assert_int_equal(less.n, 1);
	assert_true((less.set == all.set) == (all.n == 1));
	assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

static void the_user_may_say_another_number(void **state)
{
	(void)state;
	setenv("CK_CORES", "5", 1);
	assert_int_equal(cores_look().n, 5);
	unsetenv("CK_CORES");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_set_counts_once),
		cmocka_unit_test(the_process_says_what_it_may_use),
		cmocka_unit_test(the_user_may_say_another_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
