/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extra.c: records of elements with threads that have not ended, or with calls that wait. Few elements
 * have these, and not for long. An element names its record by a number of 32 bits, so other elements
 * pay nothing for it.
 */
#include "wait_int.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>

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
	if (!x->n_threads && !x->n_held && !x->waiting.head && !x->sdag && !x->asked && !x->end && !x->leave)
		extra_free(pe, x);
}

static struct ck_extra *extra_if(struct pe *pe, const struct ck_obj *obj)
{
	return obj->extra & OBJ_EXTRA ? extra_of(pe, obj) : NULL;
}

static bool stays(const struct ck_extra *x) { return x && (x->n_threads || x->n_held); }

bool obj_stays(struct pe *pe, struct ck_obj *obj) { return stays(extra_if(pe, obj)); }

/* A message that is on its way to test the element's calls finds an empty record. */
static void let_go(struct pe *pe, struct ck_extra *x)
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

void obj_calls_init(struct obj_calls *k)
{
	*k = (struct obj_calls){ { NULL, &k->when.head }, NULL, NULL, 0 };
}

void obj_calls_pack(struct pe *pe, struct ck_obj *obj, struct obj_calls *k)
{
	k->image_bytes = sdag_size(pe, obj);
	if (!k->image_bytes)
		return;
	k->image = cmi_alloc(k->image_bytes, "an element that moves");
	sdag_pack(pe, obj, k->image);
	sdag_drop(pe, extra_of(pe, obj));
}

void obj_calls_leave(struct pe *pe, struct ck_obj *obj, struct obj_calls *k)
{
	struct ck_extra *x;

	if (!(obj->extra & OBJ_EXTRA))
		return;
	x = extra_of(pe, obj);
	when_take(x, &k->when);
	k->sdag = x->sdag;
	x->sdag = NULL;
	if (k->sdag)
		runs_leave(pe, k->sdag);
	let_go(pe, x);
}

void obj_calls_arrive(struct pe *pe, struct ck_obj *obj, struct obj_calls *k)
{
	when_give(pe, obj, &k->when);
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

void obj_calls_test(struct pe *pe, struct ck_obj *obj)
{
	if (obj->extra & OBJ_EXTRA)
		when_test(pe, obj);
}

void obj_calls_free(struct obj_calls *k)
{
	free(k->sdag);
	free(k->image);
}

void obj_drop_calls(struct pe *pe, struct ck_obj *obj)
{
	if (!(obj->extra & OBJ_EXTRA))
		return;
	when_drop(pe, extra_of(pe, obj));
	sdag_drop_calls(pe, extra_of(pe, obj));
}

void obj_forget(struct pe *pe, struct ck_obj *obj)
{
	if (!(obj->extra & OBJ_EXTRA))
		return;
	struct ck_extra *x = extra_of(pe, obj);

	when_drop(pe, x);
	sdag_drop(pe, x);
	let_go(pe, x);
}

static void wait_describe(struct pe *pe, struct csd_told *to)
{
	const struct wait_pe *w = wait_of(pe);

	for (uint32_t i = 1; i < w->n; i++) {
		const struct ck_extra *x = w->extras[i];

		if (!x->obj)
			continue;
		when_describe(x->obj, &x->waiting, to);
		if (x->sdag)
			sdag_describe(x, to);
	}
}

static int wait_node_start(struct node *node)
{
	call_node_of(node)->behind = when_test;
	return 0;
}

static void wait_pe_stop(struct pe *pe)
{
	struct wait_pe *w = wait_of(pe);

	idle_drop(pe);
	threads_drop(pe);
	for (uint32_t i = 1; i < w->n; i++) {
		struct ck_extra *x = w->extras[i];

		when_leave(pe, x->obj, &x->waiting);
		sdag_leave(pe, x);
		free(x);
	}
	free(w->extras);
	runs_trim(w);
}

static const struct ck_handler handlers[] = { [H_WHEN] = { "ck.when", when_arrived, .apart = false } };
static const struct ck_attribute attributes[] = {
	{ CKGEN_AWAITED, CK_TAKES_CALL, sdag_takes },
	{ CKGEN_AWAITED, CK_STARTS, body_posted },
	{ CKGEN_WHEN, CK_TAKES_CALL, when_keeps },
	{ CKGEN_THREADED, CK_STARTS, thread_start }, /* bodies, too: it comes first */
	{ CKGEN_BODY, CK_STARTS, body_start },
	{ CKGEN_BODY, CK_RUNS, body_on_thread },
};

const struct ck_part wait_part = {
	.name = "wait",
	.number = PART_WAIT,
	.node_bytes = sizeof(struct wait_node),
	.pe_bytes = sizeof(struct wait_pe),
	.coll_bytes = sizeof(struct wait_coll),
	.handlers = CK_LIST(handlers),
	.attributes = CK_LIST(attributes),
	.node_start = wait_node_start,
	.pe_stop = wait_pe_stop,
	.describe = wait_describe,
};
