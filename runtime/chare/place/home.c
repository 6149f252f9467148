/* SPDX-License-Identifier: Apache-2.0 */
/*
 * home.c: what a home knows of elements that do not live there. Every index has a home PE, and all PEs compute
 * the same one. A call without a lease (route.c) goes to the home. If the element does not live there, its home
 * passes the call on, or keeps it while the element cannot be called:
 *
 *	no record          it lives here, or does not exist
 *	pe < 0             it does not exist, and calls wait for its insertion
 *	moving             it is made, about to leave, or on its way: calls wait until home hears that it is there
 *	otherwise          it lives on `pe`: calls are passed on, in order
 *
 * Where an element lives that is called by nobody, or only by PEs with leases and by this one, is a number in a small
 * table (dynamic.lives). Whatever else there is to know of it takes a record, a struct away.
 *
 * A call that finds its element neither here nor where home said is a broken protocol and ends the job: no
 * place forgets an element before all that was sent to it has come (leave.c).
 */
#include "place_int.h"
#include "../core/shape.h"
#include "../../machine/base/cmi_alloc.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* Calls of one PE that pass through here before it gets an offer of a lease. A lease costs three messages, and
 * saves one a call. */
enum { OFFER_AT = 2 };

/* ---- records ------------------------------------------------------------------------------- */

void fifo_free(struct pe *pe, struct msg_fifo *f)
{
	while (f->head)
		csd_msg_free(pe, msg_fifo_pop(f));
}

struct dynamic *dynamic_get(struct collection *c)
{
	struct place_coll *p = place_of(c);

	if (!p->dyn)
		p->dyn = cmi_alloc_zero(1, sizeof *p->dyn, "a collection");
	return p->dyn;
}

static struct away *away_new(struct collection *c, CkIndex i, int pe)
{
	struct away *a = cmi_alloc_zero(1, sizeof *a, "an element");

	a->coll = c;
	a->index = i;
	a->pe = pe;
	msg_fifo_init(&a->waiting);
	index_add(&dynamic_get(c)->away, a);
	return a;
}

static void away_free(struct away *a)
{
	free(a->senders);
	free(a);
}

static struct elemmap_slot *lives_find(const struct collection *c, CkIndex i)
{
	const struct dynamic *dyn = place_of(c)->dyn;

	return dyn ? elemmap_find(&dyn->lives, elem_key_of(c, i)) : NULL;
}

static int lives_pe(const struct elemmap_slot *s) { return (int)s->no - 1; }

struct away *away_find(struct collection *c, CkIndex i)
{
	struct dynamic *dyn = place_of(c)->dyn;
	struct away *a = dyn ? index_find(&dyn->away, i) : NULL;
	struct elemmap_slot *s = a ? NULL : lives_find(c, i);

	if (s) {
		a = away_new(c, i, lives_pe(s));
		elemmap_remove(&dyn->lives, s);
	}
	return a;
}

struct away *away_get(struct collection *c, CkIndex i)
{
	struct away *a = away_find(c, i);

	return a ? a : away_new(c, i, NOWHERE);
}

void away_rest(struct away *a)
{
	struct dynamic *dyn = place_of(a->coll)->dyn;

	assert(a->pe >= 0 && !a->moving && !a->asked && !a->waiting.head);
	if (a->n_senders)
		return;
	index_remove_trim(&dyn->away, a->index);
	elemmap_add(&dyn->lives, elem_key_of(a->coll, a->index), (uint32_t)a->pe + 1);
	away_free(a);
}

/* Checked mode, at exit. */
static void tell_waiting(struct pe *pe, const struct away *a)
{
	const struct cmi_msg *first = a->waiting.head;
	char name[128], index[96];

	describe_waiting(pe, a->coll, first, name, sizeof name);
	index_describe(a->coll->type, a->index, index, sizeof index);
	fprintf(stderr, "chard: PE %d (node %d): at exit %zu calls wait for element %s of %s, which "
		"was not inserted; the first is %s from PE %d\n", pe->id, pe->node->job->node, msg_fifo_count(&a->waiting),
		index, a->coll->type->name, name, first->src_pe);
}

void away_fini(struct pe *pe, struct collection *c)
{
	const struct dynamic *dyn = place_of(c)->dyn;
	const struct idmap_slot *s;

	for (size_t i = 0; (s = idmap_each(&dyn->away, &i)); i++) {
		struct away *a = (struct away *)s->value;

		if (pe->node->check && a->pe < 0 && a->waiting.head && c->type)
			tell_waiting(pe, a);
		fifo_free(pe, &a->waiting);
		away_free(a);
	}
	elemmap_free(&place_of(c)->dyn->lives);
}

/* ---- messages again --------------------------------------------------------------------------- */

void handle_again(struct pe *pe, struct cmi_msg *m)
{
	pe->node->handlers[m->handler].fn(pe, m);
}

/* Of the messages behind the first insertion, those that `goes` tells go in front of it. */
static void move_up(const struct pe *pe, struct msg_fifo *f, bool (*goes)(const struct pe *pe, const struct cmi_msg *m))
{
	struct msg_fifo all, behind;
	bool next = false;

	msg_fifo_init(&behind);
	msg_fifo_move(&all, f);
	while (all.head) {
		struct cmi_msg *m = msg_fifo_pop(&all);

		next |= m->handler == ck_handler(pe, PART_PLACE, H_INSERT);
		msg_fifo_push(next && !goes(pe, m) ? &behind : f, m);
	}
	msg_fifo_append(f, &behind);
}

/* Multicasts that have come before an insertion is carried out are there when it is: it says which of them its element gets. */
void resume(struct pe *pe, struct msg_fifo *f)
{
	move_up(pe, f, is_of_section);

	struct cmi_msg *m = f->head, *next;

	msg_fifo_init(f);
	for (; m; m = next) {
		next = m->next;
		handle_again(pe, m);
	}
}

void resume_of_one(struct pe *pe, struct msg_fifo *f)
{
	move_up(pe, f, is_of_all);
	resume(pe, f);
}

void away_drop(struct pe *pe, struct away *a)
{
	resume(pe, &a->waiting);
	away_free(a);
}

void away_end(struct pe *pe, struct away *a)
{
	index_remove_trim(&place_of(a->coll)->dyn->away, a->index);
	away_drop(pe, a);
}

/* ---- words ------------------------------------------------------------------------------------- */

void where_send(struct pe *pe, int dst_pe, int handler, uint8_t flags, struct where_msg what)
{
	struct where_msg *w = (struct where_msg *)csd_msg_alloc(pe, sizeof *w);

	what.head = w->head;
	*w = what;
	w->head.handler = ck_handler(pe, PART_PLACE, handler);
	w->head.flags = flags;
	csd_send(pe, dst_pe, &w->head);
}

/* In the stream of calls: what is said holds for what was sent before. */
void tell_where(struct pe *pe, int dst_pe, struct where_msg what)
{
	where_send(pe, dst_pe, H_WHERE, 0, what);
}

/* ---- calls that pass through --------------------------------------------------------------------- */

static struct sender *sender_of(struct away *a, int pe)
{
	for (uint32_t i = 0; i < a->n_senders; i++)
		if (a->senders[i].pe == pe)
			return &a->senders[i];
	if (a->n_senders == a->cap_senders) {
		a->cap_senders = a->cap_senders ? 2 * a->cap_senders : 4;
		a->senders = cmi_realloc(a->senders, a->cap_senders, sizeof(*a->senders), "the callers of an element");
	}
	a->senders[a->n_senders] = (struct sender){ pe, 0 };
	return &a->senders[a->n_senders++];
}

static void sender_forget(struct away *a, int pe)
{
	for (uint32_t i = 0; i < a->n_senders; i++)
		if (a->senders[i].pe == pe) {
			a->senders[i] = a->senders[--a->n_senders];
			return;
		}
}

/* The offer is made once; the SWITCH that answers it comes behind all that the PE sends through here. */
static void passed_on(struct pe *pe, struct away *a, int sender)
{
	struct sender *s;

	if (sender == pe->id)
		return;
	s = sender_of(a, sender);
	if (s->n < OFFER_AT && ++s->n == OFFER_AT)
		tell_where(pe, sender, where_about(a->coll, a->index, WHERE_OFFER));
}

bool is_switch(const struct pe *pe, const struct ck_env *env)
{
	return env->head.handler == ck_handler(pe, PART_PLACE, H_SWITCH);
}

void deny_switch(struct pe *pe, const struct collection *c, CkIndex i, struct ck_env *env)
{
	tell_where(pe, env->to_pe, where_about(c, i, WHERE_DENY));
	csd_msg_free(pe, &env->head);
}

/* Calls with a priority may still wait in this PE's queue while the SWITCH behind them is here already. The calls
 * that went straight to the place would overtake them. This is asked when the SWITCH comes: if it waited for the
 * element, those calls would come to wait behind it. */
static bool is_early_switch(struct pe *pe, const struct away *a, const struct ck_env *env)
{
	return is_switch(pe, env) && has_queued(pe, a->coll, a->index);
}

static void deny_early_switch(struct pe *pe, struct away *a, struct ck_env *env)
{
	sender_forget(a, env->to_pe);
	deny_switch(pe, a->coll, a->index, env);
}

static void pass_on(struct pe *pe, struct away *a, struct ck_env *env)
{
	const int sender = env->head.src_pe;

	if (is_early_switch(pe, a, env)) {
		deny_early_switch(pe, a, env);
	} else if (is_switch(pe, env)) {
		sender_forget(a, env->to_pe);
		csd_send(pe, a->pe, &env->head);
	} else {
		csd_send(pe, a->pe, &env->head);
		passed_on(pe, a, sender);
	}
}

/* ---- calls that wait ------------------------------------------------------------------------------ */

/* The name of the entry method, as in "Tree::grow", or of the operation that waits. */
void describe_waiting(struct pe *pe, const struct collection *c, const struct cmi_msg *m, char *buf, size_t len)
{
	if (m->handler == ck_handler(pe, PART_CALL, H_ELEMENT))
		describe_entry(c->type, ((const struct ck_env *)m)->entry, buf, len);
	else
		snprintf(buf, len, "%s_%s", c->type->name, is_told(pe, m) ? "channel" :
			 m->handler == ck_handler(pe, PART_PLACE, H_DESTROY) ? "ckDestroy" : "insert");
}

/* A call, a destruction or an insertion found no element at its home. */
static void wait_for(struct pe *pe, struct collection *c, CkIndex i, struct cmi_msg *m)
{
	struct away *a = away_get(c, i);

	if (!a->waiting.head)
		a->since = closing_wave(c);
	msg_fifo_push(&a->waiting, m);
	closing_missed(pe, c);
}

bool is_told(const struct pe *pe, const struct cmi_msg *m)
{
	return m->handler == ck_handler(pe, PART_PLACE, H_TELL);
}

bool is_of_all(const struct pe *pe, const struct cmi_msg *m)
{
	return m->handler == ck_handler(pe, PART_CALL, H_ELEMENT) && ((const struct ck_env *)m)->more & CK_MORE_OF_ALL;
}

bool is_of_section(const struct pe *pe, const struct cmi_msg *m)
{
	return m->handler == ck_handler(pe, PART_CALL, H_ELEMENT) && ((const struct ck_env *)m)->more & CK_MORE_NUMBERED;
}

void drop_copies(struct pe *pe, struct msg_fifo *f)
{
	struct msg_fifo all;

	msg_fifo_move(&all, f);
	while (all.head) {
		struct cmi_msg *m = msg_fifo_pop(&all);

		if (is_of_all(pe, m))
			csd_msg_free(pe, m);
		else
			msg_fifo_push(f, m);
	}
}

const char *told_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct ck_env *env = (const struct ck_env *)m;
	const struct place_watch *w = watch_of(pe, (uint32_t)env->refnum);
	const char *why = w && w->told ? shape_coll(pe, m) : "it is of no kind";

	return why || !w->told_misfit ? why : w->told_misfit(pe, env);
}

void place_tell(struct pe *pe, const CkElement *e, int part, struct ck_env *env)
{
	env->refnum = part;
	send_about(pe, NULL, e, env, ck_handler(pe, PART_PLACE, H_TELL));
}

static void element_missing(struct pe *pe, struct collection *c, CkIndex i, struct ck_env *env)
{
	uint32_t flags = 0;

	if (is_switch(pe, env)) {
		deny_switch(pe, c, i, env);
		return;
	}
	if (is_told(pe, &env->head) || is_of_all(pe, &env->head)) {
		csd_msg_free(pe, &env->head);
		return;
	}
	if (env->head.handler == ck_handler(pe, PART_CALL, H_ELEMENT) && env->entry < c->type->n_entries)
		flags = c->entries[env->entry].flags;
	if (!(flags & (CKGEN_CREATEHERE | CKGEN_CREATEHOME))) {
		wait_for(pe, c, i, &env->head);
		return;
	}
	element_make(pe, c, i, flags & CKGEN_CREATEHERE && c->sparse ? env->head.src_pe : pe->id, NULL);
	handle_again(pe, &env->head);
}

/* This PE's own calls of an element that lives elsewhere need no record. */
static bool is_own_call(const struct pe *pe, const struct ck_env *env)
{
	return env->head.src_pe == pe->id && !is_switch(pe, env);
}

void home_sought(struct pe *pe, struct collection *c, CkIndex i, struct ck_env *env)
{
	const struct elemmap_slot *lives = lives_find(c, i);
	struct away *a;

	if (lives && is_own_call(pe, env)) {
		csd_send(pe, lives_pe(lives), &env->head);
		return;
	}
	a = away_find(c, i);
	if (!a || a->pe < 0) {
		element_missing(pe, c, i, env);
	} else if (a->moving || a->waiting.head) {
		if (is_early_switch(pe, a, env))
			deny_early_switch(pe, a, env);
		else
			msg_fifo_push(&a->waiting, &env->head);
	} else {
		pass_on(pe, a, env);
		away_rest(a);
	}
}

bool place_lives(struct pe *pe, struct collection *c, CkIndex i)
{
	struct dynamic *dyn = place_of(c)->dyn;
	const struct away *a = dyn ? index_find(&dyn->away, i) : NULL;

	return a ? a->pe >= 0 : lives_find(c, i) || element_exists(pe, c, i);
}

/* A call of an element that its place does not find on this PE. */
void seek(struct pe *pe, struct collection *c, struct ck_env *env)
{
	const CkIndex i = c->sparse ? env->index : index_at(c, env->place);
	struct ck_obj *obj = coll_local(c, i);
	struct stay *s;

	if (CSD_LIKELY(obj != NULL))
		act_on(pe, obj, env);
	else if ((s = stay_find(c, i)) && (!s->obj || !obj_takes_calls(s->obj)))
		stay_late(pe, s, env);
	else if (index_home(pe, c, i) == pe->id)
		home_sought(pe, c, i, env);
	else
		call_lost(pe, c, env);
}

void act_on(struct pe *pe, struct ck_obj *obj, struct ck_env *env)
{
	if (env->head.handler == ck_handler(pe, PART_PLACE, H_DESTROY)) {
		csd_msg_free(pe, &env->head);
		element_destroy(pe, obj);
	} else if (is_told(pe, &env->head)) {
		watch_of(pe, (uint32_t)env->refnum)->told(pe, obj, env);
	} else if (is_switch(pe, env)) {
		if (index_home(pe, obj->coll, obj->index) == pe->id) {
			deny_switch(pe, obj->coll, obj->index, env); /* the way by home is the straight one */
			return;
		}
		stay_switch(pe, obj, env->to_pe);
		csd_msg_free(pe, &env->head);
	} else {
		deliver_to(pe, obj, env, false);
	}
}

/* ---- what its place says --------------------------------------------------------------------------- */

_Noreturn void inserted_twice(struct pe *pe, const struct collection *c, CkIndex i, int from)
{
	char index[96];

	index_describe(c->type, i, index, sizeof index);
	csd_abort(pe, "%s_insert from PE %d: element %s exists already; an element can be inserted "
		  "again when it is destroyed", c->type->name, from, index);
}

/* Where an element arrives is news; that it leaves only its place can say. */
static struct away *record_of(struct pe *pe, struct collection *c, const struct where_msg *w, bool moving)
{
	struct away *a = away_find(c, w->index);

	if (!a || a->moving != moving || (!moving && a->pe != w->head.src_pe))
		csd_abort(pe, "message from PE %d about an element that does not live there",
			  w->head.src_pe);
	return a;
}

void home_arrived(struct pe *pe, struct collection *c, const struct where_msg *w)
{
	struct msg_fifo waiting;
	struct away *a;

	switch ((enum where_kind)w->kind) {
	case WHERE_BORN:
		a = record_of(pe, c, w, true);
		a->moving = a->asked = false;
		a->pe = w->head.src_pe;
		msg_fifo_move(&waiting, &a->waiting);
		away_rest(a);
		resume(pe, &waiting);
		break;
	case WHERE_WANT:
		a = record_of(pe, c, w, false);
		a->moving = true;
		a->to = (int32_t)(int64_t)w->count[0];
		tell_where(pe, w->head.src_pe, where_about(c, w->index, WHERE_GO));
		break;
	case WHERE_EXISTS:
		inserted_twice(pe, c, w->index, (int)w->count[0]);
	default:
		break;
	}
}

void away_moved(struct pe *pe, struct collection *c, CkIndex i, int to)
{
	struct away *a = to == pe->id ? away_find(c, i) : away_get(c, i);

	assert(a && !a->moving && !a->asked && !a->waiting.head);
	if (to == pe->id) {
		away_end(pe, a);
		return;
	}
	a->pe = a->to = to;
	a->n_senders = 0;
	away_rest(a);
}

_Noreturn static void overdue(struct pe *pe, const struct away *a)
{
	const struct cmi_msg *m = a->waiting.head;
	char name[128], index[96];

	describe_waiting(pe, a->coll, m, name, sizeof name);
	index_describe(a->coll->type, a->index, index, sizeof index);
	csd_abort(pe, "PE %d called %s on element %s, which does not exist, and inserting is over; "
		  "insert it, or call %s_beginInserting before", m->src_pe, name, index,
		  a->coll->type->name);
}

void away_overdue(struct pe *pe, struct collection *c, uint32_t wave)
{
	const struct idmap *away = &dynamic_get(c)->away;
	const struct idmap_slot *s;

	for (size_t i = 0; (s = idmap_each(away, &i)); i++) {
		const struct away *a = (const struct away *)s->value;

		if (a->pe >= 0 || !a->waiting.head)
			continue;
		if ((int32_t)(a->since - wave) < 0)
			overdue(pe, a);
		closing_missed(pe, c);
	}
}
