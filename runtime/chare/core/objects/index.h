/* SPDX-License-Identifier: Apache-2.0 */
/* index.h: indices, their homes, and tables by index. */
#ifndef CK_INDEX_H
#define CK_INDEX_H

#include "collection.h"

uint64_t index_place_slow(const struct collection *c, CkIndex i);
/** The index at a place; in a sparse array, at a number in its lattice. */
CkIndex index_at(const struct collection *c, uint64_t place);
CkIndex index_pack(int nd, const int32_t v[6]);
/** An index in a form that compares as the indices do. With four to six dimensions a number holds
 * two short ones, the lower one so that it compares without its sign. */
CkIndex index_key(const CkGenChare *type, CkIndex i);
/** For qsort: -1, 0 or 1 of what begins with a CkIndex. */
int index_compare(const void *a, const void *b);
/** Write the element's name to buf: "Cell(3, 4)"; of a user's index type the bytes. */
void index_describe(const CkGenChare *type, CkIndex i, char *buf, size_t len);
_Noreturn void index_bad(struct pe *pe, const struct collection *c, const char *what, CkIndex at);

/** The place of any index of an array that has places. */
static inline uint64_t index_place(const struct collection *c, CkIndex i)
{
	uint64_t place = coll_linear(c, i);

	return place == UINT64_MAX && c->type->nd > 3 && !c->sparse ? index_place_slow(c, i) : place;
}

/** The element in a struct elemmap, of an array with places or of a sparse one. */
static inline struct elem_key elem_key_of(const struct collection *c, CkIndex i)
{
	if (!c->sparse)
		return elem_key_of_place(index_place(c, i));
	return (struct elem_key){ (uint32_t)i.v[0] | (uint64_t)(uint32_t)i.v[1] << 32, (uint32_t)i.v[2] };
}
/** And back. */
static inline CkIndex elem_index(const struct collection *c, struct elem_key k)
{
	return c->sparse ?
		       (CkIndex){ { (int32_t)(uint32_t)k.a, (int32_t)(k.a >> 32), (int32_t)k.b } } :
		       index_at(c, k.a);
}

/** The home PE of an element; calls of the element go there. All PEs compute the same. */
int index_home(struct pe *pe, const struct collection *c, CkIndex i);

/** The beginning of every struct that a table finds by index, such as struct ck_obj. */
struct indexed {
	void *any;
	CkIndex index;
};
_Static_assert(offsetof(struct ck_obj, index) == offsetof(struct indexed, index),
	       "an element is found by its index");

/** A table by index is an idmap from the hash of the index to a pointer to a struct indexed. */
void *index_find(const struct idmap *m, CkIndex i);
void index_add(struct idmap *m, void *indexed);
void index_remove(struct idmap *m, CkIndex i);
/** The same for a table that is mostly empty, and then takes little memory. */
void index_remove_trim(struct idmap *m, CkIndex i);

#endif
