/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wave.h: sums over all PEs, collected in waves. A question goes down a tree; when all children of
 * a PE have answered, the PE adds its own counts to theirs and sends the sums up. Quiescence,
 * completion and the end of inserting are detected in this way.
 *
 * PEs do not count at one moment, so one wave proves nothing. But counts only grow. Sum up
 * `handled` in one wave and `sent` in the next; then at any time t between the two waves
 *
 *	handled before <= handled(t) <= sent(t) <= sent after
 *
 * So if both ends are equal, nothing was under way at t (F. Mattern's four counters, 1987).
 */
#ifndef CK_WAVE_H
#define CK_WAVE_H

#include <string.h>

#include "../../../scheduler/pe.h"

enum { WAVE_SUMS = 4 };

/** One PE's state in the current wave. */
struct wave {
	uint32_t no;
	int n_in;                 /* children that have answered */
	uint64_t in[WAVE_SUMS];   /* their sums */
};

static inline void wave_open(struct wave *w, uint32_t no)
{
	*w = (struct wave){ .no = no };
}

/** A child has answered. */
static inline void wave_take(struct wave *w, const uint64_t sums[WAVE_SUMS])
{
	w->n_in++;
	for (int i = 0; i < WAVE_SUMS; i++)
		w->in[i] += sums[i];
}

/** All children in the root's tree have answered. */
static inline bool wave_is_in(const struct pe *pe, const struct wave *w, int root)
{
	return w->n_in >= csd_tree_n_children(pe, root);
}

/** Add the children's sums to `sums`, which holds this PE's own counts of this moment. */
static inline void wave_add(const struct wave *w, uint64_t sums[WAVE_SUMS])
{
	for (int i = 0; i < WAVE_SUMS; i++)
		sums[i] += w->in[i];
}

/** How long the root waits before it asks again: at first about a message's round trip, then twice
 * as long each time. */
struct wave_pause {
	double ms;
};

/** Make the next pause short. */
void wave_soon(struct wave_pause *p);
/** Call fn(arg) after the pause, on this PE. */
void wave_after(struct wave_pause *p, CcdVoidFn fn, void *arg);

enum { WAVE_SHORTEST_US = 10, WAVE_LONGEST_US = 1000 };

#endif
