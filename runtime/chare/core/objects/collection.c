/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collection.c: one PE's table of collections, by id, and the homes of their elements, by place.
 * Every PE computes the home of an index by itself.
 */
#include "index.h"
#include "unset.h"
#include "../../../machine/base/cmi_alloc.h"
#include "state.h"

#include <stdlib.h>

/* ---- for stubs ---------------------------------------------------------------------------- */

/* Of a thread that is no PE. Its collection has no elements, so stubs never write to it. */
static const struct ck_pe nobody = { .last = (struct collection *)(uintptr_t)&nobody.none };
#define NOBODY ((CkGenNow *)(uintptr_t)&nobody)
__thread CkGenNow *CkGen_now_ = NOBODY;

void ck_runs_here(struct ck_pe *ck) { CkGen_now_ = ck ? (CkGenNow *)ck : NOBODY; }

/* ---- by id ------------------------------------------------------------------------------ */

void coll_init(struct pe *pe, struct collection *c, uint64_t id, void *state)
{
	const struct ck_node *ck = ck_node_of(pe->node);
	char *at = state;

	c->id = id;
	msg_fifo_init(&c->waiting);
	for (int i = 0; i < CK_PARTS; i++) {
		if (!ck->parts[i] || !ck->parts[i]->coll_bytes)
			continue;
		c->state[i] = at;
		at += CkGen_align(ck->parts[i]->coll_bytes);
	}
}

/* One block holds the state of all parts. */
static struct collection *coll_new(struct pe *pe, uint64_t id)
{
	struct collection *c =
		cmi_alloc_zero(1, sizeof *c + ck_node_of(pe->node)->coll_bytes, "a collection");

	coll_init(pe, c, id, c + 1);
	return c;
}

struct collection *coll_get_slow(struct pe *pe, uint64_t id)
{
	struct ck_pe *ck = ck_of(pe);

	if (CSD_UNLIKELY(!id))
		unset_abort(pe, "CProxy", "a proxy was used before it was set (by X_ckNew, X_thisProxy, or "
			    "as a readonly in the main chare's constructor)");
	struct collection *c = idmap_get(&ck->colls, id);

	if (!c) {
		c = coll_new(pe, id);
		idmap_add(&ck->colls, id, (uintptr_t)c);
	}
	return ck->last = c;
}

void coll_set_type(struct collection *c, const CkGenChare *type)
{
	c->type = type;
	c->entries = type->entries;
	c->n_entries = (uint32_t)type->n_entries;
}

void coll_set_more(struct pe *pe, struct collection *c)
{
	if (c->type->kind == CKGEN_ARRAY && c->type->resume &&
	    (pe->node->job->n_pes > 1 || ck_node_of(pe->node)->lone_syncs))
		c->more_bytes = ck_node_of(pe->node)->elem_bytes;
	if (c->more_bytes)
		c->more_at = sizeof(struct ck_obj) + CkGen_align(c->type->bytes);
}

struct collection *coll_of_type(struct pe *pe, const CkGenChare *type)
{
	struct collection *c = coll_new(pe, 0);

	coll_set_type(c, type);
	return c;
}

uint64_t coll_new_id(struct pe *pe)
{
	return (uint64_t)(uint32_t)pe->id << 32 | ++ck_of(pe)->n_created;
}

/* ---- by index --------------------------------------------------------------------------- */

/* Block map: the first `rest` PEs have one more element than the others. */
static uint64_t block_first(uint64_t total, uint64_t n_pes, uint64_t pe)
{
	uint64_t each = total / n_pes, rest = total % n_pes;

	return pe * each + (pe < rest ? pe : rest);
}

/* A division of 32 bits takes at most half the time of one of 64 bits, and few arrays need 64. */
static uint64_t divide(uint64_t a, uint64_t b)
{
	return (a | b) >> 32 ? a / b : (uint32_t)a / (uint32_t)b;
}

int coll_block_home(const struct collection *c, uint64_t place)
{
	uint64_t longer = c->homes.rest * (c->homes.each + 1);

	if (place < longer)
		return (int)divide(place, c->homes.each + 1);
	return (int)(c->homes.rest + divide(place - longer, c->homes.each));
}

static int home_in_blocks(struct pe *pe, const struct collection *c, uint64_t place)
{
	(void)pe;
	return coll_block_home(c, place);
}

/* The PE that the program's map returns. */
static int map_pe(struct pe *pe, const struct collection *c, CkMapFn map, CkIndex index)
{
	int home = map(index, c->homes.dims, pe->node->job->n_pes);

	if (home < 0 || home >= pe->node->job->n_pes)
		csd_abort(pe, "the map of array %s gave PE %d; the job has PEs 0-%d",
			  c->type->name, home, pe->node->job->n_pes - 1);
	return home;
}

int coll_mapped_home(struct pe *pe, const struct collection *c, CkIndex index)
{
	return map_pe(pe, c, c->homes.map, index);
}

static int user_home(struct pe *pe, const struct collection *c, uint64_t place)
{
	return coll_mapped_home(pe, c, index_at(c, place));
}

int coll_born_home(struct pe *pe, const struct collection *c, CkIndex index)
{
	if (!c->homes.cuts)
		return index_home(pe, c, index);
	return c->homes.born_map ? map_pe(pe, c, c->homes.born_map, index) :
	       coll_block_home(c, index_place(c, index));
}

uint64_t coll_run_first(const struct collection *c, int of_pe)
{
	const struct homes *h = &c->homes;
	const uint64_t p = (uint64_t)of_pe;

	return h->cuts ? cuts_first(h->cuts, of_pe) : p * h->each + (p < h->rest ? p : h->rest);
}

int coll_n_runs(const struct pe *pe, const struct collection *c)
{
	const uint64_t n = (uint64_t)pe->node->job->n_pes;

	if (c->homes.map)
		return 0;
	return c->homes.cuts ? cuts_n_runs(c->homes.cuts) : (int)(c->homes.total < n ? c->homes.total : n);
}

void coll_who_has(struct pe *pe, struct collection *c, bool *has)
{
	uint64_t n_pes = (uint64_t)pe->node->job->n_pes;

	if (c->homes.map) {
		for (uint64_t i = 0; i < c->homes.total; i++)
			has[user_home(pe, c, i)] = true;
		return;
	}
	if (c->type->kind == CKGEN_NODEGROUP) {
		for (int node = 0; node < pe->node->job->n_nodes; node++)
			has[pe->node->job->first_pe[node]] = true;
		return;
	}
	for (uint64_t p = 0; p < n_pes; p++)
		has[p] = c->type->kind == CKGEN_GROUP ||
			 coll_run_first(c, (int)p) < coll_run_first(c, (int)p + 1);
}

uint64_t coll_slot(const struct collection *c, uint64_t place)
{
	if (!c->homes.map)
		return place - c->first < c->n_slots ? place - c->first : UINT64_MAX;
	const struct idmap_slot *s = idmap_find(&c->homes.slots, place);

	return s ? s->value - 1 : UINT64_MAX;
}

struct ck_obj *coll_find_slow(const struct collection *c, uint64_t place)
{
	uint64_t slot = coll_slot(c, place);
	struct ck_obj *obj = slot == UINT64_MAX ? NULL : c->elems[slot];

	if (!obj && CSD_UNLIKELY(c->guests != NULL))
		obj = guest_find(c->guests, elem_key_of_place(place));
	return obj && obj_takes_calls(obj) ? obj : NULL;
}

struct ck_obj *coll_each_slow(const struct collection *c, uint64_t *at)
{
	for (; c->elems && *at < c->n_slots; ++*at)
		if (c->elems[*at] && !obj_is_stub(c->elems[*at]))
			return c->elems[(*at)++];
	for (; c->guests && *at - c->n_slots < c->guests->n; ++*at)
		if (c->guests->list[*at - c->n_slots].obj)
			return c->guests->list[(*at)++ - c->n_slots].obj;
	return NULL;
}

uint64_t coll_behind(const struct collection *c, const struct ck_obj *obj)
{
	return obj->ordinal + 1 + (obj_is_guest(obj) ? c->n_slots : 0);
}

/* ---- extents --------------------------------------------------------------------------- */

static uint64_t count_mapped_here(struct pe *pe, const struct collection *c, uint64_t total)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < total; i++)
		n += user_home(pe, c, i) == pe->id;
	return n;
}

void coll_spread(struct pe *pe, struct collection *c, uint64_t total)
{
	uint64_t n_pes = (uint64_t)pe->node->job->n_pes;

	if (c->homes.map) {
		c->n_slots = c->n_local = count_mapped_here(pe, c, total);
		return;
	}
	c->homes.each = total / n_pes;
	c->homes.rest = total % n_pes;
	c->first = block_first(total, n_pes, (uint64_t)pe->id);
	c->n_slots = c->n_local = block_first(total, n_pes, (uint64_t)pe->id + 1) - c->first;
}

uint64_t coll_volume(const CkArrayDims *dims)
{
	uint64_t n = 1;

	for (int d = 0; d < dims->nd; d++)
		n *= (uint64_t)dims->n[d];
	return dims->nd ? n : 0;
}

void coll_type(struct pe *pe, struct collection *c, const CkGenChare *type, CkArrayDims dims,
	       CkMapFn map)
{
	if (c->type)
		return;
	coll_set_type(c, type);
	coll_set_more(pe, c);
	c->homes.dims = dims;
	for (int d = 0; d < 3 && type->nd <= 3; d++)
		c->homes.box[d] = dims.n[d];
	c->homes.map = map;
	c->homes.home = map ? user_home : home_in_blocks;
	c->homes.n_maps++;
	if (type->kind == CKGEN_MAINCHARE) {
		c->homes.total = c->n_slots = c->n_local = 1;
		return;
	}
	/* A group is an array with one element on each PE. */
	c->homes.total = coll_volume(&dims);
	coll_spread(pe, c, c->homes.total);
}

/* ---- elements ---------------------------------------------------------------------------- */

struct ck_obj *obj_new(struct collection *c, CkIndex index)
{
	const size_t more =
		c->more_bytes ? CkGen_align(c->type->bytes) - c->type->bytes + c->more_bytes : 0;
	struct ck_obj *obj = cmi_alloc_zero(1, sizeof *obj + c->type->bytes + more, c->type->name);

	obj->coll = c;
	obj->index = index;
	return obj;
}

void coll_wait(struct collection *c, struct cmi_msg *m)
{
	msg_fifo_push(&c->waiting, m);
}

void coll_resume(struct pe *pe, struct collection *c)
{
	while (c->waiting.head) {
		struct cmi_msg *m = msg_fifo_pop(&c->waiting);

		pe->node->handlers[m->handler].fn(pe, m);
	}
}

/* ---- the end ------------------------------------------------------------------------------ */

static void coll_let_go(struct pe *pe, struct collection *c)
{
	const struct ck_node *ck = ck_node_of(pe->node);

	while (c->waiting.head)
		csd_msg_free(pe, msg_fifo_pop(&c->waiting));
	if (c->announced)
		csd_msg_free(pe, (struct cmi_msg *)c->announced);
	c->announced = NULL;
	for (int i = CK_PARTS; i-- > 0;)
		if (ck->parts[i] && ck->parts[i]->watch.fini)
			ck->parts[i]->watch.fini(pe, c);
}

void colls_let_go(struct pe *pe)
{
	const struct idmap_slot *s;

	for (size_t i = 0; (s = idmap_each(&ck_of(pe)->colls, &i)); i++)
		coll_let_go(pe, (struct collection *)s->value);
}

static void guests_free(struct guests *g)
{
	for (uint32_t i = 0; i < g->n; i++)
		free(g->list[i].obj);
	free(g->list);
	elemmap_free(&g->at);
	free(g);
}

static void coll_free(struct collection *c)
{
	bool ours = c->type && c->type->kind != CKGEN_NODEGROUP; /* a branch is the node's */

	for (uint64_t i = 0; ours && c->elems && i < c->n_slots; i++)
		free(c->elems[i]);
	free(c->elems);
	if (c->guests)
		guests_free(c->guests);
	free(c->homes.cuts);
	idmap_free(&c->homes.slots);
	idmap_free(&c->here);
	free(c);
}

void colls_free(struct pe *pe)
{
	const struct idmap_slot *s;

	for (size_t i = 0; (s = idmap_each(&ck_of(pe)->colls, &i)); i++)
		coll_free((struct collection *)s->value);
	idmap_free(&ck_of(pe)->colls);
}
