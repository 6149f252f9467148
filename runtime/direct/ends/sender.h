/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sender.h: the sending end of a channel: its record, and the local completion of its puts. put.h
 * has the puts.
 *
 * Only the PE that bound the channel touches its record. binding.c fills it in.
 */
#ifndef DIRECT_SENDER_H
#define DIRECT_SENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../core/direct_control.h"
#include "../core/direct_handle.h"
#include "../core/direct_line.h"
#include "../core/direct_rules.h"
#include "../core/direct_state.h"

/* ---- the record -------------------------------------------------------------------- */

/** Why a put is not just a copy and a store. */
enum direct_not_plain {
	DIRECT_BUSY = 1,  /* the last put is not yet locally complete */
	DIRECT_FAR = 2,   /* not the memory path */
	DIRECT_CHECK = 4, /* checked mode */
	DIRECT_TRACE = 8, /* CK_TRACE: puts are recorded */
	DIRECT_COUNT = 16, /* CK_STATS: puts are counted */
	DIRECT_STOPPED = 32, /* a named end that is not joined: puts wait */
	DIRECT_HERE = 64, /* the receiving end is on this PE: less than a copy and a store */
	DIRECT_HERE_SEQ = 128, /* the same, in sequence mode */
	DIRECT_HERE_STRIDED = 256, /* the same, and the data is strided */
};

/** The fields for every put, besides the handle. */
struct direct_sender_hot {
	uint64_t iteration;           /* puts so far */
	uint32_t generation;
	uint32_t not_plain;           /* enum direct_not_plain, or-ed */
	const _Atomic uint8_t *tell;  /* in direct_shared, as mapped here: memory path */
	union {
		struct direct_bell *bell;       /* the same, to another PE */
		struct direct_channel_hot *end; /* DIRECT_HERE */
	};
};
_Static_assert(sizeof(struct direct_sender_hot) == 32, "two on a cache line");

/** The way of a put in checked mode on the other paths: it asks first, because the receiver's state
 * is not visible here. Then that of a put of an end that is stopped, and of one from or to a
 * device's memory. */
enum { DIRECT_ASKING = DIRECT_PATHS, DIRECT_HOLDING, DIRECT_BY_DEVICE };

struct direct_sender {
	uint32_t number;
	uint8_t path, mode;
	uint8_t way;                  /* the path, or DIRECT_ASKING, DIRECT_HOLDING, DIRECT_BY_DEVICE */
	bool named : 1;               /* made by direct_sender_open or direct_join: it can move */
	bool in_device : 1;           /* then: its own buffer is in a device's memory */
	bool inner : 1;               /* is the layer for devices' own: a piece of another channel */
	const void *owner;            /* then: who can name it */
	const unsigned char *src;     /* the user's, or staging */
	void *held;                   /* ours: the data of a put that waits, or of one that has waited and
				       * is under way */
	const unsigned char *own_src; /* meanwhile: the value of src */
	void *staging;                /* strided, not on the memory path: ours, else NULL */
	size_t body;                  /* bytes that are copied: all, or all but the last word */
	unsigned char *dst;           /* receive buffer as mapped here: memory path */
	_Atomic uint64_t *word;       /* arrival word as mapped here: memory path */
	struct direct_line *line;     /* as mapped here, NULL: it is not; memory path: it is */

	/* The channel at the other end. */
	int32_t receiver;
	uint32_t channel, channel_generation;
	uint64_t recv_addr, word_addr;
	size_t bytes;
	uint64_t oob;                 /* pattern mode: the reserved value */
	uint64_t seal;                /* checked mode: of the handle, since it was bound */
	uint64_t sum;                 /* checked mode: of the data under way */

	/* One put in flight, on the other paths. */
	struct pe *pe;
	struct cmi_remote *recv_mem, *line_mem;
	struct cmi_put_head head;
	struct cmi_op op;
	void *device;                 /* DIRECT_BY_DEVICE: the upper layer's part */

	/* What to call at local completion; fn is NULL after a plain put. */
	CkDirectFn fn;
	struct direct_sender *next;   /* in the list of completions, or of free records */
	_Alignas(16) unsigned char copy[DIRECT_DATA_MAX];
};

static inline struct direct_sender *direct_sender_at(const struct direct_pe *d, uint32_t number)
{
	return &d->sender_blocks[number / DIRECT_BLOCK][number % DIRECT_BLOCK];
}

/** Whether there is a record of the number in `h`, which need not be in use. */
static inline bool direct_has_sender(const struct pe *pe, const struct direct_handle *h)
{
	return h->sender < direct_of(pe)->n_sender_blocks * DIRECT_BLOCK;
}

static inline struct direct_sender_hot *direct_hot(const struct direct_sender *s)
{
	return &direct_of(s->pe)->senders[s->number];
}

struct direct_id direct_id_of_sender(const struct direct_sender *s);
/** csd_layer.bytes_sent: of all puts by memory or RMA. Those by message are the messages'. */
void direct_bytes_sent(const struct pe *pe, uint64_t *near, uint64_t *far);

/** A record for a new sending end; no put has gone through it. */
struct direct_sender *direct_sender_new(struct pe *pe);

static inline bool direct_is_busy(const struct direct_sender *s)
{
	return direct_hot(s)->not_plain & DIRECT_BUSY;
}

/** A put waits until the ends are joined. While the end is busy, the put that has waited is under
 * way, and only its data is still needed. */
static inline bool direct_put_waits(const struct direct_sender *s)
{
	return s->held && !direct_is_busy(s);
}

static inline bool direct_is_checked(const struct direct_sender *s)
{
	return direct_hot(s)->not_plain & DIRECT_CHECK;
}

/* ---- found by its handle ------------------------------------------------------------ */

/** End the job: `h` names no sending end of this PE. Say why. */
_Noreturn __attribute__((cold)) void direct_no_sender(struct pe *pe, const char *call,
						      const struct direct_handle *h);

/** The sending end that `h` names, or NULL if it is none of this PE. The number in a handle is
 * right unless the program has overwritten it: that is not checked here, where each instruction of
 * a put counts. */
static inline struct direct_sender_hot *direct_find_sender(const struct pe *pe,
							   const struct direct_handle *h)
{
	struct direct_sender_hot *hot;

	/* In this order: the number is valid on the PE that assigned it. */
	if (CSD_UNLIKELY(h->magic != DIRECT_MAGIC || h->sender_pe != pe->id))
		return NULL;
	hot = &direct_of(pe)->senders[h->sender];
	return CSD_LIKELY(hot->generation == h->sender_generation) ? hot : NULL;
}

/** The same, of a handle that must name one. */
static inline struct direct_sender_hot *direct_own_sender(struct pe *pe, const char *call,
						   const struct direct_handle *h)
{
	struct direct_sender_hot *hot = direct_find_sender(pe, h);

	if (CSD_UNLIKELY(!hot))
		direct_no_sender(pe, call, h);
	return hot;
}

/** The same for calls other than CkDirect_put, with all checks. */
struct direct_sender *direct_checked_sender(struct pe *pe, const char *call,
					    const struct direct_handle *h);

/** Checked mode: the program has not written to the handle since it was bound. */
void direct_check_unchanged(struct pe *pe, const char *call, struct direct_id id,
			    const struct direct_handle *h, const struct direct_sender *s);

/* ---- local completion --------------------------------------------------------------- */

/** The put is locally complete, and its function will run from the loop. Until then the channel
 * stays busy on every path, so that a program cannot come to depend on the fast one. */
void direct_push_done(struct direct_pe *d, struct direct_sender *s);

/** Called by the network: a put is locally complete. */
void direct_put_done(struct cmi_op *op);

/** The last put of this end is not complete: poll the network, and end the job if it is still not
 * complete. */
__attribute__((cold)) void direct_settle_put(struct pe *pe, const char *call,
					     const struct direct_sender *s);

/** Run the functions of puts that are locally complete; returns how many. */
int direct_run_completions(struct pe *pe);

/** Send the receiver a control message about this end: BOUND or ASK. */
void direct_sender_say(struct pe *pe, const struct direct_sender *s, enum direct_control kind);

/** The sending end that `h` names, which must live on this PE; its last put must be locally
 * complete. */
struct direct_sender *direct_sender_at_rest(struct pe *pe, const char *call,
					    const struct direct_handle *h);

/* ---- ends with names --------------------------------------------------------------- */

struct csd_sending;

/** Make a sending end that is not joined: one put may wait in it. */
void direct_sender_open(struct pe *pe, struct direct_handle *h, const struct csd_sending *s);
/** From now on puts wait. Returns how many were made. */
uint64_t direct_sender_stop(struct pe *pe, const struct direct_handle *h);
bool direct_sender_holds(struct pe *pe, const struct direct_handle *h);
bool direct_sender_busy(struct pe *pe, const struct direct_handle *h);
/** End it. Returns the data of the put that waits, or NULL. */
void *direct_sender_leave(struct pe *pe, const struct direct_handle *h);

/* ---- the end ----------------------------------------------------------------------- */

void direct_sender_destroy(struct pe *pe, const struct direct_handle *h);

/** The loop has ended: detach other nodes' memory. */
void direct_senders_stop(struct pe *pe);

/** The node has stopped: free the records. */
void direct_senders_free(struct direct_pe *d);

#endif
