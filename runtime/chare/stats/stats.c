/* SPDX-License-Identifier: Apache-2.0 */
/* stats.c: how many elements each collection had. See stats.h. */
#include "stats.h"

#include <stdio.h>

#include "../../machine/cmi_env.h"

/** Counts of one collection on a PE, kept from its first element on. Singleton chares are counted per
 * type. */
struct stats_coll {
	const struct collection *coll;
	uint64_t created, destroyed;
	struct stats_coll *next;
};

/** On a PE: its collections in the order of their first elements. */
struct stats_pe {
	struct stats_coll *first, **tail;
};

static struct stats_coll *stats_of(struct pe *pe, const struct collection *c)
{
	struct stats_pe *all = ck_state(pe, PART_STATS);
	struct stats_coll *s = coll_state(c, PART_STATS);

	if (!s->coll) {
		s->coll = c;
		*all->tail = s;
		all->tail = &s->next;
	}
	return s;
}

static void count_created(struct pe *pe, struct ck_obj *obj)
{
	stats_of(pe, obj->coll)->created++;
}

static void count_destroyed(struct pe *pe, struct ck_obj *obj)
{
	stats_of(pe, obj->coll)->destroyed++;
}

static int stats_node_start(struct node *node)
{
	(void)node;
	return cmi_env_flag("CK_STATS", false) ? 0 : CK_PART_OFF;
}

static void stats_pe_start(struct pe *pe)
{
	struct stats_pe *all = ck_state(pe, PART_STATS);

	all->tail = &all->first;
}

static void stats_pe_stop(struct pe *pe)
{
	const struct stats_pe *all = ck_state(pe, PART_STATS);
	char what[160];

	for (const struct stats_coll *s = all->first; s; s = s->next) {
		coll_describe(s->coll, what, sizeof what);
		fprintf(stderr, "chard: PE %d: %s: %llu created, %llu destroyed\n", pe->id, what,
			(unsigned long long)s->created, (unsigned long long)s->destroyed);
	}
}

const struct ck_part stats_part = {
	.name = "stats",
	.number = PART_STATS,
	.pe_bytes = sizeof(struct stats_pe),
	.coll_bytes = sizeof(struct stats_coll),
	.watch = { .created = count_created, .destroyed = count_destroyed },
	.node_start = stats_node_start,
	.pe_start = stats_pe_start,
	.pe_stop = stats_pe_stop,
};
