/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leave.c: an element leaves a PE: for another one (CkMigrateMe), or for good (CkDestroy away from home). No PE
 * forgets an element before everything that was ever sent to it there has come:
 *
 *	place --WANT--> home             home keeps the element's calls from now on, and answers
 *	place <--GO---- home             behind all that it has passed on
 *	place --RECALL--> holders        of leases (route.c): they send no more, and answer
 *	place <--FLUSH--- holders        behind their last call
 *	place --MOVE--> new place        the element, what came for it meanwhile, and its former holders
 *	                new place --BORN--> home              home passes on what it has kept
 *	                new place --LEASE_AGAIN--> former holders
 *
 * All these messages share the stream of calls, so GO and FLUSH come behind the calls that they speak of. Calls
 * that come after WANT wait here and go along. An element that leaves its home needs no WANT, and has no holders,
 * because home may get calls at any time.
 *
 * An element that is destroyed away from home leaves in the same way, to nowhere: instead of MOVE its home gets
 * what came for it meanwhile, and hears that it is gone; if it was a guest, its seat hears it first.
 *
 * A handler that asks to leave ends first, and so do the element's threads. While they run, calls are delivered
 * as always, because a thread may wait for one.
 */
#include "place_int.h"
#include "../../machine/cmi_alloc.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- records ------------------------------------------------------------------------------------ */

struct stay *stay_find(const struct collection *c, CkIndex i)
{
	const struct dynamic *dyn = place_of(c)->dyn;

	return dyn && dyn->stays.n ? index_find(&dyn->stays, i) : NULL;
}

static struct stay *stay_of(struct ck_obj *obj, int seat)
{
	struct stay *s = stay_find(obj->coll, obj->index);

	if (s)
		return s;
	s = cmi_alloc_zero(1, sizeof *s, "an element that moves");
	s->coll = obj->coll;
	s->index = obj->index;
	s->obj = obj;
	s->seat = seat;
	msg_fifo_init(&s->late);
	index_add(&dynamic_get(s->coll)->stays, s);
	return s;
}

struct stay *stay_get(struct pe *pe, struct ck_obj *obj)
{
	return stay_of(obj, obj_is_guest(obj) ? place_seat(obj) : pe->id);
}

struct stay *stay_take_holders(struct pe *pe, struct travel *t)
{
	struct stay *s;

	if (!t->n_holders)
		return NULL;
	s = stay_get(pe, t->obj);
	s->holders = t->holders;
	s->n_holders = s->cap_holders = t->n_holders;
	t->holders = NULL;
	return s;
}

void stay_free(struct stay *s)
{
	index_remove_trim(&place_of(s->coll)->dyn->stays, s->index);
	free(s->holders);
	free(s);
}

void stays_fini(struct pe *pe, struct collection *c)
{
	const struct idmap_slot *at;

	for (size_t i = 0; (at = idmap_each(&place_of(c)->dyn->stays, &i)); i++) {
		struct stay *s = (struct stay *)at->value;

		fifo_free(pe, &s->late);
		free(s->holders);
		free(s);
	}
}

int place_leaves_to(const struct ck_obj *obj)
{
	const struct stay *s = stay_find(obj->coll, obj->index);

	return s ? s->to : -1;
}

static struct where_msg about_element(const struct collection *c, CkIndex i, enum where_kind kind)
{
	return (struct where_msg){ .coll = c->id, .index = i, .kind = kind };
}

static struct where_msg about(const struct stay *s, enum where_kind kind)
{
	return about_element(s->coll, s->index, kind);
}

static int home_of(struct pe *pe, const struct stay *s)
{
	return index_home(pe, s->coll, s->index);
}

/* ---- leases -------------------------------------------------------------------------------------- */

static void add_holder(struct stay *s, int pe)
{
	for (uint32_t i = 0; i < s->n_holders; i++)
		if (s->holders[i] == pe)
			return;
	if (s->n_holders == s->cap_holders) {
		s->cap_holders = s->cap_holders ? 2 * s->cap_holders : 4;
		s->holders = cmi_realloc(s->holders, s->cap_holders, sizeof(*s->holders), "the callers of an element");
	}
	s->holders[s->n_holders++] = pe;
}

static void drop_holder(struct stay *s, int pe)
{
	for (uint32_t i = 0; i < s->n_holders; i++)
		if (s->holders[i] == pe) {
			s->holders[i] = s->holders[--s->n_holders];
			return;
		}
}

/* Not if calls with a priority wait here: those that come straight could overtake them. */
void stay_switch(struct pe *pe, struct ck_obj *obj, int sender)
{
	const bool grants = !has_queued(pe, obj->coll, obj->index);

	if (grants)
		add_holder(stay_get(pe, obj), sender);
	tell_where(pe, sender, about_element(obj->coll, obj->index, grants ? WHERE_GRANT : WHERE_DENY));
}

void stay_late(struct pe *pe, struct stay *s, struct ck_env *env)
{
	if (env->head.handler == ck_handler(pe, PART_PLACE, H_SWITCH)) {
		tell_where(pe, env->to_pe, about(s, WHERE_DENY));
		csd_msg_free(pe, &env->head);
	} else {
		msg_fifo_push(&s->late, &env->head);
	}
}

/* ---- who is told ------------------------------------------------------------------------------------- */

/* `event` is the offset in struct ck_watch of a function that takes a PE and an element. */
static void tell_parts(struct pe *pe, struct ck_obj *obj, size_t event)
{
	const struct ck_node *ck = ck_node_of(pe->node);
	void (*fn)(struct pe *pe, struct ck_obj *obj);

	for (int i = 0; i < CK_PARTS; i++) {
		if (!ck->parts[i])
			continue;
		memcpy(&fn, (const char *)&ck->parts[i]->watch + event, sizeof fn);
		if (fn)
			fn(pe, obj);
	}
}

static void tell_stayed(struct pe *pe, struct ck_obj *obj) { tell_parts(pe, obj, offsetof(struct ck_watch, stayed)); }
static void tell_rests(struct pe *pe, struct ck_obj *obj) { tell_parts(pe, obj, offsetof(struct ck_watch, rests)); }
static void tell_goes_on(struct pe *pe, struct ck_obj *obj) { tell_parts(pe, obj, offsetof(struct ck_watch, goes_on)); }

/* ---- it stays after all --------------------------------------------------------------------------- */

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
	resume(pe, &late);
}

static void lease_again(struct pe *pe, const struct stay *s)
{
	for (uint32_t i = 0; i < s->n_holders; i++)
		tell_where(pe, s->holders[i], about(s, WHERE_LEASE_AGAIN));
}

/* Home and holders wait for news of the element: it is where it was. */
static void come_back(struct pe *pe, struct stay *s)
{
	if (home_of(pe, s) != pe->id)
		tell_where(pe, home_of(pe, s), about(s, WHERE_BORN));
	lease_again(pe, s);
	take_calls_again(pe, s);
}

/* ---- it leaves --------------------------------------------------------------------------------------- */

struct leave_msg {
	struct cmi_msg head;
	struct stay *stay;
};

/* Before everything that is queued, once the running handler has ended. */
static void ask(struct pe *pe, struct stay *s)
{
	struct leave_msg *m = (struct leave_msg *)csd_msg_alloc(pe, sizeof *m);

	m->head.handler = ck_handler(pe, PART_PLACE, H_LEAVE);
	m->head.flags = CMI_F_EXPEDITED;
	m->stay = s;
	s->asked = true;
	csd_send(pe, pe->id, &m->head);
}

static void ask_to_leave(struct pe *pe, struct stay *s)
{
	obj_odd(s->obj, OBJ_LEAVING);
	ask(pe, s);
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

static bool part_wants_it(struct pe *pe, struct ck_obj *obj)
{
	const struct ck_node *ck = ck_node_of(pe->node);

	for (int i = 0; i < CK_PARTS; i++)
		if (ck->parts[i] && ck->parts[i]->watch.leave_later && ck->parts[i]->watch.leave_later(pe, obj))
			return true;
	return false;
}

/* Whether threads of the element run, or a part has something of it under way. Then it asks again when that has
 * ended. Threads may wait for what comes after the move of others, so until they end the element stays. What a part has
 * under way ends by itself. */
static bool wait_for_rest(struct pe *pe, struct stay *s)
{
	const bool threads = s->obj && obj_leave_later(pe, s->obj, threads_over);

	s->pending = threads || (s->obj && part_wants_it(pe, s->obj));
	if (threads)
		tell_stayed(pe, s->obj);
	return s->pending;
}

static void at_home_it_is_away(struct pe *pe, const struct stay *s, int now)
{
	struct away *a;

	if (home_of(pe, s) != pe->id)
		return;
	a = away_get(s->coll, s->index);
	a->pe = a->to = now;
	a->moving = true;
	a->asked = false;
	a->n_senders = 0;
}

/* The ends of a channel stay on their PEs. */
static void check_channels(struct pe *pe, const struct csd_piece *pieces, size_t n_pieces, const char *who)
{
	char first[64];
	size_t n = n_pieces && pe->node->up.inside ?
		   pe->node->up.inside(pe, pieces, n_pieces, first, sizeof first) : 0;

	if (n)
		csd_abort(pe, "%s cannot move: it holds %zu channel end%s, which stay on their PE; the first is %s. "
			  "Call CkDirect_destroyHandle before, and make them anew", who, n, n == 1 ? "" : "s", first);
}

static struct csd_piece struct_of(struct ck_obj *obj)
{
	return (struct csd_piece){ self_of(obj), obj->coll->type->bytes };
}

/* In checked mode. What waits for the value, and what could ask for it, is on this PE. */
static void check_futures(struct pe *pe, const struct ck_obj *obj, const struct csd_piece *pieces, size_t n, const char *who)
{
	char what[64];
	CkFuture f;

	for (size_t i = 0; i < n; i++)
		if (future_of_element(pe, obj, pieces[i].at, pieces[i].bytes, &f)) {
			future_name(f, what, sizeof what);
			csd_abort(pe, "%s cannot move: it has made %.*s, which stays on this PE; wait for its value and "
				  "release it before (CkReleaseFuture)", who, (int)strcspn(what, "\4"), what);
		}
}

bool holds_ends(struct pe *pe, struct ck_obj *obj)
{
	struct csd_piece *pieces;
	char first[64];
	size_t n;

	if (!pe->node->up.inside || !pe->node->up.inside(pe, NULL, 0, NULL, 0))
		return false;
	n = element_pieces(pe, obj, &pieces);
	n = pe->node->up.inside(pe, pieces, n, first, sizeof first);
	free(pieces);
	return n > 0;
}

/* Its struct was looked at when it asked to leave. What that points to, is known to its pup function. */
static void check_memory(struct pe *pe, struct ck_obj *obj)
{
	const bool has_ends = pe->node->up.inside && pe->node->up.inside(pe, NULL, 0, NULL, 0);
	struct csd_piece *pieces;
	char name[128];
	size_t n;

	if (!has_ends && !pe->node->check)
		return;
	n = element_pieces(pe, obj, &pieces);
	obj_describe(obj, name, sizeof name);
	check_channels(pe, pieces, n, name);
	if (pe->node->check)
		check_futures(pe, obj, pieces, n, name);
	free(pieces);
}

void tell_leaving(struct pe *pe, struct ck_obj *obj)
{
	check_memory(pe, obj);
	if (pe->node->check && element_has_pup(obj->coll->type))
		element_check(pe, obj);
	tell_parts(pe, obj, offsetof(struct ck_watch, leaving));
}

void tell_arrived(struct pe *pe, struct ck_obj *obj)
{
	tell_parts(pe, obj, offsetof(struct ck_watch, arrived));
	if (obj->coll->type->on_arrived)
		obj->coll->type->on_arrived(self_of(obj));
}

/* It leaves home before a call that destroys it has reached it: home keeps the insertions behind that call. */
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
	travel_send(pe, t->seat != NOWHERE ? t->seat : home_of(pe, s), t);
}

static void finish(struct pe *pe, struct stay *s)
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
	if (home_of(pe, s) != pe->id)
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
	if (s->coll->walks)
		ask(pe, s);
	else
		finish(pe, s);
}

/* Where the element goes home or nowhere, nobody gets a lease again. */
static void recall(struct pe *pe, struct stay *s)
{
	struct where_msg w = about(s, WHERE_RECALL);

	w.count[0] = s->to != NOWHERE && s->to != home_of(pe, s);
	s->n_flushes = s->n_holders;
	for (uint32_t i = 0; i < s->n_holders; i++)
		tell_where(pe, s->holders[i], w);
}

/* Leases are recalled once home keeps the element's calls. Else a holder's next call, by way of home, could overtake
 * its last one that went straight. Model: move.pml, begin_to_leave */
static void begin(struct pe *pe, struct stay *s)
{
	const int home = home_of(pe, s);
	struct where_msg w = about(s, WHERE_WANT);

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
	begin(pe, s);
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
	struct stay *s = stay_of(obj, seat);

	s->obj = NULL;
	s->to = NOWHERE;
	s->seat = seat;
	s->n_contributed = obj->n_contributed;
	s->pending = false;
	if (!s->leaving && !s->asked)
		begin(pe, s);
}

_Noreturn static void broken(struct pe *pe, const struct collection *c, const struct where_msg *w)
{
	char index[96];

	index_describe(c->type, w->index, index, sizeof index);
	csd_abort(pe, "broken protocol: PE %d speaks of element %s of %s, which is not about to leave this PE",
		  w->head.src_pe, index, c->type->name);
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
		broken(pe, c, w);
	if (w->kind == WHERE_GO) {
		s->go = true;
		recall(pe, s);
	} else {
		s->n_flushes--;
		if (!w->count[0])
			drop_holder(s, w->head.src_pe);
	}
	maybe_finish(pe, s);
}

/* ---- it arrives ------------------------------------------------------------------------------------------ */

static void take_seat(struct pe *pe, struct collection *c, struct travel *t)
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
	tell_where(pe, home, about_element(t->obj->coll, t->index, WHERE_BORN));
	s = stay_take_holders(pe, t);
	if (s)
		lease_again(pe, s);
}

/* Calls that came late at its last place go first, then those that its home has kept. Those with a priority that
 * waited in the queue there do not wait again, because others of the same PE, on another way, could overtake them.
 * All of them may end the element, or let it leave again, so nothing is kept but the calls. */
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
	resume(pe, &calls);
}

/* At home: it is gone. */
static void gone(struct pe *pe, struct collection *c, struct travel *t)
{
	struct away *a = away_find(c, t->index);
	struct msg_fifo late;

	msg_fifo_move(&late, &t->late);
	if (a)
		index_remove(&place_of(c)->dyn->away, t->index);
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

void travel_end(struct pe *pe, struct collection *c, struct travel *t)
{
	if (t->obj) {
		take_seat(pe, c, t);
		settle(pe, t);
		come_in(pe, c, t);
	} else if (t->seat == pe->id) {
		if (seat_end(pe, c, t->index, t->n_contributed, t))
			travel_seat_over(pe, c, t);
	} else {
		gone(pe, c, t);
	}
}

/* ---- what programs call ------------------------------------------------------------------------------------ */

static void check_move(struct pe *pe, struct ck_obj *obj, int to)
{
	const CkGenChare *type = obj->coll->type;
	char name[128];

	if (type->kind != CKGEN_ARRAY)
		csd_abort(pe, "CkMigrateMe: %s is no array; only elements of arrays can move", type->name);
	obj_describe(obj, name, sizeof name);
	if (to < 0 || to >= pe->node->job->n_pes)
		csd_abort(pe, "CkMigrateMe of %s: PE %d; the job has PEs 0-%d", name, to, pe->node->job->n_pes - 1);
	if (!element_is_there(obj))
		csd_abort(pe, "CkMigrateMe of %s: it is destroyed already", name);
	check_channels(pe, (const struct csd_piece[1]){ struct_of(obj) }, 1, name);
	if (!pe_is_here(pe, to) && !element_has_pup(type))
		csd_abort(pe, "CkMigrateMe of %s to PE %d: %s cannot leave its process: declare 'pup %s;' in the "
			  ".ci file", name, to, type->name, type->name);
}

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
