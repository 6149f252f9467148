/* SPDX-License-Identifier: Apache-2.0 */
/* keep.c: what a handler may do with its message: keep it (CkKeepMsg), or free it (CkFreeMsg). */
#include "call_int.h"

/* Abort if the parameters point to memory outside the message. */
static void check_keep(struct pe *pe)
{
	const CkGenChare *type = ck_of(pe)->now.obj->coll->type;
	uint32_t flags = type->entries[ck_of(pe)->now.entry].flags;

	if (flags & CKGEN_NOCOPY)
		csd_abort(pe, "CkKeepMsg: nocopy arrays are the caller's memory, valid until the "
			  "handler returns; copy what is to be kept");
	if (flags & CKGEN_PUP)
		csd_abort(pe, "CkKeepMsg: objects that a pup function made are valid until the "
			  "handler returns; copy what is to be kept");
}

static inline void *keep_plain(struct pe *pe, struct ck_env *env)
{
	env->head.mark = OWNER_PROGRAM;
	if (ck_of(pe)->shared)
		/* Relaxed: this PE holds a reference already, so the count cannot reach 0 meanwhile. */
		atomic_fetch_add_explicit(&env->refs, 1, memory_order_relaxed);
	ck_of(pe)->now.env = NULL;
	return payload_of(env);
}

static __attribute__((noinline)) void *keep_special(struct pe *pe, struct ck_env *env)
{
	if (aggregate_runs(pe)) {
		ck_of(pe)->now.env = NULL;
		return aggregate_keep(pe);
	}
	check_keep(pe);
	return keep_plain(pe, env);
}

void *CkKeepMsg(void)
{
	struct pe *pe = ck_self();
	struct ck_env *env = current(ck_of(pe));

	if (!env)
		csd_abort(pe, "CkKeepMsg: no message is being delivered, or it is kept, freed or "
			  "sent already");
	return CSD_UNLIKELY(env->flags & CK_ENV_SPECIAL) ? keep_special(pe, env) : keep_plain(pe, env);
}

void CkFreeMsg(void *msg)
{
	struct pe *pe = ck_self();

	if (!msg)
		return;
	struct ck_env *env = env_of(msg);

	if (env != current(ck_of(pe))) {
		owner_let_go(env);
		if (pe->node->check)
			owner_check_free(pe, env);
		else
			env_unref(pe, env);
	} else if (!ck_of(pe)->shared) {
		/* Charm++'s habit: a handler frees its message itself. */
		ck_of(pe)->now.env = NULL;
		message_done(pe, env);
	}
}
