/* SPDX-License-Identifier: Apache-2.0 */
/* cmi_copy_int.h: the methods between which cmi_copy.c chooses; for its test. */
#ifndef CMI_COPY_INT_H
#define CMI_COPY_INT_H

#include "cmi_copy.h"

/** The value of *told: this many whole lines of that copy are in place. */
static inline uint64_t copy_told_word(uint64_t stamp, size_t lines)
{
	return stamp << 32 | (uint32_t)lines;
}

/** Through the caches, reporting to the reader. Any n. */
void copy_telling(unsigned char *dst, const unsigned char *src, size_t n, _Atomic uint64_t *told,
		  uint64_t stamp);

/** Around the caches, or through them where that was faster last time. */
void copy_round(struct cmi_copy_way *way, unsigned char *dst, const unsigned char *src, size_t n);

#endif
