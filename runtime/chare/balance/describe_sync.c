/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe_sync.c: for the watchdog: arrays whose sync is not over, and who has not called CkAtSync. A PE of which no
 * element has called it says so only if another PE has one that waits.
 */
#include "balance_int.h"

#include <stdio.h>

/* "Cell(3), Cell(4) and 93 more". Returns how many. */
static uint64_t list_missing(const struct collection *c, char *buf, size_t len)
{
	struct name_list names = { .buf = buf, .len = len };
	struct ck_obj *obj;
	char name[128];

	for (uint64_t at = 0; (obj = coll_each(c, &at));)
		if (!elem_of(obj)->waits && names_next(&names))
			names_add(&names, obj_describe(obj, name, sizeof name));
	return names_end(&names);
}

static void describe_waiting(struct collection *c, csd_line_fn line, void *arg)
{
	const struct sync_coll *s = sync_of(c);
	char what[160], missing[5 * 130];
	const uint64_t n = list_missing(c, missing, sizeof missing);

	coll_describe(c, what, sizeof what);
	say_line(line, arg, "\3Y%llx", (unsigned long long)c->id);
	if (s->step)
		step_describe(c, what, line, arg);
	else if (n)
		say_line(line, arg, "sync %u of %s waits for %llu elements here to call CkAtSync: %s", s->round, what,
			 (unsigned long long)n, missing);
	else
		say_line(line, arg, "sync %u of %s: all elements here have called CkAtSync; it waits for other PEs",
			 s->round, what);
}

static void offer(struct collection *c, csd_line_fn line, void *arg)
{
	char what[160], missing[5 * 130];
	const uint64_t n = list_missing(c, missing, sizeof missing);

	say_line(line, arg, "\2Y%llx\tsync %u of %s waits for %llu elements here to call CkAtSync: %s",
		 (unsigned long long)c->id, sync_of(c)->round, coll_describe(c, what, sizeof what),
		 (unsigned long long)n, missing);
}

void syncs_describe(struct pe *pe, csd_line_fn line, void *arg)
{
	const struct idmap_slot *at;

	for (size_t i = 0; (at = idmap_each(&ck_of(pe)->colls, &i)); i++) {
		struct collection *c = (struct collection *)at->value;

		if (!coll_syncs(c) || !c->constructed)
			continue;
		if (sync_of(c)->n_waiting)
			describe_waiting(c, line, arg);
		else if (sync_of(c)->n_live)
			offer(c, line, arg);
	}
}
