/* SPDX-License-Identifier: Apache-2.0 */
/*
 * closed.c: what a PE sends to a collection while the collection's elements move at rest (place/bulk.c). It is kept
 * here, in order, and sent when the collection is open again: then each call finds its way by the places of that
 * time. The way of a plain call has no test for this. Its calls take the long way while the collection is
 * closed: n_here and n_line are 0, and `routes` is not NULL.
 */
#include "newborn.h"
#include "../../machine/base/cmi_alloc.h"

#include <assert.h>
#include <stdlib.h>

struct held_call {
	struct ck_env *env;       /* ours */
	call_release_fn send;
};

static struct closed *closed_of(const struct collection *c) { return &call_coll_of(c)->closed; }

/* Batches leave now. The next calls that could travel in one go by themselves, so they come here. */
void call_close(struct pe *pe, struct collection *c)
{
	aggregate_flush(pe);
	c->closed = true;
	c->n_here = c->n_line = 0;
	if (!c->routes)
		c->routes = cmi_alloc_zero(1, sizeof *c->routes, "the ways to elements");
}

void call_hold(struct pe *pe, struct collection *c, struct ck_env *env, call_release_fn send)
{
	struct closed *k = closed_of(c);

	if (k->n == k->cap) {
		k->cap = k->cap ? 2 * k->cap : 16;
		k->list = cmi_realloc(k->list, k->cap, sizeof *k->list, "calls that wait for elements");
	}
	env->head.src_pe = pe->id;
	k->list[k->n++] = (struct held_call){ env, send };
}

void call_release(struct pe *pe, struct collection *c)
{
	const struct closed k = *closed_of(c);

	assert(c->closed);
	c->closed = false;
	if (c->routes && !c->routes->n && !c->counted) {
		elemmap_free(c->routes);
		free(c->routes);
		c->routes = NULL;
	}
	*closed_of(c) = (struct closed){ NULL, 0, 0 };
	for (size_t i = 0; i < k.n; i++)
		k.list[i].send(pe, c, k.list[i].env);
	free(k.list);
}

void call_describe_held(const struct collection *c, csd_line_fn line, void *arg)
{
	char what[160];

	if (closed_of(c)->n)
		say_line(line, arg, "%zu messages for %s wait until its elements have moved", closed_of(c)->n,
			 coll_describe(c, what, sizeof what));
}

void closed_fini(struct pe *pe, struct collection *c)
{
	struct closed *k = closed_of(c);

	for (size_t i = 0; i < k->n; i++)
		csd_msg_free(pe, &k->list[i].env->head);
	free(k->list);
}
