/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_image.c: checkpoints, as whoever starts from one reads them. The first byte of an input says which part:
 *
 *   I   the image of a process; sums are as in the input
 *   S   the same, but the sums of the head and of the records' names are made right first, so that
 *       they are believed
 *   M   a manifest
 *   T   the same, without its last line, which is made right
 *   C   the value of CK_IMAGES
 */
#include "fuzz.h"

#include "../../runtime/image/image_in.h"
#include "../../runtime/image/image_manifest.h"
#include "../../runtime/image/image_memory.h"
#include "../../runtime/image/image_sum.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fuzz_image: %s\n", what);
	abort();
}

/* ---- images --------------------------------------------------------------------------- */

/* All bytes of a record are read: they are there. */
static void read_record(const struct image_walk *w, const struct image_record *r)
{
	struct image_why why = { "" };
	char text[100];

	image_name_text(text, sizeof text, &r->name);
	check(strlen(text) > 0, "a record without a name");
	check(image_walk_check(w, r, &why) || why.text[0], "a refusal without a word");
}

static void read_pe(const struct image_in *in, uint32_t pe)
{
	const struct image_record *r;
	struct image_why why = { "" };
	struct image_walk w;

	if (!image_walk_begin(&w, in, pe, &why)) {
		check(why.text[0], "a refusal without a word");
		return;
	}
	while ((r = image_walk_next(&w, &why)))
		read_record(&w, r);
	image_walk_end(&w);
}

static void read_image(const char *base, size_t size)
{
	struct image_why why = { "" };
	struct image_in in;

	if (!image_in_open(&in, "input", base, size, &why)) {
		check(why.text[0], "a refusal without a word");
		return;
	}
	for (uint32_t i = 0; i < in.head->n_pes; i++)
		read_pe(&in, in.head->first_pe + i);
}

static void make_head_right(char *base, size_t size)
{
	struct image_head *h = (void *)base;

	if (size >= sizeof *h && h->head_bytes >= sizeof *h && h->head_bytes <= size)
		h->sum = image_head_sum(h);
}

/* The names of a block's records, as far as their sizes lead. */
static void make_names_right(char *base, size_t size, uint64_t at, uint64_t bytes)
{
	while (bytes >= sizeof(struct image_record) && at % 16 == 0 && at <= size && bytes <= size - at) {
		struct image_record *r = (void *)(base + at);
		const uint64_t all = sizeof *r + (r->bytes < size ? image_padded(r->bytes) : size);

		r->head_sum = image_head_sum_of(r);
		if (all > bytes)
			return;
		at += all;
		bytes -= all;
	}
}

static void make_right(char *base, size_t size)
{
	const struct image_head *h = (void *)base;

	make_head_right(base, size);
	if (size < sizeof *h || h->head_bytes > size)
		return;

	const uint32_t most = (h->head_bytes - (uint32_t)sizeof *h) / (uint32_t)sizeof h->block[0];

	for (uint32_t i = 0; h->head_bytes >= sizeof *h && i < most && i < h->n_pes; i++)
		make_names_right(base, size, h->block[i].offset, h->block[i].bytes);
}

/* ---- manifests ------------------------------------------------------------------------ */

/* What has been read is written as it was. */
static void read_manifest(const char *text, size_t size)
{
	struct image_manifest m, again;
	struct image_why why = { "" };
	size_t bytes;

	if (!image_manifest_parse(&m, "input", text, size, &why)) {
		check(why.text[0], "a refusal without a word");
		return;
	}

	char *copy = image_manifest_text(&m, &bytes);

	check(copy && image_manifest_parse(&again, "copy", copy, bytes, &why), "a copy is refused");
	check(again.n_nodes == m.n_nodes && again.sequence == m.sequence && !strcmp(again.args, m.args),
	      "a copy differs");
	free(copy);
	image_manifest_free(&m);
	image_manifest_free(&again);
}

static void read_with_sum(const char *text, size_t size)
{
	char *all = malloc(size + 32);

	check(all, "no memory");
	memcpy(all, text, size);

	const int n = snprintf(all + size, 32, "xxh3 %016llx\n", (unsigned long long)image_sum(text, size));

	read_manifest(all, size + (size_t)n);
	free(all);
}

/* ---- all ------------------------------------------------------------------------------ */

/* Only what is no list of descriptors: what is one would be used. */
static void read_variable(const char *text)
{
	struct image_memory m;
	struct image_why why = { "" };

	if (strspn(text, "0123456789,") == strlen(text))
		return;
	check(!image_memory_inherit(&m, text, &why) && why.text[0], "descriptors that are none");
}

static int each(const uint8_t *data, size_t size)
{
	if (size < 1 || size > 1 << 17)
		return 0;

	/* Of just its size, so that reading beyond it is noticed. */
	char *copy = aligned_alloc(16, image_padded(size));

	check(copy, "no memory");
	memcpy(copy, data + 1, --size);
	if (data[0] == 'S')
		make_right(copy, size);
	if (data[0] == 'I' || data[0] == 'S')
		read_image(copy, size);
	else if (data[0] == 'M')
		read_manifest(copy, size);
	else if (data[0] == 'T')
		read_with_sum(copy, size);
	else if (data[0] == 'C') {
		copy[size] = '\0'; /* image_padded has room for it: size was one more */
		read_variable(copy);
	}
	free(copy);
	return 0;
}

int main(int argc, char **argv)
{
	return LLVMFuzzerRunDriver(&argc, &argv, each);
}
