/* SPDX-License-Identifier: Apache-2.0 */
/* save.c: the part. */
#include "save_int.h"
#include "../core/shape.h"
#include "../settle/settle.h"

static int save_node_start(struct node *node)
{
	when_read(node);
	figures_name(node);
	settle_set_waits(node, when_waits);
	return store_node_start(node);
}

static void save_node_stop(struct node *node)
{
	source_close(node);
	when_free(node);
	store_node_stop(node);
}

static void save_pe_stop(struct pe *pe)
{
	signal_pe_stop(pe);
	disk_stop(pe);
	save_wishes_free(pe);
}

static void save_pe_start(struct pe *pe)
{
	signal_pe_start(pe);
	figures_pe_start(pe);
}

static const struct ck_handler handlers[] = {
	[H_SAVE] = { "ck.save", freeze_arrived,
		     .shape = { .least = sizeof(struct save_msg),
				.always = CMI_F_EXPEDITED, .may = CMI_F_SYSTEM,
				.kind_at = offsetof(struct save_msg, kind),
				.astray = "its sender cannot say this about a checkpoint",
				.misfit = freeze_misfit,
				.ways = { [SAVE_ASK] = CSD_TO_ROOT, [SAVE_SIGNAL] = CSD_TO_ROOT,
					  [SAVE_REFUSED] = CSD_TO_ROOT,
					  [SAVE_FREEZE] = CSD_DOWN, [SAVE_WRITE] = CSD_DOWN,
					  [SAVE_THAW] = CSD_DOWN, [SAVE_FROZEN] = CSD_UP,
					  [SAVE_WRITTEN] = CSD_UP } } },
	[H_STORE] = { "ck.save.store", disk_arrived,
		      .shape = { .least = sizeof(struct store_msg),
				 .always = CMI_F_SYSTEM | CMI_F_EXPEDITED, .misfit = disk_misfit } },
};

static const struct ck_callback_kind callbacks[] = {
	{ .kind = CB_AT_SAVE, .names = CK_NAMES_UNSENT, .send = save_at_rest,
	  .describe = save_describe_rest },
};

const struct ck_part save_part = {
	.name = "save",
	.number = PART_SAVE,
	.node_bytes = sizeof(struct save_node),
	.pe_bytes = sizeof(struct save_pe),
	.handlers = CK_LIST(handlers),
	.callbacks = CK_LIST(callbacks),
	.node_start = save_node_start,
	.node_stop = save_node_stop,
	.pe_start = save_pe_start,
	.pe_stop = save_pe_stop,
	.describe = save_describe,
	.obey = save_obey,
	.let_go = save_let_go,
	.save = { .write = asked_write, .kinds = UINT32_C(1) << IMAGE_ASKED, .mine = asked_is_mine,
		  .read = asked_read, .read_all = asked_read_all },
};
