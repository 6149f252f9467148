/* SPDX-License-Identifier: Apache-2.0 */
/*
 * part.c: combines the parts' tables on a node: their state, their handlers, and their functions by
 * kind, by attribute and by event.
 */
#include "parts.h"
#include "../../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

_Noreturn static void claimed_twice(const struct ck_part *p, const char *what, int number)
{
	csd_abort(NULL, "internal: part %s: %s %d is taken, or out of order", p->name, what, number);
}

static void add_handlers(struct node *node, const struct ck_part *p)
{
	struct ck_node *ck = ck_node_of(node);

	for (int i = 0; i < p->handlers.n; i++) {
		int h = csd_register(node, p->handlers.list[i].name, p->handlers.list[i].fn);

		if (!i)
			ck->first_handler[p->number] = (uint16_t)h;
		csd_expect(node, h, &p->handlers.list[i].shape, p->handlers.list[i].arrived);
		if (p->handlers.list[i].apart)
			csd_order_apart(node, h);
		if (p->handlers.list[i].early)
			csd_handle_early(node, h);
		csd_trace_handler(node, h, p->handlers.list[i].trace);
	}
}

static void add_callbacks(struct ck_node *ck, const struct ck_part *p)
{
	for (int i = 0; i < p->callbacks.n; i++) {
		const struct ck_callback_kind *k = &p->callbacks.list[i];

		if (k->kind >= CK_CALLBACK_KINDS || ck->callbacks[k->kind])
			claimed_twice(p, "callback", k->kind);
		ck->callbacks[k->kind] = k;
	}
}

static void add_attributes(struct ck_node *ck, const struct ck_part *p)
{
	for (int i = 0; i < p->attributes.n; i++) {
		const struct ck_attribute *a = &p->attributes.list[i];
		struct ck_takers *t = &ck->takers[a->stage];

		if (t->n == CK_MAX_TAKERS || (t->flags & a->flag) || !(a->flag & CKGEN_SPECIAL))
			claimed_twice(p, "attribute", (int)a->flag);
		t->of[t->n++] = a;
		t->flags |= a->flag;
		t->alone[__builtin_ctz(a->flag)] = a->takes;
	}
}

/* Of a kind whose room is left out: a program may declare such chares, and can make none. */
static const struct ck_kind no_kind;

static void kinds_begin(struct ck_node *ck)
{
	for (int i = CKGEN_MAINCHARE; i <= CKGEN_NODEGROUP; i++)
		ck->kinds[i] = &no_kind;
}

static void add_kinds(struct ck_node *ck, const struct ck_part *p)
{
	for (int i = 0; i < p->kinds.n; i++) {
		if ((ck->kinds[p->kinds.list[i].kind] != &no_kind) != p->kinds.list[i].replaces)
			claimed_twice(p, "kind of chare", (int)p->kinds.list[i].kind);
		ck->kinds[p->kinds.list[i].kind] = &p->kinds.list[i];
	}
}

typedef void (*watch_fn)(struct pe *pe, struct ck_obj *obj);

/* `list` ends with NULL. */
static void add_watcher(const struct ck_part *p, watch_fn *list, watch_fn fn)
{
	int n = 0;

	if (!fn)
		return;
	while (list[n])
		n++;
	if (n == CK_MAX_WATCHERS)
		claimed_twice(p, "watcher", n);
	list[n] = fn;
}

static int part_start(struct node *node, const struct ck_part *p)
{
	const int number = p->number;
	struct ck_node *ck = ck_node_of(node);
	int err = 0;

	ck->state[number] = cmi_alloc_zero(1, p->node_bytes ? p->node_bytes : 1, "the chare layer");
	if (p->node_start)
		err = p->node_start(node);
	if (err == CK_PART_OFF)
		return 0;
	ck->parts[number] = p;
	ck->coll_bytes += CkGen_align(p->coll_bytes);
	if (p->elem_bytes && ck->elem_bytes)
		claimed_twice(p, "role", 0);
	ck->elem_bytes += CkGen_align(p->elem_bytes);
	add_handlers(node, p);
	add_callbacks(ck, p);
	add_attributes(ck, p);
	add_kinds(ck, p);
	add_watcher(p, ck->created, p->watch.created);
	add_watcher(p, ck->destroyed, p->watch.destroyed);
	return err;
}

int parts_node_start(struct node *node, const struct ck_part *const list[], int n)
{
	int err = 0, last = -1;

	kinds_begin(ck_node_of(node));
	for (int i = 0; i < n && !err; i++) {
		if (list[i]->number <= last || list[i]->number >= CK_PARTS)
			claimed_twice(list[i], "number", list[i]->number);
		last = list[i]->number;
		err = part_start(node, list[i]);
	}
	return err;
}

void parts_node_stop(struct node *node)
{
	struct ck_node *ck = ck_node_of(node);

	for (int i = CK_PARTS; i-- > 0;) {
		if (ck->parts[i] && ck->parts[i]->node_stop)
			ck->parts[i]->node_stop(node);
		free(ck->state[i]);
	}
}

void parts_pe_start(struct pe *pe)
{
	const struct ck_node *ck = ck_node_of(pe->node);

	for (int i = 0; i < CK_PARTS; i++) {
		if (!ck->parts[i])
			continue;
		/* On cache lines of its own; otherwise other PEs' state would share its lines. */
		size_t bytes = ck->parts[i]->pe_bytes + CSD_CACHE_LINE;

		ck_of(pe)->state[i] = cmi_alloc_aligned(CSD_CACHE_LINE, bytes & ~(CSD_CACHE_LINE - (size_t)1),
							"the chare layer");
		if (ck->parts[i]->pe_start)
			ck->parts[i]->pe_start(pe);
	}
}

void parts_forked(struct pe *pe)
{
	const struct ck_node *ck = ck_node_of(pe->node);

	for (int i = 0; i < CK_PARTS; i++)
		if (ck->parts[i] && ck->parts[i]->forked)
			ck->parts[i]->forked(pe);
}

bool parts_obey(struct pe *pe, const struct csd_order *o)
{
	const struct ck_node *ck = ck_node_of(pe->node);

	for (int i = 0; i < CK_PARTS; i++)
		if (ck->parts[i] && ck->parts[i]->obey && ck->parts[i]->obey(pe, o))
			return true;
	return false;
}

bool parts_let_go(struct pe *pe)
{
	const struct ck_node *ck = ck_node_of(pe->node);

	for (int i = 0; i < CK_PARTS; i++)
		if (ck->parts[i] && ck->parts[i]->let_go && ck->parts[i]->let_go(pe))
			return true;
	return false;
}

void parts_pe_stop(struct pe *pe)
{
	const struct ck_node *ck = ck_node_of(pe->node);

	for (int i = CK_PARTS; i-- > 0;)
		if (ck->parts[i] && ck->parts[i]->pe_stop)
			ck->parts[i]->pe_stop(pe);
	for (int i = CK_PARTS; i-- > 0;) {
		if (ck->parts[i] && ck->parts[i]->pe_free)
			ck->parts[i]->pe_free(pe);
		free(ck_of(pe)->state[i]);
		ck_of(pe)->state[i] = NULL;
	}
}
