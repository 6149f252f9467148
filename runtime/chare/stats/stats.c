/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.c: counts entry methods by calling them through a second table of each type's entries. It
 * is the type's own table, but with functions that count and then call what the type's own table
 * has. A collection gets it before its elements are constructed or come (the watches `constructed`
 * and `created`), so whoever calls an entry, from wherever, finds it.
 */
#include "stats.h"
#include "../place/record/place_watch.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** The table of a type. */
struct counted_type {
	const CkGenChare *type;
	const CkGenEntry *under;  /* what is called: the type's own, or those of a room below */
	int row;                  /* of its first entry */
	int created;              /* the number; then `destroyed`, and of an array `left` and `arrived` */
	CkGenEntry entries[];
};

struct stats_node {
	struct counted_type **types; /* [n_types], as ck_node.chares */
	char **names;             /* [n_names], of rows and numbers */
	int n_types;
	int n_names;
};

/** Of a collection on a PE. */
struct stats_coll {
	const struct counted_type *type; /* from its first element on */
};

/* ---- entry methods --------------------------------------------------------------------------- */

/* The stack may be a thread's, and `now` another handler's when the entry has ended. */
static const struct counted_type *type_of_call(const struct ck_running *now)
{
	return ((const struct stats_coll *)coll_state(now->obj->coll, PART_STATS))->type;
}

static void call_counted(void *self, void *payload)
{
	struct pe *pe = ck_self();
	const uint32_t entry = ck_of(pe)->now.entry;
	const struct counted_type *t = type_of_call(&ck_of(pe)->now);
	struct count_run run;

	csd_count_begin(pe, &run, t->row + (int)entry);
	t->under[entry].call(self, payload);
	csd_count_end(pe, &run);
}

static void call_reduced_counted(void *self, void *payload)
{
	struct pe *pe = ck_self();
	const uint32_t entry = ck_of(pe)->now.entry;
	const struct counted_type *t = type_of_call(&ck_of(pe)->now);
	struct count_run run;

	csd_count_begin(pe, &run, t->row + (int)entry);
	t->under[entry].reduced(self, payload);
	csd_count_end(pe, &run);
}

static void call_answer_counted(void *self, void *payload, void *reply)
{
	struct pe *pe = ck_self();
	const uint32_t entry = ck_of(pe)->now.entry;
	const struct counted_type *t = type_of_call(&ck_of(pe)->now);
	struct count_run run;

	csd_count_begin(pe, &run, t->row + (int)entry);
	t->under[entry].answer(self, payload, reply);
	csd_count_end(pe, &run);
}

static const struct entry_calls counted_calls = { call_counted, call_reduced_counted,
						  call_answer_counted };

/* A body goes on and waits as a thread does, so the scheduler gives it its time (counted.c). */
static void body_counted(struct pe *pe, struct ck_obj *obj, uint32_t entry,
			 enum ck_body_event event, void **own)
{
	const struct stats_coll *s = coll_state(obj->coll, PART_STATS);

	if (event == CK_BODY_BEGINS) {
		*own = cmi_alloc(sizeof(struct count_run), "statistics");
		csd_count_begin(pe, *own, s->type->row + (int)entry);
		return;
	}
	if (event == CK_BODY_ENDS)
		csd_count_end(pe, *own);
	free(*own);
}

/* ---- the tables ------------------------------------------------------------------------------ */

static const char *keep_name(struct stats_node *all, const char *a, const char *between,
			     const char *b)
{
	char *name;

	if (asprintf(&name, "%s%s%s", a, between, b) < 0)
		cmi_no_memory(strlen(a) + strlen(b), "statistics");
	all->names = cmi_realloc(all->names, (size_t)all->n_names + 1, sizeof *all->names, "statistics");
	return all->names[all->n_names++] = name;
}

static struct counted_type *count_type(struct node *node, struct stats_node *all,
				       const CkGenChare *type)
{
	size_t bytes = (size_t)type->n_entries * sizeof(CkGenEntry);
	struct counted_type *t = cmi_alloc_zero(1, sizeof *t + bytes, "statistics");

	t->type = type;
	t->under = entries_now(node, type);
	entries_called_by(type, t->under, 0, &counted_calls, t->entries);
	for (int i = 0; i < type->n_entries; i++) {
		int row = csd_count_row(node, "entry", keep_name(all, type->name, "::", type->entries[i].name));

		t->row = i ? t->row : row;
	}
	return t;
}

int stats_program(struct node *node)
{
	const struct ck_node *ck = ck_node_of(node);
	struct stats_node *all = ck_node_state(node, PART_STATS);

	if (!ck->parts[PART_STATS])
		return 0;
	all->types = cmi_alloc_zero((size_t)ck->n_chares, sizeof *all->types, "statistics");
	for (; all->n_types < ck->n_chares; all->n_types++) {
		const CkGenChare *type = ck->chares[all->n_types];
		struct counted_type *t = count_type(node, all, type);
		const char *group = keep_name(all, "elements of ", "", type->name);

		t->created = csd_count_number(node, group, "created", COUNT_TIMES);
		csd_count_number(node, group, "destroyed", COUNT_TIMES);
		if (type->kind == CKGEN_ARRAY) {
			group = keep_name(all, "moves of ", "", type->name);
			csd_count_number(node, group, "left", COUNT_TIMES);
			csd_count_number(node, group, "arrived", COUNT_TIMES);
		}
		all->types[all->n_types] = t;
		entries_lay_over(node, type, t->entries);
	}
	return 0;
}

/* ---- elements -------------------------------------------------------------------------------- */

/* For elements that will be made here, and for those that come from other PEs. */
static const struct counted_type *coll_counted(struct pe *pe, struct collection *c)
{
	const struct stats_node *all = ck_node_state(pe->node, PART_STATS);
	struct stats_coll *s = coll_state(c, PART_STATS);

	if (!s->type) {
		s->type = all->types[chare_number(ck_node_of(pe->node), c->type)];
		c->entries = s->type->entries;
	}
	return s->type;
}

static void count_constructed(struct pe *pe, struct collection *c) { coll_counted(pe, c); }

static void count_created(struct pe *pe, struct ck_obj *obj)
{
	pe->counts->numbers[coll_counted(pe, obj->coll)->created]++;
}

static void count(struct pe *pe, const struct ck_obj *obj, int which)
{
	const struct stats_coll *s = coll_state(obj->coll, PART_STATS);

	pe->counts->numbers[s->type->created + which]++;
}

static void count_destroyed(struct pe *pe, struct ck_obj *obj)
{
	if (!obj_is_stub(obj))
		count(pe, obj, 1);
}

static void count_leaving(struct pe *pe, struct ck_obj *obj) { count(pe, obj, 2); }
static void count_arrived(struct pe *pe, struct ck_obj *obj) { count(pe, obj, 3); }

/* ---- ckrun --progress ------------------------------------------------------------------------ */

void CkProgressLine(const char *fmt, ...)
{
	struct pe *pe = ck_self();
	char text[GAUGE_TEXT];
	va_list args;

	if (!csd_progress_shown(pe))
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	csd_progress_text(pe, text);
}

/* ---- the part -------------------------------------------------------------------------------- */

static const struct place_watch watch = { .leaving = count_leaving, .arrived = count_arrived };

static int stats_node_start(struct node *node)
{
	if (!csd_counting(node))
		return CK_PART_OFF;
	place_join(node, PART_STATS, &watch);
	bodies_watch(node, body_counted);
	return 0;
}

static void stats_node_stop(struct node *node)
{
	struct stats_node *all = ck_node_state(node, PART_STATS);

	for (int i = 0; i < all->n_types; i++)
		free(all->types[i]);
	for (int i = 0; i < all->n_names; i++)
		free(all->names[i]);
	free(all->types);
	free(all->names);
}

const struct ck_part stats_part = {
	.name = "stats",
	.number = PART_STATS,
	.node_bytes = sizeof(struct stats_node),
	.coll_bytes = sizeof(struct stats_coll),
	.watch = {
		.created = count_created,
		.destroyed = count_destroyed,
		.constructed = count_constructed,
	},
	.node_start = stats_node_start,
	.node_stop = stats_node_stop,
};
