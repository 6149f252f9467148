/* SPDX-License-Identifier: Apache-2.0 */
/* observe.c: the tables of observed types, and the functions in them. */
#include "observe.h"
#include "../core/register.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

/** The observers of an entry, the outermost first, and the functions in the type's own table. */
struct hearers {
	CkGenCall call, reduced;
	CkGenAnswer answer;
	int n;
	struct hearer {
		void (*begin)(struct pe *pe, union observe_own *own, int number,
			      const struct ck_running *now);
		void (*end)(struct pe *pe, union observe_own *own);
		int number;
	} list[OBSERVERS];
};

/** Constant once the loops run. */
struct observe_node {
	const struct observer *observers[CK_PARTS]; /* by part */
	int n;
	/* [ck_node.n_chares]: one for each type. The hearers of its entries lie before it, in reverse
	 * order; the parts' numbers for elements, [CK_PARTS], behind it. */
	CkGenEntry **tables;
};

/** A body that has begun and not ended. */
struct observed_body {
	const struct hearers *hearers;
	union observe_own own[OBSERVERS];
	struct observed_body *next; /* while it is spare */
};

struct observe_pe {
	struct observed_body *spare;
};

static struct observe_node *observe_of(const struct node *node)
{
	return ck_node_state(node, PART_OBSERVE);
}

static inline struct hearers *hearers_of(const CkGenEntry *table, uint32_t entry)
{
	return (struct hearers *)(uintptr_t)table - 1 - entry;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static inline void tell_begin(struct pe *pe, const struct hearers *h, int n, union observe_own *own)
{
	const struct ck_running *now = &ck_of(pe)->now;

	for (int i = 0; i < n; i++)
		h->list[i].begin(pe, &own[i], h->list[i].number, now);
}

static inline void tell_end(struct pe *pe, const struct hearers *h, int n, union observe_own *own)
{
	for (int i = n; i-- > 0;)
		h->list[i].end(pe, &own[i]);
}

enum told { CALL, REDUCED, ANSWER };

/* n is the number of observers where a constant saves the load of h->n, otherwise 0. `now` is not
 * valid after the entry: on a thread's stack, another handler may run by then. */
static inline void tell_around(void *self, void *payload, void *reply, enum told what, int n)
{
	struct pe *pe = csd_self();
	const struct ck_running *now = &ck_of(pe)->now;
	const struct hearers *h = hearers_of(now->obj->coll->entries, now->entry);
	union observe_own own[OBSERVERS];

	tell_begin(pe, h, n ? n : h->n, own);
	if (what == ANSWER)
		h->answer(self, payload, reply);
	else
		(what == REDUCED ? h->reduced : h->call)(self, payload);
	tell_end(pe, h, n ? n : h->n, own);
}

static void call_told_1(void *self, void *payload) { tell_around(self, payload, NULL, CALL, 1); }
static void call_told_2(void *self, void *payload) { tell_around(self, payload, NULL, CALL, 2); }
static void call_told_3(void *self, void *payload) { tell_around(self, payload, NULL, CALL, 3); }
static void call_told(void *self, void *payload) { tell_around(self, payload, NULL, CALL, 0); }
static const CkGenCall calls_told[OBSERVERS + 1] = { NULL, call_told_1, call_told_2, call_told_3,
						     call_told };

static void reduced_told(void *self, void *payload)
{
	tell_around(self, payload, NULL, REDUCED, 0);
}

static void answer_told(void *self, void *payload, void *reply)
{
	tell_around(self, payload, reply, ANSWER, 0);
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static struct observed_body *body_new(struct pe *pe)
{
	struct observe_pe *p = ck_state(pe, PART_OBSERVE);
	struct observed_body *b = p->spare;

	if (!b)
		return cmi_alloc(sizeof *b, "bodies that are observed");
	p->spare = b->next;
	return b;
}

/* When a body begins, *own may be a leftover of the PE where its element was before. */
static void body_observed(struct pe *pe, struct ck_obj *obj, uint32_t entry,
			  enum ck_body_event event, void **own)
{
	struct observe_pe *p = ck_state(pe, PART_OBSERVE);
	struct observed_body *b = *own;

	if (event == CK_BODY_BEGINS) {
		*own = b = body_new(pe);
		b->hearers = hearers_of(obj->coll->entries, entry);
		tell_begin(pe, b->hearers, b->hearers->n, b->own);
		return;
	}
	if (event == CK_BODY_ENDS)
		tell_end(pe, b->hearers, b->hearers->n, b->own);
	b->next = p->spare;
	p->spare = b;
}

static void observe_pe_free(struct pe *pe)
{
	struct observe_pe *p = ck_state(pe, PART_OBSERVE);

	for (struct observed_body *b = p->spare, *next; b; b = next) {
		next = b->next;
		free(b);
	}
}

/* ---- the tables ------------------------------------------------------------------------------ */

static int *table_elements(const CkGenChare *type, const CkGenEntry *table)
{
	return (int *)(uintptr_t)(table + type->n_entries);
}

/* Entries with a body, and those that a `when` waits for, keep `call`, which runs no handler.
 * Without `came`, delivery uses `call`. */
static void observe_entry(CkGenEntry *e, struct hearers *h)
{
	h->call = e->call;
	h->reduced = e->reduced;
	h->answer = e->answer;
	if (!h->n || e->flags & (CKGEN_AWAITED | CKGEN_BODY))
		return;
	e->call = e->call ? calls_told[h->n] : NULL;
	e->came = NULL;
	e->reduced = e->reduced ? reduced_told : NULL;
	e->answer = e->answer ? answer_told : NULL;
}

static void add_hearer(const CkGenChare *type, CkGenEntry *table, const struct observer *o,
		       int first)
{
	for (int e = 0; e < type->n_entries; e++) {
		struct hearers *h = hearers_of(table, (uint32_t)e);

		if (type->entries[e].flags & o->except)
			continue;
		if (h->n == OBSERVERS)
			csd_abort(NULL, "internal: more than %d observers", OBSERVERS);
		h->list[h->n++] = (struct hearer){ o->begin, o->end, first + e };
	}
}

static CkGenEntry *table_new(struct node *node, const CkGenChare *type)
{
	const size_t n = (size_t)type->n_entries;
	struct hearers *h = cmi_alloc_zero(1, n * (sizeof *h + sizeof(CkGenEntry)) +
					      CK_PARTS * sizeof(int), "observers");
	CkGenEntry *table = memcpy(h + n, type->entries, n * sizeof *table);

	for (int part = CK_PARTS; part-- > 0;) {
		const struct observer *o = observe_of(node)->observers[part];
		const struct observe_numbers numbers =
			o && o->type ? o->type(node, type) : (struct observe_numbers){ 0, 0 };

		table_elements(type, table)[part] = numbers.elements;
		if (o)
			add_hearer(type, table, o, numbers.entries);
	}
	for (size_t e = 0; e < n; e++)
		observe_entry(&table[e], hearers_of(table, (uint32_t)e));
	return table;
}

int observe_program(struct node *node)
{
	const struct ck_node *ck = ck_node_of(node);
	struct observe_node *all = observe_of(node);

	if (!all->n)
		return 0;
	all->tables = cmi_alloc_zero((size_t)ck->n_chares + 1, sizeof *all->tables, "observers");
	for (int i = 0; i < ck->n_chares; i++)
		all->tables[i] = table_new(node, ck->chares[i]);
	return 0;
}

void observe_join(struct node *node, int part, const struct observer *o)
{
	observe_of(node)->observers[part] = o;
	observe_of(node)->n++;
	ck_node_of(node)->observers = true;
	if (!(o->except & CKGEN_BODY))
		bodies_watch(node, body_observed);
}

static void observe_node_stop(struct node *node)
{
	const struct ck_node *ck = ck_node_of(node);
	struct observe_node *all = observe_of(node);

	for (int i = 0; all->tables && i < ck->n_chares; i++)
		free((struct hearers *)(void *)all->tables[i] - ck->chares[i]->n_entries);
	free(all->tables);
}

/* ---- collections ----------------------------------------------------------------------------- */

void observe_coll(struct pe *pe, struct collection *c)
{
	if (c->entries == c->type->entries)
		c->entries = observe_of(pe->node)->tables[chare_number(ck_node_of(pe->node), c->type)];
}

void observe_coll_not(struct pe *pe, struct collection *c)
{
	if (observe_of(pe->node)->n == 1)
		c->entries = c->type->entries;
}

int observe_elements(const struct collection *c, int part)
{
	return table_elements(c->type, c->entries)[part];
}

const struct ck_part observe_part = {
	.name = "observe",
	.number = PART_OBSERVE,
	.node_bytes = sizeof(struct observe_node),
	.pe_bytes = sizeof(struct observe_pe),
	.pe_free = observe_pe_free,
	.node_stop = observe_node_stop,
};
