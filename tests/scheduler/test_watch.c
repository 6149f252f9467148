/* SPDX-License-Identifier: Apache-2.0 */
/* test_watch.c: the watchdog ends a job that is at rest, says what is lost, and leaves alone what may still act. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "check_run.h"

enum { LATER_MS = 700, CODE = 7, ACTING_PE = 1 };

static uint64_t end_ns;

static void end_job(void *arg)
{
	csd_exit(arg, CODE);
}

/* ---- what the PE does that acts ------------------------------------------------------------- */

static void nothing(struct pe *pe)
{
	(void)pe;
}

static void set_timer(struct pe *pe)
{
	CcdCallFnAfter(end_job, pe, LATER_MS);
}

static void end_in_time(void *arg)
{
	if (csd_now_ns() >= end_ns)
		csd_exit(arg, CODE);
}

static void set_hook(struct pe *pe)
{
	end_ns = csd_now_ns() + LATER_MS * UINT64_C(1000000);
	CcdCallOnConditionKeep(CcdPROCESSOR_STILL_IDLE, end_in_time, pe);
}

static void wait_inside(struct pe *pe)
{
	const struct timespec t = { 0, LATER_MS * 1000000L };

	nanosleep(&t, NULL);
	csd_exit(pe, CODE);
}

/* The scheduler knows nothing of it. */
static void end_by_alarm(struct pe *pe)
{
	(void)pe;
	alarm(1);
}

/* As if a message had been sent that never arrives, and as if one had been handled twice. */
static void lose_one(struct pe *pe) { pe->n_created++; }
static void handle_one_too_many(struct pe *pe) { pe->n_processed++; }

static void act(struct pe *pe)
{
	void (*fn)(struct pe *pe) = *(void (*const *)(struct pe *pe))pe->node->program;

	if (pe->id == ACTING_PE)
		fn(pe);
}

static uint64_t hold_one(struct pe *pe)
{
	return pe->id == ACTING_PE;
}

static struct csd_thing thing(uint32_t kind, int no)
{
	struct csd_thing t = { .key = { kind, { no }, 0 } };

	snprintf(t.name, sizeof t.name, "%c%d", (int)kind, no);
	return t;
}

static void say_one(struct pe *pe, struct csd_told *to)
{
	csd_tell(to, &(struct csd_wait){ .who = thing('A', pe->id), .on = thing('A', (pe->id + 1) % 3) }, "%s", "");
	if (pe->id == ACTING_PE)
		csd_tell(to, &(struct csd_wait){ .who = thing('W', 1) }, "asks");
	csd_tell(to, &(struct csd_wait){ .who = thing('W', pe->id ? 1 : 0), .how = CSD_IF_ASKED },
		 pe->id ? "was asked for" : "was not asked for");
}

static const struct csd_layer acting = { .name = "acting", .pe_start = act };
static const struct csd_layer holding = { .name = "holding", .pe_start = act, .held = hold_one,
					  .describe = say_one };

enum { FAR_S = 20 };

/* One message is lost, and PE 0 takes the other node for another host. */
static void act_far(struct pe *pe)
{
	alarm(FAR_S);
	if (pe->id == 0)
		((uint64_t *)pe->node->job->host_id)[ACTING_PE]++;
	if (pe->id == ACTING_PE)
		pe->n_created++;
}

static const struct csd_layer far_hosts = { .name = "far", .pe_start = act_far };

/* A message from another process waits at a gate that nobody opens. */
static struct csd_gate gates[2];              /* of each PE, which is a node */
static atomic_int h_waits;                    /* the same number on both */

static void never_comes(struct pe *pe, struct cmi_msg *m)
{
	csd_msg_free(pe, m);
	csd_exit(pe, CODE);
}

static struct csd_gate *closed_gate(struct pe *pe, const struct cmi_msg *m)
{
	return m->handler == h_waits ? &gates[pe->id] : NULL;
}

static int register_gate(struct node *node)
{
	atomic_store(&h_waits, csd_register(node, "waits", never_comes));
	return 0;
}

static void send_to_gate(struct pe *pe)
{
	struct cmi_msg *m;

	csd_gate_init(pe->node, &gates[pe->id], false);
	if (pe->id)
		return;
	m = csd_msg_alloc(pe, sizeof *m);
	m->handler = (uint16_t)h_waits;
	csd_send_node(pe, 1, m);
}

static const struct csd_layer at_a_gate = {
	.name = "gate", .node_start = register_gate, .pe_start = send_to_gate,
	.up.gate_of = closed_gate,
};

static char said[4000];

static int run(const struct csd_layer *layer, void (*fn)(struct pe *pe))
{
	return check_run_apart(&layer, 1, &fn, 3, said, sizeof said);
}

/* ---- facts ------------------------------------------------------------------------------------- */

static void a_job_at_rest_ends_with_125(void **state)
{
	(void)state;
	assert_int_equal(run(&acting, nothing), 125);
	assert_non_null(strstr(said, "chard: the job waits and nothing will ever happen again: all 0 messages"));
	assert_non_null(strstr(said, "chard: nobody waits for anything that the runtime knows of"));
}

static void a_timer_may_still_act(void **state)
{
	(void)state;
	assert_int_equal(run(&acting, set_timer), CODE);
	assert_string_equal(said, "");
}

static void a_hook_may_still_act(void **state)
{
	(void)state;
	assert_int_equal(run(&acting, set_hook), CODE);
	assert_string_equal(said, "");
}

static void a_busy_pe_may_still_act(void **state)
{
	(void)state;
	assert_int_equal(run(&acting, wait_inside), CODE);
	assert_string_equal(said, "");
}

static void what_is_held_back_is_not_lost(void **state)
{
	(void)state;
	assert_int_equal(run(&holding, lose_one), 125);
	assert_non_null(strstr(said, "messages and puts were handled, except those that are held back, "
		"and no timer"));
}

static void what_is_neither_handled_nor_held_is_lost(void **state)
{
	(void)state;
	assert_int_equal(run(&acting, lose_one), 125);
	assert_non_null(strstr(said, "but of 1 messages and puts 0 were handled and 0 wait: 1 are lost."));
	assert_int_equal(run(&acting, handle_one_too_many), 125);
	assert_non_null(strstr(said, "1 too many were handled."));
}

static void between_hosts_the_job_goes_on(void **state)
{
	const struct csd_layer *layer = &far_hosts;

	(void)state;
	/* A report takes 10 s, and the alarm ends the job. */
	assert_int_equal(check_run_nodes_apart(&layer, 1, NULL, 2, 1, said, sizeof said), -1);
	assert_non_null(strstr(said, "no PE has had anything to do, but of 1 messages and puts 0 were handled and 0 wait: "
			       "1 are lost or still under way. The job waits for them"));
	assert_null(strstr(said, "are lost. Damaged memory"));
}

static void what_waits_at_a_gate_is_not_under_way(void **state)
{
	const struct csd_layer *layer = &at_a_gate;

	(void)state;
	assert_int_equal(check_run_nodes_apart(&layer, 1, NULL, 2, 1, said, sizeof said), 125);
	assert_non_null(strstr(said, "all 1 messages and puts were handled, except those that are held "
			       "back"));
}

static void cycles_are_named_and_questions_answered(void **state)
{
	(void)state;
	assert_int_equal(run(&holding, lose_one), 125);
	assert_non_null(strstr(said, "chard: cycle: A0 waits for A1 waits for A2 waits for A0\n"));
	assert_non_null(strstr(said, "chard: PE 1: W1 asks\nchard: PE 1: W1 was asked for\nchard: PE 2: W1 was asked for\n"));
	assert_null(strstr(said, "was not asked for"));
}

static void it_can_be_switched_off(void **state)
{
	(void)state;
	setenv("CK_WATCHDOG", "0", 1);
	assert_int_equal(run(&acting, end_by_alarm), -1);
	unsetenv("CK_WATCHDOG");
	assert_int_equal(run(&acting, end_by_alarm), 125);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_at_rest_ends_with_125),
		cmocka_unit_test(a_timer_may_still_act),
		cmocka_unit_test(a_hook_may_still_act),
		cmocka_unit_test(a_busy_pe_may_still_act),
		cmocka_unit_test(what_is_held_back_is_not_lost),
		cmocka_unit_test(what_is_neither_handled_nor_held_is_lost),
		cmocka_unit_test(between_hosts_the_job_goes_on),
		cmocka_unit_test(what_waits_at_a_gate_is_not_under_way),
		cmocka_unit_test(cycles_are_named_and_questions_answered),
		cmocka_unit_test(it_can_be_switched_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
