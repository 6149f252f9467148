/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core_share.h: which share of its core a PE gets. Another program that runs there takes the rest,
 * so that handlers take longer.
 *
 * The share is the time that the processor gave to the PE's thread, over the time on the wall,
 * while the PE was busy: 1 if the PE had the core for itself. Idle time says nothing: a PE that
 * waits yields the core, and sleeps.
 *
 * These are pure functions of moments that others look up (measure.c). A look costs 0.9 us. Where
 * there are many stretches without idle time some are drawn, so that looking takes about a
 * hundredth of the time at most. Chance decides, and nothing else: of those that follow others
 * after a while, for instance, all might be short.
 */
#ifndef CK_SHARE_H
#define CK_SHARE_H

#include <stdbool.h>
#include <stdint.h>

/** What a thread has used up to now. */
struct moment {
	uint64_t cpu_ns, wall_ns;
	uint64_t n_blocked;       /* times that it gave the core away to wait for something */
};

struct share_time {
	double cpu, wall;         /* seconds */
};

/** Of a PE; all 0 at first. */
struct share {
	bool on;                  /* a stretch is being measured */
	uint32_t n;               /* stretches since `counted_ns` */
	uint32_t left_out;        /* so many of 2^31 are not measured */
	uint64_t counted_ns, draw;
	struct moment from;       /* since then */
	struct share_time all;    /* of all stretches that were measured */
	struct share_time recent; /* the same, but the older the less it counts */
	struct share_time worst;  /* that stretch of `recent` in which most time was taken away; it counts
				   * as much as there */
	uint64_t aged_ns;         /* when that was last seen to */
};

/** The PE gets something to do: whether this stretch is one to be measured. */
bool share_wants(struct share *s, uint64_t wall_ns);
/** It is. */
void share_begin(struct share *s, const struct moment *now);
/** The PE has nothing to do any more; if s->on only. */
void share_end(struct share *s, const struct moment *now);

/** At a sync: add what has passed of the present stretch, and let what is older count less. */
void share_look(struct share *s, const struct moment *now);

/** The share of the core, from recent stretches; 1 if they say too little, or if it is nearly all,
 * or was but for one stretch. In
 * (0, 1]. */
double share_speed(const struct share *s);

/** What to multiply seconds with that were measured since share.all was `before`, to have what they
 * would have been if the PE had had its recent share all the time. 1 if less than half of the time
 * in which the PE was busy since then has been looked at, or if the share is nearly all but for one
 * stretch: then a single handler has lost that time. */
double share_evens(const struct share *s, const struct share_time *before, double busy_seconds);

#endif
