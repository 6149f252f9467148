/* SPDX-License-Identifier: Apache-2.0 */
/*
 * round.c: the memory of rounds: calls of [count] entries that wait for the others of their round.
 * What a round does is in rounds/, which may be left out; elements that move or end have to know
 * what they are. An element's rounds stay with it until it ends or moves, open or not.
 */
#include "extra.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdio.h>
#include <stdlib.h>

static struct rounds *rounds_new(struct pe *pe)
{
	struct wait_pe *w = wait_of(pe);
	struct rounds *s = w->free_rounds;

	if (s)
		w->free_rounds = s->next;
	else
		s = cmi_alloc(sizeof *s, "calls that are counted");
	*s = (struct rounds){ .more = NULL };
	return s;
}

struct rounds *rounds_make(struct pe *pe, struct ck_obj *obj)
{
	struct ck_extra *x = extra_make(pe, obj);

	if (CSD_UNLIKELY(!x->rounds))
		x->rounds = rounds_new(pe);
	return x->rounds;
}

static bool round_is(const struct round *r, uint32_t call, int32_t number)
{
	return r->call == call && r->number == number;
}

struct round *rounds_find(struct rounds *s, uint32_t call, int32_t number)
{
	struct round *r = rounds_slot(s, number);
	struct round_more *more = s->more;

	if (round_is(r, call, number))
		return r;
	while (more && !round_is(&more->round, call, number))
		more = more->next;
	return more ? &more->round : NULL;
}

static struct round *more_new(struct pe *pe, struct rounds *s)
{
	struct wait_pe *w = wait_of(pe);
	struct round_more *more = w->free_more;

	if (more)
		w->free_more = more->next;
	else
		more = cmi_alloc(sizeof *more, "calls that are counted");
	more->next = s->more;
	s->more = more;
	return &more->round;
}

struct round *rounds_begin(struct pe *pe, struct rounds *s, uint32_t call, int32_t number,
			   uint32_t n)
{
	struct round *r = rounds_slot(s, number);

	if (CSD_UNLIKELY(r->call))
		r = more_new(pe, s);
	msg_fifo_init(&r->calls);
	r->call = call;
	r->number = number;
	r->n = r->left = n;
	return r;
}

void rounds_end(struct pe *pe, struct rounds *s, struct round *r)
{
	struct wait_pe *w = wait_of(pe);
	struct round_more **p = &s->more, *more;

	r->call = 0;
	while ((more = *p) && &more->round != r)
		p = &more->next;
	if (CSD_LIKELY(!more))
		return;
	*p = more->next;
	more->next = w->free_more;
	w->free_more = more;
}

struct round *rounds_next(struct rounds *s, struct round *r)
{
	const bool in_slot = (uintptr_t)r - (uintptr_t)s->slots < sizeof s->slots;

	if (r && !in_slot) {
		struct round_more *more = ((struct round_more *)r)->next;

		return more ? &more->round : NULL;
	}
	for (r = r ? r + 1 : s->slots; r < s->slots + ROUNDS_SLOTS; r++)
		if (r->call)
			return r;
	return s->more ? &s->more->round : NULL;
}

static void rounds_free(struct pe *pe, struct rounds *s)
{
	s->next = wait_of(pe)->free_rounds;
	wait_of(pe)->free_rounds = s;
}

void rounds_drop(struct pe *pe, struct ck_extra *x)
{
	struct rounds *s = x->rounds;
	struct round *r;

	if (!s)
		return;
	while ((r = rounds_next(s, NULL))) {
		while (r->calls.head)
			call_drop(pe, x->obj, (struct ck_env *)msg_fifo_pop(&r->calls));
		rounds_end(pe, s, r);
	}
	x->rounds = NULL;
	rounds_free(pe, s);
}

static void report_round(struct pe *pe, const struct ck_obj *obj, const struct round *r)
{
	char name[128];

	describe_entry(obj->coll->type, (int)round_entry(r), name, sizeof name);
	fprintf(stderr,
		"chard: PE %d: at exit %u of %s of %s, number %d, have come to %s, and wait for "
		"the others\n", pe->id, r->n - r->left, csd_plural(r->n, "call", "calls").text, name,
		r->number, obj_thing(obj).name);
}

void rounds_leave(struct pe *pe, struct ck_extra *x)
{
	struct rounds *s = x->rounds;
	struct round *r;

	if (!s)
		return;
	while ((r = rounds_next(s, NULL))) {
		if (pe->node->check)
			report_round(pe, x->obj, r);
		while (r->calls.head)
			csd_msg_free(pe, msg_fifo_pop(&r->calls));
		rounds_end(pe, s, r);
	}
	x->rounds = NULL;
	rounds_free(pe, s);
}

void rounds_dispose(struct rounds *s)
{
	struct round_more *more;

	while (s && (more = s->more)) {
		s->more = more->next;
		free(more);
	}
	free(s);
}

void rounds_trim(struct wait_pe *w)
{
	struct rounds *s;
	struct round_more *more;

	while ((s = w->free_rounds)) {
		w->free_rounds = s->next;
		free(s);
	}
	while ((more = w->free_more)) {
		w->free_more = more->next;
		free(more);
	}
}
