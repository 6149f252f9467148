/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuts.c: the home of a place in a table of cuts, whatever the cuts: PEs without places at either end and in the
 * middle, all places on one PE, many more PEs than places, many more places than PEs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "../../runtime/chare/core/objects/collection.h"

enum { PES_MOST = 3000 };

static uint64_t at[PES_MOST + 1];
static uint64_t random_state = 1;

static uint64_t draw(uint64_t below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (random_state >> 20) % below;
}

static int compare(const void *a_, const void *b_)
{
	const uint64_t a = *(const uint64_t *)a_, b = *(const uint64_t *)b_;

	return (a > b) - (a < b);
}

static void check_place(const struct cuts *k, uint64_t place)
{
	const int p = cuts_home(k, place);

	assert_true(cuts_first(k, p) <= place && place < cuts_first(k, p + 1));
}

/* Of few places all; of many the ends of each run, and some. */
static void check_all(int n_pes)
{
	struct cuts *k = cuts_new(at, n_pes);
	const uint64_t total = at[n_pes];

	for (int p = 0; p <= n_pes; p++) {
		assert_int_equal(cuts_first(k, p), at[p]);
		if (at[p])
			check_place(k, at[p] - 1);
		if (at[p] < total)
			check_place(k, at[p]);
	}
	for (uint64_t i = 0; i < total && total <= 10000; i++)
		check_place(k, i);
	for (int i = 0; i < 1000 && total; i++)
		check_place(k, draw(total));
	free(k);
}

static void draw_cuts(int n_pes, uint64_t total, uint64_t most)
{
	at[0] = 0;
	for (int p = 1; p < n_pes; p++)
		at[p] = draw(most + 1);
	at[n_pes] = total;
	qsort(at, (size_t)n_pes, sizeof *at, compare);
}

static void each_place_is_at_the_pe_of_its_run(void **state)
{
	static const int pes[] = { 1, 2, 3, 7, 64, 1000, PES_MOST };
	static const uint64_t totals[] = { 1, 2, 5, 100, 4096, 1000003, UINT64_C(1) << 40 };

	(void)state;
	for (size_t i = 0; i < sizeof pes / sizeof *pes; i++)
		for (size_t j = 0; j < sizeof totals / sizeof *totals; j++)
			for (int uneven = 0; uneven < 2; uneven++) {
				/* Uneven: nearly all PEs share the first hundredth. */
				draw_cuts(pes[i], totals[j], uneven ? totals[j] / 100 : totals[j]);
				check_all(pes[i]);
			}
}

static void all_places_may_be_on_one_pe(void **state)
{
	(void)state;
	for (int home = 0; home < 5; home++) {
		for (int p = 0; p <= 5; p++)
			at[p] = p <= home ? 0 : 17;
		check_all(5);
	}
}

static int n_runs(int n_pes, const uint64_t *of)
{
	struct cuts *k = cuts_new(of, n_pes);
	const int n = cuts_n_runs(k);

	free(k);
	return n;
}

/* Scans go from PE to PE only in such an array. */
static void runs_count_if_the_last_pes_alone_have_none(void **state)
{
	(void)state;
	assert_int_equal(n_runs(3, (uint64_t[]){ 0, 2, 3, 9 }), 3);
	assert_int_equal(n_runs(3, (uint64_t[]){ 0, 2, 9, 9 }), 2);
	assert_int_equal(n_runs(3, (uint64_t[]){ 0, 0, 3, 9 }), 0);
	assert_int_equal(n_runs(3, (uint64_t[]){ 0, 3, 3, 9 }), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_place_is_at_the_pe_of_its_run),
		cmocka_unit_test(all_places_may_be_on_one_pe),
		cmocka_unit_test(runs_count_if_the_last_pes_alone_have_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
