/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest.c: a quiescent collection: it is closed, so that nothing of it is sent, and each PE reports
 * what can move.
 */
#include "bulk.h"
#include "../../core/shape.h"

void place_close(struct pe *pe, struct collection *c)
{
	if (call_is_closed(c))
		return;
	aggregate_flush(pe);
	call_close(c);
}

bool place_is_closed(const struct collection *c) { return call_is_closed(c); }

struct place_rest place_rest_of(struct pe *pe, struct collection *c)
{
	struct place_rest r = { .fixed = call_coll_of(c)->walks, .dynamic = c->dynamic,
						      .away = seats_away(c) };

	for (uint64_t i = 0; i < c->n_slots; i++) {
		const uint32_t n = c->elems[i] ? c->elems[i]->n_contributed : 0;

		if (!c->elems[i])
			continue;
		r.lo = r.any && r.lo < n ? r.lo : n;
		r.hi = r.any && r.hi > n ? r.hi : n;
		r.any = true;
	}
	ask_rest(pe, c, &r);
	return r;
}

void place_rest_join(struct place_rest *all, const struct place_rest *one)
{
	const bool fixed = all->fixed || one->fixed || (all->any && one->any && all->scans != one->scans);
	const bool dynamic = all->dynamic || one->dynamic, away = all->away || one->away;

	if (!all->any) {
		*all = *one;
	} else if (one->any) {
		all->lo = all->lo < one->lo ? all->lo : one->lo;
		all->hi = all->hi > one->hi ? all->hi : one->hi;
	}
	all->fixed = fixed;
	all->dynamic = dynamic;
	all->away = away;
}

bool place_plan_moves_seats(const struct collection *c, const struct place_plan *plan)
{
	return c->sparse == !plan->cuts && !plan->rest.fixed && plan->rest.lo == plan->rest.hi;
}

const char *place_pinned(struct pe *pe, struct ck_obj *obj)
{
	const struct stay *s = stay_find(obj->coll, obj->index);

	if (call_coll_of(obj->coll)->walks || obj_stays(pe, obj) || (s && s->pending))
		return "a handler is not over";
	if (holds_ends(pe, obj))
		return "it holds ends of channels";
	return NULL;
}

/* ---- the part -------------------------------------------------------------------------------- */

static void rest_describe(struct pe *pe, struct csd_told *to)
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
const struct ck_part rest_part = {
	.name = "rest",
	.number = PART_REST,
	.handlers = CK_LIST(handlers),
	.watch.fini = bulk_fini,
	.describe = rest_describe,
};
