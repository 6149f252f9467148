/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stores.c: counts of stores, and CkStoreSync. Stores of the host's PEs are noticed by looking at
 * their counts; nobody tells. So while somebody waits here, the PE looks once in each turn of its
 * queue, by a message to itself, and whenever it is idle: without sleep for SPIN_NS, and then every
 * LATER_MS, so that the watchdog can see that the job is at rest.
 */
#include "global_int.h"
#include "../core/describe.h"
#include "../../machine/base/cmi_alloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SPIN_NS = 10 * 1000 * 1000 };
static const double LATER_MS = 0.2;

static struct stores *stores_of(const struct pe *pe) { return &global_of(pe)->stores; }

static size_t n_pes_of(const struct pe *pe) { return (size_t)pe->node->job->n_pes; }

/* ---- counting -------------------------------------------------------------------------------- */

static void counts_make(struct pe *pe)
{
	const size_t bytes = PHASES * n_pes_of(pe) * sizeof(uint64_t);
	_Atomic uint64_t *counts = cmi_message_memory(pe->node->machine, bytes);

	if (!counts)
		csd_abort(pe, "CkStore: no memory for %zu bytes", bytes);
	for (size_t i = 0; i < PHASES * n_pes_of(pe); i++)
		atomic_init(&counts[i], 0);
	stores_of(pe)->counts = counts;
	cmi_show(pe->wire, (const void *)counts);
}

void stores_count(struct pe *pe, int to, size_t bytes)
{
	struct stores *st = stores_of(pe);
	_Atomic uint64_t *count;

	if (CSD_UNLIKELY(!st->counts))
		counts_make(pe);
	count = &st->counts[st->phase % PHASES * n_pes_of(pe) + (size_t)to];
	/* release: pairs with the acquire in stores_here, which then sees what was stored. Only this PE
	 * writes the count. */
	atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + bytes,
			      memory_order_release);
}

unsigned stores_count_far(struct pe *pe, int to, size_t bytes)
{
	struct stores *st = stores_of(pe);

	if (!st->far)
		st->far = cmi_alloc_zero(PHASES * n_pes_of(pe), sizeof *st->far, "stores");
	st->far[st->phase % PHASES * n_pes_of(pe) + (size_t)to] += bytes;
	return st->phase % PHASES;
}

/* ---- what has come --------------------------------------------------------------------------- */

static void look_for_near(struct pe *pe)
{
	struct stores *st = stores_of(pe);
	const struct cmi_job *job = pe->node->job;

	st->near = cmi_alloc_zero(n_pes_of(pe), sizeof *st->near, "stores");
	for (int i = 0; i < job->n_pes; i++)
		if (job->host_id[job->node_of[i]] == job->host_id[job->node])
			st->near[st->n_near++] = i;
}

uint64_t stores_here(struct pe *pe, unsigned phase)
{
	struct stores *st = stores_of(pe);
	uint64_t sum = st->came[phase];

	if (!st->near)
		look_for_near(pe);
	for (int i = 0; i < st->n_near; i++) {
		const _Atomic uint64_t *counts = cmi_shown(pe->wire, st->near[i]);

		/* acquire: pairs with the release in stores_count. */
		if (counts)
			sum += atomic_load_explicit(&counts[phase * n_pes_of(pe) + (size_t)pe->id],
						    memory_order_acquire);
	}
	return sum;
}

static uint64_t all_here(struct pe *pe)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < PHASES; i++)
		sum += stores_here(pe, i);
	return sum;
}

/* ---- waiting --------------------------------------------------------------------------------- */

struct store_waiter *waiter_then(CkCallback cb, uint64_t bytes, const char *call)
{
	struct store_waiter *w = cmi_alloc_zero(1, sizeof *w, call);

	w->then = cb;
	w->bytes = bytes;
	return w;
}

void waiter_over(struct pe *pe, struct store_waiter *w)
{
	if (w->thread) {
		w->over = true;
		if (w->thread != CthSelf()) /* it does not wait yet */
			CthAwaken(w->thread);
		return;
	}
	callback_fire(pe, &w->then, CK_NOTYPE, NULL, 0, 0);
	free(w);
}

static void look_on(struct pe *pe);

/* The first waiter is served first. */
static void look(struct pe *pe)
{
	struct stores *st = stores_of(pe);
	uint64_t here = st->first ? all_here(pe) : 0;

	while (st->first && here - st->taken >= st->first->bytes) {
		struct store_waiter *w = st->first;

		st->taken += w->bytes;
		st->first = w->next;
		waiter_over(pe, w);
	}
}

static void look_soon(struct pe *pe)
{
	struct stores *st = stores_of(pe);
	struct cmi_msg *m;

	if (st->looks)
		return;
	st->looks = true;
	m = ck_msg_new(pe, PART_GLOBAL, H_LOOK, CMI_F_SYSTEM, sizeof *m);
	csd_send(pe, pe->id, m);
}

/* The watchdog does not take the timer for work. */
static void look_timer(void *arg)
{
	struct pe *pe = arg;
	struct stores *st = stores_of(pe);

	csd_chatter_timer(pe, -1);
	st->timed = false;
	look(pe);
	look_on(pe);
}

static void look_later(struct pe *pe)
{
	struct stores *st = stores_of(pe);

	if (st->timed)
		return;
	st->timed = true;
	csd_chatter_timer(pe, 1);
	csd_timer(look_timer, pe, LATER_MS);
}

static void spin(struct pe *pe, bool on);

/* CcdPROCESSOR_STILL_IDLE: the PE does not sleep. */
static void look_idle(void *arg)
{
	struct pe *pe = arg;
	struct stores *st = stores_of(pe);
	const uint64_t now = csd_now_ns();

	st->idle_ns = st->idle_ns ? st->idle_ns : now;
	if (now - st->idle_ns > SPIN_NS)
		spin(pe, false);
	look(pe);
	look_on(pe);
}

/* CcdPROCESSOR_BEGIN_BUSY. A message that came alone, such as the watchdog's, leaves the PE idle
 * again. */
static void look_busy(void *arg)
{
	struct pe *pe = arg;

	stores_of(pe)->idle_ns = 0;
	spin(pe, true);
	look(pe);
	if (stores_of(pe)->first && csd_queue_length(pe, 2) > 1)
		look_soon(pe);
	look_on(pe);
}

static void spin(struct pe *pe, bool on)
{
	struct stores *st = stores_of(pe);

	if (on == st->spins)
		return;
	st->spins = on;
	if (on)
		st->hooks[0] = csd_hook(CcdPROCESSOR_STILL_IDLE, look_idle, pe, true);
	else
		CcdCancelCallOnCondition(CcdPROCESSOR_STILL_IDLE, st->hooks[0]);
}

/* Look as long as somebody waits. */
static void look_on(struct pe *pe)
{
	struct stores *st = stores_of(pe);

	if (!st->first == !st->hooked) {
		if (st->first && !st->spins)
			look_later(pe);
		return;
	}
	st->hooked = st->first;
	st->idle_ns = 0;
	spin(pe, st->hooked);
	if (st->hooked)
		st->hooks[1] = csd_hook(CcdPROCESSOR_BEGIN_BUSY, look_busy, pe, true);
	else
		CcdCancelCallOnCondition(CcdPROCESSOR_BEGIN_BUSY, st->hooks[1]);
}

void look_arrived(struct pe *pe, struct cmi_msg *m)
{
	csd_chatter(pe, m);
	csd_msg_free(pe, m);
	stores_of(pe)->looks = false;
	look(pe);
	if (stores_of(pe)->first && csd_queue_length(pe, 1))
		look_soon(pe);
	look_on(pe);
}

static void waiter_add(struct pe *pe, struct store_waiter *w)
{
	struct stores *st = stores_of(pe);

	if (st->first)
		st->last->next = w;
	else
		st->first = w;
	st->last = w;
	look(pe);
	look_on(pe);
	if (st->first)
		look_soon(pe);
}

void CkStoreSync(size_t bytes)
{
	struct pe *pe = ck_self();
	struct stores *st = stores_of(pe);
	struct store_waiter w = { .thread = CthSelf(), .bytes = bytes };

	if (!w.thread && (pe->node->check || st->first || all_here(pe) - st->taken < bytes))
		check_thread(pe, "CkStoreSync", "CkStoreSyncThen");
	if (!st->first && all_here(pe) - st->taken >= bytes) {
		st->taken += bytes;
		return;
	}
	far_flush(pe);
	waiter_add(pe, &w);
	while (!w.over)
		CthSuspend();
}

void CkStoreSyncThen(size_t bytes, CkCallback cb)
{
	struct pe *pe = ck_self();

	waiter_add(pe, waiter_then(cb, bytes, "CkStoreSyncThen"));
}

void stores_came(struct pe *pe, unsigned phase, size_t bytes)
{
	stores_of(pe)->came[phase] += bytes;
	look(pe);
	phase_look(pe);
}

void stores_taken(struct pe *pe, uint64_t bytes)
{
	if (stores_of(pe)->taken < bytes)
		stores_of(pe)->taken = bytes;
}

/* ---- reports, checkpoints, the end ----------------------------------------------------------- */

static struct csd_thing waiter_thing(struct pe *pe, const struct store_waiter *w)
{
	return w->thread ? thread_thing(w->thread) : callback_thing(pe, &w->then);
}

void stores_describe(struct pe *pe, struct csd_told *to)
{
	const struct stores *st = stores_of(pe);
	const uint64_t here = st->first ? all_here(pe) - st->taken : 0;

	for (const struct store_waiter *w = st->first; w; w = w->next)
		csd_tell(to, &(struct csd_wait){ .who = waiter_thing(pe, w) },
			 "waits in CkStoreSync for %" PRIu64 " bytes on PE %d, where %" PRIu64 " have come",
			 w->bytes, pe->id, here);
	if (st->waits)
		csd_tell(to, &(struct csd_wait){ .who = waiter_thing(pe, st->waits) },
			 "waits for phase %" PRIu64 " of CkAllStoreSync", st->phase);
	else if (st->n_in)
		csd_tell(to, &(struct csd_wait){ .who = csd_named(NULL, "CkAllStoreSync") },
			 "waits for PE %d to call it, too", pe->id);
}

void stores_refuse(struct pe *pe, struct csd_told *to)
{
	const struct stores *st = stores_of(pe);
	const uint64_t left = all_here(pe) - st->taken;

	if (st->first || st->waits)
		csd_tell(to, NULL, "%s waits for stores on PE %d",
			 waiter_thing(pe, st->first ? st->first : st->waits).name, pe->id);
	else if (left)
		csd_tell(to, NULL, "%s been stored on PE %d that nobody has waited for (CkStoreSync, "
			 "CkAllStoreSync)", csd_plural(left, "byte has", "bytes have").text, pe->id);
}

/* Checked mode: the job ends well. */
void stores_check_end(struct pe *pe)
{
	const uint64_t left = all_here(pe) - stores_of(pe)->taken;

	if (left)
		csd_abort(pe, "%s been stored on PE %d that nobody has waited for: call CkStoreSync or "
			  "CkAllStoreSync", csd_plural(left, "byte has", "bytes have").text, pe->id);
}

void stores_stop(struct pe *pe)
{
	struct stores *st = stores_of(pe);

	while (st->first) {
		struct store_waiter *w = st->first;

		st->first = w->next;
		if (!w->thread)
			free(w);
	}
	if (st->waits && !st->waits->thread)
		free(st->waits);
	free(st->far);
	free(st->near);
	free(st->sums);
}
