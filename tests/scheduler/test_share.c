/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_share.c: nodes that hand messages over in shared memory (share.c), here as threads of one process and at the
 * same addresses. Random traffic fills rings, goes by value and by reference, keeps references and gives them back
 * late, and lets PEs sleep. No letter is lost, none overtakes another of its pair, and every byte is as it was sent.
 *
 * Under the thread sanitizer the traffic has a second reader: it sees every access of every node to that memory, and
 * reports one that nothing orders. CHECK_SEED=N adds a run with this seed; what a PE draws follows from it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "check_run.h"

enum {
	MOST_PES = 16,
	LETTERS = 40,      /* that each PE begins with */
	HOPS = 6,          /* most PEs that one goes through before its way ends */
	BURST = 150,       /* more than a ring has slots */
	KEPT = 24,         /* letters that a PE keeps after their end */
	TOKEN_HOPS = 60,
	LARGE = 100000,    /* bytes of the largest letter */
};

struct letter {
	struct cmi_msg head;
	uint32_t no;       /* of its pair of PEs */
	uint16_t hops;     /* still to go */
	bool may_burst;
	unsigned char text[];
};

/** A letter's way has ended, and `begun` others have begun. To PE 0. */
struct report {
	struct cmi_msg head;
	int begun;
};

/** What a PE knows; only it reads and writes its row. */
static struct row {
	_Alignas(64) uint64_t random;
	uint32_t sent[MOST_PES], next[MOST_PES];          /* letters of each pair */
	uint32_t puts_sent[MOST_PES], puts_next[MOST_PES];
	struct letter *kept[KEPT];
	struct cmi_op op;
	int n_letters, n_puts, wrong;
	int under_way;     /* of PE 0: letters whose end has not been reported */
} rows[MOST_PES];

static atomic_int letter_handler, report_handler, token_handler; /* every node writes the same numbers */
static uint64_t run_seed;

static uint64_t draw(struct row *r, uint64_t below)
{
	r->random ^= r->random << 13;
	r->random ^= r->random >> 7;
	r->random ^= r->random << 17;
	return (r->random >> 11) % below;
}

static struct row *row_of(const struct pe *pe)
{
	return &rows[pe->id];
}

static void fill(unsigned char *text, size_t bytes, uint32_t seed)
{
	for (size_t i = 0; i < bytes; i++)
		text[i] = (unsigned char)(seed + i * 7);
}

static int n_wrong(const unsigned char *text, size_t bytes, uint32_t seed)
{
	int n = 0;

	for (size_t i = 0; i < bytes; i++)
		n += text[i] != (unsigned char)(seed + i * 7);
	return n;
}

/* Most fit into a slot of a ring, some just do or just do not, few are large. */
static size_t draw_size(struct row *r)
{
	switch (draw(r, 16)) {
	case 0:
		return draw(r, LARGE);
	case 1:
	case 2:
		return 300 + draw(r, 4000);
	case 3:
	case 4:
		return 200 + draw(r, 80);
	default:
		return draw(r, 200);
	}
}

/* ---- sending ------------------------------------------------------------------------------------ */

/* Give a letter, new or arrived, to its next reader. Whoever has it writes it anew. */
static void pass_on(struct pe *pe, struct letter *l, int dst)
{
	struct row *r = row_of(pe);

	l->head.handler = (uint16_t)letter_handler;
	l->no = r->sent[dst]++;
	fill(l->text, l->head.size - sizeof *l, l->no + (uint32_t)pe->id);
	csd_send(pe, dst, &l->head);
}

static void begin(struct pe *pe, int dst, int hops)
{
	struct letter *l = (struct letter *)csd_msg_alloc(pe, sizeof *l + draw_size(row_of(pe)));

	l->hops = (uint16_t)hops;
	l->may_burst = hops > 0;
	pass_on(pe, l, dst);
}

static void put(struct pe *pe, int dst)
{
	struct row *r = row_of(pe);
	unsigned char text[1000];
	struct cmi_put_head h = {.channel = 7, .iteration = r->puts_sent[dst]};
	const size_t bytes = draw(r, sizeof text);

	if (pe->node->job->node_of[dst] == pe->node->job->node)
		return;
	r->puts_sent[dst]++;
	fill(text, bytes, (uint32_t)h.iteration);
	if (!cmi_put_am(pe->wire, dst, &h, text, bytes, &r->op))
		r->wrong++; /* through memory it is complete at once */
}

static void report(struct pe *pe, int begun)
{
	struct report *p = (struct report *)csd_msg_alloc(pe, sizeof *p);

	p->head.handler = (uint16_t)report_handler;
	p->begun = begun;
	csd_send(pe, 0, &p->head);
}

/* ---- what arrives ------------------------------------------------------------------------------- */

static void think(uint64_t ns)
{
	nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
}

/* A letter at its end is kept for a while, and one that was kept longer goes back. */
static void keep(struct pe *pe, struct letter *l)
{
	struct letter **place = &row_of(pe)->kept[draw(row_of(pe), KEPT)];

	if (*place)
		csd_msg_free(pe, &(*place)->head);
	*place = l;
}

static void letter_ends(struct pe *pe, struct letter *l)
{
	struct row *r = row_of(pe);
	const int dst = (int)draw(r, (uint64_t)pe->node->job->n_pes);
	const int n = l->may_burst && draw(r, 8) == 0 ? BURST : 0;

	keep(pe, l);
	for (int i = 0; i < n; i++)
		begin(pe, dst, 0);
	report(pe, n);
}

static void letter_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct letter *l = (struct letter *)m;
	struct row *r = row_of(pe);
	const int dst = (int)draw(r, (uint64_t)pe->node->job->n_pes);

	r->n_letters++;
	r->wrong += l->no != r->next[m->src_pe]++;
	r->wrong += n_wrong(l->text, m->size - sizeof *l, l->no + (uint32_t)m->src_pe);
	if (draw(r, 16) == 0)
		put(pe, dst);
	if (draw(r, 128) == 0)
		think(1 + draw(r, 1000000)); /* meanwhile rings fill, or others fall asleep */
	if (l->hops-- == 0)
		letter_ends(pe, l);
	else
		pass_on(pe, l, dst);
}

static void put_arrived(struct pe *pe, int src_pe, const struct cmi_put_head *h, const void *body, size_t bytes)
{
	struct row *r = row_of(pe);

	r->n_puts++;
	r->wrong += h->channel != 7 || h->iteration != r->puts_next[src_pe]++;
	r->wrong += n_wrong(body, bytes, (uint32_t)h->iteration);
}

/* The token's holder thinks for longer than an idle PE looks on, so the others sleep, and the next one is woken. */
static void token_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct letter *l = (struct letter *)m;

	if (l->hops-- == 0) {
		csd_msg_free(pe, m);
		csd_exit(pe, 0);
		return;
	}
	think(400000);
	csd_send(pe, (int)draw(row_of(pe), (uint64_t)pe->node->job->n_pes), m);
}

static void report_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct row *r = row_of(pe);

	r->under_way += ((struct report *)m)->begun - 1;
	csd_msg_free(pe, m);
	if (r->under_way == 0) {
		struct letter *token = (struct letter *)csd_msg_alloc(pe, sizeof *token);

		token->head.handler = (uint16_t)token_handler;
		token->hops = TOKEN_HOPS;
		csd_send(pe, (int)draw(r, (uint64_t)pe->node->job->n_pes), &token->head);
	}
}

/* ---- the layer ---------------------------------------------------------------------------------- */

static int node_start(struct node *node)
{
	letter_handler = csd_register(node, "letter", letter_arrived);
	report_handler = csd_register(node, "report", report_arrived);
	token_handler = csd_register(node, "token", token_arrived);
	return 0;
}

static void pe_start(struct pe *pe)
{
	struct row *r = row_of(pe);
	const uint64_t n_pes = (uint64_t)pe->node->job->n_pes;

	r->random = (run_seed + 1) * 0x9e3779b97f4a7c15u + (uint64_t)pe->id * 0xda942042e4dd58b5u;
	r->under_way = LETTERS * (int)n_pes;
	r->wrong += strcmp(cmi_name(pe->node->machine), "host") != 0;
	for (int i = 0; i < LETTERS; i++)
		begin(pe, (int)draw(r, n_pes), 1 + (int)draw(r, HOPS));
}

static void pe_stop(struct pe *pe)
{
	for (int i = 0; i < KEPT; i++)
		if (row_of(pe)->kept[i])
			csd_msg_free(pe, &row_of(pe)->kept[i]->head);
}

static const struct csd_layer layer = {
	.name = "traffic", .node_start = node_start, .pe_start = pe_start, .pe_stop = pe_stop,
	.up = {.put_arrived = put_arrived},
};

static void run(int nodes, int pes, uint64_t seed)
{
	const int n_pes = nodes * pes;
	int n_letters = 0, n_puts = 0;

	memset(rows, 0, sizeof rows);
	run_seed = seed;
	print_message("%d nodes of %d PEs, CHECK_SEED=%llu\n", nodes, pes, (unsigned long long)seed);
	assert_int_equal(check_run(&layer, NULL, nodes, pes, 0), 0);
	for (int p = 0; p < n_pes; p++) {
		assert_int_equal(rows[p].wrong, 0);
		n_letters += rows[p].n_letters;
		n_puts += rows[p].n_puts;
		for (int q = 0; q < n_pes; q++)
			assert_int_equal(rows[p].sent[q], rows[q].next[p]);
	}
	assert_true(n_letters >= 2 * LETTERS * n_pes);
	assert_true(n_puts > 0);
}

static void two_nodes_lose_and_change_nothing(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++)
		run(2, 1, seed);
}

static void nor_do_nodes_of_several_pes(void **state)
{
	(void)state;
	run(2, 2, 11);
	run(3, 3, 12);
	run(2, 4, 13);
}

static void nor_do_more_nodes_than_a_pe_reads_rings(void **state)
{
	(void)state;
	run(12, 1, 21);
}

static void nor_does_a_run_of_the_given_seed(void **state)
{
	const char *seed = getenv("CHECK_SEED");

	(void)state;
	for (int nodes = 2; seed && nodes <= 3; nodes++)
		for (int pes = 1; pes <= 3; pes++)
			run(nodes, pes, strtoull(seed, NULL, 10));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_nodes_lose_and_change_nothing),
		cmocka_unit_test(nor_do_nodes_of_several_pes),
		cmocka_unit_test(nor_do_more_nodes_than_a_pe_reads_rings),
		cmocka_unit_test(nor_does_a_run_of_the_given_seed),
	};

	setenv("CHECK_NET", "shared", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
