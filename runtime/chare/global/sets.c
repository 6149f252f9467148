/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sets.c: operations under way, by who has begun them: a set counts those of one thread, of one
 * element, or of a single call that waits. A set exists while it counts any.
 *
 * An element does not move while its set exists (obj_hold), because the operations write into it.
 * For the same reason it may not end. A thread ends when they have ended, with its element held,
 * unless they use its stack (csd_thread_settle).
 */
#include "global_int.h"
#include "../core/describe.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>

struct set_then {
	struct set_then *next;
	CkCallback cb;
};

struct set {
	uint32_t next;            /* free ones (slots.h) */
	uint32_t open;            /* operations under way; 0: the set is free */
	uint64_t key;             /* in by_key; 0: of a call alone */
	struct ck_obj *obj;       /* whose it is; NULL: a thread's, or nobody's */
	CthThread thread;         /* that has begun them; NULL: none */
	bool *over;               /* the thread waits; set when it need not */
	struct set_then *thens;   /* ours */
};

struct sets {
	struct slots all;
	struct idmap by_key;      /* thread, element or PE -> set */
	uint64_t last_key;        /* the set found most recently ... */
	uint32_t last;            /* ... 0: none */
};

static struct sets *sets_of(const struct pe *pe)
{
	return global_of(pe)->sets;
}

static struct set *set_at(const struct pe *pe, uint32_t no)
{
	return slot_at(&sets_of(pe)->all, no);
}

static struct sets *sets_make(struct pe *pe)
{
	struct global_pe *o = global_of(pe);

	if (!o->sets) {
		o->sets = cmi_alloc_zero(1, sizeof *o->sets, "gets and puts");
		o->sets->all.bytes = sizeof(struct set);
	}
	return o->sets;
}

/* Elements of arrays move, and all but branches of nodegroups are used by one PE only. */
static struct ck_obj *running_obj(const struct pe *pe)
{
	struct ck_obj *obj = ck_of(pe)->now.obj;

	return obj && obj->coll->type->kind != CKGEN_NODEGROUP ? obj : NULL;
}

static uint32_t set_new(struct pe *pe, uint64_t key, struct ck_obj *obj)
{
	struct sets *all = sets_make(pe);
	const uint32_t no = slot_take(&all->all, "gets and puts");

	*set_at(pe, no) = (struct set){ .key = key, .obj = obj, .thread = CthSelf() };
	if (key)
		idmap_add(&all->by_key, key, no);
	if (obj)
		obj_hold(pe, obj);
	return no;
}

/* Who calls, as a key: a thread, else an element, else the PE. */
static uint64_t caller(const struct pe *pe, struct ck_obj **obj_p)
{
	const CthThread thread = CthSelf();

	*obj_p = thread ? NULL : running_obj(pe);
	return thread ? (uintptr_t)thread : *obj_p ? (uintptr_t)*obj_p : (uintptr_t)pe;
}

/* 0: nothing of the caller is under way. */
static uint32_t set_found(struct pe *pe, uint64_t key)
{
	struct sets *all = sets_of(pe);

	if (!all || (all->last && all->last_key == key))
		return all ? all->last : 0;
	const struct idmap_slot *s = idmap_find(&all->by_key, key);

	if (!s)
		return 0;
	all->last_key = key;
	return all->last = (uint32_t)s->value;
}

uint32_t set_open(struct pe *pe, const void *memory)
{
	struct ck_obj *obj;
	const uint64_t key = caller(pe, &obj);
	uint32_t no = set_found(pe, key);

	if (!no)
		no = set_new(pe, key, obj);
	set_at(pe, no)->open++;
	if (CthSelf())
		csd_thread_owes(CthSelf(), memory);
	return no;
}

uint32_t set_alone(struct pe *pe)
{
	const uint32_t no = set_new(pe, 0, NULL);

	set_at(pe, no)->open = 1;
	return no;
}

bool set_has(const struct pe *pe, uint32_t no, uint32_t n)
{
	const struct sets *all = sets_of(pe);

	return all && no && no < all->all.n && n && set_at(pe, no)->open >= n;
}

static void set_forget(struct pe *pe, uint32_t no)
{
	struct sets *all = sets_of(pe);
	const uint64_t key = set_at(pe, no)->key;

	if (key)
		idmap_remove(&all->by_key, idmap_find(&all->by_key, key));
	if (all->last == no)
		all->last = 0;
	slot_give(&all->all, no);
}

/* The set is forgotten first: callbacks and threads may begin a new one. */
static void set_over(struct pe *pe, uint32_t no)
{
	const struct set s = *set_at(pe, no);

	set_forget(pe, no);
	if (s.key && s.thread)
		csd_thread_paid(s.thread);
	if (s.over) {
		*s.over = true;
		CthAwaken(s.thread);
	}
	for (struct set_then *t = s.thens, *next; t; t = next) {
		next = t->next;
		callback_fire(pe, &t->cb, CK_NOTYPE, NULL, 0, 0);
		free(t);
	}
	if (s.obj)
		obj_release(pe, s.obj);
}

void set_close(struct pe *pe, uint32_t no, uint32_t n)
{
	if (!(set_at(pe, no)->open -= n))
		set_over(pe, no);
}

void check_thread(struct pe *pe, const char *call, const char *then)
{
	if (!CthSelf())
		csd_abort(pe, "%s waits, and only a thread can: declare the entry method [threaded], or use %s",
			  call, then);
}

/* What a network did at once is over already. Other code may awaken the thread before. */
void set_wait(struct pe *pe, uint32_t no)
{
	bool over = false;

	if (!set_at(pe, no)->open)
		return;
	set_at(pe, no)->over = &over;
	far_flush(pe);
	while (!over)
		CthSuspend();
}

void CkSync(void)
{
	struct pe *pe = ck_self();
	struct ck_obj *obj;
	const uint32_t no = set_found(pe, caller(pe, &obj));

	if (no || pe->node->check)
		check_thread(pe, "CkSync", "CkSyncThen");
	if (no)
		set_wait(pe, no);
}

void CkSyncThen(CkCallback cb)
{
	struct pe *pe = ck_self();
	struct ck_obj *obj;
	const uint32_t no = set_found(pe, caller(pe, &obj));
	struct set_then *t, **at;

	if (!no) {
		callback_fire(pe, &cb, CK_NOTYPE, NULL, 0, 0);
		return;
	}
	t = cmi_alloc_zero(1, sizeof *t, "CkSyncThen");
	t->cb = cb;
	for (at = &set_at(pe, no)->thens; *at; at = &(*at)->next)
		;
	*at = t;
}

/* ---- elements that end, reports, the end ----------------------------------------------------- */

void sets_destroyed(struct pe *pe, struct ck_obj *obj)
{
	const struct sets *all = sets_of(pe);
	const struct idmap_slot *s = all ? idmap_find(&all->by_key, (uintptr_t)obj) : NULL;
	char name[256];

	if (s)
		csd_abort(pe, "%s ends while %u of its gets and puts are under way: wait with CkSyncThen first",
			  obj_describe(obj, name, sizeof name), set_at(pe, (uint32_t)s->value)->open);
}

static struct csd_thing whose(const struct set *s)
{
	if (s->thread)
		return thread_thing(s->thread);
	return s->obj ? obj_thing(s->obj) : csd_named(NULL, "a handler");
}

void sets_describe(struct pe *pe, struct csd_told *to)
{
	const struct sets *all = sets_of(pe);

	for (uint32_t no = 1; all && no < all->all.n; no++) {
		const struct set *s = set_at(pe, no);

		if (s->open && (s->over || s->thens || (s->thread && csd_thread_settles(s->thread))))
			csd_tell(to, &(struct csd_wait){ .who = whose(s) }, "waits for %s (%s)",
				 csd_plural(s->open, "global operation", "global operations").text,
				 s->key ? "CkSync" : "a read, a write or an atomic");
	}
}

void sets_stop(struct pe *pe)
{
	struct sets *all = sets_of(pe);

	for (uint32_t no = 1; all && no < all->all.n; no++) {
		struct set_then *t = set_at(pe, no)->open ? set_at(pe, no)->thens : NULL, *next;

		for (; t; t = next) {
			next = t->next;
			free(t);
		}
	}
	if (!all)
		return;
	idmap_free(&all->by_key);
	slots_free(&all->all);
	free(all);
	global_of(pe)->sets = NULL;
}
