/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seat.c: elements that are away from their seat. The seat of an element is the PE that counts it
 * in reductions, broadcasts, sections and scans: the PE where it was made. The seat does not change
 * when the element moves, so code that computes with n_local, n_slots and the map need not know
 * that it has moved.
 *
 *	at the seat      a stub in the element's slot, with its index, its ordinal, and the number of its
 *	                 next reduction; n_here and n_line are 0, so that no call takes it for an element
 *	where it lives   the element, a guest: in no slot, found by index
 *
 * A guest's contributions are sent to its seat, and filed there as if it had stayed. Two such
 * messages may overtake each other if the element moved in between, so each has a number, and the
 * seat files them in this order. An element may return before its last contributions. Until they
 * are filed (OBJ_LATE), contributions at its seat wait for them. The end of an element that is away
 * is numbered, too, so that no contribution is lost.
 */
#include "place_move.h"
#include "../../core/shape.h"
#include "../../../machine/base/cmi_alloc.h"

#include <assert.h>
#include <stdlib.h>

void obj_odd(struct ck_obj *obj, uint32_t bit)
{
	struct collection *c = obj->coll;

	if (!obj_is_guest(obj) && !(obj->extra & OBJ_ODD)) {
		call_coll_of(c)->n_odd++;
		c->n_here = c->n_line = 0;
	}
	obj->extra |= bit;
}

void obj_even(struct ck_obj *obj, uint32_t bit)
{
	struct collection *c = obj->coll;

	if (!(obj->extra & bit))
		return;
	obj->extra &= ~bit;
	if (obj_is_guest(obj) || obj->extra & OBJ_ODD)
		return;
	call_coll_of(c)->n_odd--;
	coll_line_up(c);
}

/* ---- stubs ----------------------------------------------------------------------------------- */

static bool stub_is_back(const struct stub *s) { return !obj_is_stub(&s->obj); }

/* The object in the element's slot here: a stub, or the element; NULL: neither. */
static struct ck_obj *in_slot(const struct collection *c, CkIndex i)
{
	uint64_t slot;

	if (c->sparse)
		return index_find(&c->here, i);
	slot = coll_slot(c, index_place(c, i));
	return slot == UINT64_MAX ? NULL : c->elems[slot];
}

static struct stub *stub_of(const struct collection *c, CkIndex i)
{
	struct ck_obj *obj = c->elems ? in_slot(c, i) : NULL;

	return obj && obj_is_stub(obj) ? (struct stub *)obj : index_find(&place_of(c)->late, i);
}

static struct stub *stub_new(struct collection *c, CkIndex i)
{
	struct stub *s = cmi_alloc_zero(1, sizeof *s, "the seat of an element");

	s->obj.coll = c;
	s->obj.index = i;
	return s;
}

/* In a sparse array the object in the slot is found by index, too. */
static void slot_set(struct ck_obj *obj)
{
	struct collection *c = obj->coll;

	if (c->sparse) {
		index_remove(&c->here, obj->index);
		index_add(&c->here, obj);
	}
	c->elems[obj->ordinal] = obj;
	newborn_slot(obj);
}

/* The stub of an element that is back; NULL: it is not late. */
static struct stub *late_take(struct ck_obj *obj)
{
	struct idmap *late = &place_of(obj->coll)->late;
	struct stub *s = obj->extra & OBJ_LATE ? index_find(late, obj->index) : NULL;

	if (s)
		index_remove_trim(late, obj->index);
	return s;
}

struct ck_obj *seat_leave(struct pe *pe, struct ck_obj *obj)
{
	struct collection *c = obj->coll;
	struct stub *late = late_take(obj), *s = late ? late : stub_new(c, obj->index);

	(void)pe;
	assert((!call_coll_of(c)->walks || late) && !obj_is_guest(obj) && c->elems[obj->ordinal] == obj);
	s->obj.ordinal = obj->ordinal;
	s->obj.n_contributed = obj->n_contributed;
	obj->n_contributed = s->n_sent;
	obj_odd(&s->obj, OBJ_STUB);
	obj_even(obj, OBJ_ODD);
	slot_set(&s->obj);
	place_of(c)->n_stubs++;
	return &s->obj;
}

void seat_stub(struct collection *c, CkIndex i)
{
	const uint64_t slot = coll_slot(c, index_place(c, i));
	struct stub *s;

	if (c->elems[slot])
		return;
	s = stub_new(c, i);
	s->obj.ordinal = (uint32_t)slot;
	obj_odd(&s->obj, OBJ_STUB);
	c->elems[slot] = &s->obj;
	c->n_local++;
	place_of(c)->n_stubs++;
}

void seat_return(struct pe *pe, struct ck_obj *obj)
{
	struct collection *c = obj->coll;
	struct stub *s = stub_of(c, obj->index);

	if (!s || stub_is_back(s))
		csd_abort(pe, "broken protocol: an element of %s came back to PE %d, which is not its seat",
			  c->type->name, pe->id);
	s->n_sent = obj->n_contributed;
	obj->ordinal = s->obj.ordinal;
	obj->n_contributed = s->obj.n_contributed;
	obj->extra &= ~OBJ_GUEST;
	slot_set(obj);
	place_of(c)->n_stubs--;
	if (index_home(pe, c, obj->index) != pe->id)
		obj_odd(obj, OBJ_STRAY);
	if (s->n_filed != s->n_sent)
		obj_odd(obj, OBJ_LATE);
	obj_even(&s->obj, OBJ_STUB);
	if (s->n_filed != s->n_sent)
		index_add(&place_of(c)->late, s);
	else
		free(s);
}

/* ---- guests ---------------------------------------------------------------------------------- */

/* Close the gaps of guests that have left. */
static void close_gaps(struct guests *g)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->n; i++) {
		struct ck_obj *obj = g->list[i].obj;

		if (!obj)
			continue;
		obj->ordinal = n;
		g->list[n++] = g->list[i];
		elemmap_find(&g->at, elem_key_of(obj->coll, obj->index))->no = n;
	}
	g->n = n;
	g->n_holes = 0;
}

/* By a quarter, as the table. */
static void guests_grow(struct guests *g)
{
	g->cap = g->cap < 8 ? 8 : g->cap + g->cap / 4;
	g->list = cmi_realloc(g->list, g->cap, sizeof(*g->list), "elements of other PEs");
}

void guest_add(struct ck_obj *obj, int seat)
{
	struct collection *c = obj->coll;
	struct guests *g = c->guests;

	if (!g)
		g = c->guests = cmi_alloc_zero(1, sizeof *g, "elements of other PEs");
	if (g->n == g->cap && g->n_holes > g->n / 2)
		close_gaps(g);
	if (g->n == g->cap)
		guests_grow(g);
	obj->extra |= OBJ_GUEST;
	obj->ordinal = g->n;
	g->list[g->n++] = (struct guest){ obj, seat };
	elemmap_add(&g->at, elem_key_of(c, obj->index), g->n);
}

void guest_remove(struct ck_obj *obj)
{
	struct guests *g = obj->coll->guests;

	assert(obj_is_guest(obj) && g->list[obj->ordinal].obj == obj);
	g->list[obj->ordinal].obj = NULL;
	g->n_holes++;
	elemmap_remove(&g->at, elemmap_find(&g->at, elem_key_of(obj->coll, obj->index)));
}

/* Broadcasts no longer reach it. Copies that wait here for their route would arrive after its home
 * has heard of its end. */
void seat_gone(struct pe *pe, struct collection *c, CkIndex i)
{
	newborn_gone(pe, c, i);
	route_drop_copies(pe, c, i);
}

/* ---- elements that are destroyed while they are away ----------------------------------------- */

static void stub_end(struct pe *pe, struct stub *s)
{
	struct collection *c = s->obj.coll;

	coll_become_dynamic(pe, c);
	seat_gone(pe, c, s->obj.index);
	c->elems[s->obj.ordinal] = NULL;
	c->n_local--;
	if (c->sparse) {
		index_remove(&c->here, s->obj.index);
		place_of(c)->dyn->n_holes++;
	}
	place_of(c)->n_stubs--;
	ck_destroyed(pe, &s->obj);
	obj_even(&s->obj, OBJ_STUB);
	free(s);
}

bool seat_end(struct pe *pe, struct collection *c, CkIndex i, uint32_t n, struct travel *end)
{
	struct stub *s = stub_of(c, i);

	if (s && s->n_filed != n) {
		s->n_sent = n;
		s->end = end;
		return false;
	}
	if (s)
		stub_end(pe, s);
	return true;
}

/* ---- contributions --------------------------------------------------------------------------- */

/* The messages that wait are sorted by number. */
static void stub_keep_early(struct pe *pe, struct stub *s, struct ck_env *env)
{
	struct cmi_msg **p = &s->early;

	while (*p && (int32_t)(((struct ck_env *)*p)->refnum - env->refnum) < 0)
		p = &(*p)->next;
	if ((int32_t)((uint32_t)env->refnum - s->n_filed) < 0 ||
	    (*p && ((struct ck_env *)*p)->refnum == env->refnum))
		csd_misfit(pe, &env->head, "what it contributes was filed before");
	env->head.next = *p;
	*p = &env->head;
}

/* File the next one. From the last one on the element needs no stub, so contributions in a handler
 * that a result starts are plain ones. */
static void file(struct pe *pe, struct stub *s)
{
	struct ck_env *env = (struct ck_env *)s->early;
	struct collection *c = s->obj.coll;
	struct ck_obj *seat = stub_is_back(s) ? in_slot(c, s->obj.index) : &s->obj;

	s->early = env->head.next;
	s->n_filed++;
	if (stub_is_back(s) && s->n_filed == s->n_sent) {
		late_take(seat);
		obj_even(seat, OBJ_LATE);
		free(s);
	}
	watch_of(pe, env->entry)->filed(pe, seat, env, env->head.src_pe);
}

void seat_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	struct collection *c = coll_get(pe, env->coll);
	const CkIndex i = env->index;
	struct stub *s = c->type ? stub_of(c, i) : NULL;

	if (!s)
		csd_misfit(pe, m, "it comes from an element that is not away from this PE");
	stub_keep_early(pe, s, env);
	/* Filing may free the stub: a handler that a result starts may let the element leave again. */
	while ((s = stub_of(c, i)) && s->early &&
	       (uint32_t)((struct ck_env *)s->early)->refnum == s->n_filed)
		file(pe, s);
	if (s && s->end && s->n_filed == s->n_sent) {
		struct travel *end = s->end;

		stub_end(pe, s);
		travel_seat_over(pe, c, end);
	}
}

void send_to_seat(struct pe *pe, struct ck_obj *obj, int part, struct ck_env *env)
{
	env->head.handler = ck_handler(pe, PART_PLACE, H_SEAT);
	env->coll = obj->coll->id;
	env->index = obj->index;
	env->entry = (uint16_t)part;
	env->flags = 0;
	if (obj_is_guest(obj)) {
		env->refnum = (int32_t)obj->n_contributed++;
		csd_send(pe, place_seat(obj), &env->head);
		return;
	}
	struct stub *s = stub_of(obj->coll, obj->index);

	env->refnum = (int32_t)s->n_sent++;
	env->head.src_pe = pe->id;
	stub_keep_early(pe, s, env);
}

const char *seat_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct ck_env *env = (const struct ck_env *)m;
	const struct place_watch *w = watch_of(pe, env->entry);

	return !w || !w->filed ? "its kind is unknown" : w->filed_misfit ? w->filed_misfit(pe, env) : NULL;
}

/* ---- seats move in bulk ---------------------------------------------------------------------- */

bool seats_away(const struct collection *c)
{
	return place_of(c)->n_stubs || place_of(c)->late.n ||
	       (c->guests && c->guests->n > c->guests->n_holes);
}

void stubs_drop(struct collection *c)
{
	assert(!place_of(c)->late.n);
	for (uint64_t i = 0; place_of(c)->n_stubs && i < c->n_slots; i++) {
		struct stub *s = (struct stub *)c->elems[i];

		if (!s || !obj_is_stub(&s->obj))
			continue;
		assert(!s->early && !s->end);
		c->elems[i] = NULL;
		free(s);
	}
	place_of(c)->n_stubs = 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void stub_let_go(struct pe *pe, struct stub *s)
{
	while (s->early) {
		struct cmi_msg *m = s->early;

		s->early = m->next;
		csd_msg_free(pe, m);
	}
	if (s->end) {
		fifo_free(pe, &s->end->late);
		travel_free(s->end);
	}
}

/* The collection frees the stubs in its slots. */
void seats_fini(struct pe *pe, struct collection *c)
{
	struct idmap *late = &place_of(c)->late;
	const struct idmap_slot *at;

	for (uint64_t i = 0; place_of(c)->n_stubs && c->elems && i < c->n_slots; i++)
		if (c->elems[i] && obj_is_stub(c->elems[i]))
			stub_let_go(pe, (struct stub *)c->elems[i]);
	for (size_t i = 0; (at = idmap_each(late, &i)); i++) {
		stub_let_go(pe, (struct stub *)at->value);
		free((struct stub *)at->value);
	}
	idmap_free(late);
}
