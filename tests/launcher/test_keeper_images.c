/* SPDX-License-Identifier: Apache-2.0 */
/* Which images a keeper has, and which it gives back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* These come first. */
#include <cmocka.h>

#include "../../launcher/keeper/keeper.h"

enum { NODES = 4, JOB = 7 };

static struct keeper *keeper_new(void)
{
	struct keeper *k = calloc(1, sizeof *k);
	struct image_why why = { "" };

	assert_non_null(k);
	assert_true(image_memory_make(&k->own, &why));
	assert_true(image_memory_make(&k->mirror, &why));
	k->here = calloc(NODES, sizeof *k->here);
	k->n_here = NODES;
	k->here[0] = k->here[1] = true;
	return k;
}

static void keeper_free(struct keeper *k)
{
	image_memory_close(&k->own);
	image_memory_close(&k->mirror);
	free(k->here);
	free(k);
}

/** An image of one PE, with a complete head or none. */
static void write_image(const struct image_memory *m, uint32_t node, uint64_t sequence, bool whole)
{
	struct image_head *h = calloc(1, image_head_bytes(1));
	struct image_region r = { 0 };
	struct image_why why = { "" };

	assert_non_null(h);
	h->node = node;
	h->n_nodes = NODES;
	h->n_pes = 1;
	h->sequence = sequence;
	h->job = JOB;
	h->block[0].bytes = 3 * IMAGE_PAGE;
	image_lay_out(h);
	assert_true(image_region_reserve(m, &r, sequence, node, h->bytes, &why));
	image_seal(h);
	if (whole)
		memcpy(r.base, h, image_head_bytes(1));
	image_region_unmap(&r);
	free(h);
}

static bool has(const struct image_memory *m, uint32_t node, uint64_t sequence)
{
	struct image_head h;

	return keeper_head(m, sequence, node, &h);
}

/** Whether there is memory, with an image or without. */
static bool takes(const struct image_memory *m, uint32_t node, uint64_t sequence)
{
	return keeper_next(m, sequence % IMAGE_SLOTS, node) == node;
}

static void lists_complete_images(void **state)
{
	struct keeper *k = keeper_new();
	struct keeper_image *list;
	uint32_t n = 0;

	(void)state;
	write_image(&k->own, 0, 4, true);
	write_image(&k->own, 0, 5, true);
	write_image(&k->own, 1, 4, false);
	write_image(&k->mirror, 3, 4, true);
	list = keeper_list(&k->own, false, NULL, &n);
	list = keeper_list(&k->mirror, true, list, &n);
	assert_int_equal(n, 3);
	assert_int_equal(list[0].sequence, 4);
	assert_int_equal(list[1].sequence, 5);
	assert_int_equal(list[2].node, 3);
	assert_int_equal(list[2].mirrored, 1);
	assert_int_equal(list[2].job, JOB);
	free(list);
	keeper_free(k);
}

static void damaged_heads_are_none(void **state)
{
	struct keeper *k = keeper_new();
	struct image_region r = { 0 };
	struct image_why why = { "" };
	size_t bytes;

	(void)state;
	write_image(&k->own, 0, 4, true);
	assert_true(has(&k->own, 0, 4));
	assert_false(has(&k->own, 0, 6));
	assert_true(image_region_read(&k->own, &r, 4, 0, &bytes, &why));
	image_region_unmap(&r);
	assert_int_equal(pwrite(k->own.slot[0], "\xff", 1, offsetof(struct image_head, job)), 1);
	assert_false(has(&k->own, 0, 4));
	keeper_free(k);
}

/** From checkpoint 4: images of 5 are complete, but it was not chosen. */
static void a_start_forgets_what_is_later(void **state)
{
	struct keeper *k = keeper_new();

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		write_image(&k->own, i, 4, true);
		write_image(&k->own, i, 5, true);
		write_image(&k->mirror, i, 4, true);
		write_image(&k->mirror, i, 5, true);
	}
	k->mirrored[0].sequence = 4;
	k->mirrored[1].sequence = 5;
	keeper_tidy_start(k, 4);
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(has(&k->own, i, 4));
		assert_true(has(&k->mirror, i, 4));
		assert_false(has(&k->own, i, 5));
		assert_false(takes(&k->mirror, i, 5));
	}
	assert_true(takes(&k->own, 0, 5)); /* it is written again */
	assert_false(takes(&k->own, 2, 5));
	assert_int_equal(k->mirrored[0].sequence, 4);
	assert_int_equal(k->mirrored[1].sequence, 0);
	keeper_free(k);
}

static void from_the_beginning_there_is_nothing(void **state)
{
	struct keeper *k = keeper_new();

	(void)state;
	write_image(&k->own, 0, 4, true);
	write_image(&k->own, 3, 5, true);
	write_image(&k->mirror, 2, 4, true);
	keeper_tidy_start(k, 0);
	assert_false(has(&k->own, 0, 4));
	assert_false(takes(&k->own, 3, 5));
	assert_false(takes(&k->mirror, 2, 4));
	keeper_free(k);
}

/** While 6 is mirrored, 4 of nodes that have left is of no use; 5 may be all that is complete. */
static void old_images_are_given_back(void **state)
{
	struct keeper *k = keeper_new();

	(void)state;
	write_image(&k->own, 0, 4, true);
	write_image(&k->own, 2, 4, true);
	write_image(&k->own, 3, 5, true);
	write_image(&k->mirror, 1, 4, true);
	write_image(&k->mirror, 1, 5, true);
	write_image(&k->mirror, 2, 6, false);
	keeper_tidy_own(k, 6);
	keeper_tidy_mirror(k, 6);
	assert_true(has(&k->own, 0, 4)); /* the node writes it again */
	assert_false(takes(&k->own, 2, 4));
	assert_true(has(&k->own, 3, 5));
	assert_false(takes(&k->mirror, 1, 4));
	assert_true(has(&k->mirror, 1, 5));
	assert_true(takes(&k->mirror, 2, 6));
	keeper_free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_complete_images),
		cmocka_unit_test(damaged_heads_are_none),
		cmocka_unit_test(a_start_forgets_what_is_later),
		cmocka_unit_test(from_the_beginning_there_is_nothing),
		cmocka_unit_test(old_images_are_given_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
