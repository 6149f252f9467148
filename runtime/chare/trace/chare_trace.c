/* SPDX-License-Identifier: Apache-2.0 */
/* chare_trace.c: records entry methods as an observer, and elements as a watch. */
#include "chare_trace.h"
#include "../observe/observe.h"
#include "../place/record/place.h"

#include <stdio.h>
#include <string.h>

enum { ENTRIES_MOST = UINT16_MAX };  /* entries with higher numbers share the last one */

struct trace_node {
	int n_entries;                    /* of all types; they have numbers from 1 */
	const struct ck_kind *kinds[CKGEN_NODEGROUP + 1];  /* as they are without a trace */
	struct ck_kind traced[CKGEN_NODEGROUP + 1];
};

static unsigned entry_number(int n)
{
	return n < ENTRIES_MOST ? (unsigned)n : ENTRIES_MOST;
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

/* `now->env` is the message of this call only if it has just been handled. A constructor of several
 * elements has none, a broadcast's elements share one, a call of a batch has a substitute, and a
 * call that has waited was recorded when it arrived. */
static void record_begin(struct pe *pe, int number, const struct ck_running *now)
{
	struct pe_trace *t = pe->trace;
	const struct cmi_msg *m = now->env ? &now->env->head : NULL;
	struct trace_record *r = csd_trace_next(t, TRACE_BEGIN, entry_number(number),
						m ? m->src_pe : -1);
	uint8_t keyed = TRACE_KEYED, direct = csd_trace_direct(t, m);

	r->seq = direct ? csd_trace_seq(pe, m, &keyed) : 0;
	r->flags = keyed | direct;
	if (direct && now->obj->coll->type->kind == CKGEN_NODEGROUP)
		r->flags |= TRACE_TO_NODE;
	set_index(r, now->obj);
	trace_done(t->file, r);
}

static void trace_begins(struct pe *pe, union observe_own *own, int number,
			 const struct ck_running *now)
{
	own->number = number;
	if (is_on(pe))
		record_begin(pe, number, now);
}

static void trace_ends(struct pe *pe, union observe_own *own)
{
	struct pe_trace *t = pe->trace;
	struct trace_record *r;

	if (!is_on(pe))
		return;
	r = csd_trace_next(t, TRACE_END, entry_number(own->number), -1);
	r->seq = 0;
	memset(r->index, 0, sizeof r->index);
	trace_done(t->file, r);
}

static size_t name_bytes(const CkGenChare *type)
{
	size_t bytes = 0;

	for (int i = 0; i < type->n_entries; i++)
		bytes += sizeof(struct trace_name) + strlen(type->name) + 2 + strlen(type->entries[i].name) + 8;
	return bytes;
}

static struct observe_numbers trace_type(struct node *node, const CkGenChare *type)
{
	struct trace_node *all = ck_node_state(node, PART_TRACE);
	const int first = all->n_entries + 1;

	all->n_entries += type->n_entries;
	node->trace.names_bytes += name_bytes(type);
	return (struct observe_numbers){ first, first };
}

bool trace_word_in_use(const struct cmi_msg *m)
{
	return ((const struct ck_env *)m)->flags & CK_ENV_SPECIAL;
}

/* ---- elements, contributions ----------------------------------------------------------------- */

static void record_element(struct pe *pe, enum trace_kind kind, const struct ck_obj *obj,
			   uint32_t seq, int to)
{
	const int number = observe_elements(obj->coll, PART_TRACE);
	struct trace_record *r = csd_trace_next(pe->trace, kind, entry_number(number), to);

	r->seq = seq;
	set_index(r, obj);
	trace_done(pe->trace->file, r);
}

static void trace_created(struct pe *pe, struct ck_obj *obj)
{
	observe_coll(pe, obj->coll);
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

/* Replaces ck_kind.contribute, which most kinds do not have. */
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

/* ---- "trace on" and "trace off" of somebody outside the job ---------------------------------- */

enum { H_SWITCH };

struct switch_msg {
	struct cmi_msg head;
	uint64_t on;
};

static void switch_here(struct pe *pe, bool on)
{
	for (int i = 0; i < csd_tree_n_children(pe, 0); i++) {
		struct switch_msg *m = ck_msg_new(pe, PART_TRACE, H_SWITCH,
						  CMI_F_SYSTEM | CMI_F_EXPEDITED, sizeof *m);

		m->on = on;
		csd_send_now(pe, csd_tree_child(pe, 0, i), &m->head);
	}
	(on ? CkTraceOn : CkTraceOff)();
}

static void switch_arrived(struct pe *pe, struct cmi_msg *head)
{
	const bool on = ((struct switch_msg *)(void *)head)->on;

	csd_msg_free(pe, head);
	switch_here(pe, on);
}

static const struct ck_handler handlers[] = {
	[H_SWITCH] = { "ck.trace.switch", switch_arrived,
		       .shape = { .least = sizeof(struct switch_msg), .exact = true,
				  .always = CMI_F_SYSTEM | CMI_F_EXPEDITED, .ways = { CSD_DOWN },
				  .astray = "its sender cannot say this about the trace" } },
};

static bool trace_obey(struct pe *pe, const struct csd_order *o)
{
	const bool on = !strcmp(o->arguments, "on");

	if (strcmp(o->word, "trace"))
		return false;
	if (!on && strcmp(o->arguments, "off")) {
		csd_answer(pe, o->id, false, "trace is followed by \"on\" or \"off\"");
		return true;
	}
	switch_here(pe, on);
	csd_answer(pe, o->id, true, "the trace is %s", on ? "on" : "off");
	return true;
}

/* ---- the part -------------------------------------------------------------------------------- */

static const struct observer observer = { CKGEN_NOTRACE, trace_type, trace_begins, trace_ends };
static const struct place_watch watch = { .leaving = trace_leaving, .arrived = trace_came };

/* By now the rooms below have registered their kinds. */
static int trace_node_start(struct node *node)
{
	struct ck_node *ck = ck_node_of(node);
	struct trace_node *all = ck_node_state(node, PART_TRACE);

	if (!node->trace.asked.on)
		return CK_PART_OFF;
	place_join(node, PART_TRACE, &watch);
	observe_join(node, PART_TRACE, &observer);
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
	const struct ck_node *ck = ck_node_of(pe->node);
	char name[256];
	int n = 1;

	for (int i = 0; i < ck->n_chares; i++) {
		const CkGenChare *type = ck->chares[i];

		for (int e = 0; e < type->n_entries; e++) {
			snprintf(name, sizeof name, "%s::%s", type->name, type->entries[e].name);
			trace_add_name(pe->trace->file, TRACE_NAME_ENTRY, (uint16_t)entry_number(n++), name);
		}
	}
}

const struct ck_part trace_part = {
	.name = "trace",
	.number = PART_TRACE,
	.node_bytes = sizeof(struct trace_node),
	.watch = {
		.created = trace_created,
		.constructed = observe_coll,
	},
	.handlers = CK_LIST(handlers),
	.obey = trace_obey,
	.node_start = trace_node_start,
	.pe_start = trace_pe_start,
};
