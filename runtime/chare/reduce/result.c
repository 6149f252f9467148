/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result.c: delivers results. Elements of the reduction's own collection get results in the order
 * of the reductions, whichever routes these took; an early result waits in its record. If no entry
 * method is running, the elements get the result at once. Otherwise the result goes through the run
 * queue, and so do later results. Results for any other target are ordinary calls.
 */
#include "reduce_int.h"

#include <stdio.h>

/* ---- targets --------------------------------------------------------------------------------- */

static bool is_own_element(const struct collection *c, const CkCallback *cb)
{
	return callback_is_element(cb, c->id) && !c->sparse && index_place(c, cb->index) != UINT64_MAX;
}

static int home_of_element(struct pe *pe, struct collection *c, uint64_t place)
{
	if (c->type->kind == CKGEN_GROUP)
		return (int)place;
	return coll_home(pe, c, place);
}

/* Whether the result goes to one element that lives on this PE. */
bool result_comes_here(struct pe *pe, struct collection *c, const CkCallback *cb)
{
	return is_own_element(c, cb) &&
	       home_of_element(pe, c, index_place(c, cb->index)) == pe->id;
}

/* ---- to this PE's elements ------------------------------------------------------------------- */

/* The place of a message to all elements, which no element has. */
static const uint64_t ALL = UINT64_MAX;

static void call_elements(struct pe *pe, struct collection *c, struct ck_env *env)
{
	if (env->place == ALL)
		deliver_all(pe, c, env);
	else
		deliver_one(pe, c, env);
}

void result_due(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	struct collection *c = coll_get(pe, env->coll);

	reductions_of(c)->n_due--;
	call_elements(pe, c, env);
}

static void queue_up(struct pe *pe, struct collection *c, struct ck_env *env)
{
	const CkGenEntry *e = &c->type->entries[env->entry];

	env->head.handler = ck_handler(pe, PART_REDUCE, H_DUE);
	env->head.flags = 0;
	if ((e->flags & CKGEN_EXPEDITED) && !reductions_of(c)->n_due)
		env->head.flags = CMI_F_EXPEDITED;
	reductions_of(c)->n_due++;
	csd_send(pe, pe->id, &env->head);
}

/* The first reduction whose result elements of this PE wait for. */
static struct reduction *first_awaited(struct collection *c)
{
	struct reduction *r = reductions_of(c)->open;

	while (r && !r->awaited)
		r = r->next;
	return r;
}

/* r is complete, and r->acc is a message for elements: deliver all results whose turn has come. */
static void hand_out(struct pe *pe, struct collection *c, struct reduction *r, bool in_handler)
{
	r->done = true;
	while ((r = first_awaited(c)) && r->done) {
		struct ck_env *env = r->acc;

		r->acc = NULL;
		reduction_over(pe, c, r);
		if (in_handler || reductions_of(c)->n_due)
			queue_up(pe, c, env);
		else
			call_elements(pe, c, env);
	}
}

/* Mostly it is of the only reduction that is open, and what the entry takes. */
static inline void hand_out_soon(struct pe *pe, struct collection *c, struct reduction *r,
				 bool in_handler)
{
	const struct reduce_coll *all = reductions_of(c);
	struct ck_env *env = r->acc;

	if (CSD_UNLIKELY(!r->fits || in_handler || all->n_due || all->open != r || r->next)) {
		hand_out(pe, c, r, in_handler);
		return;
	}
	r->acc = NULL;
	reduction_over(pe, c, r);
	deliver_result(pe, c, env);
}

/* Who asks later whether the message came from another process needs to know that it did not. */
static void address_result(struct pe *pe, struct collection *c, struct reduction *r)
{
	struct ck_env *env = r->acc;

	env->head.src_pe = pe->id;
	env->coll = c->id;
	env->call = r->cb.entry;
	env->flags = CK_CALL_REDUCED;
	callback_stamp(&r->cb, env);
	env->place = callback_is_all(&r->cb, c->id) ? ALL : index_place(c, r->cb.index);
}

void result_known(struct pe *pe, struct collection *c, struct reduction *r, bool in_handler)
{
	if (CSD_UNLIKELY(!r->awaited)) {
		reduction_close(pe, &reductions_of(c)->open, r);
		return;
	}
	address_result(pe, c, r);
	hand_out_soon(pe, c, r, in_handler);
}

/* ---- from PE 0 to the target ----------------------------------------------------------------- */

/* To elements of the reduction's own collection. The message carries the number of the
 * reduction. */
static void send_own(struct pe *pe, struct collection *c, struct reduction *r, bool in_handler)
{
	struct ck_env *env = r->acc;

	address_result(pe, c, r);
	env->root = pe->id;
	env->head.handler = ck_handler(pe, PART_REDUCE, H_RESULT);
	((CkReductionMsg *)payload_of(env))->no = r->no;
	if (env->place == ALL)
		bcast_forward(pe, env);
	if (r->awaited) {
		hand_out_soon(pe, c, r, in_handler);
		return;
	}
	if (env->place != ALL) {
		r->acc = NULL;
		csd_send(pe, home_of_element(pe, c, env->place), &env->head);
	}
	reduction_over(pe, c, r);
}

/* PE 0 has the result. */
void result_send(struct pe *pe, struct collection *c, struct reduction *r, bool in_handler)
{
	if (!c->sparse && (callback_is_all(&r->cb, c->id) || is_own_element(c, &r->cb))) {
		send_own(pe, c, r, in_handler);
		return;
	}
	struct ck_env *env = r->acc;
	CkCallback cb = r->cb;

	r->acc = NULL;
	reduction_over(pe, c, r);
	callback_send(pe, &cb, env);
}

void result_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	const CkReductionMsg *head = payload_of(env);
	struct collection *c = coll_get(pe, env->coll);

	if (env->place == ALL)
		bcast_forward(pe, env);
	if (!coll_there(pe, c)) {
		call_wait(pe, c, m);
		return;
	}
	struct reduction *r = reduction_find(c, head->no);

	/* No element of this PE took part; any that it has now came later. */
	if (!r && env->place == ALL && (c->dynamic || !c->n_local)) {
		csd_msg_free(pe, m);
		return;
	}
	if (!r || !r->awaited || r->acc)
		csd_abort(pe, "message from PE %d belongs to no reduction here", m->src_pe);
	r->acc = env;
	hand_out(pe, c, r, false);
}

/* ---- early checks ---------------------------------------------------------------------------- */

_Noreturn static void wrong_reduction(struct pe *pe, const struct contributed *in,
				      const CkGenChare *from)
{
	const struct reducer *how = in->how;
	const CkGenEntry *e = &callback_target(pe, in->cb)->entries[in->cb->entry];
	char name[128], takes[64];

	describe_entry(callback_target(pe, in->cb), in->cb->entry, name, sizeof name);
	if (e->want_array)
		snprintf(takes, sizeof takes, "an array of %s", data_type_name(e->want));
	else
		snprintf(takes, sizeof takes, "%u of %s", e->want_count, data_type_name(e->want));
	if (how->merge || how->type == CK_NOTYPE)
		csd_abort(pe, "elements of %s contribute to %s, which gives %s, for %s, which takes "
			  "%s", from->name, how->name, data_type_name(how->type), name, takes);
	csd_abort(pe, "elements of %s contribute %llu of %s (%s) to %s, which takes %s", from->name,
		  (unsigned long long)in->count, data_type_name(how->type), how->name, name, takes);
}

void result_check_wanted(struct pe *pe, const struct contributed *in, const CkGenChare *from)
{
	const CkCallback *cb = in->cb;

	const struct ck_callback_kind *k = callback_kind_behind(pe, cb);

	if (k && k->names == CK_NAMES_PE)
		return; /* no entry method: check_wanted checks when it is fired */
	const CkGenEntry *e = &callback_target(pe, cb)->entries[cb->entry];

	if (in->how->type != e->want || (!e->want_array && in->count != e->want_count))
		wrong_reduction(pe, in, from);
}
