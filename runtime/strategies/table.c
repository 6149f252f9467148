/* SPDX-License-Identifier: Apache-2.0 */
/* table.c: strategies by name, and the function that runs one. */
#include "strategies.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* By name. */
static const struct lb_strategy built_in[] = {
	{ .name = "cuts", .fn = lb_cuts },
	{ .name = "diffusion", .fn = lb_diffusion },
	{ .name = "greedy", .fn = lb_greedy },
	{ .name = "hier", .fn = lb_hier },
	{ .name = "metis", .fn = lb_metis, .wants = CK_LB_EDGES, .missing = lb_metis_missing },
	{ .name = "random", .fn = lb_random },
	{ .name = "refine", .fn = lb_refine },
	{ .name = "rotate", .fn = lb_rotate },
	{ .name = "scotch", .fn = lb_scotch, .wants = CK_LB_EDGES, .missing = lb_scotch_missing },
	{ .name = "sfc", .fn = lb_sfc },
};

enum { N_BUILT_IN = sizeof built_in / sizeof *built_in };

const struct lb_strategy *lb_strategy_at(const struct lb_table *t, int i)
{
	if (i < N_BUILT_IN)
		return &built_in[i];
	i -= N_BUILT_IN;
	return t && i < t->n ? &t->own[i] : NULL;
}

const struct lb_strategy *lb_strategy_find(const struct lb_table *t, const char *name)
{
	const struct lb_strategy *st;

	for (int i = 0; (st = lb_strategy_at(t, i)); i++)
		if (strcmp(st->name, name) == 0)
			return st;
	return NULL;
}

int lb_table_add(struct lb_table *t, const char *name, CkLBStrategyFn fn, unsigned wants, void *arg)
{
	if (!name || !*name || !fn || wants & ~(unsigned)CK_LB_EDGES || !strcmp(name, "auto") ||
	    !strcmp(name, "off"))
		return -EINVAL;
	if (lb_strategy_find(t, name))
		return -EEXIST;
	if (t->n == LB_OWN_MOST)
		return -ENOSPC;
	t->own[t->n++] = (struct lb_strategy){ .name = name, .fn = fn, .wants = wants, .arg = arg };
	return 0;
}

void lb_strategy_names(const struct lb_table *t, char *buf, size_t len)
{
	const struct lb_strategy *st;
	size_t used = 0;

	for (int i = 0; (st = lb_strategy_at(t, i)) && used < len; i++)
		used += (size_t)snprintf(buf + used, len - used, "%s%s", i ? ", " : "", st->name);
}

/** Whether all elements go to PEs that exist; else *which_p is the first that does not. */
static bool all_exist(const CkLBStats *s, const int32_t *to, size_t *which_p)
{
	for (size_t i = 0; i < s->n; i++)
		if (to[i] < 0 || to[i] >= s->n_pes) {
			*which_p = i;
			return false;
		}
	return true;
}

int lb_strategy_run(const struct lb_strategy *st, const CkLBStats *s, int32_t *to, size_t *which_p)
{
	int err;

	for (size_t i = 0; i < s->n; i++)
		to[i] = s->element[i].pe;
	err = st->fn(s, to, st->arg);
	for (size_t i = 0; i < s->n; i++)
		if (s->element[i].pinned)
			to[i] = s->element[i].pe;
	if (!err && !all_exist(s, to, which_p))
		err = LB_NO_PE;
	for (size_t i = 0; err && i < s->n; i++)
		to[i] = s->element[i].pe;
	return err;
}
