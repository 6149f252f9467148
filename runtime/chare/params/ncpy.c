/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ncpy.c: nocopy arrays (Charm++'s Zero Copy Direct API). Within a node the handler reads the
 * caller's memory in place, and the callback fires when the handler has returned. Memory that the
 * other processes of the host have mapped (CkRdmaAlloc, messages) is lent to them in the same way;
 * the message carries a reference.
 *
 * A call that leaves the node otherwise, or goes to several elements, carries a copy of the array
 * after the payload, and the callback fires at once. Between nodes of one host that is the only
 * copy, because they pass the message by reference. Letting the receiver fetch the data with
 * process_vm_readv is also one copy, but was slower at every size (bench/lend): 6.4 us a round trip
 * instead of 2.3 at 10 kB, 34 instead of 27 at 100 kB, 246 instead of 91 at 1 MB.
 */
#include "params.h"

#include <string.h>

enum {
	/* Bytes: a smaller array is copied. Lending takes a round trip from 3.7 to 2.3 us with 10 kB each
	 * way, and from 31 to 17 us with 100 kB (bench/nocopy); at 1 kB both are equal. */
	LEND_LEAST = 1 << 10,
};

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
	return ncpy_at(env, e->ncpy[i]);
}

/* Tell the caller that it may reuse its memory. A message that several PEs share has no callback
 * left. */
static void fire_done(struct pe *pe, CkGenNcpy *d)
{
	CkNcpyBuffer b;

	if (d->done.kind == CB_NONE || d->done.kind == CB_IGNORE)
		return;
	b = CkSendBufferCb(d->own, d->done);
	b.bytes = d->bytes;
	d->done = CkCallbackIgnore();
	callback_fire(pe, &b.done, CK_BYTE, &b, sizeof b, sizeof b);
}

/* The address of an array that has no copy. */
static const void *source_of(const struct pe *pe, const CkGenNcpy *d)
{
	return d->ref ? cmi_shared_ptr(pe->node->machine, d->ref) : d->ptr;
}

/* Before the handler: set the pointers to arrays that were lent to this process. */
void ncpy_arrived(struct pe *pe, const CkGenEntry *e, struct ck_env *env)
{
	for (int i = 0; i < e->n_ncpy; i++) {
		CkGenNcpy *d = descriptor(env, e, i);

		if (!d->at)
			d->ptr = source_of(pe, d);
	}
}

void ncpy_done(struct pe *pe, const CkGenEntry *e, struct ck_env *env)
{
	if (env->flags & CK_CALL_POSTED)
		return;
	for (int i = 0; i < e->n_ncpy; i++)
		fire_done(pe, descriptor(env, e, i));
}

void ncpy_copy_out(struct pe *pe, struct ck_env *env, CkGenNcpy *d, void *to, size_t bytes)
{
	const void *from = d->at ? (char *)payload_of(env) + d->at : source_of(pe, d);

	if (bytes && to != from)
		memcpy(to, from, bytes);
	fire_done(pe, d);
}

/* A longer message that begins with the content of `env`, without the wide priority. */
static struct ck_env *longer(struct pe *pe, const struct ck_env *env, size_t size)
{
	struct ck_env *copy = (struct ck_env *)csd_msg_alloc(pe, size);

	copy->head.route = env->head.route;
	copy->head.prio = env->head.prio;
	memcpy(&copy->head + 1, &env->head + 1, env->head.size - sizeof env->head);
	return copy;
}

/* A reference by which dst_pe can read the array in place; 0: the array must be copied. For a small
 * array the callback's message costs more than a copy. dst_pe -1: several PEs, or not known yet. */
static uint64_t lend_to(const struct pe *pe, int dst_pe, const CkGenNcpy *d)
{
	if (dst_pe < 0 || d->ref || d->bytes < LEND_LEAST)
		return 0;
	return cmi_shared_ref(pe->wire, dst_pe, d->ptr, d->bytes);
}

/* Decide for each array whether it is lent or copied. Returns the end of the payload with the
 * copies. */
static size_t lay_out(struct pe *pe, int dst_pe, const CkGenEntry *e, struct ck_env *env)
{
	size_t end = env->head.size - sizeof *env;
	bool lent = false;

	for (int i = 0; i < e->n_ncpy; i++) {
		CkGenNcpy *d = descriptor(env, e, i);
		const uint64_t ref = lend_to(pe, dst_pe, d);

		if (ref) {
			d->ref = ref;
			lent = true;
		} else if (!d->at) {
			d->ptr = d->bytes ? source_of(pe, d) : env; /* anything but NULL */
			d->ref = 0;
			d->at = CkGen_align(end);
			end = CkGen_align(d->at + d->bytes);
		}
	}
	env->flags &= (uint8_t)~CK_CALL_LENT;
	if (lent)
		env->flags |= CK_CALL_LENT;
	else
		env->head.flags &= (uint8_t)~CMI_F_HERE;
	return end;
}

/* Copy an array whose `at` lay_out has just set: it still has its pointer. */
static void copy_in(struct pe *pe, struct ck_env *env, CkGenNcpy *d)
{
	if (!d->at || !d->ptr)
		return;
	if (d->bytes)
		memcpy((char *)payload_of(env) + d->at, d->ptr, d->bytes);
	d->ptr = NULL;
	fire_done(pe, d);
}

struct ck_env *ncpy_leave(struct pe *pe, int dst_pe, const CkGenEntry *e, struct ck_env *env)
{
	struct msg_prio *wide =
		env->head.flags & CMI_F_WIDE ? csd_save_prio(&env->head) : NULL;

	if (wide)
		csd_clear_prio(&env->head);
	size_t end = lay_out(pe, dst_pe, e, env);

	env->head.src_pe = pe->id;
	if (sizeof *env + end > env->head.size) {
		struct ck_env *copy = longer(pe, env, sizeof *env + end);

		csd_msg_free(pe, &env->head);
		env = copy;
	}
	for (int i = 0; i < e->n_ncpy; i++)
		copy_in(pe, env, descriptor(env, e, i));
	return wide ? (struct ck_env *)csd_restore_prio(pe, &env->head, wide) : env;
}
