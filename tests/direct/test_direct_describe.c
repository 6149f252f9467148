/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_direct_describe.c: the lines of direct_describe: one for each open end of a channel, with both PEs
 * and the number of the put that it waits for.
 */
#include <setjmp.h>
#include <stddef.h>

#include "world.h"

#include <cmocka.h>

#include "../../runtime/direct/direct_describe.h"

enum { WORDS = 8 };

/* One PE, which is both ends. */
struct ends {
	struct world w; /* first */
	uint64_t buf[3][WORDS], src[WORDS];
	CkDirectHandle from[3], to;
	char before[1000], marked[1000], after[1000];
};

static struct ends *ends(void)
{
	return (struct ends *)(uintptr_t)csd_self()->node->program;
}

/* Without what a line says to the watchdog alone (csd_line_fn). */
static void add_line(void *arg, const char *text)
{
	if (text[0] == '\3')
		return;
	if (text[0] == '\2')
		text = strchr(text, '\t') + 1;
	strcat(arg, text);
	strcat(arg, "\n");
}

static void describe(char *lines)
{
	direct_describe(csd_self(), add_line, lines);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_open_end_says_what_it_waits_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
