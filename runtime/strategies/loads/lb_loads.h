/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lb_loads.h: the data of strategies: loads of PEs, and the PEs ordered by load.
 *
 * A handler that took t seconds on a PE of speed v is t * v of work, and takes t * v / w on a PE of
 * speed w. Bad numbers (NaN, below 0) count as 0, bad speeds as 1.
 */
#ifndef CK_LB_LOADS_H
#define CK_LB_LOADS_H

#include "../../chare/cklb.h"

#include <stdbool.h>

/** Loads of a distribution. All arrays lie in one block with the struct. */
struct lb_loads {
	int n_pes;
	size_t n;
	double *speed;            /* [n_pes] above 0 */
	double *fixed;            /* [n_pes] seconds that no strategy can move: background, pinned
				   * elements */
	double *load;             /* [n_pes] seconds: fixed, and the elements that are there now */
	double *work;             /* [n] of an element; of a pinned one 0 */
	double total;             /* of all work */
	double level;             /* seconds of every PE that gets work, if work were divisible */
	double limit;             /* a PE with this much is not overloaded: level and tolerance */
};

/** Of the distribution `to`, whose pinned elements are in place. Free it with free(). */
struct lb_loads *lb_loads_create(const CkLBStats *s, const int32_t *to);

/** Move the element from PE `from` to PE `to`; a PE of -1 is ignored. */
static inline void lb_loads_move(struct lb_loads *l, size_t i, int from, int to)
{
	if (from >= 0)
		l->load[from] -= l->work[i] / l->speed[from];
	if (to >= 0)
		l->load[to] += l->work[i] / l->speed[to];
}

double lb_loads_max(const struct lb_loads *l);

/** Discard a distribution if its longest PE takes longer than at present and longer than `enough`
 * seconds. */
void lb_undo_if_worse(const CkLBStats *s, int32_t *to, double enough);

/** Numbers of movable elements, most work first, equal ones by number. *n_p: how many. Free it with
 * free(). */
uint32_t *lb_by_work(const CkLBStats *s, const struct lb_loads *l, size_t *n_p);

/** PEs by a key, the least on top; equal keys by number, so that results are reproducible. */
struct lb_heap {
	int n;
	const double *key;        /* [n] the caller's, who calls lb_heap_changed after each change */
	double sign;              /* -1: the greatest on top */
	int *item, *at;           /* item[at[pe]] == pe; the heap's own */
};

void lb_heap_init(struct lb_heap *h, int n, const double *key, double sign);
void lb_heap_fini(struct lb_heap *h);
void lb_heap_changed(struct lb_heap *h, int item);
/** Take one out for good. */
void lb_heap_remove(struct lb_heap *h, int item);
static inline int lb_heap_top(const struct lb_heap *h) { return h->item[0]; }

/** The quality of a distribution. Times are seconds of a PE, including background and speed. */
struct lb_quality {
	double max;               /* of the PE that takes longest */
	double fair;              /* of all PEs, if work were divisible: a lower bound */
	double largest;           /* of the largest element that may move, on the fastest PE */
	size_t n_moved;           /* elements that change their PE, */
	size_t n_moved_far;       /* those that change their process, too, */
	uint64_t bytes_moved;     /* and these elements' bytes */
	uint64_t messages_cut, bytes_cut;   /* edges between PEs */
	uint64_t bytes_cut_far;   /* edges between processes */
};

/** Of the distribution `to`; NULL: the present one. */
void lb_quality(const CkLBStats *s, const int32_t *to, struct lb_quality *q);

#endif
