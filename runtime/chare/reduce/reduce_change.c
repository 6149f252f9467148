/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_change.c: reductions over elements that come and go. On each PE, reduction k waits for all
 * elements that live there and whose first reduction is at most k. A new element begins with the
 * first reduction that its PE has not completed. Nothing waits for a destroyed element any more,
 * but what it contributed counts.
 */
#include "reduce_int.h"

#include <stdlib.h>
#include <string.h>

/* ---- notices of reductions ------------------------------------------------------------------- */

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
	const struct reducer *how = reducer_find(ck_node_of(pe->node), env->part.op);

	if (!how)
		csd_abort(pe, "message from PE %d belongs to no reduction here", m->src_pe);
	if (!reduction_is_done(c, env->part.no)) {
		const struct contributed in = { NULL, head->count, (CkReduction)env->part.op, m->src_pe, how,
						callback_at(env), NULL, 0, 0 };
		struct reduction *r = reduction_join(pe, c, env->part.no, &in);

		if (r->local_done)
			reduction_go(pe, c, r, false);
	}
	csd_msg_free(pe, m);
}

/* ---- who must be told ------------------------------------------------------------------------ */

/** The sender has elements again, or none left. */
struct empty_msg {
	struct cmi_msg head;
	uint64_t coll;
	uint8_t empty;
};

static void say_to(struct pe *pe, int dst_pe, const struct collection *c, bool empty)
{
	struct empty_msg *m = ck_msg_new(pe, PART_REDUCE, H_EMPTY, 0, sizeof *m);

	m->coll = c->id;
	m->empty = empty;
	csd_send(pe, dst_pe, &m->head);
}

static void say(struct pe *pe, const struct collection *c, bool empty)
{
	int parent = pe->id ? csd_tree_parent(pe, 0) : -1;
	int into = c->sparse ? -1 : reduce_of(pe)->place.into;

	reductions_of(c)->said_empty = empty;
	if (parent >= 0)
		say_to(pe, parent, c, empty);
	if (into >= 0 && into != parent)
		say_to(pe, into, c, empty);
}

/* A PE has elements, or none, from the moment when it knows the collection. Its parent may get the
 * creation later, because that comes down the creator's tree. */
void empty_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct collection *c = coll_get(pe, ((const struct empty_msg *)m)->coll);

	if (!coll_there(pe, c)) {
		call_wait(pe, c, m);
		return;
	}
	bool empty = ((const struct empty_msg *)m)->empty, below = false;
	int from = m->src_pe;
	uint8_t *child = reduce_children(pe, c);

	csd_msg_free(pe, m);

	for (int i = 0; i < csd_tree_n_children(pe, 0); i++) {
		if (csd_tree_child(pe, 0, i) != from)
			continue;
		below = true;
		child[i] = empty ? CHILD_EMPTY : CHILD_FULL;
	}
	if (!c->sparse)
		exchange_note_fold(pe, c, from, empty);
	if (!empty)
		return;
	for (const struct reduction *r = reductions_of(c)->open; r; r = r->next)
		reduction_tell_below(pe, c, r);
	/* Without elements we learn of reductions only from children, and now not even from them. */
	if (below && !c->sparse && !c->n_local && !reductions_of(c)->said_empty)
		say(pe, c, true);
}

/* ---- elements come and go -------------------------------------------------------------------- */

/* Elements are no longer where the map says. Early contributions are kept. */
void reductions_dynamic(struct pe *pe, struct collection *c)
{
	reductions_of(c)->n_done = reductions_of(c)->next_no;
	c->latest = NULL;
	reduction_drop_kept(pe, c);
	for (struct reduction *r = reductions_of(c)->open; r; r = r->next)
		reduction_unorder(pe, c, r);
}

/* A sparse array that begins with elements here tells the parent. */
void reductions_constructed(struct pe *pe, struct collection *c)
{
	if (c->sparse && c->n_local)
		say(pe, c, false);
}

/* A new element here; its first reduction is next_no. */
void reductions_created(struct pe *pe, struct ck_obj *obj)
{
	struct collection *c = obj->coll;

	/* Elements that a collection begins with, and objects of no collection: there were no reductions
	 * yet. */
	if (!c->dynamic || !c->constructed)
		return;
	obj->n_contributed = reductions_of(c)->next_no;
	for (struct reduction *r = reductions_of(c)->open; r; r = r->next)
		if ((int32_t)(r->no - reductions_of(c)->next_no) >= 0)
			r->n_missing++;
	if (c->n_local == 1)
		say(pe, c, false);
}

static struct reduction *next_complete(struct collection *c)
{
	struct reduction *r = reductions_of(c)->open;

	while (r && (r->n_missing || r->local_done))
		r = r->next;
	return r;
}

/* An element is gone. Some reductions may have waited only for it. Completing one of them may close
 * others, so the search starts anew each time. */
void reductions_destroyed(struct pe *pe, struct ck_obj *obj)
{
	struct collection *c = obj->coll;
	struct reduction *r;

	if (!c->dynamic || obj_is_guest(obj)) /* its seat is told of its end */
		return;

	for (r = reductions_of(c)->open; r; r = r->next)
		if ((int32_t)(r->no - obj->n_contributed) >= 0)
			r->n_missing--;
	while ((r = next_complete(c)))
		reduction_local(pe, c, r, ck_of(pe)->now.obj != NULL);
	if (!c->n_local)
		say(pe, c, true);
}

/* ---- seats move in bulk ---------------------------------------------------------------------- */

void reductions_still(struct pe *pe, struct collection *c, struct place_still *still)
{
	(void)pe;
	still->fixed |= reductions_of(c)->open || reductions_of(c)->n_due;
}

/* All elements have contributed to equally many reductions, so the next one is the same on all PEs,
 * including those that had no elements and were told of none. The PEs with elements have
 * changed. */
void reductions_reseated(struct pe *pe, struct collection *c, const struct place_still *still)
{
	struct reduce_coll *all = reductions_of(c);

	reduction_drop_kept(pe, c);
	all->counted = all->said_empty = false;
	free(all->folds);
	all->folds = NULL;
	if (all->child)
		memset(all->child, CHILD_UNKNOWN, (size_t)csd_tree_n_children(pe, 0) + 1);
	if (!still->any)
		return;
	all->next_no = all->n_passed = all->n_done = still->lo;
	all->n_ahead = 0;
}

/* All PEs keep notices from now on. */
void reductions_reopened(struct pe *pe, struct collection *c)
{
	if (c->sparse && c->n_local)
		say(pe, c, false);
	else if (!c->sparse && c->dynamic && c->n_slots && !c->n_local)
		say(pe, c, true);
}
