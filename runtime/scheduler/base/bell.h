/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bell.h: the doorbell: one PE tells another into which channels it has put.
 *
 * A bell is a ring of words in memory that both have mapped, one for each pair of PEs, with one
 * writer and one reader. The writer rings with one plain store, which the processor completes while
 * the program continues. One stack or ring for all senders would need a locked instruction, which
 * waits until all earlier stores, including the put's body, have reached the cache: in bursts of
 * 100 and 1000 a put took 35 and 47 ns with one, and 19 and 21 without. Polling costs one load for
 * each PE that has ever bound a channel here, whatever the number of channels. A writer that is
 * killed leaves the ring intact.
 *
 *   struct bell:   | taken | slot 0 | slot 1 | ... | slot n - 1 |
 *
 *   a slot:        63    62                    0
 *                  +-----+----------------------+
 *                  | lap | the writer's word    |
 *                  +-----+----------------------+
 *
 * `lap` is 1 in the writer's first lap, 0 in its second, and so on. It tells the reader whether the
 * slot has been written in this lap, so the reader never writes slots. After each batch it stores
 * the number of words taken in `taken`, which the writer reads once per lap.
 */
#ifndef BELL_H
#define BELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BELL_SLOTS_LEAST = 64 };

#define BELL_LAP ((uint64_t)1 << 63)
/** The writer's last word: it continues in another ring. */
#define BELL_END (BELL_LAP - 1)

/** What both ends see; all zero at first. Only the reader writes `taken`, only the writer the
 * slots. */
struct bell {
	_Alignas(64) _Atomic uint64_t taken;
	_Alignas(64) _Atomic uint64_t slot[];
};

static inline size_t bell_bytes(uint32_t slots)
{
	return sizeof(struct bell) + slots * sizeof(uint64_t);
}

/** The writing end; one thread's only. */
struct bell_writer {
	_Atomic uint64_t *next;       /* slot */
	_Atomic uint64_t *stop;       /* before it writes here, bell_turn must check for free slots */
	uint64_t lap;                 /* BELL_LAP or 0 */
	uint64_t laps;                /* whole laps so far, in words */
	struct bell *bell;
	uint32_t n_slots;
};

/** The reading end; one thread's only. */
struct bell_reader {
	const _Atomic uint64_t *next; /* slot */
	const _Atomic uint64_t *end;
	uint64_t lap;
	uint64_t taken;
	struct bell *bell;
};

void bell_write_init(struct bell_writer *w, struct bell *bell, uint32_t n_slots);
void bell_read_init(struct bell_reader *r, struct bell *bell, uint32_t n_slots);

/** Advance `stop`. False: the reader has not yet taken the words there. */
bool bell_turn(struct bell_writer *w);

/** Words that the reader may not have taken yet. */
uint64_t bell_pending(const struct bell_writer *w);

/** Write `word`, whose bit 63 is 0. False: the ring is full. */
static inline bool bell_ring(struct bell_writer *w, uint64_t word)
{
	if (__builtin_expect(w->next == w->stop, 0) && !bell_turn(w))
		return false;
	/* release: pairs with the acquire in bell_next. The reader that takes the word sees everything
	 * written before it: the body of the put, and its last word. Model: channel.pml, bell_ring */
	atomic_store_explicit(w->next++, word | w->lap, memory_order_release);
	return true;
}

/** Whether there is a word to take. */
static inline bool bell_rings(const struct bell_reader *r)
{
	/* relaxed: almost every poll finds nothing; bell_next orders. */
	return !((atomic_load_explicit(r->next, memory_order_relaxed) ^ r->lap) & BELL_LAP);
}

/** Take one word, bit 63 cleared, if there is one. bell_taken must follow the last of a batch. */
static inline bool bell_next(struct bell_reader *r, uint64_t *word_p)
{
	/* acquire: pairs with the release in bell_ring. Model: channel.pml, direct_bells_take */
	uint64_t word = atomic_load_explicit(r->next, memory_order_acquire);

	if ((word ^ r->lap) & BELL_LAP)
		return false;
	*word_p = word & ~BELL_LAP;
	r->taken++;
	if (++r->next == r->end) {
		r->next = r->bell->slot;
		r->lap ^= BELL_LAP;
	}
	return true;
}

/** Give the slots of the words taken so far back to the writer. */
static inline void bell_taken(struct bell_reader *r)
{
	/* release: pairs with the acquire in bell_pending. The writer's next word in a slot comes after
	 * our load of the old one. */
	atomic_store_explicit(&r->bell->taken, r->taken, memory_order_release);
}

#endif
