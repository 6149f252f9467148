/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quad.h: the squares of a quadtree, the points in them, and the tree as one processor makes it, to
 * check the parallel one with.
 *
 * Level 0 is the whole plane, a square of SIDE x SIDE places. A square of level k is at (x, y) of a
 * grid of 2^k x 2^k squares. A square that has more than `capacity` points and can be cut has four
 * parts in the next level. Any other keeps its points.
 */
#ifndef TREEINSERT_QUAD_H
#define TREEINSERT_QUAD_H

#include <stdbool.h>
#include <stdint.h>

enum { QUAD_LEVELS = 20, QUAD_SIDE = 1 << QUAD_LEVELS, QUAD_PARTS = 4 };

/** An array's index: 12 bytes without gaps. */
typedef struct quad {
	int32_t level, x, y;
} quad;

struct point {
	int32_t x, y;
};

/** Sums over the squares of a tree. */
enum { QUAD_SQUARES, QUAD_LEAVES, QUAD_POINTS, QUAD_HASH, QUAD_N_SUMS };

static inline bool quad_is_full(quad q, long n, long capacity)
{
	return n > capacity && q.level < QUAD_LEVELS;
}

static inline quad quad_part(quad q, int i)
{
	return (quad){q.level + 1, 2 * q.x + i % 2, 2 * q.y + i / 2};
}

static inline quad quad_whole(quad part)
{
	return (quad){part.level - 1, part.x / 2, part.y / 2};
}

/** Make point i of a seed. They lie denser around a few centres. */
struct point quad_point(long seed, long i);

/** Sort the points of a square by its parts: those of part k are first_p[k] .. first_p[k + 1] - 1. */
void quad_split(quad q, int n, struct point *p, int first_p[QUAD_PARTS + 1]);

/** Add a square with its n points, 0 if it has parts, to the sums. */
void quad_add(quad q, bool is_leaf, int n, const struct point *p, long sums[QUAD_N_SUMS]);

/** Add the whole tree below q with these points, no deeper than `deepest`; p is sorted. */
void quad_add_tree(quad q, int n, struct point *p, long capacity, long deepest,
		   long sums[QUAD_N_SUMS]);

#endif
