/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inbox.h: messages between the PEs of a node. They go through the target's inbox, a stack
 * (msg_stack.h) that any PE pushes to, or through two rings of the pair.
 *
 *   stack      pointers; a push is a locked instruction on a line that all senders and the receiver
 *              change
 *   values     small messages themselves, in slots (ring.h): their block is the sender's again at
 *              once, and the receiver gets their lines with the slot
 *   pointers   all others, and small ones when no slot is free, as words of a bell (bell.h)
 *
 * A ring has one writer and one reader; a plain store hands over. A pair gets its rings after
 * RING_AFTER messages. The offer goes by the stack, behind the pair's earlier messages, and the
 * receiver reads the rings once it has handled the offer. From then on nothing of the pair goes by
 * the stack. A slot says how many pointers were sent before it (`n_past`), and the slots that were
 * written before a pointer are visible when that is: so the pair's order is kept. A full ring of
 * pointers is replaced by one of twice the size.
 */
#ifndef CSD_INBOX_H
#define CSD_INBOX_H

#include "../../machine/base/ring.h"
#include "../base/bell.h"
#include "msgq.h"

enum {
	/* Pairs whose rings a PE reads. The first senders to ask get rings, the others keep to the stack.
	 * Empty rings cost two loads in every pass. */
	INBOX_RINGS_MOST = 16,
};

/** Pointers to messages, with the words that both ends share. */
struct inbox_ring {
	struct inbox_ring *older;          /* made for the same pair before */
	struct inbox_ring *newer;          /* where the pair continues; set before BELL_END is rung */
	uint32_t n_slots;
	struct bell bell;
};

/** A pair at its sender. */
struct inbox_out {
	struct inbox_ring *ring;           /* NULL: none */
	struct ring_writer values;
	struct bell_writer to;
	uint32_t n_past;                   /* pointers in all */
	uint32_t n_sent;                   /* messages without a ring */
};

/** A pair at its receiver. */
struct inbox_in {
	struct ring_reader values;
	struct bell_reader from;
	struct inbox_ring *ring;
	uint32_t n_past;
	int src_pe;
};

/** One PE's; only it reads and writes this. */
struct inbox_rings {
	struct inbox_in in[INBOX_RINGS_MOST]; /* [pe->n_rings] */
	struct inbox_out out[];            /* [my_n_pes] */
};

void inbox_open(struct pe *pe);            /* on the PE's thread, when it knows the job */
void inbox_close(struct pe *pe);           /* when no thread of the node runs */

/** Hand `m` to another PE of the node. Keeps the order of the pair. */
void inbox_send(struct pe *pe, struct pe *to, struct cmi_msg *m);

/** The same by the stack, from any thread and without an order. */
void inbox_push(struct pe *to, struct cmi_msg *m);

/** Handler of node->h_ring: from now on read the rings of a pair. */
void inbox_offer_arrived(struct pe *pe, struct cmi_msg *m);

/** Before a sleep, after the store of `sleeping`: whether a message is there. */
bool inbox_any_for_sleep(const struct pe *pe);

int inbox_take_slow(struct pe *pe);
/** The same by rings. */
int inbox_take_rings(struct pe *pe);

/** Move what has come by the stack into the run queue; how many messages. */
static inline int inbox_take(struct pe *pe)
{
	const struct cmi_msg *m = msg_stack_local_top(&pe->inbox);

	if (CSD_LIKELY(!m))
		return 0;
	/* To take it, the inbox's line must come from the sender's core; meanwhile the message's first two
	 * lines are fetched, the head for writing: a round trip of 8 bytes between threads takes 0.9 of
	 * its time without, a barrier also (Intel Xeon). */
	cmi_own_line(m);
	__builtin_prefetch((const char *)m + CSD_CACHE_LINE);
	return inbox_take_slow(pe);
}

#endif
