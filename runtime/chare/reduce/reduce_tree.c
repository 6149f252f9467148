/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_tree.c: reductions whose result goes to one place, or that have many values. Each PE
 * combines its part with those of its children in PE 0's tree and passes it to its parent. The
 * accumulator itself travels, and at PE 0 it becomes the message of the callback.
 *
 * Children without elements below them send nothing. Every PE knows the map, so it knows which
 * children these are.
 */
#include "reduce_int.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>

/* Which child of this PE leads to `other`, or -1. */
static int child_towards(struct pe *pe, int other)
{
	int parent;

	while (other >= 0 && (parent = csd_tree_parent_of(pe, other, 0)) != pe->id)
		other = parent;
	for (int i = 0; other >= 0 && i < csd_tree_n_children(pe, 0); i++)
		if (csd_tree_child(pe, 0, i) == other)
			return i;
	return -1;
}

static int count_children(struct pe *pe, struct collection *c)
{
	if (c->sparse)
		return csd_tree_n_children(pe, 0);
	int n_pes = pe->node->job->n_pes, n = 0, child;
	bool *has = cmi_alloc_zero((size_t)n_pes, sizeof *has, "a reduction");
	bool *active = cmi_alloc_zero((size_t)csd_tree_n_children(pe, 0) + 1, sizeof *active, "a reduction");

	coll_who_has(pe, c, has);
	for (int p = 0; p < n_pes; p++) {
		if (!has[p] || (child = child_towards(pe, p)) < 0 || active[child])
			continue;
		active[child] = true;
		n++;
	}
	free(active);
	free(has);
	return n;
}

static void pass_up(struct pe *pe, struct collection *c, struct reduction *r)
{
	struct ck_env *env = r->acc;

	r->acc = NULL;
	wire_set(env, c, r);
	env->flags = r->any || !(r->bytes || r->how->merge) ? 0 : CK_PART_EMPTY;
	env->head.handler = ck_handler(pe, PART_REDUCE, H_REDUCE);
	*callback_at(env) = r->cb;
	csd_send(pe, csd_tree_parent(pe, 0), &env->head);
	if (!r->awaited)
		reduction_close(pe, c, r);
}

static void at_root(struct pe *pe, struct collection *c, struct reduction *r, bool in_handler)
{
	reduction_finish(pe, r, c->type);
	result_send(pe, c, r, in_handler);
}

static bool complete(const struct collection *c, const struct reduction *r)
{
	return r->local_done && r->n_children_in == reductions_of(c)->n_children;
}

static void tree_finish(struct pe *pe, struct collection *c, struct reduction *r, bool in_handler)
{
	reduction_absorb_kept(pe, r);
	if (pe->id != 0)
		pass_up(pe, c, r);
	else
		at_root(pe, c, r, in_handler);
}

/* Our elements or a child have contributed. In a sparse array parts go up in the order of the reductions, so that
 * results come in order. Each PE hears of them in that order, too: by its elements, which contribute in turn; by parts
 * of its children, which go up in turn; or from its parent, which tells of them in turn (reduce_change.c). */
void tree_advance(struct pe *pe, struct collection *c, struct reduction *r, bool in_handler)
{
	struct reduce_coll *all = reductions_of(c);

	if (!all->counted) {
		all->n_children = count_children(pe, c);
		all->counted = true;
	}
	if (CSD_LIKELY(!c->sparse)) {
		if (complete(c, r))
			tree_finish(pe, c, r, in_handler);
		return;
	}
	while ((r = reductions_of(c)->open) && r->no == reductions_of(c)->n_passed && complete(c, r)) {
		reductions_of(c)->n_passed++;
		tree_finish(pe, c, r, in_handler);
	}
}

void reduce_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	const CkReductionMsg *head = payload_of(env);
	struct collection *c = coll_get(pe, env->coll);

	if (!coll_there(pe, c)) {
		call_wait(pe, c, m);
		return;
	}
	int child = child_towards(pe, m->src_pe);

	const struct reducer *how = reducer_find(ck_node_of(pe->node), env->part.op);

	if (!how || child < 0)
		csd_abort(pe, "message from PE %d belongs to no reduction here", m->src_pe);
	struct reduction *r = reduction_join(pe, c, env->part.no, (CkReduction)env->part.op,
					     how->merge ? 0 : head->count, callback_at(env),
					     m->src_pe, NULL);

	reduction_take_child(pe, r, env, child);
	tree_advance(pe, c, r, false);
}
