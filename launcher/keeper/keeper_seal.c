/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_seal.c: the seals of a connection between keepers, or between ckrun and a keeper
 * (runtime/machine/filter/seal.h).
 *
 * Each greeting has a pair of keys of its own at either end, so what somebody has recorded stays
 * secret when he learns the job's key later. A direction's key is a hash of what both ends compute
 * from these (crypto_kx), of the direction, the job's key and all that both have said so far; with
 * CK_WIRE_KEY of the file's, too. So it belongs to one direction of one connection, and a frame's
 * number, which both ends count, is a nonce that it has not seen.
 */
#include "keeper_words.h"
#include "../launch.h"
#include "../../runtime/machine/filter/wire_key.h"

#include <stdlib.h>
#include <string.h>

const char keeper_not_opened[] =
	"does not open: it was changed, repeated, left out or forged on its way; "
	"see who can reach the network between these hosts";

void keeper_secret_open(struct keeper_secret *s, struct cmi_key128 key, bool seals)
{
	*s = (struct keeper_secret){ .key = key, .seals = seals };
	if (!seals)
		return;
	seal_load();
	s->has_file = wire_key_read(s->file_key);
	if (s->has_file)
		seal_hash((uint8_t *)&s->key, sizeof s->key, &key, sizeof key, s->file_key);
}

void keeper_seal_keys(const struct keeper_secret *s, uint8_t public_key[SEAL_KEY],
		      uint8_t secret_key[SEAL_KEY], uint32_t *has_aes)
{
	memset(public_key, 0, SEAL_KEY);
	memset(secret_key, 0, SEAL_KEY);
	*has_aes = s->seals && seal_has_aes();
	if (s->seals)
		seal_keys(public_key, secret_key);
}

/** What a direction's key is a hash of, besides what both ends compute. It has no gaps. */
struct direction {
	char what[16];
	uint64_t to_caller;
	struct cmi_key128 key;
	struct keeper_challenge challenge;
	struct keeper_hello hello;
};

static struct keeper_way *way_open(const struct keeper_secret *s, const struct direction *d,
				   const uint8_t session[SEAL_KEY])
{
	struct keeper_way *w = launch_must_have(calloc(1, sizeof *w), "a sealed connection");
	uint8_t key[SEAL_KEY];

	seal_hash(key, sizeof key, d, sizeof *d, session);
	if (s->has_file)
		seal_hash(key, sizeof key, key, sizeof key, s->file_key);
	w->seal = seal_open(d->challenge.has_aes && d->hello.has_aes, key);
	seal_wipe(key, sizeof key);
	return w;
}

bool keeper_seal(struct keeper_link *l, const struct keeper_secret *s, bool calls,
		 const struct keeper_challenge *c, const struct keeper_hello *hello,
		 const uint8_t secret_key[SEAL_KEY])
{
	struct direction d = { .what = "chard keeper 1", .key = s->key, .challenge = *c, .hello = *hello };
	const uint8_t *mine = calls ? hello->public_key : c->public_key;
	const uint8_t *theirs = calls ? c->public_key : hello->public_key;
	uint8_t in[SEAL_KEY], out[SEAL_KEY];

	if (!s->seals)
		return true;
	if (!seal_session(calls, mine, secret_key, theirs, in, out))
		return false;
	d.to_caller = calls;
	l->in = way_open(s, &d, in);
	d.to_caller = !calls;
	l->out = way_open(s, &d, out);
	seal_wipe(in, sizeof in);
	seal_wipe(out, sizeof out);
	return true;
}

static void way_close(struct keeper_way *w)
{
	if (w)
		seal_close(w->seal);
	free(w);
}

void keeper_seal_end(struct keeper_link *l)
{
	way_close(l->in);
	way_close(l->out);
	l->in = l->out = NULL;
}

static uint64_t next_number(struct keeper_way *w) { return w->number++; }

size_t keeper_seal_frame(struct keeper_link *l, const void *from, size_t n)
{
	struct keeper_way *w = l->out;

	seal_encode(w->seal, next_number(w), NULL, 0, w->frame, from, n);
	return n + SEAL_TAG;
}

bool keeper_open_frame(struct keeper_link *l, void *to, size_t n)
{
	struct keeper_way *w = l->in;

	l->spoiled |= !seal_decode(w->seal, next_number(w), NULL, 0, to, w->frame, n + SEAL_TAG);
	return !l->spoiled;
}
