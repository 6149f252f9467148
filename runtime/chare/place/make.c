/* SPDX-License-Identifier: Apache-2.0 */
/* make.c: creates and destroys elements while the program runs. */
#include "place_int.h"

/* A new element; it is not constructed yet. */
static struct ck_obj *element_add(struct pe *pe, struct collection *c, CkIndex i)
{
	struct ck_obj *obj;

	coll_become_dynamic(pe, c);
	if (c->sparse) {
		obj = obj_add(c, i, dynamic_slot(c));
		index_add(&c->here, obj);
	} else {
		obj = obj_add(c, i, coll_slot(c, index_place(c, i)));
	}
	c->n_local++;
	coll_line_up(c);
	ck_created(pe, obj);
	return obj;
}

/* Its seat no longer finds it. */
static void leave_slot(struct pe *pe, struct ck_obj *obj)
{
	struct collection *c = obj->coll;

	coll_become_dynamic(pe, c);
	obj_even(obj, OBJ_ODD);
	seat_gone(pe, c, obj->index);
	c->elems[obj->ordinal] = NULL;
	c->n_local--;
	c->n_here = c->n_line = 0;
	if (c->sparse) {
		index_remove(&c->here, obj->index);
		place_of(c)->dyn->n_holes++;
	}
}

/* Destroy an element: it cannot be found any more. A guest keeps the mark, for the watchers. */
void element_destroy(struct pe *pe, struct ck_obj *obj)
{
	struct collection *c = obj->coll;
	const bool away = obj->extra & OBJ_AWAY;
	struct stay *s = stay_find(c, obj->index);
	const int seat = obj_is_guest(obj) ? place_seat(obj) : pe->id;

	if (!element_is_there(obj))
		csd_abort(pe, "CkDestroy: the element of %s is destroyed already", c->type->name);
	if (obj_is_guest(obj))
		guest_remove(obj);
	else if (away) /* its last contributions have not arrived: the seat counts it until then */
		seat_leave(pe, obj);
	else
		leave_slot(pe, obj);
	if (away)
		obj->extra |= OBJ_GUEST;
	if (s || away || index_home(pe, c, obj->index) != pe->id)
		stay_gone(pe, obj, seat);
	destroy_later(pe, obj);
	ck_destroyed(pe, obj);
}

/* Create the element. env has the constructor's parameters and its creator's stamp. */
void element_make_here(struct pe *pe, struct collection *c, CkIndex i, struct ck_env *env)
{
	struct ck_obj *obj = element_add(pe, c, i);
	const struct newborn_birth b = newborn_begin(pe, obj, env);

	deliver_new(pe, obj, env);
	newborn_made(pe, c, &b);
}

/* Runs at home, where there is no record of the element. */
void element_make(struct pe *pe, struct collection *c, CkIndex i, int to, struct ck_env *env)
{
	struct away *a;

	place_of(c)->n_makes++;
	if (!env) /* a call makes it, and its home is its creator */
		env = newborn_stamp(pe, c, env_new(pe, 0, 0));
	a = away_find(c, i);
	newborn_at_home(pe, c, i, env, a ? &a->waiting : NULL);
	if (to == CK_PE_ANY || to == pe->id) {
		element_make_here(pe, c, i, env);
		if (a)
			away_end(pe, a);
		return;
	}
	env->coll = c->id;
	env->index = i;
	env->head.handler = ck_handler(pe, PART_PLACE, H_MAKE);
	a = a ? a : away_get(c, i);
	a->pe = a->to = to;
	a->moving = true;
	a->asked = false;
	a->n_senders = 0;
	csd_send(pe, to, &env->head);
}
