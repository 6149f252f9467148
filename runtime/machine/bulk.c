/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bulk.c: copies of many bytes that another core reads next: through the caches, or round them.
 *
 * memcpy fetches each line of the target, to overwrite it. Where another core holds that line, as it
 * does when it has read what was there before, it must first give it up. Streaming stores do not
 * fetch; but they leave nothing in a cache, so the reader finds its data in memory.
 */
#include "machine_int.h"

#include <string.h>

#if defined(__SSE2__) && !defined(__SANITIZE_THREAD__)
#include <emmintrin.h>

enum {
	/* So much at the end goes through the caches still, so that the writer does not wait for the
	 * memory with nothing else to do: 0.90 instead of 0.96 of memcpy's time at 20 kB, 0.71
	 * instead of 0.77 at 30 kB, equal from 70 kB on. */
	STREAM_TAIL = 8 * 1024,
	/* cmi_copy_bulk times so many bytes. */
	PROBE_BYTES = 4 * 1024,
	/* Bytes per nanosecond above which memcpy is as good as can be. Measured for 64 kB: 20 where no
	 * other core holds the lines, 10 where one does that shares our last cache, 2.4 where it does
	 * not. */
	PROBE_FAST = 10,
};

/* Round trips of 100 kB in shared memory, of memcpy's time, on an AMD EPYC (family 25 model 17) as a
 * virtual machine whose two cores lie in one cache: 0.5; in two: 0.2. On an Intel Xeon (Sapphire
 * Rapids) streaming took 1.3 of memcpy's time; and here 1.8, it seems, where the two cores are
 * threads of one (1 of 14 runs, in which 8 bytes took half as long as else): there was nothing to
 * fetch. Asking for the lines some way ahead of memcpy (prefetchw), chunks of 1 to 8 kB, 64-byte
 * stores and rep movsb took 0.95 to 1.1. */
bool cmi_copy_streams(void)
{
	return cmi_is_amd();
}

static inline void stream_line(unsigned char *dst, const unsigned char *src)
{
	for (int i = 0; i < 64; i += 16)
		_mm_stream_si128((__m128i *)(void *)(dst + i),
				 _mm_loadu_si128((const __m128i *)(const void *)(src + i)));
}

static void stream(unsigned char *dst, const unsigned char *src, size_t n)
{
	size_t head = -(uintptr_t)dst % 64, end;

	memcpy(dst, src, head);
	end = head + (n - head - STREAM_TAIL) / 64 * 64;
	for (size_t i = head; i < end; i += 64)
		stream_line(dst + i, src + i);
	memcpy(dst + end, src + end, n - end);
	/* Streaming stores are ordered with nothing, not even with a release store after them. */
	_mm_sfence();
}

void cmi_copy_stream(void *dst, const void *src, size_t n)
{
	if (cmi_copy_streams())
		stream(dst, src, n);
	else
		memcpy(dst, src, n);
}

/* Into the memory of a message, which another core may have read last, or we, or nobody for long. With
 * cores in different caches 64 kB took 27 us when all went through them and 4.6 when none did; in one
 * cache 2.8 and 3.7, and there a reader on this core would lose more. So the first bytes tell; a look at
 * the clock is 25 ns. examples/matmul --n 256 --p 2 by messages, an iteration: 420 us instead of 500 in
 * two caches, as before in one. */
void cmi_copy_bulk(void *dst, const void *src, size_t n)
{
	size_t probe = PROBE_BYTES;
	uint64_t began;

	if (!cmi_copy_streams()) {
		memcpy(dst, src, n);
		return;
	}
	/* Of a memcpy of so many bytes, if it knows, gcc makes `rep movsq`, which is slower. */
	__asm__("" : "+r"(probe));
	began = machine_now_ns();
	memcpy(dst, src, probe);
	if (machine_now_ns() - began > PROBE_BYTES / PROBE_FAST)
		stream((unsigned char *)dst + PROBE_BYTES, (const unsigned char *)src + PROBE_BYTES,
		       n - PROBE_BYTES);
	else
		memcpy((char *)dst + PROBE_BYTES, (const char *)src + PROBE_BYTES, n - PROBE_BYTES);
}

#else /* and where a sanitizer must see who writes */

bool cmi_copy_streams(void)
{
	return false;
}

void cmi_copy_stream(void *dst, const void *src, size_t n)
{
	memcpy(dst, src, n);
}

void cmi_copy_bulk(void *dst, const void *src, size_t n)
{
	memcpy(dst, src, n);
}

#endif
