/* SPDX-License-Identifier: Apache-2.0 */
/* test_node.c: a node's life on the scheduler layer alone: trees, timers, hooks, exit codes, memory that
 * travels, what layers bring along. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "check_run.h"

static atomic_int h_token, h_tree; /* every node of a net writes the same numbers */

/* ---- trees ------------------------------------------------------------------------------- */

enum { MOST = 64 };
static atomic_int reached[MOST], total, wrong_parent;

/* Every PE reached exactly once from each root, each by its parent. */
static void tree_arrived(struct pe *pe, struct cmi_msg *m)
{
	int root = m->prio, from = m->src_pe;

	csd_msg_free(pe, m);
	atomic_fetch_add(&reached[pe->id], 1);
	if (from != csd_tree_parent(pe, root) && !(pe->id == root && from == 0))
		atomic_fetch_add(&wrong_parent, 1);
	for (int i = 0; i < csd_tree_n_children(pe, root); i++) {
		struct cmi_msg *c = csd_msg_alloc(pe, sizeof *c);

		c->handler = (uint16_t)h_tree;
		c->prio = root;
		csd_send(pe, csd_tree_child(pe, root, i), c);
	}
	/* A second visit anywhere would make the total wrong, or come before the last exit. */
	if (atomic_fetch_add(&total, 1) + 1 == pe->node->job->n_pes * pe->node->job->n_pes)
		csd_exit(pe, 0);
}

static void tree_pe_start(struct pe *pe)
{
	if (pe->id != 0)
		return;
	for (int root = 0; root < pe->node->job->n_pes; root++) {
		struct cmi_msg *m = csd_msg_alloc(pe, sizeof *m);

		m->handler = (uint16_t)h_tree;
		m->prio = root;
		csd_send(pe, root, m);
	}
}

static int tree_node_start(struct node *node)
{
	h_tree = csd_register(node, "tree", tree_arrived);
	return 0;
}

static const struct csd_layer tree_layer = {
	.name = "tree", .node_start = tree_node_start, .pe_start = tree_pe_start,
};

static void a_tree_reaches_every_pe_once_from_every_root(void **state)
{
	static const int shape[][2] = { { 1, 1 }, { 1, 5 }, { 6, 1 }, { 3, 3 }, { 7, 2 } };

	(void)state;
	for (size_t s = 0; s < sizeof shape / sizeof shape[0]; s++) {
		int n = shape[s][0] * shape[s][1];

		memset(reached, 0, sizeof reached);
		total = 0;
		assert_int_equal(check_run(&tree_layer, NULL, shape[s][0], shape[s][1], 0), 0);
		for (int p = 0; p < n; p++)
			assert_int_equal(reached[p], n);
		assert_int_equal(wrong_parent, 0);
	}
}

/* ---- timers and hooks ---------------------------------------------------------------------- */

static int fired[4], n_fired, n_idle, n_periods;

static void fire(void *arg)
{
	fired[n_fired++] = *(int *)arg;
	if (n_fired == 3)
		csd_exit(csd_self(), 5);
}

static void count_idle(void *arg)
{
	(void)arg;
	n_idle++;
}

static void count_period(void *arg)
{
	(void)arg;
	n_periods++;
}

static void timer_pe_start(struct pe *pe)
{
	static int one = 1, two = 2, three = 3;

	(void)pe;
	CcdCallFnAfter(fire, &three, 60);
	CcdCallFnAfter(fire, &one, 1);
	CcdCallFnAfter(fire, &two, 40);
	CcdCallOnCondition(CcdPROCESSOR_BEGIN_IDLE, count_idle, NULL);
	CcdCallOnConditionKeep(CcdPERIODIC_10ms, count_period, NULL);
	int id = CcdCallOnConditionKeep(CcdPERIODIC_10ms, fire, &one);

	CcdCancelCallOnCondition(CcdPERIODIC_10ms, id);
}

static const struct csd_layer timer_layer = { .name = "timer", .pe_start = timer_pe_start };

static void timers_run_in_order_and_the_exit_code_comes_back(void **state)
{
	(void)state;
	assert_int_equal(check_run(&timer_layer, NULL, 1, 1, 0), 5);
	assert_int_equal(fired[0], 1);
	assert_int_equal(fired[1], 2);
	assert_int_equal(fired[2], 3);
	assert_int_equal(n_idle, 1);
	assert_true(n_periods >= 1 && n_periods <= 6);
}

/* ---- a frozen PE ----------------------------------------------------------------------------- */

enum { THAW_MS = 60 };
static atomic_int h_freeze, h_thaw;
static atomic_bool is_frozen;
static int n_ran, n_early;

static void runs(void *arg)
{
	(void)arg;
	n_ran++;
	n_early += is_frozen;
}

/* A timer is due and hooks wait, but a frozen PE runs them only when the message has come. */
static void freeze_arrived(struct pe *pe, struct cmi_msg *m)
{
	csd_msg_free(pe, m);
	CcdCallFnAfter(runs, NULL, 0);
	CcdCallOnCondition(CcdPROCESSOR_BEGIN_IDLE, runs, NULL);
	CcdCallOnCondition(CcdPROCESSOR_STILL_IDLE, runs, NULL);
	CcdCallOnCondition(CcdPROCESSOR_BEGIN_BUSY, runs, NULL);
	CcdCallOnCondition(CcdPERIODIC_10ms, runs, NULL);
	is_frozen = pe->frozen = true;
	csd_wait_for(pe, h_thaw);
	is_frozen = pe->frozen = false;
}

static void send_to(struct pe *pe, int to, int handler)
{
	struct cmi_msg *m = csd_msg_alloc(pe, sizeof *m);

	m->handler = (uint16_t)handler;
	csd_send(pe, to, m);
}

static void thaw_later(void *pe) { send_to(pe, 0, h_thaw); }
static void end_later(void *pe) { csd_exit(pe, 0); }
static void thaw_arrived(struct pe *pe, struct cmi_msg *m)
{
	csd_msg_free(pe, m);
	CcdCallFnAfter(end_later, pe, THAW_MS);
}

static int freeze_node_start(struct node *node)
{
	h_freeze = csd_register(node, "freeze", freeze_arrived);
	h_thaw = csd_register(node, "thaw", thaw_arrived);
	return 0;
}

static void freeze_pe_start(struct pe *pe)
{
	if (pe->id == 1) {
		send_to(pe, 0, h_freeze);
		CcdCallFnAfter(thaw_later, pe, THAW_MS);
	}
}

static const struct csd_layer freeze_layer = {
	.name = "freeze", .node_start = freeze_node_start, .pe_start = freeze_pe_start
};

static void a_frozen_pe_runs_no_timer_and_no_hook(void **state)
{
	(void)state;
	assert_int_equal(check_run(&freeze_layer, NULL, 1, 2, 0), 0);
	assert_int_equal(n_early, 0);
	assert_int_equal(n_ran, 5);
}

/* ---- memory that travels ------------------------------------------------------------------- */

/* A ring in which every message is freed by another PE than its owner. */
static void token_arrived(struct pe *pe, struct cmi_msg *m)
{
	int left = m->prio;
	int next = (pe->id + 1) % pe->node->job->n_pes;
	struct cmi_msg *on = csd_msg_alloc(pe, sizeof *on + (size_t)(left % 7) * 1000);

	csd_msg_free(pe, m);
	on->handler = (uint16_t)h_token;
	on->prio = left - 1;
	if (left > 0)
		csd_send(pe, next, on);
	else {
		csd_msg_free(pe, on);
		csd_exit(pe, 0);
	}
}

static int token_node_start(struct node *node)
{
	h_token = csd_register(node, "token", token_arrived);
	return 0;
}

static void token_pe_start(struct pe *pe)
{
	if (pe->id)
		return;
	struct cmi_msg *m = csd_msg_alloc(pe, sizeof *m);

	m->handler = (uint16_t)h_token;
	m->prio = 20000;
	csd_send(pe, 1 % pe->node->job->n_pes, m);
}

/* What came home must have been used again: no PE may have taken more than a few slabs. */
static void token_pe_stop(struct pe *pe)
{
	assert_true(pe->pool.n_slabs <= 64);
}

static const struct csd_layer token_layer = {
	.name = "token", .node_start = token_node_start, .pe_start = token_pe_start,
	.pe_stop = token_pe_stop,
};

static void memory_freed_elsewhere_goes_home_and_is_used_again(void **state)
{
	(void)state;
	assert_int_equal(check_run(&token_layer, NULL, 1, 2, 0), 0);
	assert_int_equal(check_run(&token_layer, NULL, 2, 1, 0), 0);
}

/* ---- layers ---------------------------------------------------------------------------------- */

static int n_polls, n_polls_outside;
static bool layer_runs;

static void poll_pe_start(struct pe *pe)
{
	(void)pe;
	layer_runs = true;
}

static int poll_some(struct pe *pe)
{
	n_polls++;
	n_polls_outside += !layer_runs || !pe->layer[3];
	if (n_polls == 10)
		csd_exit(pe, 0);
	return 0;
}

static void poll_pe_stop(struct pe *pe)
{
	(void)pe;
	layer_runs = false;
}

static const struct csd_layer poll_layer = {
	.name = "poll", .pe_start = poll_pe_start, .pe_stop = poll_pe_stop,
	.up = { .poll = poll_some }, .slot = 1,
};

/* A layer that is started before, and lets the loop run meanwhile. */
static void state_pe_start(struct pe *pe)
{
	static int state;

	CsdScheduler(5);
	pe->layer[3] = &state;
}

static const struct csd_layer state_layer = { .name = "state", .pe_start = state_pe_start, .slot = 3 };

static void a_layer_is_polled_while_it_runs(void **state)
{
	static const struct csd_layer *const layers[] = { &state_layer, &poll_layer };

	(void)state;
	assert_int_equal(check_run_layers(layers, 2, NULL, 1, 1, 0), 0);
	assert_true(n_polls >= 10);
	assert_int_equal(n_polls_outside, 0);
}

static void two_layers_with_one_slot_or_upcall_are_refused(void **state)
{
	static const struct csd_layer same_slot = { .name = "second", .slot = 1 };
	static const struct csd_layer same_upcall = {
		.name = "third", .up = { .poll = poll_some }, .slot = 2,
	};
	static const struct csd_layer no_slot = { .name = "fourth", .slot = CSD_SLOTS };
	static const struct { const struct csd_layer *layer; const char *line; } all[] = {
		{ &same_slot, "the layers \"poll\" and \"second\" have one slot" },
		{ &same_upcall, "the layer \"third\" is the second to answer the upcall poll" },
		{ &no_slot, "the layer \"fourth\" has slot 4 of 4" },
	};
	char said[1024];

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		const struct csd_layer *layers[] = { &poll_layer, all[i].layer };

		assert_int_equal(check_run_apart(layers, 2, NULL, 1, said, sizeof said), 1);
		assert_non_null(strstr(said, all[i].line));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tree_reaches_every_pe_once_from_every_root),
		cmocka_unit_test(timers_run_in_order_and_the_exit_code_comes_back),
		cmocka_unit_test(a_frozen_pe_runs_no_timer_and_no_hook),
		cmocka_unit_test(memory_freed_elsewhere_goes_home_and_is_used_again),
		cmocka_unit_test(a_layer_is_polled_while_it_runs),
		cmocka_unit_test(two_layers_with_one_slot_or_upcall_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
