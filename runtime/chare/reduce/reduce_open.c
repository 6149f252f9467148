/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_open.c: opens the reductions of a collection: their route, what they wait for, and the PEs
 * that must be told of them.
 *
 * A PE without elements takes part, too, but no contribution tells it of a reduction; another PE
 * has to. In a sparse array all PEs are in the tree. A child reports when it has elements
 * (reduce_change.c); to any other child a PE forwards every reduction that it learns of. In an
 * array with extents only PEs to which the map gives elements take part; a PE that has lost all of
 * its elements reports that.
 */
#include "reduce_int.h"
#include "../../machine/base/cmi_alloc.h"

/* ---- reductions that are over here ----------------------------------------------------------- */

bool reduction_is_done(const struct collection *c, uint32_t no)
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

/* Note that this PE's share of reduction `no` is complete. A PE without elements may learn of a
 * later reduction first. */
static void note_done(struct collection *c, uint32_t no)
{
	struct reduce_coll *all = reductions_of(c);

	if (no != all->n_done) {
		CMI_ONE_MORE(all->ahead, all->n_ahead, all->cap_ahead, "a reduction");
		all->ahead[all->n_ahead++] = no;
		return;
	}
	do
		all->n_done++;
	while (all->n_ahead && take_ahead(all, all->n_done));
}

/* ---- who must be told ---------------------------------------------------------------------- */

uint8_t *reduce_children(struct pe *pe, struct collection *c)
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

	wire_set(env, c->id, r);
	env->head.handler = ck_handler(pe, PART_REDUCE, H_START);
	*callback_at(env) = r->cb;
	csd_send(pe, to, &env->head);
}

static void tell_folds(struct pe *pe, struct collection *c, const struct reduction *r)
{
	const int n = reduce_of(pe)->place.n_folds;
	const uint8_t *fold = n ? exchange_folds(pe, c) : NULL;

	for (int i = 0; i < n; i++)
		if (fold[i] == FOLD_EMPTY)
			send_start(pe, c, r, pe->id + 1 + i);
}

void reduction_tell_below(struct pe *pe, struct collection *c, const struct reduction *r)
{
	const uint8_t *child = reduce_children(pe, c);

	if (r->exchanged) {
		tell_folds(pe, c, r);
		return;
	}
	for (int i = 0; i < csd_tree_n_children(pe, 0); i++)
		if (c->sparse ? child[i] != CHILD_FULL : child[i] == CHILD_EMPTY)
			send_start(pe, c, r, csd_tree_child(pe, 0, i));
}

/* ---- opening ------------------------------------------------------------------------------- */

void reduction_settle(struct pe *pe, struct collection *c, struct reduction *r)
{
	r->local_done = true;
	if ((int32_t)(r->no - reductions_of(c)->next_no) >= 0)
		reductions_of(c)->next_no = r->no + 1;
	if (CSD_LIKELY(!c->dynamic))
		return;
	if (r->exchanged) /* on the tree they are combined with the children's */
		reduction_absorb_pieces(pe, r);
	note_done(c, r->no);
}

/* With elements that come and go: count the awaited contributions, and tell children of the
 * reduction. */
static void open_dynamic(struct pe *pe, struct collection *c, struct reduction *r)
{
	r->n_missing = 0;
	for (uint64_t i = 0; i < c->n_slots; i++)
		if (c->elems[i] && (int32_t)(c->elems[i]->n_contributed - r->no) <= 0)
			r->n_missing++;
	reduction_tell_below(pe, c, r);
}

struct reduction *reduction_open_or_disagree(struct pe *pe, struct collection *c, uint32_t no,
					     const struct contributed *in)
{
	struct reduction *r = reduction_find(c, no);

	if (r)
		reduction_disagree(pe, r, in, c->type, "elements of");
	r = reduction_open(pe, &reductions_of(c)->open, no, in);

	result_check(pe, in, c->type);
	r->exchanged = exchange_fits(c, r);
	r->awaited = callback_is_all(in->cb, c->id) ? c->n_local > 0 && !c->sparse
						    : result_comes_here(pe, c, in->cb);
	r->n_missing = c->n_local;
	/* An exchange without values needs the accumulator only after it has sent its message. */
	if (r->bytes || !(r->exchanged || r->how->merge))
		reduction_make_acc(pe, r);
	if (CSD_UNLIKELY(c->dynamic))
		open_dynamic(pe, c, r);
	if (!r->n_missing)
		reduction_settle(pe, c, r);
	return r;
}

