/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_node_queue.c: messages to a node: whom they wake, and what they keep on the way to another node. A fault would
 * mostly be a wait without an end, so a clock ends the tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <sched.h>

#include "check_run.h"
#include "../../runtime/scheduler/loop/loop.h"

enum { SECONDS_MOST = 100 };

static atomic_int n_wrong;

static struct cmi_msg *message(struct pe *pe, int handler, size_t bytes)
{
	struct cmi_msg *m = csd_msg_alloc(pe, bytes);

	m->handler = (uint16_t)handler;
	return m;
}

static void wait_for(atomic_int *n, int value)
{
	while (atomic_load(n) != value)
		sched_yield();
}

/* ---- sleepers --------------------------------------------------------------------------------- */

/* PE 0 runs one handler to the end of the test, so all else is done by PEs that have to be woken. */
static int h_busy, h_work, n_works;
static atomic_int n_working;
static struct csd_gate gate;

/* All others, unless something is wrong: then one of them may wait for us. */
static void wait_for_sleep(struct pe *pe)
{
	for (int i = 0; i < pe->node->job->my_n_pes; i++)
		while (i != pe->id && !atomic_load(&pe->node->pes[i]->sleeping) && !atomic_load(&n_wrong))
			sched_yield();
}

/* Ends when all works are under way at the same time. */
static void work_arrived(struct pe *pe, struct cmi_msg *m)
{
	csd_msg_free(pe, m);
	atomic_fetch_add(&n_working, 1);
	wait_for(&n_working, n_works);
}

static void send_works(struct pe *pe)
{
	for (int i = 0; i < n_works; i++)
		csd_send_node(pe, 0, message(pe, h_work, sizeof(struct cmi_msg)));
}

static void busy_without_gate(struct pe *pe, struct cmi_msg *m)
{
	csd_msg_free(pe, m);
	wait_for_sleep(pe);
	send_works(pe);
	wait_for(&n_working, n_works);
	csd_exit(pe, 0);
}

static void busy_with_gate(struct pe *pe, struct cmi_msg *m)
{
	csd_msg_free(pe, m);
	send_works(pe);
	/* Until all of them wait at the gate. */
	while (atomic_load(&pe->node->queue.n))
		sched_yield();
	wait_for_sleep(pe);
	csd_gate_open(pe, &gate);
	wait_for(&n_working, n_works);
	csd_exit(pe, 0);
}

static struct csd_gate *gate_of_works(struct pe *pe, const struct cmi_msg *m)
{
	(void)pe;
	return m->handler == h_work ? &gate : NULL;
}

static void start_busy(struct pe *pe)
{
	if (pe->id == 0)
		csd_send(pe, 0, message(pe, h_busy, sizeof(struct cmi_msg)));
}

static int register_without_gate(struct node *node)
{
	h_busy = csd_register(node, "busy", busy_without_gate);
	h_work = csd_register(node, "work", work_arrived);
	return 0;
}

static int register_with_gate(struct node *node)
{
	h_busy = csd_register(node, "busy", busy_with_gate);
	h_work = csd_register(node, "work", work_arrived);
	csd_gate_init(node, &gate, false);
	return 0;
}

static const struct csd_layer without_gate = {
	.name = "works", .node_start = register_without_gate, .pe_start = start_busy,
};
static const struct csd_layer with_gate = {
	.name = "works at a gate", .node_start = register_with_gate, .pe_start = start_busy,
	.up.gate_of = gate_of_works,
};

static void each_message_wakes_a_sleeper(void **state)
{
	(void)state;
	for (n_works = 1; n_works <= 3; n_works++) {
		atomic_store(&n_working, 0);
		assert_int_equal(check_run(&without_gate, NULL, 1, n_works + 1, 0), 0);
	}
}

static void so_does_each_that_an_opened_gate_lets_through(void **state)
{
	(void)state;
	for (n_works = 1; n_works <= 3; n_works++) {
		atomic_store(&n_working, 0);
		assert_int_equal(check_run(&with_gate, NULL, 1, n_works + 1, 0), 0);
	}
}

/* ---- to another node -------------------------------------------------------------------------- */

/* Both PEs of node 0 send to node 1, many times what may be under way. The gate lets one message run at a time,
 * in the order in which they came. PE 3 receives, but is in a handler all the time, so PE 2 handles what has come to
 * PE 3, too, and PE 3 has to be told that for its credits. */
enum { BUDGET = 4000, SIZE = 200, SENT = 500, SENDERS = 2 };

struct numbered {
	struct cmi_msg head;
	int no;
};

static atomic_int h_numbered, h_receive; /* every node of the net writes the same numbers */
static struct node_gate {
	struct node *node;
	struct csd_gate gate;
} gates[2];
static atomic_int n_gates;
static int next[SENDERS];
static atomic_int n_came;

static struct csd_gate *gate_of_node(const struct pe *pe)
{
	return &gates[gates[1].node == pe->node].gate;
}

static void numbered_arrived(struct pe *pe, struct cmi_msg *m)
{
	const struct numbered *n = (const struct numbered *)m;

	n_wrong += n->no != next[m->src_pe]++;
	csd_msg_free(pe, m);
	if (atomic_fetch_add(&n_came, 1) + 1 == SENDERS * SENT)
		csd_exit(pe, 0);
	csd_gate_open(pe, gate_of_node(pe));
}

static void receive_arrived(struct pe *pe, struct cmi_msg *m)
{
	csd_msg_free(pe, m);
	while (atomic_load(&n_came) < SENDERS * SENT) {
		if (!loop_receive(pe))
			sched_yield();
		while ((m = msgq_pop(&pe->queue)))
			loop_dispatch(pe, m);
	}
}

static struct csd_gate *gate_of_numbered(struct pe *pe, const struct cmi_msg *m)
{
	return m->handler == h_numbered ? gate_of_node(pe) : NULL;
}

static void send_numbered(struct pe *pe)
{
	if (pe->id == 3)
		csd_send(pe, 3, message(pe, h_receive, sizeof(struct cmi_msg)));
	for (int i = 0; pe->node->job->node == 0 && i < SENT; i++) {
		struct cmi_msg *m = message(pe, h_numbered, SIZE);

		((struct numbered *)m)->no = i;
		csd_send_node(pe, 1, m);
		if (i % 16 == 0)
			loop_receive(pe);
	}
}

static int register_numbered(struct node *node)
{
	h_numbered = csd_register(node, "numbered", numbered_arrived);
	h_receive = csd_register(node, "receive", receive_arrived);
	struct node_gate *g = &gates[atomic_fetch_add(&n_gates, 1)];

	g->node = node;
	csd_gate_init(node, &g->gate, true);
	return 0;
}

static const struct csd_layer numbered_layer = {
	.name = "numbered", .node_start = register_numbered, .pe_start = send_numbered,
	.up.gate_of = gate_of_numbered,
};

static void messages_of_one_pe_keep_their_order_and_get_credit(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 3; seed++) {
		memset(next, 0, sizeof next);
		n_wrong = 0;
		atomic_store(&n_came, 0);
		atomic_store(&n_gates, 0);
		assert_int_equal(check_run(&numbered_layer, NULL, 2, 2, seed), 0);
		assert_int_equal(n_wrong, 0);
		assert_int_equal(n_came, SENDERS * SENT);
	}
}

/* ---- one at a time ------------------------------------------------------------------------------ */

/* A message that is at work waits for the other PEs to sleep: if two had come through the gate, one of them would be at
 * work, too. */
enum { IN_TURN = 4 };
static atomic_int n_inside;

static void in_turn_arrived(struct pe *pe, struct cmi_msg *m)
{
	csd_msg_free(pe, m);
	if (atomic_fetch_add(&n_inside, 1))
		n_wrong = 1;
	wait_for_sleep(pe);
	atomic_fetch_sub(&n_inside, 1);
	if (n_wrong || atomic_fetch_add(&n_came, 1) + 1 == IN_TURN)
		csd_exit(pe, 0);
	csd_gate_open(pe, &gate);
}

static void send_in_turn(struct pe *pe)
{
	for (int i = 0; pe->id == 0 && i < IN_TURN; i++)
		csd_send_node(pe, 0, message(pe, h_work, sizeof(struct cmi_msg)));
}

static int register_in_turn(struct node *node)
{
	h_work = csd_register(node, "in turn", in_turn_arrived);
	csd_gate_init(node, &gate, true);
	return 0;
}

static const struct csd_layer in_turn_layer = {
	.name = "in turn", .node_start = register_in_turn, .pe_start = send_in_turn, .up.gate_of = gate_of_works,
};

static void a_serial_gate_lets_one_at_a_time_through(void **state)
{
	(void)state;
	atomic_store(&n_came, 0);
	n_wrong = 0;
	assert_int_equal(check_run(&in_turn_layer, NULL, 1, 3, 0), 0);
	assert_int_equal(n_wrong, 0);
	assert_int_equal(n_came, IN_TURN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_message_wakes_a_sleeper),
		cmocka_unit_test(so_does_each_that_an_opened_gate_lets_through),
		cmocka_unit_test(messages_of_one_pe_keep_their_order_and_get_credit),
		cmocka_unit_test(a_serial_gate_lets_one_at_a_time_through),
	};
	char budget[16];

	snprintf(budget, sizeof budget, "%d", BUDGET);
	setenv("CK_FLOW_BYTES", budget, 1);
	alarm(SECONDS_MOST);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
