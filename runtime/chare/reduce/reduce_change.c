/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_change.c: reductions over elements that come and go. On each PE, reduction k waits for all
 * elements that live there and whose first reduction is at most k. A new element begins with the
 * first reduction that its PE has not completed. Nothing waits for a destroyed element any more,
 * but what it contributed counts.
 *
 * A PE without elements takes part all the same, but no contribution tells it of a reduction;
 * another PE has to. In a sparse array all PEs are in the tree. A child says when it has elements;
 * to any other child a PE forwards every reduction that it hears of. In an array with extents only
 * PEs to which the map gives elements take part; a PE that has lost all of its elements says so.
 *
 * If the order shows in the result's bits, contributions are kept, and combined in index order when
 * all are there.
 */
#include "reduce_int.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

enum child_state { CHILD_UNKNOWN, CHILD_FULL, CHILD_EMPTY };

/* ---- which ones are over here -------------------------------------------------------------------- */

static bool is_done(const struct collection *c, uint32_t no)
{
	const struct reduce_coll *all = reductions_of(c);

	if ((int32_t)(all->n_done - no) > 0)
		return true;
	for (size_t i = 0; i < all->n_ahead; i++)
		if (all->ahead[i] == no)
			return true;
	return false;
}

static bool take_ahead(struct reduce_coll *all, uint32_t no)
{
	for (size_t i = 0; i < all->n_ahead; i++) {
		if (all->ahead[i] != no)
			continue;
		all->ahead[i] = all->ahead[--all->n_ahead];
		return true;
	}
	return false;
}

/* Note that this PE's part in reduction `no` is complete. A PE without elements may hear of a
 * later reduction first. */
static void note_done(struct collection *c, uint32_t no)
{
	struct reduce_coll *all = reductions_of(c);

	if (no != all->n_done) {
		if (all->n_ahead == all->cap_ahead) {
			size_t cap = all->cap_ahead ? all->cap_ahead * 2 : 16;
			uint32_t *ahead = cmi_realloc(all->ahead, cap, sizeof(*ahead), "a reduction");

			all->ahead = ahead;
			all->cap_ahead = cap;
		}
		all->ahead[all->n_ahead++] = no;
		return;
	}
	do
		all->n_done++;
	while (all->n_ahead && take_ahead(all, all->n_done));
}

/* ---- contributions that wait for their order --------------------------------------------------------- */

struct kept_one {
	CkIndex index;
	int32_t nd;               /* for the comparison; 0: the program's own index type */
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

void reduction_keep(const struct collection *c, struct reduction *r, CkIndex index,
		    const void *data)
{
	if (r->n_kept == r->cap_kept) {
		r->cap_kept = r->cap_kept ? r->cap_kept * 2 : 16;
		r->kept = cmi_realloc(r->kept, r->cap_kept, sizeof *r->kept, "a reduction");
	}
	void *values = cmi_alloc(r->bytes, "a reduction");

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
	struct reduce_coll *all = reductions_of(c);

	coll_become_dynamic(pe, c);
	if (!all->child)
		all->child = cmi_alloc_zero((size_t)csd_tree_n_children(pe, 0) + 1, 1, "a reduction");
	return all->child;
}

static void send_start(struct pe *pe, const struct collection *c, const struct reduction *r, int to)
{
	struct ck_env *env = callback_msg(pe, r->how->type, r->count, 0);

	wire_set(env, c, r);
	env->head.handler = ck_handler(pe, PART_REDUCE, H_START);
	*callback_at(env) = r->cb;
	csd_send(pe, to, &env->head);
}

/* This PE has heard of a reduction: tell those who would not hear of it otherwise. */
static void tell_below(struct pe *pe, struct collection *c, const struct reduction *r)
{
	const uint8_t *child = children(pe, c);

	if (r->exchanged) {
		if (reductions_of(c)->odd_empty)
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

	if (!coll_there(pe, c)) {
		call_wait(pe, c, m);
		return;
	}
	coll_become_dynamic(pe, c);
	if (!reducer_find(ck_node_of(pe->node), env->part.op))
		csd_abort(pe, "message from PE %d belongs to no reduction here", m->src_pe);
	if (!is_done(c, env->part.no)) {
		struct reduction *r = reduction_join(pe, c, env->part.no,
						     (CkReduction)env->part.op, head->count,
						     callback_at(env), m->src_pe, NULL);

		if (r->local_done)
			reduction_go(pe, c, r, false);
	}
	csd_msg_free(pe, m);
}

/* ---- who has to be told --------------------------------------------------------------------------------- */

/** The sender has elements again, or none left. */
struct empty_msg {
	struct cmi_msg head;
	uint64_t coll;
	uint8_t empty;
};

static void say_to(struct pe *pe, int dst_pe, const struct collection *c, bool empty)
{
	struct empty_msg *m = (struct empty_msg *)csd_msg_alloc(pe, sizeof *m);

	m->head.handler = ck_handler(pe, PART_REDUCE, H_EMPTY);
	m->coll = c->id;
	m->empty = empty;
	csd_send(pe, dst_pe, &m->head);
}

static void say(struct pe *pe, const struct collection *c, bool empty)
{
	int parent = pe->id ? csd_tree_parent(pe, 0) : -1;
	bool odd = !c->sparse && reduce_of(pe)->place.odd;

	if (parent >= 0)
		say_to(pe, parent, c, empty);
	if (odd && parent != pe->id - 1)
		say_to(pe, pe->id - 1, c, empty);
}

static void now_full(struct pe *pe, struct collection *c)
{
	reductions_of(c)->said_empty = false;
	say(pe, c, false);
}

static void now_empty(struct pe *pe, struct collection *c)
{
	reductions_of(c)->said_empty = true;
	say(pe, c, true);
}

void empty_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct collection *c = coll_get(pe, ((const struct empty_msg *)m)->coll);
	bool empty = ((const struct empty_msg *)m)->empty, below = false;
	int from = m->src_pe;
	uint8_t *child = children(pe, c);

	csd_msg_free(pe, m);

	for (int i = 0; i < csd_tree_n_children(pe, 0); i++) {
		if (csd_tree_child(pe, 0, i) != from)
			continue;
		below = true;
		child[i] = empty ? CHILD_EMPTY : CHILD_FULL;
	}
	if (from == pe->id + 1 && reduce_of(pe)->place.paired && !reduce_of(pe)->place.odd)
		reductions_of(c)->odd_empty = empty;
	if (!empty)
		return;
	for (const struct reduction *r = reductions_of(c)->open; r; r = r->next)
		tell_below(pe, c, r);
	/* Without elements we hear of reductions only from below, and now not even from there. */
	if (below && !c->sparse && !c->n_local && !reductions_of(c)->said_empty)
		now_empty(pe, c);
}

/* ---- elements come and go ------------------------------------------------------------------------------- */

/* From now on elements are not where the map says. Contributions that came before their turn are
 * kept. */
void reductions_dynamic(struct pe *pe, struct collection *c)
{
	(void)pe;
	reductions_of(c)->n_done = reductions_of(c)->next_no;
	for (struct reduction *r = reductions_of(c)->open; r; r = r->next)
		reduction_unorder(c, r);
}

/* A reduction is opened: count the contributions that it waits for. */
void reduction_opened(struct pe *pe, struct collection *c, struct reduction *r)
{
	r->n_missing = 0;
	for (uint64_t i = 0; i < c->n_slots; i++)
		if (c->elems[i] && (int32_t)(c->elems[i]->n_contributed - r->no) <= 0)
			r->n_missing++;
	tell_below(pe, c, r);
}

/* All elements of this PE have contributed. */
void reduction_settled(struct collection *c, struct reduction *r)
{
	absorb_kept(r);
	note_done(c, r->no);
}

/* A sparse array that begins with elements here tells the parent. */
void reductions_constructed(struct pe *pe, struct collection *c)
{
	if (c->sparse && c->n_local)
		now_full(pe, c);
}

/* One more element here; its first reduction is next_no. */
void reductions_created(struct pe *pe, struct ck_obj *obj)
{
	struct collection *c = obj->coll;

	/* Elements that a collection begins with, and objects of no collection: nothing has been
	 * reduced yet. */
	if (!c->dynamic || !c->constructed)
		return;
	obj->n_contributed = reductions_of(c)->next_no;
	for (struct reduction *r = reductions_of(c)->open; r; r = r->next)
		if ((int32_t)(r->no - reductions_of(c)->next_no) >= 0)
			r->n_missing++;
	if (c->n_local == 1)
		now_full(pe, c);
}

static struct reduction *next_complete(struct collection *c)
{
	struct reduction *r = reductions_of(c)->open;

	while (r && (r->n_missing || r->local_done))
		r = r->next;
	return r;
}

/* One element less. It may have been the last that some reductions waited for. Completing one of
 * them may close others, so the search starts anew each time. */
void reductions_destroyed(struct pe *pe, struct ck_obj *obj)
{
	struct collection *c = obj->coll;
	struct reduction *r;

	if (!c->dynamic || obj_is_guest(obj)) /* its seat hears of its end */
		return;

	for (r = reductions_of(c)->open; r; r = r->next)
		if ((int32_t)(r->no - obj->n_contributed) >= 0)
			r->n_missing--;
	while ((r = next_complete(c)))
		reduction_local(pe, c, r, ck_of(pe)->now.obj != NULL);
	if (!c->n_local)
		now_empty(pe, c);
}

/* ---- seats move, at rest ---------------------------------------------------------------------------------- */

void reductions_rest(struct pe *pe, struct collection *c, struct place_rest *rest)
{
	(void)pe;
	rest->fixed |= reductions_of(c)->open || reductions_of(c)->n_due;
}

/* All elements have contributed to as many reductions, so the next one is the same on all PEs, those included that
 * had no elements and heard of none. Who has elements has changed. */
void reductions_reseated(struct pe *pe, struct collection *c, const struct place_rest *rest)
{
	struct reduce_coll *all = reductions_of(c);

	all->counted = all->folded = false;
	all->odd_empty = all->said_empty = false;
	if (all->child)
		memset(all->child, CHILD_UNKNOWN, (size_t)csd_tree_n_children(pe, 0) + 1);
	if (!rest->any)
		return;
	all->next_no = all->n_passed = all->n_done = rest->lo;
	all->n_ahead = 0;
}

/* No PE forgets any more what it hears. */
void reductions_reopened(struct pe *pe, struct collection *c)
{
	if (c->sparse && c->n_local)
		now_full(pe, c);
	else if (!c->sparse && c->dynamic && c->n_slots && !c->n_local)
		now_empty(pe, c);
}
