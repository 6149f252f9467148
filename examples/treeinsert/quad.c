/* SPDX-License-Identifier: Apache-2.0 */
#include "quad.h"

#include "../random.h"

enum { CENTRES = 3 };

/* Each halving of the distance from the centre has the same number of points. */
struct point quad_point(long seed, long i)
{
	uint64_t at = 5 * (uint64_t)i + 2 * CENTRES;
	uint64_t centre = random_at((uint64_t)seed, at) % CENTRES;
	int shift = (int)(random_at((uint64_t)seed, at + 1) % 8);
	struct point p;

	p.x = (int32_t)(random_at((uint64_t)seed, 2 * centre) +
			(random_at((uint64_t)seed, at + 2) % QUAD_SIDE >> shift)) &
	      (QUAD_SIDE - 1);
	p.y = (int32_t)(random_at((uint64_t)seed, 2 * centre + 1) +
			(random_at((uint64_t)seed, at + 3) % QUAD_SIDE >> shift)) &
	      (QUAD_SIDE - 1);
	return p;
}

static int part_of(quad q, struct point p)
{
	int bit = QUAD_LEVELS - 1 - q.level;

	return (p.x >> bit & 1) + 2 * (p.y >> bit & 1);
}

static void swap(struct point *a, struct point *b)
{
	struct point c = *a;

	*a = *b;
	*b = c;
}

void quad_split(quad q, int n, struct point *p, int first_p[QUAD_PARTS + 1])
{
	int done = 0;

	for (int part = 0; part < QUAD_PARTS; part++) {
		first_p[part] = done;
		for (int i = done; i < n; i++)
			if (part_of(q, p[i]) == part)
				swap(&p[i], &p[done++]);
	}
	first_p[QUAD_PARTS] = n;
}

/* Points may come in any order, so their hashes are added. */
void quad_add(quad q, bool is_leaf, int n, const struct point *p, long sums[QUAD_N_SUMS])
{
	uint64_t place = random_mix(((uint64_t)q.level << 42 | (uint64_t)q.x << 21 | (uint64_t)q.y) + 1);
	uint64_t hash = random_mix(place + is_leaf);

	for (int i = 0; i < n; i++)
		hash += random_mix(place ^ ((uint64_t)p[i].x << 32 | (uint64_t)p[i].y));
	sums[QUAD_SQUARES]++;
	sums[QUAD_LEAVES] += is_leaf;
	sums[QUAD_POINTS] += n;
	sums[QUAD_HASH] += (long)(hash >> 24);  /* 40 bits: 8 million squares do not overflow */
}

void quad_add_tree(quad q, int n, struct point *p, long capacity, long deepest,
		   long sums[QUAD_N_SUMS])
{
	bool is_leaf = q.level >= deepest || !quad_is_full(q, n, capacity);
	int first[QUAD_PARTS + 1];

	quad_add(q, is_leaf, is_leaf ? n : 0, p, sums);
	if (is_leaf)
		return;
	quad_split(q, n, p, first);
	for (int i = 0; i < QUAD_PARTS; i++)
		quad_add_tree(quad_part(q, i), first[i + 1] - first[i], p + first[i], capacity, deepest,
			      sums);
}
