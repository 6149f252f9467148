/* SPDX-License-Identifier: Apache-2.0 */
/* global.c: the part of the room global/. */
#include "global_int.h"
#include "../core/shape.h"
#include "../../machine/base/cmi_env.h"
#include "../../image/image.h"

static int global_node_start(struct node *node)
{
	static const char *const words[] = { "memory", "rma", "message" };
	struct global_node *o = ck_node_state(node, PART_GLOBAL);

	o->path = (enum global_path)cmi_env_word("CK_GLOBAL_PATH", words, 3, GLOBAL_FASTEST);
	return 0;
}

static void global_pe_stop(struct pe *pe)
{
	/* Relaxed: a job that fails prints why anyway. */
	if (pe->node->check && !atomic_load_explicit(&pe->node->exit_code, memory_order_relaxed))
		stores_check_end(pe);
	rma_stop(pe);
	far_stop(pe);
	sets_stop(pe);
	stores_stop(pe);
	heap_stop(pe);
}

static void global_describe(struct pe *pe, struct csd_told *to)
{
	sets_describe(pe, to);
	stores_describe(pe, to);
}

static void global_refuse(struct pe *pe, struct csd_told *to)
{
	heap_refuse(pe, to);
	stores_refuse(pe, to);
}

static void global_read_all(struct pe *pe)
{
	if (pe->id == 0)
		spreads_meet(pe);
}

static const struct ck_handler handlers[] = {
	[H_ASK] = { "ck.global.ask", far_ask_arrived,
		    .shape = { .least = sizeof(struct cmi_msg), .misfit = far_ask_misfit } },
	[H_TELL] = { "ck.global.tell", far_tell_arrived,
		     .shape = { .least = sizeof(struct cmi_msg), .misfit = far_tell_misfit } },
	[H_FLUSH] = { "ck.global.flush", far_flush_arrived },
	[H_SPREAD] = { "ck.global.spread", spread_arrived,
		       .shape = { .least = sizeof(struct cmi_msg) + 8, .misfit = spread_misfit } },
	[H_PHASE] = { "ck.global.phase", phase_arrived,
		      .shape = { .least = sizeof(struct cmi_msg) + 16, .misfit = phase_misfit } },
	[H_KEY] = { "ck.global.key", key_arrived,
		    .shape = { .least = sizeof(struct cmi_msg) + 8, .misfit = key_misfit } },
	[H_DONE] = { "ck.global.done", done_arrived },
	[H_LOOK] = { "ck.global.look", look_arrived },
};

const struct ck_part global_part = {
	.name = "global",
	.number = PART_GLOBAL,
	.node_bytes = sizeof(struct global_node),
	.pe_bytes = sizeof(struct global_pe),
	.handlers = CK_LIST(handlers),
	.watch = { .destroyed = sets_destroyed },
	.node_start = global_node_start,
	.pe_stop = global_pe_stop,
	.pe_free = spreads_stop,
	.describe = global_describe,
	.save = { .refuse = global_refuse, .write = spreads_write, .kinds = UINT32_C(1) << IMAGE_SPREAD,
		  .mine = spread_is_mine, .read = spread_read, .read_all = global_read_all },
};
