/* SPDX-License-Identifier: Apache-2.0 */
/* image_sum.h: sums of what images consist of: XXH3, 64 bits, from libxxhash's header. Nothing is
 * linked with it. Long ones are made with the widest registers that the machine has. */
#ifndef IMAGE_SUM_H
#define IMAGE_SUM_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "image.h"

/* Up to here XXH3 uses no wide registers. */
enum { IMAGE_SUM_SHORT = 240 };
/* A piece stays in the first cache. */
enum { IMAGE_SUM_PIECE = 8 << 10 };

/** As XXH3_64bits_withSeed, of more bytes than IMAGE_SUM_SHORT. */
uint64_t image_sum_long(const void *p, size_t bytes, uint64_t seed);

/** A sum that is made in parts, of malloc. */
XXH3_state_t *image_sum_new(void);

/** As XXH3_64bits_update. */
void image_sum_add(XXH3_state_t *sum, const void *p, size_t bytes);

/** The same, and copy them. */
void image_sum_copy(XXH3_state_t *sum, char *to, const char *from, size_t bytes);

/** The same with registers of 32 bytes; only for machines that have them (image_wide.c). */
uint64_t image_wide_long(const void *p, size_t bytes, uint64_t seed);
void image_wide_add(XXH3_state_t *sum, const void *p, size_t bytes);
void image_wide_copy(XXH3_state_t *sum, char *to, const char *from, size_t bytes);

/** Where the next record begins after this many bytes. */
static inline size_t image_padded(size_t bytes)
{
	return (bytes + 15) & ~(size_t)15;
}

static inline uint64_t image_sum_seeded(const void *p, size_t bytes, uint64_t seed)
{
	return bytes > IMAGE_SUM_SHORT ? image_sum_long(p, bytes, seed) :
					 XXH3_64bits_withSeed(p, bytes, seed);
}

static inline uint64_t image_sum(const void *p, size_t bytes)
{
	return image_sum_seeded(p, bytes, 0);
}

/** The sum of a record, before its bytes. */
static inline void image_sum_begin(XXH3_state_t *sum, const struct image_record *r)
{
	XXH3_64bits_reset_withSeed(sum, XXH3_64bits(r, offsetof(struct image_record, sum)));
}

/** Of a record whose bytes follow it. Its name and size are the seed, so bytes are found, too, that
 * have got into the record of another element. */
static inline uint64_t image_sum_of(const struct image_record *r)
{
	const uint64_t seed = XXH3_64bits(r, offsetof(struct image_record, sum));

	return image_sum_seeded(r + 1, r->bytes, seed);
}

static inline uint64_t image_head_sum_of(const struct image_record *r)
{
	return XXH3_64bits(r, offsetof(struct image_record, head_sum));
}

#endif
