/* SPDX-License-Identifier: Apache-2.0 */
/*
 * closing.c: whether inserting is over, so that a call of an element that does not exist can be
 * called an error, and never one whose insertion is still under way. PEs count the inserts that
 * they sent and carried out, and the phases that were begun (X_beginInserting, X_ckNewEmpty) and
 * ended (X_doneInserting). PE 0 collects the sums in waves. When two waves on end bring equal
 * sums, no PE changed anything between its two answers, so they are those of one moment: inserting
 * is over if then all inserts had been carried out and no phase was open.
 *
 * A wave is made when somebody ends a phase, or when a call finds no element where inserting was
 * thought to be over.
 */
#include "dynamic_int.h"

#include <stdlib.h>
#include <string.h>

struct closing {
	struct pe *pe;
	uint64_t id;
	uint64_t mine[CLOSING_N];
	bool open;                /* as far as this PE knows */
	bool asked;               /* PE 0 was asked, and has not answered yet */
	uint32_t wave;            /* this PE's current one */
	int n_in;                 /* children that have answered it */
	uint64_t in[CLOSING_N];   /* their sums */
	/* PE 0 only. */
	bool running, again, have_before;
	uint64_t before[CLOSING_N];
	double wait_ms;
};

static const double WAIT_MIN_MS = 0.01, WAIT_MAX_MS = 1.0;

static struct closing *get(struct pe *pe, struct collection *c)
{
	struct closing *x = c->closing;

	if (x)
		return x;
	x = c->closing = calloc(1, sizeof *x);
	if (!x)
		csd_abort(pe, "no memory for a collection");
	x->pe = pe;
	x->id = c->id;
	return x;
}

void closing_count(struct pe *pe, struct collection *c, enum closing_what what)
{
	get(pe, c)->mine[what]++;
}

void closing_open(struct pe *pe, struct collection *c)
{
	get(pe, c)->open = true;
}

uint32_t closing_wave(const struct collection *c)
{
	return c->closing ? c->closing->wave : 0;
}

static void send(struct pe *pe, int dst_pe, uint64_t id, enum where_kind kind, uint32_t wave)
{
	where_send(pe, dst_pe, (struct where_msg){ .coll = id, .kind = kind,
						   .index = { { (int32_t)wave, 0, 0 } } });
}

static void check(struct pe *pe, struct collection *c)
{
	struct closing *x = get(pe, c);

	x->asked = true;
	send(pe, 0, c->id, WHERE_CHECK, 0);
}

/* A call waits for an element that does not exist. */
void closing_missed(struct pe *pe, struct collection *c)
{
	struct closing *x = get(pe, c);

	if (!x->open && !x->asked)
		check(pe, c);
}

static void start_wave(void *arg)
{
	struct closing *x = arg;

	send(x->pe, 0, x->id, WHERE_WAVE, x->wave + 1);
}

static void verdict(struct closing *x, bool over)
{
	where_send(x->pe, 0, (struct where_msg){ .coll = x->id, .kind = WHERE_VERDICT,
		   .index = { { (int32_t)x->wave, over, 0 } } });
	x->running = false;
	x->have_before = false;
	if (x->again) {
		x->again = false;
		x->running = true;
		start_wave(x);
	}
}

/* PE 0 has the sums of a whole wave. */
static void wave_over(struct closing *x, const uint64_t sum[CLOSING_N])
{
	bool same = x->have_before && !memcmp(x->before, sum, sizeof x->before);
	bool settled = sum[INSERTS_SENT] == sum[INSERTS_DONE];

	if (sum[PHASES_DONE] < sum[PHASES_BEGUN]) {
		verdict(x, false);
		return;
	}
	if (same && settled) {
		verdict(x, true);
		return;
	}
	memcpy(x->before, sum, sizeof x->before);
	x->have_before = true;
	if (settled) {
		start_wave(x);
		return;
	}
	CcdCallFnAfter(start_wave, x, x->wait_ms);
	x->wait_ms = x->wait_ms < WAIT_MAX_MS ? x->wait_ms * 2 : WAIT_MAX_MS;
}

static void maybe_answer(struct pe *pe, struct closing *x)
{
	struct where_msg w = { .coll = x->id, .kind = WHERE_SUM };

	if (x->n_in < csd_tree_n_children(pe, 0))
		return;
	for (int i = 0; i < CLOSING_N; i++)
		w.count[i] = x->in[i] + x->mine[i];
	if (pe->id == 0)
		wave_over(x, w.count);
	else
		where_send(pe, csd_tree_parent(pe, 0), w);
}

static void to_children(struct pe *pe, const struct where_msg *w)
{
	for (int i = 0; i < csd_tree_n_children(pe, 0); i++)
		where_send(pe, csd_tree_child(pe, 0, i), *w);
}

void closing_where(struct pe *pe, struct collection *c, const struct where_msg *w)
{
	struct closing *x = get(pe, c);

	switch (w->kind) {
	case WHERE_CHECK:
		x->wait_ms = WAIT_MIN_MS;
		x->again = x->running;
		if (!x->running) {
			x->running = true;
			start_wave(x);
		}
		break;
	case WHERE_WAVE:
		x->wave = (uint32_t)w->index.v[0];
		x->n_in = 0;
		memset(x->in, 0, sizeof x->in);
		to_children(pe, w);
		maybe_answer(pe, x);
		break;
	case WHERE_SUM:
		x->n_in++;
		for (int i = 0; i < CLOSING_N; i++)
			x->in[i] += w->count[i];
		maybe_answer(pe, x);
		break;
	case WHERE_VERDICT:
		to_children(pe, w);
		x->open = !w->index.v[1];
		x->asked = false;
		/* The wave before this one was the first of the two. */
		if (!x->open && c->constructed)
			absent_overdue(pe, c, (uint32_t)w->index.v[0] - 1);
		break;
	}
}

void CkGen_beginInserting(CkProxy p)
{
	struct pe *pe = ck_self();
	struct collection *c = coll_get(pe, p.id);

	closing_count(pe, c, PHASES_BEGUN);
	closing_open(pe, c);
}

void CkGen_doneInserting(CkProxy p)
{
	struct pe *pe = ck_self();
	struct collection *c = coll_get(pe, p.id);

	closing_count(pe, c, PHASES_DONE);
	check(pe, c);
}
