/* SPDX-License-Identifier: Apache-2.0 */
/* lb_make.h: statistics for tests of load balancing, made by hand or from a seed. */
#ifndef LB_MAKE_H
#define LB_MAKE_H

#include "../../runtime/strategies/strategies.h"
#include "../../runtime/machine/tools/cmi_random.h"

#include <stdlib.h>
#include <string.h>

/** Statistics that may be written. */
struct made {
	CkLBStats s;
	int32_t *node_of;
	float *background, *speed;
	CkLBElement *element;
	CkLBEdge *edge;
	int32_t *to;              /* [n] for an answer */
};

/** n elements of 1 s each in a row, on PE 0; PEs of speed 1, `per_node` of them in a process. */
static inline struct made made_create(int n_pes, int per_node, size_t n, size_t n_edges)
{
	struct made m = { .node_of = calloc((size_t)n_pes, sizeof *m.node_of),
		.background = calloc((size_t)n_pes, sizeof *m.background),
		.speed = calloc((size_t)n_pes, sizeof *m.speed), .element = calloc(n + 1, sizeof *m.element),
		.edge = calloc(n_edges + 1, sizeof *m.edge), .to = calloc(n + 1, sizeof *m.to) };

	m.s = (CkLBStats){ .n_pes = n_pes, .n_nodes = (n_pes + per_node - 1) / per_node, .node_of = m.node_of,
		.background = m.background, .speed = m.speed, .n = n, .element = m.element, .n_edges = n_edges,
		.edge = m.edge, .tolerance = 0.05 };
	for (int p = 0; p < n_pes; p++) {
		m.node_of[p] = p / per_node;
		m.speed[p] = 1;
	}
	for (size_t i = 0; i < n; i++) {
		m.element[i].index[0] = (int32_t)i;
		m.element[i].position[0] = (float)i;
		m.element[i].seconds = 1;
		m.element[i].bytes = 100;
	}
	return m;
}

static inline void made_free(struct made *m)
{
	free(m->node_of);
	free(m->background);
	free(m->speed);
	free(m->element);
	free(m->edge);
	free(m->to);
}

/** Below 1, at least 0. */
static inline double made_fraction(uint64_t *state) { return (double)(cmi_random_next(state) >> 11) * 0x1p-53; }

/** Edges between the neighbours of a grid, both ways; their number. */
static inline size_t made_grid_edges(CkLBEdge *edge, int wide, int high)
{
	static const int dx[] = { 0, -1, 1, 0 }, dy[] = { -1, 0, 0, 1 };
	size_t n = 0;

	for (int y = 0; y < high; y++)
		for (int x = 0; x < wide; x++)
			for (int k = 0; k < 4; k++) {
				int u = x + dx[k], v = y + dy[k];

				if (u >= 0 && u < wide && v >= 0 && v < high)
					edge[n++] = (CkLBEdge){ (uint32_t)(y * wide + x), (uint32_t)(v * wide + u), 10, 8000 };
			}
	return n;
}

/** A grid of elements, row by row in blocks on the PEs. */
static inline struct made made_grid(int n_pes, int per_node, int wide, int high)
{
	struct made m = made_create(n_pes, per_node, (size_t)wide * (size_t)high, 4 * (size_t)wide * (size_t)high);

	m.s.n_edges = made_grid_edges(m.edge, wide, high);
	for (int i = 0; i < wide * high; i++) {
		m.element[i].index[0] = i / wide;
		m.element[i].index[1] = i % wide;
		m.element[i].position[0] = (float)(i / wide);
		m.element[i].position[1] = (float)(i % wide);
		m.element[i].pe = (int32_t)((int64_t)i * n_pes / (wide * high));
	}
	return m;
}

/** Anything: loads from equal to very uneven, some pinned, some idle, with background and different speeds or not. */
static inline struct made made_random(uint64_t seed)
{
	uint64_t state = cmi_random_seed(seed);
	int n_pes = 1 + (int)cmi_random_below(&state, 20), wide = 1 + (int)cmi_random_below(&state, 20);
	struct made m = made_grid(n_pes, 1 + (int)cmi_random_below(&state, 4), wide, 1 + (int)cmi_random_below(&state, 20));
	bool scattered = seed & 1, background = seed & 2, speeds = seed & 4, pinned = seed & 8;

	for (size_t i = 0; i < m.s.n; i++) {
		double x = made_fraction(&state);

		if (scattered)
			m.element[i].pe = (int32_t)cmi_random_below(&state, (uint64_t)n_pes);
		m.element[i].seconds = (float)(seed & 16 ? x : x * x * x * x * 100);
		m.element[i].pinned = pinned && cmi_random_below(&state, 8) == 0;
		if (cmi_random_below(&state, 16) == 0)
			m.element[i].seconds = 0;
		m.element[i].bytes = cmi_random_below(&state, 5000);
	}
	for (int p = 0; p < n_pes; p++) {
		if (background)
			m.background[p] = (float)(made_fraction(&state) * (double)m.s.n / n_pes);
		if (speeds)
			m.speed[p] = (float)(0.3 + 0.7 * made_fraction(&state));
	}
	m.s.step = seed;
	return m;
}

#endif
