/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leave.c: an element leaves a PE: for another one (CkMigrateMe), or for good (CkDestroy away from
 * home). No PE forgets an element before all messages that were sent to it there have arrived:
 *
 *	place --WANT--> home             home keeps the element's calls from now on, and answers
 *	place <--GO---- home             behind all that it has passed on
 *	place --RECALL--> holders        of leases (lease.c): they send no more, and answer
 *	place <--FLUSH--- holders        behind their last call
 *	place --MOVE--> new place        the element, what came for it meanwhile, and its former holders
 *	                new place --BORN--> home              home passes on what it has kept
 *	                new place --LEASE_AGAIN--> former holders
 *
 * All these messages share the stream of calls, so GO and FLUSH arrive after the calls that they
 * end. Calls that arrive after WANT wait here and move along. An element that leaves its home needs
 * no WANT, and has no holders, because home may get calls at any time.
 *
 * An element that is destroyed away from home leaves in the same way, to nowhere: instead of MOVE
 * its home gets the late messages and the news of its end; if it was a guest, its seat is told
 * first.
 *
 * A handler that calls CkMigrateMe ends first, and so do the element's threads. While they run,
 * calls are delivered as always, because a thread may wait for one.
 */
#include "place_move.h"

#include <stddef.h>

/* ---- who is told ----------------------------------------------------------------------------- */

static void tell_stayed(struct pe *pe, struct ck_obj *obj)
{
	tell_watches(pe, obj, offsetof(struct place_watch, stayed));
}

static void tell_rests(struct pe *pe, struct ck_obj *obj)
{
	tell_watches(pe, obj, offsetof(struct place_watch, rests));
}

static void tell_goes_on(struct pe *pe, struct ck_obj *obj)
{
	tell_watches(pe, obj, offsetof(struct place_watch, goes_on));
}

/* ---- it stays after all ---------------------------------------------------------------------- */

static void take_calls_again(struct pe *pe, struct stay *s)
{
	struct ck_obj *obj = s->obj;
	struct msg_fifo late;

	if (!s->pending)
		tell_stayed(pe, obj);
	s->leaving = s->go = false;
	obj_even(s->obj, OBJ_LEAVING);
	msg_fifo_move(&late, &s->late);
	if (!s->n_holders && !s->pending)
		stay_free(s);
	obj_calls_test(pe, obj);
	resume_of_one(pe, &late);
}

/* Home and holders wait for news of the element: it is where it was. Broadcasts that came to its
 * seat meanwhile are on their way by home, so later ones go that way, too. */
static void come_back(struct pe *pe, struct stay *s)
{
	if (stay_home(pe, s) != pe->id) {
		tell_where(pe, stay_home(pe, s), stay_about(s, WHERE_BORN));
		if (!obj_is_guest(s->obj))
			obj_odd(s->obj, OBJ_STRAY);
	}
	stay_lease_again(pe, s);
	take_calls_again(pe, s);
}

/* ---- it leaves ------------------------------------------------------------------------------- */

struct leave_msg {
	struct cmi_msg head;
	struct stay *stay;
};

/* Before everything that is queued, once the running handler has ended. */
static void send_leave(struct pe *pe, struct stay *s)
{
	struct leave_msg *m = ck_msg_new(pe, PART_PLACE, H_LEAVE, CMI_F_EXPEDITED, sizeof *m);

	m->stay = s;
	s->asked = true;
	csd_send(pe, pe->id, &m->head);
}

static void ask_to_leave(struct pe *pe, struct stay *s)
{
	obj_odd(s->obj, OBJ_LEAVING);
	send_leave(pe, s);
}

static void threads_over(struct pe *pe, struct ck_obj *obj)
{
	struct stay *s = stay_find(obj->coll, obj->index);

	if (!s || !s->pending)
		return; /* it was destroyed meanwhile */
	s->pending = false;
	ask_to_leave(pe, s);
}

void place_may_leave(struct pe *pe, struct ck_obj *obj)
{
	threads_over(pe, obj);
}

/* Whether threads of the element run, or a part has something of it under way. Then it asks again
 * when that has ended. Threads may wait for what comes after the move of others, so until they end
 * the element stays. What a part has under way ends by itself. */
static bool wait_for_rest(struct pe *pe, struct stay *s)
{
	const bool threads = s->obj && obj_leave_later(pe, s->obj, threads_over);

	s->pending = threads || (s->obj && watches_keep(pe, s->obj));
	if (threads)
		tell_stayed(pe, s->obj);
	return s->pending;
}

static void at_home_it_is_away(struct pe *pe, const struct stay *s, int now)
{
	struct away *a;

	if (stay_home(pe, s) != pe->id)
		return;
	a = away_get(s->coll, s->index);
	a->pe = a->to = now;
	a->moving = true;
	a->asked = false;
	a->n_senders = 0;
}

void tell_leaving(struct pe *pe, struct ck_obj *obj)
{
	check_leaving(pe, obj);
	if (pe->node->check && element_has_pup(obj->coll->type))
		element_check(pe, obj);
	tell_watches(pe, obj, offsetof(struct place_watch, leaving));
}

void tell_arrived(struct pe *pe, struct ck_obj *obj)
{
	tell_watches(pe, obj, offsetof(struct place_watch, arrived));
	if (obj->coll->type->on_arrived)
		obj->coll->type->on_arrived(self_of(obj));
}

/* It leaves home before a call that destroys it has reached it: home keeps the insertions behind
 * that call. Those that came to another place, with a lease, go along. */
static void insertions_wait(struct pe *pe, struct collection *c, struct travel *t)
{
	struct msg_fifo all;

	msg_fifo_move(&all, &t->late);
	while (all.head) {
		struct cmi_msg *m = msg_fifo_pop(&all);
		const bool insertion = m->handler == ck_handler(pe, PART_PLACE, H_INSERT);

		msg_fifo_push(insertion ? &away_find(c, t->index)->waiting : &t->late, m);
	}
}

static void depart(struct pe *pe, struct stay *s, struct travel *t)
{
	tell_leaving(pe, t->obj);
	if (obj_is_guest(t->obj))
		guest_remove(t->obj);
	else
		seat_leave(pe, t->obj);
	if (!pe_is_here(pe, s->to))
		obj_calls_pack(pe, t->obj, &t->kept);
	obj_calls_leave(pe, t->obj, &t->kept);
	t->obj->extra = 0;
	at_home_it_is_away(pe, s, s->to);
	if (stay_home(pe, s) == pe->id)
		insertions_wait(pe, s->coll, t);
	travel_send(pe, s->to, t);
}

/* Its seat hears of it first, then its home. */
static void tell_gone(struct pe *pe, const struct stay *s, struct travel *t)
{
	const bool here = t->seat == pe->id;

	if (here && seat_end(pe, s->coll, t->index, t->n_contributed, t))
		t->seat = NOWHERE;
	at_home_it_is_away(pe, s, pe->id);
	if (here && t->seat != NOWHERE)
		return; /* the seat has it, and goes on */
	travel_send(pe, t->seat != NOWHERE ? t->seat : stay_home(pe, s), t);
}

static void finish_leaving(struct pe *pe, struct stay *s)
{
	struct travel *t;

	if (s->obj && (wait_for_rest(pe, s) || s->to == pe->id)) {
		tell_goes_on(pe, s->obj);
		come_back(pe, s);
		return;
	}
	t = travel_new(s->coll, s->index);
	t->seat = s->seat;
	t->obj = s->obj;
	t->n_contributed = s->n_contributed;
	t->holders = s->holders;
	t->n_holders = s->n_holders;
	s->holders = NULL;
	msg_fifo_move(&t->late, &s->late);
	if (stay_home(pe, s) != pe->id)
		travel_take_queued(pe, t);
	if (t->obj)
		depart(pe, s, t);
	else
		tell_gone(pe, s, t);
	stay_free(s);
}

/* A loop over the elements of the collection may be suspended on a thread. */
static void maybe_finish(struct pe *pe, struct stay *s)
{
	if (!s->leaving || !s->go || s->n_flushes || s->asked)
		return;
	if (call_coll_of(s->coll)->walks)
		send_leave(pe, s);
	else
		finish_leaving(pe, s);
}

/* Where the element goes home or nowhere, nobody gets a lease again. */
static void recall(struct pe *pe, struct stay *s)
{
	struct where_msg w = stay_about(s, WHERE_RECALL);

	w.count[0] = s->to != NOWHERE && s->to != stay_home(pe, s);
	s->n_flushes = s->n_holders;
	for (uint32_t i = 0; i < s->n_holders; i++)
		tell_where(pe, s->holders[i], w);
}

/* Leases are recalled once home keeps the element's calls. Else a holder's next call, by way of
 * home, could overtake its last one that went straight. Model: move.pml, begin_to_leave */
static void begin_leaving(struct pe *pe, struct stay *s)
{
	const int home = stay_home(pe, s);
	struct where_msg w = stay_about(s, WHERE_WANT);

	s->leaving = true;
	s->go = home == pe->id;
	if (s->go) {
		recall(pe, s);
		maybe_finish(pe, s);
	} else {
		w.count[0] = (uint64_t)(int64_t)s->to;
		tell_where(pe, home, w);
	}
}

static void begin_at_rest(struct pe *pe, struct stay *s)
{
	if (s->obj)
		tell_rests(pe, s->obj);
	begin_leaving(pe, s);
}

static void stay_after_all(struct pe *pe, struct stay *s)
{
	tell_goes_on(pe, s->obj);
	take_calls_again(pe, s);
}

void leave_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct stay *s = ((struct leave_msg *)m)->stay;

	csd_msg_free(pe, m);
	s->asked = false;
	if (s->leaving)
		maybe_finish(pe, s);
	else if (s->obj && wait_for_rest(pe, s))
		take_calls_again(pe, s);
	else if (s->obj && s->to == pe->id)
		stay_after_all(pe, s);
	else
		begin_at_rest(pe, s);
}

void stay_gone(struct pe *pe, struct ck_obj *obj, int seat)
{
	struct stay *s = stay_make(obj, seat);

	s->obj = NULL;
	s->to = NOWHERE;
	s->seat = seat;
	s->n_contributed = obj->n_contributed;
	s->pending = false;
	if (!s->leaving && !s->asked)
		begin_leaving(pe, s);
}

_Noreturn static void leave_broken(struct pe *pe, const struct collection *c,
				   const struct where_msg *w)
{
	csd_abort(pe, "broken protocol: PE %d speaks of %s, which is not about to leave this PE",
		  w->head.src_pe, element_thing(c->type, c->id, w->index).name);
}

/* Whether a call that destroys it is among those that wait, or it is destroyed already. */
static bool ends(const struct pe *pe, const struct stay *s)
{
	const struct cmi_msg *m = s->late.head;

	while (m && m->handler != ck_handler(pe, PART_PLACE, H_DESTROY))
		m = m->next;
	return m || !s->obj;
}

bool element_exists(const struct pe *pe, const struct collection *c, CkIndex i)
{
	const struct stay *s = stay_find(c, i);

	return coll_local(c, i) || (s && !ends(pe, s));
}

static void exists(struct pe *pe, struct collection *c, const struct where_msg *w)
{
	if (element_exists(pe, c, w->index))
		tell_where(pe, w->head.src_pe, (struct where_msg){ .coll = c->id, .index = w->index,
			   .kind = WHERE_EXISTS, .count = { w->count[0] } });
}

void stay_arrived(struct pe *pe, struct collection *c, const struct where_msg *w)
{
	struct stay *s = stay_find(c, w->index);

	if (w->kind == WHERE_ASK) {
		exists(pe, c, w);
		return;
	}
	if (!s || !s->leaving || (w->kind == WHERE_GO ? s->go : !s->n_flushes))
		leave_broken(pe, c, w);
	if (w->kind == WHERE_GO) {
		s->go = true;
		recall(pe, s);
	} else {
		s->n_flushes--;
		if (!w->count[0])
			stay_drop_holder(s, w->head.src_pe);
	}
	maybe_finish(pe, s);
}

/* ---- what programs call ---------------------------------------------------------------------- */

void CkMigrateMe(void *self, int to)
{
	struct pe *pe = ck_self();
	struct ck_obj *obj = obj_of(self);
	struct stay *s;

	check_move(pe, obj, to);
	s = stay_find(obj->coll, obj->index);
	if (to == pe->id && !(s && (s->asked || s->pending || s->leaving)))
		return;
	s = stay_get(pe, obj);
	s->to = to;
	if (!s->asked && !s->pending && !s->leaving && !wait_for_rest(pe, s))
		ask_to_leave(pe, s);
}
