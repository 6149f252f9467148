/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots.h: a table of records of one size, by number, with a list of free ones. Futures and [sync]
 * calls use it for what waits on a PE for a message. No record has number 0. Records move when the
 * table grows, so callers keep the number and not a pointer.
 */
#ifndef CK_SLOTS_H
#define CK_SLOTS_H

#include <stddef.h>
#include <stdint.h>

struct pe;

/** Empty when all but `bytes` is zero. A record begins with a uint32_t, which links the free ones.
 * New records are zeroed; a reused record keeps its old contents. */
struct slots {
	char *at;
	uint32_t n, first_free;
	uint32_t bytes;           /* of one record */
};

static inline void *slot_at(const struct slots *t, uint32_t no)
{
	return t->at + (size_t)no * t->bytes;
}

/** Take a free record; returns its number. Without memory it ends the job with a line that names
 * `what`. */
uint32_t slot_take(struct slots *t, const char *what);
void slot_give(struct slots *t, uint32_t no);
void slots_free(struct slots *t);

#endif
