/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choose.c: the variables CK_LB, CK_LB_PERIOD, CK_LB_TOLERANCE, CK_LB_SPEEDS, CK_LB_DUMP and
 * CK_SYNC_MS; and whether a step pays.
 */
#include "balance_int.h"
#include "../../machine/base/cmi_env.h"
#include "../../machine/tools/cmi_plain.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_PERIOD = 1000 * 1000 * 1000, SYNC_MS = 100, SYNC_MS_MOST = 1000 * 1000 };
static const double TOLERANCE = 0.05, TOLERANCE_MOST = 100;

static double read_tolerance(void)
{
	const char *text = cmi_env_text("CK_LB_TOLERANCE");
	char *end;
	double x;

	if (!text)
		return TOLERANCE;
	errno = 0;
	x = cmi_plain_double(text, &end);
	if (errno || *end || !strchr("0123456789.", *text) || end == text ||
	    !(x >= 0 && x <= TOLERANCE_MOST))
		cmi_env_refuse(
			"CK_LB_TOLERANCE", text,
			"a number from 0 to 100: 0.05 lets a PE have 5 % more than the mean");
	return x;
}

bool choose_read(struct balance_node *b)
{
	const char *name = cmi_env_text("CK_LB");

	b->period = (uint64_t)cmi_env_number("CK_LB_PERIOD", 1, 1, MOST_PERIOD);
	b->tolerance = read_tolerance();
	b->speeds = cmi_env_flag("CK_LB_SPEEDS", true);
	b->dump = cmi_env_text("CK_LB_DUMP");
	b->sync_ms = cmi_env_number("CK_SYNC_MS", SYNC_MS, 0, SYNC_MS_MOST);
	b->name = name && strcmp(name, "off") != 0 ? name : NULL;
	b->automatic = b->name && strcmp(b->name, "auto") == 0;
	return b->name != NULL;
}

_Noreturn static void refuse_name(const struct lb_table *t, const char *name)
{
	char names[512], allowed[640];

	lb_strategy_names(t, names, sizeof names);
	snprintf(allowed, sizeof allowed, "off, auto, or one of %s", names);
	cmi_env_refuse("CK_LB", name, allowed);
}

_Noreturn static void refuse_missing(const char *name, const char *why)
{
	char allowed[640];

	snprintf(allowed, sizeof allowed, "another strategy: %s needs %s", name, why);
	cmi_env_refuse("CK_LB", name, allowed);
}

void CkLBRegister(const char *name, CkLBStrategyFn fn, unsigned wants, void *arg)
{
	struct pe *pe = ck_self_early();
	struct node *node = pe->node;

	if (ck_of(pe))
		csd_abort(pe, "CkLBRegister: \"%s\" is too late; register it in an initnode function", name);
	switch (lb_table_add(&balance_of(node)->strategies, name, fn, wants, arg)) {
	case 0:
		csd_fingerprint(node, name, strlen(name) + 1);
		return;
	case -EEXIST:
		csd_abort(NULL, "CkLBRegister: \"%s\" is taken; choose another name", name);
	case -ENOSPC:
		csd_abort(NULL, "CkLBRegister: more than %d strategies", LB_OWN_MOST);
	default:
		csd_abort(
			NULL,
			"CkLBRegister: \"%s\" is empty or reserved, has no function, or wants more "
			"than CK_LB_EDGES",
			name ? name : "");
	}
}

void choose_strategy(struct node *node)
{
	struct balance_node *b = balance_of(node);
	const struct lb_table *t = &b->strategies;
	const char *why;

	b->strategy = lb_strategy_find(t, b->automatic ? "greedy" : b->name);
	if (!b->strategy)
		refuse_name(t, b->name);
	why = b->strategy->missing ? b->strategy->missing() : NULL;
	if (why)
		refuse_missing(b->name, why);
	b->always = strcmp(b->name, "rotate") == 0 || strcmp(b->name, "random") == 0;
}

bool choose_looks(const struct balance_node *b, struct choice *ch, uint32_t round)
{
	if (ch->rest) {
		ch->rest--;
		return false;
	}
	return (round + UINT64_C(1)) % b->period == 0;
}

enum measuring choose_measuring(const struct choice *ch, bool looked)
{
	if (!looked)
		return ch->pause && !ch->rest ? MEASURE_ANEW : MEASURE_ON;
	if (ch->rest)
		return MEASURE_OFF;
	return ch->n ? MEASURE_ADD : MEASURE_ANEW;
}

/* ---- CK_LB=auto ------------------------------------------------------------------------------ */

enum {
	PATIENCE_MOST = 64,
	/* While PEs are balanced the pauses get longer, up to this many syncs. Then measuring costs a
	 * ninth. */
	PAUSE_MOST = 8,
	/* An imbalance that does not recur within this many syncs is ignored. A load that occurs in every
	 * second or third of them is seen. */
	LOOKS = 8
};

/* The minimum cost of a step, in seconds, with its consequences: messages for each PE, and elements
 * that are in no cache. */
static const double COST_LEAST = 1e-4;

static double patience_of(const struct choice *ch) { return ch->patience > 0 ? ch->patience : 1; }

static double cost_of(const struct choice *ch)
{
	return ch->cost > COST_LEAST ? ch->cost : COST_LEAST;
}

/* Judge the last step: it has left half of the imbalance or less, or no more than is tolerated; or
 * it has not helped. */
static void judge_step(struct choice *ch, double imbalance, bool tolerated)
{
	if (!ch->before)
		return;
	ch->patience = tolerated || imbalance <= ch->before / 2 ? 1 : 2 * patience_of(ch);
	if (ch->patience > PATIENCE_MOST)
		ch->patience = PATIENCE_MOST;
	ch->before = 0;
}

/* Other load on the machine makes a PE late once: a single imbalance counts as noise. So where
 * loads were balanced a single sync can only confirm that they still are; of several the largest
 * does not count (struct past). */
static bool is_certain(const struct choice *ch, bool tolerated)
{
	return tolerated ? ch->n == 1 || ch->n >= LOOKS : ch->n > 1 || !ch->settled;
}

/* A step pays when the job has lost as much as one costs. The cost of the first two is not known
 * yet. */
static bool pays(struct choice *ch, double lost, double imbalance, bool tolerated)
{
	judge_step(ch, imbalance, tolerated);
	ch->settled |= tolerated;
	if (tolerated || lost < cost_of(ch) * patience_of(ch))
		return false;
	ch->before = imbalance;
	return true;
}

/* Before the first step elements touched their memory for the first time, which hid their later
 * load, so the second step need not wait. The first one's cost says little, too: PEs communicated
 * for the first time. */
void choose_took(struct choice *ch, double seconds)
{
	ch->cost = ch->tried ? seconds : 0;
	ch->tried = true;
}

static void choose_pause(struct choice *ch, bool balanced, bool step)
{
	if (step)
		ch->pause = 0;
	else if (balanced && ch->n == 1 && ch->pause < PAUSE_MOST)
		ch->pause = ch->pause ? 2 * ch->pause : 1;
	ch->rest = balanced ? ch->pause : 0;
}

/* Loads are added up until the decision is certain, so that disturbances of different PEs
 * compensate each other. */
static bool choose_by_itself(const struct balance_node *b, struct choice *ch, double max,
			     double level, bool pauses)
{
	const double imbalance = level > 0 ? max / level - 1 : 0;
	const bool tolerated = imbalance <= b->tolerance;
	bool certain, balanced, step;

	if (!ch->n && max < COST_LEAST)
		return false; /* nothing was done yet */
	ch->n++;
	certain = is_certain(ch, tolerated);
	balanced = tolerated && certain;
	step = certain && pays(ch, max - level, imbalance, tolerated);
	if (pauses)
		choose_pause(ch, balanced, step);
	if (step || balanced)
		ch->n = 0;
	return step;
}

/* The level is what all PEs would take if work were divisible. */
bool choose_step(const struct balance_node *b, struct choice *ch, const struct sync_sums *s,
		 bool only)
{
	const double level = s->work / s->speed;

	if (b->automatic)
		return choose_by_itself(b, ch, s->max, level, only && b->period == 1);
	return b->always || s->max > level * (1 + b->tolerance);
}

/* From the cheapest on: cuts cost nothing later, refine moves least, greedy balances best. */
static const char *const candidates[] = { "cuts", "refine", "greedy" };
enum { N_CANDIDATES = sizeof candidates / sizeof *candidates };
static const double AS_GOOD = 1.02;
/* Strategies may use up the tolerance to move less. With half of it, the other half is left for
 * changes until the next step. */
static const double FINER = 0.5;

/* The acceptable time of the longest PE: what is tolerated, or nearly the optimum. */
static double enough(const CkLBStats *s, double best)
{
	struct lb_quality now;
	double tolerated;

	lb_quality(s, NULL, &now);
	tolerated = now.fair * (1 + s->tolerance);
	return tolerated > best * AS_GOOD ? tolerated : best * AS_GOOD;
}

int choose_cheapest(const struct lb_table *t, const CkLBStats *s, bool extents, int32_t *to,
		    size_t *which_p, const struct lb_strategy **st_p)
{
	const int first = extents ? 0 : 1;
	double max[N_CANDIDATES], best = HUGE_VAL;
	CkLBStats finer = *s;
	struct lb_quality q;
	int i = first;

	finer.tolerance *= FINER;
	for (int k = first; k < N_CANDIDATES; k++) {
		max[k] = HUGE_VAL;
		if (lb_strategy_run(lb_strategy_find(t, candidates[k]), &finer, to, which_p))
			continue;
		lb_quality(s, to, &q);
		max[k] = q.max;
		best = q.max < best ? q.max : best;
	}
	while (i < N_CANDIDATES - 1 && max[i] > enough(s, best))
		i++;
	*st_p = lb_strategy_find(t, candidates[i]);
	return lb_strategy_run(*st_p, &finer, to, which_p);
}

int choose_answer(const struct node *node, const CkLBStats *s, bool extents, int32_t *to,
		  size_t *which_p, const struct lb_strategy **st_p)
{
	const struct balance_node *b = balance_of(node);

	if (b->automatic)
		return choose_cheapest(&b->strategies, s, extents, to, which_p, st_p);
	*st_p = b->strategy;
	return lb_strategy_run(b->strategy, s, to, which_p);
}
