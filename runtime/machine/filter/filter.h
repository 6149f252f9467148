/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.h: what a network carries, compressed (lz4, zstd) and sealed (encrypted and
 * authenticated), as CK_WIRE says. The room comes from rooms.list: back ends call it through the
 * tables here.
 *
 * An *item* is what a back end would otherwise send: a message, a segment of several, a put with
 * its header. It leaves in one or more *frames* of at most FRAME_PLAIN_MOST bytes before the
 * filters:
 *
 *   struct frame_head | the bytes, first compressed, then sealed | with seal: the tag
 *
 * The frames of a pair of PEs, one direction and one stream are numbered from 0. The number is the
 * nonce of the seal and is known on both sides, so a frame that was changed, repeated, left out or
 * moved does not open. Nothing in a frame is believed before it has been opened, except the
 * source's number, which names the key.
 *
 * A PE's state belongs to its thread; the rest is constant from filters->agree on.
 */
#ifndef FILTER_H
#define FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cmi;
struct cmi_msg;
struct cmi_pe;
struct cmi_wire_counts;
struct filters;

enum {
	/* A piece of a put over tcp with its header; a frame then fits into one segment of UCX
	 * (ucx/ucx.c), with its own head, the tag and UCX's head. */
	FRAME_PLAIN_MOST = (60 << 10) + 64,
	FRAME_TAG = 16,
};

/** A back end gives numbers to kinds of items. Only that of messages is known here: they are opened
 * in the memory where they stay. */
enum { ITEM_MESSAGE = 1 };

/** Frames are numbered, and sealed, in each stream by itself: streams may overtake each other. */
enum { ITEM_STREAMS = 3 };

/** Sent as it is; authenticated as a whole. */
struct frame_head {
	uint64_t all; /* bytes of the whole item, its header included */
	uint64_t number;
	int32_t src_pe;
	uint32_t seen_kbs; /* how fast frames of the other direction arrive, in kB/s; 0: unknown */
	uint16_t plain;    /* bytes of the item in this frame */
	uint8_t id;        /* what the item is */
	uint8_t header_len;
	uint8_t flags; /* FRAME_* */
	uint8_t stream;
	uint16_t spare;
};
_Static_assert(sizeof(struct frame_head) == 32, "wire format");
enum { FRAME_SQUEEZED = 1, FRAME_MORE = 2 /* the item goes on in the next frame */ };

/** The most bytes of a frame for `plain` bytes of an item. */
static inline size_t frame_most(size_t plain)
{
	return sizeof(struct frame_head) + plain + FRAME_TAG;
}

/** What is to be sent. The header may be missing. */
struct item {
	unsigned id;
	unsigned kind; /* items of a kind are likely to compress equally well */
	const void *header;
	size_t header_len;
	const void *data;
	size_t bytes;
	unsigned stream; /* below ITEM_STREAMS */
};

/** What has come. */
struct item_arrived {
	bool whole; /* false: the item's last frame is still to come, and nothing follows */
	int src_pe;
	unsigned id, stream;
	struct cmi_msg
		*m; /* ITEM_MESSAGE: in message memory, its local fields restored; the caller's */
	const void *header; /* any other: valid until the next frame is opened */
	size_t header_len;
	const void *data;
	size_t bytes;
};

/** Published in the second meeting. */
struct filter_name {
	uint8_t words;    /* of CK_WIRE, as bits; 0: none */
	uint8_t aes;      /* the processor has AES-GCM */
	uint8_t has_file; /* CK_WIRE_KEY is set */
	uint8_t spare;
	uint8_t public_key[32];
	uint8_t proof[16]; /* of the public key, by the file's key */
};

/** The room's face. m->filters is NULL when CK_WIRE names none; so is w->filter then. */
struct filters_room {
	/** Main; the job is known. Read CK_WIRE; where there is a network, load libraries and make keys. A
	 * value that cannot be used ends the process with a line. */
	void (*open)(struct cmi *m, bool network);
	void (*close)(struct cmi *m);
	/** Main. What other nodes need; what node `node` has published. */
	void (*describe)(const struct cmi *m, struct filter_name *name_p);
	void (*learn)(struct cmi *m, int node, const struct filter_name *name);
	/** Main; all is learnt. Gives every wire its state, and m->key what the file adds. -EPROTO: the
	 * nodes differ, and one of them has printed how. */
	int (*agree)(struct cmi *m);

	/* PE. */
	/** The bytes of the next piece of an item, from *at on. */
	size_t (*next)(struct cmi_pe *w, int pe, const struct item *item, size_t at);
	/** Write the frame of a piece to `to`, which has frame_most(piece) bytes. Returns its bytes. */
	size_t (*encode)(struct cmi_pe *w, int pe, const struct item *item, size_t at, size_t piece,
			 void *to);
	/** Open a frame. NULL: *a is filled in. Otherwise nothing of the frame may be used, and the result
	 * says why. */
	const char *(*decode)(struct cmi_pe *w, void *frame, size_t bytes, struct item_arrived *a);
	/** End the job because of such a frame, with a line. */
	void (*refuse)(struct cmi_pe *w, const void *frame, size_t bytes, const char *why);
	const struct cmi_wire_counts *(*counts)(const struct cmi_pe *w);
	/** A poll has found nothing, or a sleep is over: what comes next has not waited. */
	void (*idle)(struct cmi_pe *w);
};

extern const struct filters_room filters_room;

#endif
