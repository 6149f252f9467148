/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seal.h: authenticated encryption and key exchange, by libsodium: AES-256-GCM where all processors
 * of the job have it, ChaCha20-Poly1305 elsewhere; X25519 and BLAKE2b for the keys (crypto_kx).
 *
 * A nonce is the frame's number, and a key is used in one direction between two PEs only, so no
 * nonce is used twice with a key.
 */
#ifndef SEAL_H
#define SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEAL_KEY = 32, SEAL_TAG = 16 };

/** Load the library; without it the process ends with a line about CK_WIRE. */
void seal_load(void);
bool seal_has_aes(void);

/** One direction of a pair of PEs. */
struct seal;
struct seal *seal_open(bool aes, const uint8_t key[SEAL_KEY]);
/** Forgets the key. */
void seal_close(struct seal *s);

/** Encrypt `bytes` bytes to `to`, which may be `from`, and write the tag behind them. */
void seal_encode(const struct seal *s, uint64_t number, const void *head, size_t head_len, void *to,
		 const void *from, size_t bytes);
/** The reverse; `bytes` counts the tag. False: some bit of it, of the head or of the number is not
 * what it was, and nothing may be used. */
bool seal_decode(const struct seal *s, uint64_t number, const void *head, size_t head_len, void *to,
		 const void *from, size_t bytes);

/** A new pair of keys. */
void seal_keys(uint8_t public_key[SEAL_KEY], uint8_t secret_key[SEAL_KEY]);
/** The keys that both sides compute. `first`: this side is the first of the two, which both know.
 * False: the other public key is none. */
bool seal_session(bool first, const uint8_t public_key[SEAL_KEY],
		  const uint8_t secret_key[SEAL_KEY], const uint8_t theirs[SEAL_KEY],
		  uint8_t in[SEAL_KEY], uint8_t out[SEAL_KEY]);
/** A hash of `bytes` bytes under a key, or without one (NULL). */
void seal_hash(uint8_t *hash, size_t hash_len, const void *data, size_t bytes,
	       const uint8_t key[SEAL_KEY]);
/** Whether they are equal; takes the same time in any case. */
bool seal_equal(const void *a, const void *b, size_t bytes);
/** Forget a secret. */
void seal_wipe(void *p, size_t bytes);

#endif
