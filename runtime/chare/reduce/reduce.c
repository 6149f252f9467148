/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce.c: takes contributions. The k-th contribution of each element belongs to the k-th
 * reduction, so elements may run ahead, and several reductions of one collection may be open at a
 * time. When all elements of this PE have contributed, the partial result takes its route.
 */
#include "reduce_int.h"
#include "../core/objects/index.h"
#include "../core/shape.h"

#include <stdlib.h>

/* ---- called by elements ---------------------------------------------------------------------- */

static void check_contributor(struct pe *pe, const struct collection *c, const struct reducer *how,
			      CkReduction op)
{
	if (CSD_UNLIKELY(!how))
		csd_abort(pe, "CkContribute: there is no reduction %d", (int)op);
	if (CSD_UNLIKELY(c->type->kind == CKGEN_MAINCHARE || c->type->kind == CKGEN_CHARE))
		csd_abort(pe, "CkContribute: %s is a %s; only elements of arrays and groups "
			  "contribute", c->type->name,
			  c->type->kind == CKGEN_CHARE ? "singleton chare" : "main chare");
}

static void contribute_message(struct pe *pe, struct collection *c, struct ck_obj *obj,
			       const struct contributed *in, bool in_handler)
{
	struct contributed terms = *in;
	struct ck_env *env = reducer_begin(pe, &terms, c->id, c->id ^ (uint64_t)obj->n_contributed << 44);
	struct reduction *r = reduction_join(pe, c, obj->n_contributed, &terms);

	obj->n_contributed++; /* only now: who opens it counts the elements that still owe it */
	reduction_take_message(pe, r, -1, index_key(c->type, obj->index), env);
	if (!--r->n_missing)
		reduction_local(pe, c, r, in_handler);
}

/* c->latest is the reduction of the last contribution, if it has a value (or none at all), takes no
 * messages, other elements of this PE have yet to contribute, and none comes or goes; else NULL. */
static inline void latest_is(struct collection *c, struct reduction *r)
{
	c->latest = r->plain && !c->dynamic && r->n_missing && (r->any || !r->bytes) ? r : NULL;
}

/* obj: the element, or its stub. */
static inline __attribute__((always_inline))
void contribute(struct pe *pe, struct collection *c, struct ck_obj *obj,
		const struct contributed *in, bool in_handler)
{
	if (CSD_UNLIKELY(in->how->merge != NULL)) {
		contribute_message(pe, c, obj, in, in_handler);
		return;
	}
	struct reduction *r = reduction_join(pe, c, obj->n_contributed, in);

	obj->n_contributed++;
	if (CSD_UNLIKELY(c->dynamic) && r->bytes && in->how->ordered)
		reduction_keep(pe, r, index_key(c->type, obj->index), in->data);
	else
		reduction_take(r, c->n_slots, obj->ordinal, in->data);
	r->n_missing--;
	latest_is(c, r);
	if (!r->n_missing)
		reduction_local(pe, c, r, in_handler);
}

static inline bool same_terms(const struct reduction *r, size_t count, CkReduction op,
			      const CkCallback *cb)
{
	return r->op == op && r->count == count && callback_same_soon(&r->cb, cb);
}

/* Most contributions go to the reduction of the one before, in the same terms. */
static inline bool goes_along(const struct reduction *r, const struct ck_obj *obj, size_t count,
			      CkReduction op, const CkCallback *cb)
{
	return r && r->no == obj->n_contributed && r->n_missing != 1 && !(obj->extra & OBJ_AWAY) &&
	       same_terms(r, count, op, cb);
}

/* All calls here are the last thing that happens, so no register has to be saved. */
static inline __attribute__((always_inline)) void go_along(struct reduction *r, struct ck_obj *obj,
							   const void *data)
{
	obj->n_contributed++;
	r->n_missing--;
	if (!r->bytes)
		return;
	if (r->how->ordered) {
		if (CSD_UNLIKELY(obj->ordinal != r->n_in_order || r->n_stashed)) {
			reduction_take_astray(r, obj->coll->n_slots, obj->ordinal, data);
			return;
		}
		r->n_in_order++;
	}
	if (CSD_LIKELY(r->add != NULL))
		r->add(values_of(r->acc), data, r->count, false);
	else
		reducer_combine_own(r->how, values_of(r->acc), data, r->count, false);
}

static __attribute__((noinline)) void contribute_any(struct ck_obj *obj, const void *data,
						    size_t count, CkReduction op, CkCallback cb)
{
	struct pe *pe = ck_self_in("CkContribute");
	struct collection *c = obj->coll;
	const struct reducer *how = reducer_find(ck_node_of(pe->node), op);

	check_contributor(pe, c, how, op);
	if (op == CkReduction_nop)
		count = 0;
	if (CSD_UNLIKELY(ck_kind(pe, c->type)->contribute != NULL)) {
		c = ck_kind(pe, c->type)->contribute(pe, obj, data, count, op, &cb);
		if (!c)
			return;
	}
	const struct contributed in = { data, count, op, pe->id, how, &cb, &obj->index, 0, 0 };

	if (CSD_UNLIKELY(obj->extra & OBJ_AWAY)) {
		seat_send(pe, obj, PART_REDUCE, contribution_msg(pe, &in, 0));
		return;
	}
	if (CSD_UNLIKELY(c->dynamic && c->elems[obj->ordinal] != obj))
		csd_abort(pe, "CkContribute: the element of %s is destroyed", c->type->name);
	contribute(pe, c, obj, &in, true);
}

/* Else, if no reduction is open, it mostly opens one in the terms of the one before. */
static inline bool opens_again(const struct collection *c, const struct ck_obj *obj, size_t count,
			       CkReduction op, const CkCallback *cb)
{
	const struct reduction *r = reductions_of(c)->kept;

	return r && same_terms(r, count, op, cb) && !(obj->extra & OBJ_AWAY);
}

static __attribute__((noinline)) void contribute_again(struct ck_obj *obj, const void *data)
{
	struct pe *pe = csd_self();
	struct collection *c = obj->coll;
	struct reduction *r = reduction_open_again(pe, c, obj->n_contributed);

	r->from_pe = pe->id;
	r->from_element = true;
	r->from = obj->index;
	obj->n_contributed++;
	reduction_take(r, c->n_slots, obj->ordinal, data);
	if (--r->n_missing)
		latest_is(c, r);
	else
		reduction_local(pe, c, r, true);
}

static __attribute__((noinline)) void contribute_first(struct ck_obj *obj, const void *data,
						      size_t count, CkReduction op, CkCallback cb)
{
	if (obj->coll && opens_again(obj->coll, obj, count, op, &cb))
		contribute_again(obj, data);
	else
		contribute_any(obj, data, count, op, cb);
}

void CkContribute(void *self, const void *data, size_t count, CkReduction op, CkCallback cb)
{
	struct ck_obj *obj = obj_of(self);
	const struct collection *c = obj->coll; /* NULL: no PE runs yet */
	struct reduction *r = c ? c->latest : NULL;

	if (CSD_LIKELY(goes_along(r, obj, count, op, &cb)))
		go_along(r, obj, data);
	else
		contribute_first(obj, data, count, op, cb);
}

void CkGen_barrier(void *self, const CkCallback *cb)
{
	struct ck_obj *obj = obj_of(self);
	const struct collection *c = obj->coll;

	if (CSD_LIKELY(c && !c->latest && opens_again(c, obj, 0, CkReduction_nop, cb)))
		contribute_again(obj, NULL);
	else
		CkContribute(self, NULL, 0, CkReduction_nop, *cb);
}

/* An element with a seat here has contributed while it was away. */
static void contribution_filed(struct pe *pe, struct ck_obj *seat, struct ck_env *env, int from)
{
	uint64_t tag;
	const struct contributed in = contribution_read(pe, env, from, &seat->index, &tag);

	contribute(pe, seat->coll, seat, &in, ck_of(pe)->now.obj != NULL);
	csd_msg_free(pe, &env->head);
}

/* ---- the part -------------------------------------------------------------------------------- */

static const struct place_watch watch = {
	.dynamic = reductions_dynamic,
	.still = reductions_still,
	.reseated = reductions_reseated,
	.remade = reductions_reseated,
	.reopened = reductions_reopened,
	.filed = contribution_filed,
	.filed_misfit = contribution_misfit,
};

static int reduce_node_start(struct node *node)
{
	place_join(node, PART_REDUCE, &watch);
	return 0;
}

static void reduce_coll_fini(struct pe *pe, struct collection *c)
{
	struct reduce_coll *all = reductions_of(c);

	reductions_close(pe, &all->open);
	reductions_close(pe, &all->kept);
	free(all->tree.children);
	free(all->ahead);
	free(all->child);
	free(all->folds);
}

static void reduce_pe_stop(struct pe *pe)
{
	if (reduce_of(pe)->spare_part)
		csd_msg_free(pe, &reduce_of(pe)->spare_part->head);
	reductions_free_spare(pe);
}

static void reduce_node_stop(struct node *node)
{
	free(((struct reduce_node *)ck_node_state(node, PART_REDUCE))->reducers);
}

static const char *exchange_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct ck_env *env = (const struct ck_env *)m;
	const struct reducer *how = reducer_find(ck_node_of(pe->node), env->swap.op);
	size_t bytes = how ? values_bytes(how, env->swap.count) : SIZE_MAX;

	if (bytes == SIZE_MAX || bytes > EXCHANGE_MOST_BYTES)
		return "it belongs to no reduction here";
	if (env->flags & ~CK_PART_EMPTY)
		return "its flags are wrong for such a message";
	if (env->flags & CK_PART_EMPTY || bytes <= sizeof(uint64_t))
		bytes = 0;
	return m->size != sizeof *env + bytes ? "its size is not that of its values" : NULL;
}

static const char *reduce_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct ck_env *env = (const struct ck_env *)m;

	return reduction_part_misfit(pe, env, env->flags & CK_PART_EMPTY);
}

static const char *result_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct ck_env *env = (const struct ck_env *)m;
	const char *why = shape_result(env, 0);

	if (why || env->place != UINT64_MAX)
		return why;
	if ((uint32_t)env->root >= (uint32_t)pe->node->job->n_pes ||
	    csd_tree_parent(pe, env->root) != m->src_pe)
		return "it did not come down the tree that it names";
	return shape_alone(pe, m);
}

static const char *start_misfit(struct pe *pe, const struct cmi_msg *m)
{
	return reduction_part_misfit(pe, (const struct ck_env *)m, true);
}

static const struct ck_handler handlers[] = {
	[H_REDUCE] = { "ck.reduce", reduce_arrived, true,
		       .shape = { CK_SHAPE_COLL, .misfit = reduce_misfit } },
	[H_EXCHANGE] = { "ck.exchange", exchange_arrived, true,
			 .shape = { CK_SHAPE_COLL, .misfit = exchange_misfit } },
	[H_RESULT] = { "ck.result", result_arrived, true,
		       .shape = { CK_SHAPE_COLL, .may = CMI_F_EXPEDITED, .misfit = result_misfit } },
	[H_DUE] = { "ck.due", result_due, .apart = false },
	[H_START] = { "ck.start", start_arrived, .shape = { CK_SHAPE_COLL, .misfit = start_misfit } },
	[H_EMPTY] = { "ck.empty", empty_arrived,
		      .shape = { .least = sizeof(struct cmi_msg) + 16, CK_SHAPE_ID(struct ck_env, coll) } },
};

const struct ck_part reduce_part = {
	.name = "reduce",
	.number = PART_REDUCE,
	.node_bytes = sizeof(struct reduce_node),
	.pe_bytes = sizeof(struct reduce_pe),
	.coll_bytes = sizeof(struct reduce_coll),
	.handlers = CK_LIST(handlers),
	.watch = {
		.created = reductions_created,
		.destroyed = reductions_destroyed,
		.constructed = reductions_constructed,
		.fini = reduce_coll_fini,
	},
	.node_start = reduce_node_start,
	.pe_start = exchange_init,
	.pe_stop = reduce_pe_stop,
	.describe = reductions_describe,
	.save.refuse = reductions_refuse,
	.node_stop = reduce_node_stop,
};
