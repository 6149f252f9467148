/* SPDX-License-Identifier: Apache-2.0 */
/* test_settings.c: the scheduler's environment variables take effect, and bad values end the job. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "check_run.h"
#include "cth.h"

/* ---- bad values ------------------------------------------------------------------------------ */

static void exit_at_once(struct pe *pe)
{
	csd_exit(pe, 0);
}

static const struct csd_layer *const idle_layer = &(const struct csd_layer){ .name = "idle", .pe_start = exit_at_once };

static void a_bad_value_ends_the_job_with_one_line(void **state)
{
	static const struct { const char *name, *value, *allowed; } bad[] = {
		{ "CK_FLOW_BYTES", "32X", "a number of bytes" },
		{ "CK_FLOW_BYTES", "0", "from 1 to" },
		{ "CK_MESSAGE_MEMORY", "512K", "a number of bytes" },
		{ "CK_MESSAGE_MEMORY", "lots", "a number of bytes" },
		{ "CK_STACK", "1x", "a number of KiB, or of bytes with K, M or G, from 16K to 64G" },
		{ "CK_STACK", "8", "from 16K" },
		{ "CK_RANDOM_QUEUE", "yes", "a number from 0" },
		{ "CK_RANDOM_DELAY", "-1", "a number from 0" },
		{ "CK_CHECK", "maybe", "0 or 1" },
		{ "CK_VERBOSE", "2", "0 or 1" },
		{ "CK_PES", "0", "a number from 1 to 65535" },
		{ "CK_PES", "4x", "a number from 1 to 65535" },
		{ "CK_CORES", "0", "a number from 1 to 65535" },
	};
	char said[1024], line[64];

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		snprintf(line, sizeof line, "chard: %s=%s is refused", bad[i].name, bad[i].value);
		setenv(bad[i].name, bad[i].value, 1);
		assert_int_equal(check_run_apart(&idle_layer, 1, NULL, 1, said, sizeof said), 1);
		unsetenv(bad[i].name);
		assert_non_null(strstr(said, line));
		assert_non_null(strstr(said, bad[i].allowed));
		assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
	}
}

static void a_number_of_pes_out_of_range_ends_the_job(void **state)
{
	char said[1024];

	(void)state;
	assert_int_equal(check_run_apart(&idle_layer, 1, NULL, 0, said, sizeof said), 2);
	assert_string_equal(said, "chard: +p 0 is refused: it must be a number from 1 to 65535\n");
}

/* ---- what they mean ------------------------------------------------------------------------------ */

static uint64_t flow_bytes;

static void note_flow_bytes(struct pe *pe)
{
	flow_bytes = pe->node->flow_bytes;
	csd_exit(pe, 0);
}

static const struct csd_layer flow_layer = { .name = "flow", .pe_start = note_flow_bytes };

/* "32M" was once taken for 32. */
static void flow_bytes_takes_a_suffix(void **state)
{
	(void)state;
	assert_int_equal(check_run(&flow_layer, NULL, 1, 1, 0), 0);
	assert_int_equal(flow_bytes, 32 << 20);
	setenv("CK_FLOW_BYTES", "3K", 1);
	assert_int_equal(check_run(&flow_layer, NULL, 1, 1, 0), 0);
	assert_int_equal(flow_bytes, 3 << 10);
	unsetenv("CK_FLOW_BYTES");
}

/* Three times as much as the stack of a thread that asks for none. Downwards, to meet the guard page. */
static __attribute__((noinline)) void use_stack(void)
{
	volatile char used[3 * CTH_STACK_DEFAULT];

	for (size_t i = sizeof used; i >= 1024; i -= 1024)
		used[i - 1] = 1;
}

static void use_and_exit(void *arg)
{
	(void)arg;
	use_stack();
	csd_exit(csd_self(), 0);
}

static void start_thread(struct pe *pe)
{
	(void)pe;
	CthAwaken(CthCreate(use_and_exit, NULL, 0));
}

static const struct csd_layer *const stack_layer = &(const struct csd_layer){ .name = "stack", .pe_start = start_thread };

static void stack_counts_kib_unless_it_has_a_suffix(void **state)
{
	char said[4096];

	(void)state;
	assert_int_not_equal(check_run_apart(&stack_layer, 1, NULL, 1, said, sizeof said), 0);
	setenv("CK_STACK", "1024", 1);
	assert_int_equal(check_run_apart(&stack_layer, 1, NULL, 1, said, sizeof said), 0);
	setenv("CK_STACK", "1M", 1);
	assert_int_equal(check_run_apart(&stack_layer, 1, NULL, 1, said, sizeof said), 0);
	unsetenv("CK_STACK");
}

/* ---- random order, of the node's queue too ---------------------------------------------------------- */

enum { SENT = 32 };
static int h_numbered[2], came[SENT], n_came;
static bool with_priorities;

static void numbered_arrived(struct pe *pe, struct cmi_msg *m)
{
	came[n_came++] = m->prio;
	csd_msg_free(pe, m);
	if (n_came == SENT)
		csd_exit(pe, 0);
}

static int numbered_node_start(struct node *node)
{
	h_numbered[0] = csd_register(node, "numbered", numbered_arrived);
	h_numbered[1] = csd_register(node, "apart", numbered_arrived);
	csd_order_apart(node, h_numbered[1]);
	return 0;
}

/* To the node, in turn for two handlers that promise no order between them: they come in the order of
 * sending, unless the queue is random. With priorities, the best one last: they come in order of these
 * in any case. */
static void send_numbered(struct pe *pe)
{
	for (int i = 0; i < SENT; i++) {
		struct cmi_msg *m = csd_msg_alloc(pe, sizeof *m);

		m->handler = (uint16_t)h_numbered[i % 2];
		if (with_priorities)
			m->flags = CMI_F_PRIO;
		m->prio = with_priorities ? SENT - 1 - i : i;
		csd_send_node(pe, 0, m);
	}
}

static const struct csd_layer numbered_layer = {
	.name = "numbered", .node_start = numbered_node_start, .pe_start = send_numbered,
};

/* Whether all came, and came in order. */
static bool came_in_order(void)
{
	bool seen[SENT] = { false }, in_order = true;

	memset(came, 0, sizeof came);
	n_came = 0;
	assert_int_equal(check_run(&numbered_layer, NULL, 1, 1, 0), 0);
	for (int i = 0; i < SENT; i++) {
		assert_false(seen[came[i]]);
		seen[came[i]] = true;
		in_order = in_order && came[i] == i;
	}
	return in_order;
}

/* CK_RANDOM_DELAY alone once left the node's queue as it is. */
static void either_variable_alone_randomises_the_nodes_queue(void **state)
{
	(void)state;
	assert_true(came_in_order());
	setenv("CK_RANDOM_QUEUE", "5", 1);
	assert_false(came_in_order());
	with_priorities = true;
	assert_true(came_in_order());
	with_priorities = false;
	unsetenv("CK_RANDOM_QUEUE");
	setenv("CK_RANDOM_DELAY", "5", 1);
	assert_false(came_in_order());
	unsetenv("CK_RANDOM_DELAY");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bad_value_ends_the_job_with_one_line),
		cmocka_unit_test(a_number_of_pes_out_of_range_ends_the_job),
		cmocka_unit_test(flow_bytes_takes_a_suffix),
		cmocka_unit_test(stack_counts_kib_unless_it_has_a_suffix),
		cmocka_unit_test(either_variable_alone_randomises_the_nodes_queue),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
