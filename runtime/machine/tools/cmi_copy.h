/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmi_copy.h: copies of bytes from core to core, and all that the runtime knows of processors for
 * it.
 *
 * Cache lines decide the cost: which core has the target's lines when the copy begins, and which
 * core reads them next. Callers say that by the function they choose. The instructions for each
 * processor are chosen here and in cmi_copy.c, and nowhere else.
 *
 * None of these orders anything: a store with release after the copy makes the bytes visible to a
 * reader that loads it with acquire. Any thread; any alignment.
 */
#ifndef CMI_COPY_H
#define CMI_COPY_H

#ifndef __cplusplus /* which has no _Atomic */
#include <stdatomic.h>
#endif
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	CMI_LINE = 64,             /* bytes of a cache line */
	/* Copies of this size and more are large. At 20 kB a copy around the caches and memcpy were equal,
	 * at 30 kB it took 0.75 of memcpy's time. */
	CMI_COPY_MIN = 24 * 1024,
};

/* ---- lines ---------------------------------------------------------------------------- */

/** Begin to fetch the cache line of `p`, which may be any address, for writing. For plain x86-64
 * compilers turn __builtin_prefetch(p, 1) into a fetch for reading, and writing fetches the line a
 * second time. */
static inline void cmi_own_line(const void *p)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
#else
	__builtin_prefetch(p, 1);
#endif
}

/** The same for all lines of n bytes, the last one included wherever they begin. */
static inline void cmi_own_lines(const void *p, size_t n)
{
	const char *line = (const char *)((uintptr_t)p / CMI_LINE * CMI_LINE);

	for (; line < (const char *)p + n; line += CMI_LINE)
		cmi_own_line(line);
}

static inline bool cmi_is_amd(void);

/** Begin to fetch the line of `p`, which another core polls and this one may soon write; where that
 * pays. On Intel handing a message to and fro took 0.88 of its time without, round trips of 8 and
 * 100 bytes 0.96 and 0.87 (Xeon, 11 runs in turn). On AMD (EPYC, both cores in one cache) some
 * round trips of 100 bytes took 1.0 and others 1.35, so nothing is fetched there. */
static inline void cmi_fetch_polled(const void *p)
{
	if (!cmi_is_amd())
		__builtin_prefetch(p);
}

/* ---- small copies ----------------------------------------------------------------------- */

static inline size_t cmi_own_most(void);

/** Before memcpy of less than CMI_COPY_MIN bytes into memory that another core has read last, as
 * mostly with a channel's receive buffer and the memory of a message. All lines are requested
 * before the first is written; memcpy by itself waits for a few at a time. In bare C (Intel Xeon;
 * round trips, each byte written and read) that took 0.76 of memcpy's time at 500 bytes, 0.82 at
 * 1000, 0.79 at 2000, 0.91 at 5000, 0.96 at 10000, 1.0 at 20000; where no other core has the lines
 * it is as fast. On an AMD EPYC (family 25 model 17, both cores in one cache) channels took 0.97 at
 * 600 bytes, 0.86 at 1000, 0.99 at 1500; requesting all lines in longer copies took 1.06 at 2000
 * and 1.15 at 3000 to 10000.
 *
 * The n bytes are all that is written before the other core is told, and the word that tells it, if
 * that follows: a line that is not requested comes after all the others, and costs more than they
 * do together. */
static inline void cmi_own_shared(const void *dst, size_t n)
{
	if (n > CMI_LINE && n <= cmi_own_most())
		cmi_own_lines(dst, n);
}

/** memcpy into such memory. */
static inline void cmi_copy_shared(void *dst, const void *src, size_t n)
{
	cmi_own_shared(dst, n);
	memcpy(dst, src, n);
}

/* ---- large copies: n >= CMI_COPY_MIN ------------------------------------------------------ */

/** Into memory whose last and next readers are unknown: a message's. */
void cmi_copy_bulk(void *dst, const void *src, size_t n);

/** What cmi_copy_awaited remembers from copy to copy. One for each thread that copies, zeroed at
 * first. */
struct cmi_copy_way {
	uint32_t n;             /* copies so far */
	uint32_t through;       /* 1: memcpy, which was fast last time */
};

/** Into a buffer that a reader on another core has read last, waits for, and reads next: the
 * receive buffer of a channel. If the data passes through caches, *told reports the progress of the
 * copy, so that the reader may fetch lines with cmi_fetch_told meanwhile. `stamp` distinguishes
 * this copy from earlier ones into the buffer; its lower 32 bits count. Only the copier writes
 * *told, which is a hint: the caller must signal the end of the copy. */
#ifndef __cplusplus
void cmi_copy_awaited(struct cmi_copy_way *way, void *dst, const void *src, size_t n,
		      _Atomic uint64_t *told, uint64_t stamp);

/** The reader, while it waits: fetch lines of `buf` from number *fetched on that `told` reports for
 * copy `stamp`, a bounded number of them, and count them. */
void cmi_fetch_told(const void *buf, uint32_t *fetched, const _Atomic uint64_t *told,
		    uint64_t stamp);
#endif

/* ---- private ------------------------------------------------------------------------------ */

/** Whether caches are as AMD builds them: some optimisations for Intel do not pay there. */
static inline bool cmi_is_amd(void)
{
#if defined(__x86_64__)
	return __builtin_cpu_is("amd");
#else
	return false;
#endif
}

/** The most bytes for which requesting all lines first pays. AMD's memcpy does that itself in
 * longer copies. */
static inline size_t cmi_own_most(void)
{
	return cmi_is_amd() ? 1536 : CMI_COPY_MIN;
}

#ifdef __cplusplus
}
#endif
#endif
