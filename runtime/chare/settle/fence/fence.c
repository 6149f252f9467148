/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fence.c: a collective over a collection (ARMI's rmi_fence). It ends when all elements have called
 * it and all communication has settled; meanwhile the PEs continue to serve calls. It has two
 * stages. A reduction without values tells PE 0 that all elements have called. Then a new
 * quiescence detection finds a moment at which nothing is under way.
 *
 * Why this keeps the promise in ck.h. Let A be the moment at which PE 0 learns that all elements
 * have called. The detection compares two waves that both begin after A, or whose first ends after
 * it. It finds a moment t between them, after A, at which every message and put sent so far has
 * been handled (quiesce.c). An element's calls before its arrival were sent before A, so they have
 * been handled at t. A message sent by one of their handlers was sent before t, because that
 * handler had ended by t; so it has been handled, too, and so on to any depth. And t lies before
 * the callback is fired, so nothing that an element does after the fence delays it. A fence that
 * lacks arrivals delays neither quiescence nor other fences: an arrival is a contribution, and once
 * handled it does not count as work under way.
 *
 * The reduction's callback is the program's callback with a mark, so that reductions need not know
 * of fences. A marked callback is never one for elements, so the result goes to PE 0, where
 * callback_send sees the mark.
 */
#include "../settle.h"
#include "../../core/objects/unset.h"
#include "../../core/shape.h"

#include "../../../scheduler/cth.h"

/** A thread of this PE that waits in a fence. */
struct fence_waiter {
	uint64_t coll;
	CthThread thread;
	struct fence_waiter *next; /* on that thread's stack, as this one is */
};

/** On a PE. */
struct fence {
	struct fence_waiter *waiters;
};

enum { H_FENCE };

static struct fence *fence_of(const struct pe *pe) { return ck_state(pe, PART_FENCE); }

void CkFence(void *self, CkCallback cb)
{
	if (cb.kind == CB_NONE)
		unset_abort(ck_self(), "CkCallback ", "CkFence: the callback was never set");
	cb.kind |= CB_MARKED;
	CkContributeBarrier(self, cb);
}

static CkCallback unmarked(const CkCallback *cb)
{
	CkCallback then = *cb;

	then.kind &= (uint8_t)~CB_MARKED;
	return then;
}

/* Describe a fence's callback for the error message when elements disagree. */
static struct csd_thing fence_describe(struct pe *pe, const CkCallback *cb)
{
	CkCallback then = unmarked(cb);

	if (then.kind == CB_FENCE_WAIT)
		return csd_named(NULL, "CkFenceWait");
	return csd_named(NULL, "a fence before %s", callback_thing(pe, &then).name);
}

/* PE 0: all elements have contributed. */
static void fence_all_there(struct pe *pe, const CkCallback *cb, struct ck_env *env)
{
	CkCallback then = unmarked(cb);

	csd_msg_free(pe, &env->head);
	qd_start(pe, &then);
}

/* ---- threads ------------------------------------------------------------------------------ */

void CkFenceWait(void *self)
{
	struct pe *pe = ck_self();
	CkCallback cb = CkCallbackIgnore();
	struct fence_waiter w = { obj_of(self)->coll->id, CthSelf(), fence_of(pe)->waiters };

	if (!w.thread)
		csd_abort(pe, "CkFenceWait: only a thread can wait: declare the entry method "
			  "[threaded], or use CkFence");
	fence_of(pe)->waiters = &w;
	cb.kind = CB_FENCE_WAIT;
	cb.id = w.coll;
	CkFence(self, cb);
	CthSuspend();
}

/* The fence is over: every PE awakens its own threads. */
static void fence_awaken(struct pe *pe, const CkCallback *cb, struct ck_env *env)
{
	env->coll = cb->id;
	env->root = pe->id;
	env->head.handler = ck_handler(pe, PART_FENCE, H_FENCE);
	env->flags = 0;
	csd_send(pe, pe->id, &env->head);
}

/* A collection's next fence needs all its elements, so all its threads that wait here wait for
 * this fence. */
static void fence_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	struct fence_waiter **p = &fence_of(pe)->waiters, *w;

	bcast_forward(pe, env);
	while ((w = *p)) {
		if (w->coll != env->coll) {
			p = &w->next;
			continue;
		}
		*p = w->next;
		CthAwaken(w->thread);
	}
	csd_msg_free(pe, m);
}

static void fences_describe(struct pe *pe, struct csd_told *to)
{
	for (const struct fence_waiter *w = fence_of(pe)->waiters; w; w = w->next)
		csd_tell(to, &(struct csd_wait){ .who = thread_thing(w->thread) },
			 "waits in CkFenceWait for all elements of %s", coll_thing(coll_get(pe, w->coll)).name);
}

/* ---- the part -------------------------------------------------------------------------------- */

static const struct ck_handler handlers[] = {
	[H_FENCE] = { "ck.fence", fence_arrived, true,
		      .shape = { CK_SHAPE_COLL, CK_SHAPE_ROOT, .ways = { CSD_DOWN }, .misfit = shape_alone } },
};
static const struct ck_callback_kind callbacks[] = {
	{ .kind = CB_FENCE, .names = CK_NAMES_UNSENT, .send = fence_all_there,
	  .describe = fence_describe },
	{ .kind = CB_FENCE_WAIT, .names = CK_NAMES_NOTHING, .send = fence_awaken,
	  .describe = fence_describe },
};

const struct ck_part fence_part = {
	.name = "fence",
	.number = PART_FENCE,
	.pe_bytes = sizeof(struct fence),
	.handlers = CK_LIST(handlers),
	.callbacks = CK_LIST(callbacks),
	.describe = fences_describe,
};
