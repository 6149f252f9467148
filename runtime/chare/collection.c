/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collection.c: one PE's table of collections and their elements: by id, and by index.
 * Elements of static arrays stay where the map put them, so the home of an index is
 * computed, never looked up or asked for.
 */
#include "ck_int.h"

#include <stdlib.h>

/* ---- by id ------------------------------------------------------------------------------ */

static size_t hash_id(uint64_t id)
{
	return (size_t)((id ^ id >> 32) * 0x9e3779b97f4a7c15ull >> 20);
}

static void table_grow(struct pe *pe)
{
	struct ck_pe *ck = pe->ck;
	size_t mask = ck->table ? ck->table_mask * 2 + 1 : 63;
	struct collection **table = calloc(mask + 1, sizeof(*table));

	if (!table)
		csd_abort(pe, "no memory for %zu collections", mask + 1);
	for (size_t i = 0; ck->table && i <= ck->table_mask; i++) {
		for (struct collection *c = ck->table[i], *next; c; c = next) {
			next = c->chain;
			c->chain = table[hash_id(c->id) & mask];
			table[hash_id(c->id) & mask] = c;
		}
	}
	free(ck->table);
	ck->table = table;
	ck->table_mask = mask;
}

struct collection *coll_get_slow(struct pe *pe, uint64_t id)
{
	struct ck_pe *ck = pe->ck;

	if (CSD_UNLIKELY(!id))
		csd_abort(pe, "a proxy was used before it was set (by X_ckNew, X_thisProxy, or "
			  "as a readonly in the main chare's constructor)");
	if (!ck->table || ck->n_colls > ck->table_mask)
		table_grow(pe);
	struct collection **bucket = &ck->table[hash_id(id) & ck->table_mask];

	for (struct collection *c = *bucket; c; c = c->chain)
		if (c->id == id)
			return ck->last = c;
	struct collection *c = calloc(1, sizeof *c);

	if (!c)
		csd_abort(pe, "no memory for a collection");
	c->id = id;
	c->waiting.tail = &c->waiting.head;
	c->n_children = c->n_folded = -1;
	c->chain = *bucket;
	*bucket = c;
	ck->n_colls++;
	return ck->last = c;
}

uint64_t coll_new_id(struct pe *pe)
{
	return (uint64_t)(uint32_t)pe->id << 32 | ++pe->ck->n_created;
}

/* ---- by index --------------------------------------------------------------------------- */

/* Block map: the first `rest` PEs have one element more. */
static uint64_t block_first(uint64_t total, uint64_t n_pes, uint64_t pe)
{
	uint64_t each = total / n_pes, rest = total % n_pes;

	return pe * each + (pe < rest ? pe : rest);
}

/* A division of 32 bits takes half the time and less; few arrays need more. */
static uint64_t divide(uint64_t a, uint64_t b)
{
	return (a | b) >> 32 ? a / b : (uint32_t)a / (uint32_t)b;
}

int coll_block_home(const struct collection *c, uint64_t place)
{
	uint64_t longer = c->rest * (c->each + 1);

	if (place < longer)
		return (int)divide(place, c->each + 1);
	return (int)(c->rest + divide(place - longer, c->each));
}

int coll_mapped_home(struct pe *pe, const struct collection *c, CkIndex index)
{
	int home = c->map(index, c->dims, pe->node->job->n_pes);

	if (home < 0 || home >= pe->node->job->n_pes)
		csd_abort(pe, "the map of array %s gave PE %d; the job has PEs 0-%d",
			  c->type->name, home, pe->node->job->n_pes - 1);
	return home;
}

static int user_home(struct pe *pe, const struct collection *c, uint64_t place)
{
	return coll_mapped_home(pe, c, index_at(c, place));
}

int coll_home_away(struct pe *pe, const struct collection *c, uint64_t place)
{
	return c->map ? user_home(pe, c, place) : coll_block_home(c, place);
}

/* has[p]: whether PE p has elements of the collection. */
void coll_who_has(struct pe *pe, struct collection *c, bool *has)
{
	uint64_t n_pes = (uint64_t)pe->node->job->n_pes;

	if (c->map) {
		for (uint64_t i = 0; i < c->total; i++)
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
			 block_first(c->total, n_pes, p) < block_first(c->total, n_pes, p + 1);
}

static size_t hash_linear(uint64_t linear)
{
	return (size_t)(linear * 0x9e3779b97f4a7c15ull >> 24);
}

/* The number in elems of the element at a place of this PE; UINT64_MAX: not of this PE. */
uint64_t coll_slot(const struct collection *c, uint64_t place)
{
	if (!c->map)
		return place - c->first < c->n_slots ? place - c->first : UINT64_MAX;
	for (size_t h = hash_linear(place);; h++) {
		const struct elem_slot *s = &c->slots[h & c->slot_mask];

		if (!s->slot || s->linear == place)
			return s->slot - 1;
	}
}

struct ck_obj *coll_find_slow(const struct collection *c, uint64_t place)
{
	uint64_t slot = coll_slot(c, place);

	return slot == UINT64_MAX ? NULL : c->elems[slot];
}

static void slot_add(struct collection *c, uint64_t linear, uint64_t slot)
{
	size_t h = hash_linear(linear);

	while (c->slots[h & c->slot_mask].slot)
		h++;
	c->slots[h & c->slot_mask] = (struct elem_slot){ linear, slot + 1 };
}

/* ---- creation --------------------------------------------------------------------------- */

static uint64_t count_mapped_here(struct pe *pe, const struct collection *c, uint64_t total)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < total; i++)
		n += user_home(pe, c, i) == pe->id;
	return n;
}

/* How `total` elements are spread. */
static void spread(struct pe *pe, struct collection *c, uint64_t total)
{
	uint64_t n_pes = (uint64_t)pe->node->job->n_pes;

	if (c->map) {
		c->n_slots = c->n_local = count_mapped_here(pe, c, total);
		return;
	}
	c->each = total / n_pes;
	c->rest = total % n_pes;
	c->first = block_first(total, n_pes, (uint64_t)pe->id);
	c->n_slots = c->n_local = block_first(total, n_pes, (uint64_t)pe->id + 1) - c->first;
}

static uint64_t volume(const CkArrayDims *dims)
{
	uint64_t n = 1;

	for (int d = 0; d < dims->nd; d++)
		n *= (uint64_t)dims->n[d];
	return dims->nd ? n : 0;
}

/* Make the collection's shape known: from now on messages can be routed. */
void coll_type(struct pe *pe, struct collection *c, const CkGenChare *type, CkArrayDims dims,
	       CkMapFn map)
{
	if (c->type)
		return;
	c->type = type;
	c->entries = type->entries;
	c->n_entries = (uint32_t)type->n_entries;
	c->dims = dims;
	for (int d = 0; d < 3 && type->nd <= 3; d++)
		c->box[d] = dims.n[d];
	c->map = map;
	if (type->kind == CKGEN_MAINCHARE) {
		c->total = c->n_slots = c->n_local = 1;
		return;
	}
	/* A group is an array with one element on each PE. */
	c->total = volume(&dims);
	spread(pe, c, c->total);
}

/* The same for an array that is more than its extents. */
void coll_shape(struct pe *pe, struct collection *c, const CkGenChare *type,
		const struct ck_shape *shape)
{
	CkMapFn map = map_by_number(pe->node->ck, shape->map);

	if (c->type)
		return;
	if (!shape->sparse) {
		coll_type(pe, c, type, shape->dims, map);
		return;
	}
	c->type = type;
	c->entries = type->entries;
	c->n_entries = (uint32_t)type->n_entries;
	c->dims = shape->dims;
	c->map = map;
	c->sparse = true;
	dynamic_create(pe, c, shape);
	spread(pe, c, volume(&c->dims));
	if (shape->empty)
		c->n_slots = c->n_local = 0;
}

/* An element of this PE, not constructed yet. */
struct ck_obj *obj_alloc(struct pe *pe, struct collection *c, CkIndex index, uint64_t slot)
{
	struct ck_obj *obj = calloc(1, sizeof *obj + c->type->bytes);

	if (!obj)
		csd_abort(pe, "no memory for an element of %s (%zu bytes)", c->type->name,
			  c->type->bytes);
	obj->coll = c;
	obj->index = index;
	obj->ordinal = (uint32_t)slot;
	obj->n_contributed = c->next_no;
	return c->elems[slot] = obj;
}

static void slots_create(struct pe *pe, struct collection *c)
{
	uint64_t n = 16;

	while (n < c->n_local * 2)
		n *= 2;
	c->slots = calloc(n, sizeof *c->slots);
	if (!c->slots)
		csd_abort(pe, "no memory for %llu elements", (unsigned long long)c->n_local);
	c->slot_mask = n - 1;
}

static void objs_create(struct pe *pe, struct collection *c)
{
	uint64_t total = volume(&c->dims);

	c->elems = calloc(c->n_slots ? c->n_slots : 1, sizeof(*c->elems));
	if (!c->elems)
		csd_abort(pe, "no memory for %llu elements", (unsigned long long)c->n_slots);
	if (c->type->kind != CKGEN_ARRAY) {
		obj_alloc(pe, c, (CkIndex){ { pe->id, 0, 0 } }, 0);
		return;
	}
	if (!c->map) {
		for (uint64_t i = 0; i < c->n_slots; i++)
			obj_alloc(pe, c, index_at(c, c->first + i), i);
		return;
	}
	if (!c->sparse)
		slots_create(pe, c);
	for (uint64_t i = 0, n = 0; i < total && n < c->n_slots; i++) {
		if (user_home(pe, c, i) != pe->id)
			continue;
		if (!c->sparse)
			slot_add(c, i, n);
		obj_alloc(pe, c, index_at(c, i), n++);
	}
}

void coll_wait(struct collection *c, struct cmi_msg *m)
{
	msg_fifo_push(&c->waiting, m);
}

/* Create this PE's elements and run their constructors in index order; then handle what came
 * too early, at once: queueing it again would let later messages of its sender overtake. */
void coll_construct(struct pe *pe, struct collection *c, void *payload)
{
	uint64_t n;

	objs_create(pe, c);
	c->constructed = true;
	n = c->n_slots;
	c->n_here = c->map || c->sparse ? 0 : n;
	c->n_line = c->type->nd <= 1 ? c->n_here : 0;
	if (c->sparse)
		dynamic_constructed(pe, c);
	/* A constructor may destroy its own element. */
	for (uint64_t i = 0; i < n; i++)
		if (c->elems[i])
			construct(pe, c->elems[i], payload);
	ready_constructed(pe, c);
	while (c->waiting.head) {
		struct cmi_msg *m = msg_fifo_pop(&c->waiting);

		pe->node->handlers[m->handler].fn(pe, m);
	}
}

static void coll_destroy(struct pe *pe, struct collection *c)
{
	while (c->waiting.head)
		csd_msg_free(pe, msg_fifo_pop(&c->waiting));
	reduce_fini(pe, c);
	scans_fini(pe, c);
	dynamic_fini(pe, c);
	bool ours = c->type && c->type->kind != CKGEN_NODEGROUP; /* a branch is the node's */

	for (uint64_t i = 0; ours && c->elems && i < c->n_slots; i++)
		free(c->elems[i]);
	free(c->elems);
	free(c->slots);
	free(c);
}

void coll_fini(struct pe *pe)
{
	struct ck_pe *ck = pe->ck;

	for (size_t i = 0; ck->table && i <= ck->table_mask; i++) {
		for (struct collection *c = ck->table[i], *next; c; c = next) {
			next = c->chain;
			coll_destroy(pe, c);
		}
	}
	free(ck->table);
}
