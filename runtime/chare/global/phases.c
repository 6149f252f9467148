/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phases.c: CkAllStoreSync, by counts. When a PE calls, its stores by load and store are done, and
 * it says how many bytes it has sent to whom by messages. These counts go up PE 0's tree and are
 * added on the way; when all PEs have called, each gets its sum, and its phase is over when so many
 * bytes have come. It does not learn whether the phases of others are over.
 *
 *	CALLED  a PE -> its parent: struct phase_count of itself and those below it
 *	DUE     a PE -> its children: the sums of those below
 *
 * Stores by load and store need no count: the storing PE did them before it called, and its call
 * comes here through messages, which are sent by release and taken by acquire.
 *
 * Counts are of all phases with the same number modulo PHASES, since the job began; stores.h says
 * why that is enough.
 */
#include "global_int.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

enum { PHASE_CALLED, PHASE_DUE };

struct phase_msg {
	struct cmi_msg head;
	uint32_t kind;
	uint32_t n;               /* of counts */
	uint64_t phase;           /* CkAllStoreSync's: its number */
	struct phase_count counts[];
};

static struct stores *stores_of(const struct pe *pe) { return &global_of(pe)->stores; }

static struct phase_msg *phase_msg_new(struct pe *pe, uint32_t kind, size_t n)
{
	const size_t bytes = sizeof(struct phase_msg) + n * sizeof(struct phase_count);
	struct phase_msg *m = ck_msg_new(pe, PART_GLOBAL, H_PHASE, 0, bytes);

	m->kind = kind;
	m->n = (uint32_t)n;
	m->phase = stores_of(pe)->phase;
	return m;
}

/* ---- the phase is over ----------------------------------------------------------------------- */

/* What has come of earlier phases with other numbers was noted when those ended. */
static void phase_over(struct pe *pe)
{
	struct stores *st = stores_of(pe);
	struct store_waiter *w = st->waits;
	uint64_t sum = 0;

	st->all_called = st->called = false;
	st->waits = NULL;
	st->at_end[(st->phase - 1) % PHASES] = stores_here(pe, (st->phase - 1) % PHASES);
	for (int i = 0; i < PHASES; i++)
		sum += st->at_end[i];
	stores_taken(pe, sum);
	waiter_over(pe, w);
}

void phase_look(struct pe *pe)
{
	const struct stores *st = stores_of(pe);

	if (st->all_called && st->came[(st->phase - 1) % PHASES] >= st->due)
		phase_over(pe);
}

/* ---- down the tree --------------------------------------------------------------------------- */

/* Which child of this PE has `other` below it; -1: this PE itself. */
static int child_above(const struct pe *pe, int other)
{
	int below = other;

	while (other != pe->id) {
		below = other;
		other = csd_tree_parent_of(pe, other, 0);
	}
	return below == pe->id ? -1 : below;
}

static void due_send(struct pe *pe, int child, const struct phase_count *counts, size_t n)
{
	struct phase_msg *m;
	size_t some = 0;

	for (size_t i = 0; i < n; i++)
		some += child_above(pe, (int)counts[i].pe) == child;
	m = phase_msg_new(pe, PHASE_DUE, some);
	m->n = 0;
	for (size_t i = 0; i < n; i++)
		if (child_above(pe, (int)counts[i].pe) == child)
			m->counts[m->n++] = counts[i];
	csd_send(pe, child, &m->head);
}

/* All PEs have called. Children may have called again before this PE's phase is over. */
static void due_came(struct pe *pe, const struct phase_count *counts, size_t n)
{
	struct stores *st = stores_of(pe);

	for (int i = 0; i < csd_tree_n_children(pe, 0); i++)
		due_send(pe, csd_tree_child(pe, 0, i), counts, n);
	st->due = 0;
	for (size_t i = 0; i < n; i++)
		if ((int)counts[i].pe == pe->id)
			st->due = counts[i].bytes;
	st->all_called = true;
	phase_look(pe);
}

/* ---- up the tree ----------------------------------------------------------------------------- */

static int by_pe(const void *a, const void *b)
{
	const uint32_t x = ((const struct phase_count *)a)->pe, y = ((const struct phase_count *)b)->pe;

	return x < y ? -1 : x > y;
}

/* One count for each PE. */
static size_t add_up(struct phase_count *counts, size_t n)
{
	size_t k = 0;

	if (!n)
		return 0;
	qsort(counts, n, sizeof *counts, by_pe);
	for (size_t i = 1; i < n; i++)
		if (counts[i].pe == counts[k].pe)
			counts[k].bytes += counts[i].bytes;
		else
			counts[++k] = counts[i];
	return k + 1;
}

static void count_add(struct stores *st, struct phase_count c)
{
	CMI_ONE_MORE(st->sums, st->n_sums, st->sums_room, "stores");
	st->sums[st->n_sums++] = c;
}

/* This PE has called, and all below it. */
static void called_below(struct pe *pe)
{
	struct stores *st = stores_of(pe);
	const size_t n = add_up(st->sums, st->n_sums);
	struct phase_count *const counts = st->sums;
	struct phase_msg *m;

	/* The next calls of those below may come while this is passed on. */
	st->sums = NULL;
	st->n_sums = st->sums_room = 0;
	st->n_in = 0;
	if (pe->id == 0) {
		due_came(pe, counts, n);
	} else {
		m = phase_msg_new(pe, PHASE_CALLED, n);
		if (n)
			memcpy(m->counts, counts, n * sizeof *counts);
		csd_send(pe, csd_tree_parent(pe, 0), &m->head);
	}
	free(counts);
}

static void one_called(struct pe *pe)
{
	const struct stores *st = stores_of(pe);

	if (st->called && st->n_in == csd_tree_n_children(pe, 0) && !st->all_called)
		called_below(pe);
}

/* ---- calls and messages ---------------------------------------------------------------------- */

static void call(struct pe *pe, struct store_waiter *w, const char *name)
{
	struct stores *st = stores_of(pe);
	const size_t n_pes = (size_t)pe->node->job->n_pes;
	const uint64_t *far = st->far ? st->far + st->phase % PHASES * n_pes : NULL;

	if (st->called)
		csd_abort(pe, "%s: PE %d has called it already, and phase %llu is not over: it is called "
			  "once on each PE in each phase", name, pe->id,
			  (unsigned long long)st->phase - 1);
	st->called = true;
	st->waits = w;
	for (uint32_t i = 0; far && i < n_pes; i++)
		if (far[i])
			count_add(st, (struct phase_count){ i, 0, far[i] });
	st->phase++;
	one_called(pe);
}

void CkAllStoreSync(void)
{
	struct pe *pe = ck_self();
	struct store_waiter w = { .thread = CthSelf() };

	check_thread(pe, "CkAllStoreSync", "CkAllStoreSyncThen");
	call(pe, &w, "CkAllStoreSync");
	far_flush(pe);
	while (!w.over)
		CthSuspend();
}

void CkAllStoreSyncThen(CkCallback cb)
{
	static const char name[] = "CkAllStoreSyncThen";

	call(ck_self(), waiter_then(cb, 0, name), name);
}

void phase_arrived(struct pe *pe, struct cmi_msg *m)
{
	const struct phase_msg *p = (const struct phase_msg *)m;
	struct stores *st = stores_of(pe);

	if (p->kind == PHASE_DUE) {
		due_came(pe, p->counts, p->n);
	} else {
		st->n_in++;
		for (uint32_t i = 0; i < p->n; i++)
			count_add(st, p->counts[i]);
		one_called(pe);
	}
	csd_msg_free(pe, m);
}

const char *phase_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct phase_msg *p = (const struct phase_msg *)m;
	const struct stores *st = stores_of(pe);

	if (m->size - sizeof *p != (uint64_t)p->n * sizeof *p->counts)
		return "its counts do not lie within it";
	for (uint32_t i = 0; i < p->n; i++)
		if (p->counts[i].pe >= (uint32_t)pe->node->job->n_pes)
			return "it counts for a PE that does not exist";
	if (p->kind == PHASE_CALLED)
		return csd_tree_parent_of(pe, m->src_pe, 0) == pe->id && st->n_in < csd_tree_n_children(pe, 0) ?
		       NULL : "a PE has called twice";
	return p->kind == PHASE_DUE && csd_tree_parent(pe, 0) == m->src_pe && st->called &&
	       !st->all_called ? NULL : "it ends a phase that is not open";
}
