/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.h: the receiving end of a channel: its states, its record, and its transitions.
 *
 * Only the PE that created a channel uses its record. A channel is in exactly one state (enum
 * channel_state).
 *
 * In pattern mode the word that signals an arrival is the end of the user's buffer, which contains
 * the last put's word when its function has run. The receiver makes it idle when it marks a channel
 * that is polled, and when it begins to ask for bells (`tell`; creation does). It need not do so
 * again while bells signal the puts: then the sender is not the network. So for a MARKED or ARMED
 * channel whose puts have not been signalled yet, a word that is not idle means a put. This holds
 * whenever the news arrives that the network is the sender (direct_make_rma). An end that is made
 * with a previous sender's data in the buffer does not ask for bells before its next mark.
 */
#ifndef DIRECT_CHANNEL_H
#define DIRECT_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../core/direct_device.h"
#include "../core/direct_handle.h"
#include "../core/direct_line.h"
#include "../core/direct_rules.h"
#include "../core/direct_state.h"
#include "../core/pollset.h"

/* ---- the record -------------------------------------------------------------------- */

/** Who may use the buffer, from the receiver's point of view. An ARMED channel is polled, or its
 * sender rings; docs/CHANNELS.md draws the transitions. */
enum channel_state {
	CHANNEL_FREE,     /* the number names no channel */
	CHANNEL_CONSUMED, /* the function has run: the user's */
	CHANNEL_MARKED,   /* readyMark: the sender's, not polled */
	CHANNEL_ARMED,    /* readyPollQ: the sender's, an arrival runs the function */
	CHANNEL_FIRED,    /* arrived, and in direct_pe.rung: the function runs in this pass or the next */
	CHANNEL_FOUND,    /* arrived, found by a scan: the function runs in this pass */
};

struct csd_receiving;

/** The fields for a put within a PE, a scan and a ready. */
struct direct_channel_hot {
	struct poll_item poll;        /* first: the poll set returns items */
	uint32_t generation;
	uint8_t state, mode;
	bool own : 1;                 /* this thread stores the word: a put of this PE, or by message */
	bool rma : 1;                 /* the network stores it, and cannot ring: always polled */
	bool tell : 1;                /* as in direct_shared: the word is not polled */
	bool landed : 1;              /* signalled while MARKED: the put has arrived */
	bool rung : 1;                /* in direct_pe.rung, but not FIRED any more: not to be reused yet */
	bool running : 1;             /* fn is on the stack: the same */
	bool named : 1;               /* made by direct_channel_receive: it can move */
	bool retired : 1;             /* the program has destroyed it, and a sender may not know that */
	bool easy : 1;                /* own, and nothing is checked or counted: ready is one store */
	bool streamed : 1;            /* a stream is to write the credit of the next mark */
	bool inner : 1;               /* is the layer for devices' own, not the program's */
};
_Static_assert(sizeof(struct direct_channel_hot) == 32, "two on a cache line");

/** The fields for an arrival: it is prefetched there. */
struct direct_channel {
	_Alignas(64) CkDirectFn fn;
	void *data;                   /* the user's, or the copy in the block */
	uint64_t iteration;           /* puts whose function has been called */
	unsigned char *buf;           /* the user's */
	size_t bytes;
	struct direct_line *line;
	union {
		struct direct_channel *next;  /* in the list of free records */
		uint64_t marked_at;           /* in ticks, if arrivals are counted */
	};
	uint32_t number;
	uint32_t fetched;             /* lines of the put under way, by cmi_fetch_told */
};
_Static_assert(sizeof(struct direct_channel) == 64, "one cache line");

/** Channels of consecutive numbers. Aligned to the size of `hot`, so that the address of a hot half
 * gives its block and its index there. */
struct direct_channel_block {
	_Alignas(DIRECT_BLOCK * sizeof(struct direct_channel_hot))
		struct direct_channel_hot hot[DIRECT_BLOCK];
	struct direct_channel rest[DIRECT_BLOCK];
	_Alignas(16) unsigned char copy[DIRECT_BLOCK][DIRECT_DATA_MAX]; /* functions' data */
	struct direct_shared *shared; /* cmi_mem_alloc */
	struct cmi_key line_key;
};

static inline struct direct_channel_block *direct_block(const struct direct_channel_hot *hot)
{
	uintptr_t size = DIRECT_BLOCK * sizeof(*hot);

	return (struct direct_channel_block *)((uintptr_t)hot / size * size);
}

static inline struct direct_channel *direct_rest(const struct direct_channel_hot *hot)
{
	struct direct_channel_block *b = direct_block(hot);

	return &b->rest[hot - b->hot];
}

/** readyMarks so far; creation is the first. */
static inline uint64_t direct_marks(const struct direct_channel_hot *hot)
{
	return direct_rest(hot)->iteration + (hot->state != CHANNEL_CONSUMED);
}

/** The word that signals arrival: in the line in sequence mode, else at the end of the buffer. A
 * scan only reads it, so the poll item's own pointer is const. */
static inline _Atomic uint64_t *direct_arrival_word(const struct direct_channel_hot *hot)
{
	return (_Atomic uint64_t *)(uintptr_t)hot->poll.word;
}

struct direct_id direct_id_of_channel(const struct pe *pe, const struct direct_channel_hot *hot);

/** Who can name it; NULL: nobody. */
const void *direct_owner(const struct pe *pe, const struct direct_channel_hot *hot);

/* ---- finding it -------------------------------------------------------------------- */

static inline struct direct_channel_hot *direct_channel_at(const struct direct_pe *d,
							   uint32_t number)
{
	return &d->channel_blocks[number / DIRECT_BLOCK]->hot[number % DIRECT_BLOCK];
}

/** The live channel with this number and generation on `pe`, or NULL. */
static inline struct direct_channel_hot *direct_channel_find(const struct pe *pe, uint32_t number,
							     uint32_t generation)
{
	struct direct_channel_hot *hot;

	if (CSD_UNLIKELY(number >= direct_of(pe)->n_channels))
		return NULL;
	hot = direct_channel_at(direct_of(pe), number);
	/* Destroying a channel changes the record's generation to one that no handle has. */
	return CSD_LIKELY(hot->generation == generation) ? hot : NULL;
}

/** The receiving end that `h` names, or NULL if it is none of this PE. */
static inline struct direct_channel_hot *direct_find_receiver(const struct pe *pe,
							      const struct direct_handle *h)
{
	if (CSD_UNLIKELY(h->magic != DIRECT_MAGIC || h->receiver != pe->id))
		return NULL;
	return direct_channel_find(pe, h->channel, h->generation);
}

/** The same, of a handle that must name one. */
static inline struct direct_channel_hot *direct_receiver(struct pe *pe, const char *call,
							 const struct direct_handle *h)
{
	struct direct_channel_hot *hot = direct_find_receiver(pe, h);

	if (CSD_UNLIKELY(!hot))
		direct_not_a_receiver(pe, call, h);
	return hot;
}

/* ---- events ---------------------------------------------------------------------------- */

/** A put has arrived: the function runs in this pass or the next. */
static inline void direct_ring(struct direct_pe *d, struct direct_channel_hot *hot)
{
	hot->state = CHANNEL_FIRED;
	d->rung.item[d->rung.tail++ & d->rung.mask] = hot;
}

/** A put in `hot` was signalled. False: the channel waits for none. */
static inline bool direct_landed(struct direct_pe *d, struct direct_channel_hot *hot)
{
	if (CSD_LIKELY(hot->state == CHANNEL_ARMED)) {
		direct_ring(d, hot);
		return true;
	}
	if (hot->state != CHANNEL_MARKED || hot->landed)
		return false;
	hot->landed = true;
	return true;
}

/** End the job: put `id` has arrived in `hot`, which waits for none; NULL: its channel is
 * destroyed. */
_Noreturn void direct_unexpected(struct pe *pe, struct direct_id id,
				 const struct direct_channel_hot *hot) __attribute__((cold));

/** The sender of `hot` is this PE, or puts by message: this PE notices arrivals itself. */
void direct_make_own(struct pe *pe, struct direct_channel_hot *hot);

/** The network puts into `hot`, or a device: it cannot ring. */
void direct_make_rma(struct pe *pe, struct direct_channel_hot *hot);

/** Make a receiving end into a device's memory; `device` says where the buffer lies, and `name`
 * what other processes must know. It is polled from now on. */
struct direct_channel_hot *direct_channel_on_device(struct pe *pe, const char *call, void *buf,
						    size_t bytes, CkDirectFn fn, void *data,
						    uint8_t device,
						    const struct direct_device_name *name,
						    CkDirectHandle *h_p);

/** Give it a name (ends.h), and the state and the put that it had where it was before. */
void direct_channel_on_device_again(struct pe *pe, struct direct_channel_hot *hot,
				    const struct csd_receiving *r);

/** A word that a device counts up: a receiving end without a sender or a buffer, for the layer for
 * devices. fn runs once for each step. direct_word_await arms it, if it is not armed; who starts a
 * step adds 1 to pe->n_created, as a put does. */
struct direct_channel_hot *direct_word_open(struct pe *pe, CkDirectFn fn, void *data);
void direct_word_await(struct pe *pe, struct direct_channel_hot *hot);
/** Its value after step n. */
static inline uint64_t direct_word_value(const struct direct_channel_hot *hot, uint64_t n)
{
	return direct_seq(hot->generation, n);
}

/** For the function of an end that counts: take one put, or one step of a word; `ahead` more may
 * have come, because a stream was told to consume them. */
void direct_take_one(struct pe *pe, struct direct_channel_hot *hot, uint64_t ahead);

/** Whether a put has arrived whose function has not run. */
bool direct_unseen_put(const struct direct_channel_hot *hot);

/** End the receiving end. All bells must have been heard: their words about it would be mistaken
 * for a put into a destroyed channel. */
void direct_channel_destroy(struct pe *pe, const struct direct_handle *h);
/** The same for an end that is known; it may be one of a set. */
void direct_channel_end(struct pe *pe, struct direct_channel_hot *hot);

/** CkDirect_ready, CkDirect_readyMark and CkDirect_readyPollQ of this end; `call` is for errors. */
void direct_channel_ready(struct pe *pe, const char *call, struct direct_channel_hot *hot);
void direct_channel_mark(struct pe *pe, const char *call, struct direct_channel_hot *hot);
void direct_channel_poll(struct pe *pe, const char *call, struct direct_channel_hot *hot);

/** End the job if a channel of this PE has its receive buffer in [p, p + bytes). */
void direct_check_free(struct pe *pe, const void *p, size_t bytes);

/** Make a receiving end that another layer gives a name (ends.h). */
void direct_channel_receive(struct pe *pe, struct direct_handle *h, const struct csd_receiving *r);
/** Its state and whether a put has landed; all bells must have been heard. Returns the number of
 * puts whose function was called. */
uint64_t direct_channel_look(const struct direct_channel_hot *hot, struct csd_receiving *now);
/** As direct_channel_destroy, but a put that has landed still counts as under way. */
void direct_channel_take(struct pe *pe, const struct direct_handle *h);
/** Stop polling; no more puts may come; the record is kept for direct_channel_take. */
void direct_channel_retire(struct pe *pe, const struct direct_handle *h);

/** The record may be used for another channel, unless something still points to it: then the last
 * owner of such a pointer calls this again. */
void direct_channel_reuse(struct direct_pe *d, const struct direct_channel_hot *hot);

/** The node has stopped: free the records. */
void direct_channels_free(struct node *node, struct direct_pe *d);

#endif
