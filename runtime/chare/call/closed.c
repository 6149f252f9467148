/* SPDX-License-Identifier: Apache-2.0 */
/*
 * closed.c: keeps what a PE sends to a collection while the collection's elements move
 * (place/bulk.c). It is sent, in order, when the collection is open again, to the new locations. It
 * is the uppermost stop of the collection's route (call_route.h).
 */
#include "call.h"
#include "../../machine/base/cmi_alloc.h"

#include <assert.h>
#include <stdlib.h>

struct held_call {
	struct ck_env *env;       /* ours */
	call_release_fn send;
};

static struct closed *closed_of(const struct collection *c) { return &call_coll_of(c)->closed; }

void call_hold(struct pe *pe, struct collection *c, struct ck_env *env, call_release_fn send)
{
	struct closed *k = closed_of(c);

	CMI_ONE_MORE(k->list, k->n, k->cap, "calls that wait for elements");
	env->head.src_pe = pe->id;
	k->list[k->n++] = (struct held_call){ env, send };
}

/* The home may have changed. */
static void send_released(struct pe *pe, struct collection *c, struct ck_env *env)
{
	call_send(pe, c, env);
}

/* A copy of a broadcast, or of a multicast, that was already under way. */
static int closed_address(struct pe *pe, struct collection *c, struct call_route *r,
			  struct ck_env *env)
{
	if (env->more & (CK_MORE_OF_ALL | CK_MORE_SECTION))
		return call_to_below(pe, c, r, env);
	call_hold(pe, c, env, send_released);
	return -1;
}

static bool closed_batched(struct pe *pe, struct collection *c, struct call_route *r,
			   uint64_t place, uint64_t bytes)
{
	(void)pe, (void)c, (void)r, (void)place, (void)bytes;
	return false;
}

static const struct call_stop stop = { ROUTE_CLOSED, true, closed_address, closed_batched };

void call_close(struct collection *c)
{
	call_route_add(c, &closed_of(c)->route, &stop);
}

void call_release(struct pe *pe, struct collection *c)
{
	struct closed k;

	assert(call_is_closed(c));
	call_route_remove(c, &closed_of(c)->route);
	k = *closed_of(c);
	*closed_of(c) = (struct closed){ .list = NULL };
	for (size_t i = 0; i < k.n; i++)
		k.list[i].send(pe, c, k.list[i].env);
	free(k.list);
}

void call_describe_held(const struct collection *c, struct csd_told *to)
{
	if (closed_of(c)->n)
		csd_tell(to, NULL, "%s for %s until its elements have moved",
			 csd_plural(closed_of(c)->n, "message waits", "messages wait").text,
			 coll_thing(c).name);
}

void closed_fini(struct pe *pe, struct collection *c)
{
	struct closed *k = closed_of(c);

	for (size_t i = 0; i < k->n; i++)
		csd_msg_free(pe, &k->list[i].env->head);
	free(k->list);
}
