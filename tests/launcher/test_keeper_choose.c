/* SPDX-License-Identifier: Apache-2.0 */
/* From which checkpoint a job goes on, as its keepers report what they have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* These come first. */
#include <cmocka.h>

#include "../../launcher/keeper/keeper_choose.h"

enum { HOSTS = 3, NODES = 3, JOB = 7, MOST = 32, SECOND = 1000000000 };

struct site {
	struct keeper_report r[HOSTS];
	struct keeper_choice c;
};

static struct site *site_new(void)
{
	struct site *s = calloc(1, sizeof *s);

	assert_non_null(s);
	for (int i = 0; i < HOSTS; i++) {
		s->r[i].answers = true;
		s->r[i].images = calloc(MOST, sizeof *s->r[i].images);
		assert_non_null(s->r[i].images);
	}
	return s;
}

static void site_free(struct site *s)
{
	keeper_choice_fini(&s->c);
	for (int i = 0; i < HOSTS; i++)
		free(s->r[i].images);
	free(s);
}

static void has(struct site *s, int host, uint32_t node, uint64_t sequence, bool mirrored)
{
	struct keeper_state *state = &s->r[host].state;

	assert_true(state->n_images < MOST);
	s->r[host].images[state->n_images++] = (struct keeper_image){ sequence, JOB, node, mirrored };
}

/** Node n is on host n, which is mirrored by the next one. */
static void all_have(struct site *s, uint64_t sequence)
{
	for (int i = 0; i < NODES; i++) {
		has(s, i, (uint32_t)i, sequence, false);
		has(s, (i + 1) % HOSTS, (uint32_t)i, sequence, true);
	}
}

static void knows(struct site *s, int host, int entry, uint64_t sequence)
{
	s->r[host].state.info[entry] = (struct keeper_info){
		sequence, { .n_nodes = NODES, .job = JOB, .at_ns = 5 * (uint64_t)SECOND },
	};
}

static bool choose(struct site *s)
{
	return keeper_choose(&s->c, s->r, HOSTS);
}

static void chooses(struct site *s, uint64_t sequence)
{
	assert_int_equal(choose(s), sequence > 0);
	assert_int_equal(s->c.from.sequence, sequence);
}

static void nothing_committed(void **state)
{
	struct site *s = site_new();

	(void)state;
	all_have(s, 4);
	chooses(s, 0);
	assert_int_equal(s->c.newest, 0);
	site_free(s);
}

static void own_images_first(void **state)
{
	struct site *s = site_new();

	(void)state;
	all_have(s, 4);
	knows(s, 0, 0, 4);
	chooses(s, 4);
	assert_int_equal(s->c.newest, 4);
	for (uint32_t i = 0; i < NODES; i++) {
		assert_int_equal(s->c.places[i].peer, i);
		assert_int_equal(s->c.places[i].mirrored, 0);
	}
	site_free(s);
}

static void a_lost_host_is_mirrored(void **state)
{
	struct site *s = site_new();

	(void)state;
	all_have(s, 4);
	knows(s, 0, 0, 4);
	knows(s, 1, 2, 4); /* with node 0's mirror */
	s->r[0].answers = false;
	chooses(s, 4);
	assert_int_equal(s->c.places[0].peer, 1);
	assert_int_equal(s->c.places[0].mirrored, 1);
	s->r[1].answers = false;
	chooses(s, 0);
	site_free(s);
}

/** Checkpoint 5 is committed, and a host is lost before it is mirrored. */
static void the_one_before(void **state)
{
	struct site *s = site_new();

	(void)state;
	all_have(s, 4);
	for (uint32_t i = 0; i < NODES; i++)
		has(s, (int)i, i, 5, false);
	knows(s, 0, 0, 5);
	knows(s, 0, 1, 4);
	chooses(s, 5);
	s->r[2].answers = false;
	chooses(s, 4);
	assert_int_equal(s->c.newest, 5);
	assert_int_equal(s->c.missing, 2);
	site_free(s);
}

static void an_image_is_missing(void **state)
{
	struct site *s = site_new();

	(void)state;
	has(s, 0, 0, 4, false);
	has(s, 2, 2, 4, false);
	knows(s, 0, 0, 4);
	chooses(s, 0);
	assert_int_equal(s->c.newest, 4);
	assert_int_equal(s->c.missing, 1);
	has(s, 1, 1, 4, false);
	s->r[1].images[0].job = JOB + 1;
	chooses(s, 0);
	s->r[1].images[0].job = JOB;
	chooses(s, 4);
	site_free(s);
}

/** Images of nodes that the checkpoint did not have, and information of none. */
static void nonsense(void **state)
{
	struct site *s = site_new();

	(void)state;
	all_have(s, 4);
	has(s, 1, 1000000, 4, false);
	knows(s, 0, 0, 4);
	knows(s, 1, 0, 9);
	s->r[1].state.info[0].info.n_nodes = 0;
	knows(s, 2, 0, 9);
	s->r[2].state.info[0].info.n_nodes = UINT32_MAX;
	chooses(s, 4);
	site_free(s);
}

static void clocks(void **state)
{
	struct site *s = site_new();

	(void)state;
	all_have(s, 4);
	knows(s, 1, 0, 4);
	s->r[1].state.now_ns = 6 * (uint64_t)SECOND;
	s->r[1].heard_ns = 106 * (uint64_t)SECOND;
	s->r[1].state.since = (struct keeper_since){ .up_ns = 2 * (uint64_t)SECOND, .lost_ns = 3 };
	s->r[0].heard_ns = s->r[2].heard_ns = 106 * (uint64_t)SECOND;
	s->r[0].state.now_ns = s->r[2].state.now_ns = 1000 * (uint64_t)SECOND;
	s->r[2].state.since = (struct keeper_since){ .up_ns = 990 * (uint64_t)SECOND, .lost_ns = 4 };
	chooses(s, 4);
	assert_int_equal(s->c.from.info.at_ns, 105 * (uint64_t)SECOND);
	assert_int_equal(s->c.since.up_ns, 102 * (uint64_t)SECOND); /* 4 s ago, not 10 */
	assert_int_equal(s->c.since.died_ns, 0);
	assert_int_equal(s->c.since.lost_ns, 3);
	assert_int_equal(keeper_time(5, 1000, 100), 1); /* before that host was up */
	site_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_committed),
		cmocka_unit_test(own_images_first),
		cmocka_unit_test(a_lost_host_is_mirrored),
		cmocka_unit_test(the_one_before),
		cmocka_unit_test(an_image_is_missing),
		cmocka_unit_test(nonsense),
		cmocka_unit_test(clocks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
