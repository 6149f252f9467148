/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce.c: takes contributions. The k-th contribution of each element belongs to the k-th
 * reduction, so elements may run ahead, and several reductions of one collection may be open at a
 * time. When all elements of this PE have contributed, the partial result takes its route.
 *
 * If the order shows in the result's bits, contributions are combined in index order. Nearly all
 * come in their turn and go straight into the accumulator; the others wait in `stash`.
 */
#include "reduce_int.h"
#include "../place/place_watch.h"
#include "../core/shape.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A spare record keeps its memory for waiting contributions up to this size. That is enough for
 * 1000 elements with a value each; the 8 MB of a single reduction of matrices are freed. */
enum { STASH_KEEP_BYTES = 16 * 1024 };

/* ---- records ------------------------------------------------------------------------------ */

/* Take a record from the PE's spare ones, so that a barrier allocates nothing. */
static struct reduction *reduction_new(struct pe *pe)
{
	struct reduction *r = reduce_of(pe)->spare;

	if (CSD_UNLIKELY(!r)) {
		r = cmi_alloc_zero(1, sizeof *r, "a reduction");
		return r;
	}
	reduce_of(pe)->spare = r->next;
	return r;
}

/* Free what few reductions have. The caller asks once whether there is any of it. */
static __attribute__((noinline)) void free_extras(struct pe *pe, struct reduction *r)
{
	while (r->early) {
		struct cmi_msg *m = r->early;

		r->early = m->next;
		csd_msg_free(pe, m);
	}
	while (r->n_pieces > 0)
		csd_msg_free(pe, &r->pieces[--r->n_pieces].env->head);
	if (r->cap_pieces * sizeof *r->pieces > STASH_KEEP_BYTES) {
		free(r->pieces);
		r->pieces = NULL;
		r->cap_pieces = 0;
	}
	if (r->kept)
		reduction_drop_kept(r);
	if (r->cap_stash > STASH_KEEP_BYTES) {
		free(r->stash);
		r->stash = NULL;
		r->cap_stash = 0;
	}
}

void reduction_free(struct pe *pe, struct reduction *r)
{
	if (CSD_UNLIKELY((uintptr_t)r->early | (uintptr_t)r->kept | r->cap_pieces | r->cap_stash))
		free_extras(pe, r);
	if (r->acc)
		csd_msg_free(pe, &r->acc->head);
	r->next = reduce_of(pe)->spare;
	reduce_of(pe)->spare = r;
}

static void reduce_coll_fini(struct pe *pe, struct collection *c)
{
	struct reduce_coll *all = reductions_of(c);

	while (all->open) {
		struct reduction *r = all->open;

		all->open = r->next;
		reduction_free(pe, r);
	}
	free(all->ahead);
	free(all->child);
}

static void reduce_pe_stop(struct pe *pe)
{
	if (reduce_of(pe)->spare_part)
		csd_msg_free(pe, &reduce_of(pe)->spare_part->head);
	while (reduce_of(pe)->spare) {
		struct reduction *r = reduce_of(pe)->spare;

		reduce_of(pe)->spare = r->next;
		free(r->stash);
		free(r->pieces);
		free(r);
	}
}

/* Take r out of the collection and free it, with a result that it still holds. */
void reduction_close(struct pe *pe, struct collection *c, struct reduction *r)
{
	struct reduction **p = &reductions_of(c)->open;

	while (*p != r)
		p = &(*p)->next;
	*p = r->next;
	reduction_free(pe, r);
}

struct reduction **reduction_place(struct reduction **list, uint32_t no)
{
	struct reduction **p = list;

	/* Compare by difference, because numbers may wrap. */
	while (*p && (int32_t)((*p)->no - no) < 0)
		p = &(*p)->next;
	return p;
}

struct reduction *reduction_find(struct collection *c, uint32_t no)
{
	struct reduction *r = *reduction_place(&reductions_of(c)->open, no);

	return r && r->no == no ? r : NULL;
}

/* Whether there is no record because this PE's part is over. */
bool reduction_passed(const struct collection *c, uint32_t no)
{
	return c->n_local && (int32_t)(reductions_of(c)->next_no - no) > 0;
}

struct reduction *reduction_open(struct pe *pe, struct reduction **at, uint32_t no,
				 CkReduction op, uint64_t count, const CkCallback *cb)
{
	struct reduction *r = reduction_new(pe);

	r->no = no;
	r->op = op;
	r->how = reducer_find(ck_node_of(pe->node), op);
	r->count = count;
	r->bytes = count * r->how->value_bytes;
	r->cb = *cb;
	r->n_local_in = 0;
	r->acc = NULL;
	r->early = NULL;
	r->n_in_order = r->n_stashed = 0;
	r->n_children_in = 0;
	r->exchanged = r->awaited = r->done = r->any = r->local_done = false;
	r->stage = REDUCTION_WAITS;
	r->next = *at;
	return *at = r;
}

/* All elements of this PE have contributed. */
static void settle(struct collection *c, struct reduction *r)
{
	r->local_done = true;
	if ((int32_t)(r->no - reductions_of(c)->next_no) >= 0)
		reductions_of(c)->next_no = r->no + 1;
	if (CSD_UNLIKELY(c->dynamic))
		reduction_settled(c, r);
}

/* Open a reduction over a whole collection, and choose its route. */
static struct reduction *reduction_open_one(struct pe *pe, struct collection *c, struct reduction **at,
				  uint32_t no, CkReduction op, uint64_t count,
				  const CkCallback *cb)
{
	struct reduction *r = reduction_open(pe, at, no, op, count, cb);

	result_check(pe, cb, r->how, count, c->type);
	r->exchanged = exchange_fits(c, r);
	r->awaited = callback_is_all(cb, c->id) ? c->n_local > 0 && !c->sparse
						: result_comes_here(pe, c, cb);
	r->n_missing = c->n_local;
	/* An exchange without values needs the accumulator only after it has sent its part. */
	if (r->bytes || !(r->exchanged || r->how->merge))
		reduction_make_acc(pe, r);
	if (CSD_UNLIKELY(c->dynamic))
		reduction_opened(pe, c, r);
	if (!r->n_missing)
		settle(c, r);
	return r;
}

static void describe_contributor(const struct collection *c, int from, bool element, CkIndex index,
				 char *buf, size_t len)
{
	if (element && c->type->kind == CKGEN_ARRAY)
		snprintf(buf, len, "element (%d, %d, %d) on PE %d", index.v[0], index.v[1],
			 index.v[2], from);
	else
		snprintf(buf, len, "PE %d", from);
}

_Noreturn void reduction_disagree(struct pe *pe, struct collection *c, const struct reduction *r,
				  CkReduction op, uint64_t count, const CkCallback *cb, int from,
				  const struct ck_obj *obj)
{
	char was[160], is[160], who_was[80], who_is[80];

	callback_describe(pe, &r->cb, was, sizeof was);
	callback_describe(pe, cb, is, sizeof is);
	describe_contributor(c, r->from_pe, r->from_element, r->from, who_was, sizeof who_was);
	describe_contributor(c, from, obj, obj ? obj->index : r->from, who_is, sizeof who_is);
	csd_abort(pe, "elements of %s disagree in reduction %u: %llu x %s to %s (%s), and "
		  "%llu x %s to %s (%s)", c->type->name, r->no, (unsigned long long)r->count,
		  r->how->name, was, who_was, (unsigned long long)count, reducer_name(pe, op), is,
		  who_is);
}

/* Find or open reduction `no`; abort if the caller's terms differ from those of the record. */
struct reduction *reduction_join(struct pe *pe, struct collection *c, uint32_t no, CkReduction op,
				 uint64_t count, const CkCallback *cb, int from,
				 const struct ck_obj *obj)
{
	struct reduction **p = reduction_place(&reductions_of(c)->open, no), *r = *p;

	if (!r || r->no != no) {
		r = reduction_open_one(pe, c, p, no, op, count, cb);
		r->from_pe = from;
		if ((r->from_element = obj))
			r->from = obj->index;
	} else if (CSD_UNLIKELY(r->op != op || r->count != count || !callback_same(&r->cb, cb))) {
		reduction_disagree(pe, c, r, op, count, cb, from, obj);
	}
	return r;
}

/* ---- contributions ------------------------------------------------------------------------- */

static char *stash_place(const struct reduction *r, uint64_t n_local, uint64_t ordinal)
{
	return r->stash + (n_local + 15) / 16 * 16 + ordinal * r->bytes;
}

static void stash(struct reduction *r, uint64_t n_local, uint64_t ordinal,
		  const void *data)
{
	size_t bytes = (n_local + 15) / 16 * 16 + n_local * r->bytes;

	if (r->cap_stash < bytes) {
		free(r->stash);
		r->stash = cmi_alloc(bytes, "a reduction");
		r->cap_stash = bytes;
	}
	if (!r->n_stashed)
		memset(r->stash, 0, n_local);
	r->stash[ordinal] = 1;
	memcpy(stash_place(r, n_local, ordinal), data, r->bytes);
	r->n_stashed++;
}

/* The next in order has come: combine it, and those that waited for it. */
static void absorb_in_order(struct reduction *r, uint64_t n_local, const void *data)
{
	reduction_absorb(r, data, false);
	r->n_in_order++;
	while (CSD_UNLIKELY(r->n_stashed > 0) && r->stash[r->n_in_order]) {
		reduction_absorb(r, stash_place(r, n_local, r->n_in_order++), false);
		r->n_stashed--;
	}
}

void reduction_take(struct reduction *r, uint64_t n_local, uint64_t ordinal,
		    const void *data)
{
	if (!r->bytes || !r->how->ordered)
		reduction_absorb(r, data, false);
	else if (CSD_LIKELY(ordinal == r->n_in_order))
		absorb_in_order(r, n_local, data);
	else
		stash(r, n_local, ordinal, data);
	r->n_local_in++;
}

/* The collection's elements begin to come and go: from now on ordered contributions are kept
 * until all elements of this PE have contributed (reduce_change.c). */
void reduction_unorder(struct collection *c, struct reduction *r)
{
	for (uint64_t i = r->n_in_order; i < c->n_slots && r->n_stashed; i++) {
		if (!r->stash[i])
			continue;
		reduction_keep(c, r, c->elems[i]->index, stash_place(r, c->n_slots, i));
		r->n_stashed--;
	}
}

/* Continue on the reduction's route. */
void reduction_go(struct pe *pe, struct collection *c, struct reduction *r, bool in_handler)
{
	if (!r->exchanged)
		tree_advance(pe, c, r, in_handler);
	else if (r->stage == REDUCTION_WAITS)
		exchange_start(pe, c, r, in_handler);
}

/* The last contribution of this PE has come, or the last element that was missing has gone. */
void reduction_local(struct pe *pe, struct collection *c, struct reduction *r, bool in_handler)
{
	settle(c, r);
	reduction_go(pe, c, r, in_handler);
}

static void keep_piece(struct pe *pe, struct reduction *r, int child, CkIndex key,
		       struct ck_env *env)
{
	if (r->n_pieces == r->cap_pieces) {
		r->cap_pieces = r->cap_pieces ? 2 * r->cap_pieces : 8;
		r->pieces = cmi_realloc(r->pieces, r->cap_pieces, sizeof *r->pieces, "a reduction");
	}
	r->pieces[r->n_pieces++] = (struct piece){ child, key, env };
	r->any = true;
	if (r->how->streamable && r->n_pieces == 2) {
		r->pieces[0].env = reducer_merge(pe, r->how, r->pieces, 2);
		r->n_pieces = 1;
	}
}

void reduction_take_message(struct pe *pe, struct reduction *r, int array, CkIndex key,
			    struct ck_env *env)
{
	keep_piece(pe, r, array, key, env);
	r->n_local_in++;
}

static void merge_pieces(struct pe *pe, struct reduction *r)
{
	r->acc = reducer_merge(pe, r->how, r->pieces, r->n_pieces);
	r->n_pieces = 0;
}

/* ---- what children bring -------------------------------------------------------------------- */

static void absorb_child(struct pe *pe, struct reduction *r, struct cmi_msg *m)
{
	reduction_absorb(r, values_of((struct ck_env *)m), false);
	csd_msg_free(pe, m);
}

/* Keep parts sorted by child, the order in which they are combined. */
static void keep_child(struct reduction *r, struct ck_env *env)
{
	struct cmi_msg **p = &r->early;

	while (*p && ((struct ck_env *)*p)->kept.child < env->kept.child)
		p = &(*p)->next;
	env->head.next = *p;
	*p = &env->head;
}

void reduction_take_child(struct pe *pe, struct reduction *r, struct ck_env *env, int child)
{
	r->n_children_in++;
	env->kept.child = child;
	if (CSD_UNLIKELY(env->flags & CK_PART_EMPTY))
		csd_msg_free(pe, &env->head);
	else if (r->how->merge)
		keep_piece(pe, r, child, (CkIndex){ { 0, 0, 0 } }, env);
	else if (r->how->ordered)
		keep_child(r, env);
	else
		absorb_child(pe, r, &env->head);
}

void reduction_absorb_kept(struct pe *pe, struct reduction *r)
{
	if (r->how->merge)
		merge_pieces(pe, r);
	while (r->early) {
		struct cmi_msg *m = r->early;

		r->early = m->next;
		absorb_child(pe, r, m);
	}
}

void reduction_finish(struct pe *pe, struct reduction *r, const CkGenChare *type)
{
	if (r->how->finish)
		r->acc = r->how->finish(pe, type, r->acc);
}

/* ---- what elements call --------------------------------------------------------------------- */

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
			       const struct reducer *how, const struct contributed *in, bool in_handler)
{
	struct contributor from = { c->type, c->id, obj->index, in->pe,
				    c->id ^ (uint64_t)obj->n_contributed << 44 };
	struct ck_env *env = reducer_begin(pe, how, &from, in->data, in->count);
	struct reduction *r = reduction_join(pe, c, obj->n_contributed, in->op, 0, &in->cb, in->pe, obj);

	obj->n_contributed++;
	reduction_take_message(pe, r, -1, index_key(c->type, obj->index), env);
	if (!--r->n_missing)
		reduction_local(pe, c, r, in_handler);
}

/* obj: the element, or its stub. */
static inline void contribute(struct pe *pe, struct collection *c, struct ck_obj *obj, const struct reducer *how,
			      const struct contributed *in, bool in_handler)
{
	if (CSD_UNLIKELY(how->merge != NULL)) {
		contribute_message(pe, c, obj, how, in, in_handler);
		return;
	}
	struct reduction *r = reduction_join(pe, c, obj->n_contributed, in->op, in->count, &in->cb, in->pe, obj);

	obj->n_contributed++;
	if (CSD_UNLIKELY(c->dynamic) && r->bytes && how->ordered)
		reduction_keep(c, r, obj->index, in->data);
	else
		reduction_take(r, c->n_slots, obj->ordinal, in->data);
	if (!--r->n_missing)
		reduction_local(pe, c, r, in_handler);
}

void CkContribute(void *self, const void *data, size_t count, CkReduction op, CkCallback cb)
{
	struct pe *pe = ck_self();
	struct ck_obj *obj = obj_of(self);
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
	const struct contributed in = { data, count, op, cb, pe->id };

	if (CSD_UNLIKELY(obj->extra & OBJ_AWAY)) {
		seat_send(pe, obj, PART_REDUCE, contribution_msg(pe, &in, 0));
		return;
	}
	if (CSD_UNLIKELY(c->dynamic && c->elems[obj->ordinal] != obj))
		csd_abort(pe, "CkContribute: the element of %s is destroyed", c->type->name);
	contribute(pe, c, obj, how, &in, true);
}

/* An element of a seat here has contributed while it was away. */
static void contribution_filed(struct pe *pe, struct ck_obj *seat, struct ck_env *env, int from)
{
	uint64_t tag;
	const struct contributed in = contribution_read(pe, env, from, &tag);

	contribute(pe, seat->coll, seat, reducer_find(ck_node_of(pe->node), in.op), &in,
		   ck_of(pe)->now.obj != NULL);
	csd_msg_free(pe, &env->head);
}

/* ---- the part -------------------------------------------------------------------------------- */

static const struct place_watch watch = {
	.dynamic = reductions_dynamic,
	.rest = reductions_rest,
	.reseated = reductions_reseated,
	.reopened = reductions_reopened,
	.filed = contribution_filed,
	.filed_misfit = contribution_misfit,
};

static int reduce_node_start(struct node *node)
{
	place_join(node, PART_REDUCE, &watch);
	return 0;
}

static void reduce_node_stop(struct node *node)
{
	free(((struct reduce_node *)ck_node_state(node, PART_REDUCE))->reducers);
}

/* The bytes that the values of a reducer take; SIZE_MAX: they have any length. */
static size_t part_bytes(const struct reducer *how, uint64_t count)
{
	return how->merge ? SIZE_MAX : how->value_bytes && count > SIZE_MAX / 2 / how->value_bytes ?
	       SIZE_MAX / 2 : count * how->value_bytes;
}

static const char *exchange_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct ck_env *env = (const struct ck_env *)m;
	const struct reducer *how = reducer_find(ck_node_of(pe->node), env->swap.op);
	size_t bytes = how ? part_bytes(how, env->swap.count) : SIZE_MAX;

	if (bytes == SIZE_MAX || bytes > EXCHANGE_MOST_BYTES)
		return "it belongs to no reduction here";
	if (env->flags & ~CK_PART_EMPTY)
		return "its flags are not those of such messages";
	if (env->flags & CK_PART_EMPTY || bytes <= sizeof(uint64_t))
		bytes = 0;
	return m->size != sizeof *env + bytes ? "its size is not that of its values" : shape_coll(pe, m);
}

const char *reduction_values_misfit(struct pe *pe, const struct ck_env *env, const struct reducer *how, bool empty)
{
	const CkReductionMsg *head = (const CkReductionMsg *)(const void *)(env + 1);
	const char *why = how ? shape_result(env, sizeof(CkCallback)) : "it belongs to no reduction here";

	if (!why && !empty && part_bytes(how, head->count) != SIZE_MAX &&
	    part_bytes(how, head->count) > head->bytes)
		why = "it has fewer values than it says";
	return why ? why : shape_callback(pe, callback_at((struct ck_env *)(uintptr_t)env));
}

static const char *reduce_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct ck_env *env = (const struct ck_env *)m;
	const struct reducer *how = reducer_find(ck_node_of(pe->node), env->part.op);
	const char *why = reduction_values_misfit(pe, env, how, env->flags & CK_PART_EMPTY);

	return why ? why : shape_coll(pe, m);
}

static const char *result_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const char *why = shape_result((const struct ck_env *)m, 0);

	return why ? why : ((const struct ck_env *)m)->place == UINT64_MAX ?
	       shape_in_tree(pe, m, ((const struct ck_env *)m)->root) : shape_coll(pe, m);
}

static const char *start_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct ck_env *env = (const struct ck_env *)m;
	const char *why = shape_result(env, sizeof(CkCallback));

	if (!why)
		why = shape_callback(pe, callback_at((struct ck_env *)(uintptr_t)env));
	return why ? why : shape_coll(pe, m);
}

static const struct ck_handler handlers[] = {
	[H_REDUCE] = { "ck.reduce", reduce_arrived, true,
		       .shape = { CK_SHAPE_ENV, .misfit = reduce_misfit } },
	[H_EXCHANGE] = { "ck.exchange", exchange_arrived, true,
			 .shape = { CK_SHAPE_ENV, .misfit = exchange_misfit } },
	[H_RESULT] = { "ck.result", result_arrived, true,
		       .shape = { CK_SHAPE_ENV, .may = CMI_F_EXPEDITED, .misfit = result_misfit } },
	[H_DUE] = { "ck.due", result_due, .apart = false },
	[H_START] = { "ck.start", start_arrived, .shape = { CK_SHAPE_ENV, .misfit = start_misfit } },
	[H_EMPTY] = { "ck.empty", empty_arrived, .shape = { .least = sizeof(struct cmi_msg) + 16, .misfit = shape_coll } },
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
	.node_stop = reduce_node_stop,
};
