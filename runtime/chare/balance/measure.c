/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure.c: how long the handlers of elements run, and what else keeps a PE busy. Entries are
 * called through a second table of their type, as under CK_STATS. It has functions that look at the
 * clock when a handler ends. What has passed since the handler before goes to the element: its
 * handler, and what it took to receive the call. So there is one look at the clock for each
 * handler, unless it runs within another one or the PE was idle before.
 *
 * Arrivals of named channels are handlers, too: the function that a channel calls is looked up in
 * the same table.
 *
 * A body of Structured Dagger and a thread come and go without an end of a handler: when what runs
 * changes, the clock is looked at, too.
 *
 * Time is what the clock on the wall says. Where another program has the core for a while, handlers
 * take longer. How much longer is known for the PE as a whole (core_share.h), and is told as its
 * speed.
 */
#include "balance_int.h"
#include "../../machine/base/cmi_alloc.h"
#include "../../machine/tools/cmi_ticks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

struct measured_type {
	int n_entries;
	CkGenEntry entries[];
};

static struct meter *meter_of(const struct pe *pe) { return ck_state(pe, PART_BALANCE); }

/* ---- the clock ------------------------------------------------------------------------------- */

/* Counters of two cores may differ by a little, and a thread may move. */
static inline void give(struct meter *m, uint64_t *to, uint64_t now)
{
	uint64_t passed;

	if (CSD_UNLIKELY(__builtin_sub_overflow(now, m->since, &passed)))
		return;
	m->since = now;
	m->all += passed;
	*to += passed;
}

/* Apart, so that who looks last needs no stack. */
static __attribute__((noinline)) void give_by_kernel(struct meter *m, uint64_t *to)
{
	give(m, to, cmi_ticks(false));
}

static inline void look_for(struct meter *m, uint64_t *to)
{
	if (CSD_LIKELY(m->counter))
		give(m, to, cmi_ticks(true));
	else
		give_by_kernel(m, to);
}

static inline void look(struct meter *m) { look_for(m, m->to); }

void meter_look(struct pe *pe)
{
	struct meter *m = meter_of(pe);

	if (m->to)
		look(m);
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

double elem_seconds(const struct lb_elem *e, const struct pace *pace)
{
	return past_and(&e->past, elem_seconds_now(e, pace));
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

static inline uint64_t *clock_of(struct meter *m, struct ck_obj *obj)
{
	return coll_syncs(obj->coll) ? &elem_of(obj)->ticks : &m->other;
}

/* ---- handlers -------------------------------------------------------------------------------- */

/* Another handler runs already; or the PE was idle, and has not been told yet that it is so no
 * longer: that comes behind the first messages. */
static void begin_within(struct meter *m)
{
	look(m);
	if (m->to == &m->idle)
		stretch_begins(m);
}

static inline uint64_t *begin(struct meter *m, uint64_t *to)
{
	uint64_t *outer = m->to;

	if (CSD_UNLIKELY(outer != NULL))
		begin_within(m);
	m->to = to;
	return outer;
}

/* A thread may have been idle in between. */
static inline void end(struct meter *m, uint64_t *outer)
{
	uint64_t *to = m->to;

	m->to = outer && outer != &m->idle ? outer : m->nobody;
	look_for(m, to);
}

/* What the type's own table has. */
static inline const CkGenEntry *under(const struct pe *pe)
{
	const struct ck_running *now = &ck_of(pe)->now;

	return &now->obj->coll->type->entries[now->entry];
}

static void call_measured(void *self, void *payload)
{
	struct pe *pe = ck_self();
	uint64_t *outer = begin(meter_of(pe), clock_of(meter_of(pe), obj_of(self)));

	under(pe)->call(self, payload);
	end(meter_of(pe), outer);
}

/* An element is made once. What that takes says nothing about the steps to come, and may be much
 * more than they take. */
static void construct_measured(void *self, void *payload)
{
	struct pe *pe = ck_self();
	struct meter *m = meter_of(pe);
	uint64_t *outer = begin(m, coll_syncs(obj_of(self)->coll) ? &m->made : &m->other);

	under(pe)->call(self, payload);
	end(m, outer);
}

static void call_reduced_measured(void *self, void *payload)
{
	struct pe *pe = ck_self();
	uint64_t *outer = begin(meter_of(pe), clock_of(meter_of(pe), obj_of(self)));

	under(pe)->reduced(self, payload);
	end(meter_of(pe), outer);
}

static void call_answer_measured(void *self, void *payload, void *reply)
{
	struct pe *pe = ck_self();
	uint64_t *outer = begin(meter_of(pe), clock_of(meter_of(pe), obj_of(self)));

	under(pe)->answer(self, payload, reply);
	end(meter_of(pe), outer);
}

/* A thread or a body gets the PE, or leaves it. */
static void measure_swap(struct pe *pe, uint64_t running[CSD_RUNNING_WORDS + 1], bool after)
{
	struct meter *m = meter_of(pe);
	struct ck_obj *obj = ck_of(pe)->now.obj;

	(void)running;
	if (after)
		m->to = obj ? clock_of(m, obj) : m->nobody;
	else
		meter_look(pe);
}

static void begin_idle(void *arg)
{
	struct meter *m = meter_of(arg);

	if (m->to)
		look(m);
	else
		meter_skip(arg);
	m->aside = m->to;
	m->to = m->nobody = &m->idle;
	stretch_ends(m);
}

static void begin_busy(void *arg)
{
	struct meter *m = meter_of(arg);

	if (!m->nobody)
		return;
	look(m);
	m->nobody = NULL;
	m->to = m->aside;
	stretch_begins(m);
}

/* ---- the tables ------------------------------------------------------------------------------ */

static const struct entry_calls measured_calls = { call_measured, call_reduced_measured,
						   call_answer_measured };

static struct measured_type *measure_type(const CkGenChare *type)
{
	const size_t bytes = (size_t)type->n_entries * sizeof(CkGenEntry);
	struct measured_type *t = cmi_alloc_zero(1, sizeof *t + bytes, "load balancing");

	t->n_entries = type->n_entries;
	entries_called_by(type, type->entries, 0, &measured_calls, t->entries);
	if (t->n_entries && t->entries[0].call == call_measured)
		t->entries[0].call = construct_measured;
	return t;
}

void measure_program(struct node *node)
{
	const struct ck_node *ck = ck_node_of(node);
	struct balance_node *b = balance_of(node);

	b->types = cmi_alloc_zero((size_t)ck->n_chares + 1, sizeof(*b->types), "load balancing");
	for (; b->n_types < ck->n_chares; b->n_types++)
		b->types[b->n_types] = measure_type(ck->chares[b->n_types]);
	for (int i = 0; i < b->n_types; i++)
		entries_lay_over(node, ck->chares[i], b->types[i]->entries);
}

const CkGenEntry *balance_entries(const struct node *node, const CkGenChare *type)
{
	const struct balance_node *b = balance_of(node);

	return b->n_types ? b->types[chare_number(ck_node_of(node), type)]->entries : type->entries;
}

void measure_coll(struct pe *pe, struct collection *c)
{
	if (c->entries == c->type->entries)
		c->entries = balance_entries(pe->node, c->type);
}

/* Tables of other parts stand before ours, and stay. */
void measure_coll_not(struct pe *pe, struct collection *c)
{
	if (c->entries == balance_entries(pe->node, c->type))
		c->entries = c->type->entries;
}

void measure_node_start(struct node *node)
{
	balance_of(node)->counter = cmi_counter_is_sound();
	csd_watch_swaps(node, measure_swap);
}

void measure_pe_start(struct pe *pe)
{
	struct meter *m = meter_of(pe);

	m->counter = balance_of(pe->node)->counter;
	m->speeds = balance_of(pe->node)->speeds && !pe->idle.oversubscribed;
	m->from_ns = csd_now_ns();
	m->from_ticks = m->since = cmi_ticks(m->counter);
	CcdCallOnConditionKeep(CcdPROCESSOR_BEGIN_IDLE, begin_idle, pe);
	CcdCallOnConditionKeep(CcdPROCESSOR_BEGIN_BUSY, begin_busy, pe);
}

void measure_node_stop(struct node *node)
{
	struct balance_node *b = balance_of(node);

	for (int i = 0; i < b->n_types; i++)
		free(b->types[i]);
	free(b->types);
}
