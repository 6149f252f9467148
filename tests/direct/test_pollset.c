/* SPDX-License-Identifier: Apache-2.0 */
/* test_pollset.c: the set of watched words finds every arrival once and never starves a word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "../../runtime/direct/core/pollset.h"

enum { ITEMS = 200, IDLE = 7, HERE = 8 };

struct watched {
	struct poll_item item;
	_Atomic uint64_t word;
};

static struct watched *watch_all(struct pollset *set, uint32_t n)
{
	struct watched *w = calloc(n, sizeof(*w));

	pollset_init(set);
	pollset_reserve(set, n);
	for (uint32_t i = 0; i < n; i++) {
		atomic_store(&w[i].word, IDLE);
		w[i].item = (struct poll_item){&w[i].word, IDLE, POLLSET_OUT};
		pollset_add(set, &w[i].item);
	}
	return w;
}

static void an_idle_set_finds_nothing(void **state)
{
	struct pollset set;
	struct poll_item *fired[4];
	struct watched *w = watch_all(&set, ITEMS);

	(void)state;
	assert_int_equal(pollset_scan(&set, fired, 4), 0);
	assert_int_equal(set.n, ITEMS);
	pollset_fini(&set);
	free(w);
}

static void an_empty_set_finds_nothing(void **state)
{
	struct pollset set;
	struct poll_item *fired[4];

	(void)state;
	pollset_init(&set);
	assert_int_equal(pollset_scan(&set, fired, 4), 0);
	pollset_fini(&set);
}

static void an_arrival_is_taken_out(void **state)
{
	struct pollset set;
	struct poll_item *fired[4];
	struct watched *w = watch_all(&set, ITEMS);

	(void)state;
	atomic_store(&w[17].word, HERE);
	assert_int_equal(pollset_scan(&set, fired, 4), 1);
	assert_ptr_equal(fired[0], &w[17].item);
	assert_int_equal(w[17].item.slot, POLLSET_OUT);
	assert_int_equal(pollset_scan(&set, fired, 4), 0);
	pollset_fini(&set);
	free(w);
}

static void all_arrivals_are_found_over_bounded_scans(void **state)
{
	struct pollset set;
	struct poll_item *fired[64];
	struct watched *w = watch_all(&set, ITEMS);
	uint32_t n, total = 0;

	(void)state;
	for (int i = 0; i < ITEMS; i++)
		atomic_store(&w[i].word, HERE);
	while ((n = pollset_scan(&set, fired, 64)) > 0) {
		assert_true(n <= 64);
		total += n;
	}
	assert_int_equal(total, ITEMS);
	assert_int_equal(set.n, 0);
	pollset_fini(&set);
	free(w);
}

/* Items that fire again at once must not keep the others from their turn. */
static void busy_items_do_not_starve_the_others(void **state)
{
	struct pollset set;
	struct poll_item *fired[8];
	struct watched *w = watch_all(&set, 64);
	uint32_t seen[64] = {0};

	(void)state;
	for (int i = 0; i < 64; i++)
		atomic_store(&w[i].word, HERE);
	for (int pass = 0; pass < 64; pass++) {
		uint32_t n = pollset_scan(&set, fired, 8);

		for (uint32_t i = 0; i < n; i++) {
			seen[(struct watched *)fired[i] - w]++;
			pollset_add(&set, fired[i]);
		}
	}
	for (int i = 0; i < 64; i++)
		assert_true(seen[i] > 0);
	pollset_fini(&set);
	free(w);
}

/* Against a plain array of flags: what is watched and not idle is found, nothing else. */
static void random_use_agrees_with_a_plain_model(void **state)
{
	const char *given = getenv("SEED");
	unsigned seed = given ? (unsigned)strtoul(given, NULL, 0) : (unsigned)time(NULL);
	struct pollset set;
	struct poll_item *fired[16];
	struct watched *w = watch_all(&set, ITEMS);
	bool in[ITEMS], here[ITEMS] = {false};

	(void)state;
	print_message("SEED=%u\n", seed);
	srandom(seed);
	for (int i = 0; i < ITEMS; i++)
		in[i] = true;
	for (int step = 0; step < 100000; step++) {
		int i = (int)(random() % ITEMS);

		switch (random() % 4) {
		case 0:
			if (in[i])
				pollset_remove(&set, &w[i].item);
			in[i] = false;
			break;
		case 1:
			if (in[i])
				break;
			here[i] = random() % 2;
			atomic_store(&w[i].word, here[i] ? HERE : IDLE);
			pollset_add(&set, &w[i].item);
			in[i] = true;
			break;
		case 2:
			here[i] = true;
			atomic_store(&w[i].word, HERE);
			break;
		default:
			for (uint32_t n = pollset_scan(&set, fired, 16); n-- > 0;) {
				int k = (int)((struct watched *)fired[n] - w);

				assert_true(in[k] && here[k]);
				in[k] = false;
			}
		}
	}
	while (pollset_scan(&set, fired, 1))
		in[(struct watched *)fired[0] - w] = false;
	for (int i = 0; i < ITEMS; i++)
		assert_false(in[i] && here[i]);
	pollset_fini(&set);
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_set_finds_nothing),
		cmocka_unit_test(an_idle_set_finds_nothing),
		cmocka_unit_test(an_arrival_is_taken_out),
		cmocka_unit_test(all_arrivals_are_found_over_bounded_scans),
		cmocka_unit_test(busy_items_do_not_starve_the_others),
		cmocka_unit_test(random_use_agrees_with_a_plain_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
