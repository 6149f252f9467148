/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_change.c: reductions over elements that come and go. On each PE, reduction k has what it
 * waits for when all elements that live there and whose first reduction is at most k have
 * contributed. A new element begins with the reduction that its PE waits for next; a destroyed one
 * is no longer waited for, and what it contributed counts.
 *
 * A PE without elements takes part all the same, but nobody there contributes, so it has to be told.
 * In a sparse array all PEs are in the tree; a PE whose child has not said that it has elements
 * sends it a word about every reduction that it hears of itself. In an array with extents only PEs
 * to which the map gives elements take part; those that have lost all of theirs say so.
 *
 * Where the order shows in the result's bits, contributions are kept and combined in index order when
 * all are there.
 */
#include "dynamic_int.h"
#include "reduce_int.h"

#include <stdlib.h>
#include <string.h>

enum child_state { CHILD_UNKNOWN, CHILD_FULL, CHILD_EMPTY };

/* ---- which ones are over here -------------------------------------------------------------------- */

static bool is_done(const struct collection *c, uint32_t no)
{
	const struct dynamic *dyn = c->dyn;

	if ((int32_t)(dyn->n_done - no) > 0)
		return true;
	for (size_t i = 0; i < dyn->n_ahead; i++)
		if (dyn->ahead[i] == no)
			return true;
	return false;
}

static bool take_ahead(struct dynamic *dyn, uint32_t no)
{
	for (size_t i = 0; i < dyn->n_ahead; i++) {
		if (dyn->ahead[i] != no)
			continue;
		dyn->ahead[i] = dyn->ahead[--dyn->n_ahead];
		return true;
	}
	return false;
}

/* A PE without elements may hear of a later one first. */
static void note_done(struct pe *pe, struct collection *c, uint32_t no)
{
	struct dynamic *dyn = c->dyn;

	if (no != dyn->n_done) {
		if (dyn->n_ahead == dyn->cap_ahead) {
			size_t cap = dyn->cap_ahead ? dyn->cap_ahead * 2 : 16;
			uint32_t *ahead = realloc(dyn->ahead, cap * sizeof(*ahead));

			if (!ahead)
				csd_abort(pe, "no memory for a reduction");
			dyn->ahead = ahead;
			dyn->cap_ahead = cap;
		}
		dyn->ahead[dyn->n_ahead++] = no;
		return;
	}
	do
		dyn->n_done++;
	while (dyn->n_ahead && take_ahead(dyn, dyn->n_done));
}

/* ---- contributions that wait for their order --------------------------------------------------------- */

struct kept_one {
	CkIndex index;
	int32_t nd;               /* for the comparison; 0: a type of the user's */
	void *values;
};

static int compare(const void *a_, const void *b_)
{
	const struct kept_one *a = a_, *b = b_;

	for (int d = 0; d < a->nd; d++) {
		int x = a->nd > 3 ? CkIndexShort(a->index, d) : a->index.v[d];
		int y = a->nd > 3 ? CkIndexShort(b->index, d) : b->index.v[d];

		if (x != y)
			return x < y ? -1 : 1;
	}
	return memcmp(&a->index, &b->index, sizeof a->index);
}

void reduction_keep(struct pe *pe, const struct collection *c, struct reduction *r, CkIndex index,
		    const void *data)
{
	if (r->n_kept == r->cap_kept) {
		r->cap_kept = r->cap_kept ? r->cap_kept * 2 : 16;
		r->kept = realloc(r->kept, r->cap_kept * sizeof *r->kept);
	}
	void *values = malloc(r->bytes);

	if (!r->kept || !values)
		csd_abort(pe, "no memory for a reduction of %zu bytes", r->bytes);
	memcpy(values, data, r->bytes);
	r->kept[r->n_kept++] = (struct kept_one){ index, c->type->nd, values };
}

static void absorb_kept(struct reduction *r)
{
	if (r->n_kept)
		qsort(r->kept, r->n_kept, sizeof *r->kept, compare);
	for (size_t i = 0; i < r->n_kept; i++)
		reduction_absorb(r, r->kept[i].values, false);
	reduction_drop_kept(r);
}

void reduction_drop_kept(struct reduction *r)
{
	for (size_t i = 0; i < r->n_kept; i++)
		free(r->kept[i].values);
	free(r->kept);
	r->kept = NULL;
	r->n_kept = r->cap_kept = 0;
}

/* ---- telling ------------------------------------------------------------------------------------------ */

static uint8_t *children(struct pe *pe, struct collection *c)
{
	struct dynamic *dyn = dynamic_get(pe, c);

	if (!dyn->child)
		dyn->child = calloc((size_t)csd_tree_n_children(pe, 0) + 1, 1);
	if (!dyn->child)
		csd_abort(pe, "no memory for a reduction");
	return dyn->child;
}

static void send_start(struct pe *pe, const struct collection *c, const struct reduction *r, int to)
{
	struct ck_env *env = callback_msg(pe, r->how->type, r->count, 0);

	wire_set(env, c, r);
	env->head.handler = (uint16_t)pe->node->ck->h_start;
	*callback_at(env) = r->cb;
	csd_send(pe, to, &env->head);
}

/* This PE has heard of a reduction. */
static void tell(struct pe *pe, struct collection *c, const struct reduction *r)
{
	const uint8_t *child = children(pe, c);

	if (r->exchanged) {
		if (c->dyn->odd_empty)
			send_start(pe, c, r, pe->id + 1);
		return;
	}
	for (int i = 0; i < csd_tree_n_children(pe, 0); i++)
		if (c->sparse ? child[i] != CHILD_FULL : child[i] == CHILD_EMPTY)
			send_start(pe, c, r, csd_tree_child(pe, 0, i));
}

void start_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	const CkReductionMsg *head = payload_of(env);
	struct collection *c = coll_get(pe, env->coll);

	if (!c->constructed) {
		coll_wait(c, m);
		return;
	}
	dynamic_get(pe, c);
	if (!reducer_find(pe->node->ck, wire_op(env)))
		csd_abort(pe, "message from PE %d belongs to no reduction here", m->src_pe);
	if (!is_done(c, wire_no(env))) {
		struct reduction *r = reduction_join(pe, c, wire_no(env),
						     (CkReduction)wire_op(env), head->count,
						     callback_at(env), m->src_pe, NULL);

		if (r->local_done)
			reduction_go(pe, c, r, false);
	}
	csd_msg_free(pe, m);
}

/* ---- who has to be told --------------------------------------------------------------------------------- */

static void say(struct pe *pe, const struct collection *c, enum where_kind kind)
{
	struct where_msg w = { .coll = c->id, .kind = kind };
	int parent = pe->id ? csd_tree_parent(pe, 0) : -1;
	bool odd = !c->sparse && pe->ck->place.odd;

	if (parent >= 0)
		where_send(pe, parent, w);
	if (odd && parent != pe->id - 1)
		where_send(pe, pe->id - 1, w);
}

void reductions_full(struct pe *pe, struct collection *c)
{
	c->dyn->said_empty = false;
	say(pe, c, WHERE_FULL);
}

static void now_empty(struct pe *pe, struct collection *c)
{
	c->dyn->said_empty = true;
	say(pe, c, WHERE_EMPTY);
}

void reductions_where(struct pe *pe, struct collection *c, const struct where_msg *w)
{
	bool empty = w->kind == WHERE_EMPTY, below = false;
	int from = w->head.src_pe;
	uint8_t *child = children(pe, c);

	for (int i = 0; i < csd_tree_n_children(pe, 0); i++) {
		if (csd_tree_child(pe, 0, i) != from)
			continue;
		below = true;
		child[i] = empty ? CHILD_EMPTY : CHILD_FULL;
	}
	if (from == pe->id + 1 && pe->ck->place.paired && !pe->ck->place.odd)
		c->dyn->odd_empty = empty;
	if (!empty)
		return;
	for (const struct reduction *r = c->reductions; r; r = r->next)
		tell(pe, c, r);
	/* Without elements we hear of reductions from below only, and from there it has ended. */
	if (below && !c->sparse && !c->n_local && !c->dyn->said_empty)
		now_empty(pe, c);
}

/* ---- elements come and go ------------------------------------------------------------------------------- */

/* From now on nothing is as the map says. What came before its turn is kept. */
void reductions_dynamic(struct pe *pe, struct collection *c)
{
	c->dyn->n_done = c->next_no;
	for (struct reduction *r = c->reductions; r; r = r->next)
		reduction_unorder(pe, c, r);
}

/* What it has to wait for, when it is opened. */
void reduction_opened(struct pe *pe, struct collection *c, struct reduction *r)
{
	r->n_missing = 0;
	for (uint64_t i = 0; i < c->n_slots; i++)
		if (c->elems[i] && (int32_t)(c->elems[i]->n_contributed - r->no) <= 0)
			r->n_missing++;
	tell(pe, c, r);
}

/* All contributions of this PE are in. */
void reduction_settled(struct pe *pe, struct collection *c, struct reduction *r)
{
	absorb_kept(r);
	note_done(pe, c, r->no);
}

/* One more element here, which begins with number c->next_no. */
void reductions_added(struct pe *pe, struct collection *c)
{
	for (struct reduction *r = c->reductions; r; r = r->next)
		if ((int32_t)(r->no - c->next_no) >= 0)
			r->n_missing++;
	if (c->n_local == 1)
		reductions_full(pe, c);
}

static struct reduction *next_complete(struct collection *c)
{
	struct reduction *r = c->reductions;

	while (r && (r->n_missing || r->local_done))
		r = r->next;
	return r;
}

/* One less. It may have been the last that some reductions waited for; going on with one of them
 * may close others. */
void reductions_removed(struct pe *pe, struct collection *c, uint32_t n_contributed)
{
	struct reduction *r;

	for (r = c->reductions; r; r = r->next)
		if ((int32_t)(r->no - n_contributed) >= 0)
			r->n_missing--;
	while ((r = next_complete(c)))
		reduction_local(pe, c, r, pe->ck->now.obj != NULL);
	if (!c->n_local)
		now_empty(pe, c);
}
