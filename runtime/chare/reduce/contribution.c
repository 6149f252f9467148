/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contribution.c: contributions as messages. One that has to wait, or whose element is away from
 * its seat, is copied into a message with everything that it points to.
 */
#include "reduce_int.h"
#include "../core/shape.h"

#include <string.h>

static size_t contributed_bytes(const struct reducer *how, uint64_t count)
{
	return how->merge ? count : count * how->value_bytes;
}

/* The bytes of a copy, with everything that the contribution points to. */
static size_t copy_bytes(struct pe *pe, const struct contributed *in)
{
	const CkTupleElement *elems = in->data;
	size_t bytes = CkGen_align(in->count * sizeof *elems);

	if (in->how->type != CK_TUPLE)
		return contributed_bytes(in->how, in->count);
	for (uint64_t i = 0; i < in->count; i++)
		bytes += CkGen_align(contributed_bytes(tuple_how(pe, &elems[i]), elems[i].count));
	return bytes;
}

/* A tuple's elements are followed by their data. In a copy from another process they still have the
 * sender's pointers. fill: copy the data there first. */
static void place_elems(struct pe *pe, CkTupleElement *elems, uint64_t n, bool fill)
{
	char *next = (char *)elems + CkGen_align(n * sizeof *elems);

	for (uint64_t i = 0; i < n; i++) {
		size_t bytes = contributed_bytes(tuple_how(pe, &elems[i]), elems[i].count);

		if (fill && bytes)
			memcpy(next, elems[i].data, bytes);
		elems[i].data = next;
		next += CkGen_align(bytes);
	}
}

struct ck_env *contribution_msg(struct pe *pe, const struct contributed *in, uint64_t tag)
{
	const bool tuple = in->how->type == CK_TUPLE;
	const size_t bytes = copy_bytes(pe, in);
	const size_t first = tuple ? in->count * sizeof(CkTupleElement) : bytes;
	struct ck_env *env = callback_msg(pe, in->how->type, in->count, bytes);
	CkReductionMsg *head = payload_of(env);

	head->no = (uint32_t)in->op;
	head->reserved = tag;
	if (first)
		memcpy(head + 1, in->data, first);
	if (tuple)
		place_elems(pe, (CkTupleElement *)(void *)(head + 1), in->count, true);
	*callback_at(env) = *in->cb;
	return env;
}

struct contributed contribution_read(struct pe *pe, struct ck_env *env, int from,
				     const CkIndex *index, uint64_t *tag_p)
{
	CkReductionMsg *head = payload_of(env);
	const struct reducer *how = reducer_find(ck_node_of(pe->node), head->no);

	if (how->type == CK_TUPLE)
		place_elems(pe, (CkTupleElement *)(void *)(head + 1), head->count, false);
	*tag_p = head->reserved;
	return (struct contributed){ head + 1, head->count, (CkReduction)head->no, from, how,
				     callback_at(env), index, 0, 0 };
}

/* ---- checks of messages from other processes ------------------------------------------------- */

size_t values_bytes(const struct reducer *how, uint64_t count)
{
	return how->merge ? SIZE_MAX : how->value_bytes && count > SIZE_MAX / 2 / how->value_bytes ?
	       SIZE_MAX / 2 : count * how->value_bytes;
}

const char *reduction_values_misfit(struct pe *pe, const struct ck_env *env,
				    const struct reducer *how, bool empty)
{
	const CkReductionMsg *head = (const CkReductionMsg *)(const void *)(env + 1);
	const char *why = how ? shape_result(env, sizeof(CkCallback)) : "it belongs to no reduction here";

	if (!why && !empty && values_bytes(how, head->count) != SIZE_MAX &&
	    values_bytes(how, head->count) > head->bytes)
		why = "it has fewer values than it says";
	return why ? why : shape_callback(pe, callback_at((struct ck_env *)(uintptr_t)env));
}

const char *reduction_part_misfit(struct pe *pe, const struct ck_env *env, bool empty)
{
	const struct ck_node *ck = ck_node_of(pe->node);
	const struct reducer *how = reducer_find(ck, env->part.op);
	const char *why = reduction_values_misfit(pe, env, how, empty);

	return why || empty || !how->fits || how->fits(ck, (const void *)(env + 1)) ? why :
	       "its contributions do not lie within it";
}

/* The members of a tuple lie within its bytes. */
static bool members_fit(const struct ck_node *ck, const CkReductionMsg *head)
{
	const CkTupleElement *elems = (const CkTupleElement *)(const void *)(head + 1);
	uint64_t used = head->count * sizeof *elems;

	if (head->count > head->bytes / sizeof *elems)
		return false;
	for (uint64_t i = 0; i < head->count; i++) {
		const struct reducer *how = reducer_find(ck, elems[i].op);
		const uint64_t each = !how ? 0 : how->merge ? 1 : how->value_bytes;

		if (!how || elems[i].op == CkReduction_tuple || (each && elems[i].count > head->bytes / each))
			return false;
		used = CkGen_align(used) + elems[i].count * each;
	}
	return used <= head->bytes;
}

const char *contribution_misfit(struct pe *pe, const struct ck_env *env)
{
	const CkReductionMsg *head = (const CkReductionMsg *)(const void *)(env + 1);
	const char *why = shape_result(env, sizeof(CkCallback));

	if (!why)
		why = reduction_values_misfit(pe, env, reducer_find(ck_node_of(pe->node), head->no),
					      false);
	if (!why && head->no == CkReduction_tuple && !members_fit(ck_node_of(pe->node), head))
		why = "its values do not lie within it";
	return why;
}
