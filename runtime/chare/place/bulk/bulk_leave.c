/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bulk_leave.c: carries out a plan: a PE sends its leaving elements, updates its records and
 * tables, and determines which PEs send it elements.
 */
#include "bulk.h"
#include "../../core/objects/index.h"
#include "../../../machine/base/cmi_alloc.h"

#include <assert.h>
#include <stdlib.h>

/** The moves of the plan, while it is carried out. */
struct going {
	struct cuts *cuts;        /* NULL: moves */
	struct idmap by_index;    /* struct one_goes: elements that leave this PE */
	struct one_goes *list;    /* ours */
	struct batch *out;        /* ours: [n_pes] */
};

struct one_goes {
	struct collection *coll;  /* these two: as in struct indexed */
	CkIndex index;
	int32_t to;
};

/* ---- destinations ---------------------------------------------------------------------------- */

static int goes_to(const struct pe *pe, const struct going *g, const struct ck_obj *obj)
{
	const struct one_goes *o;

	if (g->cuts)
		return cuts_home(g->cuts, index_place(obj->coll, obj->index));
	o = index_find(&g->by_index, obj->index);
	return o ? o->to : pe->id;
}

static void await(struct bulk *b, bool *from, int other)
{
	b->n_awaited += !from[other];
	from[other] = true;
}

static void list_moves(struct pe *pe, struct collection *c, struct bulk *b, struct going *g,
		       const struct place_plan *plan)
{
	bool *from = cmi_alloc_zero((size_t)pe->node->job->n_pes, sizeof *from, "elements that move");
	size_t n = 0;

	g->list = cmi_alloc(plan->n_moves * sizeof *g->list + 1, "elements that move");
	for (size_t i = 0; i < plan->n_moves; i++) {
		const struct place_move *m = &plan->moves[i];

		if (m->to == pe->id)
			await(b, from, m->from);
		if (m->from != pe->id)
			continue;
		g->list[n] = (struct one_goes){ c, m->index, m->to };
		index_add(&g->by_index, &g->list[n++]);
		g->out[m->to].expected = true;
	}
	free(from);
}

/* The places that the map assigns to this PE, with or without elements; *at is 0 at first. */
static uint64_t next_place(const struct collection *c, size_t *at)
{
	const struct idmap_slot *s;

	if (!c->homes.map)
		return *at < c->n_slots ? c->first + (*at)++ : UINT64_MAX;
	s = idmap_each(&c->homes.slots, at);
	++*at;
	return s ? s->key : UINT64_MAX;
}

/* While all elements live where the map says, the old map and the cuts determine who sends to whom.
 * Otherwise each PE sends to each. */
static void list_cuts(struct pe *pe, struct collection *c, struct bulk *b, struct going *g,
		      bool away)
{
	const int n_pes = pe->node->job->n_pes;
	bool *from = cmi_alloc_zero((size_t)n_pes, sizeof *from, "elements that move");
	uint64_t place;

	for (int p = 0; away && p < n_pes; p++) {
		await(b, from, p);
		g->out[p].expected = true;
	}
	for (size_t at = 0; !away && (place = next_place(c, &at)) != UINT64_MAX;)
		g->out[cuts_home(g->cuts, place)].expected = true;
	for (place = cuts_first(g->cuts, pe->id); !away && place < cuts_first(g->cuts, pe->id + 1);
	     place++)
		await(b, from, coll_home(pe, c, place));
	b->n_awaited -= from[pe->id];
	g->out[pe->id].expected = false;
	free(from);
}

/* ---- it leaves ------------------------------------------------------------------------------- */

static void check_leaves(struct pe *pe, struct ck_obj *obj, int to)
{
	const struct stay *s = stay_find(obj->coll, obj->index);
	const char *why = place_pinned(pe, obj);
	char name[128];

	if (!why && place_moves_alone(pe, obj))
		why = "it holds ends of named channels";
	if (!why && s && (s->leaving || s->asked))
		why = "it is moving already";
	obj_describe(obj, name, sizeof name);
	if (why)
		csd_abort(pe, "%s cannot move to PE %d now: %s", name, to, why);
	if (!pe_is_here(pe, to) && !element_has_pup(obj->coll->type))
		csd_abort(
			pe,
			"%s cannot move to PE %d: its type cannot leave its process; declare 'pup %s;' in the .ci file",
			name, to, obj->coll->type->name);
}

/* At home nobody gets a lease. */
static void take_holders(struct pe *pe, struct travel *t, struct stay *s, const struct going *g,
			 int to)
{
	if (!g->cuts && index_home(pe, s->coll, s->index) == to)
		return;
	t->holders = s->holders;
	t->n_holders = s->n_holders;
	s->holders = NULL;
}

static void leave_tables(struct pe *pe, struct ck_obj *obj)
{
	if (obj_is_guest(obj))
		guest_remove(obj);
	else
		seat_leave(pe, obj);
}

static void leave_in_bulk(struct pe *pe, struct bulk *b, struct going *g, struct ck_obj *obj,
			  int to)
{
	struct collection *c = obj->coll;
	struct travel *t = travel_new(c, obj->index);
	struct stay *s;

	check_leaves(pe, obj, to);
	s = stay_get(pe, obj);
	s->to = to; /* for those who are told */
	tell_leaving(pe, obj);
	t->seat = b->seats ? to : s->seat;
	t->obj = obj;
	take_holders(pe, t, s, g, to);
	if (!b->seats)
		leave_tables(pe, obj);
	if (!pe_is_here(pe, to))
		obj_calls_pack(pe, obj, &t->kept);
	obj_calls_leave(pe, obj, &t->kept);
	obj->extra = 0;
	stay_free(s);
	batch_add(pe, c, to, &g->out[to], t);
}

/* All elements that live here: leaving ones have left, the others are in b->stay if seats move. */
static void part(struct pe *pe, struct collection *c, struct bulk *b, struct going *g)
{
	const size_t n_guests = c->guests ? c->guests->n : 0;
	struct ck_obj **all = cmi_alloc((c->n_slots + n_guests) * sizeof *all + 1, "elements that move");
	size_t n = 0, n_stay = 0;
	struct ck_obj *obj;

	for (uint64_t at = 0; (obj = coll_each(c, &at));)
		all[n++] = obj;
	for (size_t i = 0; i < n; i++) {
		const int to = goes_to(pe, g, all[i]);

		if (to == pe->id)
			all[n_stay++] = all[i];
		else
			leave_in_bulk(pe, b, g, all[i], to);
	}
	b->stay = all;
	b->n_stay = n_stay;
	if (b->seats)
		return;
	free(b->stay);
	b->stay = NULL;
	b->n_stay = 0;
}

/* ---- records --------------------------------------------------------------------------------- */

/* A list of a table's entries, some of which are then removed. The caller frees it. */
static void **list_of(const struct idmap *m, size_t *n_p)
{
	void **all = cmi_alloc(m->n * sizeof *all + 1, "elements that move");
	const struct idmap_slot *at;

	*n_p = 0;
	for (size_t i = 0; (at = idmap_each(m, &i)); i++)
		all[(*n_p)++] = (void *)at->value;
	return all;
}

/* Seats move, and the element of the record stays here. */
static void stay_seated(struct pe *pe, struct stay *s, bool cuts)
{
	assert(s->obj && !s->leaving && !s->asked && !s->late.head);
	s->seat = pe->id;
	if (cuts)
		s->n_holders = 0;
	if (!s->pending && !s->n_holders)
		stay_free(s);
}

static void stays_seated(struct pe *pe, struct collection *c, bool cuts)
{
	struct dynamic *dyn = place_of(c)->dyn;
	void **all;
	size_t n;

	if (!dyn)
		return;
	all = list_of(&dyn->stays, &n);
	while (n)
		stay_seated(pe, all[--n], cuts);
	free(all);
}

/* The map changes. A record of an element that lives somewhere ends; messages for a missing element
 * go to its new home. */
static void away_cut(struct pe *pe, struct collection *c, struct away *a, struct going *g)
{
	const int to = cuts_home(g->cuts, index_place(c, a->index));
	struct travel *t;

	assert(!a->moving && !a->asked && (a->pe < 0 || !a->waiting.head));
	if (a->pe < 0 && to == pe->id)
		return;
	if (a->waiting.head) {
		t = travel_new(c, a->index);
		t->seat = NOWHERE;
		msg_fifo_move(&t->late, &a->waiting);
		batch_add(pe, c, to, &g->out[to], t);
	}
	away_end(pe, a);
}

static void aways_cut(struct pe *pe, struct collection *c, struct going *g)
{
	struct dynamic *dyn = place_of(c)->dyn;
	void **all;
	size_t n;

	if (!dyn)
		return;
	all = list_of(&dyn->away, &n);
	while (n)
		away_cut(pe, c, all[--n], g);
	free(all);
	elemmap_free(&dyn->lives);
}

/* Elements go where the cuts say, and homes and seats stay: seats are at home. */
static void records_of_cuts(struct pe *pe, struct collection *c, const struct going *g)
{
	for (uint64_t i = 0; i < c->n_slots; i++) {
		const struct ck_obj *obj = c->elems[i];
		const int to = obj ? cuts_home(g->cuts, index_place(c, obj->index)) : pe->id;

		if (obj && (to != pe->id || away_find(c, obj->index)))
			away_moved(pe, c, obj->index, to);
	}
	routes_moved(pe, c, g->cuts, true);
}

static void records_of_moves(struct pe *pe, struct collection *c, const struct place_plan *plan)
{
	for (size_t i = 0; i < plan->n_moves; i++) {
		const struct place_move *m = &plan->moves[i];

		if (index_home(pe, c, m->index) == pe->id)
			away_moved(pe, c, m->index, m->to);
		route_moved(pe, c, m->index, m->to);
	}
}

/* The elements that stay are in b->stay, and the tables are otherwise empty. */
static void tables_empty(struct collection *c)
{
	free(c->elems);
	c->elems = NULL;
	c->n_slots = c->n_local = 0;
	call_coll_of(c)->n_odd = 0;
	if (c->guests) {
		elemmap_free(&c->guests->at);
		c->guests->n = c->guests->n_holes = 0;
	}
	if (c->sparse)
		idmap_free(&c->here);
}

/* ---- the plan -------------------------------------------------------------------------------- */

static void with_seats(struct pe *pe, struct collection *c, struct bulk *b, struct going *g)
{
	stubs_drop(c);
	part(pe, c, b, g);
	stays_seated(pe, c, g->cuts);
	tables_empty(c);
	if (!g->cuts)
		return;
	aways_cut(pe, c, g);
	routes_moved(pe, c, g->cuts, false);
}

static void send_all_batches(struct pe *pe, struct collection *c, struct going *g)
{
	for (int p = 0; p < pe->node->job->n_pes; p++)
		if (g->out[p].expected)
			batch_last(pe, c, p, &g->out[p]);
}

void bulk_leave(struct pe *pe, struct collection *c, struct bulk *b, const struct place_plan *plan)
{
	const int n_pes = pe->node->job->n_pes;
	struct going g = { .cuts = plan->cuts ? cuts_new(plan->cuts, n_pes) : NULL };

	g.out = cmi_alloc_zero((size_t)n_pes, sizeof *g.out, "elements that move");
	if (g.cuts)
		list_cuts(pe, c, b, &g, plan->still.away);
	else
		list_moves(pe, c, b, &g, plan);
	if (b->seats)
		with_seats(pe, c, b, &g);
	else
		part(pe, c, b, &g);
	if (!g.cuts)
		records_of_moves(pe, c, plan);
	else if (!b->seats)
		records_of_cuts(pe, c, &g);
	send_all_batches(pe, c, &g);
	if (g.cuts && b->seats)
		coll_cut(pe, c, g.cuts);
	else
		free(g.cuts);
	idmap_free(&g.by_index);
	free(g.list);
	free(g.out);
}
