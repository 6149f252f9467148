/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ncpy.c: nocopy arrays. Within a node the handler reads the caller's memory where it lies, and
 * the callback fires when it has returned. What leaves the node, or goes to several elements,
 * takes a copy behind the payload, and the callback fires at once. Between nodes of one host
 * that is the only copy: the message itself is handed over by reference.
 */
#include "ck_int.h"

#include <string.h>

CkNcpyBuffer CkSendBuffer(const void *ptr)
{
	return CkSendBufferCb(ptr, CkCallbackIgnore());
}

CkNcpyBuffer CkSendBufferCb(const void *ptr, CkCallback done)
{
	CkNcpyBuffer b;

	memset(&b, 0, sizeof b);
	b.ptr = ptr;
	b.done = done;
	return b;
}

static CkGenNcpy *descriptor(struct ck_env *env, const CkGenEntry *e, int i)
{
	return (CkGenNcpy *)(void *)((char *)payload_of(env) + e->ncpy[i]);
}

/* The caller may have its memory back. */
static void fire(struct pe *pe, CkGenNcpy *d)
{
	const CkCallback done = d->done;

	d->done = CkCallbackIgnore();
	if (done.kind != CB_NONE && done.kind != CB_IGNORE)
		callback_fire(pe, &done, CK_NOTYPE, NULL, 0, 0);
}

void ncpy_done(struct pe *pe, const CkGenEntry *e, struct ck_env *env)
{
	for (int i = 0; i < e->n_ncpy; i++)
		fire(pe, descriptor(env, e, i));
}

/* A longer message with what `env` has in front; the wide priority is not taken along. */
static struct ck_env *longer(struct pe *pe, const struct ck_env *env, size_t size)
{
	struct ck_env *copy = (struct ck_env *)csd_msg_alloc(pe, size);

	copy->head.route = env->head.route;
	copy->head.prio = env->head.prio;
	memcpy(&copy->head + 1, &env->head + 1, env->head.size - sizeof env->head);
	copy->head.flags &= (uint8_t)~CMI_F_HERE;
	return copy;
}

struct ck_env *ncpy_copy(struct pe *pe, const CkGenEntry *e, struct ck_env *env)
{
	struct msg_prio *wide =
		env->head.flags & CMI_F_WIDE ? csd_save_prio(pe, &env->head) : NULL;
	size_t end;

	if (wide)
		csd_clear_prio(&env->head);
	end = CkGen_align(env->head.size - sizeof *env);
	for (int i = 0; i < e->n_ncpy; i++) {
		CkGenNcpy *d = descriptor(env, e, i);

		if (d->at)
			return env; /* is a copy */
		d->at = end;
		end = CkGen_align(end + d->bytes);
	}
	struct ck_env *copy = longer(pe, env, sizeof *env + end);

	csd_msg_free(pe, &env->head);
	for (int i = 0; i < e->n_ncpy; i++) {
		CkGenNcpy *d = descriptor(copy, e, i);

		if (d->bytes)
			memcpy((char *)payload_of(copy) + d->at, d->ptr, d->bytes);
		d->ptr = NULL;
		fire(pe, d);
	}
	return wide ? (struct ck_env *)csd_restore_prio(pe, &copy->head, wide) : copy;
}
