/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c: message memory. Each PE has a free list per size class; allocating and freeing
 * on the owner are a pop and a push, inlined in pe.h. A block freed on another PE of the node goes
 * home through the owner's stack `returns`, because a pool has one writer.
 *
 * The blocks are cut from the machine's message memory and stay in their class. A message to another
 * node of the host is handed over where it lies, and its block comes back here.
 *
 * Blocks are 64-byte aligned: the 64 bytes of heads (machine and chare layer) fill the
 * first cache line and the payload starts on the second.
 */
#include "csd_int.h"

#include <string.h>

enum { SLAB_BYTES = 64 * 1024 };

size_t msg_class_bytes(unsigned cls)
{
	if (cls < MSG_FINE / 64)
		return (cls + 1) * 64u;
	unsigned k = cls - MSG_FINE / 64;

	return (k & 1 ? (size_t)2048 : (size_t)1536) << (k / 2);
}

/* The owner word of a block of local PE `local`. */
static uint32_t owner_word(int local, unsigned cls)
{
	const struct cmi_msg m = {
		.home = (uint16_t)local, .size_class = (uint8_t)cls, .origin = CMI_ORIGIN_POOL,
	};

	return m.owner;
}

void msg_pool_init(struct msg_pool *pool, int local)
{
	memset(pool, 0, sizeof *pool);
	pool->owner = owner_word(local, 0);
}

static void *slab_alloc(struct pe *pe, size_t bytes)
{
	void *slab = cmi_message_memory(pe->node->machine, bytes);

	if (!slab)
		csd_abort(pe, "no memory for messages (%zu bytes)", bytes);
	pe->pool.n_slabs++;
	return slab;
}

/* Refill an empty class: small blocks are cut from one slab, large ones are got singly. */
static struct cmi_msg *refill(struct pe *pe, unsigned cls)
{
	size_t bytes = msg_class_bytes(cls);
	size_t n = bytes <= SLAB_BYTES / 16 ? SLAB_BYTES / bytes : 1;
	char *slab = slab_alloc(pe, n * bytes);
	struct cmi_msg *m = NULL;

	for (size_t i = n; i-- > 0;) {
		m = (struct cmi_msg *)(void *)(slab + i * bytes);
		m->owner = owner_word(pe->local, cls);
		csd_poison(m);
		if (i > 0) {
			m->next = pe->pool.free[cls];
			pe->pool.free[cls] = m;
		}
	}
	return m;
}

struct cmi_msg *csd_msg_alloc_slow(struct pe *pe, size_t size, unsigned cls)
{
	if (cls >= MSG_CLASSES)
		csd_abort(pe, "a message of %zu bytes cannot be", size);
	msg_pool_take_returns(pe);
	struct cmi_msg *m = pe->pool.free[cls];

	if (!m)
		return refill(pe, cls);
	pe->pool.free[cls] = m->next;
	return m;
}

/* Send memory home. Our last reads and writes of the block come before the owner's next use of it,
 * because a push releases and the taking acquires. */
static void return_to(struct pe *home, struct cmi_msg *m)
{
	if (m->origin == CMI_ORIGIN_POOL)
		csd_poison(m);
	msg_stack_local_push(&home->returns, m);
}

void csd_msg_free_slow(struct pe *pe, struct cmi_msg *m)
{
	if (m->origin == CMI_ORIGIN_SHARED)
		cmi_give_back(pe->node->machine, m);
	else if (m->home != pe->local)
		return_to(pe->node->pes[m->home], m);
	else if (m->origin == CMI_ORIGIN_WIRE)
		cmi_release(pe->wire, m);
	else
		csd_abort(pe, "a message was freed twice, or was never one (%p)", (void *)m);
}

void msg_pool_take_returns_slow(struct pe *pe)
{
	struct cmi_msg *m = msg_stack_local_take(&pe->returns);

	while (m) {
		struct cmi_msg *next = m->next;

		csd_msg_free(pe, m);
		m = next;
	}
}

struct cmi_msg *csd_msg_copy(struct pe *pe, const struct cmi_msg *m)
{
	struct cmi_msg *copy = csd_msg_alloc(pe, m->size);

	copy->handler = m->handler;
	copy->flags = m->flags & (uint8_t)~CMI_F_REMOTE;
	copy->src_pe = m->src_pe;
	copy->prio = m->prio;
	memcpy(copy + 1, m + 1, m->size - sizeof *m);
	return copy;
}
