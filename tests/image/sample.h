/* SPDX-License-Identifier: Apache-2.0 */
/* sample.h: small images of processes, for the tests of what reads them. */
#ifndef SAMPLE_H
#define SAMPLE_H

#include <stdlib.h>
#include <string.h>

#include "../../runtime/image/image.h"
#include "../../runtime/image/image_head.h"
#include "../../runtime/image/image_sum.h"

enum { SAMPLE_PES = 3, SAMPLE_JOB_PES = 6, SAMPLE_JOB = 77 };

struct sample {
	uint32_t node, n_nodes;
	uint64_t sequence;
	uint32_t n_elements;     /* of each PE; some have no bytes */
	uint32_t element_bytes;
};

static inline void sample_record(struct image_out *out, uint32_t kind, uint32_t pe, int32_t index,
				 size_t bytes)
{
	const struct image_name name = { .kind = kind, .pe = pe, .coll = 5, .index = { index } };
	char *p = out->add(out, &name, bytes);

	for (size_t i = 0; p && i < bytes; i++)
		p[i] = (char)(i * 7 + (size_t)index + pe);
}

/* What PE `pe` has. */
static inline size_t sample_block(const struct sample *s, struct image_out *out, uint32_t pe)
{
	if (pe == 0)
		sample_record(out, IMAGE_READONLY, pe, 0, 41);
	sample_record(out, IMAGE_COUNTS, pe, 0, 16);
	for (uint32_t i = 0; i < s->n_elements; i++)
		sample_record(out, IMAGE_ELEMENT, pe, (int32_t)(i * SAMPLE_JOB_PES + pe),
			      i % 4 == 3 ? 0 : s->element_bytes + i % 3);
	return image_added(out);
}

/* The head, with all sizes; the caller frees it. */
static inline struct image_head *sample_head(const struct sample *s)
{
	struct image_head *h = calloc(1, image_head_bytes(SAMPLE_PES));

	*h = (struct image_head){ .node = s->node, .n_nodes = s->n_nodes, .n_pes = SAMPLE_PES,
				  .first_pe = s->node * SAMPLE_PES, .sequence = s->sequence, .job = SAMPLE_JOB };
	for (uint32_t i = 0; i < SAMPLE_PES; i++) {
		struct image_out m = { .add = image_add };

		h->block[i].bytes = sample_block(s, &m, h->first_pe + i);
	}
	image_lay_out(h);
	return h;
}

/* Into h->bytes bytes, page-aligned; the head last. */
static inline void sample_write(const struct sample *s, struct image_head *h, char *to)
{
	for (uint32_t i = 0; i < SAMPLE_PES; i++) {
		struct image_out w = { .add = image_add, .to = to + h->block[i].offset,
				       .room = h->block[i].bytes };

		sample_block(s, &w, h->first_pe + i);
	}
	image_seal(h);
	memcpy(to, h, h->head_bytes);
}

/* The bytes of an image; the caller frees them. */
static inline char *sample_image(const struct sample *s, size_t *bytes)
{
	struct image_head *h = sample_head(s);
	char *image = aligned_alloc(IMAGE_PAGE, (h->bytes + IMAGE_PAGE - 1) / IMAGE_PAGE * IMAGE_PAGE);

	memset(image, 0, h->bytes);
	sample_write(s, h, image);
	*bytes = h->bytes;
	free(h);
	return image;
}

#endif
