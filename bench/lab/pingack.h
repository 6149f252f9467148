/* SPDX-License-Identifier: Apache-2.0 */
/* What pingack.c and pingack_mpi.c share: sizes, and how many messages a flood has. */
#ifndef CHARD_BENCH_PINGACK_H
#define CHARD_BENCH_PINGACK_H

#include "plan.h"

/* Enough that the first and the last do not count, but no more than this under way: the sender
 * should not have to wait for the flow control. */
enum { FLOOD_MOST = 10000, FLOOD_LEAST = 10, FLOOD_BYTES = 16 << 20 };

static inline void pingack_options_init(struct plan_options *o)
{
	static const size_t sizes[] = { 8, 32, 128, 1024, 8192, 65536 };

	plan_options_init(o, sizes, sizeof sizes / sizeof sizes[0]);
}

/** Messages of one flood to each receiver. */
static inline int pingack_flood(size_t bytes)
{
	size_t n = FLOOD_BYTES / (bytes + 64);

	return n < FLOOD_LEAST ? FLOOD_LEAST : n > FLOOD_MOST ? FLOOD_MOST : (int)n;
}

#endif
