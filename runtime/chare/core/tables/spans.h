/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spans.h: a set of broadcasts of one collection, each named by its root and by the number that the
 * root gave it. Roots number from 1 on, and a PE handles nearly all broadcasts of a root in that
 * order, so a set is a few spans per root: mostly one, and one for each gap that a broadcast of a
 * lower priority has left.
 */
#ifndef CK_SPANS_H
#define CK_SPANS_H

#include <stdbool.h>
#include <stdint.h>

struct span {
	int32_t root;
	uint32_t reserved;        /* 0, because spans are sent; see SPANS_OF */
	uint64_t from, to;        /* the numbers from .. to - 1 */
};

/** The root of a head that is no span of broadcasts but precedes `reserved` others, whose subject
 * is `from`. */
enum { SPANS_OF = -1 };

/** Empty when all zero. Sorted by root, then by number; no two spans touch. */
struct spans {
	struct span *list;        /* ours */
	uint32_t n, cap;
	struct span *quick;       /* the one of `list` that has grown most recently, if it may grow
				   * further; else NULL */
};

void spans_free(struct spans *s);
bool spans_has(const struct spans *s, int root, uint64_t no);
bool spans_has_root(const struct spans *s, int root);
/** False, and nothing has changed: it is in the set already. */
bool spans_add(struct spans *s, int root, uint64_t no);
/** False, and nothing has changed: it is not in the set. */
bool spans_take(struct spans *s, int root, uint64_t no);
/** Append a span after all others that touches none. */
void spans_append(struct spans *s, struct span what);
/** A set of n spans that are sorted as in a set. The caller frees it. */
struct spans spans_copy(const struct span *list, uint32_t n);
/** What is in a and not in b. The caller frees it. */
struct spans spans_minus(const struct spans *a, const struct spans *b);
/** Whether n spans from another process are a set of broadcasts of a job with n_pes PEs. */
bool spans_fit(const struct span *list, uint32_t n, int n_pes);

/** The highest number of the root; 0: none. */
uint64_t spans_last(const struct spans *s, int root);

/** Add the next of the root, of whose number only the lower half is known. Returns the number; 0,
 * with no change: its root is not that of the last one, or it is not the next. */
static inline uint64_t spans_count_next(struct spans *s, int root, uint32_t low)
{
	struct span *at = s->quick;

	return at && at->root == root && (uint32_t)at->to == low ? at->to++ : 0;
}

/** Add one that is mostly the next of its root, and the root mostly that of the last one. */
static inline void spans_count(struct spans *s, int root, uint64_t no)
{
	struct span *at = s->quick;

	if (at && at->root == root && at->to == no)
		at->to++;
	else
		spans_add(s, root, no);
}

#endif
