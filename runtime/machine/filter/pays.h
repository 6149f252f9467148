/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pays.h: whether compressing pays, for each other host and each kind of item.
 *
 * It pays when a byte takes the link longer than it takes to compress and restore it, and to carry
 * what is left:
 *
 *   squeezing + restoring + ratio * link < link       (ns a byte)
 *
 * The link's time is measured by the receiver, of frames that leave right after another one of
 * their item. They came between the last poll that found nothing before their predecessor and now:
 * the link has not taken longer, whoever lost his core meanwhile. Of the last such bounds a low
 * quantile counts, of *all* frames: on a fast link those that were waited for are just the ones
 * that something else has held up. But where fewer than a quarter were waited for, the receiver is
 * what takes the time, and the link counts as fast. Frames back tell the sender.
 *
 * Squeezed frames are not measured: they are few bytes, and the gap before them is the time that
 * squeezing took. So one is left as it is now and then.
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
		bool waited; /* the receiver had nothing to do for a part of it */
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

/** A frame that is not squeezed has come, not the first of its item, and took at most `most` ns a
 * byte. `waited`: the receiver had nothing to do for a part of it. */
void pays_came(struct host_pays *h, size_t bytes, double most, bool waited);

/** Whether to leave a frame that is not the first of its item as it is, to have the link measured
 * by it. */
bool pays_to_measure(struct host_pays *h, size_t bytes);

/** Whether to cut an item in two only to have the second half measured: while the link is unknown,
 * and now and then. `n`: counts the items. */
bool pays_to_cut(const struct host_pays *h, size_t bytes, unsigned n);

#endif
