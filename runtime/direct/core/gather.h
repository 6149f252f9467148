/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather.h: copies data from blocks at equal distances into contiguous memory.
 *
 * Nothing here orders the bytes' visibility. The caller stores a word with release afterwards; a
 * reader on another core that has seen the word sees all of them.
 */
#ifndef GATHER_H
#define GATHER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** Blocks of equal size at equal distances, in planes at equal distances:
 *
 *	base + p * plane_stride + b * stride     p < planes, b < blocks, block_bytes each
 *
 * They are gathered plane by plane. Strides are in bytes, of any sign. */
struct gather_shape {
	uint64_t block_bytes, blocks, planes;
	int64_t stride, plane_stride;
};

/** Gather the first n bytes. */
void gather_bytes(unsigned char *dst, const unsigned char *base, const struct gather_shape *s,
		  size_t n);

/** Where block `b` of plane `p` lies. */
static inline const unsigned char *gather_block(const unsigned char *base,
						const struct gather_shape *s, uint64_t p, uint64_t b)
{
	return base + (int64_t)p * s->plane_stride + (int64_t)b * s->stride;
}

uint64_t gather_last_word_in_pieces(const unsigned char *base, const struct gather_shape *s);

/** The last 8 of at least 8 bytes. */
static inline uint64_t gather_last_word(const unsigned char *base, const struct gather_shape *s)
{
	uint64_t word;

	if (__builtin_expect(s->block_bytes < 8, 0))
		return gather_last_word_in_pieces(base, s);
	memcpy(&word, gather_block(base, s, s->planes - 1, s->blocks - 1) + s->block_bytes - 8, 8);
	return word;
}

#endif
