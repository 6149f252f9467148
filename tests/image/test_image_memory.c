/* SPDX-License-Identifier: Apache-2.0 */
/* test_image_memory.c: images in the memory of a job, and which of them is valid. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "sample.h"
#include "../../runtime/image/image_in.h"
#include "../../runtime/image/image_memory.h"

static int full_at = -1;          /* so many allocations succeed; -1: all */

int __real_fallocate(int fd, int mode, off_t from, off_t bytes);
int __wrap_fallocate(int fd, int mode, off_t from, off_t bytes);

int __wrap_fallocate(int fd, int mode, off_t from, off_t bytes)
{
	if (!(mode & FALLOC_FL_PUNCH_HOLE) && full_at >= 0 && full_at-- == 0) {
		__real_fallocate(fd, mode, from, bytes / 2); /* a part of it may have been had */
		errno = ENOSPC;
		return -1;
	}
	return __real_fallocate(fd, mode, from, bytes);
}

static struct image_memory memory;

static int make(void **state)
{
	struct image_why why = { "" };

	(void)state;
	assert_true(image_memory_make(&memory, &why));
	return 0;
}

static int drop(void **state)
{
	(void)state;
	image_memory_close(&memory);
	return 0;
}

static uint64_t bytes_of_slot(int i)
{
	struct stat st;

	assert_int_equal(fstat(memory.slot[i], &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

static bool write_node(struct image_region *r, uint64_t sequence, uint32_t node,
		       uint32_t n_elements, struct image_why *why)
{
	const struct sample s = { .node = node, .n_nodes = 2, .sequence = sequence,
				  .n_elements = n_elements,
				  .element_bytes = 100 };
	struct image_head *h = sample_head(&s);
	const bool ok = image_region_reserve(&memory, r, sequence, node, h->bytes, why);

	if (ok)
		sample_write(&s, h, r->base);
	free(h);
	return ok;
}

static void assert_node(uint64_t sequence, uint32_t node)
{
	struct image_why why = { "" };
	struct image_region r;
	struct image_in in;
	size_t bytes;

	assert_true(image_region_read(&memory, &r, sequence, node, &bytes, &why));
	assert_true(image_in_open(&in, "memory", r.base, bytes, &why));
	assert_int_equal(in.head->node, node);
	image_region_unmap(&r);
}

static bool is_refused(uint64_t sequence, uint32_t node)
{
	struct image_why why = { "" };
	struct image_region r = { 0 };
	size_t bytes;

	const bool refused = !image_region_read(&memory, &r, sequence, node, &bytes, &why);

	image_region_unmap(&r);
	return refused && why.text[0];
}

/* ---- facts -------------------------------------------------------------------------------- */

static void nothing_is_valid_at_first(void **state)
{
	(void)state;
	assert_int_equal(image_memory_committed(&memory, NULL), 0);
	assert_true(is_refused(1, 0));
}

static void what_is_committed_is_read(void **state)
{
	const struct image_info info = { .bytes = 123, .took_ns = 5, .at_ns = 6, .n_nodes = 2,
					 .n_pes = 6 };
	struct image_region r[2] = { 0 };
	struct image_why why = { "" };
	struct image_info found;

	(void)state;
	assert_true(write_node(&r[0], 1, 0, 10, &why));
	assert_true(write_node(&r[1], 1, 1, 20, &why));
	image_memory_commit(&memory, 1, &info);
	assert_int_equal(image_memory_committed(&memory, &found), 1);
	assert_memory_equal(&found, &info, sizeof info);
	assert_node(1, 0);
	assert_node(1, 1);
	assert_true(is_refused(1, 2));
	assert_true(is_refused(3, 0));
	assert_true(is_refused(2, 0));
	image_region_unmap(&r[0]);
	image_region_unmap(&r[1]);
}

/* The next one goes elsewhere; the next but one takes the same pages. */
static void slots_take_turns_and_are_written_in_place(void **state)
{
	struct image_region r[2] = { 0 };
	struct image_why why = { "" };
	const char *base[2];

	(void)state;
	for (uint64_t s = 1; s <= 8; s++) {
		assert_true(write_node(&r[s % 2], s, 0, 1000, &why));
		if (s > 2)
			assert_ptr_equal(base[s % 2], r[s % 2].base);
		base[s % 2] = r[s % 2].base;
		image_memory_commit(&memory, s, &(struct image_info){ .bytes = s });
		assert_node(s, 0);
		if (s > 1)
			assert_node(s - 1, 0);
	}
	image_region_unmap(&r[0]);
	image_region_unmap(&r[1]);
}

static void a_node_that_dies_while_it_writes_leaves_no_image(void **state)
{
	struct image_region r[2] = { 0 };
	struct image_why why = { "" };

	(void)state;
	assert_true(write_node(&r[1], 1, 0, 10, &why));
	image_memory_commit(&memory, 1, &(struct image_info){ 0 });
	assert_true(write_node(&r[0], 2, 0, 10, &why));
	image_memory_commit(&memory, 2, &(struct image_info){ 0 });
	assert_true(image_region_reserve(&memory, &r[1], 3, 0, 20000, &why)); /* and no more */
	assert_int_equal(image_memory_committed(&memory, NULL), 2);
	assert_node(2, 0);
	assert_true(is_refused(3, 0));
	assert_true(is_refused(1, 0));
	image_region_unmap(&r[0]);
	image_region_unmap(&r[1]);
}

static void memory_is_given_back(void **state)
{
	struct image_region r = { 0 };
	struct image_why why = { "" };

	(void)state;
	assert_true(write_node(&r, 1, 1, 100000, &why));
	assert_in_range(bytes_of_slot(1), 40u << 20, 60u << 20);
	assert_true(write_node(&r, 3, 1, 10, &why));
	assert_in_range(bytes_of_slot(1), 4096, 100000);
	assert_node(3, 1);
	image_region_unmap(&r);
	/* A new process of the node does not know how long the image was. */
	assert_true(write_node(&r, 3, 1, 100000, &why));
	image_region_unmap(&r);
	assert_true(write_node(&r, 5, 1, 10, &why));
	assert_in_range(bytes_of_slot(1), 4096, 100000);
	image_region_unmap(&r);
	/* The job has fewer nodes. */
	assert_true(write_node(&r, 5, 0, 10, &why));
	image_memory_forget(&memory, 5, 1);
	assert_node(5, 0);
	assert_true(is_refused(5, 1));
	image_region_unmap(&r);
}

static void without_room_it_says_so(void **state)
{
	struct image_region r[2] = { 0 };
	struct image_why why = { "" };

	(void)state;
	assert_true(write_node(&r[1], 1, 0, 1000, &why));
	image_memory_commit(&memory, 1, &(struct image_info){ 0 });
	full_at = 0;
	assert_false(write_node(&r[0], 2, 0, 1000, &why));
	assert_non_null(strstr(why.text, "there is no memory for the image of node 0"));
	assert_non_null(strstr(why.text, "No space left on device"));
	assert_int_equal(bytes_of_slot(0), 0);
	assert_node(1, 0);
	/* The next one has room again; one that grows has none; what it had goes on. */
	full_at = -1;
	assert_true(write_node(&r[0], 2, 0, 1000, &why));
	image_memory_commit(&memory, 2, &(struct image_info){ 0 });
	full_at = 0;
	assert_false(write_node(&r[1], 3, 0, 5000, &why));
	assert_node(2, 0);
	full_at = -1;
	assert_true(write_node(&r[1], 3, 0, 1000, &why));
	image_memory_commit(&memory, 3, &(struct image_info){ 0 });
	assert_node(3, 0);
	image_region_unmap(&r[0]);
	image_region_unmap(&r[1]);
}

static void sizes_beyond_all_bounds_are_refused(void **state)
{
	struct image_region r = { 0 };
	struct image_why why = { "" };

	(void)state;
	assert_false(image_region_reserve(&memory, &r, 1, 0, ((size_t)1 << IMAGE_NODE_SHIFT) + 1, &why));
	assert_false(image_region_reserve(&memory, &r, 1, IMAGE_NODES_MOST, 10, &why));
	/* The last one that may be. */
	assert_true(write_node(&r, 1, IMAGE_NODES_MOST - 1, 10, &why));
	assert_false(is_refused(1, IMAGE_NODES_MOST - 1));
	assert_true(is_refused(1, IMAGE_NODES_MOST - 2));
	assert_true(is_refused(1, IMAGE_NODES_MOST));
	image_region_unmap(&r);
}

static void a_damaged_length_is_refused(void **state)
{
	static const uint64_t lengths[] = { 0, 4095, (uint64_t)1 << 40, UINT64_MAX,
					    (uint64_t)INT64_MAX + 1 };
	struct image_region r = { 0 };
	struct image_why why = { "" };

	(void)state;
	assert_true(write_node(&r, 1, 0, 10, &why));
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		((struct image_head *)(void *)r.base)->bytes = lengths[i];
		assert_true(is_refused(1, 0));
	}
	image_region_unmap(&r);
}

/* A child that dies has committed; its parent, which made the memory, finds that. */
static void a_child_inherits_by_three_numbers(void **state)
{
	struct image_why why = { "" };
	char text[64];
	int status;
	const pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		struct image_memory mine;
		struct image_region r = { 0 };

		image_memory_text(&memory, text, sizeof text);
		_exit(image_memory_pass(&memory, &why) &&
		      image_memory_inherit(&mine, text, &why) && image_memory_map(&mine, &why) &&
		      fcntl(mine.slot[1], F_GETFD) == FD_CLOEXEC && write_node(&r, 7, 1, 10, &why) ?
		      (image_memory_commit(&mine, 7, &(struct image_info){ 0 }), 0) : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(image_memory_committed(&memory, NULL), 7);
	assert_node(7, 1);
}

static void numbers_of_other_files_are_refused(void **state)
{
	static const char *const texts[] = { "", "5", "5,6", "a,b,c", "0,1,2,", "900,901,902",
					     "-1,-1,-1" };
	struct image_why why = { "" };
	struct image_memory mine;
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		assert_false(image_memory_inherit(&mine, texts[i], &why));
		assert_non_null(strstr(why.text, i < 5 ? "CK_IMAGES" : "descriptor"));
	}
	snprintf(text, sizeof text, "%d,%d,%d", memory.page_fd, memory.slot[0], memory.slot[1]);
	assert_false(image_memory_inherit(&mine, text, &why));
	/* A page of another kind, and no page. */
	assert_int_equal(ftruncate(memory.slot[1], IMAGE_PAGE), 0);
	assert_false(image_memory_inherit(&mine, text, &why));
	assert_int_equal(mine.page_fd, -1);
}

static void a_limit_on_files_is_named(void **state)
{
	struct rlimit old, small = { .rlim_cur = 1 << 20 };
	struct image_memory mine;
	struct image_why why = { "" };

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small.rlim_max = old.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_false(image_memory_make(&mine, &why));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_non_null(strstr(why.text, "ulimit -f"));
}

/* Up at 10, saved at 15, dead at 19, up at 22; dead at 30 and once more at 31, before it was up at
 * 35; dead at 36. */
static void what_deaths_cost_is_added_up(void **state)
{
	struct image_since s = { 0 };

	(void)state;
	image_since_up(&s, 10);
	image_since_died(&s, 15, 19);
	assert_true(s.lost_ns == 4 && s.down_ns == 0);
	image_since_up(&s, 22);
	assert_int_equal(s.down_ns, 3);
	image_since_died(&s, 15, 30); /* from when it was up again */
	assert_int_equal(s.lost_ns, 12);
	image_since_died(&s, 15, 31);
	assert_true(s.lost_ns == 12 && s.died_ns == 30);
	image_since_up(&s, 35);
	assert_int_equal(s.down_ns, 8);
	image_since_died(&s, 0, 36);
	assert_int_equal(s.lost_ns, 13);
}

#define FACT(f) cmocka_unit_test_setup_teardown(f, make, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FACT(nothing_is_valid_at_first),
		FACT(what_is_committed_is_read),
		FACT(slots_take_turns_and_are_written_in_place),
		FACT(a_node_that_dies_while_it_writes_leaves_no_image),
		FACT(memory_is_given_back),
		FACT(without_room_it_says_so),
		FACT(sizes_beyond_all_bounds_are_refused),
		FACT(a_damaged_length_is_refused),
		FACT(a_child_inherits_by_three_numbers),
		FACT(numbers_of_other_files_are_refused),
		FACT(a_limit_on_files_is_named),
		FACT(what_deaths_cost_is_added_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
