/* SPDX-License-Identifier: Apache-2.0 */
/*
 * create_save.c: collections in checkpoints. PE 0 writes what all PEs must know of each one: its
 * type, its extents, its map. The other PEs add what only a PE with elements knows, in the name of
 * a record without bytes. A restart reads PE 0's records first, and gives every PE the collections,
 * without their elements:
 *
 *	elements of arrays     place/, which then calls coll_remade
 *	branches, main chares  the rooms that have them, which do the same
 *
 * Types and maps are known by name, because their numbers depend on how the program is linked.
 */
#include "create_int.h"
#include "../../image/image.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

/* The bits of a record's name: flags. */
enum {
	COLL_KIND = 0xff,         /* CkGenKind */
	COLL_DYNAMIC = 0x100,     /* elements of this PE were created or destroyed */
	COLL_SEATS = 0x200,       /* this PE has elements: their number of reductions is in the index */
	COLL_NUMBERS = 0x400,     /* it has no bytes */
};
/* Its index. */
enum { COLL_REDUCTIONS, COLL_SYNCS };

/** Then come the cuts (uint64_t [n_cuts]), the type's name and the map's, with their zeros. */
struct coll_image {
	int32_t nd, n[6], start[6], step[6];
	uint32_t sparse;          /* start, step: its lattice */
	uint32_t n_cuts;          /* PEs + 1; 0: none */
	uint32_t type_bytes, map_bytes; /* map_bytes 1: it has no map */
	uint32_t unused;
};
_Static_assert(sizeof(struct coll_image) % 8 == 0, "the cuts are aligned");

/* ---- writing --------------------------------------------------------------------------------- */

static const char *map_name(const struct ck_node *ck, const struct collection *c)
{
	const CkMapFn map = c->homes.cuts ? c->homes.born_map : c->homes.map;

	for (int i = 0; map && i < ck->n_maps; i++)
		if (ck->maps[i].fn == map)
			return ck->maps[i].name;
	return "";
}

static struct coll_image coll_image_of(struct pe *pe, const struct collection *c)
{
	struct coll_image s = {
		.nd = c->homes.dims.nd, .sparse = c->sparse,
		.n_cuts = c->homes.cuts ? (uint32_t)pe->node->job->n_pes + 1 : 0,
		.type_bytes = (uint32_t)strlen(c->type->name) + 1,
		.map_bytes = (uint32_t)strlen(map_name(ck_node_of(pe->node), c)) + 1,
	};

	memcpy(s.n, c->homes.dims.n, sizeof s.n);
	memcpy(s.start, c->homes.start, sizeof s.start);
	memcpy(s.step, c->homes.step, sizeof s.step);
	return s;
}

static void coll_put(struct pe *pe, const struct collection *c, const struct coll_image *s,
		     char *at)
{
	memcpy(at, s, sizeof *s);
	at += sizeof *s;
	for (uint32_t p = 0; p < s->n_cuts; p++, at += sizeof(uint64_t)) {
		const uint64_t first = cuts_first(c->homes.cuts, (int)p);

		memcpy(at, &first, sizeof first);
	}
	memcpy(at, c->type->name, s->type_bytes);
	memcpy(at + s->type_bytes, map_name(ck_node_of(pe->node), c), s->map_bytes);
}

/* All elements have contributed to equally many reductions: none is open (reduce's `refuse`). */
static struct image_name coll_name(struct pe *pe, struct collection *c)
{
	struct image_name name = {
		.kind = IMAGE_COLLECTION, .pe = (uint32_t)pe->id, .coll = c->id,
		.flags = c->type->kind | (c->dynamic ? COLL_DYNAMIC : 0),
	};
	struct place_still still = { 0 };
	const struct place_watch *w;

	for (uint64_t i = c->elems ? c->n_slots : 0; i-- > 0 && !(name.flags & COLL_SEATS);)
		if (c->elems[i]) {
			name.index[COLL_REDUCTIONS] = (int32_t)c->elems[i]->n_contributed;
			name.flags |= COLL_SEATS;
		}
	for (uint32_t part = 0; (w = watch_next(pe, &part));)
		if (w->still)
			w->still(pe, c, &still);
	name.index[COLL_SYNCS] = (int32_t)still.syncs;
	return name;
}

static void coll_write(struct pe *pe, struct collection *c, struct image_out *out)
{
	struct image_name name = coll_name(pe, c);
	struct coll_image s;
	char *at;

	if (pe->id) {
		name.flags |= COLL_NUMBERS;
		if (name.flags & (COLL_SEATS | COLL_DYNAMIC))
			out->add(out, &name, 0);
		return;
	}
	s = coll_image_of(pe, c);
	at = out->add(out, &name, sizeof s + s.n_cuts * sizeof(uint64_t) + s.type_bytes + s.map_bytes);
	if (at)
		coll_put(pe, c, &s, at);
}

/* A nodegroup is the node's. */
static bool coll_is_saved(const struct collection *c)
{
	return c->type && c->type->kind != CKGEN_NODEGROUP;
}

void colls_write(struct pe *pe, struct image_out *out)
{
	const struct idmap_slot *s;

	for (size_t i = 0; (s = idmap_each(&ck_of(pe)->colls, &i)); i++)
		if (coll_is_saved((struct collection *)s->value))
			coll_write(pe, (struct collection *)s->value, out);
}

void colls_refuse(struct pe *pe, struct csd_told *to)
{
	const struct idmap_slot *s;

	for (size_t i = 0; (s = idmap_each(&ck_of(pe)->colls, &i)); i++) {
		const struct collection *c = (const struct collection *)s->value;

		if (c->waiting.head)
			csd_tell(to, NULL, "%s for %s, whose elements are not constructed on PE %d",
				 csd_plural(msg_fifo_count(&c->waiting), "message waits", "messages wait").text,
				 c->type ? coll_thing(c).name : csd_named(NULL, "collection %u of PE %d, which was "
				 "never made", (unsigned)c->id, (int)(c->id >> 32)).name, pe->id);
		else if (c->type && c->type->kind == CKGEN_ARRAY && !ck_kind(pe, c->type)->sparse)
			csd_tell(to, NULL, "%s: this library has been built without the room chare/place, which saves "
				 "elements", coll_thing(c).name);
	}
}

/* ---- reading --------------------------------------------------------------------------------- */

static void note_numbers(struct collection *c, const struct image_name *name)
{
	struct place_still *saved = &create_coll_of(c)->saved;

	saved->any = true;
	saved->dynamic |= name->flags & COLL_DYNAMIC;
	saved->syncs = (uint32_t)name->index[COLL_SYNCS];
	if (name->flags & COLL_SEATS) /* other PEs may not know of all reductions */
		saved->lo = saved->hi = (uint32_t)name->index[COLL_REDUCTIONS];
}

/* New collections of this PE get the numbers that follow. */
static void note_id(struct pe *pe, uint64_t id)
{
	struct ck_pe *ck = ck_of(pe);

	if (id >> 32 == (uint64_t)pe->id && (uint32_t)id > ck->n_created)
		ck->n_created = (uint32_t)id;
}

bool coll_is_mine(struct pe *pe, const struct image_name *name)
{
	const CkGenKind kind = (CkGenKind)(name->flags & COLL_KIND);

	if (!(uint32_t)name->coll)
		return true; /* and `read` says so */
	note_id(pe, name->coll);
	if (kind == CKGEN_MAINCHARE && pe->id)
		return false;
	note_numbers(coll_get(pe, name->coll), name);
	return !(name->flags & COLL_NUMBERS);
}

const struct place_still *coll_saved(const struct collection *c)
{
	return &create_coll_of(c)->saved;
}

/** The parts of such a record, in its bytes. */
struct coll_parts {
	struct coll_image s;
	const char *cuts;         /* uint64_t, not aligned */
	const char *type, *map;
};

static bool is_text(const char *at, size_t n) { return n && memchr(at, 0, n) == at + n - 1; }

static const char *parts_take(const char *bytes, size_t n, struct coll_parts *p)
{
	uint64_t need;

	if (n < sizeof p->s)
		return "it is too short";
	memcpy(&p->s, bytes, sizeof p->s);
	need = sizeof p->s + (uint64_t)p->s.n_cuts * sizeof(uint64_t) + p->s.type_bytes + p->s.map_bytes;
	if (need != n)
		return "its parts do not lie within it";
	p->cuts = bytes + sizeof p->s;
	p->type = p->cuts + (size_t)p->s.n_cuts * sizeof(uint64_t);
	p->map = p->type + p->s.type_bytes;
	if (!is_text(p->type, p->s.type_bytes) || !is_text(p->map, p->s.map_bytes))
		return "its names have no end";
	return p->s.nd < 0 || p->s.nd > 6 ? "it has more than six dimensions" : NULL;
}

const CkGenChare *type_by_name(const struct ck_node *ck, const char *name, CkGenKind kind)
{
	for (int i = 0; i < ck->n_chares; i++)
		if (ck->chares[i]->kind == kind && strcmp(ck->chares[i]->name, name) == 0)
			return ck->chares[i];
	return NULL;
}

/* Cuts divide the elements among the PEs of that job. */
static const char *cuts_take(struct pe *pe, struct collection *c, const struct coll_parts *p)
{
	const int n_pes = pe->node->job->n_pes;
	uint64_t at[2] = { 0, 0 };

	if (p->s.n_cuts != (uint32_t)n_pes + 1)
		return NULL;
	for (int i = 0; i <= n_pes; i++, at[0] = at[1]) {
		memcpy(&at[1], p->cuts + (size_t)i * sizeof *at, sizeof *at);
		if (at[1] < at[0] || (i == 0 && at[1]) || (i == n_pes && at[1] != c->homes.total))
			return "its cuts do not fit its places";
	}
	uint64_t *all = cmi_alloc((size_t)p->s.n_cuts * sizeof *all, "the cuts of an array");

	memcpy(all, p->cuts, (size_t)p->s.n_cuts * sizeof *all);
	coll_cut(pe, c, cuts_new(all, n_pes));
	c->n_slots = coll_run_first(c, pe->id + 1) - c->first;
	free(all);
	return NULL;
}

static const char *array_take(struct pe *pe, struct collection *c, const CkGenChare *type,
			      const struct coll_parts *p)
{
	const int map = p->s.map_bytes > 1 ? map_by_name(ck_node_of(pe->node), p->map) : 0;
	struct ck_shape shape = { .dims.nd = p->s.nd, .sparse = p->s.sparse != 0, .map = map };
	const char *why;

	memcpy(shape.dims.n, p->s.n, sizeof shape.dims.n);
	memcpy(shape.start, p->s.start, sizeof shape.start);
	memcpy(shape.step, p->s.step, sizeof shape.step);
	if (map < 0)
		return "the program has no map of that name";
	if (!extents_fit(&shape.dims) || (!shape.sparse && shape.dims.nd != type->nd))
		return "its extents are invalid";
	for (int d = 0; d < shape.dims.nd; d++)
		if (shape.sparse && shape.step[d] < 1)
			return "its lattice is invalid";
	if (!ck_kind(pe, type)->sparse)
		return "this library has been built without the room chare/place";
	coll_shape(pe, c, type, &shape);
	why = cuts_take(pe, c, p);
	c->n_local = 0;
	if (c->sparse)
		c->n_slots = 0;
	return why;
}

const char *coll_read(struct pe *pe, const struct image_name *name, const void *bytes, size_t n)
{
	const CkGenKind kind = (CkGenKind)(name->flags & COLL_KIND);
	const CkGenChare *type;
	struct collection *c;
	struct coll_parts p;
	const char *why = (uint32_t)name->coll ? parts_take(bytes, n, &p) : "no collection has such an id";

	if (why)
		return why;
	type = type_by_name(ck_node_of(pe->node), p.type, kind);
	if (!type)
		return "the program has no chare of that name and kind";
	c = coll_get(pe, name->coll);
	if (c->type)
		return c->type == type ? NULL : "its id is another collection's";
	if (kind == CKGEN_ARRAY)
		return array_take(pe, c, type, &p);
	coll_type(pe, c, type, CkDims1(kind == CKGEN_GROUP ? pe->node->job->n_pes : 1), NULL);
	return NULL;
}

/* ---- its elements are there ------------------------------------------------------------------ */

static void set_numbers(struct collection *c, const struct place_still *saved)
{
	for (uint64_t i = 0; c->elems && i < c->n_slots; i++)
		if (c->elems[i])
			c->elems[i]->n_contributed = saved->lo;
}

void coll_remade(struct pe *pe, struct collection *c)
{
	const struct place_still *saved = coll_saved(c);
	const struct place_watch *w;

	if (saved->dynamic)
		coll_become_dynamic(pe, c);
	set_numbers(c, saved);
	tell_created(pe, c);
	for (uint32_t part = 0; (w = watch_next(pe, &part));)
		if (w->remade)
			w->remade(pe, c, saved);
	c->constructed = true;
	coll_line_up(c);
	for (uint32_t part = 0; (w = watch_next(pe, &part));)
		if (w->reopened)
			w->reopened(pe, c);
}
