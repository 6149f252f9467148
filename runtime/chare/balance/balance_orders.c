/* SPDX-License-Identifier: Apache-2.0 */
/*
 * balance_orders.c: what somebody outside the job asks of load balancing (csd_order): "balance
 * now", and "set" of what PE 0 alone decides by: CK_LB, CK_LB_PERIOD, CK_LB_TOLERANCE, CK_SYNC_MS.
 *
 * A step that is asked for is taken at the next sync at which loads have been measured; what
 * CK_LB=auto has paused, it measures from the next sync on.
 */
#include "balance_int.h"
#include "../../machine/tools/cmi_plain.h"

#include <stdlib.h>
#include <string.h>

/* ---- balance now ----------------------------------------------------------------------------- */

static bool balance_now(struct pe *pe, const struct csd_order *o)
{
	struct balance_node *b = balance_of(pe->node);

	if (strcmp(o->arguments, "now"))
		csd_answer(pe, o->id, false, "balance is followed by \"now\"");
	else if (!balance_is_on(pe))
		csd_answer(pe, o->id, false, pe->node->job->n_pes == 1 ? "one PE has nothing to balance" :
			   "the job measures no loads: start it with CK_LB");
	else if (b->order)
		csd_answer(pe, o->id, false, "somebody else waits for the next step already");
	else
		b->order = o->id;
	return true;
}

bool order_wants_step(struct pe *pe, struct choice *ch)
{
	if (!balance_of(pe->node)->order)
		return false;
	if (!ch->rest)
		return true;
	ch->rest = 1; /* choose_looks makes it 0: measuring begins anew */
	return false;
}

void order_step_over(struct pe *pe, const struct collection *c, double seconds)
{
	struct balance_node *b = balance_of(pe->node);

	if (b->order)
		csd_answer(pe, b->order, true, "array %llu was balanced in %.3f s",
			   (unsigned long long)c->id, seconds);
	b->order = 0;
}

/* ---- set ------------------------------------------------------------------------------------- */

static const char *set_strategy(struct pe *pe, const char *name)
{
	struct balance_node *b = balance_of(pe->node);
	const bool automatic = !strcmp(name, "auto");
	const struct lb_strategy *st = lb_strategy_find(&b->strategies, automatic ? "greedy" : name);

	if (!b->name || pe->node->job->n_pes == 1)
		return "the job measures no loads: start it with CK_LB";
	if (!st)
		return "there is no such strategy";
	if (st->missing && st->missing())
		return st->missing();
	if (st->wants & ~b->strategy->wants)
		return "the job does not measure what this strategy wants: start it with CK_LB";
	b->strategy = st;
	b->automatic = automatic;
	b->always = !strcmp(name, "rotate") || !strcmp(name, "random");
	return NULL;
}

static const char *set_period(struct pe *pe, const char *text)
{
	char *end;
	const long n = strtol(text, &end, 10);

	if (end == text || *end || n < 1 || n > 1000000000)
		return "it is a number of syncs";
	balance_of(pe->node)->period = (uint64_t)n;
	return NULL;
}

static const char *set_tolerance(struct pe *pe, const char *text)
{
	char *end;
	const double x = cmi_plain_double(text, &end);

	if (end == text || *end || !(x >= 0 && x <= 100))
		return "it is a number from 0 to 100";
	balance_of(pe->node)->tolerance = x;
	return NULL;
}

static const char *set_sync_ms(struct pe *pe, const char *text)
{
	char *end;
	const long ms = strtol(text, &end, 10);

	if (end == text || *end || ms < 0 || ms > SYNC_MS_MOST)
		return "it is a number of milliseconds, at most 1000000";
	balance_of(pe->node)->sync_ms = ms;
	return NULL;
}

bool balance_obey(struct pe *pe, const struct csd_order *o)
{
	static const struct csd_setting settings[] = {
		{ "CK_LB=", set_strategy }, { "CK_LB_PERIOD=", set_period },
		{ "CK_LB_TOLERANCE=", set_tolerance }, { "CK_SYNC_MS=", set_sync_ms }, { NULL, NULL },
	};

	if (!strcmp(o->word, "balance"))
		return balance_now(pe, o);
	return csd_obey_set(pe, o, settings, "sync");
}
