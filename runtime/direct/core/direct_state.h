/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct_state.h: the channel layer's state on each PE and node.
 *
 * The two ends of a channel are records of two PEs: the receiving end (channel.h) belongs to the PE
 * that created the channel, the sending end (sender.h) to the PE that bound it.
 *
 * With thousands of channels nothing of one is in the caches when its turn comes, and a call costs
 * what its misses cost. So each record is split. The hot half, which every put or ready uses, is
 * small (32 bytes) and dense, so that 10,000 channels fit a second-level cache. The cold half is
 * used rarely, or at an arrival, where it is known in advance and prefetched. Constants are in the
 * front of the handle, which a call reads anyway. This took the misses of a 1 MiB cache from 9.3 to
 * 5.5 per transfer (stencil, 6144 channels, prefetches not counted).
 *
 * The files of this folder call in one direction only, from the bottom up:
 *
 *   bell, pollset, gather                  tools that know no channels
 *   direct_line.h, direct_handle.h         what the two ends share
 *   direct_rules, direct_control           errors; messages between the ends
 *   channel, then arrival                  the receiving end
 *   bells                                  which PE rings which
 *   sender, put, then binding              the sending end
 *   direct_describe                        the waits of both ends
 *   direct_inside                          ends that prevent a move
 *   direct_ends                            both ends for a layer that moves them
 *   direct_layer.c                         start, stop, each pass of the loop, each control message
 */
#ifndef DIRECT_STATE_H
#define DIRECT_STATE_H

#include <stdint.h>

#include "../../scheduler/pe.h"
#include "direct_handle.h"
#include "pollset.h"

struct direct_bell;
struct direct_bell_in;
struct direct_channel;
struct direct_channel_block;
struct direct_channel_hot;
struct direct_device;
struct direct_look;
struct direct_sender;
struct direct_sender_hot;

enum {
	DIRECT_SLOT = 1,       /* index of the layer's state on a PE and a node */
	DIRECT_DATA_MAX = 128, /* bytes of a callback's private data */
};

/** Channels with a signalled arrival, in that order; each at most once. */
struct direct_rung {
	struct direct_channel_hot **item; /* [cap]; item[head % cap] is the first */
	uint32_t head, tail;              /* they only grow, and wrap */
	uint32_t mask;                    /* cap - 1; cap is a power of 2, and at least all channels */
};

/** A PE's channels. Only this PE touches it. */
struct direct_pe {
	/* A pass that finds nothing reads these, one line, and the bells. */
	_Alignas(64) struct direct_sender *done; /* locally complete, function not run yet */
	struct direct_bell_in *bells; /* [n_bells] */
	uint32_t n_bells;
	uint32_t n_bell;              /* armed channels whose arrival a bell signals */
	struct direct_rung rung;
	struct pollset set;           /* the armed channels that are polled */

	struct direct_channel_block **channel_blocks; /* number / DIRECT_BLOCK */
	uint32_t n_channels;          /* records so far, including free ones */
	uint32_t n_sender_blocks;
	struct direct_sender_hot *senders;      /* by number; moves when a block is added */
	struct direct_sender **sender_blocks;   /* number / DIRECT_BLOCK */

	uint32_t n_open;              /* channels that are neither `own` nor `rma`, in any state */
	uint32_t n_rma;               /* ones that are `rma` */
	uint32_t n_large;             /* channels of CMI_COPY_MIN bytes and more */
	uint32_t poll_max;            /* constant */
	uint32_t next_bell;           /* the one that is polled first */
	struct direct_bell **bell_to; /* [PEs of the job] or NULL: by receiver */
	struct cmi_copy_way copy_way;
	struct direct_sender **done_tail;

	/* Records to reuse first. */
	struct direct_channel *free_channels;
	struct direct_sender *free_senders;

	/* direct_bytes_sent: of ends that were destroyed */
	uint64_t gone_near, gone_far;

	/* direct_describe.c */
	struct direct_look *looks;    /* [n_looks], by number */
	uint32_t n_looks;
};

/** Constant after start. */
struct direct_node {
	int handler;                  /* of control messages */
	uint32_t poll_max;            /* CK_DIRECT_POLL_MAX */
	enum direct_path force;       /* CK_DIRECT_PATH; DIRECT_UNBOUND: choose */
	const struct direct_device *device; /* the layer for device memory; NULL: there is none */
	/* For statistics (counted.h): indices in pe_counts. */
	int count_row;                /* the functions that arrivals run */
	int count_puts;               /* by enum direct_path, from DIRECT_MEMORY on */
	int count_found;              /* by enum direct_found */
	int count_waited;             /* total ticks; the next: the longest */
};

/** How an arrival was found. */
enum direct_found {
	DIRECT_FOUND_POLLED,          /* a scan saw the word */
	DIRECT_FOUND_BELL,            /* the sender, in shared memory, rang */
	DIRECT_FOUND_HERE,            /* this PE's thread stored the word: its own put, or one by
				       * message */
	DIRECT_FOUND_WAYS,
};

static inline struct direct_pe *direct_of(const struct pe *pe)
{
	return pe->layer[DIRECT_SLOT];
}

static inline const struct direct_node *direct_node_of(const struct pe *pe)
{
	return pe->node->layer[DIRECT_SLOT];
}

/** Idle sleeps are bounded while a put may arrive without waking us. */
static inline void direct_count_armed(struct pe *pe)
{
	pe->armed = direct_of(pe)->set.n + direct_of(pe)->n_bell;
}

#endif
