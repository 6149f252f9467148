/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threaded.c: [threaded] entry methods: handlers on stacks of their own, which may wait. Such a
 * handler starts as soon as its call is delivered. While it waits, the PE continues with other
 * messages, also of the same element. Its message lives until it has ended. Each switch of stacks
 * exchanges the PE's state (struct ck_running), so each thread has its own.
 */
#include "../../scheduler/cth.h"
#include "extra.h"

#include <string.h>

/* Called between two stacks, and between two runs of bodies. The thread that stops may have changed
 * its element, so calls that wait for a condition are tested again. */
void ck_swap_running(struct pe *pe, uint64_t state[CSD_RUNNING_WORDS])
{
	struct ck_obj *stops;

	if (CSD_UNLIKELY(ck_of(pe)->prepared != NULL))
		prepared_left(pe);
	stops = kept_swap(pe, state);
	if (stops && (stops->extra & OBJ_EXTRA))
		when_test_soon(pe, stops);
}

/* ---- threads --------------------------------------------------------------------------------- */

/* On the stack of the code that starts the thread; gone when the thread waits. */
struct start {
	struct pe *pe;
	struct ck_obj *obj;
	struct ck_env *env;
	bool shared;
};

/* Threads of a nodegroup's branch are not counted: the branch belongs to no PE and lives as long as
 * the job. */
bool thread_is_counted(const struct ck_obj *obj)
{
	return obj->coll->type->kind != CKGEN_NODEGROUP;
}

void thread_ended(struct pe *pe, struct ck_obj *obj)
{
	struct ck_extra *x = extra_of(pe, obj);

	if (--x->n_threads == 0 && x->end) {
		x->end(pe, obj);
		return;
	}
	extra_may_leave(pe, x);
	when_test_soon(pe, obj);
	extra_trim(pe, x);
}

void thread_settle(struct pe *pe, struct ck_obj *obj)
{
	ck_of(pe)->now.obj = obj;
	csd_thread_settle(pe);
	ck_of(pe)->now.obj = NULL;
}

static void thread_body(void *arg)
{
	const struct start s = *(const struct start *)arg;

	const CkGenEntry *e = &s.obj->coll->entries[s.env->entry];
	const bool special = env_is_special(s.pe, s.env);

	ck_of(s.pe)->shared = s.shared;
	run_entry(s.pe, s.obj, s.env);
	thread_settle(s.pe, s.obj);
	ck_of(s.pe)->shared = false;
	call_ended(s.pe, e, s.env, special, s.shared);
	if (s.shared)
		env_unref(s.pe, s.env);
	if (thread_is_counted(s.obj))
		thread_ended(s.pe, s.obj);
}

/* The thread holds one more reference to a shared message. */
bool thread_start(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared)
{
	const CkGenEntry *e = &obj->coll->entries[env->entry];
	struct start s = { pe, obj, env, shared };

	if (shared)
		/* Relaxed: the caller holds a reference already, so the count cannot reach 0 meanwhile. */
		atomic_fetch_add_explicit(&env->refs, 1, memory_order_relaxed);
	if (thread_is_counted(obj))
		extra_make(pe, obj)->n_threads++;
	CthResume(CthCreate(thread_body, &s, e->stack_bytes));
	return true;
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

/* Of elements: refuse_extra says so. */
static void refuse_thread(struct pe *pe, const uint64_t state[CSD_RUNNING_WORDS], void *to)
{
	struct ck_running now;

	(void)pe;
	memcpy(&now, state, sizeof now);
	if (!now.obj)
		csd_tell(to, NULL, "a thread of the program has not ended (CthCreate)");
	else if (!thread_is_counted(now.obj))
		csd_tell(to, NULL, "%s at %s has not ended: it has a stack ([threaded])",
			 entry_thing(now.obj->coll->type, now.entry).name, obj_thing(now.obj).name);
}

void threads_refuse(struct pe *pe, struct csd_told *to)
{
	csd_each_thread(pe, refuse_thread, to);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void drop_thread(struct pe *pe, const uint64_t state[CSD_RUNNING_WORDS], void *arg)
{
	struct kept_running r;

	(void)arg;
	memcpy(&r, state, sizeof r);
	if (r.now.obj && r.now.env)
		env_unref(pe, r.now.env);
	ck_of(pe)->unpacked = r.unpacked;
	pup_forget(pe);
}

void threads_drop(struct pe *pe)
{
	csd_each_thread(pe, drop_thread, NULL);
}
