/* SPDX-License-Identifier: Apache-2.0 */
/*
 * figures.c: what CK_STATS says of checkpoints, and of the deaths after which ckrun has started the
 * job again. ckrun and PE 0 keep those in the page of the job's memory (image_memory.h): the nodes
 * that could have counted them are dead.
 */
#include "save_int.h"

enum { TAKEN, FAILED, BYTES, FROZEN, STARTS, LOST, DOWN };

void figures_name(struct node *node)
{
	const struct csd_count *count = node->count;

	if (!count)
		return;
	save_node_of(node)->counts = count->number(node, "checkpoints", "taken", COUNT_TIMES);
	count->number(node, "checkpoints", "not taken", COUNT_TIMES);
	count->number(node, "checkpoints", "size of the last", COUNT_BYTES);
	count->number(node, "checkpoints", "frozen", COUNT_TICKS_MOST);
	count->number(node, "started again", "times", COUNT_TIMES);
	count->number(node, "started again", "work lost", COUNT_TICKS_MOST);
	count->number(node, "started again", "until it went on", COUNT_TICKS_MOST);
}

/** Where to count; NULL: nothing is counted. */
static uint64_t *number(const struct pe *pe, int which)
{
	return pe->counts ? &pe->counts->numbers[save_node_of(pe->node)->counts + which] : NULL;
}

static void set(const struct pe *pe, int which, uint64_t value)
{
	uint64_t *to = number(pe, which);

	if (to)
		*to = value;
}

/* ---- checkpoints ------------------------------------------------------------------------- */

void figures_saved(struct pe *pe, int status, uint64_t bytes)
{
	uint64_t *n = number(pe, status == CK_CHECKPOINT_SUCCESS ? TAKEN : FAILED);

	if (n)
		++*n;
	if (status == CK_CHECKPOINT_SUCCESS)
		set(pe, BYTES, bytes);
}

void figures_frozen(struct pe *pe)
{
	if (pe->counts)
		save_of(pe)->froze_ticks = cmi_ticks(pe->counts->counter);
}

void figures_thawed(struct pe *pe)
{
	if (pe->counts)
		*number(pe, FROZEN) += cmi_ticks(pe->counts->counter) - save_of(pe)->froze_ticks;
}

/* ---- starts ------------------------------------------------------------------------------ */

/* Relaxed: ckrun has written it before there was a node. */
static uint64_t ticks_of(const struct pe *pe, const _Atomic uint64_t *ns)
{
	return csd_count_ticks(pe->counts, atomic_load_explicit(ns, memory_order_relaxed));
}

void figures_up(struct pe *pe)
{
	const struct image_memory *memory = store_kept(pe->node);
	struct image_since *since = memory ? &memory->page->since : NULL;

	if (pe->id)
		return;
	if (since)
		image_since_up(since, csd_now_ns());
	set(pe, STARTS, pe->node->epoch.no);
	if (!since || !pe->counts)
		return;
	set(pe, LOST, ticks_of(pe, &since->lost_ns));
	set(pe, DOWN, ticks_of(pe, &since->down_ns));
}

/* A job that goes on from a checkpoint is up when that is read. */
void figures_pe_start(struct pe *pe)
{
	if (!source_is_there(pe->node))
		figures_up(pe);
}
