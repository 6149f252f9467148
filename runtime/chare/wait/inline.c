/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inline.c: [inline] and [local] calls. The handler runs inside its caller, like a C function, even
 * if the caller is a handler of the same element. The stub's frame saves the caller's state;
 * CkGen_leave restores it. The usual call needs nothing from here (CkGen_enterLine).
 */
#include "extra.h"

/* A PE constructs its elements one after another. While a constructor runs, or what it calls, later
 * elements cannot be called yet. */
static bool is_constructed(const struct ck_obj *obj)
{
	const struct call_coll *calls = call_coll_of(obj->coll);

	return obj->ordinal < calls->new_from || obj->ordinal >= calls->new_to || obj_is_guest(obj);
}

static void *enter_call(struct pe *pe, struct ck_obj *obj, int entry, CkGenFrame *frame)
{
	void *self = CkGen_enterObj((CkGenObj *)obj, entry, frame);

	/* The handler may wait. */
	if (pe->thread && thread_is_counted(obj)) {
		frame->counted = true;
		extra_make(pe, obj)->n_threads++;
	}
	return self;
}

void *CkGen_enter(const CkGenChare *chare, const CkElement *e, int entry, CkGenFrame *frame)
{
	struct pe *pe = ck_self_calls(chare, entry);
	struct ck_obj *obj = ck_local(pe, chare, e);

	if (!obj || !is_constructed(obj) || (chare->entries[entry].flags & CKGEN_EXCLUSIVE))
		return NULL;
	return enter_call(pe, obj, entry, frame);
}

void *CkGen_enterOther(const CkGenChare *chare, uint64_t id, int x, int entry, CkGenFrame *frame)
{
	const CkElement e = { .id = id, .index = { { x, 0, 0 } } };

	return CkGen_enter(chare, &e, entry, frame);
}

void *CkGen_enterLocal(const CkGenChare *chare, const CkElement *e, int entry, CkGenFrame *frame)
{
	struct pe *pe = ck_self_calls(chare, entry);
	struct ck_obj *obj = ck_local(pe, chare, e);
	char name[128];

	if (obj && is_constructed(obj))
		return enter_call(pe, obj, entry, frame);
	describe_entry(chare, entry, name, sizeof name);
	csd_abort(pe, "%s is [local], and %s is not %s; ask with %s_ckLocal, or declare it [inline], "
		  "which sends a message then", name, element_thing(chare, e->id, e->index).name,
		  obj ? "constructed yet" : "on this PE", chare->name);
}

void CkGen_left(const void *obj, bool counted)
{
	struct pe *pe = ck_self();

	if (counted)
		thread_ended(pe, (struct ck_obj *)(uintptr_t)obj);
	else
		when_test_soon(pe, (struct ck_obj *)(uintptr_t)obj);
}
