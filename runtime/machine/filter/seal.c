/* SPDX-License-Identifier: Apache-2.0 */
/* seal.c: see seal.h. The few functions of libsodium that are used; their interface has been stable
 * since version 1.0.12. */
#include "seal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cmi_alloc.h"
#include "filter_int.h"

enum {
	NONCE = 12,      /* both ciphers' */
	AES_STATE = 512, /* crypto_aead_aes256gcm_state: a key, expanded */
	STATE_ALIGN = 64,
};

typedef unsigned char byte;

/* All encryptions, and all decryptions, have one form. `secret`: a key, or an expanded one. */
typedef int encrypts(byte *to, unsigned long long *len_p, const byte *from,
		     unsigned long long bytes, const byte *head, unsigned long long head_len,
		     const byte *none, const byte *nonce, const void *secret);
typedef int decrypts(byte *to, unsigned long long *len_p, byte *none, const byte *from,
		     unsigned long long bytes, const byte *head, unsigned long long head_len,
		     const byte *nonce, const void *secret);
typedef int agrees(byte *in, byte *out, const byte *mine, const byte *secret, const byte *theirs);

static struct {
	pthread_once_t once;
	int (*init)(void);
	int (*has_aes)(void);
	int (*aes_expand)(void *state, const byte *key);
	encrypts *aes_encrypt, *chacha_encrypt;
	decrypts *aes_decrypt, *chacha_decrypt;
	int (*keys)(byte *public_key, byte *secret_key);
	agrees *first, *second;
	int (*hash)(byte *hash, size_t len, const byte *data, unsigned long long bytes,
		    const byte *key, size_t key_len);
	int (*differ)(const void *a, const void *b, size_t bytes);
	void (*wipe)(void *p, size_t bytes);
} sodium = { .once = PTHREAD_ONCE_INIT };

/* Of one size for both ciphers: the expanded key, or the key at its beginning. */
struct seal {
	_Alignas(STATE_ALIGN) byte secret[AES_STATE];
	encrypts *encrypt;
	decrypts *decrypt;
};

static void load(void)
{
	static const struct library_call calls[] = {
		{ "sodium_init", &sodium.init },
		{ "crypto_aead_aes256gcm_is_available", &sodium.has_aes },
		{ "crypto_aead_aes256gcm_beforenm", &sodium.aes_expand },
		{ "crypto_aead_aes256gcm_encrypt_afternm", &sodium.aes_encrypt },
		{ "crypto_aead_aes256gcm_decrypt_afternm", &sodium.aes_decrypt },
		{ "crypto_aead_chacha20poly1305_ietf_encrypt", &sodium.chacha_encrypt },
		{ "crypto_aead_chacha20poly1305_ietf_decrypt", &sodium.chacha_decrypt },
		{ "crypto_kx_keypair", &sodium.keys },
		{ "crypto_kx_client_session_keys", &sodium.first },
		{ "crypto_kx_server_session_keys", &sodium.second },
		{ "crypto_generichash", &sodium.hash },
		{ "sodium_memcmp", &sodium.differ },
		{ "sodium_memzero", &sodium.wipe },
	};

	library_load("seal", "libsodium.so.23", "libsodium23", calls, sizeof calls / sizeof *calls);
	if (sodium.init() < 0)
		cmi_env_refuse("CK_WIRE", "seal",
			       "something else: libsodium finds no random numbers on this host");
}

void seal_load(void) { pthread_once(&sodium.once, load); }

bool seal_has_aes(void) { return sodium.has_aes() == 1; }

struct seal *seal_open(bool aes, const uint8_t key[SEAL_KEY])
{
	struct seal *s = cmi_alloc_aligned(STATE_ALIGN, sizeof *s, "a seal");

	s->encrypt = aes ? sodium.aes_encrypt : sodium.chacha_encrypt;
	s->decrypt = aes ? sodium.aes_decrypt : sodium.chacha_decrypt;
	if (aes)
		sodium.aes_expand(s->secret, key);
	else
		memcpy(s->secret, key, SEAL_KEY);
	return s;
}

void seal_close(struct seal *s)
{
	if (!s)
		return;
	sodium.wipe(s, sizeof *s);
	free(s);
}

static void nonce_of(uint64_t number, byte nonce[NONCE])
{
	memset(nonce, 0, NONCE);
	memcpy(nonce, &number, sizeof number);
}

void seal_encode(const struct seal *s, uint64_t number, const void *head, size_t head_len, void *to,
		 const void *from, size_t bytes)
{
	byte nonce[NONCE];

	nonce_of(number, nonce);
	s->encrypt(to, NULL, from, bytes, head, head_len, NULL, nonce, s->secret);
}

bool seal_decode(const struct seal *s, uint64_t number, const void *head, size_t head_len, void *to,
		 const void *from, size_t bytes)
{
	byte nonce[NONCE];

	nonce_of(number, nonce);
	return bytes >= SEAL_TAG &&
	       s->decrypt(to, NULL, NULL, from, bytes, head, head_len, nonce, s->secret) == 0;
}

void seal_keys(uint8_t public_key[SEAL_KEY], uint8_t secret_key[SEAL_KEY])
{
	sodium.keys(public_key, secret_key);
}

bool seal_session(bool first, const uint8_t public_key[SEAL_KEY],
		  const uint8_t secret_key[SEAL_KEY], const uint8_t theirs[SEAL_KEY],
		  uint8_t in[SEAL_KEY], uint8_t out[SEAL_KEY])
{
	return (first ? sodium.first : sodium.second)(in, out, public_key, secret_key, theirs) == 0;
}

void seal_hash(uint8_t *hash, size_t hash_len, const void *data, size_t bytes,
	       const uint8_t key[SEAL_KEY])
{
	sodium.hash(hash, hash_len, data, bytes, key, key ? SEAL_KEY : 0);
}

bool seal_equal(const void *a, const void *b, size_t bytes)
{
	return sodium.differ(a, b, bytes) == 0;
}

void seal_wipe(void *p, size_t bytes) { sodium.wipe(p, bytes); }
