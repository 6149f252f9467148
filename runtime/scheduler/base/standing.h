/* SPDX-License-Identifier: Apache-2.0 */
/*
 * standing.h: messages whose memory stays in place. One PE, the writer, owns a block of them and
 * rewrites their payloads. Another PE of its host, the reader, writes their heads once and handles
 * them in place. Counters on a line of the block say which of the two owns a message.
 *
 *	| head of the block | line | message 0: head, payload | message 1 | ... |
 *
 * The block is a message of the writer's pool that is never sent. A bell (bell.h) tells the reader
 * that a payload is complete. Freeing such a message, on any PE of the reader's node, returns it to
 * the writer.
 */
#ifndef CSD_STANDING_H
#define CSD_STANDING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../machine/base/cmi_msg.h"

enum { STANDING_MOST = 8, STANDING_LINE = 64 };

/** All zero at first. Only the reader writes it. */
struct standing_line {
	_Atomic uint32_t freed[STANDING_MOST]; /* by message: how often it has been freed */
	_Atomic uint32_t taken;    /* for the reader's layer: other things that it has handled */
	_Atomic uint32_t state;    /* the same */
	uint32_t unused[6];
};
_Static_assert(sizeof(struct standing_line) == STANDING_LINE, "a line");

struct standing_block {
	struct cmi_msg head;
	unsigned char unused[STANDING_LINE - sizeof(struct cmi_msg)];
	struct standing_line line;
};

/** The distance between two messages. */
static inline size_t standing_stride(size_t size)
{
	return (size + STANDING_LINE - 1) & ~(size_t)(STANDING_LINE - 1);
}

static inline size_t standing_bytes(size_t size, unsigned n)
{
	return sizeof(struct standing_block) + n * standing_stride(size);
}

static inline struct cmi_msg *standing_msg(struct standing_block *b, size_t size, unsigned i)
{
	return (struct cmi_msg *)(void *)((unsigned char *)(b + 1) + i * standing_stride(size));
}

/** The line of a standing message. */
static inline struct standing_line *standing_line_of(struct cmi_msg *m)
{
	return (struct standing_line *)(void *)((unsigned char *)m -
						m->size_class * standing_stride(m->size) -
						sizeof(struct standing_line));
}

/** Reader. Make message i a standing one, of PE `local` of the node. */
static inline void standing_begin(struct cmi_msg *m, int local, unsigned i)
{
	m->home = (uint16_t)local;
	m->size_class = (uint8_t)i;
	m->origin = CMI_ORIGIN_STANDING;
}

/** Reader, on the PE that the head names. Return the message to the writer. */
static inline void standing_free(struct cmi_msg *m)
{
	_Atomic uint32_t *freed = &standing_line_of(m)->freed[m->size_class];

	/* relaxed: only this PE writes it. release: pairs with the acquire in standing_is_free, so that
	 * the handler's reads of the payload come before the next write. Model: pattern.pml,
	 * standing_free */
	atomic_store_explicit(freed, atomic_load_explicit(freed, memory_order_relaxed) + 1,
			      memory_order_release);
}

/** Writer. Whether message i, which has been sent `sent` times, may be written. */
static inline bool standing_is_free(struct standing_block *b, unsigned i, uint32_t sent)
{
	return atomic_load_explicit(&b->line.freed[i], memory_order_acquire) == sent;
}

#endif
