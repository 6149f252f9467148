/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c: message memory. Each PE has a free list per size class; allocating and freeing on the
 * owner are a pop and a push, inlined in pe.h. A block freed on another PE of the node returns
 * through the owner's stack `returns`, because a pool has one writer. Small ones return together,
 * in a parcel: when it is full, or when the PE that has freed them is idle.
 *
 * The blocks are cut from slabs, which are pieces of the machine's message memory, and stay in
 * their class. Other nodes of the host use a message in place, and its block returns here. room.c
 * limits the memory for the program's messages, and reclaim.c returns slabs whose blocks are all
 * free.
 *
 * Blocks are 64-byte aligned: the 64 bytes of heads (machine and chare layer) fill the first cache
 * line and the payload starts on the second.
 */
#include "msg_memory.h"
#include "../../machine/base/cmi_alloc.h"
#include "../base/standing.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SLAB_BYTES = 64 * 1024, PAGE = 4096 };

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
	pool->ask.home = (uint16_t)local;
}

void msg_pool_fini(struct msg_pool *pool)
{
	free(pool->slabs);
	free(pool->parcels);
}

/* ---- slabs ----------------------------------------------------------------------------------- */

/* Small blocks are cut from one slab, large ones are allocated singly. */
uint32_t msg_slab_blocks(unsigned cls)
{
	size_t bytes = msg_class_bytes(cls);

	return bytes <= SLAB_BYTES / 16 ? (uint32_t)(SLAB_BYTES / bytes) : 1;
}

/* A large block begins in the middle of a page. A copy to an address whose offset in its page is up
 * to 15 bytes after the source's runs at 3.4 GB/s instead of 50 on an AMD EPYC (family 25 model
 * 17), in the kernel (`rep movsb`) and in memcpy. The kernel puts data for tcp after a short header
 * at a page's beginning, and arrays of a program often begin there, too. */
size_t msg_slab_skip(unsigned cls)
{
	return msg_slab_blocks(cls) == 1 ? PAGE / 2 : 0;
}

/* Whole pages, so that they can be returned. */
size_t msg_slab_bytes(unsigned cls)
{
	return (msg_slab_skip(cls) + msg_slab_blocks(cls) * msg_class_bytes(cls) + PAGE - 1) / PAGE * PAGE;
}

static struct msg_slab *slab_new(struct pe *pe, unsigned cls)
{
	struct msg_pool *pool = &pe->pool;

	CMI_ONE_MORE(pool->slabs, pool->n_slabs, pool->cap_slabs, "messages");
	struct msg_slab *slab = &pool->slabs[pool->n_slabs];

	*slab = (struct msg_slab){ .cls = (uint8_t)cls };
	slab->at = cmi_message_memory(pe->node->machine, msg_slab_bytes(cls));
	if (!slab->at)
		cmi_no_memory(msg_slab_bytes(cls), "messages");
	assert(!pool->n_slabs || slab[-1].at < slab->at);
	pool->n_slabs++;
	return slab;
}

/* A slab of the class without pages: an emptied one, else a new one. */
static struct msg_slab *slab_take(struct pe *pe, unsigned cls)
{
	uint32_t hollow = pe->pool.hollow[cls];

	if (!hollow)
		return slab_new(pe, cls);
	struct msg_slab *slab = &pe->pool.slabs[hollow - 1];

	pe->pool.hollow[cls] = slab->next;
	slab->hollow = false;
	return slab;
}

void msg_slab_cut(struct pe *pe, struct msg_slab *slab)
{
	const size_t bytes = msg_class_bytes(slab->cls);
	char *first = (char *)msg_slab_block(slab, 0);
	uint32_t owner = owner_word(pe->local, slab->cls);
	struct cmi_msg *next = pe->pool.free[slab->cls];

	for (size_t i = msg_slab_blocks(slab->cls); i-- > 0;) {
		struct cmi_msg *m = (struct cmi_msg *)(void *)(first + i * bytes);

		m->owner = owner;
		csd_poison(m);
		m->next = next;
		next = m;
	}
	pe->pool.free[slab->cls] = next;
}

static struct cmi_msg *pop(struct msg_pool *pool, unsigned cls)
{
	struct cmi_msg *m = pool->free[cls];

	if (m)
		pool->free[cls] = m->next;
	return m;
}

/* Refill an empty class, and take a block. */
struct cmi_msg *msg_pool_refill(struct pe *pe, unsigned cls, bool counted)
{
	struct msg_slab *slab = slab_take(pe, cls);

	slab->counted = counted;
	pe->pool.n_full[cls]++;
	msg_slab_cut(pe, slab);
	return pop(&pe->pool, cls);
}

struct cmi_msg *msg_pool_pop(struct pe *pe, unsigned cls)
{
	msg_pool_take_returns(pe);
	return pop(&pe->pool, cls);
}

struct cmi_msg *csd_msg_alloc_slow(struct pe *pe, size_t size, unsigned cls)
{
	if (cls >= MSG_CLASSES)
		csd_abort(pe, "a message cannot have %zu bytes", size);
	struct cmi_msg *m = msg_pool_pop(pe, cls);

	return m ? m : msg_pool_refill(pe, cls, false);
}

struct cmi_msg *csd_msg_alloc_copy_slow(struct pe *pe, unsigned cls)
{
	struct cmi_msg *m = msg_pool_pop(pe, cls);

	if (m)
		return m;
	/* Relaxed: only a sum. */
	atomic_fetch_add_explicit(&pe->node->memory.taken, msg_slab_bytes(cls), memory_order_relaxed);
	return msg_pool_refill(pe, cls, true);
}

/* ---- freeing --------------------------------------------------------------------------------- */

/* A returned block of a pool carries others: `size` is their number, and its body has their
 * addresses. So the owner knows all of them after one line has come, and fetches theirs together.
 * The lines of a list of single blocks would come one after the other. */
static inline struct cmi_msg **carried(struct cmi_msg *m)
{
	return (struct cmi_msg **)(void *)(m + 1);
}

static uint32_t carries_most(const struct cmi_msg *m)
{
	return (uint32_t)((msg_class_bytes(m->size_class) - sizeof *m) / sizeof(struct cmi_msg *));
}

/* Load blocks from the end of the parcel onto its last one. */
static struct cmi_msg *load_carrier(struct msg_parcel *p)
{
	struct cmi_msg *m = p->block[--p->n];
	const uint32_t most = carries_most(m), n = p->n < most ? p->n : most;

	csd_unpoison_block(m);
	p->n -= n;
	m->size = n;
	memcpy(carried(m), &p->block[p->n], n * sizeof(struct cmi_msg *));
	return m;
}

/* Our last accesses of the blocks come before their owner's next use, because a push releases and
 * the taking acquires. */
static void parcel_send(struct pe *pe, int home)
{
	struct msg_parcel *p = &pe->pool.parcels[home];
	struct cmi_msg *last = load_carrier(p), *first = last;

	while (p->n) {
		struct cmi_msg *m = load_carrier(p);

		m->next = first;
		first = m;
	}
	pe->pool.n_parcels--;
	msg_stack_local_push_list(&pe->node->pes[home]->returns, first, last);
}

static __attribute__((noinline, cold)) void parcels_make(struct pe *pe)
{
	pe->pool.parcels = cmi_alloc_zero((size_t)pe->node->job->my_n_pes, sizeof *pe->pool.parcels,
					  "messages of other threads");
}

/* Large blocks do not wait. */
static void return_to(struct pe *pe, struct cmi_msg *m)
{
	const int home = m->home;
	struct msg_parcel *p;

	csd_poison(m);
	if (CSD_UNLIKELY(!pe->pool.parcels))
		parcels_make(pe);
	p = &pe->pool.parcels[home];
	pe->pool.n_parcels += p->n == 0;
	p->block[p->n++] = m;
	if (p->n == MSG_PARCEL || m->size_class >= MSG_FINE / 64)
		parcel_send(pe, home);
}

void msg_pool_send_parcels_slow(struct pe *pe)
{
	for (int i = 0; i < pe->node->job->my_n_pes; i++)
		if (pe->pool.parcels[i].n)
			parcel_send(pe, i);
}

void csd_msg_free_slow(struct pe *pe, struct cmi_msg *m)
{
	if (m->origin == CMI_ORIGIN_SHARED)
		cmi_give_back(pe->node->machine, m);
	else if (m == &pe->pool.ask)
		pool_trim_asked(pe);
	else if (m->home != pe->local && m->origin == CMI_ORIGIN_POOL)
		return_to(pe, m);
	else if (m->home != pe->local)
		msg_stack_local_push(&pe->node->pes[m->home]->returns, m);
	else if (m->origin == CMI_ORIGIN_WIRE)
		cmi_release(pe->wire, m);
	else if (m->origin == CMI_ORIGIN_STANDING)
		standing_free(m);
	else
		csd_abort(pe, "a message was freed twice, or was never one (%p)", (void *)m);
}

static void unload_carrier(struct pe *pe, struct cmi_msg *m)
{
	const uint64_t n = m->origin == CMI_ORIGIN_POOL ? m->size : 0;

	for (uint64_t i = 0; i < n; i++)
		cmi_own_line(carried(m)[i]);
	for (uint64_t i = 0; i < n; i++)
		csd_msg_free(pe, carried(m)[i]);
}

void msg_pool_take_returns_slow(struct pe *pe)
{
	struct cmi_msg *m = msg_stack_local_take(&pe->returns);

	while (m) {
		struct cmi_msg *next = m->next;

		unload_carrier(pe, m);
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
