/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ends.h: the ends of channels, as the channel layer offers them to a layer that moves them between
 * PEs (struct csd_upcalls). Neither layer knows the other.
 *
 * An end is CSD_END_BYTES bytes of its owner, 8-aligned; their contents are the channel layer's.
 * All functions are called on the end's PE. An end that moves is ended here and made anew there:
 * `take` or `leave`, then `receive` or `send`.
 */
#ifndef CSD_ENDS_H
#define CSD_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pe;

enum { CSD_END_BYTES = 256, CSD_SHAPE_BYTES = 40 };

/** Who may use the receive buffer: the receiver; the sender, but it is not polled; the sender. */
enum csd_end_state { CSD_END_CONSUMED, CSD_END_MARKED, CSD_END_ARMED };

struct csd_receiving {
	void *buf;                /* the program's */
	size_t bytes;
	void (*fn)(void *data);
	void *data;
	uint64_t oob;             /* a value that is never the last 8 bytes of data, unless `counted` */
	bool counted;             /* a counter beside the buffer signals arrivals */
	bool device;              /* buf is in a device's memory; then it is counted, too */
	bool landed;              /* a put is in the buffer, and fn has not been called */
	uint8_t state;            /* enum csd_end_state */
};

struct csd_sending {
	const void *buf;          /* the program's */
	size_t bytes;
	bool device;              /* buf is in a device's memory, and shape is NULL */
	const void *shape;        /* of strided data, CSD_SHAPE_BYTES bytes; NULL: contiguous */
	void *held;               /* the data of a put that waits, from cmi_alloc; takes it. NULL: none */
	const void *owner;        /* the caller's, as csd_receiving.data: for csd_end_names */
};

/** The other direction: the names of such ends in errors and reports. Called on the end's PE. */
struct csd_end_names {
	/** The name of the channel of an end with this `owner`, "channel Block::side(2) from Block(0, 0)
	 * to Block(0, 1)". */
	const char *(*describe)(struct pe *pe, const void *owner, char *buf, size_t len);
	/** The owner whose end lies at this address, or NULL. */
	const void *(*owner_of)(struct pe *pe, const void *end);
	/** What the program calls instead of a function of ckdirect.h: "CkChannelPut" for
	 * "CkDirect_put". NULL: that function itself. */
	const char *(*function)(const char *name);
};

struct csd_ends {
	/** Make a receiving end in this state. A buffer that the receiver may use is left unchanged. */
	void (*receive)(struct pe *pe, void *end, const struct csd_receiving *r);
	/** The number of puts whose fn has been called. Sets now->state and now->landed; landed data can
	 * be read. */
	uint64_t (*received)(struct pe *pe, const void *end, struct csd_receiving *now);
	/** End it, while nobody can put. A put that has landed still counts as under way. */
	void (*take)(struct pe *pe, void *end);
	/** Give its buffer to the sender again, as the program's own ready does. */
	void (*ready)(struct pe *pe, void *end);
	/** It accepts no more puts, and calls no function; quiescence no longer waits for a put that has
	 * landed. Its number is not reused before `take`, so a sender may still be joined. */
	void (*retire)(struct pe *pe, void *end);

	/** Make a sending end that is not joined: one put may wait in it. */
	void (*send)(struct pe *pe, void *end, const struct csd_sending *s);
	/** Join a sending end to the receiving end that *to is a copy of, and make the put that waits. */
	void (*join)(struct pe *pe, void *end, const void *to, const struct csd_sending *s);
	/** From now on puts wait. Returns how many were made since it was joined. */
	uint64_t (*stop)(struct pe *pe, void *end);
	/** The number of puts by the program since it was made or joined, including one that waits. */
	uint64_t (*made)(struct pe *pe, const void *end);
	/** Whether a put waits. */
	bool (*holds)(struct pe *pe, const void *end);
	/** Whether its last put is not yet locally complete. */
	bool (*busy)(struct pe *pe, const void *end);
	/** End it. Returns the data of a put that waits, which is the caller's and still counts as under
	 * way; or NULL. */
	void *(*leave)(struct pe *pe, void *end);

	/** Memory of a device for an end's buffer, and back. NULL: there is none left. */
	void *(*device_alloc)(struct pe *pe, size_t bytes);
	void (*device_free)(struct pe *pe, void *p);
	/** Copy from there into host memory, and the other way. The copy is complete on return. */
	void (*device_read)(struct pe *pe, void *to, const void *from, size_t bytes);
	void (*device_write)(struct pe *pe, void *to, const void *from, size_t bytes);
};

#endif
