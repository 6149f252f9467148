/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idle.c: an idle PE polls, then polls and yields, then sleeps. Of the policies measured at 2, 4
 * and 16 processes on 2 cores this was the best or close to it. Pure spinning collapses there
 * (round trips of 34 ms), and sleeping at once costs 30 us to wake up and the sender 12 us.
 */
#include "loop.h"
#include "../../machine/base/cmi_dial.h"

#include <sched.h>

enum {
	/* The first polls follow each other at once; later ones have a pause instruction between them. A
	 * pause takes 26 ns on one machine and 40 on another, as long as the poll itself. With pauses from
	 * the start a round trip of a message was 7 % longer, of a channel 12 %. */
	IDLE_LOOKS = 64,
	/* While no other thread of the job wants the core, one poll in this many yields: a yield takes as
	 * long as ten polls, and delays messages that arrive meanwhile. Yielding after each poll made
	 * round trips of channels of 300 and 500 kB 2 and 8 % longer (AMD EPYC). */
	IDLE_YIELD = 64,
	/* How long a PE yields before its first sleep. With a core for each PE it may be longer: waking up
	 * costs 30 us, and no other thread of the job wants the core. */
	YIELD_CROWDED_NS = 50 * 1000,
	YIELD_NS = 200 * 1000,
	/* The others on the core take their turns meanwhile, which may last longer than that with many of
	 * them: so a PE yields at least this often. A barrier of 32 PEs on 2 cores took 81 us instead of
	 * 124, with 20 yields 78. */
	YIELDS_CROWDED = 8,
	/* A put, for which an armed layer waits, wakes no PE, so a nap costs all of its length. At 500 kB
	 * (75 us one way) napping after 50 us doubled the round trip, to 160 us from 80. */
	YIELD_ARMED_NS = 2000 * 1000,
	/* For the same reason these naps are short. They grow, so that a long wait does not burn a
	 * core. */
	ARMED_NAP_MIN_US = 20,
	ARMED_NAP_MAX_US = 1000,
	/* inbox_any_for_sleep may miss a message. As NETWORK_NAP_US. */
	RINGS_NAP_US = 10000,
	/* A thread that is no PE of ours may set the flag that a host program waits for, and wakes no
	 * PE. */
	FLAGGED_NAP_US = 10000,
	/* Tests with CK_RANDOM_DELAY: a yield lets all others run, so it counts as several looks at the
	 * queue. With one look each, 4 processes on 2 cores switched 380 times for a step of wander. */
	YIELD_LOOKS = 10,
	/* Checking whether other programs are on the core takes three system calls. The dial is looked at
	 * as often. */
	CORE_NS = DIAL_MS * 1000 * 1000,
};

/* While a poll of tcp lasts, 0.4 us, messages from the host's other PEs wait, and most of them
 * arrive within the first microsecond. Nothing arrives from another host within four, so a PE that
 * is alone on its host need not wait: with polls at every 16th of the first 128 passes a round trip
 * over tcp took 0.3 us longer. */
uint32_t idle_patience(const struct cmi_job *job)
{
	enum { NEAR_LOOKS = 32 };

	return job->pes_on_host > 1 ? NEAR_LOOKS : 1;
}

static void cpu_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* How long the layers let it sleep, in us; -1: until woken; 0: one of them has acted. */
static int64_t layers_nap_us(struct pe *pe, uint64_t now)
{
	int64_t least = -1;

	for (int i = 0; i < pe->n_layers && least; i++) {
		const struct csd_layer *layer = pe->node->layers[i];
		const int64_t us = layer->nap ? layer->nap(pe, now) : -1;

		if (us >= 0 && (least < 0 || us < least))
			least = us;
	}
	return least;
}

/* The same, including what the PE itself waits for. */
static int64_t nap_us(struct pe *pe, uint64_t now)
{
	int64_t us = layers_nap_us(pe, now);
	uint64_t due = timers_next_ns(pe);

	if (due != UINT64_MAX) {
		int64_t timer = due <= now ? 0 : (int64_t)((due - now) / 1000 + 1);

		if (us < 0 || timer < us)
			us = timer;
	}
	if (pe->armed || pe->listens) {
		int64_t nap = (int64_t)ARMED_NAP_MIN_US << (pe->idle.sleeps < 6 ? pe->idle.sleeps : 6);

		if (nap > ARMED_NAP_MAX_US)
			nap = ARMED_NAP_MAX_US;
		if (us < 0 || nap < us)
			us = nap;
	}
	if (pe->n_rings && (us < 0 || us > RINGS_NAP_US))
		us = RINGS_NAP_US;
	if (pe->idle.flagged && (us < 0 || us > FLAGGED_NAP_US))
		us = FLAGGED_NAP_US;
	return us;
}

/* Publish that we sleep, check once more, sleep. The seq_cst store and load pair with the seq_cst
 * push and load in inbox_push: one of the two sees the other. The count of sleepers and the load of
 * the node queue's `n` pair with push_to_node in the same way. `sleeping` is set before the count
 * is raised, so a waker that sees the count finds a PE to wake. Model: inbox.pml, nap */
static void idle_nap(struct pe *pe, uint64_t now)
{
	struct csd_node_queue *q = &pe->node->queue;
	const int64_t us = nap_us(pe, now);

	if (us == 0 || msgq_late(&pe->queue))
		return;
	dial_sleeps(pe, now);
	atomic_store_explicit(&pe->sleeping, true, memory_order_seq_cst);
	atomic_fetch_add_explicit(&q->n_sleeping, 1, memory_order_seq_cst);
	if (!inbox_any_for_sleep(pe) &&
	    !atomic_load_explicit(&q->n, memory_order_seq_cst) && !pe->stop)
		cmi_sleep(pe->wire, us);
	atomic_fetch_sub_explicit(&q->n_sleeping, 1, memory_order_relaxed);
	atomic_store_explicit(&pe->sleeping, false, memory_order_relaxed);
	dial_wakes(pe);
	pe->idle.sleeps++;
}

static bool may_yield(const struct pe *pe, uint64_t now)
{
	const uint64_t ns = now - pe->idle.since_ns;

	if (pe->idle.oversubscribed)
		return ns < YIELD_CROWDED_NS || pe->idle.polls < YIELDS_CROWDED;
	return ns < (pe->armed ? YIELD_ARMED_NS : YIELD_NS);
}

static __attribute__((noinline, cold)) void look_around(struct pe *pe, uint64_t now)
{
	pe->idle.look_ns = now + CORE_NS;
	pe->idle.core_known = pe->idle.core_known || !cmi_look_at_core(pe->wire, now);
	dial_look(pe, now);
}

static void look_at_core(struct pe *pe, uint64_t now)
{
	atomic_store_explicit(&pe->idle.seen_ns, now, memory_order_relaxed);
	pe->idle.seen_passes = pe->passes;
	if (CSD_UNLIKELY(now >= pe->idle.look_ns))
		look_around(pe, now);
}

/* While passes are so long that it costs nothing, the next one reads the clock, too: those up to it
 * are left out. So it is known how long a long handler has run. */
void idle_look_at_core(struct pe *pe)
{
	enum { LONG_NS = 1000 * 1000 };
	const uint64_t now = csd_now_ns(), passes = pe->passes - pe->idle.seen_passes;
	/* Relaxed: our own. */
	const uint64_t took = now - atomic_load_explicit(&pe->idle.seen_ns, memory_order_relaxed);

	if (took > passes * LONG_NS)
		pe->passes |= IDLE_CORE_PASSES - 1;
	look_at_core(pe, now);
}

/* Grows by all that the PE sends and handles, except chatter. */
static uint64_t idle_work(const struct pe *pe)
{
	return pe->n_dispatched - pe->n_chatter + pe->n_created + pe->n_processed;
}

void idle_step(struct pe *pe)
{
	struct csd_idle *idle = &pe->idle;

	if (idle->polls++ == 0 && hooks_any(pe, CcdPROCESSOR_BEGIN_IDLE))
		hooks_raise(pe, CcdPROCESSOR_BEGIN_IDLE);
	if (!idle->oversubscribed && !idle->sleeps) {
		if (idle->polls <= IDLE_LOOKS)
			return;
		cpu_relax();
		if (idle->polls % IDLE_YIELD)
			return;
	}
	uint64_t now = csd_now_ns();

	msg_pool_send_parcels(pe);
	if (!idle->since_ns) {
		idle->since_ns = now;
		idle->since_work = idle_work(pe);
	}
	look_at_core(pe, now);
	if (hooks_any(pe, CcdPROCESSOR_STILL_IDLE)) {
		/* No sleep: they may have made work, or wait for the next call. */
		hooks_raise(pe, CcdPROCESSOR_STILL_IDLE);
		sched_yield();
		dial_idles(pe);
		return;
	}
	if (may_yield(pe, now)) {
		sched_yield();
		dial_idles(pe);
		if (msgq_late(&pe->queue))
			msgq_random_hurry(pe->queue.random, YIELD_LOOKS);
	} else {
		idle_nap(pe, now);
	}
}

void idle_look(struct pe *pe)
{
	msg_pool_send_parcels(pe);
	if (pe->idle.polls++ == 0 && hooks_any(pe, CcdPROCESSOR_BEGIN_IDLE))
		hooks_raise(pe, CcdPROCESSOR_BEGIN_IDLE);
	if (hooks_any(pe, CcdPROCESSOR_STILL_IDLE))
		hooks_raise(pe, CcdPROCESSOR_STILL_IDLE);
}

/* Chatter ends no idle time. A detection's waves come each ms, and with an armed layer a PE yields
 * for longer: it would never sleep, and the watchdog would never ask. */
void idle_end_slow(struct pe *pe)
{
	pe->idle.polls = 0;
	if (!pe->idle.since_ns || idle_work(pe) != pe->idle.since_work) {
		pe->idle.since_ns = 0;
		pe->idle.sleeps = 0;
	}
	if (hooks_any(pe, CcdPROCESSOR_BEGIN_BUSY))
		hooks_raise(pe, CcdPROCESSOR_BEGIN_BUSY);
}
