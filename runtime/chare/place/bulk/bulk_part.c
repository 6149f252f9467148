/* SPDX-License-Identifier: Apache-2.0 */
/* bulk_part.c: the table of the part. */
#include "bulk.h"
#include "../../core/shape.h"

static void describe_bulks(struct pe *pe, struct csd_told *to)
{
	const struct idmap_slot *s;

	for (size_t i = 0; (s = idmap_each(&ck_of(pe)->colls, &i)); i++)
		if (((const struct collection *)s->value)->type)
			bulk_describe((const struct collection *)s->value, to);
}

static const struct ck_handler handlers[] = {
	[H_BATCH] = { "ck.moves", batch_arrived, .apart = false },
	[H_BATCH_PACKED] = { "ck.moves.packed", batch_packed_arrived,
			     .shape = { .least = sizeof(struct batch_msg), CK_SHAPE_ID(struct batch_msg, coll),
					.misfit = batch_misfit } },
};

/* What it keeps of a collection stands in struct place_coll. */
const struct ck_part bulk_part = {
	.name = "bulk",
	.number = PART_BULK,
	.handlers = CK_LIST(handlers),
	.watch.fini = bulk_fini,
	.describe = describe_bulks,
};
