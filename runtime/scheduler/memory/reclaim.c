/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reclaim.c: empties slabs whose blocks are all free: their pages are returned to the system, so
 * that another size class or another PE of the process can use the memory. Their addresses stay in
 * their class and are used first when it needs a slab again.
 *
 * That is done only near the limit of room.c, because the free blocks have to be counted one by
 * one. A PE trims its own pool. It asks each other PE by that PE's message `ask`, which it pushes
 * onto the stack of returns that is checked in each pass anyway.
 */
#include "msg_memory.h"

#include <sched.h>

enum {
	TRIM_SHARE = 10,             /* a PE trims in at most this fraction of its time */
	AWAIT_NS = 20 * 1000 * 1000, /* how long a handler that cannot wait gives others to trim */
};

/* The slab of one of our blocks: the last one that begins at or before it. */
static struct msg_slab *slab_of(const struct msg_pool *pool, const struct cmi_msg *m)
{
	size_t low = 0, high = pool->n_slabs;

	while (high - low > 1) {
		size_t mid = (low + high) / 2;

		if ((const char *)m < pool->slabs[mid].at)
			high = mid;
		else
			low = mid;
	}
	return &pool->slabs[low];
}

static void count_free(struct msg_pool *pool)
{
	for (size_t i = 0; i < pool->n_slabs; i++)
		pool->slabs[i].n_free = 0;
	for (unsigned cls = 0; cls < MSG_CLASSES; cls++)
		for (const struct cmi_msg *m = pool->free[cls]; m; m = m->next)
			slab_of(pool, m)->n_free++;
}

static bool all_free(const struct msg_slab *slab)
{
	return !slab->hollow && slab->n_free == msg_slab_blocks(slab->cls);
}

/* Remove the blocks of slabs that are all free from the free lists. */
static void drop_blocks(struct msg_pool *pool)
{
	for (unsigned cls = 0; cls < MSG_CLASSES; cls++) {
		struct cmi_msg **link = &pool->free[cls];

		while (*link)
			if (all_free(slab_of(pool, *link)))
				*link = (*link)->next;
			else
				link = &(*link)->next;
	}
}

/* Returns how much `taken` has decreased. */
static uint64_t empty(struct pe *pe, struct msg_slab *slab)
{
	struct msg_pool *pool = &pe->pool;
	uint64_t bytes = msg_slab_bytes(slab->cls);
	bool counted = slab->counted;

	if (!cmi_message_memory_back(pe->node->machine, slab->at, bytes)) {
		msg_slab_cut(pe, slab);
		return 0;
	}
	slab->hollow = true;
	slab->counted = false;
	slab->next = pool->hollow[slab->cls];
	pool->hollow[slab->cls] = (uint32_t)(slab - pool->slabs) + 1;
	pool->n_full[slab->cls]--;
	return counted ? bytes : 0;
}

static uint64_t trim_slabs(struct pe *pe)
{
	struct msg_pool *pool = &pe->pool;
	uint64_t bytes = 0;

	msg_pool_take_returns(pe);
	count_free(pool);
	drop_blocks(pool);
	for (size_t i = 0; i < pool->n_slabs; i++)
		if (all_free(&pool->slabs[i]))
			bytes += empty(pe, &pool->slabs[i]);
	/* Relaxed: no other memory depends on the number. */
	atomic_fetch_sub_explicit(&pe->node->memory.taken, bytes, memory_order_relaxed);
	return bytes;
}

bool pool_trim(struct pe *pe, bool must)
{
	uint64_t begin = csd_now_ns();

	if (!must && begin < pe->pool.trim_after_ns)
		return false;
	uint64_t bytes = trim_slabs(pe), end = csd_now_ns();

	pe->pool.trim_after_ns = end + (end - begin) * TRIM_SHARE;
	return bytes > 0;
}

/* ---- the other PEs of the process ------------------------------------------------------------ */

/* `asked` guards the message: the release lets the next PE that asks write its link after we have
 * read it. It is cleared after the trim, for pool_await_others. */
void pool_trim_asked(struct pe *pe)
{
	msg_pool_send_parcels(pe);
	pool_trim(pe, false);
	atomic_store_explicit(&pe->pool.asked, false, memory_order_release);
}

void pool_ask_others(struct pe *pe)
{
	for (int i = 0; i < pe->node->job->my_n_pes; i++) {
		struct pe *other = pe->node->pes[i];

		if (other == pe ||
		    /* Acquire: pairs with pool_trim_asked. */
		    atomic_exchange_explicit(&other->pool.asked, true, memory_order_acquire))
			continue;
		msg_stack_local_push(&other->returns, &other->pool.ask);
		/* As in inbox_push. A sleeper checks its returns when it wakes up; if this misses it, it sleeps
		 * for as long as its timers allow, and the asking PE asks again. */
		if (atomic_load_explicit(&other->sleeping, memory_order_seq_cst))
			cmi_wake(other->wire);
	}
}

static bool any_asked(const struct pe *pe)
{
	for (int i = 0; i < pe->node->job->my_n_pes; i++)
		if (pe->node->pes[i] != pe &&
		    atomic_load_explicit(&pe->node->pes[i]->pool.asked, memory_order_acquire))
			return true;
	return false;
}

/* A handler is at the limit: let the others trim before the job ends. One in a long handler does
 * not. Returns whether there are others. */
bool pool_await_others(struct pe *pe)
{
	uint64_t begin = csd_now_ns();

	if (pe->node->job->my_n_pes == 1)
		return false;
	pool_ask_others(pe);
	while (any_asked(pe) && csd_now_ns() - begin < AWAIT_NS)
		sched_yield();
	return true;
}
