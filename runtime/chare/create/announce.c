/* SPDX-License-Identifier: Apache-2.0 */
/*
 * announce.c: new groups and nodegroups. Code that has the proxy of a group finds the local branch,
 * on every PE, however the proxy came there: in a readonly, a parameter, a member of a message, an
 * element that was created later, or through third parties. (Memory is not ordered by this: a proxy
 * that is passed through a channel, or through a global variable of the process, may arrive
 * sooner.) No declaration is needed (setGroupDepID), and no order of messages can break it:
 *
 *   announce  creator -> all   the creation, down the creator's tree; kind->announced keeps it
 *   known     all -> creator   the whole subtree has it
 *   born      creator -> all   construct the branch, unless that has been done (kind->born)
 *
 * From `announce` until `known` has come back, the creator holds back all its other messages
 * (csd_hold). So no other PE can know the group before all PEs have its creation. A PE that has it
 * constructs the branch on first use (coll_there, X_ckLocalBranch), and otherwise at `born`. The
 * creator's own branch is constructed inside X_ckNew, as in Charm++.
 *
 * The readonly variables follow the announcements of the main chares, on the same tree, and both
 * are handled while a PE waits for the readonly variables. So no PE reads the proxy of a group in a
 * readonly before it has the group's creation.
 *
 * The announcements of one creator come in order to each PE, and so do its `born`: a group's
 * constructor finds the groups that were made before it.
 */
#include "create_int.h"
#include "../core/shape.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>

/** An announcement of which this PE's subtree does not know yet. */
struct announcement {
	int parent;               /* -1: this PE is the creator */
	int n_missing;            /* children whose subtree does not know yet */
	uint64_t reason;          /* the creator: for csd_release */
	const CkGenChare *type;
};

static struct idmap *announcements(const struct pe *pe) { return ck_state(pe, PART_CREATE); }

static int group_root(uint64_t id) { return (int)(id >> 32); }

/* In the tree of a nodegroup each node is reached once. The children on other nodes come first. */
static int n_children(const struct pe *pe, const CkGenChare *type, int root)
{
	return type->kind == CKGEN_NODEGROUP ? csd_tree_n_nodes(pe, root) : csd_tree_n_children(pe, root);
}

/* The number comes from another PE. */
static const CkGenChare *group_type(struct pe *pe, int number, int src_pe)
{
	const struct ck_node *ck = ck_node_of(pe->node);

	if (number < 0 || number >= ck->n_chares || !ck_kind(pe, ck->chares[number])->announced)
		csd_abort(pe, "message from PE %d announces chare %d, which is not a group", src_pe, number);
	return ck->chares[number];
}

static void send_about_group(struct pe *pe, int dst_pe, int handler, uint8_t flags, uint64_t id,
			     const CkGenChare *type)
{
	struct announce_msg *m = ck_msg_new(pe, PART_CREATE, handler, flags, sizeof *m);

	m->id = id;
	m->chare = chare_number(ck_node_of(pe->node), type);
	csd_send_now(pe, dst_pe, &m->head);
}

/* Not expedited: what was sent to the same PE before goes first. */
static void send_born(struct pe *pe, uint64_t id, const CkGenChare *type)
{
	for (int i = 0; i < n_children(pe, type, group_root(id)); i++)
		send_about_group(pe, csd_tree_child(pe, group_root(id), i), H_BORN, 0, id, type);
}

/* This PE's subtree knows. */
static void subtree_knows(struct pe *pe, uint64_t id, struct idmap_slot *at)
{
	struct announcement *a = (struct announcement *)at->value;

	idmap_remove(announcements(pe), at);
	if (a->parent >= 0) {
		send_about_group(pe, a->parent, H_KNOWN, CMI_F_EXPEDITED, id, a->type);
	} else {
		send_born(pe, id, a->type);
		csd_release(pe, a->reason);
	}
	free(a);
}

/* Tell the children, then keep the creation, which this takes. In this order: once it is kept,
 * another PE of the node may take it as soon as it may know the group. Only then comes the answer,
 * which lets messages go that find it. Model: announce.pml, announce_arrived */
static void announce(struct pe *pe, const CkGenChare *type, struct ck_env *env, int parent)
{
	const int root = group_root(env->coll), n = n_children(pe, type, root);
	struct announcement *a = cmi_alloc(sizeof *a, "a group");

	*a = (struct announcement){ parent, n, parent < 0 ? csd_hold(pe) : 0, type };
	idmap_add(announcements(pe), env->coll, (uintptr_t)a);
	for (int i = 0; i < n; i++)
		csd_send_now(pe, csd_tree_child(pe, root, i), csd_msg_copy(pe, &env->head));
	ck_kind(pe, type)->announced(pe, type, env);
}

/* A PE without children answers at once. */
static void answer_if_alone(struct pe *pe, uint64_t id)
{
	struct idmap_slot *at = idmap_find(announcements(pe), id);

	if (!((const struct announcement *)at->value)->n_missing)
		subtree_knows(pe, id, at);
}

void announce_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	const CkGenChare *type = group_type(pe, env->create.chare, m->src_pe);
	const uint64_t id = env->coll;

	announce(pe, type, env, m->src_pe);
	answer_if_alone(pe, id);
}

void known_arrived(struct pe *pe, struct cmi_msg *m)
{
	const uint64_t id = ((const struct announce_msg *)m)->id;
	struct idmap_slot *at = idmap_find(announcements(pe), id);

	if (!at)
		csd_abort(pe, "message from PE %d answers no announcement", m->src_pe);
	csd_msg_free(pe, m);
	if (--((struct announcement *)at->value)->n_missing == 0)
		subtree_knows(pe, id, at);
}

void born_arrived(struct pe *pe, struct cmi_msg *m)
{
	const struct announce_msg b = *(const struct announce_msg *)m;
	const CkGenChare *type = group_type(pe, b.chare, m->src_pe);

	csd_msg_free(pe, m);
	send_born(pe, b.id, type);
	ck_kind(pe, type)->born(pe, type, b.id);
}

/* ---- what may come from other processes ------------------------------------------------------ */

const char *announce_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct ck_env *env = (const struct ck_env *)m;

	return idmap_find(announcements(pe), env->coll) ? "it announces a group for the second time" :
	       shape_call(pe, group_type(pe, env->create.chare, m->src_pe), 0, env);
}

CkProxy CkGen_newGroup(const CkGenChare *chare, void *payload)
{
	struct pe *pe = ck_self_of(chare, "ckNew");
	struct ck_env *env = create_take(pe, chare, payload);
	const uint64_t id = env->coll = coll_new_id(pe);

	env->head.handler = ck_handler(pe, PART_CREATE, H_ANNOUNCE);
	env->head.flags |= CMI_F_EXPEDITED;
	announce(pe, chare, env, -1);
	ck_kind(pe, chare)->born(pe, chare, id);
	answer_if_alone(pe, id);
	return (CkProxy){ id };
}

/* ---- a group's branch ------------------------------------------------------------------------ */

void group_announced(struct pe *pe, const CkGenChare *type, struct ck_env *env)
{
	struct collection *c = coll_get(pe, env->coll);

	coll_type(pe, c, type, CkDims1(pe->node->job->n_pes), NULL);
	c->announced = env;
}

void group_born(struct pe *pe, const CkGenChare *type, uint64_t id)
{
	struct collection *c = coll_get(pe, id);
	struct ck_env *env = c->announced;

	(void)type;
	if (!env)
		return;
	c->announced = NULL; /* the constructor may ask for the branch */

	const struct ck_outer outer = ck_set_aside(pe);

	coll_construct(pe, c, payload_of(env));
	ck_go_on(pe, outer);
	env_unref(pe, env);
}

void announce_pe_free(struct pe *pe)
{
	idmap_free_all(announcements(pe));
}
