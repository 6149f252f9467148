/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bells.h: the bells (bell.h) between PEs, and the handling of their words.
 *
 * The sender makes the bell, in its own memory, when it binds its first channel to a PE, and sends
 * its address in a message. It may ring at once: the receiver finds earlier words in the ring when
 * the message has arrived. Each of the sender's channels has at most one put under way, so a ring
 * with a slot for each never fills. A sender that binds more makes a larger ring, sends its
 * address, and ends the old one with BELL_END. The receiver polls both meanwhile: puts of different
 * channels have no order.
 */
#ifndef DIRECT_BELLS_H
#define DIRECT_BELLS_H

#include <stdbool.h>
#include <stdint.h>

#include "../../scheduler/base/bell.h"
#include "../core/direct_handle.h"
#include "../core/direct_state.h"

/** Rings from one PE to one other: each is at least twice as large as the last. */
enum { DIRECT_RINGS_MAX = 27 };

/** From this PE to another one. */
struct direct_bell {
	struct bell_writer ring;
	uint32_t n_bound;             /* channels bound here that may ring it */
	uint32_t n_made;
	struct bell *made[DIRECT_RINGS_MAX]; /* [n_made], cmi_mem_alloc; ring writes the last */
};

/** From another PE to this one. */
struct direct_bell_in {
	struct bell_reader ring;
	struct cmi_remote *mem;       /* NULL: of this process */
	int sender;                   /* PE */
};

/* ---- ringing ----------------------------------------------------------------------- */

/** A channel to PE `receiver` has been bound: its bell, with space for one more put under way. */
struct direct_bell *direct_bell_open(struct pe *pe, int receiver);

static inline void direct_bell_close(struct direct_bell *b)
{
	b->n_bound--;
}

_Noreturn void direct_bell_full(struct pe *pe, const char *call, const struct direct_handle *h)
	__attribute__((cold));

/** A put through `h` is in place: ring for its receiver, another PE of this host. */
static inline void direct_tell(struct pe *pe, const char *call, const struct direct_handle *h,
			       struct direct_bell *b)
{
	if (CSD_UNLIKELY(!bell_ring(&b->ring, h->channel | (uint64_t)h->generation << 32)))
		direct_bell_full(pe, call, h);
}

/* ---- hearing ----------------------------------------------------------------------- */

struct direct_bell_msg;

/** BELL has arrived: poll the ring that it names from now on. */
void direct_bell_arrived(struct pe *pe, const struct direct_bell_msg *b);

/** Whether a bell has rung. */
static inline bool direct_bells_ring(const struct direct_pe *d)
{
	const struct direct_bell_in *in = d->bells, *end = in + d->n_bells;

	while (in < end && !bell_rings(&in->ring))
		in++;
	return in < end;
}

/** Take words from all bells, at most `most`, beginning where the last call has ended: the
 * functions of the arrivals run from direct_run_rung. */
void direct_bells_take(struct pe *pe, uint32_t most);

/* ---- the end ----------------------------------------------------------------------- */

/** The loop has ended: detach other nodes' memory. */
void direct_bells_stop(struct pe *pe);

/** The node has stopped: free all memory. */
void direct_bells_free(struct node *node, struct direct_pe *d);

#endif
