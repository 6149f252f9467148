/* SPDX-License-Identifier: Apache-2.0 */
/* test_converse.c: what programs see of the scheduler (csd.h): handlers registered by name, messages between
 * all PEs, and the lines that end the job after a mistake. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "check_run.h"

/* ---- messages ------------------------------------------------------------------------------ */

enum { MOST_PES = 8, EACH = 20, ROOM = 500 };

struct hail {
	struct cmi_msg head;
	int from, no;
	char filler[ROOM];
};

static atomic_int h_hail, h_relay;       /* every node of a net writes the same numbers */
static atomic_int wrong, total;
static int next_no[MOST_PES][MOST_PES];  /* [on][from]; each PE writes its own row */

static size_t bytes_of(int no)
{
	return offsetof(struct hail, filler) + (size_t)no * 17 % ROOM;
}

static void hail_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct hail *h = (struct hail *)m;
	int n_pes = CmiNumPes(), me = CmiMyPe();

	if (me != pe->id || m->size != bytes_of(h->no) || h->no != next_no[me][h->from]++)
		atomic_fetch_add(&wrong, 1);
	CmiFree(m);
	if (atomic_fetch_add(&total, 1) + 1 == n_pes * n_pes * EACH)
		csd_exit(pe, 0);
}

/* A handler may send on what it was given. */
static void relay_arrived(struct pe *pe, struct cmi_msg *m)
{
	(void)pe;
	CmiSetHandler(m, h_hail);
	CmiSyncSendAndFree(CmiMyPe(), m->size, m);
}

static int register_both(struct node *node)
{
	(void)node;
	h_hail = CmiRegisterHandler("hail", hail_arrived);
	h_relay = CmiRegisterHandler("relay", relay_arrived);
	return 0;
}

static void hail_all(struct pe *pe)
{
	(void)pe;
	for (int no = 0; no < EACH; no++) {
		for (int to = 0; to < CmiNumPes(); to++) {
			struct hail *h = CmiAlloc(sizeof *h);

			h->from = CmiMyPe();
			h->no = no;
			CmiSetHandler(h, h_relay);
			CmiSyncSendAndFree(to, bytes_of(no), h);
		}
	}
}

static const struct csd_layer hail_layer = {
	.name = "hail", .node_start = register_both, .pe_start = hail_all,
};

static void handlers_get_all_messages_of_all_pes_in_order(void **state)
{
	static const int shape[][2] = { { 1, 1 }, { 1, 3 }, { 3, 1 }, { 4, 2 } };

	(void)state;
	for (size_t s = 0; s < sizeof shape / sizeof shape[0]; s++) {
		int n_pes = shape[s][0] * shape[s][1];

		memset(next_no, 0, sizeof next_no);
		total = 0;
		assert_int_equal(check_run(&hail_layer, NULL, shape[s][0], shape[s][1], 0), 0);
		assert_int_equal(wrong, 0);
		assert_int_equal(total, n_pes * n_pes * EACH);
	}
}

/* ---- mistakes ------------------------------------------------------------------------------ */

static void register_late(void)
{
	CmiRegisterHandler("late", hail_arrived);
}

static void alloc_less_than_a_head(void)
{
	CmiAlloc(sizeof(struct cmi_msg) - 1);
}

static void name_no_handler(void)
{
	CmiSetHandler(CmiAlloc(sizeof(struct cmi_msg)), 1000);
}

static void send_more_than_there_is(void)
{
	struct cmi_msg *m = CmiAlloc(sizeof *m);

	CmiSetHandler(m, h_hail);
	CmiSyncSendAndFree(0, sizeof *m + 1, m);
}

static void send_to_no_pe(void)
{
	struct cmi_msg *m = CmiAlloc(sizeof *m);

	CmiSetHandler(m, h_hail);
	CmiSyncSendAndFree(CmiNumPes(), sizeof *m, m);
}

static void *my_pe(void *arg)
{
	CmiMyPe();
	return arg;
}

static void ask_on_a_foreign_thread(void)
{
	pthread_t t;

	pthread_create(&t, NULL, my_pe, NULL);
	pthread_join(t, NULL);
}

static void make_mistake(struct pe *pe)
{
	((void (*)(void))pe->node->program)();
	csd_exit(pe, 0);
}

static void mistakes_end_the_job_with_a_line(void **state)
{
	static const struct { void (*mistake)(void); const char *line; } all[] = {
		{ register_late, "chard: PE 0 (node 0): the message handler \"late\" is registered too "
				 "late: register handlers in an initnode function" },
		{ alloc_less_than_a_head, "CmiAlloc(31): a message begins with a struct cmi_msg" },
		{ name_no_handler, "CmiSetHandler: there is no handler 1000" },
		{ send_more_than_there_is, "CmiSyncSendAndFree: 33 bytes of a message that has 32" },
		{ send_to_no_pe, "message to PE 1: the job has PEs 0-0" },
		{ ask_on_a_foreign_thread, "CmiMyPe was called on a thread that is not a PE" },
	};
	static const struct csd_layer layer = {
		.name = "mistake", .node_start = register_both, .pe_start = make_mistake,
	};
	const struct csd_layer *layers[] = { &layer };
	char said[8192];

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		assert_int_equal(check_run_apart(layers, 1, (const void *)all[i].mistake, 1, said,
						 sizeof said), 1);
		assert_non_null(strstr(said, all[i].line));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(handlers_get_all_messages_of_all_pes_in_order),
		cmocka_unit_test(mistakes_end_the_job_with_a_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
