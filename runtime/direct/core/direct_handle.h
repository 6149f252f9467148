/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct_handle.h: the contents of a CkDirectHandle, a channel's name in messages.
 *
 * It locates both ends: a number and a generation on their PE. Their records are not freed before
 * the node stops, and their generation changes at destruction: a stale handle finds a record of
 * another generation, never freed memory.
 */
#ifndef DIRECT_HANDLE_H
#define DIRECT_HANDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../machine/cmi.h"
#include "ckdirect.h"
#include "gather.h"

#define DIRECT_MAGIC 0x43686b31u /* a handle */
#define DIRECT_DEAD 0x43686b30u  /* one whose end was destroyed through it */

/** How arrival is signalled: by the last word of the data, or by a word of its own in the line.
 * COUNTED, which no handle has: by that, but a device stores it, and the channel's function takes
 * the put (direct_take_one), because a stream may have consumed some that the PE has not seen. */
enum direct_mode { DIRECT_PATTERN, DIRECT_SEQ, DIRECT_COUNTED };
/** The path of puts. */
enum direct_path {
	DIRECT_UNBOUND, DIRECT_MEMORY, DIRECT_RMA, DIRECT_MESSAGE,
	/* an end is in a device's memory */
	DIRECT_DEVICE, DIRECT_DEVICE_IPC, DIRECT_DEVICE_VMM, DIRECT_DEVICE_STAGED,
	DIRECT_PATHS,
};

/** The contents of a CkDirectHandle.
 *
 *   0       16            30   32             48            64           80       168      256
 *   +-------+-------------+----+--------------+-------------+------------+--------+--------+
 *   | names | sending end |mode| bytes, oob   | src, dst    | addresses  | key of | key of |
 *   |       |             |    |              |             | or strides | buffer | line   |
 *   +-------+-------------+----+--------------+-------------+------------+--------+--------+
 *             by assocLocal                     by assocLocal; the rest by createHandle,
 *                                               which puts the seal where src will be
 *
 * Fields that assocLocal writes are valid and read on sender_pe only. A put reads the first 64
 * bytes, and the strides if there are any. A ready reads the first 16. */
struct direct_handle {
	uint32_t magic;
	int32_t receiver;             /* PE */
	uint32_t channel;             /* number on that PE */
	uint32_t generation;
	int32_t sender_pe;            /* -1: the receiver's copy, or not bound yet */
	uint32_t sender;              /* number of the sending end on that PE */
	uint32_t sender_generation;
	bool here;                    /* the receiving end is on the same PE */
	uint8_t mode;                 /* enum direct_mode */
	bool strided;                 /* by assocLocalStrided */
	uint8_t device;               /* where the receive buffer lies: direct_device.h */
	uint64_t bytes;
	union {
		uint64_t oob;
		uint64_t seq_addr;    /* sequence mode, by assocLocal: of the word, as mapped here */
	};
	union {
		uint64_t seal;        /* until it is bound: direct_seal */
		uint64_t src;         /* send buffer */
	};
	uint64_t dst;                 /* receive buffer as mapped here: memory path */
	union {
		struct {              /* what binding needs */
			uint64_t recv_addr; /* in the receiver's address space, as line_addr */
			uint64_t line_addr;
			struct cmi_key recv_key;
			struct cmi_key line_key; /* empty in a job of one node */
		};
		struct gather_shape strides; /* once bound, if `strided`: src is their base */
	};
} __attribute__((may_alias));     /* lies in the uint64_t array of CkDirectHandle */
_Static_assert(sizeof(struct direct_handle) == sizeof(CkDirectHandle), "wire format");
_Static_assert(offsetof(struct direct_handle, recv_addr) == 64, "a put reads what is before");

static inline struct direct_handle *direct_open(CkDirectHandle *h)
{
	return (struct direct_handle *)h->private_;
}

static inline struct gather_shape gather_shape_of(const CkDirectStrides *s)
{
	return (struct gather_shape){
		.block_bytes = s->block_bytes,
		.blocks = s->blocks,
		.planes = s->planes ? s->planes : 1,
		.stride = s->stride_bytes,
		.plane_stride = s->plane_stride_bytes,
	};
}

static inline bool direct_is_bound(const struct direct_handle *h)
{
	return h->sender_pe >= 0;
}

#endif
