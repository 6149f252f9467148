/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots.h: records of one size by number, with a list of free ones: what waits on a PE for something
 * that a message brings (futures, [sync] calls). Number 0 is nobody's. Records move when the table
 * grows, so they are found by number each time.
 */
#ifndef CK_SLOTS_H
#define CK_SLOTS_H

#include <stddef.h>
#include <stdint.h>

struct pe;

/** All zero but `bytes`: empty. A record begins with a uint32_t, the link of free ones. New records are
 * zeroed; used again they are as they were given back. */
struct slots {
	char *at;
	uint32_t n, first_free;
	uint32_t bytes;           /* of one record */
};

static inline void *slot_at(const struct slots *t, uint32_t no)
{
	return t->at + (size_t)no * t->bytes;
}

/** A free one's number; `what` is said when there is no memory, which ends the job. */
uint32_t slot_take(struct pe *pe, struct slots *t, const char *what);
void slot_give(struct slots *t, uint32_t no);
void slots_free(struct slots *t);

#endif
