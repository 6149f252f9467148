/* SPDX-License-Identifier: Apache-2.0 */
/* dynamic.c: a collection on a PE in which elements come and go, or move: its record, and its
 * slots. */
#include "place_record.h"
#include "../../../machine/base/cmi_alloc.h"

void fifo_free(struct pe *pe, struct msg_fifo *f)
{
	while (f->head)
		csd_msg_free(pe, msg_fifo_pop(f));
}

struct dynamic *dynamic_get(struct collection *c)
{
	struct place_coll *p = place_of(c);

	if (!p->dyn)
		p->dyn = cmi_alloc_zero(1, sizeof *p->dyn, "a collection");
	return p->dyn;
}

/* Close the gaps that destroyed elements left. */
static void slots_close_up(struct collection *c)
{
	struct dynamic *dyn = place_of(c)->dyn;
	uint64_t n = 0;

	for (uint64_t i = 0; i < c->n_slots; i++) {
		if (!c->elems[i])
			continue;
		c->elems[i]->ordinal = (uint32_t)n;
		c->elems[n++] = c->elems[i];
	}
	c->n_slots = n;
	dyn->n_holes = 0;
}

static void elems_resize(struct collection *c, uint64_t cap)
{
	struct dynamic *dyn = place_of(c)->dyn;
	c->elems = cmi_realloc(c->elems, cap, sizeof(*c->elems), "elements");
	dyn->cap = cap;
}

void dynamic_slots(struct collection *c, uint64_t n)
{
	struct dynamic *dyn = place_of(c)->dyn;

	c->n_slots = n;
	dyn->n_holes = 0;
	dyn->cap = n > 8 ? n : 8;
	c->elems = cmi_alloc_zero(dyn->cap, sizeof(*c->elems), "elements");
}

/* This PE has created its elements. */
void dynamic_constructed(struct pe *pe, struct collection *c)
{
	(void)pe;
	if (!c->sparse)
		return;
	elems_resize(c, c->n_slots > 8 ? c->n_slots : 8);
	for (uint64_t i = 0; i < c->n_slots; i++)
		index_add(&c->here, c->elems[i]);
}

uint64_t dynamic_slot(struct collection *c)
{
	struct dynamic *dyn = place_of(c)->dyn;

	if (c->n_slots == dyn->cap && dyn->n_holes > c->n_slots / 2 && !call_coll_of(c)->walks)
		slots_close_up(c);
	if (c->n_slots == dyn->cap)
		elems_resize(c, dyn->cap * 2);
	return c->n_slots++;
}

bool element_is_there(const struct ck_obj *obj)
{
	const struct collection *c = obj->coll;

	if (obj_is_guest(obj))
		return c->guests && guest_find(c->guests, elem_key_of(c, obj->index)) == obj;
	return obj->ordinal < c->n_slots && c->elems[obj->ordinal] == obj;
}
