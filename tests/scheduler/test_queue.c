/* SPDX-License-Identifier: Apache-2.0 */
/* test_queue.c: the run queue's order, and its randomised policy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../../runtime/scheduler/loop/loop.h"

static struct cmi_msg pool[4096];

static struct cmi_msg *msg(int i, int src_pe, int flags, int prio)
{
	memset(&pool[i], 0, sizeof pool[i]);
	pool[i].size = (uint64_t)i;
	pool[i].src_pe = src_pe;
	pool[i].flags = (uint8_t)flags;
	pool[i].prio = prio;
	return &pool[i];
}

static void expect(struct msgq *q, const int *order, int n)
{
	for (int i = 0; i < n; i++) {
		struct cmi_msg *m = msgq_pop(q);

		assert_non_null(m);
		assert_int_equal(m->size, order[i]);
	}
	assert_null(msgq_pop(q));
}

static void plain_messages_come_out_first_in_first_out(void **state)
{
	struct msgq q;

	(void)state;
	msgq_init(&q);
	for (int i = 1; i <= 3; i++)
		msgq_push(&q, msg(i, 0, 0, 0));
	expect(&q, (int[]){ 1, 2, 3 }, 3);
}

static void lower_priorities_come_first_and_zero_is_plain(void **state)
{
	struct msgq q;

	(void)state;
	msgq_init(&q);
	msgq_push(&q, msg(1, 0, CMI_F_PRIO, 5));
	msgq_push(&q, msg(2, 0, 0, 0));
	msgq_push(&q, msg(3, 0, CMI_F_PRIO, -5));
	msgq_push(&q, msg(4, 0, CMI_F_PRIO, 5));
	msgq_push(&q, msg(5, 0, CMI_F_EXPEDITED, 0));
	msgq_push(&q, msg(6, 0, CMI_F_PRIO, INT32_MIN));
	msgq_push(&q, msg(7, 0, CMI_F_PRIO, INT32_MAX));
	msgq_push(&q, msg(8, 0, CMI_F_PRIO, 0));
	msgq_push(&q, msg(9, 0, 0, 0));
	expect(&q, (int[]){ 5, 6, 3, 2, 8, 9, 1, 4, 7 }, 9);
	free(q.heap);
}

static void lifo_stands_before_its_equals_only(void **state)
{
	struct msgq q;

	(void)state;
	msgq_init(&q);
	msgq_push(&q, msg(1, 0, CMI_F_PRIO, 3));
	msgq_push(&q, msg(2, 0, CMI_F_PRIO | CMI_F_LIFO, 3));
	msgq_push(&q, msg(3, 0, CMI_F_PRIO | CMI_F_LIFO, 3));
	msgq_push(&q, msg(4, 0, CMI_F_PRIO | CMI_F_LIFO, 2));
	msgq_push(&q, msg(5, 0, 0, 0));
	msgq_push(&q, msg(6, 0, CMI_F_LIFO, 0));
	expect(&q, (int[]){ 6, 5, 4, 3, 2, 1 }, 6);
	free(q.heap);
}

/* `mixed` is all that the loop looks at: it must be true as long as anything is not plain. */
static void a_mixed_queue_is_plain_again_when_the_rest_has_left(void **state)
{
	struct msgq q;

	(void)state;
	msgq_init(&q);
	msgq_push(&q, msg(1, 0, 0, 0));
	msgq_push(&q, msg(2, 0, CMI_F_LIFO, 0));
	assert_false(q.mixed);
	msgq_push(&q, msg(3, 0, CMI_F_PRIO, 1));
	msgq_push(&q, msg(4, 0, CMI_F_EXPEDITED, 0));
	assert_true(q.mixed);
	assert_int_equal(msgq_pop(&q)->size, 4);
	assert_true(q.mixed);
	assert_int_equal(msgq_pop(&q)->size, 2);
	msgq_push(&q, msg(5, 0, 0, 0));
	assert_int_equal(msgq_pop(&q)->size, 1);
	assert_int_equal(msgq_pop(&q)->size, 5);
	assert_true(q.mixed);
	assert_int_equal(msgq_pop(&q)->size, 3);
	assert_false(q.mixed);
	assert_null(msgq_pop(&q));
	free(q.heap);
}

static void the_heap_keeps_equals_in_order(void **state)
{
	struct msgq q;
	int last[8] = { 0 };

	(void)state;
	msgq_init(&q);
	srand(1);
	for (int i = 1; i < 4096; i++)
		msgq_push(&q, msg(i, 0, CMI_F_PRIO, 1 + rand() % 8));
	int prio = 1;

	for (int i = 1; i < 4096; i++) {
		struct cmi_msg *m = msgq_pop(&q);

		assert_true(m->prio >= prio);
		prio = m->prio;
		assert_true((int)m->size > last[prio - 1]);
		last[prio - 1] = (int)m->size;
	}
	assert_null(msgq_pop(&q));
	free(q.heap);
}

/* Order of a run as a string of senders, to compare runs. */
static void run_random(uint64_t seed, char *senders)
{
	const struct node node = { .random = { .order = true, .seed = seed } };
	struct msgq q;
	int next[3] = { 0 };
	int n = 0;

	msgq_init(&q);
	msgq_set_random(&q, msgq_random_create(&node, 0, -1));
	for (int i = 0; i < 300; i++)
		msgq_push(&q, msg(i, i % 3, 0, 0));
	for (struct cmi_msg *m; (m = msgq_pop(&q)); n++) {
		assert_int_equal((int)m->size / 3, next[m->src_pe]++);
		senders[n] = (char)('0' + m->src_pe);
	}
	assert_int_equal(n, 300);
	msgq_random_destroy(q.random);
}

static void the_randomised_queue_keeps_one_senders_order_and_replays(void **state)
{
	char a[301] = "", b[301] = "", c[301] = "";

	(void)state;
	run_random(7, a);
	run_random(7, b);
	run_random(8, c);
	assert_string_equal(a, b);
	assert_string_not_equal(a, c);
}

/* Messages 0 .. n - 1, in this order, through a randomised queue; returns the order of the numbers. */
static void through_random(uint64_t seed, int n, int *out)
{
	const struct node node = { .random = { .order = true, .seed = seed } };
	struct msgq q;

	msgq_init(&q);
	msgq_set_random(&q, msgq_random_create(&node, 0, -1));
	for (int i = 0; i < n; i++)
		msgq_push(&q, &pool[i]);
	for (int i = 0; i < n; i++)
		out[i] = (int)msgq_pop(&q)->size;
	assert_null(msgq_pop(&q));
	msgq_random_destroy(q.random);
}

/* Three senders with five priorities each; expedited ones among them. */
static void the_randomised_queue_serves_the_best_priority_first(void **state)
{
	enum { N = 300 };
	int out[N], order[3][5];

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		bool mixed = false; /* whether equals of several senders were */

		memset(order, 0, sizeof order);
		for (int i = 0; i < N; i++) {
			int prio = (int)(i * 7 % 5) - 2;

			msg(i, i % 3, i % 11 == 0 ? CMI_F_EXPEDITED : prio ? CMI_F_PRIO : 0, prio);
		}
		through_random(seed, N, out);
		for (int k = 1; k < N; k++) {
			const struct cmi_msg *a = &pool[out[k - 1]], *b = &pool[out[k]];
			bool rush_a = a->flags & CMI_F_EXPEDITED, rush_b = b->flags & CMI_F_EXPEDITED;

			assert_true(rush_a || !rush_b);
			if (rush_a || rush_b)
				continue;
			assert_true(a->prio <= b->prio);
			mixed |= a->prio == b->prio && out[k - 1] > out[k];
			assert_true(out[k] >= order[b->src_pe][b->prio + 2]);
			order[b->src_pe][b->prio + 2] = out[k];
		}
		assert_true(mixed);
	}
}

static void the_randomised_queue_serves_lifo_messages_of_a_sender_last_in_first_out(void **state)
{
	int out[90], last[3];

	(void)state;
	for (int i = 0; i < 90; i++)
		msg(i, i % 3, CMI_F_LIFO | (i % 2 ? CMI_F_PRIO : 0), i % 2);
	through_random(5, 90, out);
	for (int half = 0; half < 2; half++) {
		for (int pe = 0; pe < 3; pe++)
			last[pe] = 90;
		for (int k = 45 * half; k < 45 * half + 45; k++) {
			assert_int_equal(pool[out[k]].prio, half);
			assert_true(out[k] < last[out[k] % 3]);
			last[out[k] % 3] = out[k];
		}
	}
}

static void size_classes_hold_what_they_promise(void **state)
{
	(void)state;
	assert_int_equal(csd_size_class(32), 0);
	assert_int_equal(csd_size_class(64), 0);
	assert_int_equal(csd_size_class(65), 1);
	assert_int_equal(csd_size_class(1024), MSG_FINE / 64 - 1);
	assert_int_equal(csd_size_class(1025), MSG_FINE / 64);
	assert_int_equal(csd_size_class(1 << 20), MSG_FINE / 64 + 19);
	assert_int_equal(csd_size_class((size_t)1 << 42), MSG_CLASSES - 1);
	for (size_t size = 32; size < 1 << 20; size += 37) {
		unsigned cls = csd_size_class(size);

		assert_true(cls <= csd_size_class(size + 1));
		assert_true(msg_class_bytes(cls) >= size);
		assert_true(cls == 0 || msg_class_bytes(cls - 1) < size);
	}
}

static void slabs_are_whole_pages_and_hold_their_blocks(void **state)
{
	(void)state;
	for (unsigned cls = 0; cls < MSG_CLASSES; cls++) {
		assert_int_equal(msg_slab_bytes(cls) % 4096, 0);
		assert_true(msg_slab_skip(cls) + msg_slab_blocks(cls) * msg_class_bytes(cls) <= msg_slab_bytes(cls));
	}
}

/* Where a block began at a page, the kernel copied it to a connection at a fifteenth of the speed. */
static void a_large_block_begins_in_the_middle_of_a_page(void **state)
{
	static _Alignas(4096) char page[4096];

	(void)state;
	for (unsigned cls = csd_size_class(4097); cls < MSG_CLASSES; cls++) {
		const struct msg_slab slab = {.at = page, .cls = (uint8_t)cls};

		assert_int_equal((uintptr_t)msg_slab_block(&slab, 0) % 4096, 2048);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_messages_come_out_first_in_first_out),
		cmocka_unit_test(lower_priorities_come_first_and_zero_is_plain),
		cmocka_unit_test(lifo_stands_before_its_equals_only),
		cmocka_unit_test(a_mixed_queue_is_plain_again_when_the_rest_has_left),
		cmocka_unit_test(the_heap_keeps_equals_in_order),
		cmocka_unit_test(the_randomised_queue_keeps_one_senders_order_and_replays),
		cmocka_unit_test(the_randomised_queue_serves_the_best_priority_first),
		cmocka_unit_test(the_randomised_queue_serves_lifo_messages_of_a_sender_last_in_first_out),
		cmocka_unit_test(size_classes_hold_what_they_promise),
		cmocka_unit_test(slabs_are_whole_pages_and_hold_their_blocks),
		cmocka_unit_test(a_large_block_begins_in_the_middle_of_a_page),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
