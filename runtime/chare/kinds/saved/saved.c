/* SPDX-License-Identifier: Apache-2.0 */
/*
 * saved.c: main chares, singleton chares, groups and nodegroups are saved by their X_pup, and made
 * anew by it: no constructor runs in a restart. The record of an object:
 *
 *	| struct saved_image | the type's name | X_pup's bytes | what waits (wait/along/) |
 *
 * Each part is padded to 16.
 *
 * [whenidle] calls are records of their own (wait/when_idle.c), of elements of arrays, too.
 *
 * Types are known by name, because their numbers depend on how the program is linked.
 */
#include "saved.h"
#include "../../create/create.h"
#include "../../params/element/element.h"
#include "../../wait/along/along.h"
#include "../../../image/image.h"
#include "../../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

struct saved_image {
	uint64_t bytes;           /* of X_pup */
	uint64_t calls_bytes;     /* of what waits */
	uint32_t type_bytes, unused[3]; /* of its name, the zero included */
};
_Static_assert(sizeof(struct saved_image) % 16 == 0, "what follows stays aligned");

/* In this order X_on_arrived is called: the more PEs share an object, the sooner. */
static const CkGenKind order[] = { CKGEN_NODEGROUP, CKGEN_GROUP, CKGEN_MAINCHARE, CKGEN_CHARE };
enum { KINDS = sizeof order / sizeof *order };
static const char *const kind_names[] = {
	[CKGEN_NODEGROUP] = "nodegroup", [CKGEN_GROUP] = "group", [CKGEN_MAINCHARE] = "main chare",
	[CKGEN_CHARE] = "chare",
};

/* NULL: the room of this kind has not been built, so there are no such objects. */
static const struct ck_saving *saving_of(const struct pe *pe, CkGenKind kind)
{
	return ck_node_of(pe->node)->kinds[kind]->saving;
}

static struct image_name saved_name(const struct pe *pe, struct ck_obj *obj)
{
	const struct ck_saving *s = saving_of(pe, obj->coll->type->kind);
	struct image_name name = { .kind = s->record, .pe = (uint32_t)pe->id };

	s->name(pe, obj, &name);
	return name;
}

/* ---- all objects of a kind ------------------------------------------------------------------- */

static uint64_t id_of_saved(const struct ck_obj *obj)
{
	uint64_t id = obj->coll->id; /* 0: a singleton, whose index is its name */

	if (!id)
		memcpy(&id, &obj->index, sizeof id);
	return id;
}

/* In the order in which each PE made them. */
static int by_saved_id(const void *a_, const void *b_)
{
	const struct ck_obj *a = *(struct ck_obj *const *)a_, *b = *(struct ck_obj *const *)b_;
	const uint64_t i = id_of_saved(a), j = id_of_saved(b);

	return i != j ? (i > j) - (i < j) : a->index.v[2] - b->index.v[2];
}

static struct ck_objs objs_saved(struct pe *pe, CkGenKind kind)
{
	const struct ck_saving *s = saving_of(pe, kind);
	struct ck_objs all = { NULL, 0, 0 };

	if (s)
		s->list(pe, kind, &all);
	if (all.n)
		qsort(all.list, all.n, sizeof *all.list, by_saved_id);
	return all;
}

typedef void (*saved_fn)(struct pe *pe, struct ck_obj *obj, void *arg);

static void each_of_kind(struct pe *pe, CkGenKind kind, saved_fn fn, void *arg)
{
	struct ck_objs all = objs_saved(pe, kind);

	for (size_t i = 0; i < all.n; i++)
		fn(pe, all.list[i], arg);
	free(all.list);
}

static void each_saved(struct pe *pe, saved_fn fn, void *arg)
{
	for (int k = 0; k < KINDS; k++)
		each_of_kind(pe, order[k], fn, arg);
}

/* ---- what cannot be saved -------------------------------------------------------------------- */

struct refusing {
	struct csd_told *to;
	bool *seen;               /* [n_chares] */
};

/* All PEs have a group's type, and all nodes a nodegroup's: PE 0 says so. */
static void refuse_type(struct pe *pe, const CkGenChare *type, struct refusing *r)
{
	bool *seen = &r->seen[chare_number(ck_node_of(pe->node), type)];

	if (type->pup || *seen || (pe->id && type->kind != CKGEN_CHARE))
		return;
	*seen = true;
	csd_tell(r->to, NULL, "%s %s is not packed: declare 'pup %s;' in the .ci file",
		 kind_names[type->kind], type->name, type->name);
}

static void refuse_object(struct pe *pe, struct ck_obj *obj, void *arg)
{
	const struct ck_saving *s = saving_of(pe, obj->coll->type->kind);
	struct refusing *r = arg;

	refuse_type(pe, obj->coll->type, r);
	sdag_refuse(pe, obj, r->to);
	if (s->refuse_of)
		s->refuse_of(pe, obj, r->to);
}

static void saved_refuse(struct pe *pe, struct csd_told *to)
{
	const size_t n = (size_t)ck_node_of(pe->node)->n_chares;
	struct refusing r = { to, cmi_alloc_zero(n + 1, sizeof(bool), "a checkpoint") };

	each_saved(pe, refuse_object, &r);
	for (int k = 0; k < KINDS; k++)
		if (saving_of(pe, order[k]) && saving_of(pe, order[k])->refuse)
			saving_of(pe, order[k])->refuse(pe, to);
	free(r.seen);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void saved_put(struct pe *pe, struct ck_obj *obj, const struct saved_image *s, char *at)
{
	const size_t name = CkGen_align(s->type_bytes);

	memcpy(at, s, sizeof *s);
	at += sizeof *s;
	memset(at, 0, name + CkGen_align(s->bytes));
	memcpy(at, obj->coll->type->name, s->type_bytes);
	at += name;
	element_pack(pe, obj, at, s->bytes);
	if (s->calls_bytes)
		obj_calls_copy(pe, obj, at + CkGen_align(s->bytes));
}

static void write_object(struct pe *pe, struct ck_obj *obj, void *arg)
{
	struct image_out *out = arg;
	const struct image_name name = saved_name(pe, obj);
	struct saved_image s = { .type_bytes = (uint32_t)strlen(obj->coll->type->name) + 1 };
	char *at;

	if (!obj->coll->type->pup)
		return; /* refused, perhaps by PE 0 only: nothing will be written */
	if (pe->node->check && !out->to)
		element_check(pe, obj);
	s.bytes = element_size(pe, obj);
	s.calls_bytes = obj_calls_copy(pe, obj, NULL);
	at = out->add(out, &name, sizeof s + CkGen_align(s.type_bytes) + CkGen_align(s.bytes) +
					  s.calls_bytes);
	if (at)
		saved_put(pe, obj, &s, at);
}

static void saved_write(struct pe *pe, struct image_out *out)
{
	each_saved(pe, write_object, out);
	idle_write(pe, out);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int kind_of_record(const struct pe *pe, uint32_t record)
{
	int k = 0;

	while (k < KINDS && !(saving_of(pe, order[k]) && saving_of(pe, order[k])->record == record))
		k++;
	return k;
}

/* A record of a kind that has not been built is this PE's, and `read` says so. So is each
 * [whenidle] call, for now. */
static bool saved_mine(struct pe *pe, const struct image_name *name)
{
	const int k = kind_of_record(pe, name->kind);

	return k == KINDS || saving_of(pe, order[k])->mine(pe, name);
}

/** The parts of a record. */
struct saved_parts {
	struct saved_image s;
	const char *type, *bytes, *calls;
};

static const char *saved_take(const char *at, size_t n, struct saved_parts *p)
{
	const char *end = at + n;

	if (n < sizeof p->s)
		return "it is too short";
	memcpy(&p->s, at, sizeof p->s);
	p->type = at + sizeof p->s;
	if (!lies_within(p->type, end, p->s.type_bytes))
		return "its type does not lie within it";
	p->bytes = p->type + CkGen_align(p->s.type_bytes);
	if (!lies_within(p->bytes, end, p->s.bytes))
		return "its bytes do not lie within it";
	p->calls = p->bytes + CkGen_align(p->s.bytes);
	if (p->s.calls_bytes != (size_t)(end - p->calls))
		return "what waits there does not lie within it";
	return p->s.type_bytes && !p->type[p->s.type_bytes - 1] ? NULL : "its type has no end";
}

static const char *saved_read(struct pe *pe, const struct image_name *name, const void *bytes,
			      size_t n)
{
	const int k = kind_of_record(pe, name->kind);
	struct saved_parts p;

	if (name->kind == IMAGE_IDLE)
		return idle_read(pe, name, n);

	const char *why = k < KINDS ? saved_take(bytes, n, &p) :
				      "this library has been built without the room of its kind";
	const CkGenChare *type;
	struct ck_obj *obj = NULL;

	if (why)
		return why;
	type = type_by_name(ck_node_of(pe->node), p.type, order[k]);
	if (!type || !type->pup)
		return "the program has no chare of that name and kind with a pup function";
	why = saving_of(pe, order[k])->anew(pe, type, name, &obj);
	if (why)
		return why;
	element_unpack(pe, obj, p.bytes, p.s.bytes);
	saving_of(pe, order[k])->there(pe, obj, name);
	return obj_calls_remake(pe, obj, p.calls, p.s.calls_bytes);
}

/* ---- all are there --------------------------------------------------------------------------- */

static bool saved_lives(struct pe *pe, const struct ck_obj *obj)
{
	const struct ck_saving *s = saving_of(pe, obj->coll->type->kind);

	return !s->lives || s->lives(pe, obj);
}

/* The functions of others may have destroyed it. */
static void arrive(struct pe *pe, struct ck_obj *obj, void *arg)
{
	(void)arg;
	if (obj->coll->type->on_arrived && saved_lives(pe, obj))
		obj->coll->type->on_arrived(self_of(obj));
}

static void test_calls(struct pe *pe, struct ck_obj *obj, void *arg)
{
	(void)arg;
	obj_calls_test_soon(pe, obj);
}

static void saved_read_all(struct pe *pe)
{
	for (int k = 0; k < KINDS; k++) {
		const struct ck_saving *s = saving_of(pe, order[k]);

		each_of_kind(pe, order[k], arrive, NULL);
		if (s && s->all_arrived)
			s->all_arrived(pe);
	}
	each_saved(pe, test_calls, NULL);
	idle_read_all(pe);
}

#define RECORD(kind) (UINT32_C(1) << IMAGE_##kind)

const struct ck_part saved_part = {
	.name = "saved",
	.number = PART_SAVED,
	.save = {
		.refuse = saved_refuse,
		.write = saved_write,
		.kinds = RECORD(BRANCH) | RECORD(NODEGROUP) | RECORD(MAIN) | RECORD(SINGLE) |
			 RECORD(IDLE),
		.mine = saved_mine,
		.read = saved_read,
		.read_all = saved_read_all,
	},
};
