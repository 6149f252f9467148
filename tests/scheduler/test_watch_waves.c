/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_watch_waves.c: one wave proves nothing. A wave asks the PEs one after the other, so it can find equal sums that
 * never were there at one time: what a PE did after it had answered is missing, and another PE's answer has what came
 * of it. Here all that the wave adds up was handled, and a message is under way that it knows nothing of:
 *
 *	PE 0         PE 1                     PE 2
 *	asks         answers: 0 sent          FIRST is under way to PE 1, 1 sent
 *	             FIRST comes: SECOND ---> SECOND comes; 1 handled
 *	                          THIRD  ...> is asked, and answers: 1 sent, 1 handled
 *	1 sent, 1 handled; and THIRD is under way
 *
 * Nor do many waves, if they overtake a message that quiescence does not count: one of the
 * runtime's own (LATE), or the credit that a counted one waits for. Each waits here until PE 1 was
 * asked often.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <cmocka.h>

#include "check_run.h"
#include "check_hold.h"
#include "../../runtime/scheduler/loop/loop.h"

enum { CODE = 7 };
enum ball { FIRST = 1, SECOND, THIRD, LATE, BIG, BEHIND };
enum { ASK, SUMS }; /* enum watch_kind */

static atomic_int h_ball; /* every node of the net writes the same number */
static atomic_int has_answered, second_came; /* PE 1; on PE 2 */
static int n_asked;                           /* PE 2's: how often it was */

enum { OFTEN = 6, BUDGET = 100000 };
static enum ball begins;                      /* what PE 2 throws at PE 1 */
static atomic_int n_asked_1;                  /* how often PE 1 was */

static uint32_t word_of(const struct cmi_msg *m)
{
	return *(const uint32_t *)(const void *)(m + 1);
}

static bool is_watch(const struct pe *pe, const struct cmi_msg *m, uint32_t kind)
{
	return m->handler == pe->node->h_watch && word_of(m) == kind;
}

static bool is_ball(const struct cmi_msg *m, uint32_t ball)
{
	return m->handler == h_ball && word_of(m) == ball;
}

static bool is_late_credit(const struct pe *pe, const struct cmi_msg *m)
{
	return begins == BIG && pe->id == 2 && m->src_pe == 1 && hold_is(pe, m, "csd.credit");
}

static bool hold_must(const struct pe *pe, const struct cmi_msg *m)
{
	if (is_ball(m, FIRST))
		return !atomic_load(&has_answered);
	if (is_ball(m, THIRD))
		return n_asked < 2;
	if (is_ball(m, LATE) || is_late_credit(pe, m))
		return atomic_load(&n_asked_1) < OFTEN;
	return begins == FIRST && pe->id == 2 && is_watch(pe, m, ASK) && !atomic_load(&second_came);
}

static void hold_over(const struct pe *pe, const struct cmi_msg *m)
{
	if (pe->id == 0 && m->src_pe == 1 && is_watch(pe, m, SUMS))
		atomic_store(&has_answered, 1);
	if (pe->id == 2 && is_watch(pe, m, ASK))
		n_asked++;
	if (pe->id == 1 && is_watch(pe, m, ASK))
		atomic_fetch_add(&n_asked_1, 1);
}

static void throw(struct pe *pe, int to, uint32_t ball)
{
	struct cmi_msg *m = csd_msg_alloc(pe, sizeof *m + sizeof ball + (ball == BIG ? BUDGET : 0));

	m->handler = (uint16_t)h_ball;
	m->flags = ball == LATE ? CMI_F_SYSTEM : 0;
	memcpy(m + 1, &ball, sizeof ball);
	csd_send(pe, to, m);
}

static void ball_came(struct pe *pe, struct cmi_msg *m)
{
	switch (word_of(m)) {
	case FIRST:
		throw(pe, 2, SECOND);
		throw(pe, 2, THIRD);
		break;
	case SECOND:
		atomic_store(&second_came, 1);
		break;
	case BIG:
		break;
	default:
		csd_exit(pe, CODE);
	}
	csd_msg_free(pe, m);
}

static void start(struct pe *pe)
{
	if (pe->id == 2)
		throw(pe, 1, begins);
	if (pe->id == 2 && begins == BIG)
		throw(pe, 1, BEHIND);
}

static int register_ball(struct node *node)
{
	static const struct csd_shape shape = {
		.least = sizeof(struct cmi_msg) + sizeof(uint32_t), .may = CMI_F_SYSTEM,
	};

	h_ball = csd_register(node, "ball", ball_came);
	csd_expect(node, h_ball, &shape, NULL);
	return 0;
}

static const struct csd_layer balls = { .name = "balls", .node_start = register_ball, .pe_start = start };

static void one_wave_with_equal_sums_is_no_rest(void **state)
{
	(void)state;
	begins = FIRST;
	assert_int_equal(check_run(&balls, NULL, HOLD_PES, 1, 0), CODE);
	assert_int_equal(n_asked, 2);
}

static void many_waves_are_no_rest_while(enum ball is_late)
{
	begins = is_late;
	atomic_store(&n_asked_1, 0);
	assert_int_equal(check_run(&balls, NULL, HOLD_PES, 1, 0), CODE);
	assert_true(atomic_load(&n_asked_1) >= OFTEN);
}

static void a_slow_message_that_is_not_counted_is_no_rest(void **state)
{
	(void)state;
	many_waves_are_no_rest_while(LATE);
}

static void a_slow_credit_is_no_rest(void **state)
{
	char bytes[16];

	(void)state;
	snprintf(bytes, sizeof bytes, "%d", BUDGET);
	setenv("CK_FLOW_BYTES", bytes, 1);
	many_waves_are_no_rest_while(BIG);
	unsetenv("CK_FLOW_BYTES");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_wave_with_equal_sums_is_no_rest),
		cmocka_unit_test(a_slow_message_that_is_not_counted_is_no_rest),
		cmocka_unit_test(a_slow_credit_is_no_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
