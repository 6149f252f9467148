/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure.c: how long the handlers of elements run, and what else keeps a PE busy. An observer
 * looks at the clock when a handler ends. What has passed since the handler before goes to the
 * element: its handler, and what it took to receive the call. So there is one look at the clock for
 * each handler, unless it runs within another one or the PE was idle before.
 *
 * A body of Structured Dagger and a thread come and go without an end of a handler: when what runs
 * changes, the clock is looked at, too.
 *
 * Time is what the clock on the wall says. Where another program has the core for a while, handlers
 * take longer. How much longer is known for the PE as a whole (core_share.h), and is told as its
 * speed.
 */
#include "balance_int.h"
#include "../../machine/tools/cmi_ticks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static struct meter *meter_of(const struct pe *pe) { return ck_state(pe, PART_BALANCE); }

/* ---- the clock ------------------------------------------------------------------------------- */

/* Counters of two cores may differ by a little, and a thread may move. */
static inline void meter_charge(struct meter *m, uint64_t *to, uint64_t now)
{
	uint64_t passed;

	if (CSD_UNLIKELY(__builtin_sub_overflow(now, m->since, &passed)))
		return;
	m->since = now;
	m->all += passed;
	*to += passed;
}

/* Apart, so that who looks last needs no stack. */
static __attribute__((noinline)) void meter_charge_by_kernel(struct meter *m, uint64_t *to)
{
	meter_charge(m, to, cmi_ticks(false));
}

static inline void meter_read_for(struct meter *m, uint64_t *to)
{
	if (CSD_LIKELY(m->counter))
		meter_charge(m, to, cmi_ticks(true));
	else
		meter_charge_by_kernel(m, to);
}

static inline void meter_read(struct meter *m) { meter_read_for(m, m->to); }

void meter_look(struct pe *pe)
{
	struct meter *m = meter_of(pe);

	if (m->to)
		meter_read(m);
}

void meter_skip(struct pe *pe)
{
	struct meter *m = meter_of(pe);

	m->since = cmi_ticks(m->counter);
}

double meter_seconds_per_tick(const struct pe *pe)
{
	const struct meter *m = meter_of(pe);
	const uint64_t ticks = cmi_ticks(m->counter) - m->from_ticks;

	return m->counter ?
		       (double)(csd_now_ns() - m->from_ns) * 1e-9 / (double)(ticks ? ticks : 1) :
		       1e-9;
}

double elem_seconds_now(const struct lb_elem *e, const struct pace *pace)
{
	return e->has_load ? (double)e->seconds / pace->speed : (double)e->ticks * pace->tick;
}

/* ---- the share of the core ------------------------------------------------------------------- */

/* Of the thread that calls. CLOCK_MONOTONIC last at both ends of a stretch, so that what a look
 * takes lies in both times alike. */
static struct moment moment_now(void)
{
	struct moment now = { 0 };
	struct timespec cpu;
	struct rusage use;

	if (!getrusage(RUSAGE_THREAD, &use))
		now.n_blocked = (uint64_t)use.ru_nvcsw;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	now.cpu_ns = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
	now.wall_ns = csd_now_ns();
	return now;
}

static void stretch_begins(struct meter *m)
{
	struct moment now;

	if (!m->speeds || m->share.on || !share_wants(&m->share, csd_now_ns()))
		return;
	now = moment_now();
	share_begin(&m->share, &now);
}

static void stretch_ends(struct meter *m)
{
	struct moment now;

	if (!m->share.on)
		return;
	now = moment_now();
	share_end(&m->share, &now);
}

struct pace meter_pace(struct pe *pe, const struct share_time *before, uint64_t busy_before)
{
	struct meter *m = meter_of(pe);
	struct pace pace = { .tick = meter_seconds_per_tick(pe), .speed = 1 };
	struct moment now;

	if (!m->speeds)
		return pace;
	now = moment_now();
	share_look(&m->share, &now);
	pace.tick *= share_evens(&m->share, before, (double)(meter_busy(m) - busy_before) * pace.tick);
	pace.speed = share_speed(&m->share);
	return pace;
}

/* An element is made once. What that takes says nothing about the steps to come, and may be much
 * more than they take. */
static inline uint64_t *clock_of(struct meter *m, struct ck_obj *obj, uint32_t entry)
{
	if (!coll_syncs(obj->coll))
		return &m->other;
	return entry ? &elem_of(obj)->ticks : &m->made;
}

/* ---- handlers -------------------------------------------------------------------------------- */

static void idle_ends(struct meter *m)
{
	meter_read(m);
	m->nobody = NULL;
	m->to = m->aside;
	stretch_begins(m);
}

/* Another handler runs already; or the PE was idle, and has not been told yet that it is so no
 * longer: that comes behind the first messages. Returns what goes on afterwards. */
static __attribute__((noinline)) uint64_t *begins_within(struct meter *m, uint64_t *to)
{
	uint64_t *outer;

	if (m->to == &m->idle)
		idle_ends(m);
	else
		meter_read(m);
	outer = m->to;
	m->to = to;
	return outer;
}

static void measure_begins(struct pe *pe, union observe_own *own, int entry,
			   const struct ck_running *now)
{
	struct meter *m = meter_of(pe);
	uint64_t *to = clock_of(m, now->obj, (uint32_t)entry);

	own->clock = NULL;
	if (CSD_UNLIKELY(m->to != NULL))
		own->clock = begins_within(m, to);
	else
		m->to = to;
}

static void measure_ends(struct pe *pe, union observe_own *own)
{
	struct meter *m = meter_of(pe);
	uint64_t *to = m->to;

	m->to = own->clock && own->clock != &m->idle ? own->clock : m->nobody;
	meter_read_for(m, to);
}

/* A thread or a body gets the PE, or leaves it. */
static void measure_swap(struct pe *pe, uint64_t running[CSD_RUNNING_WORDS + 1], bool after)
{
	struct meter *m = meter_of(pe);
	const struct ck_running *now = &ck_of(pe)->now;

	(void)running;
	if (after)
		m->to = now->obj ? clock_of(m, now->obj, now->entry) : m->nobody;
	else
		meter_look(pe);
}

static void measure_idle(void *arg)
{
	struct meter *m = meter_of(arg);

	if (m->to)
		meter_read(m);
	else
		meter_skip(arg);
	m->aside = m->to;
	m->to = m->nobody = &m->idle;
	stretch_ends(m);
}

static void measure_busy(void *arg)
{
	struct meter *m = meter_of(arg);

	if (m->nobody)
		idle_ends(m);
}

/* ---- start ----------------------------------------------------------------------------------- */

/* Bodies go by measure_swap. */
static const struct observer observer = { CKGEN_BODY, NULL, measure_begins, measure_ends };

void measure_node_start(struct node *node)
{
	balance_of(node)->counter = cmi_counter_is_sound();
	observe_join(node, PART_BALANCE, &observer);
	csd_watch_swaps(node, measure_swap);
}

void measure_pe_start(struct pe *pe)
{
	struct meter *m = meter_of(pe);

	m->counter = balance_of(pe->node)->counter;
	m->speeds = balance_of(pe->node)->speeds && !pe->idle.oversubscribed;
	m->from_ns = csd_now_ns();
	m->from_ticks = m->since = cmi_ticks(m->counter);
	csd_hook(CcdPROCESSOR_BEGIN_IDLE, measure_idle, pe, true);
	csd_hook(CcdPROCESSOR_BEGIN_BUSY, measure_busy, pe, true);
}
