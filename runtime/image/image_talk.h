/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_talk.h: what the launcher of a job and PE 0 tell each other about checkpoints, in the page
 * that they share (image_memory.h).
 *
 *	launcher: asked := a number and a wish; a signal to node 0, whose number is `listens`
 *	PE 0:     heard := the same: it answers from now on, unless it dies
 *	PE 0:     why, status, then answered := the same
 *
 * One wish at a time. Before the nodes start again the launcher clears `listens`.
 */
#ifndef IMAGE_TALK_H
#define IMAGE_TALK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/** What is asked: a checkpoint, and then ... */
enum image_wish {
	IMAGE_WISH_EXIT = 1,     /* on disk; the job ends with IMAGE_EXIT_CODE */
	IMAGE_WISH_STAY,         /* in memory; all PEs stay frozen, until they are killed */
	IMAGE_WISHES,
	IMAGE_WISH_BITS = 3,     /* `asked` is number << IMAGE_WISH_BITS | wish */
	IMAGE_EXIT_CODE = 75,    /* "try again", of sysexits.h */
};

enum { IMAGE_ANSWER = 200 };

/** A checkpoint that is complete: on disk if it was to go there. */
struct image_saved {
	uint64_t sequence, bytes, took_ns;
	uint64_t at_ns;          /* CLOCK_MONOTONIC */
};

struct image_talk {
	_Atomic uint32_t listens;
	_Atomic uint32_t leaves; /* PE 0: the job ends now because it was asked to. No death counts */
	_Atomic uint64_t asked, heard, answered; /* 0: nothing */
	int32_t status;          /* enum CkCheckpointStatus */
	char why[IMAGE_ANSWER];  /* why not; "": not known here */
	_Atomic uint64_t epoch;  /* PE 0: how often the job has been started from a checkpoint */
	_Atomic uint64_t saves;  /* PE 0: even: `saved` is valid; 0: none */
	struct image_saved saved;
};

/** The launcher: take a wish back. False: PE 0 has fulfilled it meanwhile. */
static inline bool image_talk_take_back(struct image_talk *t, uint64_t asked)
{
	return atomic_compare_exchange_strong(&t->asked, &asked, 0);
}

/** PE 0: whether the wish still holds; then it can no longer be taken back. */
static inline bool image_talk_keeps(struct image_talk *t, uint64_t asked)
{
	return atomic_compare_exchange_strong(&t->asked, &asked, 0);
}

/** PE 0: a checkpoint is complete. Readers see a change of `saves`, or that it is odd (release
 * pairs with their acquire), and read again. */
static inline void image_talk_saved(struct image_talk *t, const struct image_saved *s)
{
	const uint64_t n = atomic_load_explicit(&t->saves, memory_order_relaxed);

	atomic_store_explicit(&t->saves, n + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	t->saved = *s;
	atomic_store_explicit(&t->saves, n + 2, memory_order_release);
}

/** The last one that is complete. False: there is none, or it is being written. */
static inline bool image_talk_last(const struct image_talk *t, struct image_saved *s)
{
	const uint64_t n = atomic_load_explicit(&t->saves, memory_order_acquire);

	*s = t->saved;
	atomic_thread_fence(memory_order_acquire);
	return n && n % 2 == 0 && n == atomic_load_explicit(&t->saves, memory_order_relaxed);
}

#endif
