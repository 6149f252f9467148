/* SPDX-License-Identifier: Apache-2.0 */
/*
 * balance_part.c: connects the room to the layer: start, numbers in CK_STATS, messages and their
 * shapes.
 */
#include "balance_int.h"
#include "../create/place_watch.h"
#include "../core/shape.h"
#include "../../machine/base/cmi_env.h"

/* ---- CK_STATS -------------------------------------------------------------------------------- */

static void balance_name_counts(struct node *node)
{
	static const char group[] = "load balancing";

	if (!node->count)
		return;
	balance_of(node)->counts = node->count->number(node, group, "syncs", COUNT_TIMES);
	node->count->number(node, group, "steps", COUNT_TIMES);
	node->count->number(node, group, "of these at rest", COUNT_TIMES);
	node->count->number(node, group, "elements moved", COUNT_TIMES);
	node->count->number(node, group, "steps took", COUNT_TICKS);
}

/* ---- start and end --------------------------------------------------------------------------- */

int balance_program(struct node *node)
{
	if (!ck_node_of(node)->parts[PART_BALANCE] || !node->program)
		return 0;
	choose_strategy(node);
	return 0;
}

static const struct place_watch watch = {
	.still = syncs_still,
	.remade = syncs_remade,
	.arrived = elem_arrived,
	.leaving = elem_leaving,
	.stayed = elem_stayed,
};

static int balance_node_start(struct node *node)
{
	if (!choose_read(balance_of(node)))
		return CK_PART_OFF;
	ck_node_of(node)->lone_syncs = choose_alone(balance_of(node));
	balance_name_counts(node);
	measure_node_start(node);
	place_join(node, PART_BALANCE, &watch);
	return 0;
}

static void balance_coll_fini(struct pe *pe, struct collection *c)
{
	(void)pe;
	step_free(sync_of(c));
	edges_free(&sync_of(c)->edges);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static const char *sync_misfit(struct pe *pe, const struct cmi_msg *head)
{
	const struct sync_msg *m = (const struct sync_msg *)head;
	const bool up = m->kind == SYNC_ANSWER || m->kind == SYNC_STATS || m->kind == SYNC_DONE;
	const bool down = m->kind == SYNC_ASK || m->kind == SYNC_RESUME || m->kind == SYNC_CLOSE ||
			  m->kind == SYNC_STEP || m->kind == SYNC_MOVES;

	if (m->kind >= SYNC_KINDS || m->kind == SYNC_CHECK)
		return "its kind is unknown";
	if ((up && csd_tree_parent_of(pe, head->src_pe, 0) != pe->id) ||
	    (down && csd_tree_parent(pe, 0) != head->src_pe))
		return "it did not come by PE 0's tree";
	if (m->kind == SYNC_POKE && pe->id)
		return "it is for PE 0";
	if (m->kind == SYNC_STATS || m->kind == SYNC_MOVES)
		return step_misfit(pe, m);
	if ((m->kind == SYNC_STEP && (m->wave > NO_REST || m->n >= N_FORECASTS)) ||
	    (m->kind == SYNC_RESUME && m->wave > MEASURE_OFF))
		return "its kind is unknown";
	return head->size == sizeof *m ? NULL : "it is too long";
}

static const struct ck_handler handlers[] = {
	[H_SYNC] = { "ck.sync.step", sync_arrived,
		     .shape = { .least = sizeof(struct sync_msg), CK_SHAPE_ID(struct sync_msg, coll),
				.misfit = sync_misfit } },
};

static const struct ck_callback_kind callbacks[] = {
	{ .kind = CB_AT_REST, .names = CK_NAMES_UNSENT, .send = step_at_rest,
	  .describe = step_describe_rest },
	{ .kind = CB_SYNC, .names = CK_NAMES_UNSENT, .send = sync_goes_on,
	  .describe = step_describe_rest },
};

const struct ck_part balance_part = {
	.name = "balance",
	.number = PART_BALANCE,
	.node_bytes = sizeof(struct balance_node),
	.pe_bytes = sizeof(struct meter),
	.coll_bytes = sizeof(struct sync_coll),
	.elem_bytes = sizeof(struct lb_elem),
	.handlers = CK_LIST(handlers),
	.callbacks = CK_LIST(callbacks),
	.watch = {
		.created = elem_created,
		.destroyed = elem_destroyed,
		.constructed = sync_constructed,
		.fini = balance_coll_fini,
	},
	.describe = syncs_describe,
	.obey = balance_obey,
	.node_start = balance_node_start,
	.pe_start = measure_pe_start,
	.save = { .refuse = syncs_refuse, .clear = elem_save },
};
