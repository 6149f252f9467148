/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chare_trace.c: records entry methods by calling them through a second table of each type's
 * entries. It is the type's own table, but with functions that record and then call what the type's
 * own table has. A collection gets it before its elements are constructed or come (the watches
 * `constructed` and `created`), so whoever calls an entry, from wherever, finds it.
 */
#include "chare_trace.h"
#include "../place/record/place_watch.h"
#include "../../machine/base/cmi_alloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES_MOST = UINT16_MAX };  /* entries with higher numbers share the last one */

/** The table of a type. */
struct traced_type {
	const CkGenChare *type;
	/* [n_entries]: what is called; the type's own, or those of a room below */
	const CkGenEntry *under;
	int first;                        /* number of the type's first entry in the trace, from 1 */
	CkGenEntry entries[];
};

struct trace_node {
	struct traced_type **types;       /* [n_types], as ck_node.chares */
	int n_types;
	const struct ck_kind *kinds[CKGEN_NODEGROUP + 1];  /* as they are without a trace */
	struct ck_kind traced[CKGEN_NODEGROUP + 1];
};

static unsigned entry_number(const struct traced_type *t, uint32_t entry)
{
	unsigned n = (unsigned)t->first + entry;

	return n < ENTRIES_MOST ? n : ENTRIES_MOST;
}

static const struct traced_type *traced_of(const struct collection *c)
{
	return (const struct traced_type *)(const void *)((const char *)c->entries -
							 offsetof(struct traced_type, entries));
}

/* ---- entry methods --------------------------------------------------------------------------- */

static bool is_on(const struct pe *pe)
{
	return pe->trace && pe->trace->on;
}

static void set_index(struct trace_record *r, const struct ck_obj *obj)
{
	memcpy(r->index, obj->index.v, sizeof r->index);
}

/* Only a call that has just been handled has a message of its own here. A constructor of several
 * elements has none, the elements of a broadcast share one, a call of a batch has a substitute, and
 * that of a call that has waited was recorded when it came. */
static void record_begin(struct pe *pe, const struct ck_running *now)
{
	struct pe_trace *t = pe->trace;
	const struct cmi_msg *m = now->env ? &now->env->head : NULL;
	struct trace_record *r = csd_trace_next(t, TRACE_BEGIN,
						entry_number(traced_of(now->obj->coll), now->entry),
						m ? m->src_pe : -1);
	uint8_t keyed = TRACE_KEYED, direct = csd_trace_direct(t, m);

	r->seq = direct ? csd_trace_seq(pe, m, &keyed) : 0;
	r->flags = keyed | direct;
	if (direct && now->obj->coll->type->kind == CKGEN_NODEGROUP)
		r->flags |= TRACE_TO_NODE;
	set_index(r, now->obj);
	trace_done(t->file, r);
}

static void record_end(struct pe *pe, unsigned entry)
{
	struct pe_trace *t = pe->trace;
	struct trace_record *r = csd_trace_next(t, TRACE_END, entry, -1);

	r->seq = 0;
	memset(r->index, 0, sizeof r->index);
	trace_done(t->file, r);
}

/* The stack may be a thread's, and `now` another handler's when the entry has ended. */
static void call_traced(void *self, void *payload)
{
	struct pe *pe = ck_self();
	const struct ck_running now = ck_of(pe)->now;
	const struct traced_type *t = traced_of(now.obj->coll);

	if (is_on(pe))
		record_begin(pe, &now);
	t->under[now.entry].call(self, payload);
	if (is_on(pe))
		record_end(pe, entry_number(t, now.entry));
}

static void call_reduced_traced(void *self, void *payload)
{
	struct pe *pe = ck_self();
	const struct ck_running now = ck_of(pe)->now;
	const struct traced_type *t = traced_of(now.obj->coll);

	if (is_on(pe))
		record_begin(pe, &now);
	t->under[now.entry].reduced(self, payload);
	if (is_on(pe))
		record_end(pe, entry_number(t, now.entry));
}

static void call_answer_traced(void *self, void *payload, void *reply)
{
	struct pe *pe = ck_self();
	const struct ck_running now = ck_of(pe)->now;
	const struct traced_type *t = traced_of(now.obj->coll);

	if (is_on(pe))
		record_begin(pe, &now);
	t->under[now.entry].answer(self, payload, reply);
	if (is_on(pe))
		record_end(pe, entry_number(t, now.entry));
}

/* A body waits and goes on as a thread does, which the scheduler records (traced.c). */
static void body_traced(struct pe *pe, struct ck_obj *obj, uint32_t entry, enum ck_body_event event,
			void **own)
{
	(void)own;
	if (!is_on(pe) || obj->coll->entries[entry].flags & CKGEN_NOTRACE)
		return;
	if (event == CK_BODY_BEGINS)
		record_begin(pe, &ck_of(pe)->now);
	else if (event == CK_BODY_ENDS)
		record_end(pe, entry_number(traced_of(obj->coll), entry));
}

static const struct entry_calls traced_calls = { call_traced, call_reduced_traced,
						 call_answer_traced };

static struct traced_type *trace_type(const CkGenChare *type, const CkGenEntry *under, int first)
{
	size_t bytes = (size_t)type->n_entries * sizeof(CkGenEntry);
	struct traced_type *t = cmi_alloc_zero(1, sizeof *t + bytes, "the trace");

	t->type = type;
	t->first = first;
	t->under = under;
	entries_called_by(type, under, CKGEN_NOTRACE, &traced_calls, t->entries);
	return t;
}

static size_t name_bytes(const CkGenChare *type)
{
	size_t bytes = 0;

	for (int i = 0; i < type->n_entries; i++)
		bytes += sizeof(struct trace_name) + strlen(type->name) + 2 + strlen(type->entries[i].name) + 8;
	return bytes;
}

int trace_program(struct node *node)
{
	const struct ck_node *ck = ck_node_of(node);
	struct trace_node *all = ck_node_state(node, PART_TRACE);
	int next = 1;

	if (!ck->parts[PART_TRACE] || !ck->n_chares)
		return 0;
	all->types = cmi_alloc_zero((size_t)ck->n_chares, sizeof *all->types, "the trace");
	for (; all->n_types < ck->n_chares; all->n_types++) {
		const CkGenChare *type = ck->chares[all->n_types];

		all->types[all->n_types] = trace_type(type, entries_now(node, type), next);
		next += type->n_entries;
		node->trace.names_bytes += name_bytes(type);
	}
	return 0;
}

bool trace_word_in_use(const struct cmi_msg *m)
{
	return ((const struct ck_env *)m)->flags & CK_ENV_SPECIAL;
}

/* ---- elements, contributions ----------------------------------------------------------------- */

static void record_element(struct pe *pe, enum trace_kind kind, const struct ck_obj *obj,
			   uint32_t seq, int to)
{
	struct trace_record *r =
		csd_trace_next(pe->trace, kind, entry_number(traced_of(obj->coll), 0), to);

	r->seq = seq;
	set_index(r, obj);
	trace_done(pe->trace->file, r);
}

/* For elements that will be made here, and for those that come from other PEs. */
static void trace_constructed(struct pe *pe, struct collection *c)
{
	const struct trace_node *all = ck_node_state(pe->node, PART_TRACE);
	const struct traced_type *t = all->types[chare_number(ck_node_of(pe->node), c->type)];

	if (c->entries == c->type->entries || c->entries == t->under)
		c->entries = t->entries;
}

static void trace_created(struct pe *pe, struct ck_obj *obj)
{
	trace_constructed(pe, obj->coll);
	if (is_on(pe))
		record_element(pe, TRACE_CREATE, obj, 0, -1);
}

static void trace_leaving(struct pe *pe, struct ck_obj *obj)
{
	if (is_on(pe))
		record_element(pe, TRACE_LEAVE, obj, 0, place_leaves_to(obj));
}

static void trace_came(struct pe *pe, struct ck_obj *obj)
{
	if (is_on(pe))
		record_element(pe, TRACE_COME, obj, 0, -1);
}

/* In place of ck_kind.contribute, which most kinds do not have. */
static struct collection *contribute_traced(struct pe *pe, struct ck_obj *obj, const void *data,
					    uint64_t count, CkReduction op, const CkCallback *cb)
{
	const struct trace_node *all = ck_node_state(pe->node, PART_TRACE);
	const struct ck_kind *kind = all->kinds[obj->coll->type->kind];

	if (is_on(pe))
		record_element(pe, TRACE_CONTRIBUTE, obj, obj->n_contributed, -1);
	return kind->contribute ? kind->contribute(pe, obj, data, count, op, cb) : obj->coll;
}

/* ---- the program's own events ---------------------------------------------------------------- */

static void record_event(enum trace_kind kind, const char *name, uint64_t value)
{
	struct pe *pe = ck_self();

	if (!is_on(pe))
		return;
	unsigned what = name ? trace_event(pe->trace->file, name) : 0;
	struct trace_record *r = csd_trace_next(pe->trace, kind, what, -1);

	r->seq = 0;
	r->bytes = 0;
	trace_set_value(r, value);
	trace_done(pe->trace->file, r);
}

void CkTraceBegin(const char *name)
{
	record_event(TRACE_USER_BEGIN, name, 0);
}

void CkTraceEnd(void)
{
	record_event(TRACE_USER_END, NULL, 0);
}

void CkTraceMark(const char *name)
{
	record_event(TRACE_USER_MARK, name, 0);
}

void CkTraceCounter(const char *name, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	record_event(TRACE_USER_COUNTER, name, bits);
}

void CkTraceOn(void)
{
	struct pe *pe = ck_self();

	if (!pe->trace || pe->trace->on)
		return;
	pe->trace->on = true;
	record_event(TRACE_ON, NULL, 0);
}

void CkTraceOff(void)
{
	struct pe *pe = ck_self();

	if (!is_on(pe))
		return;
	record_event(TRACE_OFF, NULL, 0);
	pe->trace->on = false;
}

/* ---- the part -------------------------------------------------------------------------------- */

/* The kinds of all rooms below are known by now. */
static const struct place_watch watch = { .leaving = trace_leaving, .arrived = trace_came };

static int trace_node_start(struct node *node)
{
	struct ck_node *ck = ck_node_of(node);
	struct trace_node *all = ck_node_state(node, PART_TRACE);

	if (!node->trace.asked.on)
		return CK_PART_OFF;
	place_join(node, PART_TRACE, &watch);
	bodies_watch(node, body_traced);
	for (int i = CKGEN_MAINCHARE; i <= CKGEN_NODEGROUP; i++) {
		all->kinds[i] = ck->kinds[i];
		all->traced[i] = *ck->kinds[i];
		all->traced[i].contribute = contribute_traced;
		ck->kinds[i] = &all->traced[i];
	}
	return 0;
}

static void trace_pe_start(struct pe *pe)
{
	const struct trace_node *all = ck_node_state(pe->node, PART_TRACE);
	char name[256];

	for (int i = 0; i < all->n_types; i++) {
		const CkGenChare *type = all->types[i]->type;

		for (int e = 0; e < type->n_entries; e++) {
			snprintf(name, sizeof name, "%s::%s", type->name, type->entries[e].name);
			trace_add_name(pe->trace->file, TRACE_NAME_ENTRY,
				       (uint16_t)entry_number(all->types[i], (uint32_t)e), name);
		}
	}
}

static void trace_node_stop(struct node *node)
{
	struct trace_node *all = ck_node_state(node, PART_TRACE);

	for (int i = 0; i < all->n_types; i++)
		free(all->types[i]);
	free(all->types);
}

const struct ck_part trace_part = {
	.name = "trace",
	.number = PART_TRACE,
	.node_bytes = sizeof(struct trace_node),
	.watch = {
		.created = trace_created,
		.constructed = trace_constructed,
	},
	.node_start = trace_node_start,
	.pe_start = trace_pe_start,
	.node_stop = trace_node_stop,
};
