/* SPDX-License-Identifier: Apache-2.0 */
/*
 * create.h: the room create/: collections and the elements that they begin with.
 *
 * Owns     making arrays and their elements (create.c), making groups (announce.c), detecting that
 *          all elements are constructed (ready.c), finding elements of this PE (local.c), freeing
 *          destroyed objects (destroy.c), the parts that observe elements which come, go and move
 *          (place_watch.c), collections, groups and main chares in checkpoints
 *          (create_save.c, branch_save.c).
 * Called   by the rooms above.
 * Calls    wait/, call/, params/, core/; and through struct ck_kind the room place/, which makes
 *          elements come, go and move, and may be left out.
 */
#ifndef CK_CREATE_H
#define CK_CREATE_H

#include "../wait/wait.h"

struct place_still;

enum { PART_CREATE = 8, PART_DESTROY = 9 };
extern const struct ck_part create_part, destroy_part;

/** Turn the parameters of a constructor into a creation message. The message may go to any PE, so
 * the parameters are converted for other nodes at once. */
struct ck_env *create_take(struct pe *pe, const CkGenChare *type, void *payload);
/** Create this PE's elements, run their constructors in index order, then handle the messages that
 * arrived too early. The caller keeps the payload. */
void coll_construct(struct pe *pe, struct collection *c, void *payload);
/** An element in a slot of this PE, not constructed yet. */
struct ck_obj *obj_add(struct collection *c, CkIndex index, uint64_t slot);

/** A restart: all elements of this PE are in the collection's tables, elems included, and it has
 * its type from the image. Set the numbers that its elements share, and notify the watchers. Calls
 * find the elements from now on. */
void coll_remade(struct pe *pe, struct collection *c);
/** A chare of the program; NULL: it has none of that name and kind. */
const CkGenChare *type_by_name(const struct ck_node *ck, const char *name, CkGenKind kind);
/** What the image says of the collection's elements; `any`: it has the collection. */
const struct place_still *coll_saved(const struct collection *c);

/** The element of this PE, or NULL. */
struct ck_obj *coll_local(const struct collection *c, CkIndex i);
/** Note that elements of the collection come and go, unless this PE knows it already. */
void coll_become_dynamic(struct pe *pe, struct collection *c);

/** Free an object that cannot be found any more, as soon as none of its handlers runs. */
void destroy_later(struct pe *pe, struct ck_obj *obj);

/** An element that is OBJ_AWAY contributes: `env`, made by `part`, becomes a message to its seat,
 * which passes it to that part's `filed` (place_watch.h) after the element's earlier contributions.
 * The part may use the payload and env->more. Takes the message. Only the room place/ lets elements
 * be away. */
static inline void seat_send(struct pe *pe, struct ck_obj *obj, int part, struct ck_env *env)
{
	ck_kind(pe, obj->coll->type)->seat_send(pe, obj, part, env);
}

/* local.c: a function of the tables of kinds (part.h) */
struct ck_obj *array_local(struct pe *pe, const CkGenChare *type, const CkElement *e);

#endif
