/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pattern_int.h: calls that repeat, of entries with [channel]. A pattern is the calls of one entry
 * of one element that a PE makes on behalf of one element, all with as many bytes. From its third
 * call on it has memory of its own, which the caller writes and in which the receiver handles the
 * call: standing messages (scheduler/standing.h). pattern.c is the caller's side, landing.c the
 * receiver's.
 *
 *	the caller's PE                                      the receiver's PE
 *	1st call: a message
 *	OPEN: here are a block and a bell      ----->        is the element here? state = OPEN
 *	a call, a message of the block is free:
 *	write its payload, ring                ----->        hear: call the handler; freeing adds to `freed`
 *	any other call: a message, COUNTED     ----->        hear, count it in `taken`, handle it
 *	CLOSE                                  ----->        hear, state = CLOSED
 *
 * The calls of a pattern keep their order. A put comes after the messages before it, because none
 * is made before `taken` says that these have been handled. A message comes after the puts before
 * it, because its handler hears the bell first, and what has been heard has been handled. There is
 * no order with any other call.
 *
 * Where a call goes is decided as for every call (send.c, place/record/lease.c), before it is asked
 * whether it can be a put; or that was decided for an earlier put, and nothing has changed since.
 * So elements may move. A put that finds its element gone goes on as a message, as a call does that
 * comes to its home. What leaves say is a message, too: a PE that gets SWITCH or FLUSH hears the
 * sender's bell first. It does so once, where the message comes first. If the message waits there,
 * later calls wait behind it, and what is heard later goes behind those.
 *
 * What has been put counts as sent and handled. Only calls to PEs of the same host are put.
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
	/* Messages of a block. A caller may be one call ahead of its receiver, and with four it looks at
	 * the receiver's line at every second or third call only. */
	PATTERN_MESSAGES = 8,
	/* Bytes with the head. Larger calls are messages, whose memory is handed over on the host. */
	PATTERN_MOST = 64 * 1024,
	/* Bytes of a payload of which the lines are asked for ahead, by the caller and by the receiver. */
	PATTERN_AHEAD = 1024,
	/* Words of a bell. When there is no room for one more, the call is a message. */
	PATTERN_WORDS = 1024,
};

/** What a bell says: which pattern of its PE, and which message of the block. */
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
	struct pattern **table;   /* ours, [cap]: chains, by what a pattern calls */
	uint32_t cap, n;          /* cap: a power of two, or 0 */
	uint32_t hand;            /* of the table: where old patterns are looked for next */
	uint64_t clock;           /* calls so far */
	struct lane **lanes;      /* ours, [n_lanes]: the receiver's side */
	int n_lanes;
	int (*below)(struct pe *pe); /* what this PE polled before it had lanes */
	uint64_t random;          /* CK_RANDOM_DELAY: state; else 0 */
};

/** What a PE lends to another one. The head of the memory, which is a message that is never sent,
 * says what it is, until it is freed: its handler is this mark. So a receiver takes no other memory
 * for it. */
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
/** Handle all that PE src has put here so far. */
void landing_hear(struct pe *pe, int src);
void landings_stop(struct pe *pe);

#endif
