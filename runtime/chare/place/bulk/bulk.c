/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bulk.c: elements move together, while nothing of their collection is under way. Then the protocol
 * of leave.c is not needed: no call can overtake another one or miss its element, because there are
 * no calls. All PEs have the same plan, so each of them knows what changes:
 *
 *	a PE where elements live      sends those that go, one batch for each PE (bulk_leave.c, batch.c),
 *	                              and awaits those that come (bulk_come.c)
 *	a home                        notes where its elements are now
 *	a PE with a lease             calls the element at its new place, which knows the PE as a holder;
 *	                              the holders came with the element
 *
 * The plan is a list of moves, or cuts through the row-major order of an array with extents
 * (core/cut_map.c).
 *
 * Seats move along if all elements have contributed to equally many reductions and scans: then only
 * numbers have to be set. The collection's tables are rebuilt, as if its elements had been made
 * where they live now: there are no stubs and no guests. With cuts the map changes, so there are no
 * records of elements away from home, and no leases; and the elements of each PE are a run, so that
 * a call finds its element as in an array that never moved. In an array with extents, moves without
 * cuts leave the seats, because its map determines them.
 *
 * From place_bulk to place_open the collection is not `constructed` here. Messages of PEs that are
 * open already wait.
 */
#include "bulk.h"
#include "../../../machine/base/cmi_alloc.h"

#include <assert.h>
#include <stdlib.h>

static struct bulk *bulk_of(struct collection *c)
{
	struct place_coll *p = place_of(c);

	if (p->bulk)
		return p->bulk;
	p->bulk = cmi_alloc_zero(1, sizeof *p->bulk, "elements that move");
	msg_fifo_init(&p->bulk->early);
	return p->bulk;
}

/* ---- the plan -------------------------------------------------------------------------------- */

static void check_plan(struct pe *pe, const struct collection *c, const struct bulk *b,
		       const struct place_plan *plan)
{
	const int n_pes = pe->node->job->n_pes;

	if (b->begun || !c->constructed || !call_is_closed(c))
		csd_abort(pe, "bulk moves of %s, which is not closed, or is moving already", c->type->name);
	if (plan->cuts && (c->sparse || plan->cuts[0] || plan->cuts[n_pes] != c->homes.total))
		csd_abort(pe, "cuts of %s, which do not fit its places", c->type->name);
	for (int p = 0; plan->cuts && p < n_pes; p++)
		if (plan->cuts[p] > plan->cuts[p + 1])
			csd_abort(pe, "cuts of %s that fall at PE %d", c->type->name, p + 1);
}

/* ---- it has come ----------------------------------------------------------------------------- */

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

	CMI_ONE_MORE(b->come, b->n_come, b->cap_come, "elements that move");
	b->come[b->n_come++] = t;
}

static void maybe_over(struct pe *pe, struct collection *c, struct bulk *b)
{
	if (b->n_awaited || b->over)
		return;
	bulk_come(pe, c, b);
	b->over = true;
	free(b->stay);
	b->stay = NULL;
	for (size_t i = 0; i < b->n_come; i++)
		if (b->come[i]->obj)
			obj_calls_arrive(pe, b->come[i]->obj, &b->come[i]->kept);
	if (b->seats)
		tell_reseated(pe, c, &b->still);
	b->done(pe, c, b->arg);
}

void bulk_took_last(struct pe *pe, struct collection *c)
{
	struct bulk *b = bulk_of(c);

	if (!b->n_awaited)
		csd_abort(pe, "broken plan: PE %d gets more elements of %s than it awaits", pe->id,
			  c->type->name);
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
	b->still = plan->still;
	b->done = over;
	b->arg = arg;
	b->n_awaited = 1; /* this PE's own part */
	bulk_leave(pe, c, b, plan);
	c->constructed = false;
	msg_fifo_move(&early, &b->early);
	resume(pe, &early);
	b->n_awaited--;
	maybe_over(pe, c, b);
}

/* ---- open ------------------------------------------------------------------------------------ */

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

void bulk_describe(const struct collection *c, struct csd_told *to)
{
	const struct bulk *b = place_of(c)->bulk;

	if (!b || b->over)
		return;
	if (b->begun)
		csd_tell(to, NULL, "elements of %s move: those from %s not come",
			 coll_thing(c).name, csd_plural(b->n_awaited, "PE have", "PEs have").text);
	else
		csd_tell(to, NULL, "elements of %s have come, but not the plan of where elements move",
			 coll_thing(c).name);
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
