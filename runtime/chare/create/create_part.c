/* SPDX-License-Identifier: Apache-2.0 */
/* create_part.c: the table of the part; for the watchdog: messages that wait for creations. */
#include "create_int.h"
#include "../../image/image.h"
#include "../core/shape.h"

/* Messages that came before the creation. */
static void describe_early(const struct collection *c, struct csd_told *to)
{
	if (c->waiting.head)
		csd_tell(to, NULL, "%s for %s, %s; the first is from PE %d",
			 csd_plural(msg_fifo_count(&c->waiting), "message waits", "messages wait").text,
			 coll_thing(c).name,
			 c->type ? "whose elements are not constructed here" :
				   "whose creation has not come", c->waiting.head->src_pe);
}

static void create_describe(struct pe *pe, struct csd_told *to)
{
	const struct idmap_slot *s;

	for (size_t i = 0; (s = idmap_each(&ck_of(pe)->colls, &i)); i++) {
		const struct collection *c = (const struct collection *)s->value;

		describe_early(c, to);
		if (c->type)
			call_describe_held(c, to);
	}
}

#define ANNOUNCE_SHAPE                                                                             \
	CK_SHAPE_STRUCT(struct announce_msg), CK_SHAPE_ID(struct announce_msg, id),                \
		CK_SHAPE_MAKER(struct announce_msg, id)

static const struct ck_handler handlers[] = {
	[H_CREATE] = { "ck.create", create_arrived, true,
		       .shape = { CK_SHAPE_COLL_CALL, CK_SHAPE_MAKER(struct ck_env, coll),
				  .ways = { CSD_DOWN }, .misfit = create_misfit } },
	[H_READY] = { "ck.ready", ready_arrived,
		      .shape = { CK_SHAPE_STRUCT(struct ready_msg), CK_SHAPE_ID(struct ready_msg, coll),
				 CK_SHAPE_MAKER(struct ready_msg, coll), .ways = { CSD_UP } } },
	[H_ANNOUNCE] = { "ck.announce", announce_arrived, .apart = true, .early = true,
			 .shape = { CK_SHAPE_COLL_CALL, .always = CMI_F_EXPEDITED,
				    CK_SHAPE_MAKER(struct ck_env, coll), .ways = { CSD_DOWN },
				    .misfit = announce_misfit } },
	[H_KNOWN] = { "ck.known", known_arrived, .apart = true, .early = true,
		      .shape = { ANNOUNCE_SHAPE, .always = CMI_F_EXPEDITED, .ways = { CSD_UP } } },
	[H_BORN] = { "ck.born", born_arrived, .apart = true,
		     .shape = { ANNOUNCE_SHAPE, .ways = { CSD_DOWN } } },
};
static const struct ck_kind kinds[] = {
	{ .kind = CKGEN_ARRAY, .local = array_local },
	{
		.kind = CKGEN_GROUP,
		.announced = group_announced,
		.born = group_born,
		.local = group_local,
		.saving = &group_saving,
	},
	{ .kind = CKGEN_MAINCHARE, .local = array_local, .saving = &main_saving },
};

const struct ck_part create_part = {
	.name = "create",
	.number = PART_CREATE,
	.node_bytes = sizeof(struct create_node),
	.pe_bytes = sizeof(struct idmap),         /* announce.c's */
	.coll_bytes = sizeof(struct create_coll),
	.handlers = CK_LIST(handlers),
	.kinds = CK_LIST(kinds),
	.watch.fini = ready_fini,
	.describe = create_describe,
	.pe_free = announce_pe_free,
	.save = { .refuse = colls_refuse, .write = colls_write, .kinds = UINT32_C(1) << IMAGE_COLLECTION,
		  .mine = coll_is_mine, .read = coll_read },
};
