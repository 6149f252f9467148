/* SPDX-License-Identifier: Apache-2.0 */
/* image_sum.h: sums of what images consist of: XXH3, 64 bits, from libxxhash's header. Nothing is
 * linked with it. */
#ifndef IMAGE_SUM_H
#define IMAGE_SUM_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "image.h"

/** Where the next record begins after this many bytes. */
static inline size_t image_padded(size_t bytes)
{
	return (bytes + 15) & ~(size_t)15;
}

static inline uint64_t image_sum(const void *p, size_t bytes)
{
	return XXH3_64bits(p, bytes);
}

/** Of a record whose bytes follow it. Its name and size are the seed, so bytes are found, too, that
 * have got into the record of another element. */
static inline uint64_t image_sum_of(const struct image_record *r)
{
	const uint64_t seed = XXH3_64bits(r, offsetof(struct image_record, sum));

	return XXH3_64bits_withSeed(r + 1, r->bytes, seed);
}

static inline uint64_t image_head_sum_of(const struct image_record *r)
{
	return XXH3_64bits(r, offsetof(struct image_record, head_sum));
}

#endif
