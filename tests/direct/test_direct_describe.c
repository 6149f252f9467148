/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_direct_describe.c: the records of direct_describe as lines: one for each open end of a channel, with both PEs
 * and the number of the put that it waits for.
 */
#include <setjmp.h>
#include <stddef.h>

#include "world.h"
#include "../check_told.h"

#include <cmocka.h>

#include "../../runtime/direct/direct_describe.h"
#include "../../runtime/direct/ends/sender.h"

enum { WORDS = 8, LINES = 1000 };

/* One PE, which is both ends. */
struct ends {
	struct world w; /* first */
	uint64_t buf[3][WORDS], src[WORDS];
	CkDirectHandle from[3], to;
	char before[LINES], marked[LINES], after[LINES];
};

static struct ends *ends(void)
{
	return (struct ends *)(uintptr_t)csd_self()->node->program;
}

static void describe(char lines[LINES])
{
	struct csd_told told = { 0 };

	direct_describe(csd_self(), &told);
	check_told_lines(&told, lines, LINES);
}

static void arrived(void *data)
{
	struct ends *e = ends();

	(void)data;
	CkDirect_readyMark(&e->from[1]);
	describe(e->marked);
	CkDirect_destroyHandle(&e->from[1]);
	CkDirect_destroyHandle(&e->from[2]);
	CkDirect_destroyHandle(&e->to);
	describe(e->after);
	csd_exit(csd_self(), 0);
}

static void start(struct pe *pe)
{
	struct ends *e = ends();

	(void)pe;
	for (int i = 0; i < 3; i++)
		e->from[i] = CkDirect_createHandle(e->buf[i], sizeof(e->buf[i]), 0, arrived, NULL);
	e->to = e->from[1];
	e->src[WORDS - 1] = 1;
	CkDirect_assocLocalBuffer(&e->to, e->src, sizeof(e->src));
	describe(e->before);
	CkDirect_put(&e->to);
}

static void each_open_end_says_what_it_waits_for(void **state)
{
	static struct ends e = {.w = {.start = start, .nodes = 1, .pes = 1}};

	(void)state;
	assert_int_equal(world_run(&e.w), 0);
	assert_string_equal(e.before,
			    "channel 0 (receiver PE 0, not bound) waits for put 1\n"
			    "channel 1 (receiver PE 0, sender PE 0) waits for put 1\n"
			    "channel 2 (receiver PE 0, not bound) waits for put 1\n"
			    "channel 1 (receiver PE 0, sender PE 0), puts made: 0\n");
	assert_string_equal(e.marked,
			    "channel 0 (receiver PE 0, not bound) waits for put 1\n"
			    "channel 1 (receiver PE 0, sender PE 0) is marked and not polled, for put 2\n"
			    "channel 2 (receiver PE 0, not bound) waits for put 1\n"
			    "channel 1 (receiver PE 0, sender PE 0), puts made: 1\n");
	assert_string_equal(e.after, "channel 0 (receiver PE 0, not bound) waits for put 1\n");
}

/* ---- age -------------------------------------------------------------------------------------------- */

enum { LONG_S = 5000, SHORT_S = 1000 };
static const uint64_t S = 1000000000;

/* The seconds that a line of channel `number` tells; -1: none. */
static double armed_s(const char *lines, int number)
{
	const char *line = lines;
	double s = -1;
	int n;

	for (; line && *line; line = strchr(line, '\n') + 1)
		if (sscanf(line, "channel %d", &n) == 1 && n == number &&
		    sscanf(line, "channel %*d (receiver PE 0, %*[^)]) waits for put %*d, armed for at least %lf s\n", &s) == 1)
			return s;
	return s;
}

static void armed_again(void *data)
{
	struct ends *e = ends();

	(void)data;
	CkDirect_ready(&e->from[1]);
	describe(e->marked);
	direct_look(csd_self(), csd_now_ns() - SHORT_S * S);
	describe(e->after);
	csd_exit(csd_self(), 0);
}

static void start_ages(struct pe *pe)
{
	struct ends *e = ends();

	for (int i = 0; i < 3; i++)
		e->from[i] = CkDirect_createHandle(e->buf[i], sizeof(e->buf[i]), 0, armed_again, NULL);
	direct_look(pe, csd_now_ns() - LONG_S * S);
	CkDirect_destroyHandle(&e->from[2]);
	e->from[2] = CkDirect_createHandle(e->buf[2], sizeof(e->buf[2]), 0, armed_again, NULL);
	direct_look(pe, csd_now_ns() - SHORT_S * S);
	describe(e->before);
	e->to = e->from[1];
	e->src[WORDS - 1] = 1;
	CkDirect_assocLocalBuffer(&e->to, e->src, sizeof(e->src));
	CkDirect_put(&e->to);
}

static void an_armed_channel_is_as_old_as_the_first_look_that_found_it_so(void **state)
{
	static struct ends e = {.w = {.start = start_ages, .nodes = 1, .pes = 1}};

	(void)state;
	assert_int_equal(world_run(&e.w), 0);
	assert_true(armed_s(e.before, 0) >= LONG_S && armed_s(e.before, 0) < 2 * LONG_S);
	assert_true(armed_s(e.before, 1) >= LONG_S && armed_s(e.before, 1) < 2 * LONG_S);
	/* Another channel with the same number. */
	assert_true(armed_s(e.before, 2) >= SHORT_S && armed_s(e.before, 2) < LONG_S);
	/* Armed again after a put, and not looked at since; then looked at. */
	assert_true(armed_s(e.marked, 0) >= LONG_S && armed_s(e.marked, 1) < 0);
	assert_true(armed_s(e.after, 0) >= LONG_S);
	assert_true(armed_s(e.after, 1) >= SHORT_S && armed_s(e.after, 1) < LONG_S);
}

/* ---- a put that waits ------------------------------------------------------------------------ */

struct waiting {
	struct world w; /* first */
	uint64_t src[WORDS];
	CkDirectHandle to;
	uint64_t held, made, held_under_way, made_under_way;
};

/* The put has left, and its data are still read. */
static void set_under_way(struct waiting *e, bool is)
{
	const struct direct_handle *h = (const struct direct_handle *)&e->to;
	struct direct_sender_hot *hot = direct_hot(direct_sender_at(direct_of(csd_self()), h->sender));

	hot->not_plain = is ? hot->not_plain | DIRECT_BUSY : hot->not_plain & ~(uint32_t)DIRECT_BUSY;
}

static void start_waiting(struct pe *pe)
{
	struct waiting *e = (struct waiting *)(uintptr_t)pe->node->program;
	const struct csd_ends *calls = pe->node->up.ends;

	calls->send(pe, &e->to, &(struct csd_sending){ .buf = e->src, .bytes = sizeof e->src });
	CkDirect_put(&e->to);
	e->held = direct_held(pe);
	e->made = calls->made(pe, &e->to);
	set_under_way(e, true);
	e->held_under_way = direct_held(pe);
	e->made_under_way = calls->made(pe, &e->to);
	set_under_way(e, false);
	free(calls->leave(pe, &e->to));
	pe->n_processed++;
	csd_exit(pe, 0);
}

static void a_put_that_has_left_no_longer_waits(void **state)
{
	static struct waiting e = {.w = {.start = start_waiting, .nodes = 1, .pes = 1}};

	(void)state;
	assert_int_equal(world_run(&e.w), 0);
	assert_int_equal(e.held, 1);
	assert_int_equal(e.made, 1);
	assert_int_equal(e.held_under_way, 0);
	assert_int_equal(e.made_under_way, 0); /* this count has it from the moment it leaves */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_open_end_says_what_it_waits_for),
		cmocka_unit_test(an_armed_channel_is_as_old_as_the_first_look_that_found_it_so),
		cmocka_unit_test(a_put_that_has_left_no_longer_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
