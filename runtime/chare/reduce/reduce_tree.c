/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_tree.c: partial results go up a tree. Each PE combines its own with those of its children
 * and sends the result to its parent. The accumulator itself is the message, and at the root it
 * becomes the message of the callback. The same functions serve the trees of sections
 * (section/section_reduce.c).
 *
 * A collection's reductions go up PE 0's tree if their result goes to one place, or has many
 * values. Children without elements below them send nothing. Every PE knows the map, so it knows
 * which children these are.
 */
#include "reduce_int.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>

/* ---- any tree ------------------------------------------------------------------------------- */

static bool complete(const struct reduce_tree *t, const struct reduction *r)
{
	return r->local_done && r->n_children_in == t->n_children;
}

struct reduction *tree_next(const struct reduce_tree *t, struct reduction *open, uint32_t *n_passed)
{
	if (!open || open->no != *n_passed || !complete(t, open))
		return NULL;
	++*n_passed;
	return open;
}

struct ck_env *tree_part(struct pe *pe, const struct reduce_tree *t, struct reduction *r,
			 const CkGenChare *type, uint64_t id)
{
	if (r->how->merge || r->n_pieces)
		reduction_absorb_pieces(pe, r);
	struct ck_env *env = r->acc;

	r->acc = NULL;
	if (t->parent < 0)
		return r->how->finish ? r->how->finish(pe, type, env) : env;
	wire_set(env, id, r);
	env->flags = r->any || !(r->bytes || r->how->merge) ? 0 : CK_PART_EMPTY;
	*callback_at(env) = r->cb;
	return env;
}

struct contributed tree_part_read(struct pe *pe, const struct reduce_tree *t, struct ck_env *env,
				  int *child_p)
{
	const struct reducer *how = reducer_find(ck_node_of(pe->node), env->part.op);
	int i = t->n_children;

	while (i-- && t->children[i] != env->head.src_pe)
		;
	if (!how || i < 0)
		csd_abort(pe, "message from PE %d belongs to no reduction here", env->head.src_pe);
	*child_p = i;
	return (struct contributed){ NULL, how->merge ? 0 : ((CkReductionMsg *)payload_of(env))->count,
				     (CkReduction)env->part.op, env->head.src_pe, how, callback_at(env), NULL, 0, 0 };
}

/* ---- a collection's tree --------------------------------------------------------------------- */

/* The child of this PE that leads to `other`, or -1. */
static int child_towards(struct pe *pe, int other)
{
	int parent;

	while (other >= 0 && (parent = csd_tree_parent_of(pe, other, 0)) != pe->id)
		other = parent;
	return other;
}

static void find_children(struct pe *pe, struct collection *c, struct reduce_tree *t)
{
	const int n_pes = pe->node->job->n_pes, n = csd_tree_n_children(pe, 0);
	bool *has = c->sparse ? NULL : who_has(pe, c);

	t->parent = csd_tree_parent(pe, 0);
	t->n_children = 0;
	t->children = cmi_realloc(t->children, (size_t)n + 1, sizeof *t->children, "a reduction");
	/* A child represents all PEs below it. */
	for (int p = 0, child; has && p < n_pes; p++)
		if (has[p] && (child = child_towards(pe, p)) >= 0)
			has[child] = true;
	for (int i = 0; i < n; i++)
		if (!has || has[csd_tree_child(pe, 0, i)])
			t->children[t->n_children++] = csd_tree_child(pe, 0, i);
	free(has);
}

static const struct reduce_tree *tree_of(struct pe *pe, struct collection *c)
{
	struct reduce_coll *all = reductions_of(c);

	if (CSD_UNLIKELY(!all->counted))
		find_children(pe, c, &all->tree);
	all->counted = true;
	return &all->tree;
}

static void pass_up(struct pe *pe, struct collection *c, struct reduction *r, bool in_handler)
{
	const struct reduce_tree *t = tree_of(pe, c);
	struct ck_env *env = tree_part(pe, t, r, c->type, c->id);

	if (t->parent < 0) {
		r->acc = env;
		result_send(pe, c, r, in_handler);
		return;
	}
	env->head.handler = ck_handler(pe, PART_REDUCE, H_REDUCE);
	csd_send(pe, t->parent, &env->head);
	if (!r->awaited)
		reduction_over(pe, c, r);
}

/* Our elements or a child have contributed. In a sparse array partial results are sent in the order
 * of the reductions, so that results come in order. Each PE learns of them in that order, too: from
 * its elements, which contribute in turn; from its children's messages, sent in turn; or from its
 * parent, which tells of them in turn (reduce_open.c). */
void tree_advance(struct pe *pe, struct collection *c, struct reduction *r, bool in_handler)
{
	const struct reduce_tree *t = tree_of(pe, c);

	if (CSD_LIKELY(!c->sparse)) {
		if (complete(t, r))
			pass_up(pe, c, r, in_handler);
		return;
	}
	while ((r = tree_next(t, reductions_of(c)->open, &reductions_of(c)->n_passed)))
		pass_up(pe, c, r, in_handler);
}

void reduce_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	struct collection *c = coll_get(pe, env->coll);
	int child;

	if (!coll_there(pe, c)) {
		call_wait(pe, c, m);
		return;
	}
	const struct contributed in = tree_part_read(pe, tree_of(pe, c), env, &child);
	struct reduction *r = reduction_join(pe, c, env->part.no, &in);

	reduction_take_child(pe, r, env, child);
	tree_advance(pe, c, r, false);
}
