/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.h: directed graphs of which each chare can make a part by itself, and what one processor
 * says about their strongly connected components.
 */
#ifndef SCC_GRAPH_H
#define SCC_GRAPH_H

#include <stdint.h>

enum graph_kind { GRAPH_RANDOM, GRAPH_GRID };

enum { GRAPH_MOST_OUT = 16 };

/** Random: each vertex has `degree` edges, wherever they lead. Grid: a square of vertices; between
 * two neighbours goes an edge in each direction for `both` of 100 pairs, else in one of them. */
struct graph {
	enum graph_kind kind;
	long vertices, side;    /* of a grid: the next smaller square, and its root */
	long degree, both;
	long seed;
};

/** What is said about the components, whatever their order. */
struct graph_result {
	long components, largest;
	uint64_t sum;           /* of hashes of vertices and their components */
};

struct graph graph_make(long kind, long vertices, long degree, long both, long seed);

/** The heads of the edges that leave vertex v. Returns how many there are. */
int graph_out(const struct graph *g, long v, long to[GRAPH_MOST_OUT]);

/** The hash of a vertex in a component, which is named by the largest of its vertices. */
uint64_t graph_hash(long vertex, long component);

/** By Tarjan's algorithm. */
struct graph_result graph_serial(const struct graph *g);

#endif
