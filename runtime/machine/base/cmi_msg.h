/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmi_msg.h: the header of every message, all that a message handler needs to know of the machine
 * layer. Installed; the layer's other headers (cmi.h) are private to the runtime.
 */
#ifndef CMI_MSG_H
#define CMI_MSG_H

#include <stdint.h>

/** The head of every message, 32 bytes, in memory and on the wire.
 *
 *   0        8        16      18    19   20     24    28    30    31     32
 *   +--------+--------+-------+-----+----+------+-----+-----+-----+------+----------
 *   | next   | size   |handler|flags|mark|src_pe| prio|home |class|origin| payload...
 *   +--------+--------+-------+-----+----+------+-----+-----+-----+------+----------
 *                     '------- route ------'          '----- owner -----'
 *
 * The fields marked "local" are sent but mean nothing at the other end: the receiver overwrites
 * them. They are part of the wire image so that a message can stay in its receive buffer. A message
 * is always aligned to CMI_MSG_ALIGN bytes.
 *
 * `route` and `owner` each name the fields beside them as one word: a sender fills them with one
 * store, and one comparison tells who owns the memory.
 */
struct cmi_msg {
	struct cmi_msg *next;  /* local: link of the queue that contains the message */
	uint64_t size;         /* bytes, this head included */
	__extension__ union { /* its struct without a name is C11, and an extension of C++ */
		struct {
			uint16_t handler; /* index into the node's handler table */
			uint8_t flags;    /* CMI_F_* */
			uint8_t mark;     /* local: the machine's while it has the message; above it, in checked mode,
					   * the message's owner */
			int32_t src_pe;   /* the PE that sent it */
		};
		uint64_t route;
	};
	union {
		int32_t prio;  /* lower first; read only with CMI_F_PRIO and without CMI_F_WIDE */
		uint32_t word; /* without CMI_F_PRIO: the sender's, for the handler */
	};
	__extension__ union {
		struct {
			uint16_t home;      /* local: the PE of this node that owns the memory */
			uint8_t size_class; /* local: size class of a pool message */
			uint8_t origin;     /* local: enum cmi_origin, who gets the memory back */
		};
		uint32_t owner;
	};
};
#ifndef __cplusplus
_Static_assert(sizeof(struct cmi_msg) == 32, "wire format");
#endif

enum {
	CMI_F_PRIO = 0x01,      /* prio is set; without it the priority is 0 */
	CMI_F_LIFO = 0x02,      /* before equals, not after */
	CMI_F_EXPEDITED = 0x04, /* before everything that is queued */
	CMI_F_SYSTEM = 0x08,    /* not counted by quiescence detection */
	CMI_F_REMOTE = 0x10,    /* local: came from another node, counts for flow control */
	CMI_F_WIDE = 0x20,      /* with CMI_F_PRIO: the priority follows the payload */
	CMI_F_HERE = 0x40,      /* local: must be converted before it leaves the node */
	CMI_F_NODE = 0x80,      /* for any PE of the node */
};

enum cmi_origin {
	CMI_ORIGIN_POOL = 1,   /* the scheduler's pool of PE `home` */
	CMI_ORIGIN_WIRE = 2,   /* a receive buffer of wire `home` */
	CMI_ORIGIN_SHARED = 3, /* the pool of another node's PE `home` */
	CMI_ORIGIN_STANDING = 4, /* it stays where it is; PE `home` may free it (scheduler/standing.h) */
};

enum { CMI_MSG_ALIGN = 16 };

/** A word of the payload that mostly has one value: its offset and the value. The layer above lays
 * its messages out so. Such a word need not cross. */
enum { CMI_USUAL_AT = 24, CMI_USUAL = 1 };

#endif
