/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stay.c: a PE's record of an element that lives there while others have leases of it, or while it
 * is about to leave (leave.c): the holders of leases, and late calls.
 */
#include "place_record.h"
#include "../../../machine/base/cmi_alloc.h"

#include <stdlib.h>

/* ---- records --------------------------------------------------------------------------------- */

struct stay *stay_find(const struct collection *c, CkIndex i)
{
	const struct dynamic *dyn = place_of(c)->dyn;

	return dyn && dyn->stays.n ? index_find(&dyn->stays, i) : NULL;
}

struct stay *stay_make(struct ck_obj *obj, int seat)
{
	struct stay *s = stay_find(obj->coll, obj->index);

	if (s)
		return s;
	s = cmi_alloc_zero(1, sizeof *s, "an element that moves");
	s->coll = obj->coll;
	s->index = obj->index;
	s->obj = obj;
	s->seat = seat;
	msg_fifo_init(&s->late);
	index_add(&dynamic_get(s->coll)->stays, s);
	return s;
}

struct stay *stay_get(struct pe *pe, struct ck_obj *obj)
{
	return stay_make(obj, obj_is_guest(obj) ? place_seat(obj) : pe->id);
}

struct stay *stay_take_holders(struct pe *pe, struct travel *t)
{
	struct stay *s;

	if (!t->n_holders)
		return NULL;
	s = stay_get(pe, t->obj);
	s->holders = t->holders;
	s->n_holders = s->cap_holders = t->n_holders;
	t->holders = NULL;
	return s;
}

void stay_free(struct stay *s)
{
	index_remove_trim(&place_of(s->coll)->dyn->stays, s->index);
	free(s->holders);
	free(s);
}

void stays_fini(struct pe *pe, struct collection *c)
{
	const struct idmap_slot *at;

	for (size_t i = 0; (at = idmap_each(&place_of(c)->dyn->stays, &i)); i++) {
		struct stay *s = (struct stay *)at->value;

		fifo_free(pe, &s->late);
		free(s->holders);
		free(s);
	}
}

int place_leaves_to(const struct ck_obj *obj)
{
	const struct stay *s = stay_find(obj->coll, obj->index);

	return s ? s->to : -1;
}

struct where_msg stay_about(const struct stay *s, enum where_kind kind)
{
	return where_about(s->coll, s->index, kind);
}

int stay_home(struct pe *pe, const struct stay *s)
{
	return index_home(pe, s->coll, s->index);
}

/* ---- leases ---------------------------------------------------------------------------------- */

static void add_holder(struct stay *s, int pe)
{
	for (uint32_t i = 0; i < s->n_holders; i++)
		if (s->holders[i] == pe)
			return;
	CMI_ONE_MORE(s->holders, s->n_holders, s->cap_holders, "the callers of an element");
	s->holders[s->n_holders++] = pe;
}

void stay_drop_holder(struct stay *s, int pe)
{
	for (uint32_t i = 0; i < s->n_holders; i++)
		if (s->holders[i] == pe) {
			s->holders[i] = s->holders[--s->n_holders];
			return;
		}
}

void stay_lease_again(struct pe *pe, const struct stay *s)
{
	for (uint32_t i = 0; i < s->n_holders; i++)
		tell_where(pe, s->holders[i], stay_about(s, WHERE_LEASE_AGAIN));
}

/* Not if calls with a priority wait here: those that come straight could overtake them. */
void stay_switch(struct pe *pe, struct ck_obj *obj, int sender)
{
	const bool grants = !has_queued(pe, obj->coll, obj->index);

	if (grants)
		add_holder(stay_get(pe, obj), sender);
	tell_where(pe, sender, where_about(obj->coll, obj->index, grants ? WHERE_GRANT : WHERE_DENY));
}

void stay_late(struct pe *pe, struct stay *s, struct ck_env *env)
{
	if (is_switch(pe, env))
		deny_switch(pe, s->coll, s->index, env);
	else
		msg_fifo_push(&s->late, &env->head);
}
