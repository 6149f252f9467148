/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pays.h: whether compressing pays, for each other host and each kind of item.
 *
 * It pays when a byte takes the link longer than it takes to compress and restore it, and to carry
 * what is left:
 *
 *   squeezing + restoring + ratio * link < link       (ns a byte)
 *
 * The link's time is measured by the receiver: the gap between two frames of one item, which leave
 * right after each other, if the receiver has waited for the second one; of the last such gaps the
 * median, because processes that lose their core make some long. Frames back tell it to the sender.
 * A link that is never waited for stays unknown, and nothing is compressed for it. Ratio and
 * speed are measured on what was compressed. A kind that does not pay is tried again now and then:
 * the slower it is beside the link, the more seldom.
 */
#ifndef PAYS_H
#define PAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PAYS_KINDS = 16, PAYS_GAPS = 9 };

/** What one PE knows about another host. */
struct host_pays {
	struct host_pays *next;
	uint64_t host_id;
	uint32_t link_kbs;          /* to that host, as it says; 0: unknown */
	/* From that host: the last gaps, in ns a byte, and what their median says; 0: too few. */
	double gap[PAYS_GAPS];
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

/** A frame has come `gap_ns` after the one before it, which it left `apart_ns` after, and was
 * waited for. */
void pays_came(struct host_pays *h, size_t bytes, uint64_t gap_ns, uint64_t apart_ns);

/** Whether to cut an item in two only to have such a gap measured: while the link is unknown, and
 * now and then. `n`: counts the items. */
bool pays_to_cut(const struct host_pays *h, size_t bytes, unsigned n);

#endif
