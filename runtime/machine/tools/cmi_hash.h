/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmi_hash.h: FNV-1a with 64 bits, which can be continued over any number of pieces. It compares
 * data of nodes; it does not withstand an attacker.
 */
#ifndef CMI_HASH_H
#define CMI_HASH_H

#include <stddef.h>
#include <stdint.h>

/** The hash of no bytes: the start value. */
#define CMI_HASH_START ((uint64_t)0xcbf29ce484222325u)

/** `h` continued over n bytes. */
static inline uint64_t cmi_hash(uint64_t h, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3u;
	return h;
}

#endif
