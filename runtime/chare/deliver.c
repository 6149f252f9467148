/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deliver.c: from a queue to the user's handler. The message belongs to the runtime and is
 * freed after the handler, unless the handler kept it (CkKeepMsg) or sent it on.
 */
#include "ck_int.h"

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

void ck_swap_running(struct pe *pe, uint64_t state[CSD_RUNNING_WORDS])
{
	struct {
		struct ck_running now;
		bool shared;
		struct pup_block *unpacked;
	} theirs, ours = { pe->ck->now, pe->ck->shared, pe->ck->unpacked };

	_Static_assert(sizeof ours == CSD_RUNNING_WORDS * sizeof *state, "a thread has room for it");
	memcpy(&theirs, state, sizeof theirs);
	memcpy(state, &ours, sizeof ours);
	pe->ck->now = theirs.now;
	pe->ck->shared = theirs.shared;
	pe->ck->unpacked = theirs.unpacked;
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

/* The same for an element's own message. */
static inline void run_and_free(struct pe *pe, struct ck_obj *obj, uint32_t entry,
				CkGenCall call, struct ck_env *env)
{
	run(pe, obj, entry, call, env);
	if (CSD_LIKELY(pe->ck->now.env == env))
		csd_msg_free(pe, &env->head);
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

/* An element's own message, of an entry with attributes or in its packed form. */
static void run_special(struct pe *pe, struct ck_obj *obj, CkGenCall call, struct ck_env *env)
{
	uint32_t entry = env->entry;
	const CkGenEntry *e = &obj->coll->entries[entry];

	if (env->flags & CK_ENV_PACKED)
		env = message_unpack(pe, e->message, env);
	env->head.mark = OWNER_HANDLER;
	run(pe, obj, entry, call, env);
	params_end(pe, e, env);
	if (pe->ck->now.env == env)
		message_done(pe, env);
}

static void run_own(struct pe *pe, struct ck_obj *obj, CkGenCall call, struct ck_env *env)
{
	if (CSD_UNLIKELY(env->flags & (CK_ENV_SPECIAL | CK_ENV_PACKED)))
		run_special(pe, obj, call, env);
	else
		run_and_free(pe, obj, env->entry, call, env);
}

/* A copy that its receiver may do with as it likes. */
static struct ck_env *own_copy(struct pe *pe, const struct ck_env *env)
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

		copy->entry = 0;
		run_special(pe, obj, e->call, copy);
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

/* What the message calls, after checking that it may. */
static CkGenCall checked_call(struct pe *pe, const struct collection *c, struct ck_env *env)
{
	if (env->entry >= c->n_entries)
		csd_abort(pe, "message from PE %d calls entry %d of %s; it has %u", env->head.src_pe,
			  env->entry, c->type->name, c->n_entries);
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

/* To the element whose place the message names. */
void deliver_one(struct pe *pe, struct collection *c, struct ck_env *env)
{
	struct ck_obj *obj = coll_find(c, env->place);

	if (!obj)
		not_here(pe, c, env);
	run_own(pe, obj, checked_call(pe, c, env), env);
}

/* What element_arrived cannot do by place alone. */
static __attribute__((noinline)) void element_arrived_slow(struct pe *pe, struct collection *c,
							   struct ck_env *env)
{
	if (c->constructed)
		deliver_one(pe, c, env);
	else
		coll_wait(c, &env->head);
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
static void deliver_shared(struct pe *pe, struct ck_obj **objs, uint64_t n, CkGenCall call,
			   struct ck_env *env)
{
	pe->ck->shared = true;
	for (uint64_t i = 0; i < n; i++) {
		run(pe, objs[i], env->entry, call, env);
		if (CSD_UNLIKELY(env->flags & CK_ENV_SPECIAL))
			params_end(pe, &objs[i]->coll->entries[env->entry], env);
	}
	pe->ck->shared = false;
}

/* A message that the handler may change or send on: one copy for each element. */
static void deliver_copies(struct pe *pe, struct ck_obj **objs, uint64_t n, CkGenCall call,
			   struct ck_env *env)
{
	for (uint64_t i = 0; i < n; i++)
		run_own(pe, objs[i], call, own_copy(pe, env));
}

/* To n elements of this PE; the message is nobody else's. */
void deliver_some(struct pe *pe, struct collection *c, struct ck_obj **objs, uint64_t n,
		  struct ck_env *env)
{
	CkGenCall call = checked_call(pe, c, env);

	if (n == 1) {
		run_own(pe, objs[0], call, env);
		return;
	}
	if (c->entries[env->entry].flags & CKGEN_MESSAGE)
		deliver_copies(pe, objs, n, call, env);
	else
		deliver_shared(pe, objs, n, call, env);
	env_unref(pe, env);
}

void deliver_all(struct pe *pe, struct collection *c, struct ck_env *env)
{
	deliver_some(pe, c, c->elems, c->n_local, env);
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
		if (env->flags & CK_ENV_UNPLACED) {
			env->flags &= (uint8_t)~CK_ENV_UNPLACED;
			home = place_in_array(pe, c, env->index, env);
		}
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
	CkArrayDims dims = { type->nd, { env->index.v[0], env->index.v[1], env->index.v[2] } };

	coll_type(pe, c, type, dims, map_by_number(ck, env->spare));
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

/* ---- what a program finds of an element ------------------------------------------------------ */

void *CkGen_ckLocal(const CkGenChare *chare, const CkElement *e)
{
	struct pe *pe = ck_self();
	struct collection *c = coll_get(pe, e->id);

	if (!c->constructed || c->type != chare)
		return NULL;
	if (chare->kind == CKGEN_GROUP && e->index.v[0] != pe->id)
		return NULL;
	uint64_t place = coll_linear(c, e->index);
	struct ck_obj *obj = place == UINT64_MAX ? NULL : coll_find(c, place);

	return obj ? self_of(obj) : NULL;
}
