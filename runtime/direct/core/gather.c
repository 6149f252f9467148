/* SPDX-License-Identifier: Apache-2.0 */
/* gather.c: see gather.h. */
#include "gather.h"

/* Calling memcpy costs more than the copy of a short block, and a division as much as the copies of
 * four. Both vanish where `block` is a constant, as in all inlined calls with one. */
static inline __attribute__((always_inline)) void gather_plane(
	unsigned char *dst, const unsigned char *src, size_t n, int64_t stride, size_t block)
{
	for (; n >= block; n -= block, dst += block, src += stride)
		memcpy(dst, src, block);
	/* The last block, without the word that the caller stores itself. */
	for (; n >= 8; n -= 8, dst += 8, src += 8)
		memcpy(dst, src, 8);
	if (n)
		memcpy(dst, src, n);
}

void gather_bytes(unsigned char *dst, const unsigned char *base, const struct gather_shape *s,
		 size_t n)
{
	size_t plane = s->blocks * s->block_bytes;

	while (n) {
		size_t here = n < plane ? n : plane;

		switch (s->block_bytes) {
		case 4: gather_plane(dst, base, here, s->stride, 4); break;
		case 8: gather_plane(dst, base, here, s->stride, 8); break;
		case 16: gather_plane(dst, base, here, s->stride, 16); break;
		case 32: gather_plane(dst, base, here, s->stride, 32); break;
		case 64: gather_plane(dst, base, here, s->stride, 64); break;
		case 128: gather_plane(dst, base, here, s->stride, 128); break;
		default: gather_plane(dst, base, here, s->stride, s->block_bytes); break;
		}
		n -= here;
		dst += here;
		base += s->plane_stride;
	}
}

/* From the end; the bytes may lie in more than one plane. */
uint64_t gather_last_word_in_pieces(const unsigned char *base, const struct gather_shape *s)
{
	uint64_t plane = s->planes - 1, block = s->blocks - 1, word;
	unsigned char bytes[8];
	size_t left = 8;

	for (;;) {
		size_t n = s->block_bytes < left ? s->block_bytes : left;

		left -= n;
		memcpy(bytes + left, gather_block(base, s, plane, block) + s->block_bytes - n, n);
		if (!left)
			break;
		if (block-- == 0) {
			block = s->blocks - 1;
			plane--;
		}
	}
	memcpy(&word, bytes, 8);
	return word;
}
