/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pays.h: whether compressing pays, for each other host and each kind of item.
 *
 * It pays when a byte takes the link longer than it takes to compress and restore it, and to carry
 * what is left:
 *
 *   squeezing + restoring + ratio * link < link       (ns a byte)
 *
 * The link's time is measured by the receiver, of frames that leave right after another one of their
 * item. A frame came between the last poll that found nothing before its predecessor and now: the
 * link has not taken longer. That is true whoever lost his core meanwhile, so of the last such
 * bounds a low quantile counts, and that of *all* frames: those that were waited for are all of a
 * slow link's, but of a fast link's only those that something else has held up. Where fewer than
 * half were waited for, the link is not what takes the time, and it counts as fast. Frames back
 * tell the sender.
 *
 * Squeezed frames are not measured: they are few bytes, and the sender made the gap before them. So
 * one is left as it is now and then.
 *
 * Ratio and speed are measured on what was compressed. A kind that does not pay is tried again now
 * and then: the slower it is beside the link, the more seldom.
 */
#ifndef PAYS_H
#define PAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PAYS_KINDS = 16, PAYS_GAPS = 16 };

/** What one PE knows about another host. */
struct host_pays {
	struct host_pays *next;
	uint64_t host_id;
	uint32_t link_kbs; /* to that host, as it says; 0: unknown */
	uint64_t packed;   /* bytes of squeezed frames since the last one was left for measuring */
	/* From that host: the last gaps, and what they say; 0: too few. */
	struct link_gap {
		double most; /* ns a byte */
		bool own;    /* it was waited for, and the sender did not make it */
	} gap[PAYS_GAPS];
	unsigned n_gaps;
	uint32_t came_kbs;
	struct kind_pays {
		double ratio, ns;  /* after / before; of a byte to squeeze it; ns 0: never tried */
		unsigned wait;     /* how many more items leave as they are until the next try */
	} kind[PAYS_KINDS];
};

/** Whether to compress `bytes` bytes now, because it pays or because it is to be found out. */
bool pays_to_try(struct host_pays *h, unsigned kind, size_t bytes);
/** It has been done: `packed` bytes in `ns`. */
void pays_learn(struct host_pays *h, unsigned kind, size_t bytes, size_t packed, uint64_t ns);

/** A frame that is not squeezed has come, not the first of its item, and has taken at most
 * `most_ns`. `gap_ns` after the one before it was seen; 0: it has not been waited for.
 * `apart_ns`: how long after that it left. */
void pays_came(struct host_pays *h, size_t bytes, uint64_t most_ns, uint64_t gap_ns,
	       uint64_t apart_ns);

/** Whether to leave a frame that is not the first of its item as it is, to have the link measured
 * by it. */
bool pays_to_measure(struct host_pays *h, size_t bytes);

/** Whether to cut an item in two only to have the second half measured: while the link is unknown, and
 * now and then. `n`: counts the items. */
bool pays_to_cut(const struct host_pays *h, size_t bytes, unsigned n);

#endif
