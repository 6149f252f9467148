/* SPDX-License-Identifier: Apache-2.0 */
/*
 * home.c: what a home knows of elements that do not live there. Every index has a home PE, and all
 * PEs compute the same one. A call without a lease (lease.c) goes to the home. If the element does
 * not live there, its home forwards the call, or keeps it while the element cannot be called:
 *
 *	no record          it lives here, or does not exist
 *	pe < 0             it does not exist, and calls wait for its insertion
 *	moving             it is made, about to leave, or moving: calls wait until it has arrived
 *	otherwise          it lives on `pe`: calls are forwarded, in order
 *
 * For an element that is not called, or only by PEs with leases and by this one, its PE is a number
 * in a small table (dynamic.lives). Anything else takes a record, a struct away.
 *
 * A call that finds its element neither here nor on the PE that home knows is a broken protocol and
 * ends the job: no PE forgets an element before all messages to it have arrived (leave.c).
 */
#include "place_int.h"
#include "../core/shape.h"
#include "../../machine/base/cmi_alloc.h"

/* Calls of one PE that pass through here before it gets an offer of a lease. A lease costs three
 * messages, and saves one a call. */
enum { OFFER_AT = 2 };

/* ---- calls that pass through ----------------------------------------------------------------- */

static struct sender *sender_of(struct away *a, int pe)
{
	for (uint32_t i = 0; i < a->n_senders; i++)
		if (a->senders[i].pe == pe)
			return &a->senders[i];
	CMI_ONE_MORE(a->senders, a->n_senders, a->cap_senders, "the callers of an element");
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

/* The offer is made once; the SWITCH that answers it comes behind all that the PE sends through
 * here. */
static void passed_on(struct pe *pe, struct away *a, int sender)
{
	struct sender *s;

	if (sender == pe->id)
		return;
	s = sender_of(a, sender);
	if (s->n < OFFER_AT && ++s->n == OFFER_AT)
		tell_where(pe, sender, where_about(a->coll, a->index, WHERE_OFFER));
}

/* Calls with a priority may still wait in this PE's queue while the SWITCH behind them is here
 * already. The calls that went straight to the place would overtake them. This is asked when the
 * SWITCH comes: if it waited for the element, those calls would come to wait behind it. */
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

/* ---- calls that wait ------------------------------------------------------------------------- */

/* A call, a destruction or an insertion found no element at its home. */
static void wait_for(struct pe *pe, struct collection *c, CkIndex i, struct cmi_msg *m)
{
	struct away *a = away_get(c, i);

	if (!a->waiting.head)
		a->since = closing_wave(c);
	msg_fifo_push(&a->waiting, m);
	closing_missed(pe, c);
}

const char *told_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct ck_env *env = (const struct ck_env *)m;
	const struct place_watch *w = watch_of(pe, (uint32_t)env->refnum);

	return !w || !w->told ? "its kind is unknown" : w->told_misfit ? w->told_misfit(pe, env) : NULL;
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

/* It has come for an element that does not live on this PE, its home. Takes the message. */
static void home_sought(struct pe *pe, struct collection *c, CkIndex i, struct ck_env *env)
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

/* A call, a destruction, a SWITCH or what a part tells has found its element. */
static void act_on(struct pe *pe, struct ck_obj *obj, struct ck_env *env)
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

/* ---- what its place says --------------------------------------------------------------------- */

_Noreturn void inserted_twice(struct pe *pe, const struct collection *c, CkIndex i, int from)
{
	csd_abort(pe, "%s_insert from PE %d: %s exists already; an element can be inserted again when "
		  "it is destroyed", c->type->name, from, element_thing(c->type, c->id, i).name);
}

/* Where an element arrives is news; that it leaves only its place can say. */
static struct away *home_record(struct pe *pe, struct collection *c, const struct where_msg *w,
				bool moving)
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
		a = home_record(pe, c, w, true);
		a->moving = a->asked = false;
		a->pe = w->head.src_pe;
		msg_fifo_move(&waiting, &a->waiting);
		away_rest(a);
		resume(pe, &waiting);
		break;
	case WHERE_WANT:
		a = home_record(pe, c, w, false);
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
