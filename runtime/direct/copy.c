/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c: see copy.h. */
#include "copy.h"

#include <stdbool.h>

#if defined(__SSE2__) && !defined(__SANITIZE_THREAD__)
#include <emmintrin.h>

/* Round trips of 100 kB in shared memory, of memcpy's time, on an AMD EPYC (family 25 model 17) as a
 * virtual machine whose two cores lie in one cache: 0.5; in two: 0.2. memcpy must first fetch each
 * line of the receive buffer from the reader's cache, to overwrite it, and the reader must then
 * fetch it from ours; these stores do neither. On an Intel Xeon (Sapphire Rapids) they took 1.3 of
 * memcpy's time; and here 1.8, it seems, where the two cores are threads of one (1 of 14 runs, in
 * which 8 bytes took half as long as else): there was nothing to fetch. Asking for the lines
 * some way ahead of memcpy (prefetchw), chunks of 1 to 8 kB, 64-byte stores and rep movsb took
 * 0.95 to 1.1. */
static bool streams_well(void)
{
	return __builtin_cpu_is("amd");
}

static inline void stream_line(unsigned char *dst, const unsigned char *src)
{
	for (int i = 0; i < 64; i += 16)
		_mm_stream_si128((__m128i *)(void *)(dst + i),
				 _mm_loadu_si128((const __m128i *)(const void *)(src + i)));
}

void copy_stream(unsigned char *dst, const unsigned char *src, size_t n)
{
	size_t head = -(uintptr_t)dst % 64, end;

	if (!streams_well()) {
		memcpy(dst, src, n);
		return;
	}
	memcpy(dst, src, head);
	end = head + (n - head - COPY_STREAM_TAIL) / 64 * 64;
	for (size_t i = head; i < end; i += 64)
		stream_line(dst + i, src + i);
	memcpy(dst + end, src + end, n - end);
	/* Streaming stores are ordered with nothing, not even with a release store after them. */
	_mm_sfence();
}

#else /* and where a sanitizer must see who writes */

void copy_stream(unsigned char *dst, const unsigned char *src, size_t n)
{
	memcpy(dst, src, n);
}

#endif

/* ---- strides ----------------------------------------------------------------------- */

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
