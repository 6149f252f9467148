/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deliver.c: from a queue to the user's handler. The message belongs to the runtime and is
 * freed after the handler, unless the handler kept it (CkKeepMsg) or sent it on.
 */
#include "ck_int.h"

#include <stdio.h>
#include <string.h>

/* What runs, for error lines: a chare and the number of its entry method. */
struct where {
	const CkGenChare *type;
	int entry;
};

const char *describe_entry(const CkGenChare *type, int entry, char *buf, size_t len)
{
	bool known = entry >= 0 && entry < type->n_entries;

	snprintf(buf, len, "%s::%s", type->name, known ? type->entries[entry].name : "?");
	return buf;
}

void ck_describe(const struct pe *pe, char *buf, size_t len)
{
	const struct where *w = pe->where;

	if (w)
		describe_entry(w->type, w->entry, buf, len);
	else
		buf[0] = 0;
}

void call_handler(struct pe *pe, struct ck_obj *obj, int entry, void *payload, bool reduced)
{
	const CkGenChare *type = obj->coll->type;
	const CkGenEntry *e = &type->entries[entry];
	const void *outer = pe->where;
	struct where here = { type, entry };

	pe->where = &here;
	if (CSD_UNLIKELY(reduced))
		e->reduced(self_of(obj), payload);
	else
		e->call(self_of(obj), payload);
	pe->where = outer;
}

_Noreturn static void wrong_data(struct pe *pe, const CkGenChare *type, int entry,
				 const CkReductionMsg *m)
{
	const CkGenEntry *e = &type->entries[entry];
	char name[128];

	describe_entry(type, entry, name, sizeof name);
	if (e->want_array)
		csd_abort(pe, "%s takes an array of %s; the callback brought %llu of %s", name,
			  data_type_name(e->want), (unsigned long long)m->count,
			  data_type_name((CkDataType)m->type));
	csd_abort(pe, "%s takes %u of %s; the callback brought %llu of %s", name, e->want_count,
		  data_type_name(e->want), (unsigned long long)m->count,
		  data_type_name((CkDataType)m->type));
}

/* A callback's data must be what the entry method declares. Plain bytes fit by size. */
static void check_reduced(struct pe *pe, const CkGenChare *type, int entry, CkReductionMsg *m)
{
	const CkGenEntry *e = &type->entries[entry];
	char name[128];

	if (!e->reduced)
		csd_abort(pe, "%s cannot be called by a callback: declare it [reductiontarget]",
			  describe_entry(type, entry, name, sizeof name));
	if (e->want == CK_NOTYPE)
		return;
	if (m->type == CK_BYTE) {
		size_t each = data_type_bytes(e->want);

		if (m->bytes % each)
			wrong_data(pe, type, entry, m);
		m->count = m->bytes / each;
		m->type = e->want;
	}
	if (m->type != e->want || (!e->want_array && m->count != e->want_count))
		wrong_data(pe, type, entry, m);
}

void env_unref(struct pe *pe, struct ck_env *env)
{
	/* The only holder needs no atomic step; acquire pairs with the release of those who
	 * let go before, so their reads of the message are over. */
	if (atomic_load_explicit(&env->refs, memory_order_acquire) == 1 ||
	    atomic_fetch_sub_explicit(&env->refs, 1, memory_order_acq_rel) == 1)
		csd_msg_free(pe, &env->head);
}

/* Call the handler on one element. shared: others get the same message. */
void deliver(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared)
{
	struct ck_pe *ck = pe->ck;
	bool reduced = env->flags & CK_ENV_REDUCED;
	struct ck_env *outer = ck->current;
	bool outer_shared = ck->shared;

	ck->current = env;
	ck->shared = shared;
	call_handler(pe, obj, env->entry, payload_of(env), reduced);
	if (CSD_LIKELY(ck->current == env && !shared))
		csd_msg_free(pe, &env->head);
	ck->current = outer;
	ck->shared = outer_shared;
}

static void check_entry(struct pe *pe, const struct collection *c, struct ck_env *env)
{
	if (CSD_UNLIKELY(env->entry >= c->type->n_entries))
		csd_abort(pe, "message from PE %d calls entry %d of %s; it has %d", env->head.src_pe,
			  env->entry, c->type->name, c->type->n_entries);
	if (CSD_UNLIKELY(env->flags & CK_ENV_REDUCED))
		check_reduced(pe, c->type, env->entry, payload_of(env));
}

_Noreturn static void not_here(struct pe *pe, const struct collection *c, const struct ck_env *env)
{
	char name[128];

	describe_entry(c->type, env->entry, name, sizeof name);
	csd_abort(pe, "PE %d called %s on an element that is not on this PE; a map must give the "
		  "same PE everywhere and every time", env->head.src_pe, name);
}

/* To the element that the message names. */
void deliver_one(struct pe *pe, struct collection *c, struct ck_env *env)
{
	struct ck_obj *obj = coll_find(c, env->index);

	if (CSD_UNLIKELY(!obj))
		not_here(pe, c, env);
	check_entry(pe, c, env);
	deliver(pe, obj, env, false);
}

void element_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	struct collection *c = coll_get(pe, env->coll);

	if (CSD_UNLIKELY(!c->constructed)) {
		coll_wait(c, m);
		return;
	}
	deliver_one(pe, c, env);
}

/* A message that the handler may change or send on: one copy for each element. */
static void deliver_copies(struct pe *pe, struct collection *c, struct ck_env *env)
{
	for (uint64_t i = 0; i < c->n_local; i++) {
		struct ck_env *copy = (struct ck_env *)csd_msg_copy(pe, &env->head);

		atomic_store_explicit(&copy->refs, 1, memory_order_relaxed); /* ours alone */
		deliver(pe, c->elems[i], copy, false);
	}
}

/* To all elements of this PE; the message is nobody else's. */
void deliver_all(struct pe *pe, struct collection *c, struct ck_env *env)
{
	check_entry(pe, c, env);
	if (c->n_local == 1) {
		deliver(pe, c->elems[0], env, false);
		return;
	}
	if (c->type->entries[env->entry].flags & CKGEN_MESSAGE)
		deliver_copies(pe, c, env);
	else
		for (uint64_t i = 0; i < c->n_local; i++)
			deliver(pe, c->elems[i], env, true);
	env_unref(pe, env);
}

void bcast_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	struct collection *c = coll_get(pe, env->coll);

	bcast_forward(pe, env);
	if (CSD_UNLIKELY(!c->constructed)) {
		coll_wait(c, m);
		return;
	}
	deliver_all(pe, c, env);
}

/* Calls made here with a proxy that came before its collection's creation: now their homes
 * are known. They leave before the constructors run, so that no later call overtakes them. */
static void route_early(struct pe *pe, struct collection *c)
{
	struct cmi_msg *m = c->waiting.head, *next;

	c->waiting.head = NULL;
	c->waiting.tail = &c->waiting.head;
	for (; m; m = next) {
		struct ck_env *env = (struct ck_env *)m;
		CkElement e = { env->coll, env->index, 0 };

		next = m->next;
		if (m->handler == pe->node->ck->h_element && m->src_pe == pe->id &&
		    !coll_lives_here(pe, c, env->index))
			send_element(pe, c->type, &e, env);
		else
			coll_wait(c, m);
	}
}

void create_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	const struct ck_node *ck = pe->node->ck;
	struct collection *c = coll_get(pe, env->coll);

	bcast_forward(pe, env);
	if (env->entry >= ck->n_chares || env->spare > ck->n_maps)
		csd_abort(pe, "message from PE %d creates chare %d with map %d: unknown here",
			  m->src_pe, env->entry, env->spare);
	const CkGenChare *type = ck->chares[env->entry];
	CkArrayDims dims = { type->nd, { env->index.v[0], env->index.v[1], env->index.v[2] } };

	coll_type(pe, c, type, dims, map_by_number(ck, env->spare));
	route_early(pe, c);
	coll_construct(pe, c, payload_of(env));
	env_unref(pe, env);
}

/* ---- what a handler may do with its message --------------------------------------------- */

void *CkKeepMsg(void)
{
	struct pe *pe = ck_self();
	struct ck_env *env = pe->ck->current;

	if (!env)
		csd_abort(pe, "CkKeepMsg: no message is being delivered, or it is kept, freed or "
			  "sent already");
	if (pe->ck->shared)
		/* Relaxed: we hold a reference already, so it cannot reach 0 meanwhile. */
		atomic_fetch_add_explicit(&env->refs, 1, memory_order_relaxed);
	pe->ck->current = NULL;
	return payload_of(env);
}

void CkFreeMsg(void *msg)
{
	struct pe *pe = ck_self();

	if (!msg)
		return;
	struct ck_env *env = env_of(msg);

	if (env != pe->ck->current)
		env_unref(pe, env);
	else if (!pe->ck->shared) {
		/* Charm++'s habit: a handler frees its message itself. */
		pe->ck->current = NULL;
		csd_msg_free(pe, &env->head);
	}
}

/* ---- what an element knows of itself ------------------------------------------------------ */

CkProxy CkGen_thisProxy(const void *self)
{
	return (CkProxy){ obj_of(self)->coll->id };
}

CkIndex CkGen_thisIndex(const void *self)
{
	return obj_of(self)->index;
}

void *CkGen_ckLocal(const CkGenChare *chare, const CkElement *e)
{
	struct pe *pe = ck_self();
	struct collection *c = coll_get(pe, e->id);

	if (!c->constructed || c->type != chare)
		return NULL;
	if (chare->kind == CKGEN_GROUP && e->index.v[0] != pe->id)
		return NULL;
	struct ck_obj *obj = coll_find(c, e->index);

	return obj ? self_of(obj) : NULL;
}
