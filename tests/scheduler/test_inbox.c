/* SPDX-License-Identifier: Apache-2.0 */
/* test_inbox.c: between the PEs of a node messages come once, whole and in order, whichever way
 * they take: the stack, slots of a ring, pointers in a ring that grows; with more senders than
 * rings, too. Blocks that were freed elsewhere come back. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "check_run.h"
#include "../../runtime/scheduler/queue/inbox.h"

enum { PES_MOST = 20,
       EACH = 6000,
       BURST = 150 };

struct text {
	struct cmi_msg head;
	uint32_t no, words;
	uint32_t word[];
};

static uint16_t h_plain, h_other, h_more;
static bool blocked; /* PE 0 takes nothing before all is sent */
static atomic_int n_done;
static uint32_t next_no[PES_MOST];
static uint64_t n_came;
static uint32_t largest_ring;
static uint64_t n_values, n_pointers;

/* ---- the senders ------------------------------------------------------------------------- */

/* Most messages fit a slot, some only just, some not. */
static uint32_t words_of(uint32_t no)
{
	static const uint32_t words[] = { 0, 1, 7, 58, 59, 20, 200 };

	return words[no % 31 == 0 ? 6 : no % 6];
}

static void send_text(struct pe *pe, uint32_t no)
{
	const uint32_t words = words_of(no);
	struct text *t = (struct text *)csd_msg_alloc(pe, sizeof *t + words * sizeof t->word[0]);

	t->head.handler = no % 5 == 0 ? h_other : h_plain;
	t->no = no;
	t->words = words;
	for (uint32_t i = 0; i < words; i++)
		t->word[i] = no * 1000 + i;
	csd_send(pe, 0, &t->head);
}

static void go_on(struct pe *pe, struct cmi_msg *m)
{
	uint32_t no = m->word;
	const uint32_t stop = blocked ? EACH : no + BURST;

	while (no < stop && no < EACH)
		send_text(pe, no++);
	if (no == EACH) {
		atomic_fetch_add(&n_done, 1);
		csd_msg_free(pe, m);
		return;
	}
	m->word = no;
	csd_send(pe, pe->id, m);
}

/* ---- the receiver ------------------------------------------------------------------------ */

static void text_arrived(struct pe *pe, struct cmi_msg *m)
{
	const struct text *t = (struct text *)m;
	const int n_senders = pe->node->job->n_pes - 1;

	assert_int_equal(t->no, next_no[m->src_pe]++);
	assert_int_equal(t->words, words_of(t->no));
	for (uint32_t i = 0; i < t->words; i++)
		assert_int_equal(t->word[i], t->no * 1000 + i);
	csd_msg_free(pe, m);
	if (++n_came == (uint64_t)n_senders * EACH)
		csd_exit(pe, 0);
}

/* PE 0's only message: its queue stands still meanwhile. */
static void wait_for_all(struct pe *pe, struct cmi_msg *m)
{
	while (blocked && atomic_load(&n_done) < pe->node->job->n_pes - 1)
		sched_yield();
	csd_msg_free(pe, m);
}

static void more_arrived(struct pe *pe, struct cmi_msg *m)
{
	if (pe->id)
		go_on(pe, m);
	else
		wait_for_all(pe, m);
}

/* ---- the node ---------------------------------------------------------------------------- */

static int texts_node_start(struct node *node)
{
	static const struct csd_shape shape = { .least = sizeof(struct text) };

	h_plain = (uint16_t)csd_register(node, "plain", text_arrived);
	h_other = (uint16_t)csd_register(node, "other", text_arrived);
	h_more = (uint16_t)csd_register(node, "more", more_arrived);
	csd_expect(node, h_plain, &shape, text_arrived);
	csd_expect(node, h_other, &shape, NULL);
	return 0;
}

static void texts_pe_start(struct pe *pe)
{
	struct cmi_msg *m = csd_msg_alloc(pe, sizeof *m);

	m->handler = h_more;
	m->word = 0;
	csd_send(pe, pe->id, m);
}

static void texts_pe_stop(struct pe *pe)
{
	const struct inbox_out *out = &pe->rings->out[0];

	if (pe->id != 1 || !out->ring)
		return;
	largest_ring = out->ring->n_slots;
	n_values = out->values.n_written;
	n_pointers = out->n_past;
}

static const struct csd_layer texts_layer = {
	.name = "texts",
	.node_start = texts_node_start,
	.pe_start = texts_pe_start,
	.pe_stop = texts_pe_stop,
};

static void run(int n_pes, bool wait)
{
	blocked = wait;
	n_done = 0;
	n_came = n_values = n_pointers = largest_ring = 0;
	memset(next_no, 0, sizeof next_no);
	assert_int_equal(check_run(&texts_layer, NULL, 1, n_pes, 0), 0);
	for (int i = 1; i < n_pes; i++)
		assert_int_equal(next_no[i], EACH);
}

static void small_messages_go_by_value_and_the_others_by_pointer(void **state)
{
	(void)state;
	run(2, false);
	assert_true(n_values > 0);
	assert_true(n_pointers >= EACH / 31 - 16);
}

static void a_ring_grows_while_its_reader_is_busy(void **state)
{
	(void)state;
	run(2, true);
	/* Some may go later, at the end of the job. */
	assert_true(n_values >= RING_SLOTS && n_values < 2 * RING_SLOTS);
	assert_true(largest_ring > EACH / 2);
}

static void more_senders_than_rings_keep_their_order(void **state)
{
	(void)state;
	run(PES_MOST, false);
	run(PES_MOST, true);
}

/* ---- memory ------------------------------------------------------------------------------- */

enum { WINDOW = 200,
       WINDOWS = 500 };
static uint16_t h_block, h_window;
static size_t n_slabs;

static void send_window(struct pe *pe)
{
	for (int i = WINDOW; i-- > 0;) {
		struct cmi_msg *m = csd_msg_alloc(pe, 500);

		m->handler = h_block;
		m->word = (uint32_t)i;
		csd_send(pe, 1, m);
	}
}

static void block_arrived(struct pe *pe, struct cmi_msg *m)
{
	const uint32_t left = m->word;

	csd_msg_free(pe, m);
	if (left)
		return;
	m = csd_msg_alloc(pe, sizeof *m);
	m->handler = h_window;
	csd_send(pe, 0, m);
}

static void window_arrived(struct pe *pe, struct cmi_msg *m)
{
	csd_msg_free(pe, m);
	if (++n_done < WINDOWS)
		send_window(pe);
	else
		csd_exit(pe, 0);
}

static int blocks_node_start(struct node *node)
{
	h_block = (uint16_t)csd_register(node, "block", block_arrived);
	h_window = (uint16_t)csd_register(node, "window", window_arrived);
	return 0;
}

static void blocks_pe_start(struct pe *pe)
{
	if (pe->id == 0)
		send_window(pe);
}

static void blocks_pe_stop(struct pe *pe)
{
	if (pe->id == 0)
		n_slabs = pe->pool.n_slabs;
}

static const struct csd_layer blocks_layer = {
	.name = "blocks",
	.node_start = blocks_node_start,
	.pe_start = blocks_pe_start,
	.pe_stop = blocks_pe_stop,
};

/* 100,000 blocks of 512 bytes are 780 slabs; a window of them is two. */
static void blocks_freed_elsewhere_come_back_in_parcels(void **state)
{
	(void)state;
	n_done = 0;
	assert_int_equal(check_run(&blocks_layer, NULL, 1, 2, 0), 0);
	assert_true(n_slabs <= 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_messages_go_by_value_and_the_others_by_pointer),
		cmocka_unit_test(a_ring_grows_while_its_reader_is_busy),
		cmocka_unit_test(more_senders_than_rings_keep_their_order),
		cmocka_unit_test(blocks_freed_elsewhere_come_back_in_parcels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
