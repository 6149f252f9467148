/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.h: the room place/: where elements live.
 *
 * Owns     making arrays and their elements (create.c), making groups (announce.c), inserting and destroying elements
 *          (insert.c), detecting that inserting is over (closing.c), detecting that all elements
 *          are constructed (ready.c), freeing destroyed objects (destroy.c), finding elements of
 *          this PE (local.c).
 * Called   by the rooms above, on the element's PE or its home; by call/ through `seek` (part.h).
 * Calls    wait/, call/, params/, core/.
 */
#ifndef CK_PLACE_H
#define CK_PLACE_H

#include "../wait/wait.h"

enum { PART_PLACE = 8, PART_DESTROY = 9 };
extern const struct ck_part place_part, destroy_part;

/** Turn the parameters of a constructor into a creation message. The message may go to any PE, so
 * the parameters leave this node's form at once. */
struct ck_env *create_take(struct pe *pe, const CkGenChare *type, void *payload);
/** Create this PE's elements, run their constructors in index order, then handle the messages
 * that arrived too early. The caller keeps the payload. */
void coll_construct(struct pe *pe, struct collection *c, void *payload);

/** The element of this PE, or NULL. */
struct ck_obj *coll_local(const struct collection *c, CkIndex i);
/** Note that elements of the collection come and go, unless this PE knows it already. */
void coll_become_dynamic(struct pe *pe, struct collection *c);

/** Free an object that nobody can find any more, as soon as none of its handlers runs. */
void destroy_later(struct pe *pe, struct ck_obj *obj);

#endif
