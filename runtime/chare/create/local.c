/* SPDX-License-Identifier: Apache-2.0 */
/* local.c: queries of a program about a collection: the elements of this PE, the extents. */
#include "create_int.h"

struct ck_obj *coll_local(const struct collection *c, CkIndex i)
{
	if (c->sparse) {
		struct ck_obj *obj = index_find(&c->here, i);

		if (!obj && c->guests)
			obj = guest_find(c->guests, elem_key_of(c, i));
		return obj && obj_takes_calls(obj) ? obj : NULL;
	}
	uint64_t place = index_place(c, i);

	return place == UINT64_MAX ? NULL : coll_find(c, place);
}

struct ck_obj *array_local(struct pe *pe, const CkGenChare *type, const CkElement *e)
{
	struct collection *c = coll_get(pe, e->id);

	return coll_there(pe, c) && c->type == type ? coll_local(c, e->index) : NULL;
}

struct ck_obj *group_local(struct pe *pe, const CkGenChare *type, const CkElement *e)
{
	return e->index.v[0] == pe->id ? array_local(pe, type, e) : NULL;
}

void *CkGen_ckLocal(const CkGenChare *chare, const CkElement *e)
{
	struct ck_obj *obj = ck_local(ck_self_of(chare, "ckLocal"), chare, e);

	return obj ? self_of(obj) : NULL;
}

/* Only for a proxy that X_ckNew did not make; see announce.c. */
_Noreturn static void no_branch(struct pe *pe, const CkGenChare *type, CkProxy p)
{
	struct collection *c = coll_get(pe, p.id);

	if (c->type && c->type != type)
		csd_abort(pe, "%s_ckLocalBranch: this is the proxy of a collection of %s", type->name,
			  c->type->name);
	csd_abort(pe, "%s_ckLocalBranch: this PE has no branch, because no %s_ckNew made this proxy",
		  type->name, type->name);
}

void *CkGen_ckLocalBranch(const CkGenChare *chare, CkProxy p)
{
	struct pe *pe = ck_self_of(chare, "ckLocalBranch");
	CkElement mine = { .id = p.id };
	struct ck_obj *obj;

	mine.index.v[0] = chare->kind == CKGEN_NODEGROUP ? pe->node->job->node : pe->id;
	obj = ck_local(pe, chare, &mine);
	if (CSD_UNLIKELY(!obj))
		no_branch(pe, chare, p);
	return self_of(obj);
}

void *CkGen_nextLocal(const CkGenChare *chare, CkProxy p, const void *after)
{
	struct pe *pe = ck_self_of(chare, "nextLocal");
	struct collection *c = coll_get(pe, p.id);
	uint64_t at = after ? coll_behind(c, obj_of(after)) : 0;
	struct ck_obj *obj;

	if (!coll_there(pe, c) || c->type != chare)
		return NULL;
	obj = coll_each(c, &at);
	return obj ? self_of(obj) : NULL;
}

bool CkKnowsArray(CkArrayID array)
{
	return coll_get(ck_self(), array.id)->type != NULL;
}

CkArrayDims CkGetArrayDims(CkArrayID array)
{
	struct pe *pe = ck_self();
	const struct collection *c = coll_get(pe, array.id);

	if (!c->type)
		csd_abort(pe, "CkGetArrayDims: the array's creation has not come to this PE yet; ask on the PE "
			  "that made it, in a handler of its elements, or after CkKnowsArray");
	if (c->type->kind != CKGEN_ARRAY)
		csd_abort(pe, "CkGetArrayDims: %s is not an array", c->type->name);
	return c->homes.dims;
}
