/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inline.c: [inline] and [local] calls. The handler runs inside its caller, like a C function, even
 * if the caller is a handler of the same element. The stub's frame saves the caller's state;
 * CkGen_leave restores it.
 */
#include "../../scheduler/cth.h"
#include "extra.h"

#include <string.h>

struct frame {
	struct ck_running now;
	bool shared;
	bool counted;             /* counted as a thread of the element, because the handler may wait */
};
_Static_assert(sizeof(struct frame) <= sizeof(CkGenFrame), "the stub has room for it");

/* A PE constructs its elements one after another. While a constructor runs, later elements cannot
 * be called yet. */
static bool is_constructed(const struct ck_pe *ck, const struct ck_obj *obj)
{
	return !ck->now.obj || ck->now.entry != 0 || ck->now.obj->coll != obj->coll ||
	       obj_is_guest(obj) || obj->ordinal <= ck->now.obj->ordinal;
}

static void *enter_call(struct pe *pe, struct ck_obj *obj, int entry, CkGenFrame *frame)
{
	struct frame f;

	memset(&f, 0, sizeof f);
	f.now = ck_of(pe)->now;
	f.shared = ck_of(pe)->shared;
	f.counted = CthSelf() && thread_is_counted(obj);
	if (f.counted)
		extra_make(pe, obj)->n_threads++;
	memcpy(frame, &f, sizeof f);
	ck_of(pe)->now = (struct ck_running){ obj, NULL, (uint32_t)entry };
	ck_of(pe)->shared = false;
	return self_of(obj);
}

void *CkGen_enter(const CkGenChare *chare, const CkElement *e, int entry, CkGenFrame *frame)
{
	struct pe *pe = ck_self_calls(chare, entry);
	struct ck_obj *obj = ck_local(pe, chare, e);

	if (!obj || !is_constructed(ck_of(pe), obj) || (chare->entries[entry].flags & CKGEN_EXCLUSIVE))
		return NULL;
	return enter_call(pe, obj, entry, frame);
}

void *CkGen_enterLocal(const CkGenChare *chare, const CkElement *e, int entry, CkGenFrame *frame)
{
	struct pe *pe = ck_self_calls(chare, entry);
	struct ck_obj *obj = ck_local(pe, chare, e);
	char name[128];

	if (obj && is_constructed(ck_of(pe), obj))
		return enter_call(pe, obj, entry, frame);
	describe_entry(chare, entry, name, sizeof name);
	csd_abort(pe, "%s is [local], and element (%d, %d, %d) is not %s; ask with %s_ckLocal, or "
		  "declare it [inline], which sends a message then", name, e->index.v[0],
		  e->index.v[1], e->index.v[2], obj ? "constructed yet" : "on this PE", chare->name);
}

void CkGen_leave(CkGenFrame *frame)
{
	struct pe *pe = ck_self();
	struct ck_obj *obj = ck_of(pe)->now.obj;
	struct frame f;

	memcpy(&f, frame, sizeof f);
	ck_of(pe)->now = f.now;
	ck_of(pe)->shared = f.shared;
	if (f.counted)
		thread_ended(pe, obj);
	else if (obj->extra & OBJ_EXTRA)
		when_test_soon(pe, obj);
}
