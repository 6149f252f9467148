/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lb_graph.h: the input of graph partitioners: elements and their calls as an undirected graph with
 * integer weights; and the mapping from their parts to PEs. Debian's METIS and SCOTCH use 32 bits.
 */
#ifndef CK_LB_GRAPH_H
#define CK_LB_GRAPH_H

#include "lb_loads.h"

struct lb_graph {
	int32_t n;                /* elements */
	int32_t n_adj;            /* first[n] */
	int32_t *first;           /* [n + 1] */
	int32_t *other;           /* [n_adj] neighbours of element i: other[first[i]] .. other[first[i + 1]
				   * - 1] */
	int32_t *edge;            /* [n_adj] weights from 1 on: bytes, and a cost of each message */
	int32_t *work;            /* [n] weights; 0: pinned, or idle */
	/* PEs that get any work, and how much. Part k should have the share of its PE. */
	int32_t n_parts;
	int32_t *pe;              /* [n_parts] */
	double *share;            /* [n_parts] their sum is 1 */
	struct lb_loads *loads;
};

/** Set part[i] of each element; 0, or the negative errno that the strategy returns. */
typedef int (*lb_partition_fn)(const void *library, const CkLBStats *s, struct lb_graph *g,
			       int32_t *part);

/** Run a strategy: make the graph, partition it with the library's function, and set to[i] from
 * part[i]. Part k goes to g->pe[k]; with `rename` parts change places among PEs with equal shares,
 * so that most work stays where it is. A result worse than the present one, and beyond the
 * tolerance, is discarded. With fewer elements than parts nothing is done, because libraries do not
 * report that. -E2BIG: more than 2^31 ends of edges. */
int lb_graph_run(const CkLBStats *s, lb_partition_fn partition, const void *library, bool rename,
		 int32_t *to);

#endif
