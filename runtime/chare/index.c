/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index.c: what an index is: 12 bytes that hold up to three int32, four to six int16, or a type of
 * the user's. In an array with extents an index has a place, its number in row-major order. A
 * sparse array finds its elements by a hash of the index.
 */
#include "dynamic_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- its numbers ----------------------------------------------------------------------------- */

static void unpack(int nd, CkIndex i, int32_t v[6])
{
	for (int d = 0; d < nd; d++)
		v[d] = nd > 3 ? CkIndexShort(i, d) : i.v[d];
}

CkIndex index_pack(int nd, const int32_t v[6])
{
	CkIndex i = { { 0, 0, 0 } };
	int16_t s[6] = { 0, 0, 0, 0, 0, 0 };

	for (int d = 0; d < nd; d++) {
		s[d] = (int16_t)v[d];
		if (nd <= 3)
			i.v[d] = v[d];
	}
	if (nd > 3)
		memcpy(&i, s, sizeof i);
	return i;
}

uint64_t index_place_slow(const struct collection *c, CkIndex i)
{
	uint64_t place = 0;
	int32_t v[6];

	unpack(c->dims.nd, i, v);
	for (int d = 0; d < c->dims.nd; d++) {
		if ((uint32_t)v[d] >= (uint32_t)c->dims.n[d])
			return UINT64_MAX;
		place = place * (uint64_t)c->dims.n[d] + (uint64_t)v[d];
	}
	return place;
}

/* Of a sparse array that was made with start, end and step: the number that the index has among
 * the elements made then. UINT64_MAX: it was none of them. */
uint64_t index_lattice(const struct collection *c, CkIndex i)
{
	const struct dynamic *dyn = c->dyn;
	uint64_t place = 0;
	int32_t v[6];

	if (!c->dims.nd)
		return UINT64_MAX;
	unpack(c->dims.nd, i, v);
	for (int d = 0; d < c->dims.nd; d++) {
		int64_t at = (int64_t)v[d] - dyn->start[d];

		if (at < 0 || at % dyn->step[d] || at / dyn->step[d] >= c->dims.n[d])
			return UINT64_MAX;
		place = place * (uint64_t)c->dims.n[d] + (uint64_t)(at / dyn->step[d]);
	}
	return place;
}

/* The index at a place; of a sparse array, at a number in its lattice. */
CkIndex index_at(const struct collection *c, uint64_t place)
{
	int32_t v[6] = { 0, 0, 0, 0, 0, 0 };

	for (int d = c->dims.nd - 1; d >= 0; d--) {
		v[d] = (int32_t)(place % (uint64_t)c->dims.n[d]);
		place /= (uint64_t)c->dims.n[d];
		if (c->sparse)
			v[d] = c->dyn->start[d] + v[d] * c->dyn->step[d];
	}
	return index_pack(c->dims.nd, v);
}

/* ---- in error lines ---------------------------------------------------------------------------- */

static void list_numbers(int n, const int32_t *v, char *buf, size_t len)
{
	size_t at = 0;

	buf[0] = 0;
	for (int d = 0; d < n && at < len; d++)
		at += (size_t)snprintf(buf + at, len - at, "%s%d", d ? ", " : "", v[d]);
}

/* "(3, 4)"; of a type of the user's, its bytes. */
void index_describe(const CkGenChare *type, CkIndex i, char *buf, size_t len)
{
	const unsigned char *bytes = (const unsigned char *)&i;
	char list[80];
	int32_t v[6];
	size_t at = 0;

	if (!type->index_bytes) {
		int nd = type->nd ? type->nd : 1;

		unpack(nd, i, v);
		list_numbers(nd, v, list, sizeof list);
	}
	for (int b = 0; b < type->index_bytes; b++)
		at += (size_t)snprintf(list + at, sizeof list - at, "%s%02x", b ? " " : "", bytes[b]);
	snprintf(buf, len, "(%s)", list);
}

_Noreturn void index_bad(struct pe *pe, const struct collection *c, const char *what, CkIndex at)
{
	char index[96], dims[96];

	index_describe(c->type, at, index, sizeof index);
	list_numbers(c->type->nd ? c->type->nd : 1, c->dims.n, dims, sizeof dims);
	csd_abort(pe, "%s on element %s: the array has %s elements, from 0", what, index, dims);
}

/* ---- tables ------------------------------------------------------------------------------------ */

static size_t hash(CkIndex i)
{
	uint64_t h = (uint64_t)(uint32_t)i.v[0] << 32 | (uint32_t)i.v[1];

	h = (h ^ (uint32_t)i.v[2] * 0xd6e8feb86659fd93ull) * 0x9e3779b97f4a7c15ull;
	return (size_t)(h ^ h >> 29);
}

uint64_t index_hash(CkIndex i)
{
	return hash(i) >> 3;
}

static bool same(CkIndex a, CkIndex b)
{
	return !((a.v[0] ^ b.v[0]) | (a.v[1] ^ b.v[1]) | (a.v[2] ^ b.v[2]));
}

/* Where it is, or where it would go. */
static size_t look(const struct index_table *t, CkIndex i)
{
	size_t h = hash(i) & t->mask;

	while (t->slot[h] && !same(t->slot[h]->index, i))
		h = (h + 1) & t->mask;
	return h;
}

void *index_find(const struct index_table *t, CkIndex i)
{
	return t->n ? t->slot[look(t, i)] : NULL;
}

static void grow(struct pe *pe, struct index_table *t)
{
	struct index_table old = *t;

	t->mask = old.slot ? old.mask * 2 + 1 : 15;
	t->slot = calloc(t->mask + 1, sizeof(*t->slot));
	if (!t->slot)
		csd_abort(pe, "no memory for %zu elements", t->mask + 1);
	for (size_t h = 0; old.slot && h <= old.mask; h++)
		if (old.slot[h])
			t->slot[look(t, old.slot[h]->index)] = old.slot[h];
	free(old.slot);
}

void index_add(struct pe *pe, struct index_table *t, void *indexed)
{
	if (!t->slot || t->n > t->mask / 4 * 3)
		grow(pe, t);
	t->slot[look(t, ((struct indexed *)indexed)->index)] = indexed;
	t->n++;
}

/* What follows closes up, so that no search ends too early. */
void index_remove(struct index_table *t, CkIndex i)
{
	size_t hole = look(t, i), h = hole;

	if (!t->slot[hole])
		return;
	t->n--;
	for (;;) {
		t->slot[hole] = NULL;
		do {
			h = (h + 1) & t->mask;
			if (!t->slot[h])
				return;
		} while (((h - (hash(t->slot[h]->index) & t->mask)) & t->mask) <
			 ((h - hole) & t->mask));
		t->slot[hole] = t->slot[h];
		hole = h;
	}
}
