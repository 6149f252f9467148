/* SPDX-License-Identifier: Apache-2.0 */
/* image_head.c: makes the head of a process's image. */
#include "image_head.h"
#include "image_sum.h"

#include <string.h>

_Static_assert(sizeof(struct image_head) == 64, "the format has 64 bytes before the blocks");
_Static_assert(sizeof(struct image_block) == 32, "the format has 32 bytes for a block");

static uint64_t whole_pages(uint64_t bytes)
{
	return (bytes + IMAGE_PAGE - 1) / IMAGE_PAGE * IMAGE_PAGE;
}

size_t image_head_bytes(uint32_t n_pes)
{
	return whole_pages(sizeof(struct image_head) + n_pes * sizeof(struct image_block));
}

void image_lay_out(struct image_head *h)
{
	uint64_t at = image_head_bytes(h->n_pes);

	h->bytes = at;
	for (uint32_t i = 0; i < h->n_pes; i++) {
		h->block[i].offset = at;
		h->block[i].stored = h->block[i].bytes;
		h->bytes = at + h->block[i].bytes;
		at = whole_pages(h->bytes);
	}
}

uint64_t image_head_sum(const struct image_head *h)
{
	static const char zero[sizeof h->sum];
	const size_t before = offsetof(struct image_head, sum), after = before + sizeof h->sum;
	XXH3_state_t state;

	XXH3_64bits_reset(&state);
	XXH3_64bits_update(&state, h, before);
	XXH3_64bits_update(&state, zero, sizeof zero);
	XXH3_64bits_update(&state, (const char *)h + after, h->head_bytes - after);
	return XXH3_64bits_digest(&state);
}

void image_seal(struct image_head *h)
{
	memcpy(h->magic, IMAGE_MAGIC, sizeof h->magic);
	h->version = IMAGE_VERSION;
	h->head_bytes = (uint32_t)image_head_bytes(h->n_pes);
	h->sum = image_head_sum(h);
}
