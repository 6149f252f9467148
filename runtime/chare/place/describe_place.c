/* SPDX-License-Identifier: Apache-2.0 */
/* describe_place.c: for the watchdog: calls of elements that do not exist, or move. */
#include <stdio.h>

#include "place_int.h"

static void describe_missing(struct pe *pe, const struct collection *c, const struct away *a,
			     struct csd_told *to)
{
	const char *why = closing_is_open(c) ?
		"inserting is not over: X_doneInserting was not called as often as inserting was begun" :
		"the phase of inserting is over";
	char what[128];

	describe_waiting(pe, c, a->waiting.head, what, sizeof what);
	csd_tell(to, NULL, "%s for %s, which was not inserted (%s); the first is %s from PE %d",
		 csd_plural(msg_fifo_count(&a->waiting), "call waits", "calls wait").text,
		 element_thing(c->type, c->id, a->index).name, why, what, a->waiting.head->src_pe);
}

/* At home: "PE 3 holds 4 calls for Block(2), which moves from PE 1 to PE 2" */
static void describe_away(struct pe *pe, const struct collection *c, const struct away *a,
			  struct csd_told *to)
{
	char dest[32];

	if (a->pe < 0) {
		if (a->waiting.head)
			describe_missing(pe, c, a, to);
		return;
	}
	if (!a->moving && !a->waiting.head)
		return;
	snprintf(dest, sizeof dest, "to PE %d", a->to);
	csd_tell(to, NULL, "PE %d holds %s for %s, which %s PE %d %s", pe->id,
		 csd_plural(msg_fifo_count(&a->waiting), "call", "calls").text,
		 element_thing(c->type, c->id, a->index).name,
		 a->moving ? "moves from" : "lives on", a->pe,
		 !a->moving ? "" : a->to == NOWHERE ? "to nowhere" : dest);
}

/* On the element's PE. */
static void describe_stay(struct pe *pe, const struct collection *c, const struct stay *s,
			  struct csd_told *to)
{
	const struct csd_wait w = { .who = element_thing(c->type, c->id, s->index) };
	char what[64] = "is destroyed";

	if (s->to != NOWHERE)
		snprintf(what, sizeof what, "moves to PE %d", s->to);
	if (s->pending)
		csd_tell(to, &w, "%s when its threads, and its calls that wait for buffers, have ended", what);
	else if (s->leaving || s->asked)
		csd_tell(to, &w, ", on PE %d, %s: %s; it waits for%s%s", pe->id, what,
			 csd_plural(msg_fifo_count(&s->late), "call waits", "calls wait").text, s->go ? "" : " its home",
			 s->n_flushes ? " PEs that have sent it calls" : s->go ? " its turn" : "");
}

static void describe_dynamic(struct pe *pe, const struct collection *c, struct csd_told *to)
{
	const struct dynamic *dyn = place_of(c)->dyn;
	const struct idmap_slot *s;

	for (size_t i = 0; dyn && (s = idmap_each(&dyn->away, &i)); i++)
		describe_away(pe, c, (const struct away *)s->value, to);
	for (size_t i = 0; dyn && (s = idmap_each(&dyn->stays, &i)); i++)
		describe_stay(pe, c, (const struct stay *)s->value, to);
	routes_describe(pe, c, to);
}

void place_describe(struct pe *pe, struct csd_told *to)
{
	const struct idmap_slot *s;

	for (size_t i = 0; (s = idmap_each(&ck_of(pe)->colls, &i)); i++) {
		const struct collection *c = (const struct collection *)s->value;

		if (c->type) {
			newborns_describe(c, to);
			describe_dynamic(pe, c, to);
		}
	}
}
