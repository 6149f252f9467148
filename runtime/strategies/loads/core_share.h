/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core_share.h: which share of its core a PE gets. Another program that runs there takes the
 * remainder, so that handlers take longer.
 *
 * The share is the CPU time of the PE's thread over elapsed time, while the PE was busy: 1 if the
 * PE had the core for itself. Idle time does not count: a PE that waits yields the core, and
 * sleeps.
 *
 * These are pure functions of moments that others measure (measure.c). A measurement costs 0.9 us.
 * Of many stretches without idle time a random sample is measured, so that measuring takes at most
 * about a hundredth of the time. The sample must be random: stretches that follow others after a
 * pause, for instance, might all be short.
 */
#ifndef CK_SHARE_H
#define CK_SHARE_H

#include <stdbool.h>
#include <stdint.h>

/** Resources that a thread has used so far. */
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
	uint32_t left_out;        /* this many of 2^31 are not measured */
	uint64_t counted_ns, draw;
	struct moment from;       /* its begin */
	struct share_time all;    /* of all measured stretches */
	struct share_time recent; /* the same, weighted by age */
	struct share_time worst;  /* the stretch of `recent` that lost most time, with the same weight */
	uint64_t aged_ns;         /* when the weights were last updated */
};

/** The PE becomes busy: whether to measure this stretch. */
bool share_wants(struct share *s, uint64_t wall_ns);
/** Measure it. */
void share_begin(struct share *s, const struct moment *now);
/** The PE becomes idle; only if s->on. */
void share_end(struct share *s, const struct moment *now);

/** At a sync: add the present stretch so far, and reduce the weight of older ones. */
void share_look(struct share *s, const struct moment *now);

/** The share of the core, in (0, 1], from recent stretches; 1 if these are too few, or if the share
 * is nearly all, or would be but for one stretch. */
double share_speed(const struct share *s);

/** The factor for seconds measured since share.all was `before`, to get what they would have been
 * with the PE's recent share all the time. 1 if less than half of the busy time since then has been
 * measured, or if the share is nearly all but for one stretch: then a single handler has lost that
 * time. */
double share_evens(const struct share *s, const struct share_time *before, double busy_seconds);

#endif
