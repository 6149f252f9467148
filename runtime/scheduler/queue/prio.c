/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prio.c: priorities wider than the 32 bits in a message's head: numbers of 64 bits and bit
 * vectors. They follow the payload, so messages without one pay nothing:
 *
 *   | head | payload | padding | words of the vector | struct msg_prio |
 *                    '--------------- bytes, part of size ------------'
 *
 * All priorities are compared as vectors, from the first bit on; if one is a prefix of the other,
 * the shorter one is first. A number is the vector of its 64 bits with the first one inverted,
 * which keeps numbers in order. The `key` is the first 64 bits of any priority, with the first bit
 * inverted once more, so the heap compares one signed word and looks at a vector only where keys
 * are equal.
 */
#include "msgq.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

enum { WORD_BITS = 32, KEY_BITS = 64 };

static size_t words_of(uint32_t n_bits)
{
	return n_bits / WORD_BITS + (n_bits % WORD_BITS != 0);
}

static const uint32_t *words_before(const struct msg_prio *p)
{
	return (const uint32_t *)(const void *)p - words_of(p->n_bits);
}

/* The words of a vector, padded with zeros. */
static uint32_t vector_word(const uint32_t *words, uint32_t n_bits, size_t i)
{
	uint32_t left;

	if (i >= words_of(n_bits))
		return 0;
	left = n_bits - (uint32_t)i * WORD_BITS;
	return left >= WORD_BITS ? words[i] : words[i] & ~(UINT32_MAX >> left);
}

static int64_t vector_key(const uint32_t *words, uint32_t n_bits)
{
	uint64_t first = (uint64_t)vector_word(words, n_bits, 0) << 32 | vector_word(words, n_bits, 1);

	return (int64_t)(first ^ (uint64_t)1 << 63);
}

/* Compare two priorities with the same key. */
int msg_prio_compare(const struct msg_prio *a, const struct msg_prio *b)
{
	uint32_t n_a = a && a->n_bits ? a->n_bits : KEY_BITS;
	uint32_t n_b = b && b->n_bits ? b->n_bits : KEY_BITS;
	uint32_t n_both = n_a < n_b ? n_a : n_b;

	/* Only the bits that both have; then the length decides. */
	for (size_t i = KEY_BITS / WORD_BITS; i < words_of(n_both); i++) {
		uint32_t x = vector_word(words_before(a), n_both, i);
		uint32_t y = vector_word(words_before(b), n_both, i);

		if (x != y)
			return x < y ? -1 : 1;
	}
	return n_a == n_b ? 0 : n_a < n_b ? -1 : 1;
}

static size_t trailer_bytes(size_t size, uint32_t n_bits)
{
	size_t end = size + words_of(n_bits) * sizeof(uint32_t) + sizeof(struct msg_prio);

	return (end + CMI_MSG_ALIGN - 1) / CMI_MSG_ALIGN * CMI_MSG_ALIGN - size;
}

size_t csd_prio_bytes(uint32_t n_bits)
{
	return trailer_bytes(0, n_bits) + CMI_MSG_ALIGN;
}

bool csd_prio_fits(const struct cmi_msg *m, uint32_t n_bits)
{
	return m->origin == CMI_ORIGIN_POOL &&
	       m->size + trailer_bytes(m->size, n_bits) <= msg_class_bytes(m->size_class);
}

/* Move m into a block of `size` bytes. */
static struct cmi_msg *copy_with_room(struct pe *pe, struct cmi_msg *m, size_t size)
{
	struct cmi_msg *copy = csd_msg_alloc(pe, size);

	copy->route = m->route;
	copy->prio = m->prio;
	memcpy(copy + 1, m + 1, m->size - sizeof *m);
	csd_msg_free(pe, m);
	return copy;
}

static struct cmi_msg *append_prio(struct pe *pe, struct cmi_msg *m, int64_t key,
			      const uint32_t *words, uint32_t n_bits)
{
	size_t bytes = trailer_bytes(m->size, n_bits), size = m->size + bytes;
	struct msg_prio *p;

	if (!csd_prio_fits(m, n_bits))
		m = copy_with_room(pe, m, size);
	csd_unpoison(m, size);
	m->size = size;
	p = (struct msg_prio *)(void *)((char *)m + size) - 1;
	*p = (struct msg_prio){ key, n_bits, (uint32_t)bytes };
	if (n_bits)
		memcpy((uint32_t *)(void *)p - words_of(n_bits), words,
		       words_of(n_bits) * sizeof *words);
	m->flags |= CMI_F_PRIO | CMI_F_WIDE;
	return m;
}

struct cmi_msg *csd_set_prio(struct pe *pe, struct cmi_msg *m, int64_t number)
{
	csd_clear_prio(m);
	if (number != (int32_t)number)
		return append_prio(pe, m, number, NULL, 0);
	m->prio = (int32_t)number;
	if (number)
		m->flags |= CMI_F_PRIO;
	return m;
}

struct cmi_msg *csd_set_prio_bits(struct pe *pe, struct cmi_msg *m, const unsigned *words,
				  uint32_t n_bits)
{
	csd_clear_prio(m);
	return n_bits ? append_prio(pe, m, vector_key(words, n_bits), words, n_bits) : m;
}

void csd_clear_prio(struct cmi_msg *m)
{
	if (m->flags & CMI_F_WIDE)
		m->size -= msg_prio_of(m)->bytes;
	m->flags &= (uint8_t)~(CMI_F_PRIO | CMI_F_WIDE);
}

struct msg_prio *csd_save_prio(const struct cmi_msg *m)
{
	const struct msg_prio *p = msg_prio_of(m);
	size_t before = words_of(p->n_bits) * sizeof(uint32_t);
	struct msg_prio *copy = cmi_alloc(sizeof *p + before, "a priority");

	*copy = *p;
	if (before)
		memcpy(copy + 1, words_before(p), before);
	return copy;
}

struct cmi_msg *csd_restore_prio(struct pe *pe, struct cmi_msg *m, struct msg_prio *saved)
{
	m = append_prio(pe, m, saved->key, (const uint32_t *)(const void *)(saved + 1), saved->n_bits);
	free(saved);
	return m;
}
