/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c: see copy.h. */
#include "copy.h"

#include <stdbool.h>

#include "../scheduler/pe.h"

enum {
	/* One of so many tries memcpy; and while it is used, one of so many is timed: two looks at the clock at
	 * each put made round trips of 30 kB 3 % longer. */
	TRY_EVERY = 64,
	LOOK_EVERY = 8,
	/* Bytes per nanosecond from which on memcpy is the better way. 64 kB went at 11 to 30 into
	 * buffers that have left the reader's own caches, 8 to 10 into such as it has just read, 2.4
	 * where reader and writer share no cache at all. */
	FAST = 10,
	/* So much and more has mostly left the reader's own caches when it comes again, and the first 4 kB
	 * tell at no cost: cmi_copy_bulk. Round trips of 500 kB took 0.8 to 1.1 of their time without, of
	 * 2 MB 0.6 to 0.9 (AMD EPYC, both cores in one cache of 32 MB, 1 MB for each alone); 300 kB would
	 * have taken 1.05 to 1.4. */
	BULK = 384 * 1024,
};

/* cmi_copy_stream is for buffers that the reader still has in its caches. Where others came between,
 * memcpy is faster, and the reader finds the data in a cache: with examples/matmul's slices of 64 kB
 * 2.8 us instead of 3.7, and 3 us less in the dgemm: 359 us instead of 365 an iteration. Nothing
 * tells beforehand. So memcpy is tried now and then, and used as long as it stays fast; a round trip of
 * 100 kB, where it is not, is 1 % longer for it. */
void copy_large(struct copy_way *way, unsigned char *dst, const unsigned char *src, size_t n)
{
	bool timed;
	uint64_t began;

	if (n >= BULK) {
		cmi_copy_bulk(dst, src, n);
		return;
	}
	timed = way->n_large++ % (way->through ? LOOK_EVERY : TRY_EVERY) == 0;
	if (!timed) {
		if (way->through)
			memcpy(dst, src, n);
		else
			cmi_copy_stream(dst, src, n);
		return;
	}
	began = csd_now_ns();
	memcpy(dst, src, n);
	way->through = csd_now_ns() - began < n / FAST;
}

/* A call of memcpy costs more than the copy of a short block, and a division as much as that of four.
 * Both are gone where the size is a constant, as it is wherever this is inlined with one. */
static inline __attribute__((always_inline)) void gather_plane(
	unsigned char *dst, const unsigned char *src, size_t n, int64_t stride, size_t block)
{
	for (; n >= block; n -= block, dst += block, src += stride)
		memcpy(dst, src, block);
	/* Of the last block all but the word that is stored by itself. */
	for (; n >= 8; n -= 8, dst += 8, src += 8)
		memcpy(dst, src, 8);
	if (n)
		memcpy(dst, src, n);
}

void copy_gather(unsigned char *dst, const unsigned char *base, const struct copy_strides *s,
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

/* From the end; the pieces may lie in more than one plane. */
uint64_t copy_last_word_in_pieces(const unsigned char *base, const struct copy_strides *s)
{
	uint64_t plane = s->planes - 1, block = s->blocks - 1, word;
	unsigned char bytes[8];
	size_t left = 8;

	for (;;) {
		size_t n = s->block_bytes < left ? s->block_bytes : left;

		left -= n;
		memcpy(bytes + left, copy_block(base, s, plane, block) + s->block_bytes - n, n);
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
