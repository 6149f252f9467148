/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait_part.c: for everything that waits on an element: testing again, describing to the watchdog,
 * dropping. And the part.
 */
#include "extra.h"

#include <stdlib.h>

void obj_calls_test(struct pe *pe, struct ck_obj *obj)
{
	if (obj->extra & OBJ_EXTRA)
		when_test(pe, obj);
}

void obj_calls_test_soon(struct pe *pe, struct ck_obj *obj)
{
	if (obj->extra & OBJ_EXTRA)
		when_test_soon(pe, obj);
}

void obj_drop_calls(struct pe *pe, struct ck_obj *obj)
{
	if (!(obj->extra & OBJ_EXTRA))
		return;
	when_drop(pe, extra_of(pe, obj));
	sdag_drop_calls(pe, extra_of(pe, obj));
	rounds_drop(pe, extra_of(pe, obj));
}

void obj_forget(struct pe *pe, struct ck_obj *obj)
{
	if (!(obj->extra & OBJ_EXTRA))
		return;
	struct ck_extra *x = extra_of(pe, obj);

	when_drop(pe, x);
	sdag_drop(pe, x);
	rounds_drop(pe, x);
	extra_let_go(pe, x);
}

static void wait_describe(struct pe *pe, struct csd_told *to)
{
	const struct wait_pe *w = wait_of(pe);

	for (uint32_t i = 1; i < w->n; i++) {
		const struct ck_extra *x = w->extras[i];

		if (!x->obj)
			continue;
		when_describe(x->obj, &x->waiting, to);
		if (x->sdag)
			sdag_describe(x, to);
	}
}

static int wait_node_start(struct node *node)
{
	call_node_of(node)->behind = when_test;
	call_node_of(node)->takers[CKGEN_TAKER_WHEN] = sdag_arrives;
	call_node_of(node)->takers[CKGEN_TAKER_BODY] = body_arrives;
	return 0;
}

static void wait_pe_stop(struct pe *pe)
{
	struct wait_pe *w = wait_of(pe);

	idle_drop(pe);
	threads_drop(pe);
	for (uint32_t i = 1; i < w->n; i++) {
		struct ck_extra *x = w->extras[i];

		when_leave(pe, x->obj, &x->waiting);
		sdag_leave(pe, x);
		rounds_leave(pe, x);
		free(x);
	}
	free(w->extras);
	runs_trim(w);
	rounds_trim(w);
}

static const struct ck_handler handlers[] = { [H_WHEN] = { "ck.when", when_arrived,
							   .apart = false } };
static const struct ck_attribute attributes[] = {
	{ CKGEN_AWAITED, CK_TAKES_CALL, sdag_takes },
	{ CKGEN_AWAITED, CK_STARTS, body_posted },
	{ CKGEN_WHEN, CK_TAKES_CALL, when_keeps },
	{ CKGEN_THREADED, CK_STARTS, thread_start }, /* bodies, too: it comes first */
	{ CKGEN_BODY, CK_STARTS, body_start },
	{ CKGEN_BODY, CK_RUNS, body_on_thread },
};

const struct ck_part wait_part = {
	.name = "wait",
	.number = PART_WAIT,
	.node_bytes = sizeof(struct wait_node),
	.pe_bytes = sizeof(struct wait_pe),
	.coll_bytes = sizeof(struct wait_coll),
	.handlers = CK_LIST(handlers),
	.attributes = CK_LIST(attributes),
	.node_start = wait_node_start,
	.pe_stop = wait_pe_stop,
	.describe = wait_describe,
	.save.refuse = wait_refuse,
};
