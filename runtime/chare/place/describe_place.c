/* SPDX-License-Identifier: Apache-2.0 */
/* describe_place.c: for the watchdog: calls of elements and collections that do not exist. */
#include "place_int.h"

static size_t fifo_count(const struct msg_fifo *f)
{
	size_t n = 0;

	for (const struct cmi_msg *m = f->head; m; m = m->next)
		n++;
	return n;
}

static void describe_away(struct pe *pe, const struct collection *c, const struct away *a, csd_line_fn line,
			    void *arg)
{
	const char *why = closing_is_open(c) ?
		"inserting is not over: X_doneInserting was not called as often as inserting was begun" :
		"the phase of inserting is over";
	char who[128], what[128];

	if (a->pe >= 0 || !a->waiting.head)
		return;
	describe_waiting(pe, c, a->waiting.head, what, sizeof what);
	say_line(line, arg, "%zu calls wait for %s, which was not inserted (%s); the first is %s from PE %d",
	    fifo_count(&a->waiting), element_describe(c->type, a->index, who, sizeof who), why, what,
	    a->waiting.head->src_pe);
}

static void describe_dynamic(struct pe *pe, const struct collection *c, csd_line_fn line, void *arg)
{
	const struct dynamic *dyn = place_of(c)->dyn;
	const struct idmap_slot *s;

	for (size_t i = 0; dyn && (s = idmap_each(&dyn->away, &i)); i++)
		describe_away(pe, c, (const struct away *)s->value, line, arg);
}

/* Messages that came before the creation. */
static void describe_early(const struct collection *c, csd_line_fn line, void *arg)
{
	char what[160];

	if (c->waiting.head)
		say_line(line, arg, "%zu messages wait for %s, %s; the first is from PE %d", fifo_count(&c->waiting),
		    coll_describe(c, what, sizeof what), c->type ? "whose elements are not constructed here" :
		    "of which no creation has come", c->waiting.head->src_pe);
}

void place_describe(struct pe *pe, csd_line_fn line, void *arg)
{
	const struct idmap_slot *s;

	for (size_t i = 0; (s = idmap_each(&ck_of(pe)->colls, &i)); i++) {
		const struct collection *c = (const struct collection *)s->value;

		describe_early(c, line, arg);
		if (c->type)
			describe_dynamic(pe, c, line, arg);
	}
}
