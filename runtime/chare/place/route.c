/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route.c: the ways of calls to elements that are away from home. A PE's calls of an element go by way of its
 * home, or straight to its place with a lease. All calls of one PE to one element take one way at any moment, and
 * the way changes only when the old one is known to be empty. So they stay in order, and no place gets a call of
 * an element that it does not have.
 *
 *	no record     by way of home
 *	WAIT          the PE has sent SWITCH, by way of home, behind its calls. Calls wait until the answer
 *	LEASE         straight to `pe`, which has noted this PE as a holder
 *	CLEAN_HOME    the lease was recalled, and nothing has been sent since: as no record, but if the element's
 *	              new place offers a lease again, the way by home is known to be empty
 *
 *	OFFER          from home: your calls pass through here       SWITCH, unless there is a record
 *	GRANT          from its place: you are a holder              WAIT: LEASE, and what waited goes straight
 *	DENY           it is not there, or about to leave            WAIT: what waited goes by way of home
 *	RECALL         it is about to leave: FLUSH behind the last call; LEASE: CLEAN_HOME
 *	LEASE_AGAIN    from its new place, which has noted this PE   CLEAN_HOME: LEASE. No record: SWITCH
 *
 * Home itself keeps no such records: its own calls go through its own queue to its own record (home.c).
 *
 * Records are found in a table by place or, in a sparse array, by index. It is there only while this PE has a
 * record of the collection; otherwise a call to another PE pays one test.
 */
#include "place_int.h"
#include "../../machine/cmi_alloc.h"

#include <assert.h>
#include <stdlib.h>

enum route_state { WAIT, LEASE, CLEAN_HOME };

struct route {
	struct collection *coll;
	CkIndex index;
	int32_t pe;               /* LEASE: the place */
	uint8_t state;
	bool used;                /* LEASE: for a call */
	struct msg_fifo held;     /* WAIT: calls, in order */
};

/* ---- the table ------------------------------------------------------------------------------------------ */

static struct route *route_at(const struct collection *c, uint64_t place)
{
	return idmap_get(c->routes, place);
}

static struct route *route_find(const struct collection *c, CkIndex i)
{
	if (!c->routes)
		return NULL;
	return c->sparse ? index_find(c->routes, i) : route_at(c, index_place(c, i));
}

static struct route *route_add(struct collection *c, CkIndex i, enum route_state state)
{
	struct route *r = cmi_alloc_zero(1, sizeof *r, "the way to an element");

	r->coll = c;
	r->index = i;
	r->state = (uint8_t)state;
	msg_fifo_init(&r->held);
	if (!c->routes)
		c->routes = cmi_alloc_zero(1, sizeof *c->routes, "the ways to elements");
	if (c->sparse)
		index_add(c->routes, r);
	else
		idmap_add(c->routes, index_place(c, i), (uintptr_t)r);
	return r;
}

static void route_remove(struct route *r)
{
	struct collection *c = r->coll;

	if (c->sparse)
		index_remove(c->routes, r->index);
	else
		idmap_remove(c->routes, idmap_find(c->routes, index_place(c, r->index)));
	free(r);
	if (c->routes->n || c->closed || c->counted)
		return;
	idmap_free(c->routes);
	free(c->routes);
	c->routes = NULL;
}

void routes_fini(struct pe *pe, struct collection *c)
{
	const struct idmap_slot *at;

	if (!c->routes)
		return;
	for (size_t i = 0; (at = idmap_each(c->routes, &i)); i++) {
		struct route *r = (struct route *)at->value;

		fifo_free(pe, &r->held);
		free(r);
	}
	idmap_free(c->routes);
	free(c->routes);
	c->routes = NULL;
}

void routes_describe(struct pe *pe, const struct collection *c, csd_line_fn line, void *arg)
{
	const struct idmap_slot *at;
	char who[128];

	for (size_t i = 0; c->routes && (at = idmap_each(c->routes, &i)); i++) {
		const struct route *r = (const struct route *)at->value;

		if (r->state == WAIT)
			say_line(line, arg, "PE %d holds %zu calls for %s until it hears whether it may send them straight",
				 pe->id, msg_fifo_count(&r->held), element_describe(c->type, r->index, who, sizeof who));
	}
}

/* ---- calls ------------------------------------------------------------------------------------------------ */

static int home_of_call(struct pe *pe, const struct collection *c, const struct ck_env *env)
{
	return c->sparse ? index_home(pe, c, env->index) : coll_home(pe, c, env->place);
}

/* Of a call that is to take the way by home, or to wait. Returns where it goes; -1: it waits. */
static int other_way(struct pe *pe, struct route *r, struct ck_env *env)
{
	const int home = index_home(pe, r->coll, r->index);

	if (r->state == WAIT) {
		env->head.src_pe = pe->id;
		msg_fifo_push(&r->held, &env->head);
		return -1;
	}
	route_remove(r);
	return home;
}

static inline int way_by(struct pe *pe, struct route *r, struct ck_env *env)
{
	if (CSD_LIKELY(r->state == LEASE)) {
		r->used = true;
		return r->pe;
	}
	return other_way(pe, r, env);
}

int route_way(struct pe *pe, struct collection *c, struct ck_env *env)
{
	struct route *r = c->sparse ? index_find(c->routes, env->index) : route_at(c, env->place);

	return CSD_LIKELY(r != NULL) ? way_by(pe, r, env) : home_of_call(pe, c, env);
}

int route_of_insertion(struct pe *pe, const struct collection *c, struct ck_env *env)
{
	struct route *r = route_find(c, env->index);

	return r ? way_by(pe, r, env) : index_home(pe, c, env->index);
}

static void send_held(struct pe *pe, struct msg_fifo *held, int to)
{
	while (held->head)
		csd_send(pe, to, msg_fifo_pop(held));
}

/* ---- the way changes ---------------------------------------------------------------------------------------- */

/* Behind all calls that this PE has sent by way of home, those in a batch included. */
static void ask_for_lease(struct pe *pe, struct collection *c, CkIndex i)
{
	struct ck_env *env = env_new(pe, ck_handler(pe, PART_PLACE, H_SWITCH), 0);
	const int home = address_in_array(pe, c, i, env);

	env->coll = c->id;
	env->to_pe = pe->id;
	aggregate_flush_to(pe, home);
	route_add(c, i, WAIT);
	csd_send(pe, home, &env->head);
}

static void granted(struct pe *pe, struct route *r, int place)
{
	r->state = LEASE;
	r->pe = place;
	r->used = r->held.head != NULL;
	send_held(pe, &r->held, place);
}

static void denied(struct pe *pe, struct route *r)
{
	const int home = index_home(pe, r->coll, r->index);
	struct msg_fifo held;

	msg_fifo_move(&held, &r->held);
	route_remove(r);
	send_held(pe, &held, home);
}

/* The answer says whether this PE wants a lease again: not if it made no use of this one. */
static void recalled(struct pe *pe, struct route *r, const struct where_msg *w)
{
	struct where_msg flush = { .coll = w->coll, .index = w->index, .kind = WHERE_FLUSH };

	if (r && r->state == LEASE) {
		flush.count[0] = w->count[0] && r->used;
		if (flush.count[0])
			r->state = CLEAN_HOME;
		else
			route_remove(r);
	}
	tell_where(pe, w->head.src_pe, flush);
}

_Noreturn static void broken(struct pe *pe, const struct collection *c, const struct where_msg *w, const char *what)
{
	char index[96];

	index_describe(c->type, w->index, index, sizeof index);
	csd_abort(pe, "broken protocol: PE %d %s element %s of %s", w->head.src_pe, what, index, c->type->name);
}

/* ---- elements have moved, at rest ------------------------------------------------------------------------------ */

static void moved(struct pe *pe, struct route *r, int to)
{
	assert(r->state == LEASE && !r->held.head);
	if (to == index_home(pe, r->coll, r->index))
		route_remove(r);
	else
		r->pe = to;
}

void route_moved(struct pe *pe, struct collection *c, CkIndex i, int to)
{
	struct route *r = route_find(c, i);

	if (r)
		moved(pe, r, to);
}

void routes_moved(struct pe *pe, struct collection *c, const struct cuts *to, bool leases)
{
	size_t n = c->routes ? c->routes->n : 0, k = 0;
	struct route **all = cmi_alloc(n * sizeof *all + 1, "the ways to elements");
	const struct idmap_slot *at;

	for (size_t i = 0; k < n && (at = idmap_each(c->routes, &i)); i++)
		all[k++] = (struct route *)at->value;
	while (k--)
		if (leases)
			moved(pe, all[k], cuts_home(to, index_place(c, all[k]->index)));
		else
			route_remove(all[k]);
	free(all);
}

/* ---- what other PEs say ---------------------------------------------------------------------------------------- */

void route_arrived(struct pe *pe, struct collection *c, const struct where_msg *w)
{
	struct route *r = route_find(c, w->index);

	switch ((enum where_kind)w->kind) {
	case WHERE_OFFER:
		if (!r)
			ask_for_lease(pe, c, w->index);
		break;
	case WHERE_GRANT:
		if (!r || r->state != WAIT)
			broken(pe, c, w, "grants a lease that nobody wants, of");
		granted(pe, r, w->head.src_pe);
		break;
	case WHERE_DENY:
		if (!r || r->state != WAIT)
			broken(pe, c, w, "denies a lease that nobody wants, of");
		denied(pe, r);
		break;
	case WHERE_RECALL:
		if (r && (r->state == CLEAN_HOME || (r->state == LEASE && r->pe != w->head.src_pe)))
			broken(pe, c, w, "recalls a lease that it has not given, of");
		recalled(pe, r, w);
		break;
	case WHERE_LEASE_AGAIN:
		if (r && r->state == LEASE)
			broken(pe, c, w, "gives a second lease of");
		if (r && r->state == CLEAN_HOME)
			granted(pe, r, w->head.src_pe);
		else if (!r)
			ask_for_lease(pe, c, w->index);
		break;
	default:
		break;
	}
}
