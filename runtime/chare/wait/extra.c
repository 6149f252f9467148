/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extra.c: records of elements with threads that have not ended, or with calls that wait. Few
 * elements have these, and not for long. An element names its record by a number of 32 bits, so
 * other elements pay nothing for it.
 */
#include "extra.h"
#include "../../machine/base/cmi_alloc.h"

static void extras_grow(struct wait_pe *w)
{
	uint32_t cap = w->cap ? w->cap * 2 : 64;
	struct ck_extra **extras = cmi_realloc(w->extras, cap, sizeof(*extras),
					       "the calls that wait on elements");

	if (!w->n)
		extras[w->n++] = NULL;
	w->extras = extras;
	w->cap = cap;
}

static struct ck_extra *extra_new(struct pe *pe)
{
	struct wait_pe *w = wait_of(pe);
	struct ck_extra *x = w->spare;

	if (x) {
		w->spare = x->next;
		return x;
	}
	if (w->n == w->cap)
		extras_grow(w);
	x = cmi_alloc_zero(1, sizeof *x, "the calls that wait on an element");
	x->no = w->n++;
	msg_fifo_init(&x->waiting);
	return w->extras[x->no] = x;
}

struct ck_extra *extra_make(struct pe *pe, struct ck_obj *obj)
{
	if (obj->extra & OBJ_EXTRA)
		return extra_of(pe, obj);
	struct ck_extra *x = extra_new(pe);

	x->obj = obj;
	obj->extra |= x->no;
	return x;
}

/* The element has no record any more. */
static void unlink_element(struct ck_extra *x)
{
	if (x->obj)
		x->obj->extra &= ~OBJ_EXTRA;
	x->obj = NULL;
	x->end = x->leave = NULL;
	x->n_held = 0;
}

void extra_free(struct pe *pe, struct ck_extra *x)
{
	unlink_element(x);
	x->next = wait_of(pe)->spare;
	wait_of(pe)->spare = x;
}

void extra_trim(struct pe *pe, struct ck_extra *x)
{
	if (!x->n_threads && !x->n_held && !x->waiting.head && !x->sdag && !x->rounds && !x->asked &&
	    !x->end && !x->leave)
		extra_free(pe, x);
}

static struct ck_extra *extra_if(struct pe *pe, const struct ck_obj *obj)
{
	return obj->extra & OBJ_EXTRA ? extra_of(pe, obj) : NULL;
}

static bool stays(const struct ck_extra *x) { return x && (x->n_threads || x->n_held); }

bool obj_stays(struct pe *pe, struct ck_obj *obj) { return stays(extra_if(pe, obj)); }

/* A message under way to test the element's calls finds an empty record. */
void extra_let_go(struct pe *pe, struct ck_extra *x)
{
	unlink_element(x);
	if (!x->asked)
		extra_free(pe, x);
}

bool obj_end_later(struct pe *pe, struct ck_obj *obj,
		   void (*end)(struct pe *pe, struct ck_obj *obj))
{
	struct ck_extra *x = extra_if(pe, obj);

	if (!x || !x->n_threads)
		return false;
	x->end = end;
	return true;
}

bool obj_leave_later(struct pe *pe, struct ck_obj *obj,
		     void (*leave)(struct pe *pe, struct ck_obj *obj))
{
	struct ck_extra *x = extra_if(pe, obj);

	if (!stays(x))
		return false;
	x->leave = leave;
	return true;
}

void extra_may_leave(struct pe *pe, struct ck_extra *x)
{
	void (*leave)(struct pe *, struct ck_obj *) = x->leave;

	if (!leave || stays(x))
		return;
	x->leave = NULL;
	leave(pe, x->obj);
}

void obj_hold(struct pe *pe, struct ck_obj *obj)
{
	extra_make(pe, obj)->n_held++;
}

void obj_release(struct pe *pe, struct ck_obj *obj)
{
	struct ck_extra *x = extra_of(pe, obj);

	x->n_held--;
	extra_may_leave(pe, x);
	extra_trim(pe, x);
}
