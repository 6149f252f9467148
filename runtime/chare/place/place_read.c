/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place_read.c: elements of arrays out of a checkpoint (place_save.c), in a job with any number of
 * PEs. Each PE sees the name of each record, so all of them find the same without a message:
 *
 *	another number of PEs   an element lives at its home in this job
 *	the same number         it lives where it lived, and its home notes that. In an array with
 *	                        extents its seat is its home, which gets a stub; in a sparse one it
 *	                        takes its seat along, as when elements move in bulk (bulk.c)
 *
 * Ways, leases and the senders that a home knows are not saved: calls find them anew.
 */
#include "place_save.h"
#include "../core/shape.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

static CkIndex index_of(const struct image_name *name)
{
	return (CkIndex){ { name->index[0], name->index[1], name->index[2] } };
}

static bool same_pes(const struct pe *pe)
{
	return ck_node_of(pe->node)->restart.n_pes == pe->node->job->n_pes;
}

/* ---- slots ----------------------------------------------------------------------------------- */

/* In an array with extents a slot for each place whose home is this PE. */
static void slots_make(struct pe *pe, struct collection *c)
{
	if (c->elems)
		return;
	if (c->sparse) {
		dynamic_slots(c, 0);
		return;
	}
	c->elems = cmi_alloc_zero(c->n_slots, sizeof(*c->elems), "elements");
	for (uint64_t i = 0, n = 0; c->homes.map && i < c->homes.total && n < c->n_slots; i++)
		if (coll_home(pe, c, i) == pe->id)
			idmap_add(&c->homes.slots, i, ++n); /* its slot + 1 */
}

/* ---- whose it is ----------------------------------------------------------------------------- */

/* The array that the record names, if such an element can exist; NULL: `read` says why not. */
static struct collection *array_of(struct pe *pe, const struct image_name *name)
{
	struct collection *c = (uint32_t)name->coll ? coll_get(pe, name->coll) : NULL;

	if (!c || !c->type || c->type->kind != CKGEN_ARRAY || c->constructed ||
	    name->pe >= (uint32_t)ck_node_of(pe->node)->restart.n_pes ||
	    (!c->sparse && index_place(c, index_of(name)) == UINT64_MAX))
		return NULL;
	return c;
}

/* At home, of an element that lives elsewhere. */
static void note_away(struct pe *pe, struct collection *c, CkIndex i, int where)
{
	slots_make(pe, c);
	if (!c->sparse)
		seat_stub(c, i);
	away_moved(pe, c, i, where);
}

static bool element_is_mine(struct pe *pe, const struct image_name *name)
{
	const CkIndex i = index_of(name);
	struct collection *c = array_of(pe, name);

	if (!c)
		return true;
	const int home = index_home(pe, c, i), where = same_pes(pe) ? (int)name->pe : home;

	if (home == pe->id && where != home)
		note_away(pe, c, i, where);
	return where == pe->id;
}

static bool missing_is_mine(struct pe *pe, const struct image_name *name)
{
	struct collection *c = array_of(pe, name);

	return !c || index_home(pe, c, index_of(name)) == pe->id;
}

/* PE 0 gets the sums of all PEs; every PE has to know whether inserting is over. */
static bool closing_is_mine(struct pe *pe, const struct image_name *name)
{
	struct collection *c = (uint32_t)name->coll ? coll_get(pe, name->coll) : NULL;

	if (c && c->type && name->flags)
		closing_open(pe, c);
	return pe->id == 0;
}

bool place_is_mine(struct pe *pe, const struct image_name *name)
{
	return name->kind == IMAGE_ELEMENT ? element_is_mine(pe, name) :
	       name->kind == IMAGE_MISSING ? missing_is_mine(pe, name) : closing_is_mine(pe, name);
}

/* ---- elements -------------------------------------------------------------------------------- */

/* Put it into the tables. False: there is one already. */
static bool element_seat(struct pe *pe, struct collection *c, struct ck_obj *obj)
{
	const int home = index_home(pe, c, obj->index);
	uint64_t slot;

	if (!c->sparse && home != pe->id) {
		if (c->guests && guest_find(c->guests, elem_key_of(c, obj->index)))
			return false;
		guest_add(obj, home);
		return true;
	}
	slot = c->sparse ? dynamic_slot(c) : coll_slot(c, index_place(c, obj->index));
	if (!c->sparse && c->elems[slot])
		return false;
	obj->ordinal = (uint32_t)slot;
	c->elems[slot] = obj;
	c->n_local++;
	return true;
}

/* A part's data are of use where the part is on in this job, too. */
static void element_fill(struct pe *pe, struct ck_obj *obj, const struct elem_image *e,
			 const char *at)
{
	if (e->more_bytes && e->more_bytes == obj->coll->more_bytes)
		memcpy(obj_more(obj), at, e->more_bytes);
	element_unpack_struct(pe, obj, at + e->more_bytes, e->bytes - e->more_bytes);
}

/* It waits in CkAtSync for a part that is off here: there CkAtSync would have called it at once. */
static void resume_alone(struct pe *pe, struct ck_obj *obj)
{
	const struct collection *c = obj->coll;
	const CkElement e = { c->id, obj->index, 0 };

	send_element(pe, c->type, &e, call_take(pe, c->type, c->type->resume, CkGen_alloc(0), NULL));
}

static const char *element_read(struct pe *pe, const struct image_name *name, const char *at,
				size_t n)
{
	struct collection *c = array_of(pe, name);
	struct elem_image e;
	struct ck_obj *obj;

	if (!c)
		return "no array has such an element";
	if (!element_has_pup(c->type))
		return "its type has no pup function";
	if (n < sizeof e)
		return "it is too short";
	memcpy(&e, at, sizeof e);
	if (!lies_within(at + sizeof e, at + n, e.bytes) || e.more_bytes > e.bytes ||
	    sizeof e + CkGen_align(e.bytes) + (uint64_t)e.calls16 * 16 != n ||
	    (e.waits && !c->type->resume))
		return "its parts do not lie within it";
	slots_make(pe, c);
	obj = obj_new(c, index_of(name));
	if (!element_seat(pe, c, obj)) {
		free(obj);
		return "there are two of them";
	}
	element_fill(pe, obj, &e, at + sizeof e);
	if (e.waits && e.more_bytes != c->more_bytes)
		resume_alone(pe, obj);
	return obj_calls_remake(pe, obj, at + sizeof e + CkGen_align(e.bytes), (size_t)e.calls16 * 16);
}

/* ---- calls of elements that do not exist ----------------------------------------------------- */

/* Multicasts are numbered from 1 again, so an old number would name a later one. */
static void forget_number(struct ck_env *env)
{
	struct ck_of_all of;

	if (!(env->more & CK_MORE_SECTION) || !(env->more & CK_MORE_NUMBERED) ||
	    env->head.size < sizeof *env + sizeof(struct ck_of_section))
		return;
	env_drop_behind(env, &of, sizeof of);
	env->more &= (uint8_t)~CK_MORE_NUMBERED;
}

static const char *missing_take(struct pe *pe, struct away *a, struct cmi_msg *m)
{
	const enum missing_kind kind = (enum missing_kind)m->handler;
	struct ck_env *env = (struct ck_env *)m;
	const char *why = env->coll == a->coll->id ? NULL : "it has a call of another collection";

	m->src_pe %= pe->node->job->n_pes;
	m->handler = kind == MISSING_DESTROY ? ck_handler(pe, PART_PLACE, H_DESTROY) :
					       ck_handler(pe, PART_CALL, H_ELEMENT);
	if (kind == MISSING_CALL)
		forget_number(env);
	if (!why && kind == MISSING_CALL)
		why = shape_call_of(pe, a->coll, env);
	if (kind != MISSING_CALL && kind != MISSING_DESTROY)
		why = "it has something that is not a call";
	if (why)
		csd_msg_free(pe, m);
	else
		msg_fifo_push(&a->waiting, m);
	return why;
}

static const char *missing_read(struct pe *pe, const struct image_name *name, const char *at,
				size_t n)
{
	struct collection *c = array_of(pe, name);
	const char *end = at + n, *why;
	struct missing_image head;
	struct away *a;

	if (!c)
		return "no array has such an element";
	if (n < sizeof head)
		return "it is too short";
	memcpy(&head, at, sizeof head);
	at += sizeof head;
	why = calls_misfit(at, end, head.n);
	if (why)
		return why;
	a = away_get(c, index_of(name));
	a->since = closing_wave(c);
	while (head.n-- && !why)
		why = missing_take(pe, a, call_unpack(pe, &at));
	return why;
}

static const char *closing_read(struct pe *pe, const struct image_name *name, const void *bytes,
				size_t n)
{
	struct collection *c = (uint32_t)name->coll ? coll_get(pe, name->coll) : NULL;
	uint64_t sums[WAVE_SUMS];

	if (!c || !c->type || c->type->kind != CKGEN_ARRAY)
		return "it is of no array";
	if (n != sizeof sums)
		return "it has another size";
	memcpy(sums, bytes, sizeof sums);
	closing_add(pe, c, sums);
	return NULL;
}

const char *place_read(struct pe *pe, const struct image_name *name, const void *bytes, size_t n)
{
	return name->kind == IMAGE_ELEMENT ? element_read(pe, name, bytes, n) :
	       name->kind == IMAGE_MISSING ? missing_read(pe, name, bytes, n) :
					     closing_read(pe, name, bytes, n);
}

/* ---- all are there --------------------------------------------------------------------------- */

static int by_key(const void *a_, const void *b_)
{
	const struct ck_obj *a = *(struct ck_obj *const *)a_, *b = *(struct ck_obj *const *)b_;
	const CkIndex i = index_key(a->coll->type, a->index), j = index_key(b->coll->type, b->index);

	return index_compare(&i, &j);
}

/* Mostly they are in order. */
static void sort_objs(struct ck_obj **all, size_t n)
{
	size_t i = 1;

	while (i < n && by_key(&all[i - 1], &all[i]) < 0)
		i++;
	if (i < n)
		qsort(all, n, sizeof *all, by_key);
}

/* In index order, as if they had been made so. coll_remade puts them into the table by index. */
static void sparse_sort(struct pe *pe, struct collection *c)
{
	sort_objs(c->elems, c->n_slots);
	for (uint64_t i = 0; i < c->n_slots; i++) {
		if (i && !by_key(&c->elems[i - 1], &c->elems[i]))
			csd_abort(pe, "damaged image: it has %s twice", obj_thing(c->elems[i]).name);
		c->elems[i]->ordinal = (uint32_t)i;
	}
}

static void array_remade(struct pe *pe, struct collection *c)
{
	slots_make(pe, c);
	if (c->sparse)
		sparse_sort(pe, c);
	else if (!coll_saved(c)->dynamic && c->n_local != c->n_slots)
		csd_abort(pe, "damaged image: it has %llu of %s of %s on PE %d", (unsigned long long)c->n_local,
			  csd_plural(c->n_slots, "element", "elements").text, coll_thing(c).name, pe->id);
	coll_remade(pe, c);
	closing_goes_on(pe, c);
}

/* This PE's elements in index order; the caller frees the list. */
static struct ck_obj **elements_sorted(const struct collection *c, size_t *n_p)
{
	const size_t most = c->n_slots + (c->guests ? c->guests->n : 0);
	struct ck_obj **all = cmi_alloc(most * sizeof *all + 1, "elements"), *obj;

	*n_p = 0;
	for (uint64_t at = 0; (obj = coll_each(c, &at));)
		all[(*n_p)++] = obj;
	sort_objs(all, *n_p);
	return all;
}

/* X_on_arrived may destroy elements, others than its own, too, and let them leave. Memory of a
 * destroyed one is freed later. */
static void call_on_arrived(struct collection *c)
{
	size_t n;
	struct ck_obj **all = elements_sorted(c, &n);

	for (size_t i = 0; i < n; i++)
		if (element_is_there(all[i]))
			c->type->on_arrived(self_of(all[i]));
	free(all);
}

static void test_calls(struct pe *pe, struct collection *c)
{
	struct ck_obj *obj;

	for (uint64_t at = 0; (obj = coll_each(c, &at));)
		obj_calls_test_soon(pe, obj);
}

static int by_id(const void *a_, const void *b_)
{
	const struct collection *a = *(struct collection *const *)a_, *b = *(struct collection *const *)b_;

	return (a->id > b->id) - (a->id < b->id);
}

/* The arrays of the image, in the order of their ids. The caller frees the list. */
static struct collection **arrays_read(struct pe *pe, size_t *n_p)
{
	const struct idmap *colls = &ck_of(pe)->colls;
	struct collection **all = cmi_alloc(colls->n * sizeof *all + 1, "collections");
	const struct idmap_slot *s;

	*n_p = 0;
	for (size_t i = 0; (s = idmap_each(colls, &i)); i++) {
		struct collection *c = (struct collection *)s->value;

		if (c->type && c->type->kind == CKGEN_ARRAY && !c->constructed && coll_saved(c)->any)
			all[(*n_p)++] = c;
	}
	qsort(all, *n_p, sizeof *all, by_id);
	return all;
}

void place_read_all(struct pe *pe)
{
	size_t n;
	struct collection **all = arrays_read(pe, &n);

	for (size_t i = 0; i < n; i++)
		array_remade(pe, all[i]);
	for (size_t i = 0; i < n; i++)
		if (all[i]->type->on_arrived)
			call_on_arrived(all[i]);
	for (size_t i = 0; i < n; i++)
		test_calls(pe, all[i]);
	for (size_t i = 0; i < n; i++)
		coll_resume(pe, all[i]);
	free(all);
}
