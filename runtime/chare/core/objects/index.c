/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index.c: an index is 12 bytes with up to three int32, four to six int16, or a type of the user's.
 * In an array with extents an index has a place, its number in row-major order. A sparse array
 * finds its elements by a hash of the index.
 */
#include "index.h"

#include "state.h"

#include <stdio.h>
#include <string.h>

/* ---- its numbers ----------------------------------------------------------------------------- */

static void index_unpack(int nd, CkIndex i, int32_t v[6])
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

	index_unpack(c->homes.dims.nd, i, v);
	for (int d = 0; d < c->homes.dims.nd; d++) {
		if ((uint32_t)v[d] >= (uint32_t)c->homes.dims.n[d])
			return UINT64_MAX;
		place = place * (uint64_t)c->homes.dims.n[d] + (uint64_t)v[d];
	}
	return place;
}

/* The index at a place; in a sparse array, at a number in its lattice. */
CkIndex index_at(const struct collection *c, uint64_t place)
{
	int32_t v[6] = { 0, 0, 0, 0, 0, 0 };

	for (int d = c->homes.dims.nd - 1; d >= 0; d--) {
		v[d] = (int32_t)(place % (uint64_t)c->homes.dims.n[d]);
		place /= (uint64_t)c->homes.dims.n[d];
		if (c->sparse)
			v[d] = c->homes.start[d] + v[d] * c->homes.step[d];
	}
	return index_pack(c->homes.dims.nd, v);
}

/* ---- in order -------------------------------------------------------------------------------- */

CkIndex index_key(const CkGenChare *type, CkIndex i)
{
	CkIndex key = i;

	for (int k = 0; type->nd > 3 && k < 3; k++) {
		uint32_t a = (uint16_t)CkIndexShort(i, 2 * k);
		uint32_t b = (uint16_t)CkIndexShort(i, 2 * k + 1);

		key.v[k] = (int32_t)(a << 16 | (b ^ 0x8000));
	}
	return key;
}

int index_compare(const void *a_, const void *b_)
{
	const CkIndex *a = a_, *b = b_;

	for (int k = 0; k < 3; k++)
		if (a->v[k] != b->v[k])
			return a->v[k] < b->v[k] ? -1 : 1;
	return 0;
}

/* ---- in error lines -------------------------------------------------------------------------- */

static void list_numbers(int n, const int32_t *v, const char *between, char *buf, size_t len)
{
	size_t at = 0;

	buf[0] = 0;
	for (int d = 0; d < n && at < len; d++)
		at += (size_t)snprintf(buf + at, len - at, "%s%d", d ? between : "", v[d]);
}

void index_describe(const CkGenChare *type, CkIndex i, char *buf, size_t len)
{
	const unsigned char *bytes = (const unsigned char *)&i;
	char list[80];
	int32_t v[6];
	size_t at = 0;

	if (!type->index_bytes) {
		int nd = type->nd ? type->nd : 1;

		index_unpack(nd, i, v);
		list_numbers(nd, v, ", ", list, sizeof list);
	}
	for (int b = 0; b < type->index_bytes; b++)
		at += (size_t)snprintf(list + at, sizeof list - at, "%s%02x", b ? " " : "", bytes[b]);
	snprintf(buf, len, "%s(%s)", type->name, list);
}

_Noreturn void index_bad(struct pe *pe, const struct collection *c, const char *what, CkIndex at)
{
	const int nd = c->type->nd ? c->type->nd : 1;
	char element[256], dims[96];

	if (c->type->kind == CKGEN_GROUP)
		csd_abort(pe, "%s on PE %d: the job has PEs 0-%d", what, at.v[0], pe->node->job->n_pes - 1);
	index_describe(c->type, at, element, sizeof element);
	list_numbers(nd, c->homes.dims.n, " x ", dims, sizeof dims);
	csd_abort(pe, "%s on %s: the array has %s element%s, from 0", what, element, dims,
		  nd == 1 && c->homes.dims.n[0] == 1 ? "" : "s");
}

/* ---- tables ---------------------------------------------------------------------------------- */

static uint64_t index_hash(CkIndex i)
{
	uint64_t h = (uint64_t)(uint32_t)i.v[0] << 32 | (uint32_t)i.v[1];

	h = (h ^ (uint32_t)i.v[2] * 0xd6e8feb86659fd93ull) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

static bool same(CkIndex a, CkIndex b)
{
	return !((a.v[0] ^ b.v[0]) | (a.v[1] ^ b.v[1]) | (a.v[2] ^ b.v[2]));
}

void *index_find(const struct idmap *m, CkIndex i)
{
	const struct idmap_slot *s = idmap_find(m, index_hash(i));

	while (s && !same(((const struct indexed *)s->value)->index, i))
		s = idmap_next(m, s);
	return s ? (void *)s->value : NULL;
}

void index_add(struct idmap *m, void *indexed)
{
	idmap_add(m, index_hash(((struct indexed *)indexed)->index), (uintptr_t)indexed);
}

void index_remove(struct idmap *m, CkIndex i)
{
	struct idmap_slot *s = idmap_find(m, index_hash(i));

	while (s && !same(((const struct indexed *)s->value)->index, i))
		s = idmap_next(m, s);
	if (s)
		idmap_remove(m, s);
}

void index_remove_trim(struct idmap *m, CkIndex i)
{
	index_remove(m, i);
	idmap_trim(m);
}

/* ---- its home -------------------------------------------------------------------------------- */

/* For a sparse array that was created with start, end and step: the index's number among the
 * elements that the creation made. UINT64_MAX: it is none of them. */
static uint64_t index_lattice(const struct collection *c, CkIndex i)
{
	uint64_t place = 0;
	int32_t v[6];

	if (!c->homes.dims.nd)
		return UINT64_MAX;
	index_unpack(c->homes.dims.nd, i, v);
	for (int d = 0; d < c->homes.dims.nd; d++) {
		int64_t at = (int64_t)v[d] - c->homes.start[d];

		if (at < 0 || at % c->homes.step[d] || at / c->homes.step[d] >= c->homes.dims.n[d])
			return UINT64_MAX;
		place = place * (uint64_t)c->homes.dims.n[d] + (uint64_t)(at / c->homes.step[d]);
	}
	return place;
}

int index_home(struct pe *pe, const struct collection *c, CkIndex i)
{
	if (!c->sparse) {
		uint64_t place = index_place(c, i);

		if (place == UINT64_MAX)
			index_bad(pe, c, "insertion", i);
		return coll_home(pe, c, place);
	}
	if (c->homes.map)
		return coll_mapped_home(pe, c, i);
	uint64_t at = index_lattice(c, i);

	if (at != UINT64_MAX)
		return coll_block_home(c, at);
	return (int)((index_hash(i) >> 3) % (uint64_t)pe->node->job->n_pes);
}
