/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.h: a ring of message slots between one writer and one reader, two processes or threads. A
 * slot has six cache lines, of which a message uses as many as it needs. The first line holds the
 * tag that tells the reader that the slot is full, so a small message crosses in one line:
 *
 *   0      8      12     16                     64                               384
 *   +------+------+------+----------------------+---------- - - - ---------------+
 *   | tag  | prio | past | body                                                  |
 *   +------+------+------+----------------------+---------- - - - ---------------+
 *
 *   tag:  lap (24 bits) | flags (8) | handler (16) | short (1) | size (15)
 *
 * A body of more than 48 bytes whose word at CMI_USUAL_AT is CMI_USUAL is short: the slot lacks
 * that word, and what follows it lies 8 bytes earlier. So a call with an array of 8 bytes crosses
 * in one line.
 *
 * The lap is the number of the writer's round, from 1; fresh memory has lap 0. Slots need not be
 * emptied, because their old contents have an older lap. The reader reports its position four times
 * a round, so that this line seldom moves.
 *
 * The tag is stored last, so the death of a writer leaves a slot either complete or invisible.
 */
#ifndef RING_H
#define RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../tools/cmi_copy.h"
#include "cmi_msg.h"

enum {
	RING_LINE = 64,
	RING_SLOTS = 64,           /* a power of two */
	RING_SLOT_BYTES = 384,
	RING_HEAD_BYTES = 16,
	RING_BODY_MOST = RING_SLOT_BYTES - RING_HEAD_BYTES,
	RING_FIRST_BODY = RING_LINE - RING_HEAD_BYTES, /* what the first line holds of a body */
	RING_SHORT = 1 << 15,
	/* Processors fetch a second line with the one that they need, and these two are a pair of such. */
	RING_ALIGN = 2 * RING_LINE,
	RING_REPORT = RING_SLOTS / 4,
	RING_LAP_SHIFT = 40,
	/* The longest that a store may take, behind some dozen lines that other cores have. A reader that
	 * is about to sleep looks on for so long (share_sleep_begin); a sleep and a wake-up take ten times
	 * as long. */
	RING_SETTLE_NS = 4000,
};

struct ring_slot {
	_Atomic uint64_t tag;
	int32_t prio;
	uint32_t n_past;           /* share.c's and inbox.c's: messages of the pair that were sent earlier
				    * in the other way */
	unsigned char body[RING_BODY_MOST];
};
_Static_assert(sizeof(struct ring_slot) == RING_SLOT_BYTES, "slots lie on cache lines");

/** In memory of both, zeroed, aligned to RING_ALIGN. */
struct ring {
	/* Written by the reader, seldom read by the writer. */
	_Atomic uint64_t n_read;   /* slots; those below may be written again */
	/* Written by the writer. */
	_Alignas(RING_ALIGN) struct ring_slot slot[RING_SLOTS];
};

/** The writer's own view. */
struct ring_writer {
	struct ring *ring;
	uint64_t n_written, limit; /* slots; those below `limit` are known to be free */
	uint32_t n_lines;          /* of the last message that was put */
};

/** The reader's own view. */
struct ring_reader {
	struct ring *ring;         /* NULL: none */
	const struct ring_slot *next;
	uint64_t lap;              /* which *next has when it is full */
	uint64_t n_read;
};

/* The lap of the n-th slot, shifted to its position in a tag. Its 24 bits wrap after 10^9 slots,
 * which is harmless: old contents are always exactly one lap old. */
static inline uint64_t ring_lap(uint64_t n)
{
	return (n / RING_SLOTS + 1) << RING_LAP_SHIFT;
}

static inline void ring_reader_init(struct ring_reader *r, struct ring *ring)
{
	*r = (struct ring_reader){ .ring = ring, .next = ring->slot, .lap = ring_lap(0) };
}

static inline void ring_writer_init(struct ring_writer *w, struct ring *ring)
{
	*w = (struct ring_writer){ .ring = ring, .limit = RING_SLOTS, .n_lines = 1 };
}

static inline uint64_t ring_tag(uint8_t flags, uint16_t handler, uint16_t size)
{
	return (uint64_t)flags << 32 | (uint64_t)handler << 16 | size;
}

/** Handler and flags, as in the low word of cmi_msg.route. */
static inline uint32_t ring_route(uint64_t tag) { return (uint32_t)(tag >> 16) & 0xffffff; }
static inline uint16_t ring_handler(uint64_t tag) { return (uint16_t)(tag >> 16); }
static inline uint16_t ring_size(uint64_t tag) { return (uint16_t)tag & (RING_SHORT - 1); }
static inline size_t ring_lacks(uint64_t tag) { return tag & RING_SHORT ? sizeof(uint64_t) : 0; }

/** Writer. The slot to be written next, or NULL when the ring is full. */
static inline struct ring_slot *ring_claim(struct ring_writer *w)
{
	if (__builtin_expect(w->n_written == w->limit, 0)) {
		/* Acquire: pairs with ring_release; the reader's last look at these slots came
		 * before we write them. Model: ring.pml, ring_claim */
		w->limit = atomic_load_explicit(&w->ring->n_read, memory_order_acquire) + RING_SLOTS;
		if (w->n_written == w->limit)
			return NULL;
	}
	return &w->ring->slot[w->n_written % RING_SLOTS];
}

/** Writer. Hand over the claimed slot. The store is a release, which makes the body visible to
 * ring_look. No fence follows: see share_sleep_begin. Model: ring.pml, ring_publish */
static inline void ring_publish(struct ring_writer *w, struct ring_slot *slot, uint64_t tag)
{
	atomic_store_explicit(&slot->tag, ring_lap(w->n_written++) | tag, memory_order_release);
}

/** Writer. Ask for the lines of the slot to be written next, as many as the last message had. */
static inline void ring_own_next(const struct ring_writer *w)
{
	cmi_own_lines(&w->ring->slot[w->n_written % RING_SLOTS], w->n_lines * RING_LINE);
}

/** Reader. The next slot and its tag, or NULL when there is none. */
static inline const struct ring_slot *ring_look(const struct ring_reader *r, uint64_t *tag_p)
{
	/* As an acquire it pairs with ring_publish. It is seq_cst for share_sleep_begin, where it comes
	 * after the store of `sleeping`; on x86 the instruction is the same. Model: ring.pml, take_ring */
	uint64_t tag = atomic_load_explicit(&r->next->tag, memory_order_seq_cst);

	*tag_p = tag;
	return (tag ^ r->lap) >> RING_LAP_SHIFT ? NULL : r->next;
}

/** Reader, when the next slot is empty. Fetch its other lines: a line that the writer changes must
 * then be fetched again at once, together with the tag's, and not one after the other when the tag
 * has been read. */
static inline void ring_fetch(const struct ring_reader *r)
{
	for (int at = RING_LINE; at < RING_SLOT_BYTES; at += RING_LINE)
		__builtin_prefetch((const char *)r->next + at);
}

/** Reader. The slot that ring_look returned has been used. */
static inline void ring_release(struct ring_reader *r)
{
	r->next++;
	/* Release: pairs with ring_claim. Model: ring.pml, ring_release */
	if (++r->n_read % RING_REPORT == 0)
		atomic_store_explicit(&r->ring->n_read, r->n_read, memory_order_release);
	if (r->n_read % RING_SLOTS == 0) {
		r->next = r->ring->slot;
		r->lap = ring_lap(r->n_read);
	}
}

/* ---- bodies ------------------------------------------------------------------------------- */

/** Copy a body, 16 bytes at a time; both buffers have space for the last 16. */
static inline void ring_copy(void *to, const void *from, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 16)
		memcpy((char *)to + i, (const char *)from + i, 16);
}

/* The same where both have space for the last 8, and the last 16 may lie on two lines. */
static inline void ring_copy_rest(void *to, const void *from, size_t bytes)
{
	size_t i = 0;

	for (; i + 8 < bytes; i += 16)
		memcpy((char *)to + i, (const char *)from + i, 16);
	if (i < bytes)
		memcpy((char *)to + i, (const char *)from + i, 8);
}

static inline bool ring_usual(const char *body)
{
	uint64_t word;

	memcpy(&word, body + CMI_USUAL_AT, sizeof word);
	return word == CMI_USUAL;
}

/* How much of a body lies behind the first line. */
static inline size_t ring_rest(size_t bytes, size_t lacks)
{
	const size_t first = RING_FIRST_BODY + lacks;

	return bytes > first ? bytes - first : 0;
}

/* A body of more than the first line. That line is written last: the reader polls it, and would
 * take it back before the tag is stored if the writer had to wait for the others in between. */
static inline void ring_put_long(struct ring_slot *slot, const char *body, size_t bytes,
				 size_t lacks)
{
	ring_copy_rest(slot->body + RING_FIRST_BODY, body + RING_FIRST_BODY + lacks,
		       ring_rest(bytes, lacks));
	memcpy(slot->body, body, CMI_USUAL_AT);
	memcpy(slot->body + CMI_USUAL_AT, body + CMI_USUAL_AT + lacks,
	       RING_FIRST_BODY - CMI_USUAL_AT);
}

static inline void ring_get_long(char *body, const struct ring_slot *slot, size_t bytes,
				 size_t lacks)
{
	const uint64_t usual = CMI_USUAL;

	memcpy(body, slot->body, CMI_USUAL_AT);
	memcpy(body + CMI_USUAL_AT, &usual, sizeof usual);
	memcpy(body + CMI_USUAL_AT + lacks, slot->body + CMI_USUAL_AT,
	       RING_FIRST_BODY - CMI_USUAL_AT);
	ring_copy_rest(body + RING_FIRST_BODY + lacks, slot->body + RING_FIRST_BODY,
		       ring_rest(bytes, lacks));
}

/* Copy a body into a slot; returns how many bytes the slot lacks. One call for each case, so that
 * the compiler knows the places: when they were computed, a round trip of 24 bytes took 0.87 us
 * instead of 0.73. */
static inline size_t ring_put_body(struct ring_slot *slot, const char *body, size_t bytes)
{
	if (bytes <= RING_FIRST_BODY) {
		ring_copy(slot->body, body, bytes);
		return 0;
	}
	if (ring_usual(body)) {
		ring_put_long(slot, body, bytes, sizeof(uint64_t));
		return sizeof(uint64_t);
	}
	ring_put_long(slot, body, bytes, 0);
	return 0;
}

/* ---- messages ----------------------------------------------------------------------------- */

/** Writer. Hand over a copy of a message that fits, in the claimed slot. */
static inline void ring_put(struct ring_writer *w, struct ring_slot *slot, uint32_t n_past,
			    const struct cmi_msg *m)
{
	const size_t bytes = m->size - sizeof *m,
		     lacks = ring_put_body(slot, (const char *)(m + 1), bytes);

	slot->prio = m->prio;
	slot->n_past = n_past;
	w->n_lines = (uint32_t)(RING_HEAD_BYTES + bytes - lacks + RING_LINE - 1) / RING_LINE;
	ring_publish(w, slot, ring_tag(m->flags, m->handler,
				       (uint16_t)(m->size | (lacks ? RING_SHORT : 0))));
}

/** Reader. Fill `m`, which has the size in the tag, with the message of a slot. The route is one
 * store, because the scheduler loads several of its fields together. */
static inline void ring_get(struct cmi_msg *m, const struct ring_slot *slot, uint64_t tag,
			    int src_pe)
{
	const size_t bytes = ring_size(tag) - sizeof *m;

	m->route = ring_route(tag) | (uint64_t)(uint32_t)src_pe << 32;
	m->prio = slot->prio;
	if (bytes > RING_FIRST_BODY)
		ring_get_long((char *)(m + 1), slot, bytes, ring_lacks(tag));
	else
		ring_copy(m + 1, slot->body, bytes);
}

#endif
