/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy.h: how a put moves the bytes of its body: from one place, or gathered from many.
 *
 * Nothing here says in which order the bytes become visible. Whoever wants a reader on another
 * core to see them all stores a word with release afterwards; that is enough, also after
 * cmi_copy_stream.
 */
#ifndef COPY_H
#define COPY_H

#include "cmi.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** How large bodies go: round the caches or through them, as was faster last time. One for each
 * PE, zeroed at first. */
struct copy_way {
	uint32_t n_large;       /* copies of CMI_COPY_MIN bytes and more */
	uint32_t through;       /* 1: memcpy, which was fast last time */
};

/** Copy n >= CMI_COPY_MIN bytes that another core reads next, where cmi_copy_streams(). Neither end need
 * be aligned. */
void copy_large(struct copy_way *way, unsigned char *dst, const unsigned char *src, size_t n);

/** Blocks of equal size at equal distances, in planes at equal distances:
 *
 *	base + p * plane_stride + b * stride     p < planes, b < blocks, block_bytes each
 *
 * They are gathered plane by plane. Strides are in bytes, of any sign. */
struct copy_strides {
	uint64_t block_bytes, blocks, planes;
	int64_t stride, plane_stride;
};

/** Gather the first n bytes. */
void copy_gather(unsigned char *dst, const unsigned char *base, const struct copy_strides *s,
		 size_t n);

/** Where block `b` of plane `p` lies. */
static inline const unsigned char *copy_block(const unsigned char *base,
					      const struct copy_strides *s, uint64_t p, uint64_t b)
{
	return base + (int64_t)p * s->plane_stride + (int64_t)b * s->stride;
}

uint64_t copy_last_word_in_pieces(const unsigned char *base, const struct copy_strides *s);

/** The last 8 of at least 8 bytes. */
static inline uint64_t copy_last_word(const unsigned char *base, const struct copy_strides *s)
{
	uint64_t word;

	if (__builtin_expect(s->block_bytes < 8, 0))
		return copy_last_word_in_pieces(base, s);
	memcpy(&word, copy_block(base, s, s->planes - 1, s->blocks - 1) + s->block_bytes - 8, 8);
	return word;
}

#endif
