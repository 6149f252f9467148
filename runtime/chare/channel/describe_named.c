/* SPDX-License-Identifier: Apache-2.0 */
/* describe_named.c: describes the waits of a PE's named channels, for the watchdog. */
#include "named_int.h"

/* NULL: it waits only for puts and readies, which the channel layer describes. */
static const char *waits_for(struct pe *pe, const CkChannel *c)
{
	if (!c->sends)
		return c->serial ? NULL : "its sending end has not been made";
	return layer_ends(pe)->holds(pe, c->end) ? "a put waits until the receiving end is joined" : NULL;
}

static void describe_missing(struct pe *pe, const CkChannel *c, struct csd_told *to)
{
	struct csd_wait w = { .how = CSD_WAITS };

	if (!named_set_misses(c))
		return;
	end_describe(pe, c, w.who.name, sizeof w.who.name);
	csd_tell(to, &w, ", receiving end: others of its set have arrived");
}

static void describe_short(const CkChannel *c, struct csd_told *to)
{
	const struct ck_obj *obj = c->of->obj;
	struct csd_wait w = { .how = CSD_WAITS };
	struct named_short s;
	char entry[128];

	if (!named_set_is_short(c, &s))
		return;
	obj_describe(obj, w.who.name, sizeof w.who.name);
	describe_entry(obj->coll->type, c->name.entry, entry, sizeof entry);
	csd_tell(to, &w, "has %s of %s, which all have had their put; its count is %d",
		 csd_plural((uint64_t)s.n_ends, "receiving end", "receiving ends").text, entry, s.count);
}

static void describe_ends(struct pe *pe, const struct ends *o, struct csd_told *to)
{
	for (const CkChannel *c = o->first; c; c = c->next) {
		const char *why = c->live ? waits_for(pe, c) : NULL;
		struct csd_wait w = { .how = CSD_WAITS };

		end_describe(pe, c, w.who.name, sizeof w.who.name);
		if (why)
			csd_tell(to, &w, ", %s end: %s", c->sends ? "sending" : "receiving", why);
		describe_missing(pe, c, to);
		describe_short(c, to);
	}
}

void named_describe(struct pe *pe, struct csd_told *to)
{
	const struct named_pe *n = ck_state(pe, PART_NAMED);
	const struct idmap_slot *s;

	for (size_t i = 0; (s = idmap_each(&n->ends, &i)); i++)
		describe_ends(pe, (const struct ends *)s->value, to);
}
