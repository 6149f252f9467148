/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nodegroup.c: one branch per node (process), which all PEs of the node share. A call goes into
 * the node's queue, and whichever PE comes first runs it; so calls of one branch may run at the
 * same time, and the handlers see to that. Two gates (node_queue.c) stand before a branch: `birth`
 * holds everything back until the constructor has run, `exclusive` lets [exclusive] calls
 * through one at a time.
 *
 * [immediate] calls take no part in that: they stand before everything in the queue of the PE
 * that the network gave them to.
 */
#include "reduce_int.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/** Found by all PEs of the node. Never freed while they run. */
struct nodegroup {
	struct collection coll;     /* its id and type, for the branch; constant once it is born */
	struct csd_gate birth, exclusive;
	/* NULL before the constructor has run. Release and acquire hand the branch over. */
	_Atomic(struct ck_obj *) obj;
	atomic_bool begun;          /* the constructor: see grown */
	struct msg_fifo waiting;    /* [when]: touched behind the exclusive gate only */
	struct nodegroup *chain;
};

/* ---- the node's table --------------------------------------------------------------------------- */

/* A bucket is a list that only grows, at its head: walking it needs no lock. Acquire pairs with
 * the release in add. */
static struct nodegroup *find(struct ck_node *ck, uint64_t id)
{
	struct nodegroup *g = atomic_load_explicit(&ck->nodegroups[id % CK_NODEGROUP_BUCKETS],
						   memory_order_acquire);

	while (g && g->coll.id != id)
		g = g->chain;
	return g;
}

static struct nodegroup *add(struct pe *pe, uint64_t id)
{
	struct ck_node *ck = pe->node->ck;
	_Atomic(struct nodegroup *) *bucket = &ck->nodegroups[id % CK_NODEGROUP_BUCKETS];
	struct nodegroup *g = calloc(1, sizeof *g);

	if (!g)
		csd_abort(pe, "no memory for a nodegroup");
	g->coll.id = id;
	g->waiting.tail = &g->waiting.head;
	csd_gate_init(pe->node, &g->birth, false);
	csd_gate_init(pe->node, &g->exclusive, true);
	g->chain = atomic_load_explicit(bucket, memory_order_relaxed);
	atomic_store_explicit(bucket, g, memory_order_release);
	return g;
}

/* Made by the first mention, on any PE. */
static struct nodegroup *get(struct pe *pe, uint64_t id)
{
	struct ck_node *ck = pe->node->ck;
	struct nodegroup *g = find(ck, id);

	if (CSD_LIKELY(g != NULL))
		return g;
	if (!id)
		coll_get_slow(pe, id); /* says why it cannot be */
	pthread_mutex_lock(&ck->nodegroup_lock);
	g = find(ck, id);
	if (!g)
		g = add(pe, id);
	pthread_mutex_unlock(&ck->nodegroup_lock);
	return g;
}

void nodegroup_node_fini(struct node *node)
{
	for (size_t i = 0; i < CK_NODEGROUP_BUCKETS; i++) {
		struct nodegroup *g = atomic_load_explicit(&node->ck->nodegroups[i],
							   memory_order_relaxed);

		for (struct nodegroup *next; g; g = next) {
			next = g->chain;
			free(atomic_load_explicit(&g->obj, memory_order_relaxed));
			free(g);
		}
	}
}

/* ---- calls ----------------------------------------------------------------------------------------- */

static uint32_t entry_flags(const struct nodegroup *g, const struct ck_env *env)
{
	return env->entry < g->coll.n_entries ? g->coll.entries[env->entry].flags : 0;
}

struct csd_gate *nodegroup_gate(struct pe *pe, const struct cmi_msg *m)
{
	const struct ck_env *env = (const struct ck_env *)m;

	if (m->handler != pe->node->ck->h_node_call)
		return NULL;
	struct nodegroup *g = get(pe, env->coll);

	if (g->birth.closed)
		return &g->birth;
	return entry_flags(g, env) & CKGEN_EXCLUSIVE ? &g->exclusive : NULL;
}

/* An [exclusive, when] call whose condition is false. */
void nodegroup_keep(struct ck_obj *obj, struct ck_env *env)
{
	struct nodegroup *g = (struct nodegroup *)obj->coll;

	msg_fifo_push(&g->waiting, &env->head);
}
_Static_assert(offsetof(struct nodegroup, coll) == 0, "a branch's collection is its nodegroup");

/* The loops have ended, so nobody else is behind the gates. */
void nodegroup_pe_fini(struct pe *pe)
{
	struct ck_node *ck = pe->node->ck;

	for (size_t i = 0; pe->local == 0 && i < CK_NODEGROUP_BUCKETS; i++) {
		struct nodegroup *g = atomic_load_explicit(&ck->nodegroups[i], memory_order_acquire);

		for (; g; g = g->chain)
			when_leave(pe, atomic_load_explicit(&g->obj, memory_order_acquire),
				   &g->waiting);
	}
}

/* It has passed the gates. */
void nodegroup_call_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	struct nodegroup *g = get(pe, env->coll);
	bool exclusive = entry_flags(g, env) & CKGEN_EXCLUSIVE;

	struct ck_obj *obj = atomic_load_explicit(&g->obj, memory_order_acquire);

	deliver_to(pe, obj, env, false);
	if (!exclusive)
		return;
	while ((env = when_take_true(obj, &g->waiting)))
		execute(pe, obj, env, false);
	csd_gate_open(pe, &g->exclusive);
}

static void call_here(struct pe *pe, struct ck_env *env)
{
	env->head.handler = (uint16_t)pe->node->ck->h_node_call;
	csd_send_node(pe, pe->node->job->node, &env->head);
}

void nodegroup_immediate_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	struct ck_obj *obj = atomic_load_explicit(&get(pe, env->coll)->obj, memory_order_acquire);

	if (obj)
		deliver_to(pe, obj, env, false);
	else
		call_here(pe, env);
}

/* Charm++ does not count them for quiescence either. */
static bool set_immediate(const CkGenChare *type, struct ck_env *env)
{
	if (!(type->entries[env->entry].flags & CKGEN_IMMEDIATE))
		return false;
	env->head.flags |= CMI_F_EXPEDITED | CMI_F_SYSTEM;
	return true;
}

void nodegroup_send(struct pe *pe, const CkGenChare *type, const CkElement *e, struct ck_env *env)
{
	const struct cmi_job *job = pe->node->job;
	int node = e->index.v[0];
	char name[128];

	if (!e->id)
		coll_get_slow(pe, e->id);
	if ((uint32_t)node >= (uint32_t)job->n_nodes)
		csd_abort(pe, "call of %s on node %d: the job has nodes 0-%d",
			  describe_entry(type, env->entry, name, sizeof name), node,
			  job->n_nodes - 1);
	if (CSD_UNLIKELY(env->head.flags & CMI_F_HERE) && node != job->node)
		env = env_for_others(pe, &type->entries[env->entry], env);
	env->coll = e->id;
	env->head.handler = (uint16_t)pe->node->ck->h_node_call;
	if (!set_immediate(type, env)) {
		csd_send_node(pe, node, &env->head);
		return;
	}
	env->head.handler = (uint16_t)pe->node->ck->h_node_immediate;
	int n = job->first_pe[node + 1] - job->first_pe[node];

	csd_send(pe, node == job->node ? pe->id : job->first_pe[node] + pe->id % n, &env->head);
}

/* ---- to all nodes ----------------------------------------------------------------------------------- */

/* Copies to one PE of each child node: each node is reached once. */
static void forward(struct pe *pe, struct ck_env *env)
{
	int n = csd_tree_n_nodes(pe, env->root);

	for (int i = 0; i < n; i++)
		csd_send(pe, csd_tree_child(pe, env->root, i), csd_msg_copy(pe, &env->head));
}

void nodegroup_bcast_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;

	forward(pe, env);
	if (m->flags & CMI_F_SYSTEM)
		nodegroup_immediate_arrived(pe, m);
	else
		call_here(pe, env);
}

void nodegroup_send_all(struct pe *pe, const CkGenChare *type, uint64_t id, struct ck_env *env)
{
	if (!id)
		coll_get_slow(pe, id);
	env->coll = id;
	env->root = pe->id;
	env->head.handler = (uint16_t)pe->node->ck->h_node_bcast;
	if (!set_immediate(type, env)) {
		forward(pe, env);
		call_here(pe, env);
		return;
	}
	/* Not from here: a handler is running. */
	csd_send(pe, pe->id, &env->head);
}

/* ---- creation ----------------------------------------------------------------------------------------- */

CkProxy nodegroup_create(struct pe *pe, struct ck_env *env)
{
	uint64_t id = env->coll = coll_new_id(pe);

	env->root = pe->id;
	env->head.handler = (uint16_t)pe->node->ck->h_node_create;
	forward(pe, env);
	csd_send(pe, pe->id, &env->head);
	return (CkProxy){ id };
}

static void set_type(struct collection *c, const CkGenChare *type)
{
	c->type = type;
	c->entries = type->entries;
	c->n_entries = (uint32_t)type->n_entries;
}

void nodegroup_create_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	const CkGenChare *type = chare_by_number(pe, env->entry, CKGEN_NODEGROUP, m->src_pe);
	struct nodegroup *g = get(pe, env->coll);
	struct ck_obj *obj = calloc(1, sizeof *obj + type->bytes);

	if (env->root != pe->id)
		forward(pe, env);
	if (!obj)
		csd_abort(pe, "no memory for a branch of %s (%zu bytes)", type->name, type->bytes);
	set_type(&g->coll, type);
	obj->coll = &g->coll;
	obj->index.v[0] = pe->node->job->node;
	/* Relaxed: who looks because of what the constructor sends has that message's order. */
	atomic_store_explicit(&g->begun, true, memory_order_relaxed);
	pe->ck->builds_branch = true;
	deliver_new(pe, obj, env);
	pe->ck->builds_branch = false;
	atomic_store_explicit(&g->obj, obj, memory_order_release);
	csd_gate_open(pe, &g->birth);
}

/* What a constructor sends may be answered to another PE of the node before it has returned; that PE
 * must find a branch, and a whole one. So it waits: a constructor is a handler and ends. One that
 * builds a branch itself does not, or two could wait for each other. */
static struct ck_obj *grown(struct pe *pe, struct nodegroup *g)
{
	struct ck_obj *obj;

	while (!(obj = atomic_load_explicit(&g->obj, memory_order_acquire)) &&
	       atomic_load_explicit(&g->begun, memory_order_relaxed) && !pe->ck->builds_branch)
		sched_yield();
	return obj;
}

void *nodegroup_local(struct pe *pe, const CkGenChare *type, const CkElement *e)
{
	bool here = e->index.v[0] == pe->node->job->node;
	struct nodegroup *g = here ? find(pe->node->ck, e->id) : NULL;
	struct ck_obj *obj = g ? grown(pe, g) : NULL;

	return obj && g->coll.type == type ? self_of(obj) : NULL;
}

/* ---- reductions: one contribution per node -------------------------------------------------------------- */

/** To the node's first PE, which keeps the node's part of the reductions. */
struct contribution {
	struct cmi_msg head;
	struct ck_obj *obj;         /* the same process: its address may travel */
	CkCallback cb;
	uint64_t count;
	CkReduction op;
	_Alignas(16) char data[];
};

static void contribute_there(struct pe *pe, struct ck_obj *obj, const void *data, uint64_t count,
			     CkReduction op, const CkCallback *cb)
{
	const struct reducer *how = reducer_find(pe->node->ck, op);
	size_t bytes = contribution_bytes(pe, how, data, count);
	struct contribution *c = (struct contribution *)csd_msg_alloc(pe, sizeof *c + bytes);

	c->head.handler = (uint16_t)pe->node->ck->h_node_contribute;
	c->obj = obj;
	c->cb = *cb;
	c->count = count;
	c->op = op;
	contribution_copy(pe, how, c->data, data, count);
	csd_send(pe, pe->node->job->my_first_pe, &c->head);
}

void nodegroup_contribution_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct contribution *c = (struct contribution *)m;

	CkContribute(self_of(c->obj), c->data, c->count, c->op, c->cb);
	csd_msg_free(pe, m);
}

/* The first PE of each node has a collection with one element in its own table, which is what
 * reductions know; calls do not go that way, so it has no extents. What other nodes sent before waits in it until the own branch contributes. */
static struct collection *collection_of(struct pe *pe, struct ck_obj *obj)
{
	struct collection *c = coll_get(pe, obj->coll->id);

	if (c->constructed)
		return c;
	set_type(c, obj->coll->type);
	c->elems = calloc(1, sizeof(*c->elems));
	if (!c->elems)
		csd_abort(pe, "no memory for a nodegroup");
	c->elems[0] = obj;
	c->n_slots = c->n_local = 1;
	c->constructed = true;
	/* None of them ends a reduction: our own part is missing. */
	while (c->waiting.head)
		reduce_arrived(pe, msg_fifo_pop(&c->waiting));
	return c;
}

struct collection *nodegroup_contributes(struct pe *pe, struct ck_obj *obj, const void *data,
					 uint64_t count, CkReduction op, const CkCallback *cb)
{
	if (pe->local == 0)
		return collection_of(pe, obj);
	contribute_there(pe, obj, data, count, op, cb);
	return NULL;
}
