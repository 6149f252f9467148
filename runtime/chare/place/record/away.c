/* SPDX-License-Identifier: Apache-2.0 */
/*
 * away.c: a home's records of elements that do not live there (home.c explains them), the messages
 * that wait for them, and the messages between homes and the elements' PEs.
 */
#include "place_record.h"
#include "../../../machine/base/cmi_alloc.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- messages that wait ---------------------------------------------------------------------- */

/* The name of the entry method, as in "Tree::grow", or of the operation that waits. */
void describe_waiting(struct pe *pe, const struct collection *c, const struct cmi_msg *m, char *buf,
		      size_t len)
{
	if (m->handler == ck_handler(pe, PART_CALL, H_ELEMENT))
		describe_entry(c->type, ((const struct ck_env *)m)->entry, buf, len);
	else
		snprintf(buf, len, "%s_%s", c->type->name, is_told(pe, m) ? "channel" :
			 m->handler == ck_handler(pe, PART_PLACE, H_DESTROY) ? "ckDestroy" : "insert");
}

void handle_again(struct pe *pe, struct cmi_msg *m)
{
	pe->node->handlers[m->handler].fn(pe, m);
}

/* Of the messages behind the first insertion, those that `goes` tells go in front of it. */
static void move_up(const struct pe *pe, struct msg_fifo *f,
		    bool (*goes)(const struct pe *pe, const struct cmi_msg *m))
{
	struct msg_fifo all, behind;
	bool next = false;

	msg_fifo_init(&behind);
	msg_fifo_move(&all, f);
	while (all.head) {
		struct cmi_msg *m = msg_fifo_pop(&all);

		next |= m->handler == ck_handler(pe, PART_PLACE, H_INSERT);
		msg_fifo_push(next && !goes(pe, m) ? &behind : f, m);
	}
	msg_fifo_append(f, &behind);
}

/* Whether it is a copy of a multicast. */
static bool is_of_section(const struct pe *pe, const struct cmi_msg *m)
{
	return m->handler == ck_handler(pe, PART_CALL, H_ELEMENT) &&
	       ((const struct ck_env *)m)->more & CK_MORE_NUMBERED;
}

/* Multicasts that have come before an insertion is carried out are there when it is: it says which
 * of them its element gets. */
void resume(struct pe *pe, struct msg_fifo *f)
{
	move_up(pe, f, is_of_section);

	struct cmi_msg *m = f->head, *next;

	msg_fifo_init(f);
	for (; m; m = next) {
		next = m->next;
		handle_again(pe, m);
	}
}

void resume_of_one(struct pe *pe, struct msg_fifo *f)
{
	move_up(pe, f, is_of_all);
	resume(pe, f);
}

bool is_switch(const struct pe *pe, const struct ck_env *env)
{
	return env->head.handler == ck_handler(pe, PART_PLACE, H_SWITCH);
}

bool is_told(const struct pe *pe, const struct cmi_msg *m)
{
	return m->handler == ck_handler(pe, PART_PLACE, H_TELL);
}

bool is_of_all(const struct pe *pe, const struct cmi_msg *m)
{
	return m->handler == ck_handler(pe, PART_CALL, H_ELEMENT) &&
	       ((const struct ck_env *)m)->more & CK_MORE_OF_ALL;
}

void drop_copies(struct pe *pe, struct msg_fifo *f)
{
	struct msg_fifo all;

	msg_fifo_move(&all, f);
	while (all.head) {
		struct cmi_msg *m = msg_fifo_pop(&all);

		if (is_of_all(pe, m))
			csd_msg_free(pe, m);
		else
			msg_fifo_push(f, m);
	}
}

/* ---- words ----------------------------------------------------------------------------------- */

struct where_msg where_about(const struct collection *c, CkIndex i, enum where_kind kind)
{
	return (struct where_msg){ .coll = c->id, .index = i, .kind = kind };
}

void where_send(struct pe *pe, int dst_pe, int handler, uint8_t flags, struct where_msg what)
{
	struct where_msg *w = ck_msg_new(pe, PART_PLACE, handler, flags, sizeof *w);

	what.head = w->head;
	*w = what;
	csd_send(pe, dst_pe, &w->head);
}

/* In the stream of calls: what is said holds for what was sent before. */
void tell_where(struct pe *pe, int dst_pe, struct where_msg what)
{
	where_send(pe, dst_pe, H_WHERE, 0, what);
}

void deny_switch(struct pe *pe, const struct collection *c, CkIndex i, struct ck_env *env)
{
	tell_where(pe, env->to_pe, where_about(c, i, WHERE_DENY));
	csd_msg_free(pe, &env->head);
}

/* ---- records --------------------------------------------------------------------------------- */

static struct away *away_new(struct collection *c, CkIndex i, int pe)
{
	struct away *a = cmi_alloc_zero(1, sizeof *a, "an element");

	a->coll = c;
	a->index = i;
	a->pe = pe;
	msg_fifo_init(&a->waiting);
	index_add(&dynamic_get(c)->away, a);
	return a;
}

static void away_free(struct away *a)
{
	free(a->senders);
	free(a);
}

struct elemmap_slot *lives_find(const struct collection *c, CkIndex i)
{
	const struct dynamic *dyn = place_of(c)->dyn;

	return dyn ? elemmap_find(&dyn->lives, elem_key_of(c, i)) : NULL;
}

int lives_pe(const struct elemmap_slot *s)
{
	return (int)s->no - 1;
}

struct away *away_find(struct collection *c, CkIndex i)
{
	struct dynamic *dyn = place_of(c)->dyn;
	struct away *a = dyn ? index_find(&dyn->away, i) : NULL;
	struct elemmap_slot *s = a ? NULL : lives_find(c, i);

	if (s) {
		a = away_new(c, i, lives_pe(s));
		elemmap_remove(&dyn->lives, s);
	}
	return a;
}

struct away *away_get(struct collection *c, CkIndex i)
{
	struct away *a = away_find(c, i);

	return a ? a : away_new(c, i, NOWHERE);
}

void away_rest(struct away *a)
{
	struct dynamic *dyn = place_of(a->coll)->dyn;

	assert(a->pe >= 0 && !a->moving && !a->asked && !a->waiting.head);
	if (a->n_senders)
		return;
	index_remove_trim(&dyn->away, a->index);
	elemmap_add(&dyn->lives, elem_key_of(a->coll, a->index), (uint32_t)a->pe + 1);
	away_free(a);
}

/* Checked mode, at exit. */
static void tell_waiting(struct pe *pe, const struct away *a)
{
	const struct cmi_msg *first = a->waiting.head;
	char name[128];

	describe_waiting(pe, a->coll, first, name, sizeof name);
	fprintf(stderr,
		"chard: PE %d (node %d): at exit %s for %s, which was not inserted; the first is %s "
		"from PE %d\n", pe->id, pe->node->job->node,
		csd_plural(msg_fifo_count(&a->waiting), "call waits", "calls wait").text,
		element_thing(a->coll->type, a->coll->id, a->index).name, name, first->src_pe);
}

void away_fini(struct pe *pe, struct collection *c)
{
	const struct dynamic *dyn = place_of(c)->dyn;
	const struct idmap_slot *s;

	for (size_t i = 0; (s = idmap_each(&dyn->away, &i)); i++) {
		struct away *a = (struct away *)s->value;

		if (pe->node->check && a->pe < 0 && a->waiting.head && c->type)
			tell_waiting(pe, a);
		fifo_free(pe, &a->waiting);
		away_free(a);
	}
	elemmap_free(&place_of(c)->dyn->lives);
}

void away_drop(struct pe *pe, struct away *a)
{
	resume(pe, &a->waiting);
	away_free(a);
}

void away_end(struct pe *pe, struct away *a)
{
	index_remove_trim(&place_of(a->coll)->dyn->away, a->index);
	away_drop(pe, a);
}

void away_moved(struct pe *pe, struct collection *c, CkIndex i, int to)
{
	struct away *a = to == pe->id ? away_find(c, i) : away_get(c, i);

	assert(a && !a->moving && !a->asked && !a->waiting.head);
	if (to == pe->id) {
		away_end(pe, a);
		return;
	}
	a->pe = a->to = to;
	a->n_senders = 0;
	away_rest(a);
}
