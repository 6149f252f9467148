/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_order.c: the promise of delivery. Between one pair of PEs, the receiver handles messages of one
 * priority in the order in which they were sent; none is lost and none comes twice. This holds for every
 * node shape, with random delays of the net, a randomised queue, a tiny flow-control budget, and while
 * the sender now and then holds its messages back (csd_hold).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "check_run.h"

enum { MESSAGES = 3000, MOST_PES = 8 };

struct numbered {
	struct cmi_msg head;
	uint32_t no;
	uint32_t check;
	char filler[];
};

/* Everything a PE knows; each PE writes only its own row. */
static struct seen {
	uint32_t next[MOST_PES];
	int done;
	uint64_t wrong;
} seen[MOST_PES];

static atomic_int handler; /* every node of the net writes the same number */
static int n_pes_total;

static uint64_t random_of(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* PE 0 ends the job when all PEs have seen everything. */
static atomic_int ready_handler;
static int n_ready;

static void all_ready(struct pe *pe, struct cmi_msg *m)
{
	csd_msg_free(pe, m);
	if (++n_ready == n_pes_total)
		csd_exit(pe, 0);
}

static void arrived(struct pe *pe, struct cmi_msg *m)
{
	struct numbered *n = (struct numbered *)m;
	struct seen *s = &seen[pe->id];
	size_t filler = m->size - sizeof *n;
	int src = m->src_pe;

	if (n->no != s->next[src]++ || n->check != (n->no ^ (uint32_t)src))
		s->wrong++;
	if (filler && (unsigned char)n->filler[filler - 1] != (unsigned char)n->no)
		s->wrong++;
	csd_msg_free(pe, m);
	if (s->next[src] == MESSAGES && ++s->done == n_pes_total) {
		struct cmi_msg *r = csd_msg_alloc(pe, sizeof *r);

		r->handler = (uint16_t)ready_handler;
		csd_send(pe, 0, r);
	}
}

static int node_start(struct node *node)
{
	handler = csd_register(node, "numbered", arrived);
	ready_handler = csd_register(node, "ready", all_ready);
	return 0;
}

/* Begin to hold messages back, or take one of the reasons away, not always the oldest one. */
enum { MOST_REASONS = 4 };
struct holds {
	uint64_t reason[MOST_REASONS];
	uint64_t n;
};
static bool with_holds;

static void hold_or_release(struct pe *pe, struct holds *h, uint64_t *state)
{
	if (h->n < MOST_REASONS && random_of(state) % 2) {
		h->reason[h->n++] = csd_hold(pe);
	} else if (h->n) {
		uint64_t i = random_of(state) % h->n;

		csd_release(pe, h->reason[i]);
		h->reason[i] = h->reason[--h->n];
	}
}

static void pe_start(struct pe *pe)
{
	uint64_t state = 88172645463325252ull + (uint64_t)pe->id;
	struct holds holds = { .n = 0 };

	for (uint32_t i = 0; i < MESSAGES; i++) {
		if (with_holds && random_of(&state) % 8 == 0)
			hold_or_release(pe, &holds, &state);
		for (int dst = 0; dst < pe->node->job->n_pes; dst++) {
			size_t filler = random_of(&state) % (i % 50 ? 200 : 20000);
			struct numbered *n =
				(struct numbered *)csd_msg_alloc(pe, sizeof *n + filler);

			n->head.handler = (uint16_t)handler;
			n->no = i;
			n->check = i ^ (uint32_t)pe->id;
			memset(n->filler, (int)(i & 255), filler);
			csd_send(pe, dst, &n->head);
		}
	}
	while (holds.n)
		csd_release(pe, holds.reason[--holds.n]);
}

/* What must not wait overtakes what is held, and what is held comes when the last reason before it is
 * gone, even if there are newer reasons. */
enum { HELD, NOW, BEHIND, STEPS };
static atomic_int step_handler;
static int steps[STEPS], n_steps;

static void step_arrived(struct pe *pe, struct cmi_msg *m)
{
	steps[n_steps++] = ((struct numbered *)m)->no;
	csd_msg_free(pe, m);
	if (n_steps == STEPS - 1) /* BEHIND is held to the end of the job */
		csd_exit(pe, 0);
}

static struct cmi_msg *step(struct pe *pe, uint32_t no)
{
	struct numbered *n = (struct numbered *)csd_msg_alloc(pe, sizeof *n);

	n->head.handler = (uint16_t)step_handler;
	n->no = no;
	return &n->head;
}

static void steps_start(struct pe *pe)
{
	uint64_t first;

	if (pe->id != 0)
		return;
	first = csd_hold(pe);
	csd_send(pe, 1, step(pe, HELD));
	csd_send_now(pe, 1, step(pe, NOW));
	csd_hold(pe);
	csd_send(pe, 1, step(pe, BEHIND));
	csd_release(pe, first);
}

static int steps_register(struct node *node)
{
	step_handler = csd_register(node, "step", step_arrived);
	return 0;
}

static void held_messages_wait_for_their_own_reasons(void **state)
{
	static const struct csd_layer steps_layer = {
		.name = "steps", .node_start = steps_register, .pe_start = steps_start,
	};

	(void)state;
	for (int nodes = 1; nodes <= 2; nodes++) {
		n_steps = 0;
		assert_int_equal(check_run(&steps_layer, NULL, nodes, 2 / nodes, 0), 0);
		assert_int_equal(n_steps, 2);
		assert_int_equal(steps[0], NOW);
		assert_int_equal(steps[1], HELD);
	}
}

static const struct csd_layer layer = {
	.name = "test", .node_start = node_start, .pe_start = pe_start,
};

static void run(int nodes, int pes, uint64_t seed)
{
	memset(seen, 0, sizeof seen);
	n_ready = 0;
	n_pes_total = nodes * pes;
	if (seed)
		print_message("seed %llu\n", (unsigned long long)seed);
	assert_int_equal(check_run(&layer, NULL, nodes, pes, seed), 0);
	for (int p = 0; p < n_pes_total; p++) {
		assert_int_equal(seen[p].wrong, 0);
		for (int q = 0; q < n_pes_total; q++)
			assert_int_equal(seen[p].next[q], MESSAGES);
	}
}

static void order_holds_on_one_pe(void **state) { (void)state; run(1, 1, 0); }
static void order_holds_between_threads(void **state) { (void)state; run(1, 4, 0); }
static void order_holds_between_nodes(void **state) { (void)state; run(2, 2, 0); }
static void order_holds_under_random_delays(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++)
		run(3, 2, seed);
}

static void order_holds_under_the_randomised_queue(void **state)
{
	(void)state;
	setenv("CK_RANDOM_QUEUE", "42", 1);
	run(2, 2, 7);
	unsetenv("CK_RANDOM_QUEUE");
}

static void a_tiny_flow_budget_delays_but_loses_nothing(void **state)
{
	(void)state;
	setenv("CK_FLOW_BYTES", "1000", 1);
	run(2, 2, 0);
	run(3, 1, 11);
	unsetenv("CK_FLOW_BYTES");
}

static void holding_back_keeps_the_order(void **state)
{
	(void)state;
	with_holds = true;
	run(1, 4, 0);
	run(2, 2, 0);
	run(3, 2, 5);
	with_holds = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_holds_on_one_pe),
		cmocka_unit_test(order_holds_between_threads),
		cmocka_unit_test(order_holds_between_nodes),
		cmocka_unit_test(order_holds_under_random_delays),
		cmocka_unit_test(order_holds_under_the_randomised_queue),
		cmocka_unit_test(holding_back_keeps_the_order),
		cmocka_unit_test(held_messages_wait_for_their_own_reasons),
		cmocka_unit_test(a_tiny_flow_budget_delays_but_loses_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
