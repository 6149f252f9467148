/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe_reduce.c: for the watchdog: reductions that are not over, and who has not contributed. A PE of which no
 * element has contributed has no record of the reduction. What it knows is printed only if another PE has one.
 */
#include "reduce_int.h"

#include <stdio.h>
#include <string.h>

enum { OFFERS_MOST = 64 };

/* "Main::sum", "future 3 of PE 0" */
static const char *describe_target(struct pe *pe, const struct reduction *r, char *buf, size_t len)
{
	CkFuture f;

	if (!future_of_callback(&r->cb, &f)) {
		callback_describe(pe, &r->cb, buf, len);
		return buf;
	}
	future_name(f, buf, len);
	buf[strcspn(buf, "\4")] = 0;
	return buf;
}

/* A thread that waits for the result waits for the first element that is missing. */
static void say_cycle(const struct collection *c, const struct reduction *r, csd_line_fn line, void *arg)
{
	char name[64], who[128];
	CkFuture f;

	if (!future_of_callback(&r->cb, &f))
		return;
	future_name(f, name, sizeof name);
	for (uint64_t i = 0; i < c->n_slots; i++)
		if (c->elems[i] && (int32_t)(c->elems[i]->n_contributed - r->no) <= 0) {
			say_line(line, arg, "\1%s\t%s\4%llx", name, obj_describe(c->elems[i], who, sizeof who),
				 (unsigned long long)c->id);
			return;
		}
}

/* The elements that have not contributed to reduction `no`: "Cell(3), Cell(4) and 93 more". Returns how many. */
static uint64_t list_missing(const struct collection *c, uint32_t no, char *buf, size_t len)
{
	struct name_list names = { .buf = buf, .len = len };
	char name[128];

	for (uint64_t i = 0; i < c->n_slots; i++) {
		const struct ck_obj *obj = c->elems[i];

		if (!obj || (int32_t)(obj->n_contributed - no) > 0)
			continue;
		if (!names_next(&names))
			continue;
		obj_describe(obj, name, sizeof name - sizeof " (away)");
		names_add(&names, obj_is_stub(obj) ? strcat(name, " (away)") : name);
	}
	return names_end(&names);
}

static void describe_reduction(struct pe *pe, const struct collection *c, const struct reduction *r,
			       csd_line_fn line, void *arg)
{
	char what[160], to[128], missing[5 * 130];
	uint64_t n = c->elems ? list_missing(c, r->no, missing, sizeof missing) : 0;

	coll_describe(c, what, sizeof what);
	describe_target(pe, r, to, sizeof to);
	say_line(line, arg, "\3R%llx:%u", (unsigned long long)c->id, r->no);
	if (n)
		say_cycle(c, r, line, arg);
	if (n)
		say_line(line, arg, "reduction %u of %s (%s, to %s) waits for %llu elements here: %s", r->no, what,
			 r->how->name, to, (unsigned long long)n, missing);
	else
		say_line(line, arg, "reduction %u of %s (%s, to %s): all elements here have contributed; it waits for "
		    "other PEs", r->no, what, r->how->name, to);
}

/* The reduction that the slowest element of this PE comes to next. */
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

static void offer(struct collection *c, csd_line_fn line, void *arg)
{
	char what[160], missing[5 * 130];
	uint32_t no = 0;

	if (!c->elems || !next_no(c, &no) || reduction_find(c, no))
		return;
	uint64_t n = list_missing(c, no, missing, sizeof missing);

	say_line(line, arg, "\2R%llx:%u\treduction %u of %s waits for %llu elements here: %s",
	    (unsigned long long)c->id, no, no, coll_describe(c, what, sizeof what), (unsigned long long)n, missing);
}

void reductions_describe(struct pe *pe, csd_line_fn line, void *arg)
{
	const struct idmap_slot *s;
	int n_offers = 0;

	for (size_t i = 0; (s = idmap_each(&ck_of(pe)->colls, &i)); i++) {
		struct collection *c = (struct collection *)s->value;

		if (!c->type || !c->constructed)
			continue;
		for (const struct reduction *r = reductions_of(c)->open; r; r = r->next)
			if (!r->done)
				describe_reduction(pe, c, r, line, arg);
		if (n_offers++ < OFFERS_MOST)
			offer(c, line, arg);
	}
}
