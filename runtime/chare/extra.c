/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extra.c: what few elements have, and not for long: threads that have not ended, calls that
 * wait for their condition. An element names its record by a number of 32 bits, so elements that
 * have none of this pay nothing for it.
 */
#include "ck_int.h"

#include <stdlib.h>

static void grow(struct pe *pe)
{
	struct ck_pe *ck = pe->ck;
	uint32_t cap = ck->cap_extras ? ck->cap_extras * 2 : 64;
	struct ck_extra **extras = realloc(ck->extras, cap * sizeof(*extras));

	if (!extras)
		csd_abort(pe, "no memory for the calls that wait on %u elements", cap);
	if (!ck->n_extras)
		extras[ck->n_extras++] = NULL;
	ck->extras = extras;
	ck->cap_extras = cap;
}

static struct ck_extra *record_new(struct pe *pe)
{
	struct ck_pe *ck = pe->ck;
	struct ck_extra *x = ck->spare_extras;

	if (x) {
		ck->spare_extras = x->next;
		return x;
	}
	if (ck->n_extras == ck->cap_extras)
		grow(pe);
	x = calloc(1, sizeof *x);
	if (!x)
		csd_abort(pe, "no memory for the calls that wait on an element");
	x->no = ck->n_extras++;
	x->waiting.tail = &x->waiting.head;
	return ck->extras[x->no] = x;
}

/* The element's record, a new one if it has none. */
struct ck_extra *extra_make(struct pe *pe, struct ck_obj *obj)
{
	if (obj->extra)
		return extra_of(pe, obj);
	struct ck_extra *x = record_new(pe);

	x->obj = obj;
	obj->extra = x->no;
	return x;
}

/* To the spare ones. */
void extra_free(struct pe *pe, struct ck_extra *x)
{
	if (x->obj)
		x->obj->extra = 0;
	x->obj = NULL;
	x->end = NULL;
	x->next = pe->ck->spare_extras;
	pe->ck->spare_extras = x;
}

/* The same if there is nothing left in it. */
void extra_trim(struct pe *pe, struct ck_extra *x)
{
	if (!x->n_threads && !x->waiting.head && !x->sdag && !x->asked && !x->end)
		extra_free(pe, x);
}

bool obj_end_later(struct pe *pe, struct ck_obj *obj,
		   void (*end)(struct pe *pe, struct ck_obj *obj))
{
	if (!obj->extra || !extra_of(pe, obj)->n_threads)
		return false;
	extra_of(pe, obj)->end = end;
	return true;
}

void obj_forget(struct pe *pe, struct ck_obj *obj)
{
	if (!obj->extra)
		return;
	struct ck_extra *x = extra_of(pe, obj);

	when_drop(pe, x);
	sdag_drop(pe, x);
	obj->extra = 0;
	x->obj = NULL;
	x->end = NULL;
	if (!x->asked)
		extra_free(pe, x);
}

void extras_fini(struct pe *pe)
{
	for (uint32_t i = 1; i < pe->ck->n_extras; i++) {
		struct ck_extra *x = pe->ck->extras[i];

		when_leave(pe, x->obj, &x->waiting);
		sdag_leave(pe, x);
		free(x);
	}
	free(pe->ck->extras);
}
