/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_flow.c: flow control holds a sender back, and never for ever; nor does a PE sleep while there is something for
 * it. A fault would mostly be a wait without an end, so a clock ends the tests.
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

static struct cmi_msg *message(struct pe *pe, int handler, size_t bytes)
{
	struct cmi_msg *m = csd_msg_alloc(pe, bytes);

	m->handler = (uint16_t)handler;
	return m;
}

static void wait_for(atomic_int *flag, int value)
{
	while (atomic_load(flag) != value)
		sched_yield();
}

/* ---- the budget -------------------------------------------------------------------------------- */

/* The last messages do not fill a quarter of the budget, so nothing is told of them; LARGE goes all the same. */
enum { BUDGET = 4000, SIZE = 400, SENT = 506, LARGE = 10 * BUDGET };

static atomic_int h_flood, all_sent; /* every node of the net writes the same number */
static size_t under_way;
static int n_came;

/* The first one waits until all have been sent. What is there then is all that was under way. */
static void flood_arrived(struct pe *pe, struct cmi_msg *m)
{
	csd_msg_free(pe, m);
	if (n_came++ == 0) {
		wait_for(&all_sent, 1);
		while (loop_receive(pe))
			;
		under_way = SIZE * (1 + csd_queue_length(pe, SIZE_MAX));
	}
	if (n_came == SENT + 1)
		csd_exit(pe, 0);
}

static void flood_start(struct pe *pe)
{
	if (pe->id != 0)
		return;
	for (int i = 0; i < SENT; i++)
		csd_send(pe, 1, message(pe, h_flood, SIZE));
	csd_send(pe, 1, message(pe, h_flood, LARGE));
	atomic_store(&all_sent, 1);
}

static int flood_register(struct node *node)
{
	h_flood = csd_register(node, "flood", flood_arrived);
	return 0;
}

static const struct csd_layer flood_layer = {
	.name = "flood", .node_start = flood_register, .pe_start = flood_start,
};

static void no_more_than_the_budget_is_under_way(void **state)
{
	(void)state;
	assert_int_equal(check_run(&flood_layer, NULL, 2, 1, 0), 0);
	assert_int_equal(under_way, BUDGET);
	assert_int_equal(n_came, SENT + 1);
}

/* ---- messages to a node ------------------------------------------------------------------------ */

/* The network gives these messages to PE 2, which is busy until PE 3 has handled all of a round. PE 3's word about a
 * message comes to PE 2 behind its reports of all messages before it, so what is still without credit when the next round
 * begins is a quarter of the budget and one message at most. With those of the round that is within the budget: no
 * message ever waits. If some of the credit were lost, one would after a few rounds. */
enum { NODE_ROUNDS = 50, A_ROUND = 4, SENDER = 0, WIRE = 2, OTHER = 3 };

static atomic_int h_task, h_busy, h_told, h_again;
static atomic_int n_node_handled, some_waits;
static int n_node_rounds, n_told, n_other;

/* The wait of PE 2 for PE 3 begins before any of the tasks comes. */
static void node_round(struct pe *pe)
{
	csd_send(pe, WIRE, message(pe, h_busy, sizeof(struct cmi_msg)));
	for (int i = 0; i < A_ROUND; i++)
		csd_send_node(pe, 1, message(pe, h_task, SIZE));
	if (flow_length(pe)) {
		atomic_store(&some_waits, 1);
		csd_exit(pe, 7);
	}
}

static void busy_arrived(struct pe *pe, struct cmi_msg *m)
{
	csd_msg_free(pe, m);
	while (atomic_load(&n_node_handled) < A_ROUND && !atomic_load(&some_waits)) {
		loop_receive(pe);
		sched_yield();
	}
	atomic_store(&n_node_handled, 0);
}

static void task_arrived(struct pe *pe, struct cmi_msg *m)
{
	csd_msg_free(pe, m);
	n_other += pe->id == OTHER;
	csd_send(pe, WIRE, message(pe, h_told, sizeof(struct cmi_msg)));
	atomic_fetch_add(&n_node_handled, 1);
}

static void told_arrived(struct pe *pe, struct cmi_msg *m)
{
	csd_msg_free(pe, m);
	if (++n_told % A_ROUND == 0)
		csd_send(pe, SENDER, message(pe, h_again, sizeof(struct cmi_msg)));
}

static void again_arrived(struct pe *pe, struct cmi_msg *m)
{
	csd_msg_free(pe, m);
	if (++n_node_rounds == NODE_ROUNDS)
		csd_exit(pe, 0);
	else
		node_round(pe);
}

static void node_begin(struct pe *pe)
{
	if (pe->id == SENDER)
		node_round(pe);
}

static int node_register(struct node *node)
{
	h_busy = csd_register(node, "busy", busy_arrived);
	h_task = csd_register(node, "task", task_arrived);
	h_told = csd_register(node, "told", told_arrived);
	h_again = csd_register(node, "again", again_arrived);
	return 0;
}

static const struct csd_layer node_layer = {
	.name = "to a node", .node_start = node_register, .pe_start = node_begin,
};

static void all_credit_is_given_for_what_another_pe_has_handled(void **state)
{
	(void)state;
	assert_int_equal(check_run(&node_layer, NULL, 2, 2, 0), 0);
	assert_false(some_waits);
	assert_int_equal(n_node_rounds, NODE_ROUNDS);
	assert_int_equal(n_other, NODE_ROUNDS * A_ROUND);
}

/* ---- the end of the job ---------------------------------------------------------------------- */

static atomic_int h_late;

/* The job ends while the sender still has messages that wait for credit. Its answer, that it has stopped,
 * waits behind them. */
static void late_arrived(struct pe *pe, struct cmi_msg *m)
{
	csd_msg_free(pe, m);
	csd_exit(pe, 3);
}

static void late_start(struct pe *pe)
{
	for (int i = 0; pe->id == 1 && i < SENT; i++)
		csd_send(pe, 0, message(pe, h_late, SIZE));
}

static int late_register(struct node *node)
{
	h_late = csd_register(node, "late", late_arrived);
	return 0;
}

static const struct csd_layer late_layer = {
	.name = "late", .node_start = late_register, .pe_start = late_start,
};

static void a_job_ends_while_messages_wait_for_credit(void **state)
{
	(void)state;
	assert_int_equal(check_run(&late_layer, NULL, 2, 1, 0), 3);
}

/* PE 0 ends the job while PE 1 runs a handler. No layer may stop before that is over: not only has PE 1 yet to stop,
 * what it sends may need others. It gives PE 0 time to do it wrong. */
enum { TURNS_FOR_OTHERS = 20000 };

static int h_long;
static atomic_int long_runs, n_stopped, n_stopped_early;

static void long_arrived(struct pe *pe, struct cmi_msg *m)
{
	csd_msg_free(pe, m);
	atomic_store(&long_runs, 1);
	for (int i = 0; i < TURNS_FOR_OTHERS && !atomic_load(&n_stopped); i++)
		sched_yield();
	atomic_store(&n_stopped_early, atomic_load(&n_stopped));
}

static void long_start(struct pe *pe)
{
	if (pe->id != 0)
		return;
	csd_send(pe, 1, message(pe, h_long, sizeof(struct cmi_msg)));
	wait_for(&long_runs, 1);
	csd_exit(pe, 4);
}

static void long_stop(struct pe *pe)
{
	(void)pe;
	atomic_fetch_add(&n_stopped, 1);
}

static int long_register(struct node *node)
{
	h_long = csd_register(node, "long", long_arrived);
	return 0;
}

static const struct csd_layer long_layer = {
	.name = "long", .node_start = long_register, .pe_start = long_start, .pe_stop = long_stop,
};

static void no_layer_stops_while_a_handler_runs(void **state)
{
	(void)state;
	assert_int_equal(check_run(&long_layer, NULL, 1, 2, 0), 4);
	assert_int_equal(n_stopped_early, 0);
	assert_int_equal(n_stopped, 2);
}

/* ---- going to sleep ---------------------------------------------------------------------------- */

/* PE 0 has looked for messages, found none, and is about to sleep. In this moment PE 1 sends one; it sees PE 0
 * awake, and wakes nobody. A layer is asked how long the PE may sleep, after its looks and before it says that it
 * sleeps; there this one lets PE 1 send. */
enum { ROUNDS = 20 };

static int h_serve, h_round;
static bool by_node;
static atomic_int asked, answered, n_rounds;

static int64_t before_sleep(struct pe *pe, uint64_t now)
{
	(void)now;
	if (pe->id == 0 && asked == n_rounds && n_rounds < ROUNDS) {
		atomic_store(&asked, n_rounds + 1);
		wait_for(&answered, n_rounds + 1);
	}
	return -1; /* until somebody wakes it */
}

static void round_arrived(struct pe *pe, struct cmi_msg *m)
{
	csd_msg_free(pe, m);
	if (++n_rounds == ROUNDS)
		csd_exit(pe, 0);
}

/* On PE 1, which does nothing else until PE 0 has handled all messages to the node. */
static void serve_arrived(struct pe *pe, struct cmi_msg *m)
{
	csd_msg_free(pe, m);
	for (int i = 1; i <= ROUNDS; i++) {
		struct cmi_msg *r = message(pe, h_round, sizeof *r);

		wait_for(&asked, i);
		if (by_node)
			csd_send_node(pe, 0, r);
		else
			csd_send(pe, 0, r);
		atomic_store(&answered, i);
		wait_for(&n_rounds, i);
	}
}

static void sleep_start(struct pe *pe)
{
	if (pe->id == 0)
		csd_send(pe, 1, message(pe, h_serve, sizeof(struct cmi_msg)));
}

static int sleep_register(struct node *node)
{
	h_serve = csd_register(node, "serve", serve_arrived);
	h_round = csd_register(node, "round", round_arrived);
	return 0;
}

static const struct csd_layer sleep_layer = {
	.name = "sleep", .node_start = sleep_register, .pe_start = sleep_start,
	.nap = before_sleep,
};

static void check_sleep(bool to_the_node)
{
	by_node = to_the_node;
	asked = answered = n_rounds = 0;
	assert_int_equal(check_run(&sleep_layer, NULL, 1, 2, 0), 0);
	assert_int_equal(n_rounds, ROUNDS);
}

static void a_message_that_comes_just_before_the_sleep_is_seen(void **state)
{
	(void)state;
	check_sleep(false);
}

static void so_is_one_to_the_node(void **state)
{
	(void)state;
	check_sleep(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_more_than_the_budget_is_under_way),
		cmocka_unit_test(all_credit_is_given_for_what_another_pe_has_handled),
		cmocka_unit_test(a_job_ends_while_messages_wait_for_credit),
		cmocka_unit_test(no_layer_stops_while_a_handler_runs),
		cmocka_unit_test(a_message_that_comes_just_before_the_sleep_is_seen),
		cmocka_unit_test(so_is_one_to_the_node),
	};
	char budget[16];

	snprintf(budget, sizeof budget, "%d", BUDGET);
	setenv("CK_FLOW_BYTES", budget, 1);
	setenv("CK_WATCHDOG", "0", 1); /* its questions would wake a PE that sleeps for ever */
	alarm(SECONDS_MOST);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
