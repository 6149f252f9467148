/* SPDX-License-Identifier: Apache-2.0 */
/* image.c: writes the block of a PE. It knows the format of records, and neither files nor PEs. */
#include "image.h"
#include "image_sum.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct image_name) == 32, "the format has 32 bytes for a name");
_Static_assert(sizeof(struct image_record) == 64, "the format has 64 bytes before a record's own");
_Static_assert(offsetof(struct image_record, bytes) == sizeof(struct image_name),
	       "one piece is summed");

/* What measured the block has said less: the memory behind it is somebody else's. */
_Noreturn static void no_room(const struct image_out *out, const struct image_name *n, size_t bytes)
{
	fprintf(stderr, "checkpoint: a record of %zu bytes (kind %" PRIu32 ", collection %#" PRIx64
		", index %" PRId32 ", PE %" PRIu32 ") does not fit into a block of %zu, of which %zu are "
		"used: what packs it must write as much as it has measured\n", bytes, n->kind, n->coll,
		n->index[0], n->pe, out->room, out->used);
	abort();
}

static void sum_until(struct image_out *out, const char *until)
{
	if (!out->sum)
		out->sum = image_sum_new();
	if (!out->summed) {
		image_sum_begin(out->sum, out->open);
		out->summed = (const char *)(out->open + 1);
	}
	image_sum_add(out->sum, out->summed, (size_t)(until - out->summed));
	out->summed = until;
}

void image_copy(struct image_out *out, char *to, const char *from, size_t bytes)
{
	sum_until(out, to);
	image_sum_copy(out->sum, to, from, bytes);
	out->summed = to + bytes;
}

static uint64_t sum_of_last(struct image_out *out)
{
	if (!out->summed)
		return image_sum_of(out->open);
	sum_until(out, (const char *)(out->open + 1) + out->open->bytes);
	out->summed = NULL;
	return XXH3_64bits_digest(out->sum);
}

static void close_last(struct image_out *out)
{
	if (!out->open)
		return;
	out->open->sum = sum_of_last(out);
	out->open->head_sum = image_head_sum_of(out->open);
	out->open = NULL;
}

/* Only padding is cleared: a record's bytes are written right after. */
static void *begin(struct image_out *out, const struct image_name *name, size_t bytes)
{
	struct image_record *r = (struct image_record *)(void *)(out->to + out->used);
	char *data = (char *)(r + 1);

	*r = (struct image_record){ .name = *name, .bytes = bytes };
	memset(data + bytes, 0, image_padded(bytes) - bytes);
	out->open = r;
	return data;
}

void *image_add(struct image_out *out, const struct image_name *name, size_t bytes)
{
	const size_t needed = sizeof(struct image_record) + image_padded(bytes);
	void *data = NULL;

	if (out->to) {
		close_last(out);
		if (bytes > out->room || needed > out->room - out->used)
			no_room(out, name, bytes);
		data = begin(out, name, bytes);
	}
	out->used += needed;
	return data;
}

size_t image_added(struct image_out *out)
{
	close_last(out);
	free(out->sum);
	out->sum = NULL;
	return out->used;
}
