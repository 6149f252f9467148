/* SPDX-License-Identifier: Apache-2.0 */
/*
 * still.c: a quiescent collection: it is closed, so that nothing of it is sent, and each PE reports
 * what can move.
 */
#include "bulk.h"

void place_close(struct pe *pe, struct collection *c)
{
	if (call_is_closed(c))
		return;
	aggregate_flush(pe);
	call_close(c);
}

bool place_is_closed(const struct collection *c) { return call_is_closed(c); }

struct place_still place_still_of(struct pe *pe, struct collection *c)
{
	struct place_still r = { .fixed = call_coll_of(c)->walks, .dynamic = c->dynamic,
						      .away = seats_away(c) };

	for (uint64_t i = 0; i < c->n_slots; i++) {
		const uint32_t n = c->elems[i] ? c->elems[i]->n_contributed : 0;

		if (!c->elems[i])
			continue;
		r.lo = r.any && r.lo < n ? r.lo : n;
		r.hi = r.any && r.hi > n ? r.hi : n;
		r.any = true;
	}
	ask_still(pe, c, &r);
	return r;
}

void place_still_join(struct place_still *all, const struct place_still *one)
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
	return c->sparse == !plan->cuts && !plan->still.fixed && plan->still.lo == plan->still.hi;
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
