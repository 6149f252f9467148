/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmi_copy.c: large copies to another core, through the caches or around them.
 *
 * memcpy fetches each line of the target before it overwrites it. Where another core has that line,
 * because it has read the old contents, that core must first give it up. Streaming stores do not
 * fetch, but they leave nothing in a cache, so the reader finds its data in memory.
 *
 * Through the caches a waiting reader can fetch what has been copied already, while copying goes
 * on. Its lines cross meanwhile, and it finds them in its own cache.
 */
#include "cmi_copy.h"
#include "cmi_copy_int.h"

#include <string.h>

#include "clock.h"

/* ---- around the caches ----------------------------------------------------------------------- */

#if defined(__SSE2__) && !defined(__SANITIZE_THREAD__)
#include <emmintrin.h>

/* The last bytes go through the caches, so that the writer does not idle waiting for memory: 0.90
 * instead of 0.96 of memcpy's time at 20 kB, 0.71 instead of 0.77 at 30 kB, equal from 70 kB on. */
enum { STREAM_TAIL = 8 * 1024 };

/** Whether streaming stores pay. Round trips of 100 kB in shared memory took, of memcpy's time, 0.5
 * on an AMD EPYC (family 25 model 17, a virtual machine) whose two cores share a cache, and 0.2
 * where they do not; 1.3 on an Intel Xeon (Sapphire Rapids); and 1.8 on the EPYC, it seems, where
 * the two cores are threads of one (1 of 14 runs, in which 8 bytes took half as long as else).
 * Prefetchw ahead of memcpy, chunks of 1 to 8 kB, 64-byte stores and rep movsb took 0.95 to 1.1. */
static bool streaming_pays(void)
{
	return cmi_is_amd();
}

static inline void stream_line(unsigned char *dst, const unsigned char *src)
{
	for (int i = 0; i < CMI_LINE; i += 16)
		_mm_stream_si128((__m128i *)(void *)(dst + i),
				 _mm_loadu_si128((const __m128i *)(const void *)(src + i)));
}

static void copy_streaming(unsigned char *dst, const unsigned char *src, size_t n)
{
	size_t head = -(uintptr_t)dst % CMI_LINE, end;

	memcpy(dst, src, head);
	end = head + (n - head - STREAM_TAIL) / CMI_LINE * CMI_LINE;
	for (size_t i = head; i < end; i += CMI_LINE)
		stream_line(dst + i, src + i);
	memcpy(dst + end, src + end, n - end);
	/* Nothing else orders streaming stores, not even a later release store. */
	_mm_sfence();
}

#else /* no such stores; or a sanitizer must see the writes */

static bool streaming_pays(void)
{
	return false;
}

static void copy_streaming(unsigned char *dst, const unsigned char *src, size_t n)
{
	memcpy(dst, src, n);
}

#endif

enum {
	/* cmi_copy_bulk times this many bytes. */
	PROBE_BYTES = 4 * 1024,
	/* Bytes per nanosecond above which memcpy is as good as possible. Measured for 64 kB: 20 where no
	 * other core has the lines, 10 where one does that shares our last cache, 2.4 where it does
	 * not. */
	PROBE_FAST = 10,
};

/* The last reader of the target may be another core, this one, or none for long. With cores in
 * different caches 64 kB took 27 us through them and 4.6 around them; in one cache 2.8 and 3.7, and
 * there a reader on this core would lose more. So the first bytes are timed; reading the clock is
 * 25 ns. examples/matmul --n 256 --p 2 by messages, an iteration: 420 us instead of 500 in two
 * caches, as before in one. */
static void copy_probing(unsigned char *dst, const unsigned char *src, size_t n)
{
	size_t probe = PROBE_BYTES;
	uint64_t began;

	/* gcc turns a memcpy of a known size like this one into `rep movsq`, which is slower. */
	__asm__("" : "+r"(probe));
	began = machine_now_ns();
	memcpy(dst, src, probe);
	if (machine_now_ns() - began > PROBE_BYTES / PROBE_FAST)
		copy_streaming(dst + PROBE_BYTES, src + PROBE_BYTES, n - PROBE_BYTES);
	else
		memcpy(dst + PROBE_BYTES, src + PROBE_BYTES, n - PROBE_BYTES);
}

void cmi_copy_bulk(void *dst, const void *src, size_t n)
{
	if (streaming_pays())
		copy_probing(dst, src, n);
	else
		memcpy(dst, src, n);
}

enum {
	/* One copy of this many tries memcpy; and while memcpy is used, one is timed. Reading the clock
	 * twice for each copy made round trips of 30 kB 3 % longer. */
	TRY_EVERY = 64,
	LOOK_EVERY = 8,
	/* Bytes per nanosecond from which on memcpy is better. 64 kB went at 11 to 30 into buffers that
	 * have left the reader's own caches, 8 to 10 into ones just read, 2.4 where reader and writer
	 * share no cache at all. */
	FAST = 10,
	/* A buffer of this size has mostly left the reader's own caches when it is used again, and timing
	 * its first 4 kB costs nothing (copy_probing). Round trips of 500 kB took 0.8 to 1.1 of their time
	 * without, of 2 MB 0.6 to 0.9 (AMD EPYC, both cores in one cache of 32 MB, 1 MB for each alone);
	 * 300 kB would have taken 1.05 to 1.4. */
	PROBE_FROM = 384 * 1024,
};

/* Streaming is for buffers that are still in the reader's caches. If others were used in between,
 * memcpy is faster, and the reader finds the data in a cache: with examples/matmul's slices of 64
 * kB 2.8 us instead of 3.7, and 3 us less in the dgemm: 359 us instead of 365 an iteration. This
 * cannot be known beforehand. So memcpy is tried now and then, and used as long as it stays fast; a
 * round trip of 100 kB, where it is not, is 1 % longer for it. */
void copy_round(struct cmi_copy_way *way, unsigned char *dst, const unsigned char *src, size_t n)
{
	bool timed = way->n++ % (way->through ? LOOK_EVERY : TRY_EVERY) == 0;
	uint64_t began;

	if (!timed && !way->through) {
		copy_streaming(dst, src, n);
		return;
	}
	began = timed ? machine_now_ns() : 0;
	memcpy(dst, src, n);
	if (timed)
		way->through = machine_now_ns() - began < n / FAST;
}

/* ---- through the caches, telling the reader -------------------------------------------------- */

enum {
	/* Bytes between two reports. With 8 kB round trips of 30 to 100 kB took 0.94, 0.91 and 0.94 of
	 * memcpy's time instead of 0.86, 0.76 and 0.80. */
	TELL_BYTES = 4096,
	/* Lines fetched per call, so that the reader soon sees the end of the copy: 1.5 us at most. A PE
	 * that has waited for long yields between two calls: with 16 lines round trips of 100 kB took 0.97
	 * of memcpy's time, with 64 lines 0.90. */
	LINES_PER_LOOK = 256,
};

/* In bare C (Intel Xeon, Sapphire Rapids; round trips, each byte written and read) that took 0.84
 * of plain memcpy's time at 30 and 64 kB, 0.88 at 100 kB, 0.83 at 500 kB. Without prefetching the
 * next lines the gain was half. */
void copy_telling(unsigned char *dst, const unsigned char *src, size_t n, _Atomic uint64_t *told,
		  uint64_t stamp)
{
	size_t at = 0, next;

	for (; n - at > TELL_BYTES; at += TELL_BYTES) {
		next = n - at - TELL_BYTES;
		cmi_own_lines(dst + at + TELL_BYTES, next < TELL_BYTES ? next : TELL_BYTES);
		memcpy(dst + at, src + at, TELL_BYTES);
		/* release: a fetched line has its final contents. A line fetched too early would be fetched in
		 * vain, not wrongly: this orders nothing that the program sees. */
		atomic_store_explicit(told, copy_told_word(stamp, (at + TELL_BYTES) / CMI_LINE),
				      memory_order_release);
	}
	memcpy(dst + at, src + at, n - at);
}

void cmi_fetch_told(const void *buf, uint32_t *fetched, const _Atomic uint64_t *told,
		    uint64_t stamp)
{
	/* relaxed: it only says what is worth fetching. */
	uint64_t word = atomic_load_explicit(told, memory_order_relaxed);
	uint32_t end = *fetched + LINES_PER_LOOK;

	if (word >> 32 != (uint32_t)stamp)
		return;
	if (end > (uint32_t)word)
		end = (uint32_t)word;
	for (; *fetched < end; ++*fetched)
		__builtin_prefetch((const char *)buf + (size_t)*fetched * CMI_LINE);
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* Where streaming pays there is nothing in a cache to fetch, so nothing is reported. */
void cmi_copy_awaited(struct cmi_copy_way *way, void *dst, const void *src, size_t n,
		      _Atomic uint64_t *told, uint64_t stamp)
{
	if (!streaming_pays())
		copy_telling(dst, src, n, told, stamp);
	else if (n >= PROBE_FROM)
		copy_probing(dst, src, n);
	else
		copy_round(way, dst, src, n);
}
