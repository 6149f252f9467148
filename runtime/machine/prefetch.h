/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prefetch.h: ask for a cache line that will be written soon. Compilers for plain x86-64 make a fetch
 * for reading of __builtin_prefetch(p, 1), and the line comes a second time when it is written.
 */
#ifndef PREFETCH_H
#define PREFETCH_H

/** Any address. A hint: nothing is read or written, and processors without the instruction ignore it. */
static inline void prefetch_write(const void *p)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
#else
	__builtin_prefetch(p, 1);
#endif
}

#endif
