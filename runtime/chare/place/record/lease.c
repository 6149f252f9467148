/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease.c: how calls reach elements that are away from home. A PE's calls of an element go through
 * its home, or straight to its PE with a *lease*: an entry of the location cache (Charm++) that its
 * PE has granted and can recall. At any moment all calls of one PE to one element take one route,
 * which changes only when the old one is known to be empty. So they stay in order, and no PE gets a
 * call of an element that it does not have.
 *
 *	no record     by way of home
 *	WAITS         the PE has sent SWITCH, by way of home, behind its calls. Calls wait for the answer
 *	LEASE         straight to `pe`, which has noted this PE as a holder
 *	CLEAN_HOME    the lease was recalled, and nothing has been sent since: as no record, but if the
 *	              element's new place offers a lease again, the way by home is known to be empty
 *
 *	OFFER          from home: your calls pass through here       SWITCH, unless there is a record
 *	GRANT          from its place: you are a holder              WAITS: LEASE; calls go straight
 *	DENY           it is not there, or about to leave            WAITS: what waited goes by home
 *	RECALL         it is about to leave: FLUSH behind the last call; LEASE: CLEAN_HOME
 *	LEASE_AGAIN    from its new place, which has noted this PE   CLEAN_HOME: LEASE. No record: SWITCH
 *
 * A home keeps no such records: its own calls go through its own queue to its own record (home.c).
 *
 * The state is a number in a table (WAY_*), so a lease takes only a slot of 16 bytes. While the
 * table has any, it is a stop on the route of the collection's calls (call/call_route.h).
 */
#include "place_record.h"
#include "../../../machine/base/cmi_alloc.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

/* Of an element in state WAY_WAITS. */
struct waits {
	struct collection *coll;
	CkIndex index;
	struct msg_fifo held;     /* calls, in order */
};

static const struct call_stop stop;

/* ---- the tables ------------------------------------------------------------------------------ */

static struct elemmap *ways_of(const struct collection *c) { return &place_of(c)->ways.at; }

static struct elemmap_slot *route_find(const struct collection *c, CkIndex i)
{
	return ways_of(c)->n ? elemmap_find(ways_of(c), elem_key_of(c, i)) : NULL;
}

static void route_add(struct collection *c, CkIndex i, uint32_t way)
{
	if (!ways_of(c)->n)
		call_route_add(c, &place_of(c)->ways.route, &stop);
	elemmap_add(ways_of(c), elem_key_of(c, i), way);
}

static void ways_drop(struct collection *c)
{
	if (place_of(c)->ways.route.stop)
		call_route_remove(c, &place_of(c)->ways.route);
	elemmap_free(ways_of(c));
}

static void route_remove(struct collection *c, struct elemmap_slot *r)
{
	elemmap_remove(ways_of(c), r);
	if (!ways_of(c)->n)
		ways_drop(c);
}

static void waits_add(struct collection *c, CkIndex i)
{
	struct waits *w = cmi_alloc_zero(1, sizeof *w, "the path to an element");

	w->coll = c;
	w->index = i;
	msg_fifo_init(&w->held);
	index_add(&place_of(c)->waits, w);
}

/* It waits no longer. The caller owns the waiting calls. */
static void waits_end(struct collection *c, CkIndex i, struct msg_fifo *held)
{
	struct waits *w = index_find(&place_of(c)->waits, i);

	msg_fifo_move(held, &w->held);
	index_remove_trim(&place_of(c)->waits, i);
	free(w);
}

void route_drop_copies(struct pe *pe, struct collection *c, CkIndex i)
{
	struct waits *w = place_of(c)->waits.n ? index_find(&place_of(c)->waits, i) : NULL;

	if (w)
		drop_copies(pe, &w->held);
}

void routes_fini(struct pe *pe, struct collection *c)
{
	struct idmap *waits = &place_of(c)->waits;
	const struct idmap_slot *at;

	for (size_t i = 0; (at = idmap_each(waits, &i)); i++) {
		struct waits *w = (struct waits *)at->value;

		fifo_free(pe, &w->held);
		free(w);
	}
	idmap_free(waits);
	ways_drop(c);
}

void routes_describe(struct pe *pe, const struct collection *c, struct csd_told *to)
{
	const struct idmap_slot *at;

	for (size_t i = 0; (at = idmap_each(&place_of(c)->waits, &i)); i++) {
		const struct waits *w = (const struct waits *)at->value;

		csd_tell(to, NULL, "PE %d holds %s for %s until it hears whether it may send directly", pe->id,
			 csd_plural(msg_fifo_count(&w->held), "call", "calls").text,
			 element_thing(c->type, c->id, w->index).name);
	}
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* For a call that goes through home, or waits. Returns its destination; -1: it waits. */
static int other_way(struct pe *pe, struct collection *c, CkIndex i, struct elemmap_slot *r,
		     struct ck_env *env)
{
	if (r->no == WAY_WAITS) {
		env->head.src_pe = pe->id;
		msg_fifo_push(&((struct waits *)index_find(&place_of(c)->waits, i))->held, &env->head);
		return -1;
	}
	route_remove(c, r);
	return index_home(pe, c, i);
}

/* There are no entries for elements whose home is this PE. */
static __attribute__((noinline)) int address_slow(struct pe *pe, struct collection *c,
						  struct call_route *r, struct ck_env *env)
{
	const struct elem_key k = env->flags & CK_ENV_UNPLACED ? elem_key_of(c, env->index) :
				  elem_key_of_place(env->place);
	struct elemmap_slot *s = elemmap_find(&((struct ways *)r)->at, k);

	if (!s)
		return call_to_below(pe, c, r, env);
	if (s->no < WAY_LEASE)
		return other_way(pe, c, elem_index(c, k), s, env);
	s->no |= WAY_USED;
	return way_pe(s->no);
}

/* Separate, because a call with a lease needs none of the other function's registers. */
static int lease_address(struct pe *pe, struct collection *c, struct call_route *r,
			 struct ck_env *env)
{
	struct elemmap_slot *s = env->flags & CK_ENV_UNPLACED ? NULL :
				 elemmap_find(&((struct ways *)r)->at, elem_key_of_place(env->place));

	if (CSD_UNLIKELY(!s || s->no < WAY_LEASE))
		return address_slow(pe, c, r, env);
	s->no |= WAY_USED;
	return way_pe(s->no);
}
_Static_assert(offsetof(struct ways, route) == 0, "lease_address takes one for the other");

static bool lease_batched(struct pe *pe, struct collection *c, struct call_route *r, uint64_t place,
			  uint64_t bytes)
{
	return !elemmap_find(&((struct ways *)r)->at, elem_key_of_place(place)) &&
	       call_batched_below(pe, c, r, place, bytes);
}

static const struct call_stop stop = { ROUTE_MOVED, false, lease_address, lease_batched };

static void send_held(struct pe *pe, struct msg_fifo *held, int to)
{
	while (held->head)
		csd_send(pe, to, msg_fifo_pop(held));
}

/* ---- the route changes ----------------------------------------------------------------------- */

/* After all calls that this PE has sent through home, including those in a batch. */
static void ask_for_lease(struct pe *pe, struct collection *c, CkIndex i)
{
	struct ck_env *env = env_new(pe, ck_handler(pe, PART_PLACE, H_SWITCH), 0);
	int home;

	env->coll = c->id;
	env->to_pe = pe->id;
	address_in_array(pe, c, i, env);
	home = call_home(pe, c, env);
	aggregate_flush_to(pe, home);
	route_add(c, i, WAY_WAITS);
	waits_add(c, i);
	csd_send(pe, home, &env->head);
}

static void granted(struct pe *pe, struct collection *c, CkIndex i, struct elemmap_slot *r,
		    int place)
{
	struct msg_fifo held;

	waits_end(c, i, &held);
	r->no = way_lease(place) | (held.head ? WAY_USED : 0);
	send_held(pe, &held, place);
}

static void denied(struct pe *pe, struct collection *c, CkIndex i, struct elemmap_slot *r)
{
	struct msg_fifo held;

	waits_end(c, i, &held);
	route_remove(c, r);
	send_held(pe, &held, index_home(pe, c, i));
}

/* The answer says whether this PE wants a lease again: not if it has not used this one. */
static void recalled(struct pe *pe, struct collection *c, struct elemmap_slot *r,
		     const struct where_msg *w)
{
	struct where_msg flush = { .coll = w->coll, .index = w->index, .kind = WHERE_FLUSH };

	if (r && r->no >= WAY_LEASE) {
		flush.count[0] = w->count[0] && r->no & WAY_USED;
		if (flush.count[0])
			r->no = WAY_CLEAN_HOME;
		else
			route_remove(c, r);
	}
	tell_where(pe, w->head.src_pe, flush);
}

_Noreturn static void lease_broken(struct pe *pe, const struct collection *c,
				   const struct where_msg *w, const char *what)
{
	csd_abort(pe, "broken protocol: PE %d %s %s", w->head.src_pe, what,
		  element_thing(c->type, c->id, w->index).name);
}

/* ---- elements have moved in bulk ------------------------------------------------------------- */

static void moved(struct pe *pe, struct collection *c, struct elemmap_slot *r, int to)
{
	assert(r->no >= WAY_LEASE);
	if (to == index_home(pe, c, elem_index(c, elemmap_key(r))))
		route_remove(c, r);
	else
		r->no = way_lease(to) | (r->no & WAY_USED);
}

void route_moved(struct pe *pe, struct collection *c, CkIndex i, int to)
{
	struct elemmap_slot *r = route_find(c, i);

	if (r)
		moved(pe, c, r, to);
}

/* moved() may remove slots from the table. */
void routes_moved(struct pe *pe, struct collection *c, const struct cuts *to, bool leases)
{
	const struct elemmap *ways = ways_of(c);
	const size_t n = ways->n;
	struct elem_key *all;
	const struct elemmap_slot *r;
	size_t k = 0;

	assert(call_is_closed(c) && !place_of(c)->waits.n);
	if (!leases) {
		ways_drop(c);
		return;
	}
	all = cmi_alloc(n * sizeof *all + 1, "the paths to elements");
	for (uint32_t i = 0; (r = elemmap_each(ways, &i)); i++)
		all[k++] = elemmap_key(r);
	while (k--)
		moved(pe, c, elemmap_find(ways, all[k]), cuts_home(to, all[k].a));
	free(all);
}

/* ---- messages of other PEs ------------------------------------------------------------------- */

void route_arrived(struct pe *pe, struct collection *c, const struct where_msg *w)
{
	struct elemmap_slot *r = route_find(c, w->index);
	const uint32_t way = r ? r->no : 0;

	switch ((enum where_kind)w->kind) {
	case WHERE_OFFER:
		if (!r)
			ask_for_lease(pe, c, w->index);
		break;
	case WHERE_GRANT:
		if (way != WAY_WAITS)
			lease_broken(pe, c, w, "grants a lease that nobody asked for, of");
		granted(pe, c, w->index, r, w->head.src_pe);
		break;
	case WHERE_DENY:
		if (way != WAY_WAITS)
			lease_broken(pe, c, w, "denies a lease that nobody asked for, of");
		denied(pe, c, w->index, r);
		break;
	case WHERE_RECALL:
		if (way == WAY_CLEAN_HOME || (way >= WAY_LEASE && way_pe(way) != w->head.src_pe))
			lease_broken(pe, c, w, "recalls a lease that it has not given, of");
		recalled(pe, c, r, w);
		break;
	case WHERE_LEASE_AGAIN:
		if (way >= WAY_LEASE)
			lease_broken(pe, c, w, "gives a second lease of");
		if (way == WAY_CLEAN_HOME)
			r->no = way_lease(w->head.src_pe);
		else if (!r)
			ask_for_lease(pe, c, w->index);
		break;
	default:
		break;
	}
}
