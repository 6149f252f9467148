/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce.c: reductions. Each PE combines what its elements contribute, then its children in
 * PE 0's tree, and passes one message to its parent; PE 0 fires the callback. Elements may
 * run ahead: the k-th contribution of each belongs to the k-th reduction, and several
 * reductions of one collection can be open at a time.
 *
 * Children without elements below them send nothing; the map, known everywhere, tells which.
 * Floating-point sums and products are combined in index order, not in order of arrival, so
 * that equal runs give equal bits; that costs a slot per contribution.
 */
#include "ck_int.h"

#include <stdlib.h>
#include <string.h>

struct reduction {
	uint32_t no;
	bool begun;               /* op, count and cb are known */
	CkReduction op;
	uint64_t count;
	size_t bytes;             /* of one contribution */
	CkCallback cb;
	uint64_t n_local_in;
	int n_children_in;
	char *data;               /* one accumulator, or a slot per contributor */
	bool *filled;             /* which slots; NULL: one accumulator */
	struct reduction *next;
};

/* What goes to the parent; the values follow, 16-byte aligned. */
struct reduce_wire {
	CkCallback cb;
	uint64_t count;
	uint32_t no;
	uint32_t op;
};
_Static_assert(sizeof(struct reduce_wire) % 16 == 0, "values stay aligned");

/* ---- operations --------------------------------------------------------------------------- */

#define DEFINE_OP(name, T, expr)                                        \
	static void name(void *acc_, const void *in_, size_t n)         \
	{                                                               \
		T *acc = acc_;                                          \
		const T *in = in_;                                      \
		for (size_t i = 0; i < n; i++) {                        \
			T a = acc[i], b = in[i];                        \
			acc[i] = (T)(expr);                             \
		}                                                       \
	}
#define DEFINE_OPS(op, expr)                                            \
	DEFINE_OP(op##_int, int, expr)                                  \
	DEFINE_OP(op##_long, long, expr)                                \
	DEFINE_OP(op##_float, float, expr)                              \
	DEFINE_OP(op##_double, double, expr)

DEFINE_OPS(sum, a + b)
DEFINE_OPS(product, a * b)
DEFINE_OPS(max, a > b ? a : b)
DEFINE_OPS(min, a < b ? a : b)
DEFINE_OP(logical_and_int, int, a && b)
DEFINE_OP(logical_or_int, int, a || b)
DEFINE_OP(bitvec_and_int, int, a & b)
DEFINE_OP(bitvec_or_int, int, a | b)

struct op {
	const char *name;
	CkDataType type;
	bool ordered;             /* the result depends on the order */
	void (*combine)(void *acc, const void *in, size_t n);
};

#define OP(name, type, ordered) [CkReduction_##name] = { #name, type, ordered, name }
static const struct op ops[CkReduction_N] = {
	[CkReduction_nop] = { "nop", CK_NOTYPE, false, NULL },
	OP(sum_int, CK_INT, false), OP(sum_long, CK_LONG, false),
	OP(sum_float, CK_FLOAT, true), OP(sum_double, CK_DOUBLE, true),
	OP(product_int, CK_INT, false), OP(product_long, CK_LONG, false),
	OP(product_float, CK_FLOAT, true), OP(product_double, CK_DOUBLE, true),
	OP(max_int, CK_INT, false), OP(max_long, CK_LONG, false),
	OP(max_float, CK_FLOAT, false), OP(max_double, CK_DOUBLE, false),
	OP(min_int, CK_INT, false), OP(min_long, CK_LONG, false),
	OP(min_float, CK_FLOAT, false), OP(min_double, CK_DOUBLE, false),
	OP(logical_and_int, CK_INT, false), OP(logical_or_int, CK_INT, false),
	OP(bitvec_and_int, CK_INT, false), OP(bitvec_or_int, CK_INT, false),
};

size_t data_type_bytes(CkDataType type)
{
	static const size_t bytes[] = { [CK_NOTYPE] = 0, [CK_INT] = sizeof(int),
		[CK_LONG] = sizeof(long), [CK_FLOAT] = sizeof(float),
		[CK_DOUBLE] = sizeof(double), [CK_BYTE] = 1 };

	return type <= CK_BYTE ? bytes[type] : 0;
}

const char *data_type_name(CkDataType type)
{
	static const char *const name[] = { [CK_NOTYPE] = "nothing", [CK_INT] = "int",
		[CK_LONG] = "long", [CK_FLOAT] = "float", [CK_DOUBLE] = "double",
		[CK_BYTE] = "bytes" };

	return type <= CK_BYTE ? name[type] : "an unknown type";
}

/* ---- the tree ------------------------------------------------------------------------------- */

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
	int n_pes = pe->node->job->n_pes, n = 0, child;
	bool *has = calloc((size_t)n_pes, sizeof *has);
	bool *active = calloc((size_t)csd_tree_n_children(pe, 0) + 1, sizeof *active);

	if (!has || !active)
		csd_abort(pe, "no memory for a reduction over %d PEs", n_pes);
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

/* ---- one reduction ---------------------------------------------------------------------------- */

static struct reduction *find_or_open(struct pe *pe, struct collection *c, uint32_t no)
{
	struct reduction **p = &c->reductions;

	while (*p && (*p)->no != no)
		p = &(*p)->next;
	if (*p)
		return *p;
	if (c->n_children < 0)
		c->n_children = count_children(pe, c);
	struct reduction *r = calloc(1, sizeof *r);

	if (!r)
		csd_abort(pe, "no memory for a reduction");
	r->no = no;
	return *p = r;
}

static void reduction_free(struct reduction *r)
{
	free(r->data);
	free(r->filled);
	free(r);
}

void reduce_fini(struct collection *c)
{
	while (c->reductions) {
		struct reduction *r = c->reductions;

		c->reductions = r->next;
		reduction_free(r);
	}
}

static void begin(struct pe *pe, struct collection *c, struct reduction *r, CkReduction op,
		  uint64_t count, const CkCallback *cb)
{
	size_t slots = ops[op].ordered ? c->n_local + (size_t)csd_tree_n_children(pe, 0) : 1;

	r->begun = true;
	r->op = op;
	r->count = count;
	r->cb = *cb;
	r->bytes = count * data_type_bytes(ops[op].type);
	r->data = r->bytes ? malloc(slots * r->bytes) : NULL;
	r->filled = r->bytes ? calloc(slots, sizeof *r->filled) : NULL;
	if (r->bytes && (!r->data || !r->filled))
		csd_abort(pe, "no memory for a reduction of %zu x %zu bytes", slots, r->bytes);
}

_Noreturn static void disagree(struct pe *pe, struct collection *c, struct reduction *r,
			       CkReduction op, uint64_t count, const CkCallback *cb)
{
	char was[96], is[96];

	callback_describe(pe, &r->cb, was, sizeof was);
	callback_describe(pe, cb, is, sizeof is);
	csd_abort(pe, "elements of %s disagree in reduction %u: %llu x %s to %s, and %llu x %s to %s",
		  c->type->name, r->no, (unsigned long long)r->count, ops[r->op].name, was,
		  (unsigned long long)count, ops[op].name, is);
}

/* Slot `slot` of an ordered reduction, else the one accumulator. */
static void put_in(struct reduction *r, size_t slot, const void *data)
{
	if (!r->bytes)
		return;
	if (!ops[r->op].ordered)
		slot = 0;
	if (r->filled[slot])
		ops[r->op].combine(r->data, data, r->count);
	else
		memcpy(r->data + slot * r->bytes, data, r->bytes);
	r->filled[slot] = true;
}

/* Combine the slots in order into the first that is filled, and return it. */
static const void *result(struct pe *pe, struct collection *c, struct reduction *r)
{
	char *acc = NULL;
	size_t slots = c->n_local + (size_t)csd_tree_n_children(pe, 0);

	if (!r->bytes || !ops[r->op].ordered)
		return r->data;
	for (size_t i = 0; i < slots; i++) {
		char *slot = r->data + i * r->bytes;

		if (!r->filled[i])
			continue;
		if (acc)
			ops[r->op].combine(acc, slot, r->count);
		else
			acc = slot;
	}
	return acc;
}

static void pass_up(struct pe *pe, struct collection *c, struct reduction *r)
{
	struct ck_env *env = env_new(pe, pe->node->ck->h_reduce,
				     sizeof(struct reduce_wire) + r->bytes);
	struct reduce_wire *w = payload_of(env);

	env->coll = c->id;
	*w = (struct reduce_wire){ r->cb, r->count, r->no, (uint32_t)r->op };
	if (r->bytes)
		memcpy(w + 1, result(pe, c, r), r->bytes);
	csd_send(pe, csd_tree_parent(pe, 0), &env->head);
}

static void maybe_finish(struct pe *pe, struct collection *c, struct reduction *r)
{
	if (r->n_local_in < c->n_local || r->n_children_in < c->n_children)
		return;
	struct reduction **p = &c->reductions;

	while (*p != r)
		p = &(*p)->next;
	*p = r->next;
	if (pe->id != 0)
		pass_up(pe, c, r);
	else
		callback_fire(pe, &r->cb, ops[r->op].type, result(pe, c, r), r->count, r->bytes);
	reduction_free(r);
}

static void join(struct pe *pe, struct collection *c, struct reduction *r, CkReduction op,
		 uint64_t count, const CkCallback *cb)
{
	if (!r->begun)
		begin(pe, c, r, op, count, cb);
	else if (r->op != op || r->count != count || !callback_same(&r->cb, cb))
		disagree(pe, c, r, op, count, cb);
}

void CkContribute(void *self, const void *data, size_t count, CkReduction op, CkCallback cb)
{
	struct pe *pe = ck_self();
	struct ck_obj *obj = obj_of(self);
	struct collection *c = obj->coll;

	if ((unsigned)op >= CkReduction_N)
		csd_abort(pe, "CkContribute: there is no reduction %d", (int)op);
	if (c->type->kind == CKGEN_MAINCHARE)
		csd_abort(pe, "CkContribute: %s is a main chare; only elements of arrays and "
			  "groups contribute", c->type->name);
	if (op == CkReduction_nop)
		count = 0;
	struct reduction *r = find_or_open(pe, c, obj->n_contributed++);

	join(pe, c, r, op, count, &cb);
	put_in(r, obj->ordinal, data);
	r->n_local_in++;
	maybe_finish(pe, c, r);
}

void reduce_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	struct reduce_wire *w = payload_of(env);
	struct collection *c = coll_get(pe, env->coll);

	if (!c->constructed) {
		coll_wait(c, m);
		return;
	}
	int child = child_towards(pe, m->src_pe);

	if (w->op >= CkReduction_N || child < 0)
		csd_abort(pe, "message from PE %d belongs to no reduction here", m->src_pe);
	struct reduction *r = find_or_open(pe, c, w->no);

	join(pe, c, r, (CkReduction)w->op, w->count, &w->cb);
	put_in(r, c->n_local + (size_t)child, w + 1);
	r->n_children_in++;
	env_unref(pe, env);
	maybe_finish(pe, c, r);
}
