/* SPDX-License-Identifier: Apache-2.0 */
/* test_look.c: what two looks at a job say, and their text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "steer/steer_int.h"

/* One host, one node, two PEs. */
struct host_bytes {
	struct cmi_seen_host head;
	struct cmi_seen_node node;
	struct cmi_seen pe[2];
};
_Static_assert(sizeof(struct host_bytes) == sizeof(struct cmi_seen_host) +
	       sizeof(struct cmi_seen_node) + 2 * sizeof(struct cmi_seen), "as it is sent");

static struct host_bytes bytes[2];
static int first_pe[] = { 0, 2 }, node_of[] = { 0, 0 }, zero[1];
static size_t node_at[] = { sizeof(struct cmi_seen_host) };
static size_t pe_at[] = { offsetof(struct host_bytes, pe[0]), offsetof(struct host_bytes, pe[1]) };
static const struct cmi_job job = { .n_nodes = 1, .n_pes = 2, .first_pe = first_pe,
				    .node_of = node_of };
static struct look_host now, before;

/* A second apart; the PE of `which` is at the end of each. */
static struct look looks(struct cmi_seen a, struct cmi_seen b)
{
	memset(bytes, 0, sizeof bytes);
	bytes[0].head.at_ns = 5000000000;
	bytes[1].head.at_ns = 6000000000;
	bytes[0].pe[0] = a;
	bytes[1].pe[0] = b;
	before = (struct look_host){ 1, (char *)&bytes[0] };
	now = (struct look_host){ 2, (char *)&bytes[1] };
	return (struct look){ .job = &job, .n_hosts = 1, .first = zero, .host_of = zero, .now = &now,
			      .before = &before, .pe_at = pe_at, .node_at = node_at };
}

static int permille(double x) { return (int)(x * 1000 + 0.5); }

static void rates_are_those_between_the_looks(void **state)
{
	const struct cmi_seen a = { .state = SEEN_IDLE, .sent = 10, .far = 100, .counted_ms = 500,
				    .idle_ms = 500 };
	const struct cmi_seen b = { .state = SEEN_BUSY, .sent = 40, .far = 1100, .counted_ms = 1500,
				    .idle_ms = 750, .queue = 3 };
	const struct look l = looks(a, b);
	const struct look_rates r = look_rates(&l, 0);

	(void)state;
	assert_int_equal(permille(r.busy), 750);
	assert_int_equal((int)(r.sent + 0.5), 30);
	assert_int_equal((int)(r.far + 0.5), 1000);
	assert_int_equal(r.queue, 3);
}

static void a_pe_that_does_not_count_shows_where_it_is(void **state)
{
	struct look l = looks((struct cmi_seen){ .state = SEEN_AWAY },
			      (struct cmi_seen){ .state = SEEN_AWAY, .sent = 99 });

	(void)state;
	assert_int_equal(permille(look_rates(&l, 0).busy), 1000);
	assert_int_equal(permille(look_rates(&l, 0).sent), 0);
	l = looks((struct cmi_seen){ .state = SEEN_ASLEEP }, (struct cmi_seen){ .state = SEEN_ASLEEP });
	assert_int_equal(permille(look_rates(&l, 0).busy), 0);
	assert_true(look_rates(&l, 1).busy < 0); /* it is not seen */
}

static void a_pe_that_began_to_count_between_the_looks_has_counted_since(void **state)
{
	const struct cmi_seen a = { .state = SEEN_AWAY, .counted_ms = 90000, .idle_ms = 50 };
	const struct look l = looks(a, (struct cmi_seen){ .state = SEEN_IDLE, .counted_ms = 400,
							  .idle_ms = 100 });

	(void)state;
	assert_int_equal(permille(look_rates(&l, 0).busy), 750);
}

static void status_has_a_line_for_each_pe(void **state)
{
	const struct look l = looks((struct cmi_seen){ .state = SEEN_IDLE, .counted_ms = 1000 },
				    (struct cmi_seen){ .state = SEEN_BUSY, .counted_ms = 2000, .state_s = 9 });
	char *text, *line;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	(void)state;
	text_pes(out, &l);
	fclose(out);
	line = strstr(text, "pe id=0 node=0 state=busy state_s=9 busy=1.000 queue=0");
	assert_ptr_equal(line, text);
	assert_non_null(strstr(text, "\npe id=1 node=0 state=- state_s=- busy=- "));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_are_those_between_the_looks),
		cmocka_unit_test(a_pe_that_does_not_count_shows_where_it_is),
		cmocka_unit_test(a_pe_that_began_to_count_between_the_looks_has_counted_since),
		cmocka_unit_test(status_has_a_line_for_each_pe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
