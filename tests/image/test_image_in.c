/* SPDX-License-Identifier: Apache-2.0 */
/* test_image_in.c: images are read as they were written, and damaged ones are refused, by the name
 * of the file, the offset and the name of the record. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "sample.h"
#include "../../runtime/image/image_in.h"
#include "../../runtime/image/image_zstd.h"

static const struct sample small = { .node = 1, .n_nodes = 2, .sequence = 42, .n_elements = 5,
				     .element_bytes = 20 };

/* All of an image, as whoever restarts from it reads it. Returns the number of records; -1 if it is
 * refused. */
static long read_all(const void *base, size_t bytes, bool sums, struct image_why *why)
{
	struct image_in in;
	long n = 0;

	if (!image_in_open(&in, "file", base, bytes, why))
		return -1;
	for (uint32_t i = 0; i < in.head->n_pes; i++) {
		const struct image_record *r;
		struct image_walk w;

		if (!image_walk_begin(&w, &in, in.head->first_pe + i, why))
			return -1;
		while ((r = image_walk_next(&w, why)) && (!sums || image_walk_check(&w, r, why)))
			n++;
		image_walk_end(&w);
		if (why->text[0])
			return -1;
	}
	return n;
}

static void what_was_written_is_read(void **state)
{
	struct image_why why = { "" };
	size_t bytes;
	char *image = sample_image(&small, &bytes);

	(void)state;
	assert_int_equal(read_all(image, bytes, true, &why), 3 * 6);
	assert_string_equal(why.text, "");
	free(image);
}

/* For each byte of an image, whether it is part of what was written. */
static char *written_bytes(const char *image, size_t bytes)
{
	const struct image_head *h = (const void *)image;
	char *is = calloc(1, bytes);

	memset(is, 1, h->head_bytes);
	for (uint32_t i = 0; i < h->n_pes; i++) {
		const struct image_record *r;

		for (uint64_t at = 0; at < h->block[i].bytes; at += sizeof *r + image_padded(r->bytes)) {
			r = (const void *)(image + h->block[i].offset + at);
			memset(is + h->block[i].offset + at, 1, sizeof *r + r->bytes);
		}
	}
	return is;
}

/* Every bit of it: 130,000 images. */
static void each_flipped_bit_is_found(void **state)
{
	struct image_why why;
	size_t bytes, found = 0, harmless = 0;
	char *image = sample_image(&small, &bytes), *is = written_bytes(image, bytes);

	(void)state;
	for (size_t i = 0; i < 8 * bytes; i++) {
		image[i / 8] ^= (char)(1 << i % 8);
		why.text[0] = '\0';

		const long n = read_all(image, bytes, true, &why);

		image[i / 8] ^= (char)(1 << i % 8);
		if (is[i / 8] && (n != -1 || strncmp(why.text, "file", 4)))
			fail_msg("bit %zu of byte %zu: %ld records, \"%s\"", i % 8, i / 8, n, why.text);
		if (!is[i / 8] && n != 3 * 6)
			fail_msg("byte %zu is padding, but: %s", i / 8, why.text);
		found += n == -1;
		harmless += n != -1;
	}
	assert_true(found > 30000 && harmless > 1000);
	free(image);
	free(is);
}

static void each_shorter_file_is_found(void **state)
{
	struct image_why why;
	size_t bytes;
	char *image = sample_image(&small, &bytes);

	(void)state;
	for (size_t n = 0; n < bytes; n++) {
		char *shorter = aligned_alloc(16, image_padded(n + !n)); /* the address sanitizer sees its end */

		memcpy(shorter, image, n);
		assert_int_equal(read_all(shorter, n, true, &why), -1);
		free(shorter);
	}
	assert_string_equal(why.text, "file ends at byte 12815; its head says 12816");
	free(image);
}

/* Damage may have a right sum: whoever wrote it. All numbers are tried that lie at edges. */
static void sizes_that_cannot_be_are_refused(void **state)
{
	static const uint64_t edges[] = { 0, 1, 8, 15, 16, 17, 63, 64, 65, 4095, 4096, 4097, 8192,
					  1u << 20, INT32_MAX,
					  UINT32_MAX, 1ull << 40, INT64_MAX, UINT64_MAX - 4096, UINT64_MAX - 15, UINT64_MAX };
	struct image_why why;
	size_t bytes;
	char *image = sample_image(&small, &bytes), *copy = aligned_alloc(IMAGE_PAGE, 4 * IMAGE_PAGE);
	struct image_head *h = (void *)copy;

	(void)state;
	for (size_t word = 1; word < 20; word++)
		for (size_t e = 0; e < sizeof edges / sizeof *edges; e++) {
			memcpy(copy, image, bytes);
			((uint64_t *)(void *)copy)[word] = edges[e];
			if (h->head_bytes == IMAGE_PAGE)
				h->sum = image_head_sum(h);
			why.text[0] = '\0';
			read_all(copy, bytes, false, &why); /* the sanitizers judge */
		}
	for (size_t e = 0; e < sizeof edges / sizeof *edges; e++) {
		struct image_record *r = (void *)(copy + IMAGE_PAGE);

		memcpy(copy, image, bytes);
		r->bytes = edges[e];
		r->head_sum = image_head_sum_of(r);
		why.text[0] = '\0';
		assert_true(read_all(copy, bytes, false, &why) == -1 ||
			    image_padded(edges[e]) == image_padded(16));
	}
	free(image);
	free(copy);
}

static void a_damaged_record_is_named(void **state)
{
	struct image_why why = { "" };
	size_t bytes;
	char *image = sample_image(&small, &bytes);

	(void)state;
	/* Of PE 3: 16 bytes of counts, then the first element. */
	image[IMAGE_PAGE + 80 + 64 + 3] ^= 4;
	assert_int_equal(read_all(image, bytes, true, &why), -1);
	assert_string_equal(why.text, "file: the record at byte 4176 (element (3, 0, 0) of "
			    "collection 5; PE 3) is damaged: its sum does not fit");
	image[IMAGE_PAGE + 80 + 16] ^= 1; /* another index: before anybody asks whose it is */
	assert_int_equal(read_all(image, bytes, false, &why), -1);
	assert_string_equal(why.text, "file: the record at byte 4176 (element (2, 0, 0) of "
			    "collection 5; PE 3) is damaged: the sum of its name does not fit");
	free(image);
}

static void a_longer_head_has_more_pes(void **state)
{
	(void)state;
	assert_int_equal(image_head_bytes(1), IMAGE_PAGE);
	assert_int_equal(image_head_bytes(126), IMAGE_PAGE);
	assert_int_equal(image_head_bytes(127), 2 * IMAGE_PAGE);
}

static void blocks_may_be_compressed(void **state)
{
	const struct sample large = { .node = 1, .n_nodes = 2, .sequence = 42, .n_elements = 50,
				      .element_bytes = 1000 };
	struct image_why why = { "" };
	size_t bytes;
	char *image = sample_image(&large, &bytes), *packed;
	struct image_head *h = (void *)image;
	struct image_block *b = &h->block[2];

	(void)state;
	if (!image_zstd_is_there(&why)) {
		free(image);
		skip();
	}
	packed = malloc(image_zstd_most(b->bytes));
	b->stored = image_zstd_pack(packed, image_zstd_most(b->bytes), image + b->offset, b->bytes);
	assert_in_range(b->stored, 1, b->bytes / 4);
	memcpy(image + b->offset, packed, b->stored);
	b->sum = image_sum(packed, b->stored);
	h->bytes = b->offset + b->stored;
	image_seal(h);
	assert_int_equal(read_all(image, h->bytes, true, &why), 3 * 51);
	image[b->offset + b->stored / 2] ^= 1;
	assert_int_equal(read_all(image, h->bytes, true, &why), -1);
	assert_non_null(strstr(why.text, "the block of PE 5"));
	/* The sum is right, but zstd finds what cannot be, or another size. */
	b->sum = image_sum(image + b->offset, b->stored);
	image_seal(h);
	assert_int_equal(read_all(image, h->bytes, true, &why), -1);
	memcpy(image + b->offset, packed, b->stored);
	b->bytes += 16;
	b->sum = image_sum(image + b->offset, b->stored);
	image_seal(h);
	assert_int_equal(read_all(image, h->bytes, true, &why), -1);
	assert_non_null(strstr(why.text, "zstd: a block of"));
	free(packed);
	free(image);
}

/* A reader of another shape does this to every file. */
static void a_million_records_are_walked(void **state)
{
	const struct sample many = { .node = 0, .n_nodes = 1, .sequence = 1,
				     .n_elements = 1000000 / SAMPLE_PES,
				     .element_bytes = 100 };
	struct image_why why = { "" };
	struct timespec a, b, c;
	size_t bytes;
	char *image = sample_image(&many, &bytes);

	(void)state;
	clock_gettime(CLOCK_MONOTONIC, &a);
	assert_int_equal(read_all(image, bytes, false, &why), 1 + 3 + 999999);
	clock_gettime(CLOCK_MONOTONIC, &b);
	assert_int_equal(read_all(image, bytes, true, &why), 1 + 3 + 999999);
	clock_gettime(CLOCK_MONOTONIC, &c);
	printf("10^6 records of 100 bytes: %.0f ms, with sums %.0f ms\n",
	       (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) * 1e-6,
	       (double)(c.tv_sec - b.tv_sec) * 1e3 + (double)(c.tv_nsec - b.tv_nsec) * 1e-6);
	free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read),
		cmocka_unit_test(each_flipped_bit_is_found),
		cmocka_unit_test(each_shorter_file_is_found),
		cmocka_unit_test(sizes_that_cannot_be_are_refused),
		cmocka_unit_test(a_damaged_record_is_named),
		cmocka_unit_test(a_longer_head_has_more_pes),
		cmocka_unit_test(blocks_may_be_compressed),
		cmocka_unit_test(a_million_records_are_walked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
