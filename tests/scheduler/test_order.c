/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_order.c: the promise of delivery. Between one pair of PEs, the receiver handles messages of one
 * priority in the order in which they were sent; none is lost and none comes twice. This holds for every
 * node shape, with random delays of the net, a randomised queue, and a tiny flow-control budget.
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

static void pe_start(struct pe *pe)
{
	uint64_t state = 88172645463325252ull + (uint64_t)pe->id;

	for (uint32_t i = 0; i < MESSAGES; i++) {
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_holds_on_one_pe),
		cmocka_unit_test(order_holds_between_threads),
		cmocka_unit_test(order_holds_between_nodes),
		cmocka_unit_test(order_holds_under_random_delays),
		cmocka_unit_test(order_holds_under_the_randomised_queue),
		cmocka_unit_test(a_tiny_flow_budget_delays_but_loses_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
