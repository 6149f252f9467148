/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ring.c: the ring of one writer and one reader, in one thread and between two threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "../../runtime/machine/base/ring.h"

struct ends {
	struct ring *ring;
	struct ring_writer w;
	struct ring_reader r;
};

static void make(struct ends *e)
{
	e->ring = aligned_alloc(RING_ALIGN, sizeof *e->ring);
	assert_non_null(e->ring);
	memset(e->ring, 0, sizeof *e->ring);
	ring_writer_init(&e->w, e->ring);
	ring_reader_init(&e->r, e->ring);
}

static bool put(struct ends *e, uint64_t n)
{
	struct ring_slot *slot = ring_claim(&e->w);

	if (!slot)
		return false;
	slot->prio = (int32_t)n;
	ring_copy(slot->body, &(uint64_t[2]){ n, ~n }, sizeof n);
	ring_publish(&e->w, slot, ring_tag((uint8_t)n, (uint16_t)(n * 3), 8));
	return true;
}

/* False: nothing there. */
static bool get(struct ends *e, uint64_t expected)
{
	uint64_t tag, body;
	const struct ring_slot *slot = ring_look(&e->r, &tag);

	if (!slot)
		return false;
	memcpy(&body, slot->body, sizeof body);
	assert_int_equal(body, expected);
	assert_int_equal(slot->prio, (int32_t)expected);
	assert_int_equal(ring_route(tag), (uint8_t)expected << 16 | (uint16_t)(expected * 3));
	assert_int_equal(ring_handler(tag), (uint16_t)(expected * 3));
	assert_int_equal(ring_size(tag), 8);
	ring_release(&e->r);
	return true;
}

static void a_fresh_ring_is_empty(void **state)
{
	struct ends e;

	(void)state;
	make(&e);
	assert_false(get(&e, 0));
	free(e.ring);
}

static void what_was_written_is_read_once(void **state)
{
	struct ends e;

	(void)state;
	make(&e);
	for (uint64_t n = 0; n < 5 * RING_SLOTS; n++) {
		assert_true(put(&e, n));
		assert_true(get(&e, n));
		assert_false(get(&e, n + 1));
	}
	free(e.ring);
}

static void a_full_ring_takes_no_more_and_loses_nothing(void **state)
{
	struct ends e;

	(void)state;
	make(&e);
	for (uint64_t n = 0; n < RING_SLOTS; n++)
		assert_true(put(&e, n));
	assert_false(put(&e, 0));
	for (uint64_t n = 0; n < RING_SLOTS; n++)
		assert_true(get(&e, n));
	assert_false(get(&e, 0));
	free(e.ring);
}

static void room_is_told_by_quarters(void **state)
{
	struct ends e;
	uint64_t in = 0, out = 0;

	(void)state;
	make(&e);
	while (put(&e, in))
		in++;
	while (out < RING_REPORT - 1)
		assert_true(get(&e, out++));
	assert_false(put(&e, in));
	assert_true(get(&e, out++));
	while (put(&e, in))
		in++;
	assert_int_equal(in, RING_SLOTS + RING_REPORT);
	free(e.ring);
}

static void a_tag_outlives_the_end_of_its_lap_counter(void **state)
{
	const uint64_t first = (((uint64_t)1 << (64 - RING_LAP_SHIFT)) - 3) * RING_SLOTS;
	struct ends e;

	(void)state;
	make(&e);
	e.w.n_written = e.r.n_read = first;
	e.w.limit = first + RING_SLOTS;
	e.r.lap = ring_lap(first);
	for (uint64_t n = 0; n < 5 * RING_SLOTS; n++) {
		assert_true(put(&e, n));
		assert_true(get(&e, n));
		assert_false(get(&e, n));
	}
	free(e.ring);
}

/* ---- messages ----------------------------------------------------------------------------- */

enum { MESSAGE_ROOM = sizeof(struct cmi_msg) + RING_BODY_MOST + 16, EDGE = 0xee };

struct block {
	_Alignas(CMI_MSG_ALIGN) unsigned char bytes[MESSAGE_ROOM];
};

/* A message whose body counts from 1, and whose usual word is `word`. */
static struct cmi_msg *message_of(struct block *b, size_t body, uint64_t word)
{
	struct cmi_msg *m = (struct cmi_msg *)(void *)b->bytes;

	memset(b->bytes, EDGE, sizeof b->bytes);
	for (size_t i = 0; i < body; i++)
		b->bytes[sizeof *m + i] = (unsigned char)(i + 1);
	if (body >= CMI_USUAL_AT + sizeof word)
		memcpy(b->bytes + sizeof *m + CMI_USUAL_AT, &word, sizeof word);
	m->size = sizeof *m + body;
	m->route = 0x51234;
	m->prio = -7;
	return m;
}

/* It arrives whole, nothing behind it is written, and the lines are as few as can be. */
static void crosses(size_t body, uint64_t word)
{
	struct block sent, got;
	struct cmi_msg *m = message_of(&sent, body, word), *copy = (struct cmi_msg *)(void *)got.bytes;
	const bool is_short = body > RING_FIRST_BODY && word == CMI_USUAL;
	const size_t room = sizeof *m + ((body + 15) & ~(size_t)15);
	const struct ring_slot *slot;
	struct ends e;
	uint64_t tag;

	make(&e);
	memset(got.bytes, EDGE, sizeof got.bytes);
	ring_put(&e.w, ring_claim(&e.w), 3, m);
	assert_int_equal(e.w.n_lines, (RING_HEAD_BYTES + body - (is_short ? 8 : 0) + 63) / 64);
	slot = ring_look(&e.r, &tag);
	assert_non_null(slot);
	assert_int_equal(slot->n_past, 3);
	assert_int_equal(ring_size(tag), m->size);
	assert_int_equal(ring_lacks(tag), is_short ? 8 : 0);
	for (const unsigned char *p = (const unsigned char *)slot + 64 * e.w.n_lines;
	     p < (const unsigned char *)(slot + 1); p++)
		assert_int_equal(*p, 0);
	ring_get(copy, slot, tag, 5);
	assert_int_equal(copy->route, 0x51234 | (uint64_t)5 << 32);
	assert_int_equal(copy->prio, -7);
	assert_memory_equal(copy + 1, m + 1, body);
	for (size_t i = room; i < sizeof got.bytes; i++)
		assert_int_equal(got.bytes[i], EDGE);
	free(e.ring);
}

static void messages_of_all_sizes_arrive_whole(void **state)
{
	(void)state;
	for (size_t body = 0; body <= RING_BODY_MOST; body++) {
		crosses(body, CMI_USUAL);
		crosses(body, CMI_USUAL + 1);
	}
}

/* ---- two threads ------------------------------------------------------------------------- */

enum { MANY = 200000 };

static uint64_t next_random(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	return *s ^= *s << 17;
}

/* Bodies of all sizes, whose every byte says which message it belongs to. */
static void *write_many(void *arg)
{
	struct ends *e = arg;
	uint64_t s = 1;

	for (uint64_t n = 0; n < MANY; n++) {
		unsigned char body[RING_BODY_MOST];
		size_t bytes = 1 + next_random(&s) % RING_BODY_MOST;
		struct ring_slot *slot;

		while (!(slot = ring_claim(&e->w)))
			sched_yield();
		memset(body, (int)(n & 0xff), sizeof body);
		ring_copy(slot->body, body, bytes);
		ring_publish(&e->w, slot, ring_tag(0, (uint16_t)n, (uint16_t)bytes));
	}
	return NULL;
}

static void two_threads_see_whole_bodies_in_order(void **state)
{
	struct ends e;
	pthread_t writer;
	uint64_t seed = (uint64_t)time(NULL) | 1, s = seed;

	(void)state;
	print_message("seed %llu\n", (unsigned long long)seed);
	make(&e);
	assert_int_equal(pthread_create(&writer, NULL, write_many, &e), 0);
	for (uint64_t n = 0; n < MANY;) {
		uint64_t tag;
		const struct ring_slot *slot = ring_look(&e.r, &tag);

		if (!slot || next_random(&s) % 64 == 0) {
			sched_yield();
			continue;
		}
		assert_int_equal(ring_handler(tag), (uint16_t)n);
		for (size_t i = 0; i < ring_size(tag); i++)
			if (slot->body[i] != (n & 0xff))
				fail_msg("message %llu: byte %zu of %u is %u",
					 (unsigned long long)n, i, ring_size(tag), slot->body[i]);
		ring_release(&e.r);
		n++;
	}
	pthread_join(writer, NULL);
	free(e.ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fresh_ring_is_empty),
		cmocka_unit_test(what_was_written_is_read_once),
		cmocka_unit_test(a_full_ring_takes_no_more_and_loses_nothing),
		cmocka_unit_test(room_is_told_by_quarters),
		cmocka_unit_test(a_tag_outlives_the_end_of_its_lap_counter),
		cmocka_unit_test(messages_of_all_sizes_arrive_whole),
		cmocka_unit_test(two_threads_see_whole_bodies_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
