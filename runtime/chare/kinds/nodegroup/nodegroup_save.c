/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nodegroup_save.c: nodegroups in checkpoints. The node's first PE saves the branches, and makes
 * them anew. Nothing runs meanwhile, on any PE, so atomics are relaxed where no line says why not.
 */
#include "nodegroup_int.h"
#include "../../create/place_watch.h"
#include "../../../image/image.h"
#include "../../../machine/base/cmi_alloc.h"

static struct nodegroup *nodegroup_first(struct pe *pe, size_t bucket)
{
	/* Acquire: as in nodegroup_find. */
	return pe->local ? NULL :
			   atomic_load_explicit(&nodegroups_of(pe)->bucket[bucket], memory_order_acquire);
}

static void nodegroups_list(struct pe *pe, CkGenKind kind, struct ck_objs *all)
{
	(void)kind;
	for (size_t i = 0; i < NODEGROUP_BUCKETS; i++)
		for (struct nodegroup *g = nodegroup_first(pe, i); g; g = g->chain) {
			struct ck_obj *obj = atomic_load_explicit(&g->obj, memory_order_acquire);

			if (!obj && !(obj = g->half))
				continue;
			CMI_ONE_MORE(all->list, all->n, all->room, "a checkpoint");
			all->list[all->n++] = obj;
		}
}

static void nodegroup_name(const struct pe *pe, struct ck_obj *obj, struct image_name *name)
{
	struct nodegroup *g = (struct nodegroup *)obj->coll;

	(void)pe;
	name->coll = obj->coll->id;
	name->index[0] = obj->index.v[0];
	name->flags = (uint32_t)atomic_load_explicit(&g->n_contributed, memory_order_relaxed);
}

/* Reductions to which its branches have contributed: on all PEs, since the tree may use any. */
static void note_reductions(struct pe *pe, const struct image_name *name)
{
	const struct place_still saved = { .any = true, .lo = name->flags, .hi = name->flags };

	if ((uint32_t)name->coll && name->flags)
		watch_of(pe, PART_REDUCE)->remade(pe, coll_get(pe, name->coll), &saved);
}

static bool nodegroup_is_mine(struct pe *pe, const struct image_name *name)
{
	const int n = ck_node_of(pe->node)->restart.n_nodes;

	if (name->index[0] == 0)
		note_reductions(pe, name);
	return pe->local == 0 && name->index[0] == pe->node->job->node % n;
}

static const char *nodegroup_anew(struct pe *pe, const CkGenChare *type,
				  const struct image_name *name, struct ck_obj **obj_p)
{
	struct nodegroup *g;

	if (!(uint32_t)name->coll)
		return "no nodegroup has such an id";
	g = nodegroup_get(pe, name->coll);
	if (g->coll.type)
		return "it is there twice";
	coll_set_type(&g->coll, type);
	*obj_p = obj_new(&g->coll, (CkIndex){ { pe->node->job->node, 0, 0 } });
	return NULL;
}

/* Only this PE finds it until X_on_arrived has run: it is the builder, as in a constructor. */
static void nodegroup_there(struct pe *pe, struct ck_obj *obj, const struct image_name *name)
{
	struct nodegroup *g = (struct nodegroup *)obj->coll;

	obj->n_contributed = name->flags;
	g->n_filed = name->flags;
	atomic_store_explicit(&g->n_contributed, name->flags, memory_order_relaxed);
	g->half = obj;
	atomic_store_explicit(&nodegroups_of(pe)->builder, pe, memory_order_relaxed);
	ck_created(pe, obj);
}

/* The node's other PEs find it: as build and nodegroup_announced say. */
static void nodegroup_arrived(struct pe *pe, struct nodegroup *g)
{
	struct ck_obj *obj = g->half;

	if (!obj)
		return;
	g->half = NULL;
	atomic_store_explicit(&g->typed, true, memory_order_release);
	atomic_store_explicit(&g->obj, obj, memory_order_release);
	csd_gate_open(pe, &g->birth);
}

/* PEs that wait in branch_of go on. The release pairs with their acquire. */
static void nodegroups_arrived(struct pe *pe)
{
	struct nodegroups *all = nodegroups_of(pe);

	if (pe->local)
		return;
	for (size_t i = 0; i < NODEGROUP_BUCKETS; i++)
		for (struct nodegroup *g = nodegroup_first(pe, i); g; g = g->chain)
			nodegroup_arrived(pe, g);
	atomic_store_explicit(&all->builder, NULL, memory_order_relaxed);
	atomic_store_explicit(&all->arrived, true, memory_order_release);
}

static void refuse_nodegroup(struct pe *pe, const struct nodegroup *g, struct csd_told *to)
{
	/* Acquire: as everywhere. */
	const struct ck_obj *obj = atomic_load_explicit(&g->obj, memory_order_acquire);

	describe_nodegroup(pe, g, to);
	if (!obj)
		return;
	if (g->exclusive.closed)
		csd_tell(to, NULL, "an [exclusive] call has begun at %s and has not ended", obj_thing(obj).name);
	if (g->early.head)
		csd_tell(to, NULL, "%s at %s for an earlier one",
			 csd_plural(msg_fifo_count(&g->early), "contribution waits", "contributions wait").text,
			 obj_thing(obj).name);
}

static void nodegroups_refuse(struct pe *pe, struct csd_told *to)
{
	for (size_t i = 0; i < NODEGROUP_BUCKETS; i++)
		for (const struct nodegroup *g = nodegroup_first(pe, i); g; g = g->chain)
			refuse_nodegroup(pe, g, to);
}

const struct ck_saving nodegroup_saving = {
	.record = IMAGE_NODEGROUP,
	.list = nodegroups_list,
	.name = nodegroup_name,
	.mine = nodegroup_is_mine,
	.anew = nodegroup_anew,
	.there = nodegroup_there,
	.all_arrived = nodegroups_arrived,
	.refuse = nodegroups_refuse,
};
