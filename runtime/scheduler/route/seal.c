/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seal.c: checks that a message from another process arrives unchanged.
 *
 * The check of its shape (handlers.c) finds invalid messages, not wrong ones: a reduction with a
 * wrong number is valid, and a PE would wait for it. So each message carries a seal, a hash in 4
 * bytes that are otherwise unused between processes; plain calls, of which every instruction
 * counts, and messages for a program's own handlers do not. The seal is written when the message
 * leaves and checked when it arrives. Of long messages it covers the first SEALED bytes after the
 * head, where the runtime's own fields are.
 *
 * In checked mode every message also ends in a hash of its contents:
 *
 *   | head | payload | hash (8 bytes) |      written by arrival_hash, taken off by seal_check_hash
 */
#include "msg_route.h"
#include "../../machine/tools/cmi_hash.h"

#include <stddef.h>
#include <string.h>

/* ---- the seal -------------------------------------------------------------------------------- */

enum { SEALED = 128 };

/* Combine two words: each bit of either changes about half of the result. One multiplication
 * processes 16 bytes. */
static inline uint64_t seal_mix(uint64_t a, uint64_t b)
{
	__extension__ typedef unsigned __int128 wide;
	const wide product = (wide)(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xd6e8feb86659fd93u);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t seal_word(const char *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof word);
	return word;
}

/* On the path of every reduction. There are two sums, because each step waits for a multiplication;
 * those of the other sum overlap with it. */
static uint64_t mix_bytes(uint64_t h, uint64_t g, const char *p, size_t n)
{
	for (; n >= 4 * sizeof h; n -= 4 * sizeof h, p += 4 * sizeof h) {
		h = seal_mix(h ^ seal_word(p), seal_word(p + 8));
		g = seal_mix(g ^ seal_word(p + 16), seal_word(p + 24));
	}
	for (; n >= sizeof h; n -= sizeof h, p += sizeof h)
		h = seal_mix(h ^ seal_word(p), n);
	for (; n; n--, p++)
		g = seal_mix(g ^ (uint8_t)*p, n);
	return seal_mix(h, g);
}

/* The fields of the head that are sent, and the payload; the seal itself counts as 0. */
static uint32_t seal_of(const struct cmi_msg *m)
{
	const size_t n = m->size - sizeof *m;
	const uint64_t h = seal_mix(m->size, (uint64_t)(uint32_t)m->src_pe << 32 | m->word);
	const uint64_t g = (uint64_t)m->handler << 8 | (m->flags & (uint8_t)~CMI_F_REMOTE);
	const uint64_t sum = mix_bytes(h, g, (const char *)(m + 1), n < SEALED ? n : SEALED);

	return (uint32_t)(sum ^ sum >> 32);
}

/* The position of a message's seal; NULL: it has none, or no space for one. */
static char *seal_at(const struct pe *pe, struct cmi_msg *m)
{
	const struct csd_shape *s = pe->node->handlers[m->handler].shape;
	const bool plain = m->handler == (uint16_t)pe->node->plain && !(m->flags & (uint8_t)~CMI_F_REMOTE);

	if (!s || plain || m->size < s->least)
		return NULL;
	return (char *)m + (s->seal_at ? s->seal_at : offsetof(struct cmi_msg, word));
}

/* As a whole word of 8 bytes, because seal_of reads those next: a load that spans a narrower store
 * waits until that has reached the cache. */
static void write_seal(char *at, uint32_t value)
{
	const size_t shift = (uintptr_t)at % sizeof(uint64_t) * 8;
	char *word = at - (uintptr_t)at % sizeof(uint64_t);
	const uint64_t was = seal_word(word) & ~((uint64_t)UINT32_MAX << shift),
		       is = was | (uint64_t)value << shift;

	memcpy(word, &is, sizeof is);
}

void arrival_seal(struct pe *pe, struct cmi_msg *m)
{
	char *at = seal_at(pe, m);

	if (!at)
		return;
	write_seal(at, 0);
	write_seal(at, seal_of(m));
}

/* A message that is too short for its shape is refused for that. */
void seal_check(struct pe *pe, struct cmi_msg *m)
{
	char *at = seal_at(pe, m);
	uint32_t said;

	if (!at)
		return;
	memcpy(&said, at, sizeof said);
	write_seal(at, 0);
	if (said != seal_of(m))
		csd_misfit(pe, m, "its seal is broken");
	write_seal(at, pe->node->handlers[m->handler].shape->open);
}

/* ---- checked mode: the hash ------------------------------------------------------------------ */

/* Of everything that is sent: the fields of a head in a ring's slot, and the payload. It begins
 * with a number known only to the job's nodes, so a stranger cannot forge it. */
static uint64_t seal_hash(const struct pe *pe, const struct cmi_msg *m)
{
	const uint64_t head[] = { m->size, m->handler, m->flags & (uint8_t)~CMI_F_REMOTE,
				  (uint32_t)m->src_pe, m->word };

	return cmi_hash(cmi_hash(pe->node->job->seal, head, sizeof head), m + 1, m->size - sizeof *m);
}

static struct cmi_msg *with_space(struct pe *pe, struct cmi_msg *m, size_t size)
{
	struct cmi_msg *copy;

	if (m->origin == CMI_ORIGIN_POOL && size <= msg_class_bytes(m->size_class)) {
		csd_unpoison(m, size);
		return m;
	}
	copy = csd_msg_alloc(pe, size);
	copy->size = m->size;
	copy->route = m->route;
	copy->prio = m->prio;
	memcpy(copy + 1, m + 1, m->size - sizeof *m);
	csd_msg_free(pe, m);
	return copy;
}

struct cmi_msg *arrival_hash(struct pe *pe, struct cmi_msg *m)
{
	uint64_t hash;

	_Static_assert(sizeof hash == SEAL_HASH_BYTES, "way.c passes over it");
	m->src_pe = pe->id; /* as the machine will set it */
	m = with_space(pe, m, m->size + sizeof hash);
	hash = seal_hash(pe, m);
	memcpy((char *)m + m->size, &hash, sizeof hash);
	m->size += sizeof hash;
	return m;
}

void seal_check_hash(struct pe *pe, struct cmi_msg *m)
{
	uint64_t hash;

	if (m->size < sizeof *m + sizeof hash)
		csd_misfit(pe, m, "it is too short for its hash");
	m->size -= sizeof hash;
	memcpy(&hash, (const char *)m + m->size, sizeof hash);
	if (hash != seal_hash(pe, m))
		csd_misfit(pe, m, "its hash is wrong");
}
