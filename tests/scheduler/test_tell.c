/* SPDX-License-Identifier: Apache-2.0 */
/* test_tell.c: records of what waits: what is written can be read, is bounded, and is checked when it has travelled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "check_told.h"
#include "../../runtime/machine/tools/clock.h"

enum { LINES = 8000, PARTS = 20, MANY = 700 };

static const struct csd_wait asked = { .how = CSD_IF_ASKED };

static int n_records(const struct csd_told *told)
{
	int n = 0;

	for (const struct csd_record *r = NULL; (r = csd_told_next(told, r));)
		n++;
	return n;
}

static int count(const char *text, const char *what)
{
	int n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

static void a_line_is_a_name_and_a_text(void **state)
{
	const struct csd_wait named = { .who.name = "Cell(3)" };
	const struct csd_wait old = { .who.name = "Cell(3)", .since_ns = machine_now_ns() - UINT64_C(5000000000) };
	struct csd_told told = { 0 };
	char lines[LINES] = "";

	(void)state;
	csd_tell(&told, NULL, "%d messages wait", 7);
	csd_tell(&told, &named, "waits for %s", "quiescence");
	csd_tell(&told, &named, ", on PE %d, moves", 2);
	csd_tell(&told, &named, ": all have come");
	csd_tell(&told, &named, "%s", "");
	csd_tell(&told, &old, "is armed");
	assert_int_equal(n_records(&told), 6);
	check_told_lines(&told, lines, LINES);
	assert_memory_equal(lines, "7 messages wait\nCell(3) waits for quiescence\nCell(3), on PE 2, moves\n"
			    "Cell(3): all have come\nCell(3) is armed for at least 5.0", 115);
}

static void ends_travel_with_their_keys(void **state)
{
	const struct csd_wait w = { .who = { { 'a', { 1, 2, 3 }, 4 }, "who" }, .on = { { 'b', { 5, 6, 7 }, 8 }, "on" },
				    .how = CSD_MAY_WAIT };
	struct csd_told told = { 0 };
	const struct csd_record *r;

	(void)state;
	csd_tell(&told, &w, "text");
	r = csd_told_next(&told, NULL);
	assert_memory_equal(&r->who, &w.who.key, sizeof r->who);
	assert_memory_equal(&r->on, &w.on.key, sizeof r->on);
	assert_string_equal(r->names, "who");
	assert_string_equal(csd_record_on(r), "on");
	assert_string_equal(csd_record_text(r), "text");
	assert_int_equal(r->how, CSD_MAY_WAIT);
	assert_int_equal(r->for_ns, 0);
	assert_null(csd_told_next(&told, r));
	free(told.at);
}

/* One that talks much leaves the others their lines. */
static void the_lines_of_a_part_and_of_a_pe_are_bounded(void **state)
{
	struct csd_told told = { 0 };
	char lines[LINES] = "";

	(void)state;
	for (int part = 0; part < PARTS; part++) {
		csd_tell_part(&told);
		for (int i = 0; i < (part ? 2 : MANY); i++)
			csd_tell(&told, NULL, "line of part %d;", part);
	}
	for (int i = 0; i < MANY; i++)
		csd_tell(&told, &asked, "%s", "");
	csd_tell_end(&told);
	assert_int_equal(n_records(&told), 16 + 1 + 2 * (PARTS - 1) + 100);
	check_told_lines(&told, lines, LINES);
	assert_int_equal(count(lines, "line of part 0;"), 16);
	assert_int_equal(count(lines, "and 684 more like these\n"), 1);
	assert_int_equal(count(lines, "line of part 19;"), 2);
	assert_int_equal(count(lines, "more lines"), 0);
}

static void what_is_left_out_of_a_pe_is_counted(void **state)
{
	struct csd_told told = { 0 };
	char lines[LINES] = "";

	(void)state;
	for (int i = 0; i < MANY; i++) {
		csd_tell_part(&told);
		csd_tell(&told, NULL, "a line");
		csd_tell(&told, &asked, "asked");
	}
	csd_tell_end(&told);
	check_told_lines(&told, lines, LINES);
	assert_int_equal(count(lines, "a line\n"), 60);
	assert_int_equal(count(lines, "asked\n"), 500);
	assert_int_equal(count(lines, "and 640 more lines\n"), 1);
}

/* Three records, and what damage makes of the second. */
static bool fits_with(size_t at, uint32_t value, size_t cut)
{
	struct csd_told told = { 0 };
	bool fits;

	csd_tell(&told, NULL, "first");
	const size_t second = told.bytes;

	csd_tell(&told, NULL, "other");
	csd_tell(&told, NULL, "third");
	memcpy(told.at + second + at, &value, sizeof value);
	told.bytes -= cut;
	fits = csd_told_fits(&told);
	free(told.at);
	return fits;
}

static void damage_is_seen(void **state)
{
	const uint32_t bytes = (sizeof(struct csd_record) + sizeof "other" + 2 + 7) & ~7u;
	const struct csd_told nothing = { 0 };

	(void)state;
	assert_true(csd_told_fits(&nothing));
	assert_true(fits_with(0, bytes, 0));
	assert_false(fits_with(0, 0, 0));
	assert_false(fits_with(0, 8, 0));
	assert_false(fits_with(0, bytes + 4, 0));
	assert_false(fits_with(0, bytes + 8, 0));
	assert_false(fits_with(0, UINT32_MAX - 7, 0));
	assert_false(fits_with(offsetof(struct csd_record, how), CSD_MAY_WAIT + 1, 0));
	assert_false(fits_with(0, bytes, 8));
	assert_false(fits_with(0, bytes, bytes - 16));
	/* Of its three strings one is left. */
	assert_false(fits_with(offsetof(struct csd_record, names), 0x41414141, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_a_name_and_a_text),
		cmocka_unit_test(ends_travel_with_their_keys),
		cmocka_unit_test(the_lines_of_a_part_and_of_a_pe_are_bounded),
		cmocka_unit_test(what_is_left_out_of_a_pe_is_counted),
		cmocka_unit_test(damage_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
