/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe_reduce.c: for the watchdog: open reductions, and the elements that have not contributed.
 * A PE whose elements have not contributed has no record of the reduction. Its lines are printed
 * only if another PE has one. A checkpoint is refused while there are open ones.
 */
#include "reduce_int.h"

#include <stdio.h>

void reduction_tell(struct pe *pe, struct csd_told *to, struct csd_thing what,
		    const struct reduction *r, const struct missing *m)
{
	struct for_all w = { .what = what, .act = "", .done = "contributed", .others = "other PEs" };
	struct csd_wait result = { .on = what, .how = CSD_IF_ASKED };
	char more[CSD_THING_NAME + 64];

	if (r) {
		result.who = callback_thing(pe, &r->cb);
		snprintf(more, sizeof more, "%s, to %s", r->how->name, result.who.name);
		w.is_open = true;
		w.more = more;
		csd_tell(to, &result, "%s", "");
	}
	tell_for_all(to, &w, m);
}

/* r NULL: no element here has contributed to reduction `no`. */
static void describe_reduction(struct pe *pe, const struct collection *c, uint32_t no,
			       const struct reduction *r, struct csd_told *to)
{
	const struct csd_key key = { THING_REDUCTION, { (int32_t)no }, c->id };
	struct missing m = { 0 };

	for (uint64_t i = 0; c->elems && i < c->n_slots; i++) {
		const struct ck_obj *obj = c->elems[i];

		if (obj && (int32_t)(obj->n_contributed - no) <= 0)
			missing_add(&m, obj_thing(obj), obj_is_stub(obj));
	}
	reduction_tell(pe, to, csd_named(&key, "reduction %u of %s", no, coll_thing(c).name), r, &m);
}

/* The next reduction of the slowest element of this PE. */
static bool next_no(const struct collection *c, uint32_t *no)
{
	bool any = false;

	for (uint64_t i = 0; i < c->n_slots; i++) {
		const struct ck_obj *obj = c->elems[i];

		if (!obj)
			continue;
		*no = any && (int32_t)(*no - obj->n_contributed) <= 0 ? *no : obj->n_contributed;
		any = true;
	}
	return any;
}

void reductions_describe(struct pe *pe, struct csd_told *to)
{
	const struct idmap_slot *s;
	uint32_t no = 0;

	for (size_t i = 0; (s = idmap_each(&ck_of(pe)->colls, &i)); i++) {
		struct collection *c = (struct collection *)s->value;

		if (!c->type || !c->constructed)
			continue;
		for (const struct reduction *r = reductions_of(c)->open; r; r = r->next)
			if (!r->done)
				describe_reduction(pe, c, r->no, r, to);
		if (c->elems && next_no(c, &no) && !reduction_find(c, no))
			describe_reduction(pe, c, no, NULL, to);
	}
}

/* Values that are combined already cannot be divided among other PEs. */
void reductions_refuse(struct pe *pe, struct csd_told *to)
{
	const struct idmap_slot *s;

	for (size_t i = 0; (s = idmap_each(&ck_of(pe)->colls, &i)); i++) {
		struct collection *c = (struct collection *)s->value;

		for (const struct reduction *r = c->type ? reductions_of(c)->open : NULL; r; r = r->next)
			describe_reduction(pe, c, r->no, r, to);
	}
}
