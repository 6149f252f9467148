/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choose.c: the variables CK_LB, CK_LB_PERIOD, CK_LB_TOLERANCE, CK_LB_DUMP and CK_SYNC_MS; and whether a step pays.
 */
#include "balance_int.h"
#include "../../machine/cmi_env.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
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
	x = strtod(text, &end);
	if (errno || *end || end == text || !(x >= 0 && x <= TOLERANCE_MOST))
		cmi_env_refuse("CK_LB_TOLERANCE", text, "a number from 0 to 100: 0.05 lets a PE have 5 % more than the mean");
	return x;
}

bool choose_read(struct balance_node *b)
{
	const char *name = cmi_env_text("CK_LB");

	b->period = (uint64_t)cmi_env_number("CK_LB_PERIOD", 1, 1, MOST_PERIOD);
	b->tolerance = read_tolerance();
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

void choose_strategy(struct node *node)
{
	struct balance_node *b = balance_of(node);
	const struct lb_table *t = &ck_node_of(node)->strategies;
	const char *why;

	b->strategy = lb_strategy_find(t, b->automatic ? "greedy" : b->name);
	if (!b->strategy)
		refuse_name(t, b->name);
	why = b->strategy->missing ? b->strategy->missing() : NULL;
	if (why)
		refuse_missing(b->name, why);
	b->always = strcmp(b->name, "rotate") == 0 || strcmp(b->name, "random") == 0;
}

bool choose_looks(const struct balance_node *b, uint32_t round)
{
	return (round + UINT64_C(1)) % b->period == 0;
}

bool choose_step(const struct balance_node *b, const struct sync_sums *s, int n_pes)
{
	return b->always || s->max * n_pes > s->sum * (1 + b->tolerance);
}
