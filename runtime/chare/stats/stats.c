/* SPDX-License-Identifier: Apache-2.0 */
/* stats.c: counts entry methods as an observer, and elements as a watch. */
#include "stats.h"
#include "../observe/observe.h"
#include "../create/place_watch.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stats_node {
	char **names;             /* [n_names]: of rows and numbers */
	int n_names;
};

/* ---- entry methods --------------------------------------------------------------------------- */

static void count_begins(struct pe *pe, union observe_own *own, int row,
			 const struct ck_running *now)
{
	(void)now;
	csd_count_begin(pe, &own->run, row);
}

static void count_ends(struct pe *pe, union observe_own *own)
{
	csd_count_end(pe, &own->run);
}

static const char *keep_name(struct stats_node *all, const char *a, const char *between,
			     const char *b)
{
	char *name;

	if (asprintf(&name, "%s%s%s", a, between, b) < 0)
		cmi_no_memory(strlen(a) + strlen(b), "statistics");
	all->names = cmi_realloc(all->names, (size_t)all->n_names + 1, sizeof *all->names, "statistics");
	return all->names[all->n_names++] = name;
}

static struct observe_numbers count_type(struct node *node, const CkGenChare *type)
{
	struct stats_node *all = ck_node_state(node, PART_STATS);
	const char *group = keep_name(all, "elements of ", "", type->name);
	struct observe_numbers n = { 0, csd_count_number(node, group, "created", COUNT_TIMES) };

	csd_count_number(node, group, "destroyed", COUNT_TIMES);
	if (type->kind == CKGEN_ARRAY) {
		group = keep_name(all, "moves of ", "", type->name);
		csd_count_number(node, group, "left", COUNT_TIMES);
		csd_count_number(node, group, "arrived", COUNT_TIMES);
	}
	for (int i = 0; i < type->n_entries; i++) {
		const char *name = keep_name(all, type->name, "::", type->entries[i].name);

		n.entries = csd_count_row(node, "entry", name) - i;
	}
	return n;
}

/* ---- elements -------------------------------------------------------------------------------- */

/* A type's numbers, in the order of count_type. */
enum { CREATED, DESTROYED, LEFT, ARRIVED };

static void count_element(struct pe *pe, const struct ck_obj *obj, int what)
{
	pe->counts->numbers[observe_elements(obj->coll, PART_STATS) + what]++;
}

static void count_created(struct pe *pe, struct ck_obj *obj)
{
	observe_coll(pe, obj->coll);
	count_element(pe, obj, CREATED);
}

static void count_destroyed(struct pe *pe, struct ck_obj *obj)
{
	if (!obj_is_stub(obj))
		count_element(pe, obj, DESTROYED);
}

static void count_leaving(struct pe *pe, struct ck_obj *obj) { count_element(pe, obj, LEFT); }
static void count_arrived(struct pe *pe, struct ck_obj *obj) { count_element(pe, obj, ARRIVED); }

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

static const struct observer observer = { 0, count_type, count_begins, count_ends };
static const struct place_watch watch = { .leaving = count_leaving, .arrived = count_arrived };

static int stats_node_start(struct node *node)
{
	if (!csd_counting(node))
		return CK_PART_OFF;
	place_join(node, PART_STATS, &watch);
	observe_join(node, PART_STATS, &observer);
	return 0;
}

static void stats_node_stop(struct node *node)
{
	struct stats_node *all = ck_node_state(node, PART_STATS);

	for (int i = 0; i < all->n_names; i++)
		free(all->names[i]);
	free(all->names);
}

const struct ck_part stats_part = {
	.name = "stats",
	.number = PART_STATS,
	.node_bytes = sizeof(struct stats_node),
	.watch = {
		.created = count_created,
		.destroyed = count_destroyed,
		.constructed = observe_coll,
	},
	.node_start = stats_node_start,
	.node_stop = stats_node_stop,
};
