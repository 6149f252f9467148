/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.h: the room place/: where elements live.
 *
 * Owns     making collections and their elements (create.c), elements that come and go (insert.c),
 *          whether inserting is over (closing.c), whether all are constructed (ready.c), the end of an
 *          object (destroy.c), finding elements of this PE (local.c).
 * Called   by the rooms above, on the element's PE or its home; by call/ through `seek` (part.h).
 * Calls    wait/, call/, params/, core/.
 */
#ifndef CK_PLACE_H
#define CK_PLACE_H

#include "../wait/wait.h"

enum { PART_PLACE = 8, PART_DESTROY = 9 };
extern const struct ck_part place_part, destroy_part;

/** The parameters of a constructor become the message of a creation. They may go anywhere, so they
 * leave this node's form at once. */
struct ck_env *create_take(struct pe *pe, const CkGenChare *type, void *payload);
/** Create this PE's elements and run their constructors in index order; then handle what came
 * too early. The payload stays the caller's. */
void coll_construct(struct pe *pe, struct collection *c, void *payload);

/** The element of this PE, or NULL. */
struct ck_obj *coll_local(const struct collection *c, CkIndex i);
/** Elements of the collection come and go, if that is not known here yet. */
void coll_become_dynamic(struct pe *pe, struct collection *c);

/** Free an object that nobody can find any more, when no handler of it runs. */
void destroy_later(struct pe *pe, struct ck_obj *obj);

#endif
