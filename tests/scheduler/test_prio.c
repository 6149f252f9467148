/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_prio.c: compares wide priorities in the run queue with a reference, which writes every priority as a
 * text of '0' and '1' and keeps a sorted list.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "../../runtime/scheduler/loop/loop.h"

enum { N = 1500, BLOCK = 512, CLASS_512 = 7, MOST_BITS = 300, WORDS = MOST_BITS / 32 + 1 };

static struct block {
	_Alignas(64) char bytes[BLOCK];
	char text[MOST_BITS + 1];
	bool lifo;
} blocks[N];

static struct pe pe;
static uint64_t state;

static uint64_t next(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 2685821657736338717ull;
}

static struct cmi_msg *fresh(int i, size_t size)
{
	struct cmi_msg *m = (struct cmi_msg *)(void *)blocks[i].bytes;

	memset(m, i, BLOCK);
	m->size = size;
	m->flags = m->mark = 0;
	m->origin = CMI_ORIGIN_POOL;
	m->size_class = CLASS_512;
	return m;
}

static void bits_text(const unsigned *words, int n, char *text)
{
	for (int i = 0; i < n; i++)
		text[i] = words[i / 32] >> (31 - i % 32) & 1 ? '1' : '0';
	text[n] = 0;
}

static void number_text(int64_t number, char *text)
{
	uint64_t inverted = (uint64_t)number ^ (uint64_t)1 << 63;

	bits_text((const unsigned[]){ (unsigned)(inverted >> 32), (unsigned)inverted }, 64, text);
}

static int64_t some_number(void)
{
	uint64_t r = next();

	return r % 4 ? (int64_t)next() >> (r >> 8) % 64 : (int64_t)(r >> 8) % 5 - 2;
}

/* Vectors of all lengths, of which many share all but their last bits. Not of 64 bits: equal to a
 * number of 0 they may stand before or behind it. */
static struct cmi_msg *with_vector(struct cmi_msg *m, char *text)
{
	unsigned words[WORDS];
	uint64_t r = next();
	int n = 1 + (int)(r % 3 ? (r >> 8) % 10 : (r >> 8) % MOST_BITS);

	n = n == 64 ? 65 : n;
	for (int i = 0; i < WORDS; i++)
		words[i] = r >> 40 & 1 ? (unsigned)next() : 0x80000000u;
	words[(n - 1) / 32] ^= (unsigned)(next() & next());
	bits_text(words, n, text);
	return csd_set_prio_bits(&pe, m, words, (uint32_t)n);
}

static struct cmi_msg *make(int i)
{
	struct cmi_msg *m = fresh(i, sizeof *m + next() % 200);
	size_t size = m->size;
	int64_t number;

	switch (next() % 3) {
	case 0:
		m = with_vector(m, blocks[i].text);
		break;
	case 1:
		number = some_number();
		number_text(number, blocks[i].text);
		m = csd_set_prio(&pe, m, number);
		break;
	default:
		number_text(0, blocks[i].text);
	}
	blocks[i].lifo = next() % 2;
	if (blocks[i].lifo)
		m->flags |= CMI_F_LIFO;
	for (size_t at = sizeof *m; at < size; at++)
		assert_int_equal((unsigned char)((char *)m)[at], (unsigned char)i);
	return m;
}

static int insert(int *order, int n, int i)
{
	int at = 0;

	while (at < n) {
		int c = strcmp(blocks[order[at]].text, blocks[i].text);

		if (c > 0 || (c == 0 && blocks[i].lifo))
			break;
		at++;
	}
	memmove(order + at + 1, order + at, (size_t)(n - at) * sizeof *order);
	order[at] = i;
	return n + 1;
}

static int pop_expected(struct msgq *q, int *order, int n)
{
	struct cmi_msg *m = msgq_pop(q);

	assert_non_null(m);
	assert_ptr_equal(m, blocks[order[0]].bytes);
	memmove(order, order + 1, (size_t)(n - 1) * sizeof *order);
	return n - 1;
}

static void any_mixture_comes_out_in_the_order_of_the_reference(void **s)
{
	int order[N], n = 0;
	struct msgq q;

	(void)s;
	state = (uint64_t)time(NULL) | 1;
	print_message("seed %llu\n", (unsigned long long)state);
	msgq_init(&q);
	for (int i = 0; i < N; i++) {
		msgq_push(&q, make(i));
		n = insert(order, n, i);
		if (next() % 4 == 0)
			n = pop_expected(&q, order, n);
	}
	while (n)
		n = pop_expected(&q, order, n);
	assert_null(msgq_pop(&q));
	assert_false(q.mixed);
	free(q.heap);
}

/* The stamp had 31 bits: behind as many messages, without the heap ever empty, equals came out of
 * order. */
static void equals_keep_their_order_behind_2_to_the_31_messages(void **s)
{
	struct msgq q;

	(void)s;
	msgq_init(&q);
	q.stamp = INT32_MAX - 3;
	for (int i = 0; i < 8; i++)
		msgq_push(&q, csd_set_prio(&pe, fresh(i, 64), 5));
	q.stamp = UINT32_MAX - 3ll;
	for (int i = 8; i < 16; i++)
		msgq_push(&q, csd_set_prio(&pe, fresh(i, 64), 5));
	for (int i = 0; i < 16; i++)
		assert_ptr_equal(msgq_pop(&q), blocks[i].bytes);
	free(q.heap);
}

static void a_priority_can_be_taken_away_and_put_back(void **s)
{
	struct cmi_msg *m = fresh(0, 77);
	struct msg_prio *saved;

	(void)s;
	m = csd_set_prio_bits(&pe, m, (const unsigned[]){ 1, 2, 3, 4 }, 100);
	assert_true(m->size > 77);
	saved = csd_save_prio(m);
	csd_clear_prio(m);
	assert_int_equal(m->size, 77);
	assert_int_equal(m->flags, 0);
	m = csd_restore_prio(&pe, m, saved);
	assert_int_equal(msg_prio_of(m)->n_bits, 100);
	assert_true(msg_key(m) == (int64_t)((uint64_t)1 << 32 | 2 | (uint64_t)1 << 63));
	m = csd_set_prio(&pe, m, -3);
	assert_int_equal(m->size, 77);
	assert_int_equal(m->prio, -3);
	assert_false(csd_prio_fits(m, 32 * 128));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_mixture_comes_out_in_the_order_of_the_reference),
		cmocka_unit_test(equals_keep_their_order_behind_2_to_the_31_messages),
		cmocka_unit_test(a_priority_can_be_taken_away_and_put_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
