/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pattern_int.h: repeating calls of [channel] entries, which become one-sided puts. A pattern is
 * the calls of one entry of one element that a PE makes on behalf of one element, all of equal
 * size. From its third call on it has memory of its own, which the caller writes and in which the
 * receiver handles the call: standing messages (scheduler/standing.h). pattern.c is the caller's
 * side, landing.c the receiver's: a *lane* is the connection from one PE, with its bell; a
 * *landing* is the receive buffers of one pattern.
 *
 *	the caller's PE                                      the receiver's PE
 *	1st call: a message
 *	OPEN: here are a block and a bell      ----->        is the element here? state = OPEN
 *	a call, a message of the block is free:
 *	write its payload, ring                ----->        hear: call the handler; `freed` grows
 *	any other call: a message, COUNTED     ----->        hear, count it in `taken`, handle it
 *	CLOSE                                  ----->        hear, state = CLOSED
 *
 * The calls of a pattern keep their order. A put comes after earlier messages, because none is made
 * before `taken` says that these have been handled. A message comes after earlier puts, because its
 * handler first handles all calls that the bell names. There is no order with any other call.
 *
 * The destination is decided as for every call (send.c, place/record/lease.c), before the decision
 * whether it can be a put; or it was decided for an earlier put, and nothing has changed since. So
 * elements may move. A put whose element has gone is forwarded as a message, like a call that comes
 * to its home. A PE that gets SWITCH or FLUSH from a leaving element handles the sender's bell
 * first, when the message arrives. If the message waits there, later calls wait behind it.
 *
 * A put counts as sent and handled. Only calls to PEs of the same host are put.
 */
#ifndef CK_PATTERN_INT_H
#define CK_PATTERN_INT_H

#include "named.h"
#include "../../scheduler/base/bell.h"
#include "../../scheduler/base/standing.h"

enum { H_OPEN, H_COUNTED, H_CLOSE }; /* handlers of PART_PATTERN */

/** standing_line.state. */
enum { PATTERN_ASKED, PATTERN_OPEN, PATTERN_CLOSED };

enum {
	/* Messages of a block. A caller may be one call ahead of its receiver, and with four it reads the
	 * receiver's line at every second or third call only. */
	PATTERN_MESSAGES = 8,
	/* Bytes with the head. Larger calls are messages, whose memory is passed by reference on the
	 * host. */
	PATTERN_MOST = 64 * 1024,
	/* The lines of this many bytes of a payload are prefetched, by the caller and by the receiver. */
	PATTERN_AHEAD = 1024,
	/* Words of a bell. When it is full, the call is a message. */
	PATTERN_WORDS = 1024,
};

/** A word of a bell: the pattern of its PE, and the message of the block. */
static inline uint64_t pattern_word(uint32_t number, unsigned i)
{
	return (uint64_t)number * STANDING_MOST + i;
}

/** OPEN. `env` names the collection and the place. */
struct pattern_msg {
	struct ck_env env;
	uint64_t block, bell;     /* addresses; to another process: names of shared memory
				   * (cmi_shared_ref) */
	uint32_t size;            /* of a message, its head included */
	uint32_t number;          /* of the patterns to that PE */
	uint32_t call;            /* as env->call of the call */
	uint32_t unused;
};

static inline size_t pattern_bell_bytes(void)
{
	return sizeof(struct standing_block) + bell_bytes(PATTERN_WORDS);
}

/** On a PE. */
struct pattern_pe {
	struct pattern_to **to;   /* ours, [n_pes], NULL: nothing yet: the caller's side */
	struct pattern **table;   /* ours, [cap]: chains, hashed by the pattern's key */
	uint32_t cap, n;          /* cap: a power of two, or 0 */
	uint32_t hand;            /* of the table: where the next search for old patterns begins */
	uint64_t clock;           /* calls so far */
	struct lane **lanes;      /* ours, [n_lanes]: the receiver's side */
	int n_lanes;
	int (*below)(struct pe *pe); /* this PE's poll function before it had lanes */
	uint64_t random;          /* CK_RANDOM_DELAY: state; else 0 */
};

/** Memory that a PE lends to another one. Its head, of a message that is never sent, identifies it
 * until it is freed: its handler is this mark. So a receiver accepts no other memory. */
enum pattern_block { PATTERN_BLOCK = H_OPEN, PATTERN_BELL = H_COUNTED };
static inline uint16_t pattern_mark(const struct pe *pe, enum pattern_block what)
{
	return (uint16_t)ck_handler(pe, PART_PATTERN, what);
}

static inline struct pattern_pe *pattern_of(const struct pe *pe)
{
	return ck_state(pe, PART_PATTERN);
}

/* ---- prepare.c ---- */
/** For the watchdog: the call that is prepared. */
void prepared_tell(struct pe *pe, struct csd_told *to);

/* ---- landing.c ---- */
/** For csd_shape.misfit of these messages. */
const char *landing_open_misfit(struct pe *pe, const struct cmi_msg *msg);
const char *landing_counted_misfit(struct pe *pe, const struct cmi_msg *m);
const char *landing_close_misfit(struct pe *pe, const struct cmi_msg *m);
void landing_open_arrived(struct pe *pe, struct cmi_msg *m);
void landing_counted_arrived(struct pe *pe, struct cmi_msg *m);
void landing_close_arrived(struct pe *pe, struct cmi_msg *m);
/** Handle all calls that PE src has put here so far. */
void landing_hear(struct pe *pe, int src);
void landings_stop(struct pe *pe);

#endif
