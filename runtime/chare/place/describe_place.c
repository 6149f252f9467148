/* SPDX-License-Identifier: Apache-2.0 */
/* describe_place.c: for the watchdog: calls of elements and collections that do not exist. */
#include <stdio.h>

#include "place_int.h"

static void describe_missing(struct pe *pe, const struct collection *c, const struct away *a, csd_line_fn line,
			     void *arg)
{
	const char *why = closing_is_open(c) ?
		"inserting is not over: X_doneInserting was not called as often as inserting was begun" :
		"the phase of inserting is over";
	char who[128], what[128];

	describe_waiting(pe, c, a->waiting.head, what, sizeof what);
	say_line(line, arg, "%zu calls wait for %s, which was not inserted (%s); the first is %s from PE %d",
	    msg_fifo_count(&a->waiting), element_describe(c->type, a->index, who, sizeof who), why, what,
	    a->waiting.head->src_pe);
}

/* At home: "PE 3 holds 4 calls for element Block(2), which moves from PE 1 to PE 2" */
static void describe_away(struct pe *pe, const struct collection *c, const struct away *a, csd_line_fn line,
			  void *arg)
{
	char who[128], to[32];

	if (a->pe < 0) {
		if (a->waiting.head)
			describe_missing(pe, c, a, line, arg);
		return;
	}
	if (!a->moving && !a->waiting.head)
		return;
	element_describe(c->type, a->index, who, sizeof who);
	snprintf(to, sizeof to, "to PE %d", a->to);
	say_line(line, arg, "PE %d holds %zu calls for %s, which %s PE %d %s", pe->id, msg_fifo_count(&a->waiting), who,
		 a->moving ? "moves from" : "lives on", a->pe, !a->moving ? "" : a->to == NOWHERE ? "to nowhere" : to);
}

/* At its place. */
static void describe_stay(struct pe *pe, const struct collection *c, const struct stay *s, csd_line_fn line, void *arg)
{
	char who[128], what[128];

	element_describe(c->type, s->index, who, sizeof who);
	if (s->to == NOWHERE)
		snprintf(what, sizeof what, "is destroyed");
	else
		snprintf(what, sizeof what, "moves to PE %d", s->to);
	if (s->pending)
		say_line(line, arg, "%s %s when its threads, and its calls that wait for buffers, have ended", who, what);
	else if (s->leaving || s->asked)
		say_line(line, arg, "%s, on PE %d, %s: %zu calls wait; it waits for%s%s", who, pe->id, what,
			 msg_fifo_count(&s->late), s->go ? "" : " its home",
			 s->n_flushes ? " PEs that have sent it calls" : s->go ? " its turn" : "");
}

static void describe_dynamic(struct pe *pe, const struct collection *c, csd_line_fn line, void *arg)
{
	const struct dynamic *dyn = place_of(c)->dyn;
	const struct idmap_slot *s;

	for (size_t i = 0; dyn && (s = idmap_each(&dyn->away, &i)); i++)
		describe_away(pe, c, (const struct away *)s->value, line, arg);
	for (size_t i = 0; dyn && (s = idmap_each(&dyn->stays, &i)); i++)
		describe_stay(pe, c, (const struct stay *)s->value, line, arg);
	routes_describe(pe, c, line, arg);
}

/* Messages that came before the creation. */
static void describe_early(const struct collection *c, csd_line_fn line, void *arg)
{
	char what[160];

	if (c->waiting.head)
		say_line(line, arg, "%zu messages wait for %s, %s; the first is from PE %d", msg_fifo_count(&c->waiting),
		    coll_describe(c, what, sizeof what), c->type ? "whose elements are not constructed here" :
		    "of which no creation has come", c->waiting.head->src_pe);
}

void place_describe(struct pe *pe, csd_line_fn line, void *arg)
{
	const struct idmap_slot *s;

	for (size_t i = 0; (s = idmap_each(&ck_of(pe)->colls, &i)); i++) {
		const struct collection *c = (const struct collection *)s->value;

		describe_early(c, line, arg);
		if (c->type) {
			bulk_describe(c, line, arg);
			call_describe_held(c, line, arg);
			newborns_describe(c, line, arg);
			describe_dynamic(pe, c, line, arg);
		}
	}
}
