/* SPDX-License-Identifier: Apache-2.0 */
/* test_image.c: the block of a PE, as it is written. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../runtime/image/image.h"
#include "../../runtime/image/image_sum.h"

static _Alignas(16) char memory[4096];

static struct image_out measuring(void)
{
	return (struct image_out){ .add = image_add };
}

static struct image_out writing(size_t room)
{
	memset(memory, 0x55, sizeof memory);
	return (struct image_out){ .add = image_add, .to = memory, .room = room };
}

static const struct image_name cell = { .kind = IMAGE_ELEMENT, .pe = 3, .coll = 7,
					 .index = { 1, 2, 3 } };

static size_t write_two(struct image_out *out)
{
	void *p = out->add(out, &cell, 5);

	if (p)
		memcpy(p, "abcde", 5);
	p = out->add(out, &(struct image_name){ .kind = IMAGE_COUNTS }, 16);
	if (p)
		memcpy(p, "0123456789abcdef", 16);
	return image_added(out);
}

static void both_passes_have_the_same_size(void **state)
{
	struct image_out m = measuring(), w = writing(sizeof memory);

	(void)state;
	assert_int_equal(write_two(&m), 64 + 16 + 64 + 16);
	assert_int_equal(write_two(&w), m.used);
}

static void a_block_may_be_full(void **state)
{
	struct image_out w = writing(160);

	(void)state;
	assert_int_equal(write_two(&w), 160);
	assert_int_equal(memory[160], 0x55);
}

static int second_ends_with(size_t room)
{
	int status;
	const pid_t pid = fork();

	if (pid == 0) {
		struct image_out w = writing(room);

		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		signal(SIGABRT, SIG_DFL);
		fclose(stderr);
		write_two(&w);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void the_second_record_must_fit_too(void **state)
{
	(void)state;
	assert_int_equal(second_ends_with(160), 0);
	assert_int_equal(second_ends_with(144), SIGABRT);
	assert_int_equal(second_ends_with(100), SIGABRT);
}

static void records_lie_one_after_the_other(void **state)
{
	struct image_out w = writing(sizeof memory);
	const struct image_record *first = (const void *)memory, *second = (const void *)(memory + 80);

	(void)state;
	write_two(&w);
	assert_memory_equal(&first->name, &cell, sizeof cell);
	assert_int_equal(first->bytes, 5);
	assert_memory_equal(first + 1, "abcde\0\0\0\0\0\0\0\0\0\0\0", 16);
	assert_int_equal(second->name.kind, IMAGE_COUNTS);
	assert_int_equal(second->bytes, 16);
	assert_int_equal(second->more, 0);
}

/* The numbers are those of xxhsum -H3: the format may not change unseen. */
static void a_sum_covers_name_size_and_bytes(void **state)
{
	struct image_out w = writing(sizeof memory);
	struct image_record *first = (void *)memory, *second = (void *)(memory + 80);

	(void)state;
	write_two(&w);
	assert_int_equal(first->sum, image_sum_of(first));
	assert_int_equal(second->sum, image_sum_of(second));
	for (size_t i = 0; i < 64 + 5; i++) {
		if (i >= offsetof(struct image_record, bytes) && i < sizeof *first)
			continue;
		memory[i] ^= 1;
		assert_int_not_equal(first->sum, image_sum_of(first));
		memory[i] ^= 1;
	}
	assert_int_equal(image_sum("abcde", 5), 0x55c65158ee9e652dU);
}

/* Whatever registers make it, and in whatever pieces. */
static void a_long_sum_is_that_of_xxh3(void **state)
{
	static char bytes[5000];
	XXH3_state_t all;

	(void)state;
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (char)(i * i >> 3);
	for (size_t n = IMAGE_SUM_SHORT; n <= sizeof bytes; n += 1 + n / 20) {
		assert_int_equal(image_sum(bytes, n), XXH3_64bits(bytes, n));
		assert_int_equal(image_sum_seeded(bytes, n, 7), XXH3_64bits_withSeed(bytes, n, 7));
		XXH3_64bits_reset(&all);
		image_sum_add(&all, bytes, n / 3);
		image_sum_add(&all, bytes + n / 3, n - n / 3);
		assert_int_equal(XXH3_64bits_digest(&all), XXH3_64bits(bytes, n));
	}
}

/* Of any size, to any place, with bytes before and behind it that are written one by one. */
static void a_block_may_be_copied_into_a_record(void **state)
{
	static char from[40000];
	_Alignas(64) static char room[2 * sizeof from + 1000];
	const size_t sizes[] = { 0, 1, 63, 8191, 8192, 8193, 20000, 39990 };

	(void)state;
	for (size_t i = 0; i < sizeof from; i++)
		from[i] = (char)(i * 7 >> 2);
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
		for (size_t before = 0; before < 70; before += 23) {
			struct image_out w = { .add = image_add, .to = room, .room = sizeof room };
			const size_t n = sizes[s];
			char *p = w.add(&w, &cell, before + 2 * n + 5);

			memset(p, 1, before);
			image_copy(&w, p + before, from + s, n / 2);
			memset(p + before + n / 2, 2, n - n / 2);
			image_copy(&w, p + before + n, from, n);
			memset(p + before + 2 * n, 3, 5);
			w.add(&w, &cell, 0);
			image_added(&w);

			const struct image_record *r = (const void *)room;

			assert_memory_equal(p + before, from + s, n / 2);
			assert_memory_equal(p + before + n, from, n);
			assert_int_equal(r->sum, image_sum_of(r));
			r = (const void *)(room + 64 + image_padded(before + 2 * n + 5));
			assert_int_equal(r->sum, image_sum_of(r));
		}
}

static void an_empty_record_has_a_sum(void **state)
{
	struct image_out w = writing(sizeof memory);
	const struct image_record *first = (const void *)memory;

	(void)state;
	assert_non_null(w.add(&w, &cell, 0));
	assert_int_equal(image_added(&w), 64);
	assert_int_equal(first->sum, image_sum_of(first));
	assert_int_not_equal(first->sum, 0);
}

static int ends_with(size_t bytes, size_t room)
{
	int status;
	const pid_t pid = fork();

	if (pid == 0) {
		struct image_out w = writing(room);

		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		signal(SIGABRT, SIG_DFL);
		fclose(stderr);
		w.add(&w, &cell, bytes);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void a_record_that_does_not_fit_ends_the_process(void **state)
{
	(void)state;
	assert_int_equal(ends_with(16, 80), 0);
	assert_int_equal(ends_with(17, 80), SIGABRT);
	assert_int_equal(ends_with(0, 48), SIGABRT);
	assert_int_equal(ends_with(SIZE_MAX - 3, 80), SIGABRT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_passes_have_the_same_size),
		cmocka_unit_test(a_block_may_be_full),
		cmocka_unit_test(the_second_record_must_fit_too),
		cmocka_unit_test(records_lie_one_after_the_other),
		cmocka_unit_test(a_sum_covers_name_size_and_bytes),
		cmocka_unit_test(a_long_sum_is_that_of_xxh3),
		cmocka_unit_test(a_block_may_be_copied_into_a_record),
		cmocka_unit_test(an_empty_record_has_a_sum),
		cmocka_unit_test(a_record_that_does_not_fit_ends_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
