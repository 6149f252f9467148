/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tour.c: the bound. What is missing from a trip is a path from its last city through the others
 * back to its first. Without its two ends that path is a tree over the other cities. So it is no
 * shorter than the smallest such tree plus, for each of the two, its shortest road to one of them.
 */
#include "tour.h"

#include <limits.h>
#include <stdlib.h>

#include "../random.h"
#include "ck.h"

enum { PLANE = 1000 };          /* places along each side */

/* Streets run in two directions only. */
void tour_make_roads(int *road, long cities, long seed)
{
	int at[TOUR_MAX][2];

	for (long i = 0; i < cities; i++)
		for (long d = 0; d < 2; d++)
			at[i][d] = (int)random_below((uint64_t)seed, (uint64_t)(2 * i + d), PLANE);
	for (long a = 0; a < cities; a++)
		for (long b = 0; b < cities; b++)
			road[a * TOUR_MAX + b] = abs(at[a][0] - at[b][0]) + abs(at[a][1] - at[b][1]);
}

struct tour tour_extend(const struct tour *t, const int *road, int cities, int next)
{
	struct tour r = *t;

	r.length += tour_road(road, r.city[r.n - 1], next);
	r.city[r.n++] = (uint8_t)next;
	if (r.n == cities)
		r.length += tour_road(road, next, r.city[0]);
	return r;
}

unsigned tour_visited(const struct tour *t)
{
	unsigned visited = 0;

	for (int i = 0; i < t->n; i++)
		visited |= 1u << t->city[i];
	return visited;
}

static int nearest(const int *road, int from, unsigned to)
{
	int least = INT_MAX;

	for (int c = 0; c < TOUR_MAX; c++)
		if (to >> c & 1 && tour_road(road, from, c) < least)
			least = tour_road(road, from, c);
	return least;
}

/* Prim's algorithm. */
static int smallest_tree(const int *road, unsigned cities)
{
	int away[TOUR_MAX], length = 0, at = __builtin_ctz(cities);
	unsigned out = cities & ~(1u << at);

	for (int c = 0; c < TOUR_MAX; c++)
		away[c] = INT_MAX;
	while (out) {
		int next = -1;

		for (int c = 0; c < TOUR_MAX; c++) {
			if (!(out >> c & 1))
				continue;
			if (tour_road(road, at, c) < away[c])
				away[c] = tour_road(road, at, c);
			if (next < 0 || away[c] < away[next])
				next = c;
		}
		length += away[next];
		out &= ~(1u << next);
		at = next;
	}
	return length;
}

int tour_bound(const struct tour *t, const int *road, int cities)
{
	unsigned left = ~tour_visited(t) & ((1u << cities) - 1);

	if (!left)
		return t->length;
	return t->length + nearest(road, t->city[t->n - 1], left) + smallest_tree(road, left) +
	       nearest(road, t->city[0], left);
}

int tour_length(const struct tour *t, const int *road, int cities)
{
	int length = 0;

	if (t->n != cities || tour_visited(t) != (1u << cities) - 1)
		return -1;
	for (int i = 0; i < cities; i++)
		length += tour_road(road, t->city[i], t->city[(i + 1) % cities]);
	return length;
}

/*
 * path[set][last]: the shortest path from city 0 through the cities of `set` that ends in `last`,
 * which is one of them. Bit i of a set is city i + 1. Each path is made from those of smaller sets.
 *
 * Source: Bellman, and Held and Karp, both 1962.
 */
static int shortest_path(const int *road, const int *path, int n, unsigned set, int last)
{
	unsigned before = set & ~(1u << last);
	int least = INT_MAX;

	if (!before)
		return tour_road(road, 0, last + 1);
	for (int c = 0; c < n; c++)
		if (before >> c & 1) {
			int length = path[before * (unsigned)n + (unsigned)c] +
				     tour_road(road, c + 1, last + 1);

			if (length < least)
				least = length;
		}
	return least;
}

int tour_shortest(const int *road, int cities)
{
	int n = cities - 1, least = INT_MAX;
	unsigned all = (1u << n) - 1;
	int *path = malloc(((size_t)all + 1) * (size_t)(n + 1) * sizeof *path);

	if (!path)
		CkAbort("bnb: no memory for the shortest paths between %d cities", cities);
	for (unsigned set = 1; set <= all; set++)
		for (int last = 0; last < n; last++)
			if (set >> last & 1)
				path[set * (unsigned)n + (unsigned)last] =
					shortest_path(road, path, n, set, last);
	for (int last = 0; last < n; last++) {
		int length = path[all * (unsigned)n + (unsigned)last] + tour_road(road, 0, last + 1);

		if (length < least)
			least = length;
	}
	free(path);
	return n ? least : 0;
}
