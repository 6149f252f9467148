/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrive.c: an element, or the news of its end (leave.c), has arrived on a PE. It takes its seat or
 * becomes a guest, its home and former callers are told, and the calls that it missed are handled.
 */
#include "place_move.h"

void travel_take_seat(struct pe *pe, struct collection *c, struct travel *t)
{
	t->obj->coll = c;
	if (t->seat == pe->id)
		seat_return(pe, t->obj);
	else
		guest_add(t->obj, t->seat);
}

static void settle(struct pe *pe, struct travel *t)
{
	const int home = index_home(pe, t->obj->coll, t->index);
	struct stay *s;

	if (home == pe->id)
		return;
	tell_where(pe, home, where_about(t->obj->coll, t->index, WHERE_BORN));
	s = stay_take_holders(pe, t);
	if (s)
		stay_lease_again(pe, s);
}

/* Calls that came late at its last place go first, then those that its home has kept. Those with a
 * priority that waited in the queue there do not wait again, because others of the same PE, on
 * another way, could overtake them. All of them may end the element, or let it leave again, so
 * nothing is kept but the calls. */
static void come_in(struct pe *pe, struct collection *c, struct travel *t)
{
	struct ck_obj *obj = t->obj;
	struct away *a = index_home(pe, c, t->index) == pe->id ? away_find(c, t->index) : NULL;
	struct msg_fifo calls;

	t->obj = NULL;
	msg_fifo_move(&calls, &t->late);
	if (a) {
		msg_fifo_append(&calls, &a->waiting);
		away_end(pe, a);
	}
	obj_calls_arrive(pe, obj, &t->kept);
	travel_free(t);
	tell_arrived(pe, obj);
	obj_calls_test(pe, obj);
	resume_of_one(pe, &calls);
}

/* At home: it is gone. Copies of what has gone to all were meant for that element, not for the next
 * with its index. All of them have come: its seat heard first that it is gone, and has made no more
 * since. */
static void gone(struct pe *pe, struct collection *c, struct travel *t)
{
	struct away *a = away_find(c, t->index);
	struct msg_fifo late;

	travel_drop_queued(pe, t);
	drop_copies(pe, &t->late);
	if (a)
		drop_copies(pe, &a->waiting);
	msg_fifo_move(&late, &t->late);
	if (a) {
		msg_fifo_append(&late, &a->waiting);
		index_remove(&place_of(c)->dyn->away, t->index);
	}
	travel_free(t);
	resume(pe, &late);
	if (a)
		away_drop(pe, a);
}

void travel_seat_over(struct pe *pe, struct collection *c, struct travel *t)
{
	t->seat = NOWHERE;
	travel_send(pe, index_home(pe, c, t->index), t);
}

/* It has come. Takes it. */
static void travel_end(struct pe *pe, struct collection *c, struct travel *t)
{
	if (t->obj) {
		travel_take_seat(pe, c, t);
		settle(pe, t);
		come_in(pe, c, t);
	} else if (t->seat == pe->id) {
		if (seat_end(pe, c, t->index, t->n_contributed, t))
			travel_seat_over(pe, c, t);
	} else {
		gone(pe, c, t);
	}
}

void packed_arrived(struct pe *pe, struct cmi_msg *m)
{
	const struct packed *p = (const struct packed *)m;
	struct collection *c = coll_get(pe, p->coll);
	struct travel *t;

	if (!c->constructed) {
		call_wait(pe, c, m);
		return;
	}
	t = travel_read(pe, c, p);
	csd_msg_free(pe, m);
	travel_end(pe, c, t);
}

/* The collection's creation may come later; element and message wait for it. */
void travel_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct travel *t = ((struct travel_msg *)m)->travel;
	struct collection *c = coll_get(pe, t->coll);

	if (!c->constructed) {
		coll_wait(c, m);
		return;
	}
	travel_land(pe->node, t);
	csd_msg_free(pe, m);
	travel_end(pe, c, t);
}
