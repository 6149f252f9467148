/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_trace.c: the file that a trace leaves, as a reader finds it. The clock is CLOCK_MONOTONIC, and records get the
 * times that the tests want.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../runtime/machine/tools/clock.h"
#include "../../runtime/trace/trace.h"

enum { PLACES = 128, NAMES_ROOM = 4096 };

static struct trace_options options = { .on = true, .bytes = PLACES * sizeof(struct trace_record), .ticks = false };

static uint64_t epoch; /* of trace_of and file_of */

static struct trace *trace_of(int pe, int n_pes)
{
	char *const argv[] = { (char *)"program", (char *)"-n", (char *)"7" };
	const struct trace_writer w = { .pe = pe, .n_pes = n_pes, .node = 2, .n_nodes = 5, .first_pe = 3,
					.epoch = epoch, .checkpoint = 7 * epoch,
					.host_id = 0x123456789abcdef0, .argv = argv, .argc = 3 };
	char why[256];
	struct trace *t = trace_create(&options, &w, NAMES_ROOM - 100, why, sizeof why);

	assert_non_null(t);
	return t;
}

static const char *file_of(int pe)
{
	static char name[PATH_MAX];

	trace_file_name(name, sizeof name, options.folder, epoch, pe);
	return name;
}

static const struct trace_head *mapped(int pe, size_t *bytes)
{
	const int fd = open(file_of(pe), O_RDONLY);
	struct stat st;

	assert_true(fd >= 0 && !fstat(fd, &st));
	*bytes = (size_t)st.st_size;
	const void *p = mmap(NULL, *bytes, PROT_READ, MAP_SHARED, fd, 0);

	assert_true(p != MAP_FAILED);
	close(fd);
	return p;
}

static const struct trace_record *ring_of(const struct trace_head *h)
{
	return (const struct trace_record *)(const void *)((const char *)h + h->head_bytes);
}

static void write_at(struct trace *t, uint64_t time, uint64_t value)
{
	struct trace_record *r = trace_next(t, TRACE_USER_COUNTER);

	r->time = time;
	r->what = 3;
	r->pe = 1;
	r->seq = (uint32_t)t->count;
	r->bytes = trace_bytes(value);
	trace_set_value(r, value);
	trace_done(t, r);
}

/* ---- facts ------------------------------------------------------------------------------------------ */

static void the_head_says_who_writes(void **state)
{
	const uint64_t before = machine_now_ns();
	struct trace *t = trace_of(4, 9);
	const uint64_t after = machine_now_ns();
	size_t bytes;
	const struct trace_head *h = mapped(4, &bytes);

	(void)state;
	assert_string_equal(h->magic, TRACE_MAGIC);
	assert_int_equal(h->version, TRACE_VERSION);
	assert_int_equal(h->record_bytes, sizeof(struct trace_record));
	assert_int_equal(h->n_records, PLACES);
	assert_int_equal(bytes, h->head_bytes + sizeof(struct trace_record) * PLACES);
	assert_int_equal(h->head_bytes, TRACE_HEAD_BYTES + NAMES_ROOM);
	assert_true(h->pe == 4 && h->n_pes == 9 && h->node == 2 && h->n_nodes == 5 && h->first_pe == 3);
	assert_true(h->host_id == 0x123456789abcdef0 && h->pid == (int32_t)getpid());
	assert_string_equal(h->command, "program -n 7");
	assert_true(h->start.ns >= before && h->start.ns <= after);
	assert_true(h->start.ticks >= before && h->start.ticks <= after);
	assert_memory_equal(&h->last, &h->start, sizeof h->last);
	assert_int_equal(h->ended, 0);
	trace_close(t);
	assert_int_equal(h->ended, 1);
	assert_true(h->last.ns >= after && h->last.ticks >= after);
	munmap((void *)(uintptr_t)h, bytes);
}

static void records_stand_in_a_ring(void **state)
{
	struct trace *t = trace_of(0, 1);
	size_t bytes;
	const struct trace_head *h = mapped(0, &bytes);

	(void)state;
	t->moment_due = UINT64_MAX;
	for (uint64_t i = 0; i < 2 * PLACES + 5; i++) {
		assert_int_equal(h->count, i);
		write_at(t, 1000 + i, UINT64_MAX - i);
		const struct trace_record *r = ring_of(h) + i % PLACES;

		assert_int_equal(h->count, i + 1);
		assert_true(r->time == 1000 + i && r->kind == TRACE_USER_COUNTER && r->flags == 0);
		assert_true(r->what == 3 && r->pe == 1 && r->seq == i && r->bytes == UINT32_MAX);
		assert_true(((uint64_t)r->value[1] << 32 | r->value[0]) == UINT64_MAX - i);
	}
	trace_close(t);
	munmap((void *)(uintptr_t)h, bytes);
}

static void sizes_that_do_not_fit_are_the_largest(void **state)
{
	(void)state;
	assert_int_equal(trace_bytes(7), 7);
	assert_int_equal(trace_bytes(UINT32_MAX - 1), UINT32_MAX - 1);
	assert_int_equal(trace_bytes((uint64_t)1 << 32), UINT32_MAX);
	assert_int_equal(trace_bytes(((uint64_t)1 << 32) + 7), UINT32_MAX);
}

/* The distance doubles, up to a limit. */
static void both_clocks_are_read_from_time_to_time(void **state)
{
	struct trace *t = trace_of(0, 1);
	const uint64_t start = t->head->start.ticks, first = t->moment_due - start;
	const struct trace_moment none = { 0, 0 };

	(void)state;
	assert_true(first > 0);
	t->head->last = none;
	write_at(t, start + first - 1, 0);
	assert_memory_equal(&t->head->last, &none, sizeof none);
	write_at(t, start + first, 0);
	assert_true(t->head->last.ticks >= start && t->head->last.ns >= t->head->start.ns);
	assert_int_equal(t->moment_due, start + 2 * first);
	t->head->last = none;
	write_at(t, start + first + 1, 0);
	assert_memory_equal(&t->head->last, &none, sizeof none);
	const uint64_t late = start + ((uint64_t)1 << 40);

	write_at(t, late, 0);
	assert_true(t->moment_due > late && t->moment_due - late < (uint64_t)1 << 32);
	trace_close(t);
}

static void names_fill_their_room_and_no_more(void **state)
{
	enum { NAME_BYTES = 16, FIT = NAMES_ROOM / NAME_BYTES };
	struct trace *t = trace_of(0, 1);
	char text[16];

	(void)state;
	for (int i = 0; i < FIT; i++) {
		snprintf(text, sizeof text, "n%d", i);
		assert_true(trace_add_name(t, TRACE_NAME_ENTRY, (uint16_t)i, text));
	}
	write_at(t, 1, 2);
	assert_false(trace_add_name(t, TRACE_NAME_ENTRY, FIT, "m"));
	assert_int_equal(trace_event(t, "one more"), 0);
	assert_int_equal(t->head->names_bytes, NAMES_ROOM);
	for (int i = 0; i < FIT; i++) {
		const struct trace_name *n = (const void *)((const char *)t->head + TRACE_HEAD_BYTES + i * NAME_BYTES);

		snprintf(text, sizeof text, "n%d", i);
		assert_true(n->kind == TRACE_NAME_ENTRY && n->id == i && n->bytes == NAME_BYTES);
		assert_string_equal(n->text, text);
	}
	assert_true(t->ring[0].kind == TRACE_USER_COUNTER && t->ring[0].time == 1);
	trace_close(t);
}

static void equal_texts_have_one_number(void **state)
{
	static char one[] = "work", other[] = "work", another[] = "rest", texts[2 * TRACE_EVENT_NAMES][2];
	struct trace *t = trace_of(0, 1);
	const uint16_t number = trace_event(t, one);

	(void)state;
	assert_int_equal(number, 1);
	assert_int_equal(trace_event(t, another), 2);
	assert_int_equal(trace_event(t, other), 1);
	assert_int_equal(trace_event(t, one), 1);
	assert_int_equal(t->n_events, 2);
	/* In the end the table of addresses is full, and those in it are still found. */
	for (int i = 0; i < 2 * TRACE_EVENT_NAMES; i++) {
		texts[i][0] = 'x';
		assert_true(trace_event(t, texts[i]) == 3 || i > TRACE_EVENT_NAMES / 2);
	}
	assert_int_equal(trace_event(t, texts[2 * TRACE_EVENT_NAMES - 1]), 0);
	assert_int_equal(trace_event(t, another), 2);
	assert_int_equal(t->n_events, 3);
	trace_close(t);
}

/* Of a job of four PEs, whose PE 0 may still have its file mapped. */
static void a_smaller_job_leaves_nothing_of_a_larger_one(void **state)
{
	struct trace *older = NULL;

	(void)state;
	for (int pe = 3; pe >= 0; pe--) {
		older = trace_of(pe, 4);
		if (pe)
			trace_close(older);
	}
	write_at(older, 77, 0);
	trace_close(trace_of(1, 2));
	assert_int_equal(access(file_of(3), F_OK), 0);
	trace_close(trace_of(0, 2));
	assert_int_equal(access(file_of(1), F_OK), 0);
	assert_int_equal(access(file_of(2), F_OK), -1);
	assert_int_equal(access(file_of(3), F_OK), -1);
	assert_true(older->ring[0].time == 77 && older->head->n_pes == 4);
	trace_close(older);
}

static bool is_there(uint64_t in_epoch, int pe)
{
	epoch = in_epoch;
	return access(file_of(pe), F_OK) == 0;
}

/* Two PEs, then three, then one; and at last another job in the folder. */
static void a_job_that_is_started_again_keeps_what_was_before(void **state)
{
	static const int n_pes[] = { 2, 3, 1 };
	size_t bytes;

	(void)state;
	for (epoch = 0; epoch < 3; epoch++)
		for (int pe = n_pes[epoch]; pe-- > 0;)
			trace_close(trace_of(pe, n_pes[epoch]));
	for (uint64_t e = 0; e < 3; e++)
		for (int pe = 0; pe < 4; pe++)
			assert_int_equal(is_there(e, pe), pe < n_pes[e]);
	epoch = 1;
	const struct trace_head *h = mapped(2, &bytes);

	assert_true(h->epoch == 1 && h->checkpoint == 7);
	munmap((void *)(uintptr_t)h, bytes);
	trace_close(trace_of(0, 1)); /* epoch 1 once more, with one PE */
	assert_true(is_there(0, 1) && is_there(1, 0) && !is_there(1, 1) && !is_there(2, 0));
	epoch = 0;
	trace_close(trace_of(0, 2));
	assert_true(is_there(0, 1) && !is_there(1, 0));
	epoch = 0;
}

static void names_of_files_are_told_apart(void **state)
{
	static const char *const others[] = { "pe.trace", "pe01.trace", "pe-1.trace", "e0-pe1.trace",
					      "pe1.traces", "e1pe1.trace", "e01-pe1.trace",
					      "pe1.trace.json", "e1-" };
	uint64_t e;
	int pe;

	(void)state;
	assert_true(trace_file_is("pe12.trace", &e, &pe) && e == 0 && pe == 12);
	assert_true(trace_file_is("e34-pe0.trace", &e, &pe) && e == 34 && pe == 0);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		assert_false(trace_file_is(others[i], &e, &pe));
}

static void what_is_asked_for(void **state)
{
	struct trace_options o;

	(void)state;
	setenv("CK_TRACE", "some,folder,4", 1);
	o = trace_asked();
	assert_true(o.on && o.bytes == 4 << 20);
	assert_string_equal(o.folder, "some,folder");
	setenv("CK_TRACE", "folder", 1);
	o = trace_asked();
	assert_true(o.on && o.bytes == 32 << 20);
	assert_string_equal(o.folder, "folder");
	unsetenv("CK_TRACE");
	assert_false(trace_asked().on);
}

/* ---- frame ------------------------------------------------------------------------------------------ */

static int make_folder(void **state)
{
	const char *in = getenv("TMPDIR");

	(void)state;
	snprintf(options.folder, sizeof options.folder, "%s/chard-trace-XXXXXX", in ? in : "/tmp");
	return mkdtemp(options.folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	for (int pe = 0; pe < 10; pe++)
		unlink(file_of(pe));
	return rmdir(options.folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_head_says_who_writes),
		cmocka_unit_test(records_stand_in_a_ring),
		cmocka_unit_test(sizes_that_do_not_fit_are_the_largest),
		cmocka_unit_test(both_clocks_are_read_from_time_to_time),
		cmocka_unit_test(names_fill_their_room_and_no_more),
		cmocka_unit_test(equal_texts_have_one_number),
		cmocka_unit_test(a_smaller_job_leaves_nothing_of_a_larger_one),
		cmocka_unit_test(a_job_that_is_started_again_keeps_what_was_before),
		cmocka_unit_test(names_of_files_are_told_apart),
		cmocka_unit_test(what_is_asked_for),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
