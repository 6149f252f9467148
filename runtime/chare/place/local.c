/* SPDX-License-Identifier: Apache-2.0 */
/* local.c: what a program asks about a collection: the elements of this PE, the extents. */
#include "place_int.h"

struct ck_obj *coll_local(const struct collection *c, CkIndex i)
{
	if (c->sparse)
		return index_find(&place_of(c)->dyn->here, i);
	uint64_t place = index_place(c, i);

	return place == UINT64_MAX ? NULL : coll_find(c, place);
}

struct ck_obj *array_local(struct pe *pe, const CkGenChare *type, const CkElement *e)
{
	const struct collection *c = coll_get(pe, e->id);

	return c->constructed && c->type == type ? coll_local(c, e->index) : NULL;
}

struct ck_obj *group_local(struct pe *pe, const CkGenChare *type, const CkElement *e)
{
	return e->index.v[0] == pe->id ? array_local(pe, type, e) : NULL;
}

void *CkGen_ckLocal(const CkGenChare *chare, const CkElement *e)
{
	struct ck_obj *obj = ck_local(ck_self(), chare, e);

	return obj ? self_of(obj) : NULL;
}

void *CkGen_nextLocal(const CkGenChare *chare, CkProxy p, const void *after)
{
	struct pe *pe = ck_self();
	const struct collection *c = coll_get(pe, p.id);
	uint64_t i = after ? obj_of(after)->ordinal + 1 : 0;

	if (!c->constructed || c->type != chare)
		return NULL;
	while (i < c->n_slots && !c->elems[i])
		i++;
	return i < c->n_slots ? self_of(c->elems[i]) : NULL;
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
		csd_abort(pe, "CkGetArrayDims: %s is no array", c->type->name);
	return c->dims;
}
