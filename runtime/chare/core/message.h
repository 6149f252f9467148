/* SPDX-License-Identifier: Apache-2.0 */
/* message.h: making chare messages, copying them, forwarding them down a tree, freeing them. */
#ifndef CK_MESSAGE_H
#define CK_MESSAGE_H

#include "objects/state.h"

/** Begin a message in new memory. The function that makes it a call writes the other fields. */
static inline struct ck_env *env_fresh(struct cmi_msg *m, size_t size)
{
	struct ck_env *env = (struct ck_env *)m;

	csd_unpoison(m, size);
	env->head.size = size;
	env->refs_and_refnum = 1; /* not atomic: no other thread knows the message */
	return env;
}
/** A message with no flags and one holder. The caller owns it. */
struct ck_env *env_new(struct pe *pe, int handler, size_t payload_bytes);
/** A copy that the caller owns alone and may change. */
struct ck_env *own_copy(struct pe *pe, const struct ck_env *env);
/** A multicast's copy for a member on another PE becomes a call of that element, whose head has no
 * space for the section. So the section follows the payload, before a wide priority.
 * env_add_section returns false, and leaves the message as it is, if its memory is too short;
 * env_drop_section is the reverse. Neither may be called while there is a wide priority. */
bool env_add_section(struct ck_env *env, CkSection section);
CkSection env_drop_section(struct ck_env *env);
/** A copy of a message to several elements, to become the call of one: with n more bytes after the
 * payload, before a wide priority. The caller owns it, and addresses it. */
struct ck_env *env_copy_for_one(struct pe *pe, const struct ck_env *env, const void *behind,
				size_t n);
/** The same of a message that the caller gives up; in place, if it has space. */
struct ck_env *env_add_behind(struct pe *pe, struct ck_env *env, const void *behind, size_t n);
/** Remove n bytes after the payload. */
void env_drop_behind(struct ck_env *env, void *behind, size_t n);
/** The section after the payload, in a message with CK_MORE_SECTION. */
CkSection env_section(const struct ck_env *env);
/** env_unref of a message that others may hold, too. */
void env_unref_shared(struct pe *pe, struct ck_env *env);
/** Release a message; the last holder frees it. */
static inline void env_unref(struct pe *pe, struct ck_env *env)
{
	/* The only holder needs no atomic decrement. The acquire pairs with the release in the other
	 * holders' decrements, so their reads of the message are over. */
	if (CSD_LIKELY(atomic_load_explicit(&env->refs, memory_order_acquire) == 1))
		csd_msg_free(pe, &env->head);
	else
		env_unref_shared(pe, env);
}
/** Send copies to this PE's children in the tree of env->root, once. The caller still owns
 * `env`. */
void bcast_forward(struct pe *pe, struct ck_env *env);
/** The same in the tree of `root`, for messages that do not name it. */
void bcast_forward_from(struct pe *pe, struct ck_env *env, int root);
/** Write "Cell::ghost" to buf, and return buf. */
const char *describe_entry(const CkGenChare *type, int entry, char *buf, size_t len);

#endif
