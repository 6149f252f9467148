/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shape.h: the common checks of chare messages from other processes. Each function returns NULL, or
 * the error, for csd_shape.misfit.
 */
#ifndef CK_SHAPE_H
#define CK_SHAPE_H

#include "objects/state.h"

/** Calls carry their seal in the reference count: head.word may be a priority, or name the
 * caller. */
#define CK_SEAL_CALL .seal_at = offsetof(struct ck_env, refs), .open = 1
/** The shape of a call: with any priority, with lent arrays (CMI_F_HERE), and at least a head. */
#define CK_SHAPE_CALL                                                                              \
	.least = sizeof(struct ck_env), .may = CSD_F_QUEUEING | CMI_F_HERE, CK_SEAL_CALL
/** The shape of other messages with a struct ck_env, and of those that are just one struct. */
#define CK_SHAPE_ENV .least = sizeof(struct ck_env)
#define CK_SHAPE_STRUCT(s) .least = sizeof(s), .exact = true
/** The member of a struct has the id of a collection, whose creator is a PE. */
#define CK_NOBODY "it names a collection that nobody can have made"
#define CK_SHAPE_ID(s, member) .id_at = offsetof(s, member), .nobody = CK_NOBODY
#define CK_SHAPE_COLL CK_SHAPE_ENV, CK_SHAPE_ID(struct ck_env, coll)
#define CK_SHAPE_COLL_CALL CK_SHAPE_CALL, CK_SHAPE_ID(struct ck_env, coll)
/** The root of its tree is in its head, or is the maker in the id. */
#define CK_SHAPE_ROOT .root_at = offsetof(struct ck_env, root)
#define CK_SHAPE_MAKER(s, id) .root_at = offsetof(s, id) + 4

/** The creator of a collection, as its id says, is a PE, or was one before a restart. */
static inline const char *shape_id(const struct pe *pe, uint64_t id)
{
	return csd_can_make(pe->node, id >> 32) && (uint32_t)id ? NULL : CK_NOBODY;
}

/** It has just arrived, and has one holder. */
const char *shape_alone(struct pe *pe, const struct cmi_msg *m);

/** A whole CkReductionMsg, followed by `behind` bytes. */
const char *shape_result(const struct ck_env *env, size_t behind);

/** A CkReductionMsg with nothing after it, and the stated number of values. */
const char *shape_values(const struct ck_env *env);

/** A callback can be fired. */
const char *shape_callback(struct pe *pe, const CkCallback *cb);

/** The bytes of a payload, without a wide priority or a section after it. */
size_t shape_room(const struct ck_env *env);

/** The parameters of a call of that type lie within it. For entries without plain calls, and where
 * `least` does not decide. */
const char *shape_call(struct pe *pe, const CkGenChare *type, int entry, const struct ck_env *env);

/** The same where the payload has `room` bytes. */
const char *shape_params(struct pe *pe, const CkGenChare *type, int entry, const struct ck_env *env,
			 size_t room);

/** The same for a call of elements of that collection, whose type may not be known yet. */
const char *shape_call_of(struct pe *pe, const struct collection *c, const struct ck_env *env);

#endif
