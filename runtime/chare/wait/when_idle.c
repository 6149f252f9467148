/* SPDX-License-Identifier: Apache-2.0 */
/*
 * when_idle.c: [whenidle] entry methods: functions of elements that the PE calls while it is idle,
 * until they return false or their element is gone.
 *
 * One hook on the scheduler's "still idle" condition serves all of them. It is set while the list
 * is not empty. A checkpoint saves the list.
 */
#include "extra.h"
#include "../../image/image.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>

#include "../../scheduler/csd.h"

struct idle_call {
	struct idle_call *next;
	const CkGenChare *chare;
	CkElement element;
	int entry;
};

/* Not as CkGen_leave: a message after each call, to test what waits there, would keep the job from
 * coming to rest. */
static void leave_idle(const CkGenFrame *frame)
{
	struct ck_obj *obj = (struct ck_obj *)(uintptr_t)CkGen_back(frame);

	if (frame->counted)
		CkGen_left(obj, true);
	else if (obj->extra & OBJ_EXTRA)
		when_test_if_true(ck_self(), obj);
}

static bool call_again(const struct idle_call *x)
{
	CkGenFrame frame;
	void *self = CkGen_enter(x->chare, &x->element, x->entry, &frame);
	bool again;

	if (!self)
		return false;
	again = x->chare->idle[x->entry](self);
	leave_idle(&frame);
	return again;
}

/* A handler may add calls, which go to the head of the list and wait for the next turn. */
static void run_idle(void *arg)
{
	struct wait_pe *w = wait_of(arg);
	struct idle_call *list = w->idle;

	w->idle = NULL;
	while (list) {
		struct idle_call *x = list;

		list = x->next;
		if (!call_again(x)) {
			free(x);
			continue;
		}
		x->next = w->idle;
		w->idle = x;
	}
	w->idle_hook = w->idle != NULL;
	if (w->idle_hook)
		csd_hook(CcdPROCESSOR_STILL_IDLE, run_idle, arg, false);
}

static void idle_add(struct pe *pe, const CkGenChare *chare, CkElement element, int entry)
{
	struct wait_pe *w = wait_of(pe);
	struct idle_call *x = cmi_alloc(sizeof *x, "a [whenidle] call");

	*x = (struct idle_call){ w->idle, chare, element, entry };
	w->idle = x;
	if (w->idle_hook)
		return;
	w->idle_hook = true;
	csd_hook(CcdPROCESSOR_STILL_IDLE, run_idle, pe, false);
}

void CkGen_whenIdle(const CkGenChare *chare, const void *self, int entry)
{
	idle_add(ck_self(), chare,
		 (CkElement){ CkGen_thisProxy(self).id, CkGen_thisIndex(self), 0 }, entry);
}

void idle_drop(struct pe *pe)
{
	struct wait_pe *w = wait_of(pe);

	while (w->idle) {
		struct idle_call *x = w->idle;

		w->idle = x->next;
		free(x);
	}
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

/* Those whose element has gone are no longer of anybody. */
void idle_write(struct pe *pe, struct image_out *out)
{
	for (const struct idle_call *x = wait_of(pe)->idle; x; x = x->next) {
		const CkIndex i = x->element.index;
		const struct image_name name = { IMAGE_IDLE, (uint32_t)pe->id, x->element.id,
						 { i.v[0], i.v[1], i.v[2] }, (uint32_t)x->entry };

		if (ck_local(pe, x->chare, &x->element))
			out->add(out, &name, 0);
	}
}

const char *idle_read(struct pe *pe, const struct image_name *name, size_t n)
{
	struct wait_pe *w = wait_of(pe);

	if (n || !(uint32_t)name->coll)
		return "it has bytes, or names no collection";
	CMI_ONE_MORE(w->idles, w->n_idles, w->idles_room, "a checkpoint");
	w->idles[w->n_idles++] = *name;
	return NULL;
}

/* A branch, or a copy of one, is under this PE's number. */
static CkIndex index_here(struct pe *pe, const struct collection *c, const struct image_name *name)
{
	const CkIndex i = { { name->index[0], name->index[1], name->index[2] } };

	if (c->type->kind == CKGEN_ARRAY || i.v[0] != pe->id % ck_node_of(pe->node)->restart.n_pes)
		return i;
	return (CkIndex){ { pe->id, 0, 0 } };
}

static void idle_take_back(struct pe *pe, const struct image_name *name)
{
	struct collection *c = coll_get(pe, name->coll);
	CkElement e = { .id = name->coll };

	if (!c->type || name->flags >= (uint32_t)c->type->n_entries || !c->type->idle ||
	    !c->type->idle[name->flags])
		csd_abort(pe, "damaged image: a [whenidle] call has no entry method of that kind");
	e.index = index_here(pe, c, name);
	if (ck_local(pe, c->type, &e))
		idle_add(pe, c->type, e, (int)name->flags);
}

/* The last of a PE's list was asked for first. */
void idle_read_all(struct pe *pe)
{
	struct wait_pe *w = wait_of(pe);

	while (w->n_idles)
		idle_take_back(pe, &w->idles[--w->n_idles]);
	free(w->idles);
	w->idles = NULL;
	w->idles_room = 0;
}
