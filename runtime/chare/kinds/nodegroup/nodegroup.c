/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nodegroup.c: one branch per node (process), which all PEs of the node share. A call goes into the
 * node's queue, and the first PE that is free runs it. So calls of one branch may run at the same
 * time, and the entry methods must be written for that. Two gates (node_queue.c) guard a branch:
 * `birth` holds everything back until the constructor has run; `exclusive` lets [exclusive] calls
 * pass one at a time.
 *
 * [immediate] calls bypass the node's queue and its gates: they precede everything else in the
 * queue of the PE that receives them.
 */
#include "nodegroup_int.h"
#include "../../core/shape.h"
#include "../../../machine/base/cmi_alloc.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { H_CALL, H_NODE_BCAST, H_IMMEDIATE, H_CONTRIBUTE };

/* ---- the node's table ------------------------------------------------------------------------ */

/* A bucket is a list that grows only at its head, so walking it needs no lock. The acquire pairs
 * with the release in add. */
static struct nodegroup *nodegroup_find(struct nodegroups *all, uint64_t id)
{
	struct nodegroup *g = atomic_load_explicit(&all->bucket[id % NODEGROUP_BUCKETS],
						   memory_order_acquire);

	while (g && g->coll.id != id)
		g = g->chain;
	return g;
}

/* A restart: the node's first PE makes the branches anew, and may not have come to it. It waits for
 * nobody. The acquire pairs with the release in nodegroups_arrived. */
static void await_arrival(const struct pe *pe, const struct nodegroups *all)
{
	while (pe->local && ck_node_of(pe->node)->restart.n_pes &&
	       !atomic_load_explicit(&all->arrived, memory_order_acquire))
		sched_yield();
}

static struct nodegroup *nodegroup_add(struct pe *pe, uint64_t id)
{
	_Atomic(struct nodegroup *) *bucket = &nodegroups_of(pe)->bucket[id % NODEGROUP_BUCKETS];
	struct nodegroup *g =
		cmi_alloc_zero(1, sizeof *g + ck_node_of(pe->node)->coll_bytes, "a nodegroup");

	coll_init(pe, &g->coll, id, g + 1);
	msg_fifo_init(&g->waiting);
	msg_fifo_init(&g->early);
	csd_gate_init(pe->node, &g->birth, false);
	csd_gate_init(pe->node, &g->exclusive, true);
	g->chain = atomic_load_explicit(bucket, memory_order_relaxed);
	atomic_store_explicit(bucket, g, memory_order_release);
	return g;
}

struct nodegroup *nodegroup_get(struct pe *pe, uint64_t id)
{
	struct nodegroups *all = nodegroups_of(pe);
	struct nodegroup *g = nodegroup_find(all, id);

	if (CSD_LIKELY(g != NULL))
		return g;
	if (!id)
		coll_get_slow(pe, id); /* aborts, and says why */
	pthread_mutex_lock(&all->lock);
	g = nodegroup_find(all, id);
	if (!g)
		g = nodegroup_add(pe, id);
	pthread_mutex_unlock(&all->lock);
	return g;
}

void describe_nodegroup(struct pe *pe, const struct nodegroup *g, struct csd_told *to)
{
	const struct ck_obj *obj = atomic_load_explicit(&g->obj, memory_order_acquire);
	size_t n = csd_gate_length(pe, &g->birth);

	if (n)
		csd_tell(to, NULL, "%s for nodegroup %u of PE %d, whose creation has not come",
			 csd_plural(n, "call waits", "calls wait").text, (unsigned)g->coll.id, (int)(g->coll.id >> 32));
	if (!obj)
		return;
	n = csd_gate_length(pe, &g->exclusive);
	if (n)
		csd_tell(to, NULL, "%s at %s until the one that has begun there ends",
			 csd_plural(n, "[exclusive] call waits", "[exclusive] calls wait").text, obj_thing(obj).name);
	when_describe(obj, &g->waiting, to);
}

static void nodegroups_describe(struct pe *pe, struct csd_told *to)
{
	struct nodegroups *all = nodegroups_of(pe);

	for (size_t i = 0; pe->local == 0 && csd_at_rest(pe) && i < NODEGROUP_BUCKETS; i++)
		/* Acquire: as in nodegroup_find. */
		for (const struct nodegroup *g = atomic_load_explicit(&all->bucket[i], memory_order_acquire); g;
		     g = g->chain)
			describe_nodegroup(pe, g, to);
}

static int nodegroup_node_start(struct node *node)
{
	struct nodegroups *all = ck_node_state(node, PART_NODEGROUP);

	int err = pthread_mutex_init(&all->lock, NULL);

	return -(err ? err : pthread_mutex_init(&all->build, NULL));
}

static void nodegroup_node_stop(struct node *node)
{
	struct nodegroups *all = ck_node_state(node, PART_NODEGROUP);

	pthread_mutex_destroy(&all->lock);
	pthread_mutex_destroy(&all->build);
	for (size_t i = 0; i < NODEGROUP_BUCKETS; i++) {
		struct nodegroup *g = atomic_load_explicit(&all->bucket[i], memory_order_relaxed);

		for (struct nodegroup *next; g; g = next) {
			next = g->chain;
			free(atomic_load_explicit(&g->obj, memory_order_relaxed));
			free(g);
		}
	}
}

/* ---- calls ----------------------------------------------------------------------------------- */

static uint32_t entry_flags(const struct nodegroup *g, const struct ck_env *env)
{
	return env->entry < g->coll.n_entries ? g->coll.entries[env->entry].flags : 0;
}

struct csd_gate *nodegroup_gate(struct pe *pe, const struct cmi_msg *m)
{
	const struct ck_env *env = (const struct ck_env *)m;

	if (m->handler != ck_handler(pe, PART_NODEGROUP, H_CALL))
		return NULL;
	struct nodegroup *g = nodegroup_get(pe, env->coll);

	if (g->birth.closed)
		return &g->birth;
	return entry_flags(g, env) & CKGEN_EXCLUSIVE ? &g->exclusive : NULL;
}

/* Keep an [exclusive, when] call whose condition is false. */
static void nodegroup_keep(struct ck_obj *obj, struct ck_env *env)
{
	struct nodegroup *g = (struct nodegroup *)obj->coll;

	msg_fifo_push(&g->waiting, &env->head);
}
_Static_assert(offsetof(struct nodegroup, coll) == 0, "a branch's collection is its nodegroup");

/* The loops have ended, so no other PE has passed the gates. */
static void nodegroup_pe_stop(struct pe *pe)
{
	struct nodegroups *all = nodegroups_of(pe);

	for (size_t i = 0; pe->local == 0 && i < NODEGROUP_BUCKETS; i++) {
		struct nodegroup *g = atomic_load_explicit(&all->bucket[i], memory_order_acquire);

		for (; g; g = g->chain) {
			struct ck_env *never = atomic_load_explicit(&g->announced, memory_order_acquire);

			if (never)
				csd_msg_free(pe, &never->head);
			while (g->early.head)
				csd_msg_free(pe, msg_fifo_pop(&g->early));
			when_leave(pe, atomic_load_explicit(&g->obj, memory_order_acquire),
				   &g->waiting);
		}
	}
}

/* A call that has passed the gates. */
static void nodegroup_call_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	struct nodegroup *g = nodegroup_get(pe, env->coll);
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
	env->head.handler = ck_handler(pe, PART_NODEGROUP, H_CALL);
	csd_send_node(pe, pe->node->job->node, &env->head);
}

static void nodegroup_immediate_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	struct ck_obj *obj =
		atomic_load_explicit(&nodegroup_get(pe, env->coll)->obj, memory_order_acquire);

	if (obj)
		deliver_to(pe, obj, env, false);
	else
		call_here(pe, env);
}

/* [immediate] calls do not count for quiescence, as in Charm++. */
static bool set_immediate(const CkGenChare *type, struct ck_env *env)
{
	if (!(type->entries[env->entry].flags & CKGEN_IMMEDIATE))
		return false;
	env->head.flags |= CMI_F_EXPEDITED | CMI_F_SYSTEM;
	return true;
}

static void nodegroup_send(struct pe *pe, const CkGenChare *type, const CkElement *e,
			   struct ck_env *env)
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
	env->head.handler = ck_handler(pe, PART_NODEGROUP, H_CALL);
	if (!set_immediate(type, env)) {
		csd_send_node(pe, node, &env->head);
		return;
	}
	env->head.handler = ck_handler(pe, PART_NODEGROUP, H_IMMEDIATE);
	int n = job->first_pe[node + 1] - job->first_pe[node];

	csd_send(pe, node == job->node ? pe->id : job->first_pe[node] + pe->id % n, &env->head);
}

/* ---- to all nodes ---------------------------------------------------------------------------- */

/* Copies to one PE of each child node: each node is reached once. */
static void forward_to_nodes(struct pe *pe, struct ck_env *env)
{
	int n = csd_tree_n_nodes(pe, env->root);

	for (int i = 0; i < n; i++)
		csd_send(pe, csd_tree_child(pe, env->root, i), csd_msg_copy(pe, &env->head));
}

static void nodegroup_bcast_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;

	forward_to_nodes(pe, env);
	if (m->flags & CMI_F_SYSTEM)
		nodegroup_immediate_arrived(pe, m);
	else
		call_here(pe, env);
}

static void nodegroup_send_all(struct pe *pe, const CkGenChare *type, uint64_t id,
			       struct ck_env *env)
{
	if (!id)
		coll_get_slow(pe, id);
	env->coll = id;
	env->root = pe->id;
	env->head.handler = ck_handler(pe, PART_NODEGROUP, H_NODE_BCAST);
	if (!set_immediate(type, env)) {
		forward_to_nodes(pe, env);
		call_here(pe, env);
		return;
	}
	/* Not delivered here, because a handler is running. */
	csd_send(pe, pe->id, &env->head);
}

/* ---- creation -------------------------------------------------------------------------------- */

/* Under a name of its own, so that only programs that make nodegroups need this room. */
CkProxy CkGen_newNodegroup(const CkGenChare *chare, void *payload)
{
	return CkGen_newGroup(chare, payload);
}

static void nodegroup_announced(struct pe *pe, const CkGenChare *type, struct ck_env *env)
{
	struct nodegroup *g = nodegroup_get(pe, env->coll);

	coll_set_type(&g->coll, type);
	atomic_store_explicit(&g->typed, true, memory_order_release);
	atomic_store_explicit(&g->announced, env, memory_order_release);
}

/* Run the constructor. The caller holds `build`. NULL: the nodegroup has not been announced. */
static struct ck_obj *build(struct pe *pe, struct nodegroup *g)
{
	struct ck_env *env = atomic_load_explicit(&g->announced, memory_order_acquire);

	if (!env)
		return NULL;
	const struct ck_outer outer = ck_set_aside(pe);
	struct ck_obj *obj = obj_new(&g->coll, (CkIndex){ { pe->node->job->node, 0, 0 } });

	atomic_store_explicit(&g->announced, NULL, memory_order_relaxed); /* `build` orders it */
	g->half = obj;
	ck_created(pe, obj);
	deliver_new(pe, obj, env);
	g->half = NULL;
	ck_go_on(pe, outer);
	atomic_store_explicit(&g->obj, obj, memory_order_release);
	csd_gate_open(pe, &g->birth);
	return obj;
}

/* The branch; it is constructed now if it has only been announced. One PE of a node at a time
 * constructs branches, and others that need one wait; a constructor is a handler, so it ends. A
 * constructor that needs another branch constructs that, too, and one that needs its own gets it
 * unfinished. So no two PEs wait for each other.
 *
 * `builder` is relaxed: only a PE that has written its own name there finds its own name. */
static struct ck_obj *branch_of(struct pe *pe, struct nodegroup *g)
{
	struct nodegroups *all = nodegroups_of(pe);
	struct ck_obj *obj = atomic_load_explicit(&g->obj, memory_order_acquire);

	if (CSD_LIKELY(obj != NULL))
		return obj;
	if (atomic_load_explicit(&all->builder, memory_order_relaxed) == pe)
		return g->half ? g->half : build(pe, g);
	await_arrival(pe, all);
	pthread_mutex_lock(&all->build);
	atomic_store_explicit(&all->builder, pe, memory_order_relaxed);
	obj = atomic_load_explicit(&g->obj, memory_order_acquire);
	if (!obj)
		obj = build(pe, g);
	atomic_store_explicit(&all->builder, NULL, memory_order_relaxed);
	pthread_mutex_unlock(&all->build);
	return obj;
}

static void nodegroup_born(struct pe *pe, const CkGenChare *type, uint64_t id)
{
	(void)type;
	branch_of(pe, nodegroup_get(pe, id));
}

static struct ck_obj *nodegroup_local(struct pe *pe, const CkGenChare *type, const CkElement *e)
{
	bool here = e->index.v[0] == pe->node->job->node;
	struct nodegroup *g = here ? nodegroup_find(nodegroups_of(pe), e->id) : NULL;

	if (here && !g) {
		await_arrival(pe, nodegroups_of(pe));
		g = nodegroup_find(nodegroups_of(pe), e->id);
	}
	struct ck_obj *obj = g ? branch_of(pe, g) : NULL;

	return obj && g->coll.type == type ? obj : NULL;
}

/* ---- reductions: one contribution per node --------------------------------------------------- */

/* Sent to the node's first PE, which keeps the node's share of the reductions. The tag is the
 * contribution's number in this branch. The branch's address may be sent, because the receiver is
 * in the same process. */
static void contribute_there(struct pe *pe, struct ck_obj *obj, uint64_t no,
			     const struct contributed *in)
{
	struct ck_env *env = contribution_msg(pe, in, no);

	env->head.handler = ck_handler(pe, PART_NODEGROUP, H_CONTRIBUTE);
	env->coll = (uintptr_t)obj;
	csd_send(pe, pe->node->job->my_first_pe, &env->head);
}

static struct ck_obj *branch_in(const struct cmi_msg *m)
{
	return (struct ck_obj *)(uintptr_t)((const struct ck_env *)m)->coll;
}

static uint64_t filing_turn(struct cmi_msg *m)
{
	return ((CkReductionMsg *)payload_of((struct ck_env *)m))->reserved;
}

static void file_contribution(struct pe *pe, struct nodegroup *g, struct cmi_msg *m)
{
	uint64_t no;
	const struct contributed in = contribution_read(pe, (struct ck_env *)m, m->src_pe, NULL, &no);

	g->n_filed++;
	g->filing = true;
	CkContribute(self_of(branch_in(m)), in.data, in.count, in.op, *in.cb);
	g->filing = false;
	csd_msg_free(pe, m);
}

/* Files those whose turn it is. Messages of several PEs may overtake each other. */
static void nodegroup_contribution_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct nodegroup *g = (struct nodegroup *)branch_in(m)->coll;
	struct msg_fifo all;
	uint64_t n;

	msg_fifo_push(&g->early, m);
	do {
		n = g->n_filed;
		msg_fifo_move(&all, &g->early);
		while (all.head) {
			m = msg_fifo_pop(&all);
			if (filing_turn(m) == g->n_filed)
				file_contribution(pe, g, m);
			else
				msg_fifo_push(&g->early, m);
		}
	} while (n != g->n_filed && g->early.head);
}

/* For reductions, the first PE of each node has a collection with one element in its own table.
 * Calls do not use it, so it has no extents. Partial results from other nodes wait in it until this
 * node's branch contributes. */
static struct collection *collection_of(struct pe *pe, struct ck_obj *obj)
{
	struct collection *c = coll_get(pe, obj->coll->id);

	if (c->constructed)
		return c;
	coll_set_type(c, obj->coll->type);
	c->elems = cmi_alloc_zero(1, sizeof(*c->elems), "a nodegroup");
	c->elems[0] = obj;
	c->n_slots = c->n_local = 1;
	c->constructed = true;
	/* None of these messages completes a reduction, because our own share is missing. */
	coll_resume(pe, c);
	return c;
}

static struct collection *nodegroup_contributes(struct pe *pe, struct ck_obj *obj,
							const void *data, uint64_t count,
							CkReduction op, const CkCallback *cb)
{
	struct nodegroup *g = (struct nodegroup *)obj->coll;
	uint64_t no;

	if (pe->local == 0 && g->filing)
		return collection_of(pe, obj);
	no = atomic_fetch_add_explicit(&g->n_contributed, 1, memory_order_relaxed);
	if (pe->local == 0 && no == g->n_filed) {
		g->n_filed++;
		return collection_of(pe, obj);
	}
	contribute_there(pe, obj, no, &(struct contributed){ data, count, op, pe->id,
							     reducer_find(ck_node_of(pe->node), op), cb,
							     NULL, 0, 0 });
	return NULL;
}

/* ---- the part -------------------------------------------------------------------------------- */

static void send_to_branch(struct pe *pe, const CkCallback *cb, struct ck_env *env)
{
	const CkGenChare *type = callback_call(pe, cb, env);

	nodegroup_send(pe, type, &(CkElement){ cb->id, cb->index, 0 }, env);
}

static void send_to_branches(struct pe *pe, const CkCallback *cb, struct ck_env *env)
{
	const CkGenChare *type = callback_call(pe, cb, env);

	nodegroup_send_all(pe, type, cb->id, env);
}

/* A nodegroup is unknown until it has been announced everywhere. */
static const char *nodegroup_call_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct ck_env *env = (const struct ck_env *)m;
	const struct nodegroup *g;

	await_arrival(pe, nodegroups_of(pe));
	g = nodegroup_find(nodegroups_of(pe), env->coll);
	if (!g || !atomic_load_explicit(&g->typed, memory_order_acquire))
		return "it names a nodegroup that does not exist";
	return shape_call_of(pe, &g->coll, env);
}

static const char *nodegroup_bcast_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const int system = m->flags & (CMI_F_SYSTEM | CMI_F_EXPEDITED);

	if (system == CMI_F_SYSTEM)
		return "its flags are wrong for such a message";
	return shape_alone(pe, m) ? shape_alone(pe, m) : nodegroup_call_misfit(pe, m);
}

static const struct ck_handler handlers[] = {
	[H_CALL] = { "ck.node.call", nodegroup_call_arrived,
		     .shape = { CK_SHAPE_CALL, .always = CMI_F_NODE, .order = CSD_ORDER_PRIORITY,
				.misfit = nodegroup_call_misfit },
		     .trace = CSD_TRACE_CALL | CSD_TRACE_WORD },
	[H_NODE_BCAST] = { "ck.node.bcast", nodegroup_bcast_arrived,
			   .shape = { CK_SHAPE_COLL, .may = CSD_F_QUEUEING | CMI_F_SYSTEM, CK_SEAL_CALL,
				      CK_SHAPE_ROOT, .ways = { CSD_DOWN }, .misfit = nodegroup_bcast_misfit } },
	[H_IMMEDIATE] = { "ck.node.immediate", nodegroup_immediate_arrived,
			  .shape = { .least = sizeof(struct ck_env), .always = CMI_F_SYSTEM | CMI_F_EXPEDITED,
				     .may = CSD_F_QUEUEING, CK_SEAL_CALL, .misfit = nodegroup_call_misfit } },
	[H_CONTRIBUTE] = { "ck.node.contribute", nodegroup_contribution_arrived, .apart = false },
};
static void give_branch(const CkGenChare *chare, const CkCallback *cb, void *msg,
			const CkGenMessage *type)
{
	(void)type;
	CkGen_send(chare, &(CkElement){ cb->id, cb->index, 0 }, cb->entry, msg, NULL);
}

static void give_branches(const CkGenChare *chare, const CkCallback *cb, void *msg,
			  const CkGenMessage *type)
{
	(void)type;
	CkGen_sendAll(chare, (CkProxy){ cb->id }, cb->entry, msg, NULL);
}

static const struct ck_callback_kind callbacks[] = {
	{ .kind = CB_NODE, .names = CK_NAMES_ENTRY, .send = send_to_branch, .give = give_branch },
	{ .kind = CB_NODE_ALL, .names = CK_NAMES_ENTRY, .send = send_to_branches, .give = give_branches },
};
static const struct ck_kind kinds[] = {
	{
		.kind = CKGEN_NODEGROUP,
		.announced = nodegroup_announced,
		.born = nodegroup_born,
		.send = nodegroup_send,
		.send_all = nodegroup_send_all,
		.local = nodegroup_local,
		.keep = nodegroup_keep,
		.contribute = nodegroup_contributes,
		.saving = &nodegroup_saving,
	},
};

const struct ck_part nodegroup_part = {
	.name = "nodegroup",
	.number = PART_NODEGROUP,
	.describe = nodegroups_describe,
	.node_bytes = sizeof(struct nodegroups),
	.handlers = CK_LIST(handlers),
	.callbacks = CK_LIST(callbacks),
	.kinds = CK_LIST(kinds),
	.node_start = nodegroup_node_start,
	.node_stop = nodegroup_node_stop,
	.pe_stop = nodegroup_pe_stop,
};
