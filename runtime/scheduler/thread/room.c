/* SPDX-License-Identifier: Apache-2.0 */
/*
 * room.c: the limit of a process's message memory, CK_MESSAGE_MEMORY. It is checked only when a
 * size class of a PE is empty and needs a slab for a message of the program, so a message from a
 * free list costs nothing.
 *
 *   taken    0 ------------------------ 3/4 ------------ most
 *   threads  take                       | wait
 *   handlers take                       | ask for trims  | end the job
 *
 * Threads stop at three quarters, to leave some for handlers, which cannot wait. Receivers free the
 * handlers' messages without needing anything from us, so threads can continue.
 *
 * Not counted, and therefore never refused:
 *   - the first slab of each class of each PE, so that a PE can always send something of each size;
 *   - the runtime's own messages: credits, exit, reductions, copies down a broadcast's tree;
 *   - messages that arrive, of which flow control bounds the sum (flow.c).
 */
#include "thread.h"
#include "../../machine/base/cmi_env.h"
#include "../../machine/tools/cmi_limits.h"
#include "cth.h"

static const uint64_t LEAST = 1 << 20;
/* Fraction that the default leaves for everything else: elements, stacks, channels, UCX and the
 * system. */
enum { RESERVE_PART = 4 };

struct room_waiter {
	struct room_waiter *next;
	CthThread thread;
};

/* ---- the limit ------------------------------------------------------------------------------- */

void room_register(struct node *node)
{
	node->memory.asked = cmi_env_bytes("CK_MESSAGE_MEMORY", 0, LEAST, UINT64_MAX / 4);
	node->memory.most = UINT64_MAX / 4;
}

static int nodes_on_host(const struct cmi_job *job)
{
	int n = 0;

	for (int i = 0; i < job->n_nodes; i++)
		n += job->host_id[i] == job->host_id[job->node];
	return n;
}

/* The processes of a host share its memory and their control group's; each has its own address
 * space. */
static uint64_t default_most(const struct cmi_job *job)
{
	uint64_t shared = cmi_limit_shared() / (unsigned)nodes_on_host(job), own = cmi_limit_own();
	uint64_t all = own < shared ? own : shared, most = all - all / RESERVE_PART;

	return most > LEAST ? most : LEAST;
}

void room_limit(struct node *node)
{
	node->memory.most = node->memory.asked ? node->memory.asked : default_most(node->job);
}

void room_init(struct pe *pe)
{
	pe->room.last = &pe->room.first;
}

static uint64_t threads_most(const struct node *node)
{
	return node->memory.most - node->memory.most / 4;
}

static bool can_wait(const struct pe *pe)
{
	return pe->thread && (!pe->node->up.may_wait || pe->node->up.may_wait(pe));
}

/* Relaxed: many PEs add to one number, and no other memory depends on it. It exceeds the limit
 * briefly while a PE tries; another PE may then wait one tick too long. */
static bool take_bytes(struct node *node, uint64_t bytes, uint64_t most)
{
	uint64_t before = atomic_fetch_add_explicit(&node->memory.taken, bytes, memory_order_relaxed);

	if (CSD_LIKELY(before + bytes <= most))
		return true;
	atomic_fetch_sub_explicit(&node->memory.taken, bytes, memory_order_relaxed);
	return false;
}

/* ---- threads that wait ----------------------------------------------------------------------- */

/* The first waiter checks for space. If it gets some it lets the next one check. */
static void wake_first(struct pe *pe)
{
	struct room_waiter *w = pe->room.first;

	if (!w)
		return;
	pe->room.first = w->next;
	if (!w->next)
		pe->room.last = &pe->room.first;
	CthAwaken(w->thread);
}

/* How often waiting threads check: memory is freed all the time, without a signal. */
static const double TICK_MS = 1;

static void wake_tick(void *arg)
{
	struct pe *pe = arg;

	pe->room.ticks = false;
	pool_ask_others(pe);
	wake_first(pe);
	if (pe->room.first) {
		pe->room.ticks = true;
		csd_timer(wake_tick, pe, TICK_MS);
	}
}

/* For quiescence the thread counts as a message under way, because it has yet to send one. */
static void wait_for_tick(struct pe *pe)
{
	struct room_waiter w = { NULL, CthSelf() };

	*pe->room.last = &w;
	pe->room.last = &w.next;
	if (!pe->room.ticks) {
		pe->room.ticks = true;
		csd_timer(wake_tick, pe, TICK_MS);
	}
	pe->n_created++;
	CthSuspend();
	pe->n_processed++;
}

void csd_room_wake(struct pe *pe)
{
	wake_first(pe);
}

bool csd_await_room(struct pe *pe, bool (*ready)(struct pe *pe, const void *arg), const void *arg)
{
	if (!can_wait(pe))
		return false;
	while (!ready(pe, arg))
		wait_for_tick(pe);
	wake_first(pe);
	return true;
}

/* ---- taking ---------------------------------------------------------------------------------- */

/* Returns whether a slab may be taken; false: memory may have been freed, or the thread has
 * waited. */
static bool thread_takes(struct pe *pe, size_t size, uint64_t bytes)
{
	if (take_bytes(pe->node, bytes, threads_most(pe->node)))
		return true;
	if (bytes > threads_most(pe->node))
		csd_abort(pe, "a message of %zu bytes can never be sent from a thread: "
			  "CK_MESSAGE_MEMORY is %llu bytes, and threads leave a quarter of it", size,
			  (unsigned long long)pe->node->memory.most);
	if (!pool_trim(pe, false))
		wait_for_tick(pe);
	return false;
}

static bool handler_takes(struct pe *pe, size_t size, uint64_t bytes)
{
	struct node *node = pe->node;

	if (take_bytes(node, bytes, threads_most(node)))
		return true;
	/* Between the marks: ask other PEs in time for their free slabs. */
	if (csd_now_ns() >= pe->pool.trim_after_ns) {
		pool_ask_others(pe);
		pool_trim(pe, false);
	}
	if (take_bytes(node, bytes, node->memory.most))
		return true;
	pool_trim(pe, true);
	if (take_bytes(node, bytes, node->memory.most) ||
	    (pool_await_others(pe) && take_bytes(node, bytes, node->memory.most)))
		return true;
	report_no_room(pe, size);
}

/* The first slab of a class is not counted, unless it is a single large block. */
static bool is_first(const struct pe *pe, unsigned cls)
{
	return !pe->pool.n_full[cls] && msg_slab_blocks(cls) > 1;
}

struct cmi_msg *csd_msg_alloc_call_slow(struct pe *pe, size_t size, unsigned cls)
{
	struct cmi_msg *m;
	bool waited = false;

	if (cls >= MSG_CLASSES || is_first(pe, cls))
		return csd_msg_alloc_slow(pe, size, cls);
	while (!(m = msg_pool_pop(pe, cls))) {
		bool waits = can_wait(pe);

		if (waits ? thread_takes(pe, size, msg_slab_bytes(cls)) :
			    handler_takes(pe, size, msg_slab_bytes(cls))) {
			m = msg_pool_refill(pe, cls, true);
			break;
		}
		waited = true;
	}
	if (waited)
		wake_first(pe);
	return m;
}

bool csd_msg_room_slow(struct pe *pe, size_t size)
{
	csd_msg_free(pe, csd_msg_alloc_call_slow(pe, size, csd_size_class(size)));
	return true;
}

bool csd_msg_try_room(struct pe *pe, size_t size)
{
	unsigned cls = csd_size_class(size);
	struct cmi_msg *m = msg_pool_pop(pe, cls);
	bool first = is_first(pe, cls);

	if (!m && (first || take_bytes(pe->node, msg_slab_bytes(cls), threads_most(pe->node))))
		m = msg_pool_refill(pe, cls, !first);
	if (m)
		csd_msg_free(pe, m);
	return m != NULL;
}
