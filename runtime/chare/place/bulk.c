/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bulk.c: elements move together, while nothing of their collection is under way. Then none of the protocol of
 * leave.c is needed. No call can overtake another one or miss its element, because there are no calls. All PEs have
 * the same plan, so each of them knows by itself what has changed:
 *
 *	a PE where elements live      sends those that go, one batch for each PE (batch.c), and awaits those that come
 *	a home                        notes where its elements are now
 *	a PE with a lease             calls the element at its new place, which knows the PE as a holder; the
 *	                              holders came with the element
 *
 * The plan is a list of moves, or cuts through the row-major order of an array with extents (core/cuts.c).
 *
 * Seats move along if every element has contributed to as many reductions and scans as any other: then only
 * numbers have to be set. The collection's tables are made anew, as if its elements had been made where they live
 * now: there are no stubs and no guests. With cuts the map is another one, so there are no records of elements
 * away from home, and no leases; and the elements of each PE are a run, so that a call finds its element as in an array
 * that never moved. In an array with extents, moves that are no cuts leave seats where they are, because its seats are
 * where its map says.
 *
 * From place_bulk to place_open the collection is not `constructed` here. What PEs send that are open already waits.
 */
#include "place_int.h"
#include "../core/index.h"
#include "../../machine/cmi_alloc.h"

#include <assert.h>
#include <stdlib.h>

/** Of a collection on a PE, from its plan, or from the first batch that comes before it, until it is open. */
struct bulk {
	bool begun;               /* the plan is here */
	bool seats;               /* they move along */
	bool over;                /* all that moves is in its tables */
	struct place_rest rest;
	size_t n_awaited;         /* PEs whose last batch has not come */
	struct msg_fifo early;    /* ours: batches that came before the plan */
	struct travel **come;     /* ours: what has come */
	size_t n_come, cap_come;
	struct ck_obj **stay;     /* ours until `over`, where seats move: elements that live here and stay */
	size_t n_stay;
	void (*done)(struct pe *pe, struct collection *c, void *arg);
	void *arg;
};

/** While a plan is carried out: who goes where. */
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

static struct bulk *bulk_of(struct collection *c)
{
	struct place_coll *p = place_of(c);

	if (p->bulk)
		return p->bulk;
	p->bulk = cmi_alloc_zero(1, sizeof *p->bulk, "elements that move");
	msg_fifo_init(&p->bulk->early);
	return p->bulk;
}

/* ---- closing, and what rest allows ------------------------------------------------------------------------- */

void place_close(struct pe *pe, struct collection *c)
{
	if (!c->closed)
		call_close(pe, c);
}

bool place_is_closed(const struct collection *c) { return c->closed; }

struct place_rest place_rest_of(struct pe *pe, struct collection *c)
{
	const struct ck_node *ck = ck_node_of(pe->node);
	struct place_rest r = { .fixed = c->walks, .dynamic = c->dynamic, .away = seats_away(c) };

	for (uint64_t i = 0; i < c->n_slots; i++) {
		const uint32_t n = c->elems[i] ? c->elems[i]->n_contributed : 0;

		if (!c->elems[i])
			continue;
		r.lo = r.any && r.lo < n ? r.lo : n;
		r.hi = r.any && r.hi > n ? r.hi : n;
		r.any = true;
	}
	for (int i = 0; i < CK_PARTS; i++)
		if (ck->parts[i] && ck->parts[i]->watch.rest)
			ck->parts[i]->watch.rest(pe, c, &r);
	return r;
}

void place_rest_join(struct place_rest *all, const struct place_rest *one)
{
	const bool fixed = all->fixed || one->fixed || (all->any && one->any && all->scans != one->scans);
	const bool dynamic = all->dynamic || one->dynamic, away = all->away || one->away;

	if (!all->any) {
		*all = *one;
	} else if (one->any) {
		all->lo = all->lo < one->lo ? all->lo : one->lo;
		all->hi = all->hi > one->hi ? all->hi : one->hi;
	}
	all->fixed = fixed;
	all->dynamic = dynamic;
	all->away = away;
}

bool place_plan_moves_seats(const struct collection *c, const struct place_plan *plan)
{
	return c->sparse == !plan->cuts && !plan->rest.fixed && plan->rest.lo == plan->rest.hi;
}

const char *place_pinned(struct pe *pe, struct ck_obj *obj)
{
	const struct stay *s = stay_find(obj->coll, obj->index);

	if (obj->coll->walks || obj_stays(pe, obj) || (s && s->pending))
		return "a handler is not over";
	if (holds_ends(pe, obj))
		return "it holds ends of channels";
	return NULL;
}

bool place_moves_alone(struct pe *pe, struct ck_obj *obj)
{
	const struct ck_node *ck = ck_node_of(pe->node);

	return ck->alone && ck->alone(pe, obj);
}

/* ---- who goes where ------------------------------------------------------------------------------------------ */

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

static void list_moves(struct pe *pe, struct collection *c, struct bulk *b, struct going *g, const struct place_plan *plan)
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

/* The places that the map gives to this PE, whether they have elements or not; *at is 0 at first. */
static uint64_t next_place(const struct collection *c, size_t *at)
{
	const struct idmap_slot *s;

	if (!c->map)
		return *at < c->n_slots ? c->first + (*at)++ : UINT64_MAX;
	s = idmap_each(&c->slots, at);
	++*at;
	return s ? s->key : UINT64_MAX;
}

/* While all elements live where the map says, the old map and the cuts alone say who sends to whom. Otherwise each PE
 * sends to each. */
static void list_cuts(struct pe *pe, struct collection *c, struct bulk *b, struct going *g, bool away)
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
	for (place = cuts_first(g->cuts, pe->id); !away && place < cuts_first(g->cuts, pe->id + 1); place++)
		await(b, from, coll_home(pe, c, place));
	b->n_awaited -= from[pe->id];
	g->out[pe->id].expected = false;
	free(from);
}

/* ---- it leaves ------------------------------------------------------------------------------------------------ */

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
		csd_abort(pe, "%s cannot move to PE %d: its type cannot leave its process; declare 'pup %s;' in the .ci file",
			  name, to, obj->coll->type->name);
}

/* At home nobody gets a lease. */
static void take_holders(struct pe *pe, struct travel *t, struct stay *s, const struct going *g, int to)
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

static void leave(struct pe *pe, struct bulk *b, struct going *g, struct ck_obj *obj, int to)
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

/* All elements that live here: those that go have left, the others are in b->stay if seats move. */
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
			leave(pe, b, g, all[i], to);
	}
	b->stay = all;
	b->n_stay = n_stay;
	if (b->seats)
		return;
	free(b->stay);
	b->stay = NULL;
	b->n_stay = 0;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

/* A list of what is in a table, from which some are removed then. The caller frees it. */
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

/* The map is another one. A record of an element that lives somewhere ends; what waits for one that does not exist goes
 * to its new home. */
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

/* The elements that stay are in b->stay, and nothing else is left of the tables. */
static void tables_empty(struct collection *c)
{
	free(c->elems);
	c->elems = NULL;
	c->n_slots = c->n_local = 0;
	c->n_odd = 0;
	if (c->guests) {
		elemmap_free(&c->guests->at);
		c->guests->n = c->guests->n_holes = 0;
	}
	if (c->sparse)
		idmap_free(&place_of(c)->dyn->here);
}

/* ---- the plan ---------------------------------------------------------------------------------------------------- */

static void check_plan(struct pe *pe, const struct collection *c, const struct bulk *b, const struct place_plan *plan)
{
	const int n_pes = pe->node->job->n_pes;

	if (b->begun || !c->constructed || !c->closed)
		csd_abort(pe, "moves at rest of elements of %s, which is not at rest", c->type->name);
	if (plan->cuts && (c->sparse || plan->cuts[0] || plan->cuts[n_pes] != c->total))
		csd_abort(pe, "cuts of %s, which do not fit its places", c->type->name);
	for (int p = 0; plan->cuts && p < n_pes; p++)
		if (plan->cuts[p] > plan->cuts[p + 1])
			csd_abort(pe, "cuts of %s that fall at PE %d", c->type->name, p + 1);
}

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

static void carry_out(struct pe *pe, struct collection *c, struct bulk *b, const struct place_plan *plan)
{
	const int n_pes = pe->node->job->n_pes;
	struct going g = { .cuts = plan->cuts ? cuts_new(plan->cuts, n_pes) : NULL };

	g.out = cmi_alloc_zero((size_t)n_pes, sizeof *g.out, "elements that move");
	if (g.cuts)
		list_cuts(pe, c, b, &g, plan->rest.away);
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

/* ---- it has come -------------------------------------------------------------------------------------------------- */

bool bulk_waits(struct collection *c, struct cmi_msg *m)
{
	struct bulk *b = bulk_of(c);

	if (b->begun)
		return false;
	msg_fifo_push(&b->early, m);
	return true;
}

void bulk_take(struct collection *c, struct travel *t)
{
	struct bulk *b = bulk_of(c);

	if (b->n_come == b->cap_come) {
		b->cap_come = b->cap_come ? 2 * b->cap_come : 16;
		b->come = cmi_realloc(b->come, b->cap_come, sizeof *b->come, "elements that move");
	}
	b->come[b->n_come++] = t;
}

_Noreturn static void not_ours(struct pe *pe, const struct collection *c, CkIndex i)
{
	char index[96];

	index_describe(c->type, i, index, sizeof index);
	csd_abort(pe, "broken plan: element %s of %s came to PE %d, which is not its place", index, c->type->name, pe->id);
}

/* Seats move: give it a slot. */
static void put(struct pe *pe, struct collection *c, struct ck_obj *obj, const struct bulk *b)
{
	const uint64_t slot = c->sparse ? c->n_local : index_place(c, obj->index) - c->first;

	if (slot >= c->n_slots || c->elems[slot])
		not_ours(pe, c, obj->index);
	obj->coll = c;
	obj->ordinal = (uint32_t)slot;
	obj->n_contributed = b->rest.lo;
	obj->extra &= OBJ_EXTRA;
	c->elems[slot] = obj;
	c->n_local++;
	if (c->sparse)
		index_add(&place_of(c)->dyn->here, obj);
}

static void keep_holders(struct pe *pe, struct travel *t)
{
	struct stay *s;

	if (!t->n_holders)
		return;
	s = stay_get(pe, t->obj);
	s->holders = t->holders;
	s->n_holders = s->cap_holders = t->n_holders;
	t->holders = NULL;
}

/* Calls that wait for an element that does not exist, whose home is here now. */
static void keep_waiting(struct collection *c, struct travel *t)
{
	struct away *a = away_get(c, t->index);

	if (!a->waiting.head)
		a->since = closing_wave(c);
	msg_fifo_append(&a->waiting, &t->late);
}

static void run_slots(const struct pe *pe, struct collection *c)
{
	c->n_slots = coll_run_first(c, pe->id + 1) - c->first;
	c->elems = cmi_alloc_zero(c->n_slots, sizeof(*c->elems), "elements");
}

static void seats_in(struct pe *pe, struct collection *c, struct bulk *b)
{
	size_t n = b->n_stay;

	for (size_t i = 0; i < b->n_come; i++)
		n += b->come[i]->obj != NULL;
	if (b->rest.dynamic) /* of the places that are here now, some may have no element */
		coll_become_dynamic(pe, c);
	if (c->sparse)
		dynamic_slots(c, n);
	else
		run_slots(pe, c);
	for (size_t i = 0; i < b->n_stay; i++)
		put(pe, c, b->stay[i], b);
	for (size_t i = 0; i < b->n_come; i++) {
		struct travel *t = b->come[i];

		if (!t->obj) {
			keep_waiting(c, t);
			continue;
		}
		put(pe, c, t->obj, b);
		keep_holders(pe, t);
	}
	if (!c->dynamic && c->n_local != c->n_slots)
		csd_abort(pe, "broken plan: %llu of %llu elements of %s came to PE %d", (unsigned long long)c->n_local,
			  (unsigned long long)c->n_slots, c->type->name, pe->id);
}

/* Only elements move: they are guests, or back at their seats. */
static void guests_in(struct pe *pe, struct collection *c, struct bulk *b)
{
	for (size_t i = 0; i < b->n_come; i++) {
		struct travel *t = b->come[i];

		t->obj->coll = c;
		if (t->seat == pe->id) {
			seat_return(pe, t->obj);
		} else {
			guest_add(t->obj, t->seat);
		}
		if (index_home(pe, c, t->index) != pe->id)
			keep_holders(pe, t);
	}
}

static void tell_reseated(struct pe *pe, struct collection *c, const struct place_rest *rest)
{
	const struct ck_node *ck = ck_node_of(pe->node);

	for (int i = 0; i < CK_PARTS; i++)
		if (ck->parts[i] && ck->parts[i]->watch.reseated)
			ck->parts[i]->watch.reseated(pe, c, rest);
}

static void tell_reopened(struct pe *pe, struct collection *c)
{
	const struct ck_node *ck = ck_node_of(pe->node);

	for (int i = 0; i < CK_PARTS; i++)
		if (ck->parts[i] && ck->parts[i]->watch.reopened)
			ck->parts[i]->watch.reopened(pe, c);
}

static void maybe_over(struct pe *pe, struct collection *c, struct bulk *b)
{
	if (b->n_awaited || b->over)
		return;
	if (b->seats)
		seats_in(pe, c, b);
	else
		guests_in(pe, c, b);
	b->over = true;
	free(b->stay);
	b->stay = NULL;
	for (size_t i = 0; i < b->n_come; i++)
		if (b->come[i]->obj)
			obj_calls_arrive(pe, b->come[i]->obj, &b->come[i]->kept);
	if (b->seats)
		tell_reseated(pe, c, &b->rest);
	b->done(pe, c, b->arg);
}

void bulk_took_last(struct pe *pe, struct collection *c)
{
	struct bulk *b = bulk_of(c);

	if (!b->n_awaited)
		csd_abort(pe, "broken plan: PE %d gets more elements of %s than it awaits", pe->id, c->type->name);
	b->n_awaited--;
	maybe_over(pe, c, b);
}

void place_bulk(struct pe *pe, struct collection *c, const struct place_plan *plan,
		void (*over)(struct pe *pe, struct collection *c, void *arg), void *arg)
{
	struct bulk *b = bulk_of(c);
	struct msg_fifo early;

	check_plan(pe, c, b, plan);
	b->begun = true;
	b->seats = place_plan_moves_seats(c, plan);
	b->rest = plan->rest;
	b->done = over;
	b->arg = arg;
	b->n_awaited = 1; /* this PE's own part */
	carry_out(pe, c, b, plan);
	c->constructed = false;
	msg_fifo_move(&early, &b->early);
	resume(pe, &early);
	b->n_awaited--;
	maybe_over(pe, c, b);
}

/* ---- open ------------------------------------------------------------------------------------------------------------ */

static void bulk_free(struct bulk *b)
{
	for (size_t i = 0; i < b->n_come; i++)
		travel_free(b->come[i]);
	free(b->come);
	free(b->stay);
	free(b);
}

/* What was kept leaves before X_on_arrived and the calls that wait can send more. */
void place_open(struct pe *pe, struct collection *c)
{
	struct bulk *b = place_of(c)->bulk;

	place_of(c)->bulk = NULL;
	c->constructed = true;
	call_release(pe, c);
	coll_line_up(c);
	if (!b)
		return;
	assert(b->over);
	if (b->seats)
		tell_reopened(pe, c);
	for (size_t i = 0; i < b->n_come; i++)
		if (b->come[i]->obj && element_is_there(b->come[i]->obj))
			tell_arrived(pe, b->come[i]->obj);
	for (size_t i = 0; i < b->n_come; i++)
		if (b->come[i]->obj && element_is_there(b->come[i]->obj))
			obj_calls_test(pe, b->come[i]->obj);
	bulk_free(b);
	coll_resume(pe, c);
}

void bulk_describe(const struct collection *c, csd_line_fn line, void *arg)
{
	const struct bulk *b = place_of(c)->bulk;
	char what[160];

	if (!b || b->over)
		return;
	coll_describe(c, what, sizeof what);
	if (b->begun)
		say_line(line, arg, "elements of %s move: those from %zu PEs have not come", what, b->n_awaited);
	else
		say_line(line, arg, "elements of %s have come, but not the plan of where elements move", what);
}

/* The job ends meanwhile. */
void bulk_fini(struct pe *pe, struct collection *c)
{
	struct bulk *b = place_of(c)->bulk;

	if (!b)
		return;
	fifo_free(pe, &b->early);
	for (size_t i = 0; i < b->n_stay && b->stay; i++)
		free(b->stay[i]);
	for (size_t i = 0; i < b->n_come; i++) {
		fifo_free(pe, &b->come[i]->late);
		obj_calls_free(&b->come[i]->kept);
		if (!b->over)
			free(b->come[i]->obj);
	}
	bulk_free(b);
}
