/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_chare.c: the chare layer on nets of several nodes in one process. Seeded random delays bring about
 * orders that a real network shows only rarely. Walkers hop over an array; the runtime must not declare
 * quiescence before the last walker has stopped, and a reduction must count every hop once. The tables
 * are written by hand as ckci would print them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "chare_layer.h"
#include "check_run.h"
#include "ckgen.h"

enum { ELEMENTS = 13, HOPS = 40, LONG_WAY = 4000 };

/* Walkers at the start, and how far they go. Set before the nodes start. */
static int n_walkers = ELEMENTS, n_hops = HOPS;

struct Main {
	CkProxy walkers;
	CkProxy self;
};

struct Walker {
	int hops;
	int calls;
};

static const CkGenChare Main_table, Walker_table;

/* ---- Walker ------------------------------------------------------------------------------ */

enum { WALKER_NEW, WALKER_HOP, WALKER_COUNT };

struct hop {
	int left;
	uint32_t state;
};

static void Walker_new(void *self, void *payload)
{
	(void)payload;
	((struct Walker *)self)->calls = 1;
}

static void send_hop(CkProxy walkers, int to, struct hop h)
{
	CkElement e = { walkers.id, { { to, 0, 0 } }, 0 };
	struct hop *p = CkGen_alloc(sizeof *p);

	*p = h;
	CkGen_send(&Walker_table, &e, WALKER_HOP, p, NULL);
}

static void Walker_hop(void *self, void *payload)
{
	struct hop h = *(struct hop *)payload;

	((struct Walker *)self)->hops++;
	/* A walker that can go on sends a hop aside, too, which ends there. It may overtake a wave that counts, and
	 * then stands for the walker, which was not counted. */
	for (int todo = h.left, n = todo > 1 ? 1 : todo; todo > 0; todo -= n, n = todo) {
		h.state = h.state * 1664525u + 1013904223u;
		h.left = n - 1;
		send_hop(CkGen_thisProxy(self), (int)(h.state >> 16) % ELEMENTS, h);
	}
}

static void Walker_count(void *self, void *payload)
{
	struct Walker *w = self;
	CkProxy main_proxy = *(CkProxy *)payload;

	/* Constructed once, called by this broadcast once. */
	if (++w->calls != 2)
		CkAbort("the broadcast came %d times", w->calls - 1);
	CkContribute(self, &w->hops, 1, CkReduction_sum_int, CkGen_cbMain(&Main_table, main_proxy, 2));
}

static const CkGenEntry walker_entries[] = {
	{ .name = "Walker", .call = Walker_new },
	{ .name = "hop", .call = Walker_hop },
	{ .name = "count", .call = Walker_count },
};
static const CkGenChare Walker_table = {
	.name = "Walker", .kind = CKGEN_ARRAY, .nd = 1, .bytes = sizeof(struct Walker),
	.entries = walker_entries, .n_entries = 3
};

/* ---- Main ---------------------------------------------------------------------------------- */

static void Main_new(void *self, void *payload)
{
	struct Main *m = self;
	CkArrayOptions o = { .dims = CkDims1(ELEMENTS) };

	(void)payload;
	m->self = CkGen_thisProxy(self);
	m->walkers = CkGen_newArray(&Walker_table, &o, CkGen_alloc(0));
	for (int i = 0; i < n_walkers; i++)
		send_hop(m->walkers, i, (struct hop){ n_hops, (uint32_t)i });
	CkStartQD(CkGen_cbMain(&Main_table, m->self, 1));
}

static void Main_quiet(void *self, void *payload)
{
	struct Main *m = self;
	CkProxy *p = CkGen_alloc(sizeof *p);

	(void)payload;
	*p = m->self;
	CkGen_sendAll(&Walker_table, m->walkers, WALKER_COUNT, p, NULL);
}

static void Main_sum(void *self, void *payload)
{
	int total = *(const int *)CkReductionMsg_data(payload);

	(void)self;
	CkExit(total == n_walkers * (n_hops + 1) ? 0 : 9);
}

static const CkGenEntry main_entries[] = {
	{ .name = "Main", .call = Main_new },
	{ .name = "quiet", .call = Main_quiet, .reduced = Main_quiet, .flags = CKGEN_NOARGS | CKGEN_REDUCTION },
	{ .name = "sum", .call = Main_sum, .reduced = Main_sum, .flags = CKGEN_REDUCTION,
	  .want = CK_INT, .want_count = 1 },
};
static const CkGenChare Main_table = {
	.name = "Main", .kind = CKGEN_MAINCHARE, .bytes = sizeof(struct Main),
	.entries = main_entries, .n_entries = 3
};

static const CkGenChare *const chares[] = { &Main_table, &Walker_table };
static const CkGenModule module = { .name = "walk", .chares = chares, .n_chares = 2 };

/* ---- facts ---------------------------------------------------------------------------------- */

static void run(int nodes, int pes, uint64_t seed)
{
	if (seed)
		print_message("%d nodes of %d PEs, seed %llu\n", nodes, pes,
			      (unsigned long long)seed);
	assert_int_equal(check_run(&chare_layer, &module, nodes, pes, seed), 0);
}

static void every_hop_is_counted_on_one_pe(void **state) { (void)state; run(1, 1, 0); }
static void every_hop_is_counted_between_threads(void **state) { (void)state; run(1, 4, 0); }
static void every_hop_is_counted_between_nodes(void **state) { (void)state; run(3, 2, 0); }

static void random_delays_lose_no_hop_and_hasten_no_quiescence(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 8; seed++)
		run(2 + (int)(seed % 4), 1 + (int)(seed % 2), seed);
}

/* With so little under way a wave that misses one hop may see as many sent as handled. */
static void a_lone_walker_is_not_overlooked(void **state)
{
	(void)state;
	n_walkers = 1;
	n_hops = LONG_WAY;
	for (uint64_t seed = 1; seed <= 20; seed++)
		run(2 + (int)(seed % 4), 1 + (int)(seed % 2), seed);
	n_walkers = ELEMENTS;
	n_hops = HOPS;
}

static void the_randomised_queue_changes_nothing(void **state)
{
	(void)state;
	setenv("CK_RANDOM_QUEUE", "5", 1);
	run(3, 2, 21);
	unsetenv("CK_RANDOM_QUEUE");
}

static void more_pes_than_elements_are_no_harm(void **state)
{
	(void)state;
	run(6, 3, 31);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_hop_is_counted_on_one_pe),
		cmocka_unit_test(every_hop_is_counted_between_threads),
		cmocka_unit_test(every_hop_is_counted_between_nodes),
		cmocka_unit_test(random_delays_lose_no_hop_and_hasten_no_quiescence),
		cmocka_unit_test(a_lone_walker_is_not_overlooked),
		cmocka_unit_test(the_randomised_queue_changes_nothing),
		cmocka_unit_test(more_pes_than_elements_are_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
