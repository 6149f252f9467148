/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dial.c: what a PE writes on its dial (cmi_dial.h). idle.c calls it where it reads the clock for
 * other reasons. Only hooks tell idle from busy, and there are none while nobody looks: so no path
 * of a message has a test for it.
 */
#include "loop.h"
#include "../route/msg_route.h"
#include "../../machine/base/cmi_dial.h"

/* A PE that sleeps often shows its figures at most so often. */
static const uint64_t SHOW_NS = 10 * 1000 * 1000;

static void set(_Atomic uint64_t *to, uint64_t n)
{
	atomic_store_explicit(to, n, memory_order_relaxed);
}

/* Relaxed, here and below: only this PE writes them. */
static uint64_t own(const _Atomic uint64_t *at)
{
	return atomic_load_explicit(at, memory_order_relaxed);
}

static bool is_idle(const struct cmi_dial *d)
{
	return atomic_load_explicit(&d->idle, memory_order_relaxed);
}

static void dial_idle(void *arg)
{
	struct cmi_dial *d = ((struct pe *)arg)->dial;
	const uint64_t now = csd_now_ns();

	if (is_idle(d))
		return;
	set(&d->since_ns, now);
	set(&d->idle_at_ns, now);
	atomic_store_explicit(&d->idle, 1, memory_order_relaxed);
}

/* The pass that found work is over by now. Its handlers count as busy: the idle time ends where the
 * clock was read last. */
static void dial_busy(void *arg)
{
	struct cmi_dial *d = ((struct pe *)arg)->dial;

	if (!is_idle(d))
		return;
	set(&d->idle_ns, own(&d->idle_ns) + own(&d->idle_at_ns) - own(&d->since_ns));
	set(&d->since_ns, own(&d->idle_at_ns));
	atomic_store_explicit(&d->idle, 0, memory_order_relaxed);
}

void dial_idles_slow(struct pe *pe)
{
	set(&pe->dial->idle_at_ns, csd_now_ns());
}

static void show(struct pe *pe, uint64_t now)
{
	struct cmi_dial *d = pe->dial;
	uint64_t near, far;

	pe->dialled.shown_ns = now;
	flow_bytes_sent(pe, &near, &far);
	for (int i = 0; i < pe->n_layers; i++)
		if (pe->node->layers[i]->bytes_sent)
			pe->node->layers[i]->bytes_sent(pe, &near, &far);
	set(&d->near, near);
	set(&d->far, far);
	set(&d->sent, pe->n_created);
	set(&d->handled, pe->n_processed);
	atomic_store_explicit(&d->queue, (uint32_t)csd_queue_length(pe, DIAL_QUEUE_MOST),
			      memory_order_relaxed);
}

static void begin(struct pe *pe, uint64_t now)
{
	struct cmi_dial *d = pe->dial;

	pe->dialled.hooks[0] = csd_hook(CcdPROCESSOR_BEGIN_IDLE, dial_idle, pe, true);
	pe->dialled.hooks[1] = csd_hook(CcdPROCESSOR_BEGIN_BUSY, dial_busy, pe, true);
	pe->dialled.counts = true;
	set(&d->from_ns, now);
	set(&d->since_ns, now);
	set(&d->idle_at_ns, now);
	set(&d->idle_ns, 0);
	atomic_store_explicit(&d->idle, pe->idle.polls > 0, memory_order_relaxed);
	/* Release: a reader that sees it sees what was written before. */
	atomic_store_explicit(&d->counts, 1, memory_order_release);
}

static void end(struct pe *pe)
{
	pe->dialled.counts = false;
	atomic_store_explicit(&pe->dial->counts, 0, memory_order_relaxed);
	CcdCancelCallOnCondition(CcdPROCESSOR_BEGIN_IDLE, pe->dialled.hooks[0]);
	CcdCancelCallOnCondition(CcdPROCESSOR_BEGIN_BUSY, pe->dialled.hooks[1]);
}

void dial_look(struct pe *pe, uint64_t now)
{
	const bool wanted = pe->dial && own(&pe->dial->wanted) > now;

	if (!pe->dial)
		return;
	if (wanted && !pe->dialled.counts)
		begin(pe, now);
	else if (!wanted && pe->dialled.counts)
		end(pe);
	if (wanted)
		show(pe, now);
}

void dial_sleeps(struct pe *pe, uint64_t now)
{
	if (!pe->dial)
		return;
	if (pe->dialled.counts && now - pe->dialled.shown_ns > SHOW_NS)
		show(pe, now);
	atomic_store_explicit(&pe->dial->asleep, 1, memory_order_relaxed);
}

void dial_wakes(struct pe *pe)
{
	dial_idles(pe);
	if (pe->dial)
		atomic_store_explicit(&pe->dial->asleep, 0, memory_order_relaxed);
}
