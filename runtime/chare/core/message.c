/* SPDX-License-Identifier: Apache-2.0 */
/* message.c: see message.h. */
#include "message.h"

#include <stdio.h>
#include <string.h>

struct ck_env *env_new(struct pe *pe, int handler, size_t payload_bytes)
{
	struct ck_env *env =
		(struct ck_env *)csd_msg_alloc(pe, sizeof(struct ck_env) + payload_bytes);

	env->head.handler = (uint16_t)handler;
	env->call = 0;
	env->refs_and_refnum = 1; /* not atomic: no other thread knows the message */
	return env;
}

/* ---- what stubs fill ------------------------------------------------------------------------ */

static __attribute__((noinline)) void *alloc_slow(struct pe *pe, size_t size, size_t cls)
{
	return payload_of(env_fresh(csd_msg_alloc_call_slow(pe, size, (unsigned)cls), size));
}

void *CkGen_allocClass(size_t size, size_t cls)
{
	struct pe *pe = ck_self_early_in("a Ck function"); /* the callers that allocate check the PE under
							    * their own name */
	struct cmi_msg **list = &pe->pool.free[cls], *m = *list;

	if (CSD_UNLIKELY(!m))
		return alloc_slow(pe, size, cls);
	*list = m->next;
	return payload_of(env_fresh(m, size));
}
_Static_assert((int)CKGEN_BULK_HERE == (int)CMI_COPY_MIN, "as CkGen_copyBulk");
_Static_assert((int)CKGEN_FINE == (int)MSG_FINE, "CkGen_class computes what csd_size_class does");

size_t CkGen_classAbove(size_t size)
{
	return csd_size_class(size);
}

void CkGen_copyBulk(void *to, const void *from, size_t bytes)
{
	if (bytes < CMI_COPY_MIN)
		cmi_copy_shared(to, from, bytes);
	else
		cmi_copy_bulk(to, from, bytes);
}

void *CkGen_allocMsg(size_t bytes)
{
	struct ck_pe *ck = ck_of(ck_self_in("X_alloc"));
	size_t room = ck->prio_room;

	ck->prio_room = 0; /* a thread may wait for its memory */
	void *payload = CkGen_alloc(bytes + room);

	env_of(payload)->head.size -= room;
	env_of(payload)->head.route = 0;
	env_of(payload)->head.mark = OWNER_PROGRAM;
	return payload;
}

/* ---- the section after a payload ------------------------------------------------------------- */

/* If the message has space for it. */
static bool put_behind(struct ck_env *env, const void *behind, size_t n)
{
	const size_t size = env->head.size + n;

	if (env->head.origin != CMI_ORIGIN_POOL || size > msg_class_bytes(env->head.size_class))
		return false;
	csd_unpoison(&env->head, size);
	memcpy((char *)env + env->head.size, behind, n);
	env->head.size = size;
	return true;
}

bool env_add_section(struct ck_env *env, CkSection section)
{
	if (!put_behind(env, &section, sizeof section))
		return false;
	env->more |= CK_MORE_SECTION;
	return true;
}

CkSection env_drop_section(struct ck_env *env)
{
	CkSection section = env_section(env);

	env->head.size -= sizeof section;
	env->more &= (uint8_t)~CK_MORE_SECTION;
	return section;
}

CkSection env_section(const struct ck_env *env)
{
	size_t behind = env->head.flags & CMI_F_WIDE ? msg_prio_of(&env->head)->bytes : 0;
	CkSection section;

	memcpy(&section, (const char *)env + env->head.size - behind - sizeof section, sizeof section);
	return section;
}

/* ---- a copy for one element ------------------------------------------------------------------ */

struct ck_env *env_copy_for_one(struct pe *pe, const struct ck_env *env, const void *behind,
				size_t n)
{
	struct msg_prio *wide = env->head.flags & CMI_F_WIDE ? csd_save_prio(&env->head) : NULL;
	const size_t bytes = env->head.size - sizeof *env - (wide ? wide->bytes : 0);
	struct ck_env *copy = env_new(pe, 0, bytes + n);

	copy->head.flags = env->head.flags & CSD_F_QUEUEING & (uint8_t)~CMI_F_WIDE;
	copy->head.prio = env->head.prio;
	copy->call = env->call;
	copy->flags &= (uint8_t)~CK_ENV_FORWARDED;
	copy->refnum = env->refnum;
	memcpy(payload_of(copy), env + 1, bytes);
	memcpy((char *)payload_of(copy) + bytes, behind, n);
	return wide ? (struct ck_env *)csd_restore_prio(pe, &copy->head, wide) : copy;
}

struct ck_env *env_add_behind(struct pe *pe, struct ck_env *env, const void *behind, size_t n)
{
	struct ck_env *copy;

	if (!(env->head.flags & CMI_F_WIDE) && put_behind(env, behind, n))
		return env;
	copy = env_copy_for_one(pe, env, behind, n);
	csd_msg_free(pe, &env->head);
	return copy;
}

/* A wide priority moves up. It stays aligned to n. */
void env_drop_behind(struct ck_env *env, void *behind, size_t n)
{
	const size_t prio = env->head.flags & CMI_F_WIDE ? msg_prio_of(&env->head)->bytes : 0;
	char *at = (char *)env + env->head.size - prio - n;

	memcpy(behind, at, n);
	memmove(at, at + n, prio);
	env->head.size -= n;
}

/* ---- copies and holders --------------------------------------------------------------------- */

struct ck_env *own_copy(struct pe *pe, const struct ck_env *env)
{
	struct ck_env *copy = (struct ck_env *)csd_msg_copy(pe, &env->head);

	atomic_store_explicit(&copy->refs, 1, memory_order_relaxed); /* only this thread has it */
	return copy;
}

void env_unref_shared(struct pe *pe, struct ck_env *env)
{
	/* Release: our reads are over before another holder frees it; acquire: as in env_unref. */
	if (atomic_fetch_sub_explicit(&env->refs, 1, memory_order_acq_rel) == 1)
		csd_msg_free(pe, &env->head);
}

void bcast_forward_from(struct pe *pe, struct ck_env *env, int root)
{
	if (env->flags & CK_ENV_FORWARDED)
		return;
	int n = csd_tree_n_children(pe, root);

	for (int i = 0; i < n; i++)
		csd_send(pe, csd_tree_child(pe, root, i), csd_msg_copy(pe, &env->head));
	env->flags |= CK_ENV_FORWARDED;
}

void bcast_forward(struct pe *pe, struct ck_env *env)
{
	bcast_forward_from(pe, env, env->root);
}

const char *describe_entry(const CkGenChare *type, int entry, char *buf, size_t len)
{
	bool known = entry >= 0 && entry < type->n_entries;

	snprintf(buf, len, "%s::%s", type->name, known ? type->entries[entry].name : "?");
	return buf;
}
