/* SPDX-License-Identifier: Apache-2.0 */
/*
 * staging.h: what goes through host memory: from and to other hosts, from memory that other
 * processes cannot map, from one device to another, and between a device and a host buffer.
 *
 * The data is cut into pieces. Each goes through an ordinary channel, the piece's, between pinned
 * memory at both ends, by whatever path that channel has. A sender in a device's memory copies
 * each piece into its pinned memory, behind it a word; when its PE sees that, it puts the piece. A
 * receiver in a device's memory copies what comes into it, and behind the last piece stores the
 * word of the real channel, of which the pieces know nothing.
 *
 *   sender                              receiver
 *   JOIN: channel, number of pieces ->
 *                                    <- JOINED: a handle for each piece
 */
#ifndef DEVICE_STAGING_H
#define DEVICE_STAGING_H

#include "../direct/core/direct_handle.h"
#include "device_state.h"

enum { PIECES_MOST = 64 };

/** The bytes of a piece: measured best for copies and network together. More pieces are larger. */
static const uint64_t PIECE_LEAST = (uint64_t)1 << 20;

static inline uint64_t piece_bytes(uint64_t bytes)
{
	const uint64_t least = (bytes + PIECES_MOST - 1) / PIECES_MOST;

	return least > PIECE_LEAST ? least : PIECE_LEAST;
}
static inline uint32_t piece_count(uint64_t bytes)
{
	return (uint32_t)((bytes + piece_bytes(bytes) - 1) / piece_bytes(bytes));
}
static inline uint64_t piece_size(uint64_t bytes, uint32_t i)
{
	const uint64_t at = i * piece_bytes(bytes);

	return bytes - at < piece_bytes(bytes) ? bytes - at : piece_bytes(bytes);
}

enum device_control { DEVICE_JOIN, DEVICE_JOINED };

struct device_msg {
	struct cmi_msg head;
	uint32_t kind;
	uint32_t n;                   /* JOINED: handles */
	uint32_t channel, generation; /* JOIN */
	uint64_t join;                /* the sender's number of this request */
	CkDirectHandle handle[];
};

#endif
