/* SPDX-License-Identifier: Apache-2.0 */
/* call_route.c: the stops of a collection's route, in order; whether its calls can do without. */
#include "call.h"

#include <assert.h>

void call_route_add(struct collection *c, struct call_route *r, const struct call_stop *stop)
{
	struct call_route **at = &c->route;

	while (*at && (*at)->stop->rank > stop->rank)
		at = &(*at)->below;
	assert(!r->stop);
	*r = (struct call_route){ stop, *at };
	*at = r;
	if (stop->every)
		c->n_here = c->n_line = 0;
}

void call_route_remove(struct collection *c, struct call_route *r)
{
	struct call_route **at = &c->route;

	while (*at != r)
		at = &(*at)->below;
	*at = r->below;
	*r = (struct call_route){ NULL, NULL };
}

void coll_line_up(struct collection *c)
{
	const struct call_coll *calls = call_coll_of(c);

	if (c->sparse || c->homes.map || c->n_local != c->n_slots || calls->n_odd ||
	    call_route_has_every(c))
		return;
	c->n_here = c->n_slots;
	c->n_line = c->type->nd <= 1 && calls->new_from == calls->new_to ? c->n_here : 0;
}
