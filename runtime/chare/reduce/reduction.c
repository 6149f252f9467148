/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduction.c: the record of an open reduction of a collection or of a section, or of a scan, on a
 * PE; combines values in it. It knows neither collections nor sections.
 *
 * If the result's bits depend on the order, contributions are combined in index order. Nearly all
 * come in turn and go straight into the accumulator; the others wait in `stash`. If elements come
 * and go they have no numbers, and wait among the pieces, like the children's messages. Pieces are
 * combined when all have arrived: our elements' in index order, then the children's in their order.
 */
#include "reduce_int.h"
#include "../core/objects/index.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Free the rarely used members. The caller checks once whether there are any. */
static __attribute__((noinline)) void free_extras(struct pe *pe, struct reduction *r)
{
	while (r->early) {
		struct cmi_msg *m = r->early;

		r->early = m->next;
		csd_msg_free(pe, m);
	}
	while (r->n_pieces > 0)
		csd_msg_free(pe, &r->pieces[--r->n_pieces].env->head);
	if (r->cap_pieces > PIECES_KEEP) {
		free(r->pieces);
		r->pieces = NULL;
		r->cap_pieces = 0;
	}
	if (r->cap_stash > STASH_KEEP_BYTES) {
		free(r->stash);
		r->stash = NULL;
		r->cap_stash = 0;
	}
}

void reduction_close(struct pe *pe, struct reduction **list, struct reduction *r)
{
	while (*list != r)
		list = &(*list)->next;
	*list = r->next;
	if (CSD_UNLIKELY(reduction_has_extras(r)))
		free_extras(pe, r);
	if (r->acc)
		csd_msg_free(pe, &r->acc->head);
	r->next = reduce_of(pe)->spare;
	reduce_of(pe)->spare = r;
}

void reductions_close(struct pe *pe, struct reduction **list)
{
	while (*list)
		reduction_close(pe, list, *list);
}

void reductions_free_spare(struct pe *pe)
{
	while (reduce_of(pe)->spare) {
		struct reduction *r = reduce_of(pe)->spare;

		reduce_of(pe)->spare = r->next;
		free(r->stash);
		free(r->pieces);
		free(r);
	}
}

struct reduction **reduction_place(struct reduction **list, uint32_t no)
{
	struct reduction **p = list;

	/* Compare by difference, because numbers may wrap. */
	while (*p && (int32_t)((*p)->no - no) < 0)
		p = &(*p)->next;
	return p;
}

struct reduction *reduction_open(struct pe *pe, struct reduction **list, uint32_t no,
				 const struct contributed *in)
{
	struct reduction *r = reduction_new(pe), **at = reduction_place(list, no);

	reduction_begin(r, no);
	r->op = in->op;
	r->how = in->how;
	r->count = in->count;
	r->bytes = in->count * in->how->value_bytes;
	r->cb = *in->cb;
	r->exchanged = r->awaited = r->plain = r->fits = r->barrier = false;
	reduction_opened_by(r, in);
	r->next = *at;
	return *at = r;
}

static void describe_contributor(const CkGenChare *type, int pe, bool element, CkIndex index,
				 char *buf, size_t len)
{
	if (element && type->kind == CKGEN_ARRAY)
		snprintf(buf, len, "%s on PE %d", element_thing(type, 0, index).name, pe);
	else
		snprintf(buf, len, "PE %d", pe);
}

_Noreturn void reduction_disagree(struct pe *pe, const struct reduction *r,
				  const struct contributed *in, const CkGenChare *type,
				  const char *members)
{
	char was[160], is[160], who_was[CSD_THING_NAME + 32], who_is[CSD_THING_NAME + 32];

	callback_describe(pe, &r->cb, was, sizeof was);
	callback_describe(pe, in->cb, is, sizeof is);
	describe_contributor(type, r->from_pe, r->from_element, r->from, who_was, sizeof who_was);
	describe_contributor(type, in->pe, in->index, in->index ? *in->index : r->from, who_is,
			     sizeof who_is);
	csd_abort(pe, "%s %s disagree in reduction %u: %llu x %s to %s (%s), and %llu x %s to %s (%s)",
		  members,
		  type->name, r->no, (unsigned long long)r->count, r->how->name, was, who_was,
		  (unsigned long long)in->count, in->how->name, is, who_is);
}

/* ---- contributions ------------------------------------------------------------------------- */

static char *stash_place(const struct reduction *r, uint64_t n_local, uint64_t ordinal)
{
	return r->stash + (n_local + 15) / 16 * 16 + ordinal * r->bytes;
}

void reduction_room(struct reduction *r, size_t bytes)
{
	if (r->cap_stash >= bytes)
		return;
	free(r->stash);
	r->stash = cmi_alloc(bytes, "a reduction");
	r->cap_stash = bytes;
}

static void stash(struct reduction *r, uint64_t n_local, uint64_t ordinal, const void *data)
{
	reduction_room(r, (n_local + 15) / 16 * 16 + n_local * r->bytes);
	if (!r->n_stashed)
		memset(r->stash, 0, n_local);
	r->stash[ordinal] = 1;
	memcpy(stash_place(r, n_local, ordinal), data, r->bytes);
	r->n_stashed++;
}

/* If it is the next in order, combine it and those that have waited for it. */
void reduction_take_astray(struct reduction *r, uint64_t n_local, uint64_t ordinal,
			   const void *data)
{
	if (ordinal != r->n_in_order) {
		stash(r, n_local, ordinal, data);
		return;
	}
	reduction_absorb(r, data, false);
	r->n_in_order++;
	for (; r->n_stashed && r->stash[r->n_in_order]; r->n_stashed--)
		reduction_absorb(r, stash_place(r, n_local, r->n_in_order++), false);
}

/* ---- pieces -------------------------------------------------------------------------------- */

void reduction_take_message(struct pe *pe, struct reduction *r, int child, CkIndex key,
			    struct ck_env *env)
{
	CMI_ONE_MORE(r->pieces, r->n_pieces, r->cap_pieces, "a reduction");
	r->pieces[r->n_pieces++] = (struct piece){ child, key, env };
	if (r->how->streamable && r->n_pieces == 2) {
		r->pieces[0].env = reducer_merge(pe, r->how, r->pieces, 2);
		r->n_pieces = 1;
	}
}

void reduction_keep(struct pe *pe, struct reduction *r, CkIndex key, const void *data)
{
	struct ck_env *env = callback_msg(pe, r->how->type, r->count, r->bytes);

	memcpy(values_of(env), data, r->bytes);
	reduction_take_message(pe, r, -1, key, env);
}

/* From now on the collection's elements have no numbers: early values become pieces. */
void reduction_unorder(struct pe *pe, const struct collection *c, struct reduction *r)
{
	for (uint64_t i = r->n_in_order; i < c->n_slots && r->n_stashed; i++) {
		if (!r->stash[i])
			continue;
		reduction_keep(pe, r, index_key(c->type, c->elems[i]->index), stash_place(r, c->n_slots, i));
		r->n_stashed--;
	}
}

static void absorb_message(struct pe *pe, struct reduction *r, struct ck_env *env)
{
	reduction_absorb(r, values_of(env), false);
	csd_msg_free(pe, &env->head);
}

void reduction_take_child(struct pe *pe, struct reduction *r, struct ck_env *env, int child)
{
	r->n_children_in++;
	if (CSD_UNLIKELY(env->flags & CK_PART_EMPTY))
		csd_msg_free(pe, &env->head);
	else if (r->how->merge || r->how->ordered)
		reduction_take_message(pe, r, child, (CkIndex){ { 0, 0, 0 } }, env);
	else
		absorb_message(pe, r, env);
}

void reduction_absorb_pieces(struct pe *pe, struct reduction *r)
{
	if (r->how->merge) {
		r->any = r->n_pieces;
		r->acc = reducer_merge(pe, r->how, r->pieces, r->n_pieces);
	} else {
		pieces_sort(r->pieces, r->n_pieces);
		for (size_t i = 0; i < r->n_pieces; i++)
			absorb_message(pe, r, r->pieces[i].env);
	}
	r->n_pieces = 0;
}
