/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c: the graphs, and their components by one processor (Tarjan, 1972). */
#include "graph.h"

#include <stdbool.h>
#include <stdlib.h>

#include "../memory.h"
#include "../random.h"
#include "ck.h"

/* ---- edges ------------------------------------------------------------------------------- */

/* The root, by Newton's steps from above. */
static long side_of(long vertices)
{
	long side = vertices, next = (vertices + 1) / 2;

	while (next < side) {
		side = next;
		next = (side + vertices / side) / 2;
	}
	return side;
}

struct graph graph_make(long kind, long vertices, long degree, long both, long seed)
{
	const long side = kind == GRAPH_GRID ? side_of(vertices) : 0;

	return (struct graph){
		.kind = (enum graph_kind)kind, .vertices = side ? side * side : vertices, .side = side,
		.degree = degree, .both = both, .seed = seed,
	};
}

/* Whether an edge leads from `from` to its neighbour `to` in the grid. */
static bool leads(const struct graph *g, long from, long to)
{
	const long low = from < to ? from : to, high = from < to ? to : from;
	const uint64_t pair = 2 * (uint64_t)low + (high - low == 1);
	const uint64_t draw = random_at((uint64_t)g->seed, pair);

	return (long)(draw % 100) < g->both || (draw >> 32 & 1) == (from < to);
}

static int grid_out(const struct graph *g, long v, long *to)
{
	const long side = g->side, x = v % side, y = v / side;
	const long near[4] = { x > 0 ? v - 1 : -1, x < side - 1 ? v + 1 : -1, y > 0 ? v - side : -1,
			       y < side - 1 ? v + side : -1 };
	int n = 0;

	for (int i = 0; i < 4; i++)
		if (near[i] >= 0 && leads(g, v, near[i]))
			to[n++] = near[i];
	return n;
}

int graph_out(const struct graph *g, long v, long to[GRAPH_MOST_OUT])
{
	if (g->kind == GRAPH_GRID)
		return grid_out(g, v, to);
	for (long i = 0; i < g->degree; i++)
		to[i] = random_below((uint64_t)g->seed, (uint64_t)(v * g->degree + i), g->vertices);
	return (int)g->degree;
}

uint64_t graph_hash(long vertex, long component)
{
	return random_mix((uint64_t)vertex * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)component);
}

/* ---- Tarjan's algorithm ------------------------------------------------------------------ */

/* The depth-first search has a stack of its own: a path may be as long as the graph is large. */
struct search {
	const struct graph *g;
	long *number, *low;     /* of each vertex; 0: not seen yet */
	long *open, n_open;     /* seen, and in no component yet */
	long *path, n_path;     /* from the root to here */
	int *next;              /* the edge of each vertex that is followed next */
	bool *is_open;
	long seen;
	struct graph_result result;
};

static void enter(struct search *s, long v)
{
	s->number[v] = s->low[v] = ++s->seen;
	s->open[s->n_open++] = s->path[s->n_path++] = v;
	s->is_open[v] = true;
}

/* Those above v on the stack, and v, are a component. */
static void close_component(struct search *s, long v)
{
	long size = 0, largest = v, from = s->n_open;

	do
		largest = s->open[--from] > largest ? s->open[from] : largest;
	while (s->open[from] != v);
	for (size = s->n_open - from; s->n_open > from;) {
		const long w = s->open[--s->n_open];

		s->is_open[w] = false;
		s->result.sum += graph_hash(w, largest);
	}
	s->result.components++;
	if (size > s->result.largest)
		s->result.largest = size;
}

/* One edge of the vertex at the path's end, or back from it. */
static void step(struct search *s)
{
	const long v = s->path[s->n_path - 1];
	long to[GRAPH_MOST_OUT];

	if (s->next[v] < graph_out(s->g, v, to)) {
		const long w = to[s->next[v]++];

		if (!s->number[w])
			enter(s, w);
		else if (s->is_open[w] && s->number[w] < s->low[v])
			s->low[v] = s->number[w];
		return;
	}
	if (s->low[v] == s->number[v])
		close_component(s, v);
	if (--s->n_path && s->low[v] < s->low[s->path[s->n_path - 1]])
		s->low[s->path[s->n_path - 1]] = s->low[v];
}

struct graph_result graph_serial(const struct graph *g)
{
	const long n = g->vertices;
	struct search s = {
		.g = g, .number = get(n, sizeof(long)), .low = get(n, sizeof(long)),
		.open = get(n, sizeof(long)), .path = get(n, sizeof(long)), .next = get(n, sizeof(int)),
		.is_open = get(n, sizeof(bool)),
	};

	for (long root = 0; root < n; root++) {
		if (!s.number[root])
			enter(&s, root);
		while (s.n_path)
			step(&s);
	}
	free(s.number);
	free(s.low);
	free(s.open);
	free(s.path);
	free(s.next);
	free(s.is_open);
	return s.result;
}
