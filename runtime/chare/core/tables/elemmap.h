/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elemmap.h: a table from elements of one array to numbers. It is compact, because it may have an
 * entry for each element that has moved: 16 bytes a slot, and it grows by a quarter when four
 * fifths of the slots are in use. Open addressing. Only its PE's thread uses it.
 *
 *   0         8        12      16
 *   +---------+--------+-------+
 *   | a       | b      | no    |     a, b: which element; no: its number, 0: the slot is free
 *   +---------+--------+-------+
 */
#ifndef CK_ELEMMAP_H
#define CK_ELEMMAP_H

#include <stddef.h>
#include <stdint.h>

/** Which element: its place, or in a sparse array its index. elem_key_of in index.h makes it. */
struct elem_key {
	uint64_t a;
	uint32_t b;               /* 0 for a place */
};

struct elemmap_slot {
	uint64_t a;
	uint32_t b, no;
};
_Static_assert(sizeof(struct elemmap_slot) == 16, "four slots share a cache line");

/** Empty when all zero. elemmap_free frees it. */
struct elemmap {
	struct elemmap_slot *slot; /* [size] */
	uint32_t size, n;
};

static inline struct elem_key elem_key_of_place(uint64_t place)
{
	return (struct elem_key){ place, 0 };
}
static inline struct elem_key elemmap_key(const struct elemmap_slot *s)
{
	return (struct elem_key){ s->a, s->b };
}

/** Where the search begins. The upper half of a product depends on all bits; scaling it needs no
 * power of two. */
static inline uint32_t elemmap_start(const struct elemmap *m, struct elem_key k)
{
	const uint64_t h = (k.a ^ k.b * UINT64_C(0xd6e8feb86659fd93)) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)((h >> 32) * m->size >> 32);
}

static inline uint32_t elemmap_behind(const struct elemmap *m, uint32_t i)
{
	return i + 1 < m->size ? i + 1 : 0;
}

/** The slot of an element, valid until the next addition or removal; NULL: there is none. The
 * caller may set `no`, but not to 0. */
static inline struct elemmap_slot *elemmap_find(const struct elemmap *m, struct elem_key k)
{
	if (!m->n)
		return NULL;
	for (uint32_t i = elemmap_start(m, k); m->slot[i].no; i = elemmap_behind(m, i))
		if (m->slot[i].a == k.a && m->slot[i].b == k.b)
			return &m->slot[i];
	return NULL;
}

/** Add an element that is not in the table. Without memory it ends the job. */
void elemmap_add(struct elemmap *m, struct elem_key k, uint32_t no);
void elemmap_remove(struct elemmap *m, struct elemmap_slot *s);
void elemmap_free(struct elemmap *m);

/** The first occupied slot from *i on; sets *i to its number. NULL: no more. Begin with 0, continue
 * with *i + 1. */
static inline struct elemmap_slot *elemmap_each(const struct elemmap *m, uint32_t *i)
{
	for (; *i < m->size; ++*i)
		if (m->slot[*i].no)
			return &m->slot[*i];
	return NULL;
}

#endif
