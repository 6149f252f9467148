/* SPDX-License-Identifier: Apache-2.0 */
/*
 * send.c: from a stub to the PE that has to act. The payload a stub fills is the message
 * itself: nothing is copied on the way to a queue of this node.
 */
#include "ck_int.h"

#include <stdio.h>

struct ck_env *env_new(struct pe *pe, int handler, size_t payload_bytes)
{
	struct ck_env *env =
		(struct ck_env *)csd_msg_alloc(pe, sizeof(struct ck_env) + payload_bytes);

	env->head.handler = (uint16_t)handler;
	env->flags = 0;
	atomic_store_explicit(&env->refs, 1, memory_order_relaxed); /* nobody else knows it */
	return env;
}

/* The handler is set when it is known where the payload goes. */
void *CkGen_alloc(size_t bytes)
{
	return payload_of(env_new(ck_self(), 0, bytes));
}

/* A message parameter that its handler sends on is not freed after the handler; one that goes
 * to several elements cannot be given away, so the copy that each got is. The flags are those
 * of its last journey, also in a message that was kept and is sent later. */
static struct ck_env *take(struct pe *pe, void *payload)
{
	struct ck_env *env = env_of(payload);

	if (CSD_UNLIKELY(env == pe->ck->current))
		pe->ck->current = NULL;
	env->flags = 0;
	env->head.flags = 0;
	return env;
}

static void set_options(struct ck_env *env, const CkGenEntry *entry, const CkEntryOptions *o)
{
	if (CSD_UNLIKELY(entry->flags & CKGEN_EXPEDITED))
		env->head.flags |= CMI_F_EXPEDITED;
	if (CSD_LIKELY(!o))
		return;
	if (o->prio)
		env->head.flags |= CMI_F_PRIO;
	env->head.prio = o->prio;
	if (o->queueing == CK_QUEUEING_LIFO)
		env->head.flags |= CMI_F_LIFO;
}

_Noreturn static void bad_index(struct pe *pe, const struct collection *c, const struct ck_env *env)
{
	char name[128], index[64], dims[64];
	const int32_t *i = env->index.v, *n = c->dims.n;

	describe_entry(c->type, env->entry, name, sizeof name);
	const char *fmt = c->type->nd <= 1 ? "%d" : c->type->nd == 2 ? "%d, %d" : "%d, %d, %d";

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
	snprintf(index, sizeof index, fmt, i[0], i[1], i[2]);
	snprintf(dims, sizeof dims, fmt, n[0], n[1], n[2]);
#pragma GCC diagnostic pop
	csd_abort(pe, "call of %s on element (%s): the array has %s elements, from 0", name, index,
		  dims);
}

/* A group's shape is known without its creation. */
static __attribute__((noinline)) int home_in_group(struct pe *pe, const CkGenChare *type,
						   const struct ck_env *env)
{
	struct collection shape = { .type = type };

	shape.dims = CkDims1(pe->node->job->n_pes);
	if ((uint32_t)env->index.v[0] >= (uint32_t)pe->node->job->n_pes)
		bad_index(pe, &shape, env);
	return env->index.v[0];
}

static inline int home_of(struct pe *pe, struct collection *c, const struct ck_env *env)
{
	uint64_t linear = coll_linear(c, env->index);

	if (CSD_UNLIKELY(linear == UINT64_MAX))
		bad_index(pe, c, env);
	return coll_home(pe, c, linear);
}

void send_element(struct pe *pe, const CkGenChare *type, const CkElement *e, struct ck_env *env)
{
	env->coll = e->id;
	env->index = e->index;
	env->head.handler = (uint16_t)pe->node->ck->h_element;
	if (CSD_UNLIKELY(type->kind == CKGEN_GROUP)) {
		csd_send(pe, home_in_group(pe, type, env), &env->head);
		return;
	}
	struct collection *c = coll_get(pe, e->id);

	if (CSD_UNLIKELY(!c->type)) {
		/* The proxy came before the creation did: wait for that (deliver.c). */
		env->head.src_pe = pe->id;
		coll_wait(c, &env->head);
		return;
	}
	csd_send(pe, home_of(pe, c, env), &env->head);
}

/* Copies to this PE's children in the tree of env->root. */
void bcast_forward(struct pe *pe, struct ck_env *env)
{
	if (env->flags & CK_ENV_FORWARDED)
		return;
	int n = csd_tree_n_children(pe, env->root);

	for (int i = 0; i < n; i++)
		csd_send(pe, csd_tree_child(pe, env->root, i), csd_msg_copy(pe, &env->head));
	env->flags |= CK_ENV_FORWARDED;
}

/* The children's copies leave now, ours goes through the queue like any call. */
void send_all(struct pe *pe, uint64_t id, struct ck_env *env)
{
	env->coll = id;
	env->root = pe->id;
	env->head.handler = (uint16_t)pe->node->ck->h_bcast;
	bcast_forward(pe, env);
	csd_send(pe, pe->id, &env->head);
}

void send_main(struct pe *pe, uint64_t id, struct ck_env *env)
{
	if (!id)
		coll_get_slow(pe, id); /* says why it cannot be */
	env->coll = id;
	env->index = (CkIndex){ { (int32_t)(id >> 32), 0, 0 } };
	env->head.handler = (uint16_t)pe->node->ck->h_element;
	csd_send(pe, (int)(id >> 32), &env->head);
}

void CkGen_send(const CkGenChare *chare, const CkElement *e, int entry, void *payload,
		const CkEntryOptions *o)
{
	struct pe *pe = ck_self();
	struct ck_env *env = take(pe, payload);

	env->entry = (uint16_t)entry;
	set_options(env, &chare->entries[entry], o);
	send_element(pe, chare, e, env);
}

void CkGen_sendAll(const CkGenChare *chare, CkProxy p, int entry, void *payload,
		   const CkEntryOptions *o)
{
	struct pe *pe = ck_self();
	struct ck_env *env = take(pe, payload);

	coll_get(pe, p.id);
	env->entry = (uint16_t)entry;
	set_options(env, &chare->entries[entry], o);
	send_all(pe, p.id, env);
}

void CkGen_sendMain(const CkGenChare *chare, CkProxy p, int entry, void *payload,
		    const CkEntryOptions *o)
{
	struct pe *pe = ck_self();
	struct ck_env *env = take(pe, payload);

	env->entry = (uint16_t)entry;
	set_options(env, &chare->entries[entry], o);
	send_main(pe, p.id, env);
}

/* ---- creation ---------------------------------------------------------------------------- */

/* The shape is known here at once, so that calls can follow; the elements of this PE come
 * with the creation message, like everybody's. */
static CkProxy create(struct pe *pe, const CkGenChare *type, CkArrayDims dims, int map,
		      void *payload)
{
	struct ck_env *env = env_of(payload);
	uint64_t id = coll_new_id(pe);

	coll_type(pe, coll_get(pe, id), type, dims, map_by_number(pe->node->ck, map));
	env->coll = id;
	env->entry = (uint16_t)chare_number(pe->node->ck, type);
	env->spare = (uint8_t)map;
	env->root = pe->id;
	for (int d = 0; d < 3; d++)
		env->index.v[d] = dims.n[d];
	env->head.handler = (uint16_t)pe->node->ck->h_create;
	bcast_forward(pe, env);
	csd_send(pe, pe->id, &env->head);
	return (CkProxy){ id };
}

CkProxy CkGen_newArray(const CkGenChare *chare, const CkArrayOptions *o, void *payload)
{
	struct pe *pe = ck_self();
	CkArrayDims dims = o->dims;

	if (dims.nd != chare->nd)
		csd_abort(pe, "%s_ckNew: %d extents given, the array has %d dimensions",
			  chare->name, dims.nd, chare->nd);
	for (int d = 0; d < 3; d++)
		if (dims.n[d] < 1)
			csd_abort(pe, "%s_ckNew: extent %d is %d; it must be at least 1",
				  chare->name, d, dims.n[d]);
	int map = o->map ? map_by_name(pe->node->ck, o->map) : 0;

	if (map < 0)
		csd_abort(pe, "%s_ckNew: no map is called \"%s\"; register it with CkRegisterMap "
			  "in an initnode function", chare->name, o->map);
	return create(pe, chare, dims, map, payload);
}

CkProxy CkGen_newGroup(const CkGenChare *chare, void *payload)
{
	struct pe *pe = ck_self();

	return create(pe, chare, CkDims1(pe->node->job->n_pes), 0, payload);
}

void CkGen_badLength(const CkGenChare *chare, int entry, const char *param, long long n)
{
	char name[128];

	describe_entry(chare, entry, name, sizeof name);
	csd_abort(ck_self(), "call of %s: the length of %s is %lld", name, param, n);
}
