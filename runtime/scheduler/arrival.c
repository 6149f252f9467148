/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrival.c: whether a message that came from another process is one that its handler can take. A byte that the
 * network or another process has damaged, or a process that means harm, must not make this one read or write
 * where it should not, or wait for something that does not exist: the job ends with one line.
 *
 * There are two looks. What the queues read of a message (its flags, a wide priority) is checked when it comes,
 * because it is queued then. The rest is checked when its handler is due: its shape (struct csd_shape), which the
 * handler stated when it was registered. A message of this process is not looked at.
 *
 * That finds what cannot be, not what is merely wrong: a reduction with another number is a reduction, for which
 * a PE would wait. So each message carries a seal, a hash in 4 bytes that mean nothing on the way, except plain
 * calls, of which every instruction counts, and messages for a program's own handlers. The seal is written when the
 * message leaves and checked when it comes. Of long messages it covers the first SEALED bytes behind the head, which
 * is where the runtime's own words stand.
 *
 * In checked mode every message also ends in a hash of all that it says:
 *
 *   | head | payload | hash (8 bytes) |      written by arrival_hash, taken off by client_arrived_hashed
 */
#include "csd_int.h"
#include "../machine/tools/cmi_hash.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* ---- shapes ---------------------------------------------------------------------------------- */

_Noreturn void csd_misfit(struct pe *pe, const struct cmi_msg *m, const char *why)
{
	const struct node *node = pe->node;

	csd_abort(pe, "a message from PE %d for %s does not fit: %s; it was damaged on its way, or the nodes "
		  "run different programs", m->src_pe, m->handler < node->n_handlers ?
		  node->handlers[m->handler].name : "a handler that does not exist", why);
}

_Noreturn static void wrong_size(struct pe *pe, const struct cmi_msg *m, const struct csd_shape *s)
{
	char why[96];

	snprintf(why, sizeof why, "it has %llu bytes; it must have %s%u", (unsigned long long)m->size,
		 s->exact ? "" : "at least ", s->least);
	csd_misfit(pe, m, why);
}

/* `flags`: the message's, but CMI_F_REMOTE. */
static bool flags_fit(const struct csd_shape *s, uint8_t flags)
{
	return !(flags & ~(s->always | s->may)) && (flags & s->always) == s->always;
}

void csd_check(struct pe *pe, const struct cmi_msg *m)
{
	const struct csd_shape *s = pe->node->handlers[m->handler].shape;
	const char *why;

	if (!s)
		return; /* a program's own handler */
	if (!s->least)
		csd_misfit(pe, m, "such messages do not leave their process");
	if (m->size < s->least || (s->exact && m->size != s->least))
		wrong_size(pe, m, s);
	if (!flags_fit(s, m->flags & (uint8_t)~CMI_F_REMOTE))
		csd_misfit(pe, m, "its flags are not those of such messages");
	why = s->misfit ? s->misfit(pe, m) : NULL;
	if (why)
		csd_misfit(pe, m, why);
}

void arrival_handle(struct pe *pe, struct cmi_msg *m)
{
	csd_check(pe, m);
	pe->node->handlers[m->handler].fn(pe, m);
}

/* ---- the seal ---------------------------------------------------------------------------------- */

enum { SEALED = 128 };

/* Two words as one: each bit of either changes about half of the result. One multiplication takes in 16 bytes. */
static inline uint64_t mix(uint64_t a, uint64_t b)
{
	__extension__ typedef unsigned __int128 wide;
	const wide product = (wide)(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xd6e8feb86659fd93u);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t word_at(const char *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof word);
	return word;
}

/* This is on the way of every reduction. There are two sums, because each step waits for a multiplication; those of the
 * other sum need not. */
static uint64_t mix_bytes(uint64_t h, uint64_t g, const char *p, size_t n)
{
	for (; n >= 4 * sizeof h; n -= 4 * sizeof h, p += 4 * sizeof h) {
		h = mix(h ^ word_at(p), word_at(p + 8));
		g = mix(g ^ word_at(p + 16), word_at(p + 24));
	}
	for (; n >= sizeof h; n -= sizeof h, p += sizeof h)
		h = mix(h ^ word_at(p), n);
	for (; n; n--, p++)
		g = mix(g ^ (uint8_t)*p, n);
	return mix(h, g);
}

/* What travels of a head, and the rest; the seal itself counts as 0. */
static uint32_t seal_of(const struct cmi_msg *m)
{
	const size_t n = m->size - sizeof *m;
	const uint64_t h = mix(m->size, (uint64_t)(uint32_t)m->src_pe << 32 | m->word);
	const uint64_t g = (uint64_t)m->handler << 8 | (m->flags & (uint8_t)~CMI_F_REMOTE);
	const uint64_t sum = mix_bytes(h, g, (const char *)(m + 1), n < SEALED ? n : SEALED);

	return (uint32_t)(sum ^ sum >> 32);
}

/* Where the seal of a message stands; NULL: it has none, or no room for one. */
static char *seal_at(const struct pe *pe, struct cmi_msg *m)
{
	const struct csd_shape *s = pe->node->handlers[m->handler].shape;
	const bool plain = m->handler == (uint16_t)pe->node->plain && !(m->flags & (uint8_t)~CMI_F_REMOTE);

	if (!s || plain || m->size < s->least)
		return NULL;
	return (char *)m + (s->seal_at ? s->seal_at : offsetof(struct cmi_msg, word));
}

/* As a whole word of 8 bytes, because seal_of reads those next: a load that takes in a narrower store waits for it to reach
 * the cache. */
static void write_seal(char *at, uint32_t value)
{
	const size_t shift = (uintptr_t)at % sizeof(uint64_t) * 8;
	char *word = at - (uintptr_t)at % sizeof(uint64_t);
	const uint64_t was = word_at(word) & ~((uint64_t)UINT32_MAX << shift), is = was | (uint64_t)value << shift;

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

/* A message that is too short for its shape will be refused for that. */
static void check_seal(struct pe *pe, struct cmi_msg *m)
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

/* ---- what queues read -------------------------------------------------------------------------- */

bool csd_wide_fits(const struct cmi_msg *m)
{
	const size_t room = m->size - sizeof *m;
	const struct msg_prio *p = msg_prio_of(m);

	return (m->flags & CMI_F_PRIO) && room >= sizeof *p && (uintptr_t)p % _Alignof(struct msg_prio) == 0 &&
	       p->bytes <= room && p->bytes >= sizeof *p && p->n_bits / 8 <= p->bytes - sizeof *p;
}

static __attribute__((noinline)) void marked_arrived(struct pe *pe, struct cmi_msg *m)
{
	if (m->handler >= pe->node->n_handlers)
		abort_no_handler(pe, m);
	check_seal(pe, m);
	m->flags |= CMI_F_REMOTE;
	if ((m->flags & CMI_F_WIDE) && !csd_wide_fits(m))
		csd_misfit(pe, m, "it has a priority that does not lie within it");
	if (m->flags & CMI_F_NODE) {
		csd_check(pe, m);
		node_queue_arrived(pe, m);
	} else {
		msgq_push(&pe->queue, m);
	}
}

void client_arrived(void *owner, struct cmi_msg *m)
{
	struct pe *pe = owner;

	if (CSD_LIKELY((uint32_t)m->route == pe->node->plain)) {
		m->flags = CMI_F_REMOTE;
		msgq_push(&pe->queue, m);
	} else {
		marked_arrived(pe, m);
	}
}

/* ---- checked mode: the hash -------------------------------------------------------------------- */

/* Of all that travels: what a ring's slot carries of a head, and the rest as it lies. It begins with a number that only
 * the job's nodes know, so a stranger cannot make one. */
static uint64_t hash_of(const struct pe *pe, const struct cmi_msg *m)
{
	const uint64_t head[] = { m->size, m->handler, m->flags & (uint8_t)~CMI_F_REMOTE, (uint32_t)m->src_pe,
				  m->word };

	return cmi_hash(cmi_hash(pe->node->job->seal, head, sizeof head), m + 1, m->size - sizeof *m);
}

static struct cmi_msg *with_room(struct pe *pe, struct cmi_msg *m, size_t size)
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

	m->src_pe = pe->id; /* as the machine will set it */
	m = with_room(pe, m, m->size + sizeof hash);
	hash = hash_of(pe, m);
	memcpy((char *)m + m->size, &hash, sizeof hash);
	m->size += sizeof hash;
	return m;
}

void client_arrived_hashed(void *owner, struct cmi_msg *m)
{
	struct pe *pe = owner;
	uint64_t hash;

	if (m->size < sizeof *m + sizeof hash)
		csd_misfit(pe, m, "it is too short for its hash");
	m->size -= sizeof hash;
	memcpy(&hash, (const char *)m + m->size, sizeof hash);
	if (hash != hash_of(pe, m))
		csd_misfit(pe, m, "its hash is wrong");
	client_arrived(pe, m);
}
