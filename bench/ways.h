/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ways.h: ways to copy many bytes that another core reads next, in bare C: what runtime/direct and
 * runtime/machine/bulk.c choose from. Not their code on purpose, but for single instructions: a bound must
 * not become worse with what it bounds, or it would hide the loss.
 */
#ifndef BENCH_WAYS_H
#define BENCH_WAYS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "../runtime/machine/cmi.h"

enum { WAY_STREAM_TAIL = 8192, WAY_LINES_PER_LOOK = 256 };

struct way {
	size_t chunk;  /* bytes after which the reader is told, who fetches them meanwhile; 0: never */
	bool own;      /* the next chunk's lines are asked for before they are written */
	bool stream;   /* round the caches, all but the end */
};

/* The first is memcpy. */
static const struct way ways[] = {
	{0},
	{.stream = true},
	{.chunk = 4096, .own = true},
	{.chunk = 16384},
};
enum { N_WAYS = sizeof ways / sizeof *ways };

static inline void way_stream(unsigned char *dst, const unsigned char *src, size_t n)
{
#if defined(__SSE2__)
	size_t i = -(uintptr_t)dst % CMI_LINE;

	memcpy(dst, src, i);
	for (; n - i >= WAY_STREAM_TAIL; i += CMI_LINE)
		for (size_t k = i; k < i + CMI_LINE; k += 16)
			_mm_stream_si128((__m128i *)(void *)(dst + k),
					 _mm_loadu_si128((const __m128i *)(const void *)(src + k)));
	memcpy(dst + i, src + i, n - i);
	_mm_sfence();
#else
	memcpy(dst, src, n);
#endif
}

/* `told`: the stamp and how many lines are there, for way_fetch on the other side. */
static inline void way_copy(const struct way *w, unsigned char *dst, const unsigned char *src, size_t n,
			    _Atomic uint64_t *told, uint64_t stamp)
{
	size_t at = 0;

	if (w->stream && n > WAY_STREAM_TAIL + CMI_LINE) {
		way_stream(dst, src, n);
		return;
	}
	for (; w->chunk && n - at > w->chunk; at += w->chunk) {
		size_t next = n - at - w->chunk;

		if (w->own)
			cmi_own_lines(dst + at + w->chunk, next < w->chunk ? next : w->chunk);
		memcpy(dst + at, src + at, w->chunk);
		/* release: what is fetched early is fetched as it will be; relaxed would do */
		atomic_store_explicit(told, stamp << 32 | (at + w->chunk) / CMI_LINE,
				      memory_order_release);
	}
	memcpy(dst + at, src + at, n - at);
}

/* Some of the lines that have been told and are not fetched yet; `fetched` counts them. */
static inline void way_fetch(const unsigned char *buf, uint32_t *fetched, const _Atomic uint64_t *told,
			     uint64_t stamp)
{
	/* relaxed: a hint */
	uint64_t word = atomic_load_explicit(told, memory_order_relaxed);
	uint32_t end = *fetched + WAY_LINES_PER_LOOK;

	if (word >> 32 != (uint32_t)stamp)
		return;
	if (end > (uint32_t)word)
		end = (uint32_t)word;
	for (; *fetched < end; ++*fetched)
		__builtin_prefetch(buf + (size_t)*fetched * CMI_LINE);
}

#endif
