/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cklb.h: load balancing strategies. A program that only calls CkAtSync needs nothing of this
 * header; it is for authors of strategies. ck.h includes it.
 *
 * A strategy is a pure function: it reads the measurements and assigns each element a PE. It sends
 * nothing, keeps nothing between calls but the target of `arg`, and runs on one PE. So it can be
 * tested alone, on statistics that were recorded (CK_LB_DUMP) or made up.
 */
#ifndef CKLB_H
#define CKLB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** The measurements of one element since the previous step. */
typedef struct CkLBElement {
	int32_t index[6];         /* the element's index; what lies beyond its dimensions is 0 */
	int32_t pe;               /* where it lives */
	uint32_t pinned;          /* not 0: it cannot move, or CkPin forbids it */
	float seconds;            /* its handlers ran, or would run if CkSetLoad is right, on this PE.
				   * Times the PE's speed it is work: divided by the speed of another PE,
				   * what it would take there */
	float position[3];        /* CkSetPosition; else its index, 0 where there is none */
	uint64_t bytes;           /* packed, as far as known; 0: not known */
} CkLBElement;

/** What one element sent to another: calls, those in [aggregate] batches included, and puts into
 * named channels. Broadcasts and multicasts are no edges: they cost the same wherever elements
 * live. Edges with the same ends come once. */
typedef struct CkLBEdge {
	uint32_t from, to;        /* indices into CkLBStats.element */
	uint32_t messages;        /* calls and puts */
	uint64_t bytes;           /* as they are sent: calls with their heads, unless in batches */
} CkLBEdge;

/** The input of a strategy: one array, on all PEs. The runtime owns all of it. */
typedef struct CkLBStats {
	int n_pes;
	int n_nodes;
	const int32_t *node_of;   /* [n_pes] the process of a PE; those of one host follow each other */
	const float *background;  /* [n_pes] seconds of a PE that belong to no element here: other
				   * chares */
	/* [n_pes] the share of its core that a PE gets; other programs use the remainder. 1: all of it.
	 * Nearly equal speeds are made equal. CK_LB_SPEEDS=off: 1 of all */
	const float *speed;
	size_t n;
	const CkLBElement *element; /* [n] in index order */
	size_t n_edges;           /* 0 unless the strategy wants CK_LB_EDGES */
	const CkLBEdge *edge;     /* [n_edges] by `from`, then `to` */
	double tolerance;         /* a PE may have this much more than the mean (CK_LB_TOLERANCE), for
				   * example 0.05 */
	uint64_t step;            /* of this array, from 0 */
} CkLBStats;

/** A strategy. to[i] is element[i].pe when it is called; it writes the PE that element i should go
 * to. Pinned elements stay in any case. If `to` never falls with i, a dense array is cut anew, and
 * calls find its elements as fast as in an array that never moved. Returns 0, or another number if
 * it has no result; then nothing moves, and the runtime prints that once for each array. */
typedef int (*CkLBStrategyFn)(const CkLBStats *s, int32_t *to, void *arg);

/** Measurements that a strategy requires. */
enum {
	CK_LB_EDGES = 1           /* edges; every call of an element costs more while they are recorded */
};

/** Register a strategy under a name, which CK_LB can then select. In an initnode routine, on every
 * process alike. The name must not be taken; it and `arg` stay the caller's and must outlive the
 * job. Charm++: a load balancer's module. */
void CkLBRegister(const char *name, CkLBStrategyFn fn, unsigned wants, void *arg);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
