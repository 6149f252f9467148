/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spread_save.c: spreads in checkpoints. Each PE saves its part. A restarted job deals the elements
 * anew: every PE reads all parts and takes the elements that are its own now. The record of a part,
 * whose name has the number of the spread:
 *
 *	| struct part_image | the PE's elements |
 */
#include "global_int.h"
#include "../../image/image.h"

#include <string.h>

struct part_image {
	struct spread_shape shape;
	uint64_t n_pes, pe;       /* of the job that wrote it */
	uint64_t unused;
};
_Static_assert(sizeof(struct part_image) % 16 == 0, "the elements are aligned");

void spreads_write(struct pe *pe, struct image_out *out)
{
	const struct global_pe *o = global_of(pe);

	for (uint32_t id = GLOBAL_SPREADS; id < o->n_spreads; id++) {
		const struct spread *s = o->spreads[id];
		const struct image_name name = { .kind = IMAGE_SPREAD, .pe = (uint32_t)pe->id, .coll = id };
		struct part_image *image;
		uint64_t mine;

		if (!s->all)
			continue;
		mine = spread_count(s->shape.n, s->block, s->n_pes, (uint64_t)pe->id) * s->shape.bytes;
		image = out->add(out, &name, sizeof *image + mine);
		if (!image)
			continue;
		*image = (struct part_image){ s->shape, s->n_pes, (uint64_t)pe->id, 0 };
		out->copy(out, (char *)(image + 1), s->mine, mine);
	}
}

bool spread_is_mine(struct pe *pe, const struct image_name *name)
{
	(void)pe;
	(void)name;
	return true;
}

/* How many elements from element i on lie behind each other in a part, with that block. */
static uint64_t run_from(uint64_t i, uint64_t block)
{
	return block - i % block;
}

/* Elements of a part of the old job, to where they lie in this one: as many at once as lie together
 * in both. */
static void take_elements(struct pe *pe, struct spread *s, const struct part_image *old,
			  const char *from, uint64_t count)
{
	const uint64_t block = spread_block(&old->shape, old->n_pes), bytes = s->shape.bytes;

	for (uint64_t k = 0, n; k < count; k += n) {
		const uint64_t i = (k / block * old->n_pes + old->pe) * block + k % block;
		int whose;
		const uint64_t at = spread_where(s, i * bytes, &whose);

		n = run_from(k, block) < run_from(i, s->block) ? run_from(k, block) : run_from(i, s->block);
		n = n < count - k ? n : count - k;
		if (whose == pe->id)
			memcpy(s->mine + at, from + k * bytes, n * bytes);
	}
}

const char *spread_read(struct pe *pe, const struct image_name *name, const void *bytes, size_t n)
{
	const struct part_image *old = bytes;
	struct spread *s;
	uint64_t count;

	if (n < sizeof *old || !old->n_pes || old->pe >= old->n_pes)
		return "it describes no part of a spread";
	s = spread_restored(pe, (uint32_t)name->coll, &old->shape);
	if (!s)
		return "it describes no spread";
	count = spread_count(old->shape.n, spread_block(&old->shape, old->n_pes), old->n_pes, old->pe);
	if (n - sizeof *old != count * old->shape.bytes)
		return "its elements are not those of its PE";
	take_elements(pe, s, old, (const char *)(old + 1), count);
	return NULL;
}
