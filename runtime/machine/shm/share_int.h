/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_int.h: the message memory of the host as one process sees it; for share_mem.c, which makes
 * and maps it, and share.c, which sends through it.
 *
 *   base + 0 * SEGMENT    segment of the host's first node   |
 *   base + 1 * SEGMENT    ...of its second                   | one file
 *
 *   a segment:  | share_head | line of PE 0 | PE 1 | ... | messages, rings: in order -> |
 *
 * A reference is the node's number on the host (16 bits) and the offset in its segment (48 bits);
 * 0, which is a share_head, is none. A message's reference is its name on a stack (msg_stack.h).
 * Its lowest 4 bits, which are 0 in the offset, repeat the block's size class: the owner relies on
 * the class when the block returns, and other processes could have overwritten it meanwhile.
 */
#ifndef SHARE_INT_H
#define SHARE_INT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/cmi_dial.h"
#include "../base/msg_stack.h"
#include "share.h"
#include "wake_host.h"

enum { SHARE_LINE = 64, SHARE_OFFSET_BITS = 48 };

struct share_head {
	_Atomic uint64_t used;      /* bytes handed out; relaxed: no data goes with them */
	atomic_bool fled;           /* the node has ended because another is dead (neighbour.c) */
	/* Of the host's first node; relaxed: */
	_Atomic uint32_t n_mapped;  /* how many nodes have mapped the file */
	atomic_int frames;          /* enum frames_of_host (die.c) */
	_Atomic uint8_t mapped[];   /* [n_local]: which */
};

/** What other processes write for one PE. Words of different writers lie on different lines. */
struct share_line {
	_Alignas(SHARE_LINE) struct msg_stack inbox;    /* of references */
	_Alignas(SHARE_LINE) struct msg_stack returns;  /* our blocks, given back */
	_Alignas(SHARE_LINE) atomic_bool sleeping;
	atomic_int n_rings;                       /* that this PE reads, or soon will */
	struct wake_door door;
	/* Written by the PE itself: what it shows to the host's others (cmi_show); 0: nothing. */
	_Atomic uint64_t shown;
	struct cmi_dial dial;                     /* on lines of its own */
};

struct share {
	char *base;
	uint64_t segment;           /* bytes of address space per node, a power of two */
	int segment_bits;
	int n_local, me;            /* nodes of this host; this node's number among them */
	int first;                  /* the node whose file all of them map */
	int *number;                /* [n_nodes]: number on the host, -1: not reached */
	int *n_pes;                 /* [n_local]: PEs, by the node's number on the host */
	struct share_name name;
	struct share_name *names;   /* [n_nodes] */
	size_t lines_at;            /* offset of the lines in each segment */
	char *own;                  /* base + me * segment */
	bool common;                /* other nodes may have mapped this memory, too */
	bool any;                   /* some other node is reached */
	bool all;                   /* all nodes have mapped the file */
	bool one_process;           /* the host's nodes are threads of this process (cmi_loop_net_share) */
};

static inline struct share_head *share_head_of(const struct share *s, int number)
{
	return (struct share_head *)(void *)(s->base + (uint64_t)number * s->segment);
}

static inline struct share_line *share_line_of(const struct share *s, int number, int local)
{
	char *lines = s->base + (uint64_t)number * s->segment + s->lines_at;

	return (struct share_line *)(void *)lines + local;
}

static inline uint64_t share_ref_of(const struct share *s, const void *p)
{
	uint64_t at = (uint64_t)((const char *)p - s->base);

	return at >> s->segment_bits << SHARE_OFFSET_BITS | (at & (s->segment - 1));
}

/** Whether a reference that another process wrote leads to memory that has been handed out and that
 * we have mapped. If so, *room_p is how much of it follows. */
static inline bool share_has(const struct share *s, uint64_t ref, uint64_t *room_p)
{
	const uint64_t number = ref >> SHARE_OFFSET_BITS,
		       at = ref & (((uint64_t)1 << SHARE_OFFSET_BITS) - 1);
	uint64_t used;

	if (number >= (uint64_t)s->n_local)
		return false;
	/* Relaxed: what was handed out before the reference was written is visible with it. 0: the node
	 * has not mapped the file. */
	used = atomic_load_explicit(&share_head_of(s, (int)number)->used, memory_order_relaxed);
	*room_p = used - at;
	return at >= s->lines_at && used <= s->segment && at <= used;
}

enum { SHARE_NAME_CHECK = CMI_MSG_ALIGN - 1 };

static inline uint64_t share_class_check(const struct cmi_msg *m)
{
	return (uint64_t)((m->size_class ^ m->size_class >> 4) & SHARE_NAME_CHECK);
}

/** The name of a message in shared memory, and the message of a name that is in bounds. */
static inline uint64_t share_name_of_msg(const struct share *s, const struct cmi_msg *m)
{
	return share_ref_of(s, m) | share_class_check(m);
}

static inline struct cmi_msg *share_msg_of(const struct share *s, uint64_t ref)
{
	uint64_t offset = ref & (((uint64_t)1 << SHARE_OFFSET_BITS) - 1);

	return (struct cmi_msg *)(void *)(s->base + (ref >> SHARE_OFFSET_BITS << s->segment_bits) +
					  offset);
}

#endif
