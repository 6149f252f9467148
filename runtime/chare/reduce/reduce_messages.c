/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_messages.c: reducers whose contributions have any length: set, concat, random, tuple, and
 * functions for the program's own. Contributions wait on their PE as messages (struct piece). They
 * are merged in index order, followed by the children's, in the order of the children. The root
 * turns the merged message into the result.
 *
 * Sets, concats and random choices travel in one form, a list of contributions with their heads:
 *
 *	| CkReductionSetElement | data, padded to 16 | CkReductionSetElement | data ...
 *
 * Only the root puts the list in index order, because with most maps neighbours in the tree are not
 * neighbours in the array. The list of a random choice holds one element: the one with the smallest
 * draw. A draw depends on the element's index, the collection and the number of the reduction, not
 * on PEs or time.
 *
 * A tuple is a list of messages, one for each of its reductions, in their own form:
 *
 *	| CkReductionMsg | data, padded to 16 | CkReductionMsg | data ...
 */
#include "reduce_int.h"
#include "../core/objects/index.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

/* ---- in general ------------------------------------------------------------------------------ */

static int compare_pieces(const void *a_, const void *b_)
{
	const struct piece *a = a_, *b = b_;

	return a->child != b->child ? (a->child > b->child) - (a->child < b->child)
				    : index_compare(&a->key, &b->key);
}

static CkReductionMsg *msg_of(struct ck_env *env) { return payload_of(env); }

/* A new message, to be merged or delivered next. */
static struct ck_env *msg_new(CkDataType type, uint64_t count, uint64_t bytes)
{
	return callback_msg(ck_self(), type, count, bytes);
}

/* A message in its reducer's form. */
static struct ck_env *message_begin(struct pe *pe, const struct contributed *in)
{
	if (in->how->begin)
		return in->how->begin(pe, in);
	struct ck_env *env = msg_new(in->how->type, in->count, in->count);

	if (in->count)
		memcpy(values_of(env), in->data, in->count);
	return env;
}

struct ck_env *reducer_begin(struct pe *pe, struct contributed *in, uint64_t coll, uint64_t draw)
{
	in->coll = coll;
	in->draw = draw;
	struct ck_env *env = message_begin(pe, in);

	in->count = 0;
	return env;
}

_Noreturn static void too_long(struct pe *pe, const struct reducer *how)
{
	csd_abort(pe, "reducer \"%s\" returned a message that is longer than its memory", how->name);
}

/* Check a merged message. The program's reducer may have changed one in place, but it must still
 * fit. */
static struct ck_env *merged(struct pe *pe, const struct reducer *how, CkReductionMsg *m)
{
	if (!m)
		csd_abort(pe, "reducer \"%s\" returned no message", how->name);
	struct ck_env *env = env_of(m);

	if (sizeof *env + sizeof *m + CkGen_align(m->bytes) + sizeof(CkCallback) > env->head.size)
		too_long(pe, how);
	if (!how->finish)
		m->count = m->bytes;
	return env;
}

static struct ck_env *merge_envs(struct pe *pe, const struct reducer *how,
				 const struct piece *pieces, size_t n)
{
	CkReductionMsg **msgs = cmi_alloc(n * sizeof(*msgs), "a reduction");

	for (size_t i = 0; i < n; i++)
		msgs[i] = payload_of(pieces[i].env);
	struct ck_env *env = merged(pe, how, how->merge((int)n, msgs));

	for (size_t i = 0; i < n; i++)
		if (pieces[i].env != env)
			csd_msg_free(pe, &pieces[i].env->head);
	free(msgs);
	return env;
}

/* Messages of elements mostly come in index order. */
void pieces_sort(struct piece *pieces, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (compare_pieces(&pieces[i - 1], &pieces[i]) > 0) {
			qsort(pieces, n, sizeof *pieces, compare_pieces);
			return;
		}
}

/* Takes the messages of all pieces and returns the one that they become. */
struct ck_env *reducer_merge(struct pe *pe, const struct reducer *how, struct piece *pieces,
			     size_t n)
{
	if (!n)
		return msg_new(how->type, 0, 0);
	if (!how->streamable)
		pieces_sort(pieces, n);
	struct ck_env *env = n == 1 ? pieces[0].env : merge_envs(pe, how, pieces, n);

	env->head.route = ck_of(pe)->route; /* it may have been sent before */
	return env;
}

/* ---- lists of contributions ------------------------------------------------------------------ */

struct ck_env *list_begin(struct pe *pe, const struct contributed *in)
{
	struct ck_env *env = callback_msg(pe, in->how->type, 1,
					  sizeof(CkReductionSetElement) + CkGen_align(in->count));
	CkReductionSetElement *e = values_of(env);

	*e = (CkReductionSetElement){ .bytes = in->count, .index = *in->index, .pe = in->pe,
				      .reserved = in->coll };
	if (in->count)
		memcpy(e + 1, in->data, in->count);
	return env;
}

CkReductionMsg *list_merge(int n, CkReductionMsg **msgs)
{
	uint64_t bytes = 0, count = 0;

	for (int i = 0; i < n; i++) {
		bytes += msgs[i]->bytes;
		count += msgs[i]->count;
	}
	CkReductionMsg *m = msg_of(msg_new((CkDataType)msgs[0]->type, count, bytes));
	char *to = (char *)(m + 1);

	for (int i = 0; i < n; to += msgs[i++]->bytes)
		memcpy(to, msgs[i] + 1, msgs[i]->bytes);
	return m;
}

struct entry {
	CkIndex key;
	const CkReductionSetElement *e;
};

/* `reserved` is the collection. */
static int compare_entries(const void *a_, const void *b_)
{
	const struct entry *a = a_, *b = b_;

	if (a->e->reserved != b->e->reserved)
		return a->e->reserved < b->e->reserved ? -1 : 1;
	return index_compare(&a->key, &b->key);
}

/* The list's contributions, by collection and then in index order. The caller frees the array. */
static struct entry *list_sorted(const CkGenChare *type, const CkReductionMsg *m, size_t *n_p)
{
	const CkReductionSetElement *e = NULL;
	struct entry *list = NULL;
	size_t n = 0, cap = 0;

	while ((e = CkReductionSet_next(m, e))) {
		CMI_ONE_MORE(list, n, cap, "a set");
		list[n++] = (struct entry){ index_key(type, e->index), e };
	}
	if (n)
		qsort(list, n, sizeof *list, compare_entries);
	*n_p = n;
	return list;
}

bool list_fits(const struct ck_node *ck, const CkReductionMsg *m)
{
	const char *data = (const char *)(m + 1);
	uint64_t at = 0, n = 0;

	(void)ck;
	for (; at < m->bytes; n++) {
		const CkReductionSetElement *e = (const void *)(data + at);

		if (m->bytes - at < sizeof *e || e->bytes > m->bytes - at - sizeof *e)
			return false;
		at += sizeof *e + CkGen_align(e->bytes);
	}
	return n == m->count;
}

/* ---- set, concat ----------------------------------------------------------------------------- */

struct ck_env *set_finish(struct pe *pe, const CkGenChare *type, struct ck_env *env)
{
	size_t n;
	struct entry *list = list_sorted(type, msg_of(env), &n);
	struct ck_env *result = msg_new(CK_SET, n, msg_of(env)->bytes);
	char *to = values_of(result);

	for (size_t i = 0; i < n; i++) {
		size_t bytes = sizeof *list[i].e + CkGen_align(list[i].e->bytes);

		memcpy(to, list[i].e, bytes);
		to += bytes;
	}
	free(list);
	csd_msg_free(pe, &env->head);
	return result;
}

struct ck_env *concat_finish(struct pe *pe, const CkGenChare *type, struct ck_env *env)
{
	size_t n, bytes = 0;
	struct entry *list = list_sorted(type, msg_of(env), &n);

	for (size_t i = 0; i < n; i++)
		bytes += list[i].e->bytes;
	struct ck_env *result = msg_new(CK_BYTE, bytes, bytes);
	char *to = values_of(result);

	for (size_t i = 0; i < n; to += list[i++].e->bytes)
		memcpy(to, list[i].e + 1, list[i].e->bytes);
	free(list);
	csd_msg_free(pe, &env->head);
	return result;
}

/* ---- random ---------------------------------------------------------------------------------- */

/* splitmix64's last step: every bit of x affects every bit of the result. */
static uint64_t draw_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

struct ck_env *random_begin(struct pe *pe, const struct contributed *in)
{
	struct ck_env *env = list_begin(pe, in);
	CkReductionSetElement *e = values_of(env);

	e->reserved = draw_mix(in->draw ^ draw_mix(in->coll));
	for (int i = 0; i < 3; i++)
		e->reserved = draw_mix(e->reserved ^ (uint32_t)in->index->v[i]);
	return env;
}

/* Equal draws are rare with 64 bits, but all PEs must then decide alike. */
static bool drawn_before(const CkReductionMsg *a_, const CkReductionMsg *b_)
{
	const CkReductionSetElement *a = CkReductionMsg_data(a_), *b = CkReductionMsg_data(b_);

	return a->reserved != b->reserved ? a->reserved < b->reserved
					  : index_compare(&a->index, &b->index) < 0;
}

CkReductionMsg *random_merge(int n, CkReductionMsg **msgs)
{
	CkReductionMsg *first = msgs[0];

	for (int i = 1; i < n; i++)
		if (!first->bytes || (msgs[i]->bytes && drawn_before(msgs[i], first)))
			first = msgs[i];
	return first;
}

/* ---- tuple ----------------------------------------------------------------------------------- */

/* In a tuple, `reserved` of a member's message is its operation. `no` of the tuple's message is the
 * PE of the first element that contributed to it. */
static const struct reducer *part_how(struct pe *pe, const CkReductionMsg *part)
{
	return reducer_find(ck_node_of(pe->node), (uint32_t)part->reserved);
}

static size_t part_bytes(const CkReductionMsg *part)
{
	return sizeof *part + CkGen_align(part->bytes);
}

/* Copy many messages into one. */
static struct ck_env *tuple_pack(CkReductionMsg *const *parts, uint64_t n)
{
	size_t bytes = 0;

	for (uint64_t i = 0; i < n; i++)
		bytes += part_bytes(parts[i]);
	struct ck_env *env = msg_new(CK_TUPLE, n, bytes);
	char *to = values_of(env);

	for (uint64_t i = 0; i < n; i++) {
		memcpy(to, parts[i], sizeof *parts[i] + parts[i]->bytes);
		to += part_bytes(parts[i]);
	}
	return env;
}

/* `room`: the bytes from it to the tuple's end. */
static bool part_fits(const struct ck_node *ck, const CkReductionMsg *part, uint64_t room)
{
	const struct reducer *how;

	if (room < sizeof *part || part->bytes > room - sizeof *part ||
	    part->reserved >= CkReduction_N + (uint64_t)INT32_MAX)
		return false;
	how = reducer_find(ck, (uint32_t)part->reserved);
	if (!how || how->type == CK_TUPLE)
		return false;
	return how->merge ? !how->fits || how->fits(ck, part) :
	       !how->value_bytes || part->count <= part->bytes / how->value_bytes;
}

bool tuple_fits(const struct ck_node *ck, const CkReductionMsg *m)
{
	const char *data = (const char *)(m + 1);
	uint64_t at = 0, n = 0;

	for (; at < m->bytes; n++) {
		const CkReductionMsg *part = (const void *)(data + at);

		if (!part_fits(ck, part, m->bytes - at))
			return false;
		at += part_bytes(part);
	}
	return n == m->count;
}

static CkReductionMsg **part_list(size_t n)
{
	return cmi_alloc_zero(n, sizeof(CkReductionMsg *), "a tuple of reductions");
}

const struct reducer *tuple_how(struct pe *pe, const CkTupleElement *elem)
{
	const struct reducer *how = reducer_find(ck_node_of(pe->node), elem->op);

	if (!how || elem->op == CkReduction_tuple)
		csd_abort(pe, "CkContributeTuple: a member cannot be %s",
			  reducer_name(pe, elem->op));
	return how;
}

static struct ck_env *part_begin(struct pe *pe, const struct contributed *in)
{
	struct ck_env *env;

	if (in->how->merge) {
		env = message_begin(pe, in);
	} else {
		size_t bytes = in->count * in->how->value_bytes;

		env = msg_new(in->how->type, in->how->value_bytes ? in->count : 0, bytes);
		if (bytes)
			memcpy(values_of(env), in->data, bytes);
	}
	msg_of(env)->reserved = in->op;
	return env;
}

struct ck_env *tuple_begin(struct pe *pe, const struct contributed *in)
{
	const CkTupleElement *elems = in->data;
	const uint64_t n = in->count;
	struct contributed part = *in;

	if (n < 1 || n > INT32_MAX)
		csd_abort(pe, "CkContributeTuple: %lld reductions", (long long)n);
	CkReductionMsg **parts = part_list(n);

	for (uint64_t i = 0; i < n; i++) {
		part.data = elems[i].data;
		part.count = elems[i].count;
		part.op = elems[i].op;
		part.how = tuple_how(pe, &elems[i]);
		part.draw = in->draw + i; /* each member draws for itself */
		parts[i] = payload_of(part_begin(pe, &part));
	}
	struct ck_env *env = tuple_pack(parts, n);

	for (uint64_t i = 0; i < n; i++)
		csd_msg_free(pe, &env_of(parts[i])->head);
	free(parts);
	msg_of(env)->no = (uint32_t)in->pe;
	return env;
}

static void check_parts(struct pe *pe, const CkReductionMsg *a, const CkReductionMsg *b)
{
	if (a->count != b->count)
		csd_abort(pe, "elements disagree in a tuple: it has %llu reductions on PE %u and "
			  "%llu on PE %u", (unsigned long long)a->count, a->no,
			  (unsigned long long)b->count, b->no);
	for (int i = 0; i < (int)a->count; i++) {
		const CkReductionMsg *x = CkReductionTuple_at(a, i), *y = CkReductionTuple_at(b, i);

		if (x->reserved == y->reserved &&
		    (x->count == y->count || part_how(pe, x)->merge))
			continue;
		csd_abort(pe, "elements disagree in reduction %d of a tuple: %llu x %s on PE %u and "
			  "%llu x %s on PE %u", i, (unsigned long long)x->count,
			  reducer_name(pe, (uint32_t)x->reserved), a->no,
			  (unsigned long long)y->count,
			  reducer_name(pe, (uint32_t)y->reserved), b->no);
	}
}

/* Merge the same member of n tuples. The result lies in one of them, or in a message of its own.
 * room: the bytes of the member in each tuple, because the program's reducers may change one in
 * place. */
static CkReductionMsg *part_merge(struct pe *pe, CkReductionMsg **parts, const size_t *room, int n,
				  bool *is_new_p)
{
	const struct reducer *how = part_how(pe, parts[0]);
	uint64_t op = parts[0]->reserved;
	CkReductionMsg *m = parts[0];

	for (int i = 1; how->value_bytes && i < n; i++)
		reducer_combine(how, m + 1, parts[i] + 1, m->count, false);
	if (!how->merge || n == 1)
		return m;
	m = how->merge(n, parts);
	*is_new_p = true;
	for (int i = 0; i < n; i++) {
		if (m != parts[i])
			continue;
		if (part_bytes(m) > room[i])
			too_long(pe, how);
		*is_new_p = false;
	}
	if (*is_new_p)
		merged(pe, how, m);
	else if (!how->finish)
		m->count = m->bytes;
	m->reserved = op;
	return m;
}

struct tuple_work {
	CkReductionMsg **column;  /* [n]: the same member of all tuples */
	CkReductionMsg **next;
	size_t *room;
	CkReductionMsg **parts;   /* [n_parts]: the merged members */
	bool *is_new;
};

static struct ck_env *merge_columns(struct pe *pe, struct tuple_work *w, CkReductionMsg **tuples,
				    int n)
{
	uint64_t n_parts = tuples[0]->count;

	for (int i = 0; i < n; i++)
		w->next[i] = tuples[i] + 1;
	for (uint64_t j = 0; j < n_parts; j++) {
		for (int i = 0; i < n; i++) {
			w->column[i] = w->next[i];
			w->room[i] = part_bytes(w->column[i]);
			w->next[i] = (void *)((char *)w->column[i] + w->room[i]);
		}
		w->parts[j] = part_merge(pe, w->column, w->room, n, &w->is_new[j]);
	}
	struct ck_env *env = tuple_pack(w->parts, n_parts);

	for (uint64_t j = 0; j < n_parts; j++)
		if (w->is_new[j])
			csd_msg_free(pe, &env_of(w->parts[j])->head);
	msg_of(env)->no = tuples[0]->no;
	return env;
}

/* List the tuples that have members; the others come from PEs without elements. */
static int with_parts(CkReductionMsg **to, CkReductionMsg *const *msgs, int n)
{
	int k = 0;

	for (int i = 0; i < n; i++)
		if (msgs[i]->count)
			to[k++] = msgs[i];
	return k;
}

CkReductionMsg *tuple_merge(int n_msgs, CkReductionMsg **msgs)
{
	struct pe *pe = ck_self();
	CkReductionMsg **tuples = part_list((size_t)n_msgs);
	int n = with_parts(tuples, msgs, n_msgs);
	uint64_t n_parts = n ? tuples[0]->count : 0;
	struct tuple_work w = {
		.column = part_list((size_t)n_msgs), .next = part_list((size_t)n_msgs),
		.room = cmi_alloc_zero((size_t)n_msgs, sizeof *w.room, "a tuple of reductions"),
		.parts = part_list(n_parts),
		.is_new = cmi_alloc_zero(n_parts + 1, sizeof *w.is_new, "a tuple of reductions"),
	};

	for (int i = 1; i < n; i++)
		check_parts(pe, tuples[0], tuples[i]);
	struct ck_env *env = n ? merge_columns(pe, &w, tuples, n) : env_of(msgs[0]);

	free(w.column);
	free(w.next);
	free(w.room);
	free(w.parts);
	free(w.is_new);
	free(tuples);
	return payload_of(env);
}

/* Copy a member into a message of its own and finish it. */
static CkReductionMsg *part_finish(struct pe *pe, const CkGenChare *type,
				   const CkReductionMsg *part)
{
	const struct reducer *how = part_how(pe, part);
	struct ck_env *env = msg_new((CkDataType)part->type, part->count, part->bytes);

	memcpy(values_of(env), part + 1, part->bytes);
	if (how->finish)
		env = how->finish(pe, type, env);
	msg_of(env)->reserved = part->reserved;
	return payload_of(env);
}

struct ck_env *tuple_finish(struct pe *pe, const CkGenChare *type, struct ck_env *env)
{
	const CkReductionMsg *m = msg_of(env);
	CkReductionMsg **parts = part_list(m->count);

	for (uint64_t i = 0; i < m->count; i++)
		parts[i] = part_finish(pe, type, CkReductionTuple_at(m, (int)i));
	struct ck_env *result = tuple_pack(parts, m->count);

	for (uint64_t i = 0; i < m->count; i++)
		csd_msg_free(pe, &env_of(parts[i])->head);
	free(parts);
	csd_msg_free(pe, &env->head);
	return result;
}
