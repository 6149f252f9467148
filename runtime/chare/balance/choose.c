/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choose.c: the variables CK_LB, CK_LB_PERIOD, CK_LB_TOLERANCE, CK_LB_SPEEDS, CK_LB_DUMP and
 * CK_SYNC_MS; and what a fixed strategy decides. CK_LB=auto is in auto.c.
 */
#include "balance_int.h"
#include "../../machine/base/cmi_env.h"
#include "../../machine/tools/cmi_plain.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_PERIOD = 1000 * 1000 * 1000, SYNC_MS = 100 };
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

/* Then a sync is one without CK_LB, too. */
static bool saves_at_syncs(void)
{
	return cmi_env_text("CK_CHECKPOINT") || cmi_env_text("CK_CHECKPOINT_EXIT");
}

/* Under ckrun a job that balances may be told to grow. It does so at a sync. */
bool choose_alone(const struct balance_node *b)
{
	return saves_at_syncs() || (b->name && cmi_env_text("CK_IMAGES"));
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
	return b->name || saves_at_syncs();
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

	if (!b->name) /* the syncs are for checkpoints */
		return;
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
	return ch->looked ? MEASURE_LEARN : MEASURE_ANEW;
}

/* The level is what all PEs would take if work were divisible. */
bool choose_step(const struct balance_node *b, struct choice *ch, const struct sync_sums *s,
		 bool only)
{
	const struct sync_forecast *last = &s->by[AS_LAST];

	if (b->automatic)
		return auto_step(b, ch, s, only && b->period == 1);
	return b->always || last->max > last->work / s->speed * (1 + b->tolerance);
}

int choose_answer(const struct node *node, struct choice *ch, const CkLBStats *s, bool extents,
		  int32_t *to, size_t *which_p, const struct lb_strategy **st_p)
{
	const struct balance_node *b = balance_of(node);

	if (b->automatic)
		return auto_answer(&b->strategies, ch, s, extents, to, which_p, st_p);
	*st_p = b->strategy;
	return lb_strategy_run(b->strategy, s, to, which_p);
}
