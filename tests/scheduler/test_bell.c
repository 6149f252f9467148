/* SPDX-License-Identifier: Apache-2.0 */
/* test_bell.c: the receiver hears everything said through a bell once and in order, however full the ring
 * is, and then sees all that the sender wrote before. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "../../runtime/scheduler/base/bell.h"

enum { SLOTS = 8 };

struct pair {
	struct bell *bell;
	struct bell_writer w;
	struct bell_reader r;
};

static struct pair new_pair(uint32_t n_slots)
{
	struct pair p = {.bell = aligned_alloc(64, (bell_bytes(n_slots) + 63) / 64 * 64)};

	memset(p.bell, 0, bell_bytes(n_slots));
	bell_write_init(&p.w, p.bell, n_slots);
	bell_read_init(&p.r, p.bell, n_slots);
	return p;
}

static uint64_t hear(struct pair *p)
{
	uint64_t word = 0;

	assert_true(bell_rings(&p->r));
	assert_true(bell_next(&p->r, &word));
	return word;
}

static void a_new_bell_is_silent(void **state)
{
	struct pair p = new_pair(SLOTS);
	uint64_t word;

	(void)state;
	assert_false(bell_rings(&p.r));
	assert_false(bell_next(&p.r, &word));
	assert_int_equal(bell_pending(&p.w), 0);
	free(p.bell);
}

static void any_word_of_63_bits_is_heard_once(void **state)
{
	static const uint64_t words[] = {0, 1, BELL_END, (uint64_t)1 << 62, 0x123456789abcdef};
	struct pair p = new_pair(SLOTS);

	(void)state;
	for (int lap = 0; lap < 20; lap++)
		for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
			assert_true(bell_ring(&p.w, words[i]));
			assert_true(hear(&p) == words[i]);
			assert_false(bell_rings(&p.r));
			bell_taken(&p.r);
		}
	free(p.bell);
}

static void a_full_ring_refuses_until_its_words_are_taken(void **state)
{
	struct pair p = new_pair(SLOTS);

	(void)state;
	for (uint64_t round = 0; round < 5; round++) {
		for (uint64_t i = 0; i < SLOTS; i++)
			assert_true(bell_ring(&p.w, i));
		assert_false(bell_ring(&p.w, 99));
		assert_int_equal(bell_pending(&p.w), SLOTS);
		assert_int_equal(hear(&p), 0);
		assert_false(bell_ring(&p.w, 99)); /* heard, but not given back */
		bell_taken(&p.r);
		assert_true(bell_ring(&p.w, SLOTS));
		assert_false(bell_ring(&p.w, 99));
		for (uint64_t i = 1; i <= SLOTS; i++)
			assert_int_equal(hear(&p), i);
		assert_false(bell_rings(&p.r));
		bell_taken(&p.r);
		assert_int_equal(bell_pending(&p.w), 0);
	}
	free(p.bell);
}

static void random_use_keeps_the_order(void **state)
{
	const char *given = getenv("SEED");
	unsigned seed = given ? (unsigned)strtoul(given, NULL, 0) : (unsigned)time(NULL);
	struct pair p = new_pair(SLOTS);
	uint64_t said = 0, heard = 0, given_back = 0, word;

	(void)state;
	print_message("SEED=%u\n", seed);
	srandom(seed);
	for (int step = 0; step < 100000; step++) {
		for (long n = random() % (SLOTS + 2); n > 0; n--) {
			bool room = said - given_back < SLOTS;

			assert_int_equal(bell_ring(&p.w, said), room);
			said += room;
		}
		for (long n = random() % (SLOTS + 2); n > 0; n--) {
			assert_int_equal(bell_next(&p.r, &word), heard < said);
			if (heard < said)
				assert_true(word == heard++);
		}
		if (random() % 2) {
			bell_taken(&p.r);
			given_back = heard;
		}
		assert_int_equal(bell_pending(&p.w), said - given_back);
	}
	free(p.bell);
}

/* ---- two threads --------------------------------------------------------------------- */

enum { WORDS = 200000 };

struct crossing {
	struct pair p;
	uint64_t body[SLOTS]; /* plain: the bell alone orders it */
};

static void *writer(void *arg)
{
	struct crossing *c = arg;

	for (uint64_t i = 0; i < WORDS; i++) {
		/* As a channel's buffer: written again only when its last word was taken. */
		while (bell_pending(&c->p.w) == SLOTS)
			;
		c->body[i % SLOTS] = i * 3;
		if (!bell_ring(&c->p.w, i))
			return NULL;
	}
	return arg;
}

static void what_was_written_before_is_seen(void **state)
{
	struct crossing c = {.p = new_pair(SLOTS)};
	pthread_t thread;
	void *well;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, writer, &c), 0);
	for (uint64_t i = 0, word; i < WORDS;) {
		if (!bell_next(&c.p.r, &word))
			continue;
		assert_true(word == i && c.body[i % SLOTS] == i * 3);
		bell_taken(&c.p.r);
		i++;
	}
	pthread_join(thread, &well);
	assert_ptr_equal(well, &c);
	free(c.p.bell);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_bell_is_silent),
		cmocka_unit_test(any_word_of_63_bits_is_heard_once),
		cmocka_unit_test(a_full_ring_refuses_until_its_words_are_taken),
		cmocka_unit_test(random_use_keeps_the_order),
		cmocka_unit_test(what_was_written_before_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
