/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe_sync.c: for the watchdog: arrays whose sync is not over, and the elements that have not
 * called CkAtSync. The lines of a PE without any such call are printed only if another PE has one.
 */
#include "balance_int.h"

static void describe_sync(struct collection *c, struct csd_told *to)
{
	const struct sync_coll *s = sync_of(c);
	const struct csd_key key = { .kind = THING_SYNC, .id = c->id };
	struct for_all w = { .act = " to call CkAtSync", .done = "called CkAtSync",
			     .others = "other PEs" };
	struct missing m = { 0 };
	struct ck_obj *obj;

	w.what = csd_named(&key, "sync %u of %s", s->round, coll_thing(c).name);
	for (uint64_t at = 0; (obj = coll_each(c, &at));)
		if (!elem_of(obj)->waits)
			missing_add(&m, obj_thing(obj), false);
	w.is_open = s->n_waiting;
	if (s->step && s->n_waiting)
		step_describe(c, w.what, to);
	else
		tell_for_all(to, &w, &m);
}

/* At rest none goes on: elements that wait in CkAtSync are saved so. */
void syncs_refuse(struct pe *pe, struct csd_told *to)
{
	const struct idmap_slot *at;

	for (size_t i = 0; (at = idmap_each(&ck_of(pe)->colls, &i)); i++) {
		const struct collection *c = (const struct collection *)at->value;

		if (c->type && sync_of(c)->step)
			csd_tell(to, NULL, "a balancing step of %s is under way", coll_thing(c).name);
	}
}

void syncs_describe(struct pe *pe, struct csd_told *to)
{
	const struct idmap_slot *at;

	for (size_t i = 0; (at = idmap_each(&ck_of(pe)->colls, &i)); i++) {
		struct collection *c = (struct collection *)at->value;

		if (coll_syncs(c) && c->constructed && (sync_of(c)->n_waiting || sync_of(c)->n_live))
			describe_sync(c, to);
	}
}
