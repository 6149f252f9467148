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

void reduction_settle_dynamic(struct pe *pe, struct collection *c, struct reduction *r)
{
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

/* Whether the result is what the entry takes, so that nothing needs to be compared or converted
 * when it comes. */
static bool result_fits(const struct collection *c, const struct reduction *r)
{
	if (!(callback_is_all(&r->cb, c->id) || callback_is_element(&r->cb, c->id)) ||
	    r->cb.entry >= c->type->n_entries)
		return false;
	const CkGenEntry *e = &c->type->entries[r->cb.entry];

	return e->reduced && (e->want == CK_NOTYPE ||
			      (e->want == r->how->type && (e->want_array || e->want_count == r->count)));
}

static void know_terms(struct pe *pe, const struct collection *c, struct reduction *r)
{
	r->exchanged = exchange_fits(c, r);
	r->plain = !r->how->merge && !ck_kind(pe, c->type)->contribute;
	r->fits = r->plain && result_fits(c, r);
	r->barrier = r->op == CkReduction_nop && callback_is_all(&r->cb, c->id);
	r->add = r->count == 1 && r->how->one ? r->how->one : r->how->combine;
}

/* An exchange without values needs the accumulator only after it has sent its message. */
static inline void wait_for_members(struct pe *pe, struct collection *c, struct reduction *r)
{
	r->n_missing = c->n_local;
	if (r->bytes || !(r->exchanged || r->how->merge))
		reduction_make_acc(pe, r);
	if (CSD_UNLIKELY(c->dynamic))
		open_dynamic(pe, c, r);
	if (CSD_UNLIKELY(!r->n_missing))
		reduction_settle(pe, c, r);
}

/* The terms are the same, and the elements: so the route is, and who gets the result. */
struct reduction *reduction_open_again(struct pe *pe, struct collection *c, uint32_t no)
{
	struct reduction *r = reductions_of(c)->kept;

	reductions_of(c)->kept = NULL;
	reductions_of(c)->open = r;
	r->next = NULL;
	reduction_begin(r, no);
	wait_for_members(pe, c, r);
	return r;
}

void reduction_drop_kept(struct pe *pe, struct collection *c)
{
	if (reductions_of(c)->kept)
		reduction_close(pe, &reductions_of(c)->kept, reductions_of(c)->kept);
}

void reduction_over(struct pe *pe, struct collection *c, struct reduction *r)
{
	struct reduce_coll *all = reductions_of(c);

	if (CSD_LIKELY(all->open == r && !r->next && r->plain && !c->dynamic && !c->sparse &&
		       !reduction_has_extras(r))) {
		all->open = NULL;
		all->kept = r;
	} else {
		reduction_close(pe, &all->open, r);
	}
}

struct reduction *reduction_open_or_disagree(struct pe *pe, struct collection *c, uint32_t no,
					     const struct contributed *in)
{
	struct reduction *r = reduction_find(c, no);

	if (r)
		reduction_disagree(pe, r, in, c->type, "elements of");
	if ((r = reductions_of(c)->kept) && reduction_agrees(r, in)) {
		r = reduction_open_again(pe, c, no);
		reduction_opened_by(r, in);
		return r;
	}
	reduction_drop_kept(pe, c);
	r = reduction_open(pe, &reductions_of(c)->open, no, in);

	result_check(pe, in, c->type);
	know_terms(pe, c, r);
	r->awaited = callback_is_all(in->cb, c->id) ? c->n_local > 0 && !c->sparse
						    : result_comes_here(pe, c, in->cb);
	wait_for_members(pe, c, r);
	return r;
}

