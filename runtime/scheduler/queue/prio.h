/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prio.h: priorities of messages. Lower runs first, and no priority counts as 0. A number of 32
 * bits fits into the head; a wider priority, a number of 64 bits or a bit vector of any length,
 * follows the payload (struct msg_prio), so messages without one pay nothing.
 *
 * Called by any layer, on the PE that owns the message.
 */
#ifndef CSD_PRIO_H
#define CSD_PRIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../machine/base/cmi_msg.h"

struct pe;

/** A wide priority (CMI_F_WIDE), at the end of the message; the vector's words precede it. */
struct msg_prio {
	int64_t key;                       /* a number, or the first 64 bits of a vector */
	uint32_t n_bits;                   /* of the vector; 0: a number */
	uint32_t bytes;                    /* what was appended to the message */
};

/** Give a message a priority, which only determines its position in queues: a number, or a bit
 * vector (bit 0 is the highest of words[0]). Vectors are compared bit by bit; a vector precedes
 * those that begin with it. A number counts as the vector of its 64 bits with the highest one
 * inverted. Both functions take the message and return it, perhaps in new memory. */
struct cmi_msg *csd_set_prio(struct pe *pe, struct cmi_msg *m, int64_t number);
struct cmi_msg *csd_set_prio_bits(struct pe *pe, struct cmi_msg *m, const unsigned *words,
				  uint32_t n_bits);
void csd_clear_prio(struct cmi_msg *m);

/** The most bytes that a priority adds to a payload. */
size_t csd_prio_bytes(uint32_t n_bits);

/** Whether csd_set_prio_bits (0: csd_set_prio) would leave the message where it is. */
bool csd_prio_fits(const struct cmi_msg *m, uint32_t n_bits);

/** Keep a wide priority beside its message while the message changes its form. Restoring frees the
 * copy. */
struct msg_prio *csd_save_prio(const struct cmi_msg *m);
struct cmi_msg *csd_restore_prio(struct pe *pe, struct cmi_msg *m, struct msg_prio *saved);

/** Only with CMI_F_WIDE. */
static inline const struct msg_prio *msg_prio_of(const struct cmi_msg *m)
{
	return (const struct msg_prio *)(const void *)((const char *)m + m->size) - 1;
}

/** Whether the priority of a received message with CMI_F_WIDE lies within it. */
bool csd_wide_fits(const struct cmi_msg *m);

#endif
