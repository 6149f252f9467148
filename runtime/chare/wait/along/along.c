/* SPDX-License-Identifier: Apache-2.0 */
/* along.c: the calls and the bodies that wait at an element, while it moves. */
#include "along.h"
#include "../extra.h"
#include "../../../machine/base/cmi_alloc.h"

#include <stdlib.h>

void obj_calls_init(struct obj_calls *k)
{
	*k = (struct obj_calls){ { NULL, &k->when.head }, NULL, NULL, NULL, 0 };
}

void obj_calls_pack(struct pe *pe, struct ck_obj *obj, struct obj_calls *k)
{
	k->image_bytes = sdag_size(pe, obj);
	if (!k->image_bytes)
		return;
	k->image = cmi_alloc(k->image_bytes, "an element that moves");
	sdag_pack(pe, obj, k->image);
	sdag_drop(pe, extra_of(pe, obj));
	rounds_drop(pe, extra_of(pe, obj));
}

void obj_calls_leave(struct pe *pe, struct ck_obj *obj, struct obj_calls *k)
{
	struct ck_extra *x;

	if (!(obj->extra & OBJ_EXTRA))
		return;
	x = extra_of(pe, obj);
	when_take(x, &k->when);
	if (x->rounds && !rounds_next(x->rounds, NULL))
		rounds_drop(pe, x);
	k->sdag = x->sdag;
	k->rounds = x->rounds;
	x->sdag = NULL;
	x->rounds = NULL;
	if (k->sdag)
		runs_leave(pe, k->sdag);
	extra_let_go(pe, x);
}

void obj_calls_arrive(struct pe *pe, struct ck_obj *obj, struct obj_calls *k)
{
	when_give(pe, obj, &k->when);
	if (k->rounds)
		extra_make(pe, obj)->rounds = k->rounds;
	k->rounds = NULL;
	if (k->sdag) {
		extra_make(pe, obj)->sdag = k->sdag;
		runs_arrived(pe, k->sdag);
	}
	k->sdag = NULL;
	if (k->image)
		sdag_unpack(pe, obj, k->image, k->image_bytes);
	free(k->image);
	k->image = NULL;
}

void obj_calls_free(struct obj_calls *k)
{
	rounds_dispose(k->rounds);
	free(k->sdag);
	free(k->image);
}
