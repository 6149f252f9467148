/* SPDX-License-Identifier: Apache-2.0 */
/*
 * round.c: the memory of rounds: calls of [count] entries that wait for the others of their round.
 * What a round does is in rounds/, which may be left out; elements that move or end have to know
 * what they are.
 */
#include "extra.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdio.h>
#include <stdlib.h>

struct round *round_new(struct pe *pe, uint32_t entry, int32_t number, uint32_t n)
{
	struct wait_pe *w = wait_of(pe);
	struct round *r = w->free_rounds;

	if (CSD_LIKELY(r != NULL))
		w->free_rounds = r->next;
	else
		r = cmi_alloc(sizeof *r, "calls that are counted");
	*r = (struct round){ .entry = entry, .number = number, .n = n, .left = n };
	msg_fifo_init(&r->calls);
	return r;
}

void rounds_drop(struct pe *pe, struct ck_extra *x)
{
	struct round *r;

	while ((r = x->rounds)) {
		x->rounds = r->next;
		while (r->calls.head)
			call_drop(pe, x->obj, (struct ck_env *)msg_fifo_pop(&r->calls));
		round_free(pe, r);
	}
}

static void report_round(struct pe *pe, const struct ck_obj *obj, const struct round *r)
{
	char name[128];

	describe_entry(obj->coll->type, (int)r->entry, name, sizeof name);
	fprintf(stderr,
		"chard: PE %d: at exit %u of %s of %s, number %d, have come to %s, and wait for "
		"the others\n", pe->id, r->n - r->left, csd_plural(r->n, "call", "calls").text, name,
		r->number, obj_thing(obj).name);
}

void rounds_leave(struct pe *pe, struct ck_extra *x)
{
	struct round *r;

	while ((r = x->rounds)) {
		x->rounds = r->next;
		if (pe->node->check)
			report_round(pe, x->obj, r);
		while (r->calls.head)
			csd_msg_free(pe, msg_fifo_pop(&r->calls));
		free(r);
	}
}

void rounds_trim(struct wait_pe *w)
{
	struct round *r;

	while ((r = w->free_rounds)) {
		w->free_rounds = r->next;
		free(r);
	}
}
