/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hung.c: --replace-hung S. A node that does not move for S seconds counts as dead (replace.c). It
 * does not move
 * - if a signal has stopped it;
 * - if one of its PEs is not idle, and its gauge does not change: the PE is in one handler, which
 *   may loop for ever, or be blocked in the kernel.
 * The gauges are those of --progress (cmi_gauge.h), so the nodes send nothing, and a handler needs
 * no help. An idle PE waits for a message, however long. A PE that has not begun is not looked at.
 *
 * A node is asked by SIGTERM before it is killed: its answer says what its PE is in
 * (watch_term.c).
 *
 * Time counts only while ckrun looks: after a pause, in which perhaps the whole machine stood
 * still, everything counts from then on.
 */
#include "launch.h"

#include <stdio.h>
#include <stdlib.h>

#include "../runtime/machine/base/cmi_gauge.h"

enum {
	LOOKS = 8,              /* in S seconds */
	LOOK_MOST_MS = 1000,
};

/** A PE's gauge as it was when it changed last. */
struct seen {
	uint64_t since, handled;
	int64_t at_ms;
};

struct launch_hung {
	const struct gauge *gauges;
	int64_t look_ms;        /* between two looks */
	int64_t looked_ms;      /* the last one */
	struct seen pes[];
};

void launch_hung_start(struct launch_job *job)
{
	struct launch_hung *h;

	if (!job->o.hung_ms)
		return;
	h = launch_must_have(calloc(1, sizeof(*h) + (size_t)job->o.n_pes * sizeof(*h->pes)),
			     "--replace-hung");
	h->gauges = launch_progress_gauges(job);
	h->look_ms = job->o.hung_ms / LOOKS < LOOK_MOST_MS ? job->o.hung_ms / LOOKS + 1 : LOOK_MOST_MS;
	h->looked_ms = launch_now_ms();
	job->hung = h;
}

void launch_hung_end(struct launch_job *job)
{
	free(job->hung);
	job->hung = NULL;
}

/* ---- a look ----------------------------------------------------------------------------- */

/** How long the PE has not moved. */
static int64_t pe_still_ms(const struct gauge *g, struct seen *seen, int64_t now)
{
	/* Acquire: pairs with the release when the PE began, and makes `since` visible. The others:
	 * see struct gauge. */
	const bool begun = atomic_load_explicit(&g->clock, memory_order_acquire) != GAUGE_NONE;
	const bool idle = atomic_load_explicit(&g->state, memory_order_relaxed) == GAUGE_IDLE;
	const uint64_t since = atomic_load_explicit(&g->since, memory_order_relaxed);
	const uint64_t handled = atomic_load_explicit(&g->handled, memory_order_relaxed);

	if (!begun || idle || since != seen->since || handled != seen->handled)
		*seen = (struct seen){ since, handled, now };
	return now - seen->at_ms;
}

static bool is_stopped(const struct launch_job *job, const struct launch_node *n, int64_t now)
{
	return n->stopped && now - n->stopped_ms >= job->o.hung_ms;
}

/** The node's PE that has not moved for the longest time, if that is too long; -1: none. */
static int find_still(struct launch_job *job, const struct launch_node *n, int64_t now)
{
	struct launch_hung *h = job->hung;
	int64_t most = job->o.hung_ms - 1;
	int found = -1;

	for (int i = n->first_pe; i < n->first_pe + n->n_pes; i++) {
		const int64_t still = pe_still_ms(&h->gauges[i], &h->pes[i], now);

		if (still > most) {
			most = still;
			found = i;
		}
	}
	return found;
}

/** Ckrun has not looked for a long time, or the nodes are new. */
static void begin_again(struct launch_job *job, int64_t now)
{
	for (int i = 0; i < job->o.n_pes; i++)
		job->hung->pes[i].at_ms = now;
	for (int i = 0; i < job->n_nodes; i++)
		job->nodes[i].stopped_ms = now;
}

static void look(struct launch_job *job, int64_t now)
{
	const struct launch_node *hung = NULL;
	int which = -1;

	for (int i = 0; i < job->n_started; i++) {
		const struct launch_node *n = &job->nodes[i];
		const int pe = find_still(job, n, now);
		const bool stopped = is_stopped(job, n, now);

		/* Others may wait in a handler for the one that is stopped. */
		if (!n->ended && !n->left && (stopped || (pe >= 0 && !hung))) {
			hung = n;
			which = stopped ? -1 : pe;
		}
	}
	if (hung)
		launch_replace_hung(job, hung, which);
}

int launch_hung_turn(struct launch_job *job, int timeout_ms)
{
	struct launch_hung *h = job->hung;
	const int64_t now = launch_now_ms();
	int64_t left;

	if (!h)
		return timeout_ms;
	if (job->phase != LAUNCH_RUNNING || now - h->looked_ms > 2 * h->look_ms + LOOK_MOST_MS / 2)
		begin_again(job, now);
	if (job->phase != LAUNCH_RUNNING || now - h->looked_ms >= h->look_ms) {
		h->looked_ms = now;
		if (job->phase == LAUNCH_RUNNING)
			look(job, now);
	}
	left = h->looked_ms + h->look_ms - now;
	return timeout_ms >= 0 && timeout_ms < left ? timeout_ms : (int)left;
}
