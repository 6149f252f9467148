/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmi_mac.h: SipHash-2-4, a hash under a key of 128 bits. Without the key the hash of a text cannot
 * be forged, not even after seeing those of others. J.-P. Aumasson, D. J. Bernstein: SipHash: a
 * fast short-input PRF, INDOCRYPT 2012.
 */
#ifndef CMI_MAC_H
#define CMI_MAC_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cmi_key128 {
	uint64_t k[2];
};

static inline uint64_t mac_rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

static inline void mac_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = mac_rotate(v[1], 13) ^ v[0];
	v[3] = mac_rotate(v[3], 16) ^ v[2];
	v[0] = mac_rotate(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = mac_rotate(v[1], 17) ^ v[2];
	v[3] = mac_rotate(v[3], 21) ^ v[0];
	v[2] = mac_rotate(v[2], 32);
}

static inline void mac_take(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	mac_round(v);
	mac_round(v);
	v[0] ^= word;
}

/** The hash of n bytes. Words are read in this machine's byte order, which all nodes of a job
 * share. */
static inline uint64_t cmi_mac(struct cmi_key128 key, const void *bytes, size_t n)
{
	uint64_t v[4] = {key.k[0] ^ 0x736f6d6570736575u, key.k[1] ^ 0x646f72616e646f6du,
			 key.k[0] ^ 0x6c7967656e657261u, key.k[1] ^ 0x7465646279746573u};
	const unsigned char *p = bytes;
	uint64_t last = (uint64_t)n << 56, word;
	size_t whole = n & ~(size_t)7;

	for (size_t at = 0; at < whole; at += sizeof word) {
		memcpy(&word, p + at, sizeof word);
		mac_take(v, word);
	}
	for (size_t i = whole; i < n; i++)
		last |= (uint64_t)p[i] << 8 * (i - whole);
	mac_take(v, last);
	v[2] ^= 0xff;
	for (int i = 0; i < 4; i++)
		mac_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#endif
