/* SPDX-License-Identifier: Apache-2.0 */
/*
 * branch_save.c: groups and main chares in checkpoints: the tables by which kinds/saved/ finds them
 * and makes them anew. Their collections are in the image, too (create_save.c), and are read first.
 */
#include "create_int.h"
#include "../../image/image.h"
#include "../../machine/base/cmi_alloc.h"

/* This PE's branches of groups, or its main chares. */
static void branches_list(struct pe *pe, CkGenKind kind, struct ck_objs *all)
{
	const struct idmap_slot *s;

	for (size_t i = 0; (s = idmap_each(&ck_of(pe)->colls, &i)); i++) {
		const struct collection *c = (const struct collection *)s->value;

		if (!c->type || c->type->kind != kind || !c->constructed)
			continue;
		CMI_ONE_MORE(all->list, all->n, all->room, "a checkpoint");
		all->list[all->n++] = c->elems[0];
	}
}

static void branch_name(const struct pe *pe, struct ck_obj *obj, struct image_name *name)
{
	(void)pe;
	name->coll = obj->coll->id;
	name->index[0] = obj->index.v[0];
}

/* A PE that was not there gets a copy of another one's; what a PE has that is no more is lost. */
static bool branch_is_mine(struct pe *pe, const struct image_name *name)
{
	return name->index[0] == pe->id % ck_node_of(pe->node)->restart.n_pes;
}

static bool main_is_mine(struct pe *pe, const struct image_name *name)
{
	(void)name;
	return pe->id == 0;
}

static const char *branch_anew(struct pe *pe, const CkGenChare *type, const struct image_name *name,
			       struct ck_obj **obj_p)
{
	struct collection *c = (uint32_t)name->coll ? coll_get(pe, name->coll) : NULL;

	if (!c || c->type != type)
		return "no collection of the image is its own";
	if (c->elems)
		return "it is there twice";
	c->elems = cmi_alloc_zero(1, sizeof *c->elems, "a branch");
	*obj_p = obj_add(c, (CkIndex){ { pe->id, 0, 0 } }, 0);
	return NULL;
}

static void branch_there(struct pe *pe, struct ck_obj *obj, const struct image_name *name)
{
	(void)name;
	coll_remade(pe, obj->coll);
}

const struct ck_saving group_saving = {
	.record = IMAGE_BRANCH,
	.list = branches_list,
	.name = branch_name,
	.mine = branch_is_mine,
	.anew = branch_anew,
	.there = branch_there,
};
const struct ck_saving main_saving = {
	.record = IMAGE_MAIN,
	.list = branches_list,
	.name = branch_name,
	.mine = main_is_mine,
	.anew = branch_anew,
	.there = branch_there,
};
