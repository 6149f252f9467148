/* SPDX-License-Identifier: Apache-2.0 */
/* image_in.c: reads the image of a process. All sizes are compared with what is there before they
 * are used; sums are looked at where the caller asks. */
#include "image_in.h"
#include "image_sum.h"
#include "image_zstd.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	NAME_TEXT = 160,
	ZSTD_RATIO = 1 << 16, /* more it cannot do: no memory is asked for on the word of a head */
};

/* ---- the head ----------------------------------------------------------------------------- */

/* What the head needs before its sum can be made. */
static const char *head_misfit(const struct image_head *h, size_t bytes)
{
	if (bytes < IMAGE_PAGE)
		return "is too short for an image";
	if (memcmp(h->magic, IMAGE_MAGIC, sizeof h->magic))
		return "is not the image of a process, or has never been completed";
	if (h->version != IMAGE_VERSION)
		return "is of another version of the format";
	if (h->n_pes == 0 || h->n_pes > IMAGE_PES_MOST || h->head_bytes > bytes ||
	    h->head_bytes != image_head_bytes(h->n_pes))
		return "is damaged: the head, at byte 16";
	if (h->sum != image_head_sum(h))
		return "is damaged: the head's sum, at byte 56, does not fit";
	return NULL;
}

/* The sum is right: what is wrong here was written so. */
static bool blocks_fit(const struct image_in *in, struct image_why *why)
{
	const struct image_head *h = in->head;
	uint64_t end = h->head_bytes;

	for (uint32_t i = 0; i < h->n_pes; i++) {
		const struct image_block *b = &h->block[i];

		if (b->offset % IMAGE_PAGE || b->offset < end || b->offset > h->bytes ||
		    b->stored > h->bytes - b->offset || b->stored > b->bytes ||
		    b->bytes % 16 || b->bytes / ZSTD_RATIO > b->stored)
			return image_says(why, "%s: the head says that the block of PE %" PRIu32 " has %" PRIu64
					  " bytes at byte %" PRIu64 ", which cannot be", in->name,
					  h->first_pe + i, b->stored, b->offset);
		end = b->offset + b->stored;
	}
	return true;
}

bool image_in_open(struct image_in *in, const char *name, const void *base, size_t bytes,
		   struct image_why *why)
{
	*in = (struct image_in){ .name = name, .base = base, .bytes = bytes, .head = base };

	const char *misfit = head_misfit(in->head, bytes);

	if (misfit)
		return image_says(why, "%s %s", name, misfit);
	if (in->head->bytes > bytes)
		return image_says(why, "%s ends at byte %zu; its head says %" PRIu64, name, bytes,
				  in->head->bytes);
	if (in->head->node >= in->head->n_nodes || in->head->first_pe > UINT32_MAX - in->head->n_pes)
		return image_says(why, "%s: the head says node %" PRIu32 " of %" PRIu32, name, in->head->node,
				  in->head->n_nodes);
	return blocks_fit(in, why);
}

/* ---- the records of a PE ------------------------------------------------------------------ */

static bool unpack_block(struct image_walk *w, struct image_why *why)
{
	const struct image_block *b = w->block;
	const char *stored = w->in->base + b->offset;

	if (image_sum(stored, b->stored) != b->sum)
		return image_says(why, "%s: the block of PE %" PRIu32 ", at byte %" PRIu64 ", is damaged",
				  w->in->name, w->pe, b->offset);
	w->unpacked = aligned_alloc(16, image_padded(b->bytes));
	if (!w->unpacked)
		return image_says(why, "%s: no memory for %" PRIu64 " bytes of PE %" PRIu32, w->in->name,
				  b->bytes, w->pe);
	w->records = w->unpacked;

	struct image_why what;

	if (image_zstd_unpack(w->unpacked, b->bytes, stored, b->stored, &what))
		return true;
	image_walk_end(w);
	return image_says(why, "%s: the block of PE %" PRIu32 ": %.200s", w->in->name, w->pe, what.text);
}

bool image_walk_begin(struct image_walk *w, const struct image_in *in, uint32_t pe,
		      struct image_why *why)
{
	const uint32_t i = pe - in->head->first_pe;

	*w = (struct image_walk){ .in = in, .pe = pe };
	if (i >= in->head->n_pes)
		return image_says(why, "%s has no block of PE %" PRIu32, in->name, pe);
	w->block = &in->head->block[i];
	if (w->block->stored < w->block->bytes)
		return unpack_block(w, why);
	w->records = in->base + w->block->offset;
	return true;
}

void image_walk_end(struct image_walk *w)
{
	free(w->unpacked);
	w->unpacked = NULL;
	w->records = NULL;
}

/* Where it is: in the file, or in the block if that was compressed. */
static bool is_damaged(const struct image_walk *w, const struct image_record *r, const char *what,
		       struct image_why *why)
{
	const uint64_t at = (uint64_t)((const char *)r - w->records);
	char name[NAME_TEXT];

	return image_says(why, "%s: the record at byte %" PRIu64 "%s (%s; PE %" PRIu32 ") is damaged: %s",
			  w->in->name, at + (w->unpacked ? 0 : w->block->offset),
			  w->unpacked ? " of its block" : "",
			  image_name_text(name, sizeof name, &r->name), w->pe, what);
}

static const char *record_misfit(const struct image_walk *w, const struct image_record *r)
{
	const uint64_t room = w->block->bytes - w->at - sizeof *r;

	if (r->head_sum != image_head_sum_of(r))
		return "the sum of its name does not fit";
	if (r->bytes > room || image_padded(r->bytes) > room)
		return "it is longer than its block";
	if (r->name.kind == IMAGE_NONE || r->name.kind >= IMAGE_KINDS)
		return "there is no such kind";
	if (r->name.pe != w->pe)
		return "its name has another PE";
	if (r->more)
		return "its last word is not 0";
	return NULL;
}

const struct image_record *image_walk_next(struct image_walk *w, struct image_why *why)
{
	const struct image_record *r = (const void *)(w->records + w->at);
	const uint64_t left = w->block->bytes - w->at;

	why->text[0] = '\0';
	if (left == 0)
		return NULL;
	if (left < sizeof *r) {
		image_says(why, "%s: the block of PE %" PRIu32 " ends within a record, at byte %" PRIu64,
			   w->in->name, w->pe, w->at);
		return NULL;
	}

	const char *misfit = record_misfit(w, r);

	if (misfit) {
		is_damaged(w, r, misfit, why);
		return NULL;
	}
	w->at += sizeof *r + image_padded(r->bytes);
	return r;
}

bool image_walk_check(const struct image_walk *w, const struct image_record *r,
		      struct image_why *why)
{
	return r->sum == image_sum_of(r) || is_damaged(w, r, "its sum does not fit", why);
}
