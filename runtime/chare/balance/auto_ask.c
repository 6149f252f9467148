/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auto_ask.c: CK_LB=auto: which strategy a step asks.
 *
 * From the cheapest on: cuts cost nothing later, refine moves least, greedy balances best. The
 * first one that leaves no more than is tolerated, or nearly the least that any of them leaves, is
 * taken.
 *
 * What it costs later that neighbours are apart is not known before they are. Two things show it:
 * all PEs together work longer than when elements were together; and greedy, which deals all
 * elements out, is a trial (auto.c).
 */
#include "balance_int.h"
#include "../../machine/base/cmi_alloc.h"

#include <math.h>
#include <stdlib.h>

static const char *const candidates[] = { "cuts", "refine", "greedy" };
enum { CUTS, REFINE, GREEDY, N_CANDIDATES };
static const double AS_GOOD = 1.02;
/* Strategies may use up the tolerance to move less. With half of it, the other half is left for
 * changes until the next step. */
static const double FINER = 0.5;
/* Syncs that show how long all PEs work. More than twice as long because neighbours are apart is
 * another load. */
enum { WORK_LEAST = 2 };
static const double LONGER_MOST = 2;
/* Cuts shift all elements between two PEs that differ. The moves that refine saves are worth more
 * than neighbours if they take longer than this part of a sync, and than so many syncs take longer
 * because neighbours are apart. Seconds of a move at least. */
static const double DEAR = 0.5, DEAR_APART = 16, MOVE = 1e-6;

static double less(double a, double b) { return a < b ? a : b; }

struct answers {
	double max[N_CANDIDATES], best; /* seconds of the PE with most */
	double fair;
	size_t moves[N_CANDIDATES];
	int first, end;           /* that were asked */
};

/* The acceptable time of the longest PE: what is tolerated, or nearly the optimum. */
static double enough(const CkLBStats *s, const struct answers *a)
{
	const double tolerated = a->fair * (1 + s->tolerance);

	return tolerated > a->best * AS_GOOD ? tolerated : a->best * AS_GOOD;
}

/* How much longer all PEs work while neighbours are apart. */
static double longer(const struct choice *ch)
{
	const struct work *together = &ch->work[false], *apart = &ch->work[true];
	double ratio;

	if (together->n < WORK_LEAST || apart->n < WORK_LEAST)
		return 1;
	ratio = apart->mean / together->mean;
	if (ratio < 1)
		return 1;
	return ratio > LONGER_MOST ? LONGER_MOST : ratio;
}

/* ---- the candidates -------------------------------------------------------------------------- */

/* Cuts, even if elements that are apart are balanced better: as if all were on one PE. */
static int bring_together(const struct lb_strategy *cuts, const CkLBStats *s, int32_t *to,
			  size_t *which_p)
{
	CkLBElement *element = cmi_alloc_zero(s->n + 1, sizeof *element, "load balancing");
	CkLBStats on_one = *s;
	int err;

	for (size_t i = 0; i < s->n; i++) {
		element[i] = s->element[i];
		element[i].pe = element[i].pinned ? element[i].pe : 0;
	}
	on_one.element = element;
	err = lb_strategy_run(cuts, &on_one, to, which_p);
	free(element);
	return err;
}

static int ask(const struct lb_table *t, const struct choice *ch, const CkLBStats *s, int which,
	       int32_t *to, size_t *which_p)
{
	const struct lb_strategy *st = lb_strategy_find(t, candidates[which]);

	return which == CUTS && ch->apart ? bring_together(st, s, to, which_p) :
					    lb_strategy_run(st, s, to, which_p);
}

static void ask_all(const struct lb_table *t, const struct choice *ch, const CkLBStats *s,
		    struct answers *a, int32_t *to, size_t *which_p)
{
	struct lb_quality q;

	lb_quality(s, NULL, &q);
	a->fair = q.fair;
	a->best = HUGE_VAL;
	for (int k = a->first; k < a->end; k++) {
		a->max[k] = HUGE_VAL;
		if (ask(t, ch, s, k, to, which_p))
			continue;
		lb_quality(s, to, &q);
		a->max[k] = q.max;
		a->moves[k] = q.n_moved;
		a->best = less(a->best, q.max);
	}
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* Scattered elements stay so, and others are dealt out only if that may be tried. */
static struct answers whom(const struct choice *ch, bool extents)
{
	struct answers a = { .first = CUTS, .end = N_CANDIDATES };

	if (ch->deal)
		a.first = GREEDY;
	else if (ch->scattered || !extents)
		a.first = REFINE;
	else if (!auto_may_deal(ch))
		a.end = GREEDY;
	return a;
}

static bool are_cuts_dear(const struct choice *ch, const struct answers *a)
{
	const double worth = DEAR + DEAR_APART * (longer(ch) - 1);

	return a->moves[REFINE] < a->moves[CUTS] &&
	       (double)(a->moves[CUTS] - a->moves[REFINE]) * MOVE > worth * a->fair;
}

static bool do_cuts(const struct choice *ch, const CkLBStats *s, const struct answers *a)
{
	const double worth = a->end == GREEDY ? longer(ch) : 1, most = enough(s, a);

	if (a->max[REFINE] <= most && are_cuts_dear(ch, a))
		return false;
	return ch->back || a->max[CUTS] <= most * worth;
}

static int choose(const struct choice *ch, const CkLBStats *s, const struct answers *a)
{
	int i = a->first;

	if (i == CUTS && do_cuts(ch, s, a))
		return CUTS;
	for (i += i == CUTS; i < a->end - 1 && a->max[i] > enough(s, a);)
		i++;
	return i;
}

static void see_what_is_left(struct choice *ch, const CkLBStats *s, const int32_t *to)
{
	struct lb_quality q;

	lb_quality(s, to, &q);
	ch->left = q.fair > 0 ? q.max / q.fair - 1 : 0;
}

int auto_answer(const struct lb_table *t, struct choice *ch, const CkLBStats *s, bool extents,
		int32_t *to, size_t *which_p, const struct lb_strategy **st_p)
{
	struct answers a = whom(ch, extents);
	CkLBStats finer = *s;
	int i, err;

	finer.tolerance *= FINER;
	ask_all(t, ch, &finer, &a, to, which_p);
	i = choose(ch, s, &a);
	if (i == GREEDY && a.first == CUTS)
		auto_deals(ch, less(a.max[CUTS], a.max[REFINE]));
	*st_p = lb_strategy_find(t, candidates[i]);
	err = ask(t, ch, &finer, i, to, which_p);
	if (!err)
		see_what_is_left(ch, s, to);
	ch->apart = i != CUTS;
	return err;
}
