/* SPDX-License-Identifier: Apache-2.0 */
/* graph.h: em3d's random graph, each edge by its place, so that every PE makes its own part. */
#ifndef EM3D_GRAPH_H
#define EM3D_GRAPH_H

enum { E, H, KINDS };

struct graph {
	long pes, nodes, degree;        /* nodes of each kind on each PE, edges of each node */
	long remote;                    /* percent of the edges */
	long seed;
};

/** The node of the other kind that edge k of a node reads, and its weight. Node n of PE p has the
 * number p * nodes + n. */
long graph_edge(const struct graph *g, int kind, long node, long k, double *weight_p);

/** A node's value in the beginning. */
double graph_first(const struct graph *g, int kind, long node);

/** The values of all nodes of both kinds after so many iterations, on one processor. */
void graph_serial(const struct graph *g, long iters, double *values[KINDS]);

#endif
