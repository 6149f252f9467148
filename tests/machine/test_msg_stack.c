/* SPDX-License-Identifier: Apache-2.0 */
/* test_msg_stack.c: the stack of messages loses none, and the reader can restore each sender's order. */
#include "../../runtime/machine/base/msg_stack.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SENDERS = 3, MESSAGES = 20000 };

static void it_gives_the_newest_first(void **state)
{
	struct cmi_msg m[3] = {{.size = 0}, {.size = 1}, {.size = 2}}, *top;
	struct msg_stack s = {0};

	(void)state;
	assert_false(msg_stack_any(&s));
	assert_null(msg_stack_local_take(&s));
	assert_null(msg_stack_local_top(&s));
	for (int i = 0; i < 3; i++)
		msg_stack_local_push(&s, &m[i]);
	assert_true(msg_stack_any(&s));
	assert_true(msg_stack_any_for_sleep(&s));
	assert_ptr_equal(msg_stack_local_top(&s), &m[2]);
	top = msg_stack_local_take(&s);
	assert_ptr_equal(top, &m[2]);
	assert_ptr_equal(top->next, &m[1]);
	assert_ptr_equal(top->next->next, &m[0]);
	assert_null(m[0].next);
	assert_false(msg_stack_any(&s));
	assert_false(msg_stack_any_for_sleep(&s));
}

/* Names that are no addresses: a place in an array, from 1. */
static struct cmi_msg *message_at(const void *array, uint64_t name)
{
	return (struct cmi_msg *)(uintptr_t)array + (name - 1);
}

static void names_need_not_be_addresses(void **state)
{
	struct cmi_msg m[3], *in_order;
	struct msg_stack s = {0};

	(void)state;
	for (uint64_t i = 0; i < 3; i++)
		msg_stack_push(&s, &m[i], i + 1, true);
	assert_int_equal(msg_stack_link(&m[2]), 2);
	in_order = msg_stack_in_order(msg_stack_take(&s), message_at, m);
	for (int i = 0; i < 3; i++, in_order = in_order->next)
		assert_ptr_equal(in_order, &m[i]);
	assert_null(in_order);
}

struct sender {
	pthread_t thread;
	struct msg_stack *stack;
	int number;
};

static void *send_all(void *arg)
{
	struct sender *s = arg;

	for (uint64_t i = 0; i < MESSAGES; i++) {
		struct cmi_msg *m = calloc(1, sizeof *m);

		m->src_pe = s->number;
		m->size = i;
		msg_stack_local_push(s->stack, m);
	}
	return NULL;
}

static void each_sender_keeps_its_order(void **state)
{
	struct sender sender[SENDERS];
	struct msg_stack s = {0};
	uint64_t expected[SENDERS] = {0};

	(void)state;
	for (int i = 0; i < SENDERS; i++) {
		sender[i] = (struct sender){.stack = &s, .number = i};
		assert_int_equal(pthread_create(&sender[i].thread, NULL, send_all, &sender[i]), 0);
	}
	for (int n = 0; n < SENDERS * MESSAGES;) {
		struct cmi_msg *m = msg_stack_local_take_in_order(&s), *next;

		for (; m; m = next, n++) {
			next = m->next;
			assert_int_equal(m->size, expected[m->src_pe]++);
			free(m);
		}
	}
	for (int i = 0; i < SENDERS; i++)
		pthread_join(sender[i].thread, NULL);
	assert_false(msg_stack_any(&s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_gives_the_newest_first),
		cmocka_unit_test(names_need_not_be_addresses),
		cmocka_unit_test(each_sender_keeps_its_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
