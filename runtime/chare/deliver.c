/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deliver.c: from a queue to the user's handler. The message belongs to the runtime and is
 * freed after the handler, unless the handler kept it (CkKeepMsg) or sent it on.
 */
#include "dynamic_int.h"

#include <stdio.h>
#include <string.h>

const char *describe_entry(const CkGenChare *type, int entry, char *buf, size_t len)
{
	bool known = entry >= 0 && entry < type->n_entries;

	snprintf(buf, len, "%s::%s", type->name, known ? type->entries[entry].name : "?");
	return buf;
}

void ck_describe(const struct pe *pe, char *buf, size_t len)
{
	if (pe->ck && pe->ck->now.obj)
		describe_entry(pe->ck->now.obj->coll->type, (int)pe->ck->now.entry, buf, len);
	else
		buf[0] = 0;
}

/* The message whose handler runs and has not taken it; NULL otherwise. */
static struct ck_env *current(const struct ck_pe *ck)
{
	return ck->now.obj ? ck->now.env : NULL;
}

/* Call the handler on one element. Whether to free env is the caller's business. */
static inline void run(struct pe *pe, struct ck_obj *obj, uint32_t entry, CkGenCall call,
		       struct ck_env *env)
{
	pe->ck->now = (struct ck_running){ obj, env, entry };
	call(self_of(obj), payload_of(env));
	pe->ck->now.obj = NULL;
}

/* The same with the entry's attributes. */
void run_entry(struct pe *pe, struct ck_obj *obj, struct ck_env *env)
{
	const struct collection *c = obj->coll;

	if (c->entries[env->entry].flags & CKGEN_SYNC)
		sync_answer(pe, obj, env);
	else
		run(pe, obj, env->entry, checked_call(pe, c, env), env);
}

/* The same for an element's own message. */
static inline void run_and_free(struct pe *pe, struct ck_obj *obj, uint32_t entry,
				CkGenCall call, struct ck_env *env)
{
	run(pe, obj, entry, call, env);
	if (CSD_LIKELY(pe->ck->now.env == env))
		csd_msg_free(pe, &env->head);
}

void CkGen_mayAnswer(void)
{
	csd_may_answer(ck_self());
}

static void message_done(struct pe *pe, struct ck_env *env)
{
	if (pe->node->check)
		owner_free(pe, env);
	else
		csd_msg_free(pe, &env->head);
}

/* Behind a handler with CK_ENV_SPECIAL: what was lent to it ends. */
void params_end(struct pe *pe, const CkGenEntry *e, struct ck_env *env)
{
	if (e->flags & CKGEN_NOCOPY)
		ncpy_done(pe, e, env);
	if (pe->ck->unpacked)
		pup_forget(pe);
}

/* A copy that its receiver may do with as it likes. */
struct ck_env *own_copy(struct pe *pe, const struct ck_env *env)
{
	struct ck_env *copy = (struct ck_env *)csd_msg_copy(pe, &env->head);

	atomic_store_explicit(&copy->refs, 1, memory_order_relaxed); /* ours alone */
	return copy;
}

void construct(struct pe *pe, struct ck_obj *obj, void *payload)
{
	const CkGenEntry *e = &obj->coll->entries[0];

	if (e->flags & CKGEN_MESSAGE) {
		struct ck_env *copy = own_copy(pe, env_of(payload));

		copy->call = (copy->flags & (CK_ENV_SPECIAL | CK_ENV_PACKED)) * 0x10000u;
		deliver_to(pe, obj, copy, false);
		return;
	}
	pe->ck->now = (struct ck_running){ obj, NULL, 0 };
	e->call(self_of(obj), payload);
	pe->ck->now.obj = NULL;
	if (pe->ck->unpacked)
		pup_forget(pe);
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

/* A callback's data must be what the entry method declares. */
static void check_reduced(struct pe *pe, const CkGenChare *type, int entry, CkReductionMsg *m)
{
	const CkGenEntry *e = &type->entries[entry];
	char name[128];

	if (!e->reduced)
		csd_abort(pe, "%s cannot be called by a callback: declare it [reductiontarget]",
			  describe_entry(type, entry, name, sizeof name));
	if (e->want == CK_NOTYPE)
		return;
	if (!data_as(m, (CkDataType)e->want) || (!e->want_array && m->count != e->want_count))
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

static void check_entry(struct pe *pe, const struct collection *c, const struct ck_env *env)
{
	if (env->entry >= c->type->n_entries)
		csd_abort(pe, "message from PE %d calls entry %d of %s; it has %d", env->head.src_pe,
			  env->entry, c->type->name, c->type->n_entries);
}

/* What the message calls, after checking that it may. */
CkGenCall checked_call(struct pe *pe, const struct collection *c, struct ck_env *env)
{
	check_entry(pe, c, env);
	if (!(env->flags & CK_ENV_REDUCED))
		return c->entries[env->entry].call;
	check_reduced(pe, c->type, env->entry, payload_of(env));
	return c->entries[env->entry].reduced;
}

_Noreturn static void not_here(struct pe *pe, const struct collection *c, const struct ck_env *env)
{
	char name[128];

	describe_entry(c->type, env->entry, name, sizeof name);
	csd_abort(pe, "PE %d called %s on an element that is not on this PE; a map must give the "
		  "same PE everywhere and every time", env->head.src_pe, name);
}

/* ---- entries with attributes, and elements that have calls waiting ----------------------------- */

/* Behind a handler: what was lent to it ends, and so does a message of its own that it has not
 * taken. `special` is from before, because the handler may have freed the message. */
void call_ended(struct pe *pe, const CkGenEntry *e, struct ck_env *env, bool special, bool shared)
{
	if (special)
		params_end(pe, e, env);
	if (shared || pe->ck->now.env != env)
		return;
	if (special)
		message_done(pe, env);
	else
		csd_msg_free(pe, &env->head);
}

/* Run the handler where it belongs. The message is the element's own, or, shared, its caller's. */
void execute(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared)
{
	const CkGenEntry *e = &obj->coll->entries[env->entry];
	bool special = env_is_special(pe, env);

	if (special)
		env->head.mark = OWNER_HANDLER;
	if (special && (env->flags & CK_ENV_LENT))
		ncpy_arrived(pe, e, env);
	if (e->flags & CKGEN_THREADED) {
		thread_start(pe, obj, env, shared);
		return;
	}
	pe->ck->shared = shared;
	run_entry(pe, obj, env);
	pe->ck->shared = false;
	call_ended(pe, e, env, special, shared);
}

void deliver_to(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared)
{
	check_entry(pe, obj->coll, env);
	if (env->flags & CK_ENV_PACKED)
		env = message_unpack(pe, obj->coll->entries[env->entry].message, env);
	if (obj->coll->entries[env->entry].flags & CKGEN_AWAITED) {
		sdag_arrived(pe, obj, env, shared);
		return;
	}
	if ((obj->coll->entries[env->entry].flags & CKGEN_WHEN) &&
	    when_keeps(pe, obj, env, shared))
		return;
	execute(pe, obj, env, shared);
	if (CSD_UNLIKELY(obj->extra))
		when_test(pe, obj);
}

/* Construct an object that alone gets the message, which names its chare. */
void deliver_new(struct pe *pe, struct ck_obj *obj, struct ck_env *env)
{
	env->entry = 0;
	env->spare = 0;
	if (obj->coll->entries[0].flags & (CKGEN_SPECIAL | CKGEN_MESSAGE))
		env->flags |= CK_ENV_SPECIAL;
	deliver_to(pe, obj, env, false);
}

/* ---- to one, to all ----------------------------------------------------------------------------- */

/* To the element whose place the message names. */
void deliver_one(struct pe *pe, struct collection *c, struct ck_env *env)
{
	struct ck_obj *obj = coll_find(c, env->place);

	if (CSD_LIKELY(obj != NULL)) {
		deliver_to(pe, obj, env, false);
		return;
	}
	if (c->type->kind != CKGEN_ARRAY || coll_slot(c, env->place) == UINT64_MAX)
		not_here(pe, c, env);
	env->head.handler = (uint16_t)pe->node->ck->h_element;
	element_missing(pe, c, index_at(c, env->place), env);
}

/* What element_arrived cannot do by place alone. */
static __attribute__((noinline)) void element_arrived_slow(struct pe *pe, struct collection *c,
							   struct ck_env *env)
{
	if (!c->constructed)
		coll_wait(c, &env->head);
	else if (c->sparse)
		sparse_arrived(pe, c, env);
	else
		deliver_one(pe, c, env);
}

/* Two comparisons stand for all checks: n_here is 0 while the elements do not exist or have to be
 * looked up, and a `call` with any flag is no number of an entry. What needs more than that
 * (entries with attributes, elements that come and go) makes n_here or n_entries 0. */
void element_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	struct collection *c = coll_get(pe, env->coll);
	uint64_t at = env->place - c->first;

	if (CSD_LIKELY(at < c->n_here && env->call < c->n_entries))
		run_and_free(pe, c->elems[at], env->call, c->entries[env->call].call, env);
	else
		element_arrived_slow(pe, c, env);
}

/* One message for all: it is freed when the last has let go of it. */
static void deliver_shared(struct pe *pe, struct ck_obj **objs, uint64_t n, struct ck_env *env)
{
	for (uint64_t i = 0; i < n; i++)
		if (CSD_LIKELY(objs[i] != NULL))
			deliver_to(pe, objs[i], env, true);
}

/* A message that the handler may change or send on: one copy for each element. */
static void deliver_copies(struct pe *pe, struct ck_obj **objs, uint64_t n, struct ck_env *env)
{
	for (uint64_t i = 0; i < n; i++)
		if (CSD_LIKELY(objs[i] != NULL))
			deliver_to(pe, objs[i], own_copy(pe, env), false);
}

/* To n elements of this PE, of which some may be gone; the message is nobody else's. */
void deliver_some(struct pe *pe, struct collection *c, struct ck_obj **objs, uint64_t n,
		  struct ck_env *env)
{
	check_entry(pe, c, env);
	if (n == 1 && objs[0]) {
		deliver_to(pe, objs[0], env, false);
		return;
	}
	struct dynamic *dyn = c->dyn;

	if (dyn)
		dyn->busy++;
	if (c->entries[env->entry].flags & CKGEN_MESSAGE)
		deliver_copies(pe, objs, n, env);
	else
		deliver_shared(pe, objs, n, env);
	if (dyn)
		dyn->busy--;
	env_unref(pe, env);
}

/* To the only one, a group's mostly; as in element_arrived n_here and n_entries stand for all that may
 * be in the way. Around the handler this takes 99 instructions, by deliver_some 225. */
void deliver_all(struct pe *pe, struct collection *c, struct ck_env *env)
{
	const uint32_t rare = CK_ENV_SPECIAL | CK_ENV_PACKED;

	if (c->n_here == 1 && env->entry < c->n_entries && !(env->flags & rare) &&
	    !(c->entries[env->entry].flags & CKGEN_SPECIAL) && CSD_LIKELY(!pe->node->check))
		run_and_free(pe, c->elems[0], env->entry, checked_call(pe, c, env), env);
	else
		deliver_some(pe, c, c->elems, c->n_slots, env);
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
		int home = pe->id;

		next = m->next;
		if (env->flags & CK_ENV_UNPLACED)
			home = address_in_array(pe, c, env->index, env);
		if (home == pe->id)
			coll_wait(c, m);
		else
			csd_send(pe, home, m);
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

	if (env->flags & CK_ENV_SHAPED) {
		struct ck_shape shape;

		memcpy(&shape, (char *)env + env->head.size - sizeof shape, sizeof shape);
		coll_shape(pe, c, type, &shape);
		if (shape.ready)
			ready_want(pe, c, NULL);
	} else {
		coll_type(pe, c, type, CkDimsN(type->nd ? type->nd : 1, env->index.v[0],
					       env->index.v[1], env->index.v[2], 1, 1, 1),
			  map_by_number(ck, env->spare));
	}
	route_early(pe, c);
	coll_construct(pe, c, payload_of(env));
	env_unref(pe, env);
}

/* ---- what a handler may do with its message --------------------------------------------- */

/* Not all that the parameters point to is in the message. */
static void check_keep(struct pe *pe)
{
	const CkGenChare *type = pe->ck->now.obj->coll->type;
	uint32_t flags = type->entries[pe->ck->now.entry].flags;

	if (flags & CKGEN_NOCOPY)
		csd_abort(pe, "CkKeepMsg: nocopy arrays are the caller's memory, valid until the "
			  "handler returns; copy what is to be kept");
	if (flags & CKGEN_PUP)
		csd_abort(pe, "CkKeepMsg: objects that a pup function made are valid until the "
			  "handler returns; copy what is to be kept");
}

void *CkKeepMsg(void)
{
	struct pe *pe = ck_self();
	struct ck_env *env = current(pe->ck);

	if (!env)
		csd_abort(pe, "CkKeepMsg: no message is being delivered, or it is kept, freed or "
			  "sent already");
	if (env == &pe->ck->batch) {
		pe->ck->now.env = NULL;
		return aggregate_keep(pe);
	}
	if (CSD_UNLIKELY(env->flags & CK_ENV_SPECIAL))
		check_keep(pe);
	env->head.mark = OWNER_PROGRAM;
	if (pe->ck->shared)
		/* Relaxed: we hold a reference already, so it cannot reach 0 meanwhile. */
		atomic_fetch_add_explicit(&env->refs, 1, memory_order_relaxed);
	pe->ck->now.env = NULL;
	return payload_of(env);
}

void CkFreeMsg(void *msg)
{
	struct pe *pe = ck_self();

	if (!msg)
		return;
	struct ck_env *env = env_of(msg);

	if (env != current(pe->ck)) {
		sdag_let_go(env);
		if (pe->node->check)
			owner_check_free(pe, env);
		else
			env_unref(pe, env);
	} else if (!pe->ck->shared) {
		/* Charm++'s habit: a handler frees its message itself. */
		pe->ck->now.env = NULL;
		message_done(pe, env);
	}
}
