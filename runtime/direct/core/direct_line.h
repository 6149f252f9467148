/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct_line.h: the memory that the two ends of a channel share besides the receive buffer: the
 * control line, which every channel has, and the flag that tells a sender whether to ring.
 *
 * It lies in shared memory of the receiver's node and is valid for the life of that node. The two
 * ends share only three things: the receive buffer, the word that signals arrival, and, in checked
 * mode, the control line. Everything else about the other end is in the handle.
 */
#ifndef DIRECT_LINE_H
#define DIRECT_LINE_H

#include <stdatomic.h>
#include <stdint.h>

/** Ends allocated together, of either kind: 64 control lines are one page. */
enum { DIRECT_BLOCK = 64 };

/** One for each channel number.
 *
 * `seq` counts in sequence mode only, and `written` for large puts only; the members between them
 * are kept in checked mode only. */
struct direct_line {
	_Alignas(64) _Atomic uint64_t seq; /* direct_seq() of the last put: the sender's word */
	_Atomic uint64_t marks;            /* direct_marks() */
	_Atomic uint64_t consumed;         /* puts whose function has been called */
	_Atomic uint64_t checksum;         /* of the receive buffer at the last readyMark */
	_Atomic uint64_t generation;       /* of the channel that has the number now */
	_Atomic uint64_t binder;           /* 1 + PE that bound the channel, 0: nobody yet */
	_Atomic uint64_t written;          /* progress of a large put (cmi_copy_awaited), by the sender */
	_Atomic uint64_t credit;           /* a buffer in device memory: direct_seq() of the put that may
					    * come, by the receiver or its stream */
};
_Static_assert(sizeof(struct direct_line) == 64, "one cache line, written by other processes");

/** The shared part of DIRECT_BLOCK channels of consecutive numbers.
 *
 * A put reads `tell`: does the receiver poll the word, or must the sender ring? The receiver writes
 * it when it marks the channel ready, and not again until the put has arrived; the sender reads it
 * in the put, before it stores the word. It needs no order of its own. The program orders its put
 * after the ready with a message or other data; that orders this store before the load in the put,
 * just as it orders the receiver's last use of the buffer before the put. The flag hardly ever
 * changes, and 64 of them share a line, so it stays in the sender's cache. */
struct direct_shared {
	struct direct_line line[DIRECT_BLOCK];
	_Atomic uint8_t tell[DIRECT_BLOCK];
};

/** The flag of channel `number`, whose line this is. */
static inline _Atomic uint8_t *direct_tell_flag(struct direct_line *line, uint32_t number)
{
	struct direct_shared *all = (struct direct_shared *)(line - number % DIRECT_BLOCK);

	return &all->tell[number % DIRECT_BLOCK];
}

/** The value of the sequence word after put number `iteration`. It includes the generation, so that
 * a put through a handle from before the number was reused differs from a fresh one. */
static inline uint64_t direct_seq(uint32_t generation, uint64_t iteration)
{
	return (uint64_t)generation << 40 | iteration;
}

#endif
