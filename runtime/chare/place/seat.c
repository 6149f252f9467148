/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seat.c: elements that are away from their seat. The seat of an element is the PE that counts it in
 * reductions, broadcasts, sections and scans: the PE where it was made. The seat does not change when the
 * element moves, so all who compute with n_local, n_slots and the map need not know that it has moved.
 *
 *	at the seat      a stub in the element's slot, with its index, its ordinal, and the number of its next
 *	                 reduction; n_here and n_line are 0, so that no call takes the stub for the element
 *	where it lives   the element, a guest: in no slot, found by index
 */
#include "place_int.h"
#include "../../machine/cmi_alloc.h"

#include <assert.h>
#include <stdlib.h>

void coll_line_up(struct collection *c)
{
	if (c->sparse || c->map || c->n_local != c->n_slots || c->n_stubs)
		return;
	c->n_here = c->n_slots;
	c->n_line = c->type->nd <= 1 ? c->n_here : 0;
}

static struct stub *stub_of(const struct collection *c, CkIndex i) { return index_find(&place_of(c)->stubs, i); }

static struct stub *stub_new(struct collection *c, CkIndex i)
{
	struct stub *s = cmi_alloc_zero(1, sizeof *s, "the seat of an element");

	s->obj.coll = c;
	s->obj.index = i;
	s->obj.extra = OBJ_STUB;
	index_add(&place_of(c)->stubs, s);
	return s;
}

static void stub_free(struct stub *s)
{
	index_remove(&place_of(s->obj.coll)->stubs, s->obj.index);
	free(s);
}

struct ck_obj *seat_leave(struct pe *pe, struct ck_obj *obj)
{
	struct collection *c = obj->coll;
	struct stub *s = obj->extra & OBJ_LATE ? stub_of(c, obj->index) : stub_new(c, obj->index);

	(void)pe;
	assert(!c->walks && !obj_is_guest(obj) && c->elems[obj->ordinal] == obj);
	s->obj.ordinal = obj->ordinal;
	s->obj.n_contributed = obj->n_contributed;
	obj->n_contributed = s->n_sent;
	obj->extra &= ~OBJ_LATE;
	c->elems[obj->ordinal] = &s->obj;
	c->n_stubs++;
	c->n_here = c->n_line = 0;
	if (c->sparse)
		index_remove(&place_of(c)->dyn->here, obj->index);
	return &s->obj;
}

/* Contributions that it sent may still be under way: then the stub goes on to file them, and what the element
 * contributes from now on waits behind them. */
void seat_return(struct pe *pe, struct ck_obj *obj)
{
	struct collection *c = obj->coll;
	struct stub *s = stub_of(c, obj->index);

	if (!s || c->elems[s->obj.ordinal] != &s->obj)
		csd_abort(pe, "broken protocol: an element of %s came back to PE %d, which is not its seat",
			  c->type->name, pe->id);
	s->n_sent = obj->n_contributed;
	obj->ordinal = s->obj.ordinal;
	obj->n_contributed = s->obj.n_contributed;
	c->elems[obj->ordinal] = obj;
	c->n_stubs--;
	if (c->sparse)
		index_add(&place_of(c)->dyn->here, obj);
	if (s->n_filed == s->n_sent)
		stub_free(s);
	else
		obj->extra |= OBJ_LATE;
	coll_line_up(c);
}

/* ---- guests --------------------------------------------------------------------------------------- */

/* Close the gaps that guests left which have gone. */
static void close_gaps(struct guests *g)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->n; i++) {
		if (!g->list[i])
			continue;
		g->list[i]->ordinal = n;
		g->list[n++] = g->list[i];
	}
	g->n = n;
	g->n_holes = 0;
}

void guest_add(struct ck_obj *obj)
{
	struct collection *c = obj->coll;
	struct guests *g = c->guests;

	if (!g)
		g = c->guests = cmi_alloc_zero(1, sizeof *g, "elements of other PEs");
	if (g->n == g->cap && g->n_holes > g->n / 2)
		close_gaps(g);
	if (g->n == g->cap) {
		g->cap = g->cap ? 2 * g->cap : 8;
		g->list = cmi_realloc(g->list, g->cap, sizeof(*g->list), "elements of other PEs");
	}
	obj->extra |= OBJ_GUEST;
	obj->ordinal = g->n;
	g->list[g->n++] = obj;
	index_add(&g->by_index, obj);
}

void guest_remove(struct ck_obj *obj)
{
	struct guests *g = obj->coll->guests;

	assert(obj_is_guest(obj) && g->list[obj->ordinal] == obj);
	g->list[obj->ordinal] = NULL;
	g->n_holes++;
	index_remove(&g->by_index, obj->index);
	obj->extra &= ~OBJ_GUEST;
}

/* ---- the end ---------------------------------------------------------------------------------------- */

/* The collection frees the stubs that are in its slots. */
void seats_fini(struct pe *pe, struct collection *c)
{
	const struct idmap_slot *at;

	for (size_t i = 0; (at = idmap_each(&place_of(c)->stubs, &i)); i++) {
		struct stub *s = (struct stub *)at->value;

		while (s->early) {
			struct cmi_msg *m = s->early;

			s->early = m->next;
			csd_msg_free(pe, m);
		}
		if (c->elems[s->obj.ordinal] != &s->obj)
			free(s);
	}
	idmap_free(&place_of(c)->stubs);
}
