/* SPDX-License-Identifier: Apache-2.0 */
/* bulk_come.c: all elements for a PE have arrived: they get their slots, or become guests. */
#include "bulk.h"
#include "../../core/objects/index.h"
#include "../../../machine/base/cmi_alloc.h"

_Noreturn static void not_ours(struct pe *pe, const struct collection *c, CkIndex i)
{
	csd_abort(pe, "broken plan: %s came to PE %d, where it does not belong",
		  element_thing(c->type, c->id, i).name, pe->id);
}

/* Seats move: give it a slot. */
static void seat_put(struct pe *pe, struct collection *c, struct ck_obj *obj, const struct bulk *b)
{
	const uint64_t slot = c->sparse ? c->n_local : index_place(c, obj->index) - c->first;

	if (slot >= c->n_slots || c->elems[slot])
		not_ours(pe, c, obj->index);
	obj->coll = c;
	obj->ordinal = (uint32_t)slot;
	obj->n_contributed = b->still.lo;
	obj->extra &= OBJ_EXTRA;
	c->elems[slot] = obj;
	c->n_local++;
	if (c->sparse)
		index_add(&c->here, obj);
}

/* Calls that wait for an element that does not exist, whose home is here now. */
static void keep_waiting(struct collection *c, struct travel *t)
{
	struct away *a = away_get(c, t->index);

	if (!a->waiting.head)
		a->since = closing_wave(c);
	msg_fifo_append(&a->waiting, &t->late);
}

static void run_slots(const struct pe *pe, struct collection *c)
{
	c->n_slots = coll_run_first(c, pe->id + 1) - c->first;
	c->elems = cmi_alloc_zero(c->n_slots, sizeof(*c->elems), "elements");
}

/* The tables are made anew. */
static void seats_in(struct pe *pe, struct collection *c, struct bulk *b)
{
	size_t n = b->n_stay;

	for (size_t i = 0; i < b->n_come; i++)
		n += b->come[i]->obj != NULL;
	if (b->still.dynamic) /* of the places that are here now, some may have no element */
		coll_become_dynamic(pe, c);
	if (c->sparse)
		dynamic_slots(c, n);
	else
		run_slots(pe, c);
	for (size_t i = 0; i < b->n_stay; i++)
		seat_put(pe, c, b->stay[i], b);
	for (size_t i = 0; i < b->n_come; i++) {
		struct travel *t = b->come[i];

		if (!t->obj) {
			keep_waiting(c, t);
			continue;
		}
		seat_put(pe, c, t->obj, b);
		stay_take_holders(pe, t);
	}
	if (!c->dynamic && c->n_local != c->n_slots)
		csd_abort(pe, "broken plan: %llu of %s of %s came to PE %d",
			  (unsigned long long)c->n_local,
			  csd_plural(c->n_slots, "element", "elements").text, c->type->name, pe->id);
}

/* Only elements move: they are guests, or back at their seats. */
static void guests_in(struct pe *pe, struct collection *c, struct bulk *b)
{
	for (size_t i = 0; i < b->n_come; i++) {
		struct travel *t = b->come[i];

		travel_take_seat(pe, c, t);
		if (index_home(pe, c, t->index) != pe->id)
			stay_take_holders(pe, t);
	}
}

void bulk_come(struct pe *pe, struct collection *c, struct bulk *b)
{
	if (b->seats)
		seats_in(pe, c, b);
	else
		guests_in(pe, c, b);
}
