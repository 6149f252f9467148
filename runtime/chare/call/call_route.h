/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_route.h: the route of a call between its stub and the queue of a PE. Usually it leads
 * straight to the element's home. Exceptions are stops of the collection's route on this PE, each
 * of which asks the one below it:
 *
 *	closed    elements move at rest: what is sent waits here                 call/closed.c
 *	counted   load balancing wants to know who calls whom                    balance/edges.c
 *	moved     elements are away from home, and this PE has ways to them      place/record/lease.c
 *	          the home                                                       call_home
 *
 * A plain call has one test for all of them, c->route. Calls of this PE's own elements do not even
 * have that: stops for them, too (`every`), set n_here and n_line to 0.
 */
#ifndef CK_CALL_ROUTE_H
#define CK_CALL_ROUTE_H

#include "../core/core.h"

/** From the bottom up. Those from ROUTE_COUNTED on are for `every` call. */
enum route_rank { ROUTE_MOVED, ROUTE_COUNTED, ROUTE_CLOSED };

/** The operations of a stop. */
struct call_stop {
	enum route_rank rank;
	bool every;               /* calls of this PE's own elements stop here, too, and each batched
				   * call */
	/** The PE to which an addressed call, or any message about an element, goes; -1: this has taken
	 * the message, and sends it later. */
	int (*address)(struct pe *pe, struct collection *c, struct call_route *r, struct ck_env *env);
	/** Whether a call of the element at a place may go to its home in a batch. `bytes`: those that it
	 * takes there; 0: it does not fit, and is sent by itself anyway. */
	bool (*batched)(struct pe *pe, struct collection *c, struct call_route *r, uint64_t place,
			uint64_t bytes);
};

/** A stop on the route of a collection on a PE; a member of its owner's record of the
 * collection. */
struct call_route {
	const struct call_stop *stop; /* NULL: not on the route */
	struct call_route *below; /* NULL: the home */
};

/** Put a stop on the route, which is not there. */
void call_route_add(struct collection *c, struct call_route *r, const struct call_stop *stop);
/** Remove it. */
void call_route_remove(struct collection *c, struct call_route *r);

/** Whether calls of this PE's own elements stop somewhere. */
static inline bool call_route_has_every(const struct collection *c)
{
	return c->route && c->route->stop->every;
}

/** The home of the element that a call names, or that an equally addressed message names. */
static inline int call_home(struct pe *pe, const struct collection *c, const struct ck_env *env)
{
	return env->flags & CK_ENV_UNPLACED ? index_home(pe, c, env->index) : coll_home(pe, c, env->place);
}

/** The destination, as call_stop.address: from the top, and from below a stop. */
static inline int call_to(struct pe *pe, struct collection *c, struct ck_env *env)
{
	struct call_route *r = c->route;

	return CSD_LIKELY(!r) ? call_home(pe, c, env) : r->stop->address(pe, c, r, env);
}
static inline int call_to_below(struct pe *pe, struct collection *c, const struct call_route *r,
				struct ck_env *env)
{
	return r->below ? r->below->stop->address(pe, c, r->below, env) : call_home(pe, c, env);
}
static inline bool call_batched_below(struct pe *pe, struct collection *c,
				      const struct call_route *r, uint64_t place,
				      uint64_t bytes)
{
	return !r->below || r->below->stop->batched(pe, c, r->below, place, bytes);
}

/** Send an addressed call, unless a stop keeps it. Takes the message. */
static inline void call_send(struct pe *pe, struct collection *c, struct ck_env *env)
{
	const int to = call_to(pe, c, env);

	if (CSD_LIKELY(to >= 0))
		csd_send(pe, to, &env->head);
}

#endif
