/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message.h: chare messages: made, copied, passed down a tree, let go of.
 */
#ifndef CK_MESSAGE_H
#define CK_MESSAGE_H

#include "state.h"

/** A message of new memory. What is not written here, is written by whoever makes a call of it. */
static inline struct ck_env *env_fresh(struct cmi_msg *m, size_t size)
{
	struct ck_env *env = (struct ck_env *)m;

	csd_unpoison(m, size);
	env->head.size = size;
	env->refs_and_refnum = 1; /* plain: nobody else knows it */
	return env;
}
/** A message with no flags and one holder; the caller's. */
struct ck_env *env_new(struct pe *pe, int handler, size_t payload_bytes);
/** A copy that its receiver may do with as it likes. */
struct ck_env *own_copy(struct pe *pe, const struct ck_env *env);
/** One holder less; the last one frees it. */
void env_unref(struct pe *pe, struct ck_env *env);
/** Copies to this PE's children in the tree of env->root, once; `env` stays the caller's. */
void bcast_forward(struct pe *pe, struct ck_env *env);
/** The same in a tree that the message does not name. */
void bcast_forward_from(struct pe *pe, struct ck_env *env, int root);
/** "Cell::ghost" into buf, which it returns. */
const char *describe_entry(const CkGenChare *type, int entry, char *buf, size_t len);

#endif
