/* SPDX-License-Identifier: Apache-2.0 */
/*
 * insert.c: elements that come and go. Every index has a home PE, and all PEs compute the same one.
 * In an array with extents an element always lives on its home. In a sparse array it lives where it
 * was inserted, and its home knows where that is:
 *
 *	caller --call--> home --call--> where it lives           its home passes calls on
 *	                 home --make--> there --born--> home     an insertion; calls wait at home
 *	                 home <--gone-- there                    it was destroyed
 *
 * All calls of an element and all its creations go through its home, so they stay in order without
 * sequence numbers. A call that home passed on may arrive after the element was destroyed; it is
 * then sent back. Home knows how many come back: those that it passed on, less those that arrived
 * in time, which `gone` tells. All newer messages wait at home until the last one is back. So an
 * element that is inserted again gets everything in order, wherever it lives.
 *
 * A call of an element that does not exist creates it if the entry method is [createhere] or
 * [createhome]. Any other call waits at the element's home, and is an error once inserting is over
 * (closing.c).
 */
#include "place_int.h"
#include "../core/shape.h"
#include "../../machine/cmi_alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- records ------------------------------------------------------------------------------- */

struct dynamic *dynamic_get(struct pe *pe, struct collection *c)
{
	struct place_coll *p = place_of(c);
	const struct ck_node *ck = ck_node_of(pe->node);

	if (p->dyn)
		return p->dyn;
	p->dyn = cmi_alloc_zero(1, sizeof *p->dyn, "a collection");
	c->dynamic = true;
	for (int i = 0; i < CK_PARTS; i++)
		if (ck->parts[i] && ck->parts[i]->watch.dynamic)
			ck->parts[i]->watch.dynamic(pe, c);
	return p->dyn;
}

void coll_become_dynamic(struct pe *pe, struct collection *c)
{
	dynamic_get(pe, c);
}

/* The type of a sparse array is about to be set. */
void dynamic_create(struct pe *pe, struct collection *c, const struct ck_shape *shape)
{
	dynamic_get(pe, c);
	memcpy(c->start, shape->start, sizeof c->start);
	memcpy(c->step, shape->step, sizeof c->step);
	if (shape->empty)
		closing_open(pe, c);
}

static void fifo_free(struct pe *pe, struct msg_fifo *f)
{
	while (f->head)
		csd_msg_free(pe, msg_fifo_pop(f));
}

/* The name of the entry method, as in "Tree::grow", or of the operation that waits. */
void describe_waiting(struct pe *pe, const struct collection *c, const struct cmi_msg *m, char *buf, size_t len)
{
	if (m->handler == ck_handler(pe, PART_CALL, H_ELEMENT))
		describe_entry(c->type, ((const struct ck_env *)m)->entry, buf, len);
	else
		snprintf(buf, len, "%s_%s", c->type->name,
			 m->handler == ck_handler(pe, PART_PLACE, H_DESTROY) ? "ckDestroy" : "insert");
}

/* Checked mode, at exit. */
static void tell_waiting(struct pe *pe, const struct absent *a)
{
	const struct cmi_msg *first = a->waiting.head;
	char name[128], index[96];
	int n = 0;

	describe_waiting(pe, a->coll, first, name, sizeof name);
	index_describe(a->coll->type, a->index, index, sizeof index);
	for (const struct cmi_msg *m = first; m; m = m->next)
		n++;
	fprintf(stderr, "chard: PE %d (node %d): at exit %d calls wait for element %s of %s, which "
		"was not inserted; the first is %s from PE %d\n", pe->id, pe->node->job->node, n,
		index, a->coll->type->name, name, first->src_pe);
}

static void dynamic_fini(struct pe *pe, struct collection *c)
{
	struct dynamic *dyn = place_of(c)->dyn;
	const struct idmap_slot *s;

	free(place_of(c)->closing);
	free(place_of(c)->ready);
	seats_fini(pe, c);
	if (!dyn)
		return;
	for (size_t i = 0; (s = idmap_each(&dyn->away, &i)); i++) {
		struct absent *a = (struct absent *)s->value;

		if (pe->node->check && a->pe < 0 && a->waiting.head && c->type)
			tell_waiting(pe, a);
		fifo_free(pe, &a->back);
		fifo_free(pe, &a->waiting);
		free(a);
	}
	idmap_free(&dyn->away);
	idmap_free(&dyn->here);
	free(dyn->n_got);
	free(dyn);
}

void where_send(struct pe *pe, int dst_pe, int handler, uint8_t flags, struct where_msg what)
{
	struct where_msg *w = (struct where_msg *)csd_msg_alloc(pe, sizeof *w);

	what.head = w->head;
	*w = what;
	w->head.handler = ck_handler(pe, PART_PLACE, handler);
	w->head.flags = flags;
	csd_send(pe, dst_pe, &w->head);
}

/* Send a message about one element. */
static void tell_where(struct pe *pe, int dst_pe, struct where_msg what)
{
	where_send(pe, dst_pe, H_WHERE, 0, what);
}

static struct absent *absent_get(struct pe *pe, struct collection *c, CkIndex i)
{
	struct dynamic *dyn = dynamic_get(pe, c);
	struct absent *a = index_find(&dyn->away, i);

	if (a)
		return a;
	a = cmi_alloc_zero(1, sizeof *a, "an element");
	a->coll = c;
	a->index = i;
	a->pe = -1;
	a->back.tail = &a->back.head;
	a->waiting.tail = &a->waiting.head;
	index_add(&dyn->away, a);
	return a;
}

/* ---- what this PE has --------------------------------------------------------------------------- */

/* Close the gaps that destroyed elements left. */
static void close_gaps(struct collection *c)
{
	struct dynamic *dyn = place_of(c)->dyn;
	uint64_t n = 0;

	for (uint64_t i = 0; i < c->n_slots; i++) {
		if (!c->elems[i])
			continue;
		dyn->n_got[n] = dyn->n_got[i];
		c->elems[i]->ordinal = (uint32_t)n;
		c->elems[n++] = c->elems[i];
	}
	c->n_slots = n;
	dyn->n_holes = 0;
}

static void elems_resize(struct collection *c, uint64_t cap)
{
	struct dynamic *dyn = place_of(c)->dyn;
	c->elems = cmi_realloc(c->elems, cap, sizeof(*c->elems), "elements");
	dyn->n_got = cmi_realloc(dyn->n_got, cap, sizeof(*dyn->n_got), "elements");
	dyn->cap = cap;
}

/* This PE has created its elements of a sparse array. */
void dynamic_constructed(struct collection *c)
{
	elems_resize(c, c->n_slots > 8 ? c->n_slots : 8);
	for (uint64_t i = 0; i < c->n_slots; i++) {
		place_of(c)->dyn->n_got[i] = 0;
		index_add(&place_of(c)->dyn->here, c->elems[i]);
	}
}

static uint64_t sparse_slot(struct collection *c)
{
	struct dynamic *dyn = place_of(c)->dyn;

	if (c->n_slots == dyn->cap && dyn->n_holes > c->n_slots / 2 && !c->walks)
		close_gaps(c);
	if (c->n_slots == dyn->cap)
		elems_resize(c, dyn->cap * 2);
	dyn->n_got[c->n_slots] = 0;
	return c->n_slots++;
}

/* A new element; it is not constructed yet. */
static struct ck_obj *element_add(struct pe *pe, struct collection *c, CkIndex i)
{
	struct ck_obj *obj;

	if (c->sparse) {
		obj = obj_add(c, i, sparse_slot(c));
		index_add(&place_of(c)->dyn->here, obj);
	} else {
		obj = obj_add(c, i, coll_slot(c, index_place(c, i)));
	}
	c->n_local++;
	coll_line_up(c);
	ck_created(pe, obj);
	return obj;
}

/* Destroy an element: from now on nobody finds it. */
void element_destroy(struct pe *pe, struct ck_obj *obj)
{
	struct collection *c = obj->coll;
	struct dynamic *dyn = dynamic_get(pe, c);

	if (c->elems[obj->ordinal] != obj)
		csd_abort(pe, "CkDestroy: the element of %s is destroyed already", c->type->name);
	c->elems[obj->ordinal] = NULL;
	c->n_local--;
	c->n_here = c->n_line = 0;
	if (c->sparse) {
		int home = index_home(pe, c, obj->index);

		index_remove(&dyn->here, obj->index);
		dyn->n_holes++;
		if (home != pe->id)
			tell_where(pe, home, (struct where_msg){ .coll = c->id, .index = obj->index,
			     .kind = WHERE_GONE, .count = { dyn->n_got[obj->ordinal] } });
	}
	destroy_later(pe, obj);
	ck_destroyed(pe, obj);
}

/* ---- at home ---------------------------------------------------------------------------------- */

static void handle_again(struct pe *pe, struct cmi_msg *m)
{
	pe->node->handlers[m->handler].fn(pe, m);
}

/* Handle the waiting messages in order. Those that cannot be handled yet wait again. */
static void resume(struct pe *pe, struct msg_fifo *f)
{
	struct cmi_msg *m = f->head, *next;

	f->head = NULL;
	f->tail = &f->head;
	for (; m; m = next) {
		next = m->next;
		((struct ck_env *)m)->flags &= (uint8_t)~CK_CALL_BACK;
		handle_again(pe, m);
	}
}

/* The record ends. The messages that waited in it are handled against the new state. */
static void resume_all(struct pe *pe, struct absent *a)
{
	index_remove(&place_of(a->coll)->dyn->away, a->index);
	*a->back.tail = a->waiting.head;
	if (a->waiting.head)
		a->back.tail = a->waiting.tail;
	resume(pe, &a->back);
	free(a);
}

/* Create the element. env holds the constructor's parameters; NULL: there are none. */
static void make_here(struct pe *pe, struct collection *c, CkIndex i, struct ck_env *env)
{
	struct ck_obj *obj = element_add(pe, c, i);

	if (env)
		deliver_new(pe, obj, env);
	else
		construct(pe, obj, NULL);
}

/* Runs at home, where no record says that the element exists. */
static void element_make(struct pe *pe, struct collection *c, CkIndex i, int to, struct ck_env *env)
{
	struct absent *a;

	if (to == CK_PE_ANY || to == pe->id) {
		a = index_find(&dynamic_get(pe, c)->away, i);
		make_here(pe, c, i, env);
		if (a)
			resume_all(pe, a);
		return;
	}
	if (!env)
		env = env_new(pe, 0, 0);
	env->coll = c->id;
	env->index = i;
	env->head.handler = ck_handler(pe, PART_PLACE, H_MAKE);
	a = absent_get(pe, c, i);
	a->pe = to;
	a->born = a->asked = false;
	a->n_sent = a->n_back = a->n_came = 0;
	csd_send(pe, to, &env->head);
}

/* A call, a destruction or an insertion found no element at its home. */
static void wait_for(struct pe *pe, struct collection *c, CkIndex i, struct cmi_msg *m)
{
	struct absent *a = absent_get(pe, c, i);

	if (!a->waiting.head)
		a->since = closing_wave(c);
	msg_fifo_push(&a->waiting, m);
	closing_missed(pe, c);
}

static void element_missing(struct pe *pe, struct collection *c, CkIndex i, struct ck_env *env)
{
	uint32_t flags = 0;

	if (env->head.handler == ck_handler(pe, PART_CALL, H_ELEMENT) && env->entry < c->type->n_entries)
		flags = c->entries[env->entry].flags;
	if (!(flags & (CKGEN_CREATEHERE | CKGEN_CREATEHOME))) {
		wait_for(pe, c, i, &env->head);
		return;
	}
	element_make(pe, c, i, flags & CKGEN_CREATEHERE && c->sparse ? env->head.src_pe : pe->id, NULL);
	handle_again(pe, &env->head);
}

/* Every call that home passed on too late has come back. */
static void back_complete(struct pe *pe, struct absent *a)
{
	if (a->pe < 0 && a->n_came == a->n_back)
		resume_all(pe, a);
}

static void came_back(struct pe *pe, struct collection *c, struct absent *a, struct ck_env *env)
{
	if (!a)
		csd_abort(pe, "message from PE %d for an element of %s that never lived there",
			  env->head.src_pe, c->type->name);
	a->n_came++;
	msg_fifo_push(&a->back, &env->head);
	back_complete(pe, a);
}

static void act_on(struct pe *pe, struct ck_obj *obj, struct ck_env *env)
{
	if (env->head.handler == ck_handler(pe, PART_PLACE, H_DESTROY)) {
		csd_msg_free(pe, &env->head);
		element_destroy(pe, obj);
	} else {
		deliver_to(pe, obj, env, false);
	}
}

/* A call of an element of a sparse array, or its destruction. */
static void sparse_arrived(struct pe *pe, struct collection *c, struct ck_env *env)
{
	struct dynamic *dyn = place_of(c)->dyn;
	struct ck_obj *obj = index_find(&dyn->here, env->index);
	int home;

	if (CSD_LIKELY(obj != NULL)) {
		dyn->n_got[obj->ordinal]++;
		act_on(pe, obj, env);
		return;
	}
	home = index_home(pe, c, env->index);
	if (home != pe->id) {
		env->flags |= CK_CALL_BACK;
		csd_send(pe, home, &env->head);
		return;
	}
	struct absent *a = index_find(&dyn->away, env->index);

	if (env->flags & CK_CALL_BACK) {
		came_back(pe, c, a, env);
	} else if (!a || (a->pe < 0 && a->n_came == a->n_back)) {
		element_missing(pe, c, env->index, env);
	} else if (a->pe < 0 || !a->born || a->waiting.head || a->back.head) {
		msg_fifo_push(&a->waiting, &env->head);
	} else {
		a->n_sent++;
		csd_send(pe, a->pe, &env->head);
	}
}

/* A call of an element that is not on this PE, or that its place does not find. */
static void seek(struct pe *pe, struct collection *c, struct ck_env *env)
{
	if (c->sparse)
		sparse_arrived(pe, c, env);
	else
		element_missing(pe, c, index_at(c, env->place), env);
}

static void destroy_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	struct collection *c = coll_get(pe, env->coll);

	if (!c->constructed) {
		call_wait(pe, c, m);
	} else if (c->sparse) {
		sparse_arrived(pe, c, env);
	} else {
		struct ck_obj *obj = coll_find(c, env->place);

		if (obj)
			act_on(pe, obj, env);
		else
			seek(pe, c, env);
	}
}

_Noreturn static void twice(struct pe *pe, const struct collection *c, CkIndex i, int from)
{
	char index[96];

	index_describe(c->type, i, index, sizeof index);
	csd_abort(pe, "%s_insert from PE %d: element %s exists already; an element can be inserted "
		  "again when it is destroyed", c->type->name, from, index);
}

/* In an array with extents the map alone decides where an element lives. */
static void check_place(struct pe *pe, const struct collection *c, CkIndex i, int to, int from)
{
	char index[96];
	int home = index_home(pe, c, i);

	index_describe(c->type, i, index, sizeof index);
	if (to != CK_PE_ANY && to != home)
		csd_abort(pe, "%s_insert from PE %d: element %s on PE %d: in an array with extents it lives "
			  "on PE %d; give CK_PE_ANY, or make the array with %s_ckNewEmpty", c->type->name,
			  from, index, to, home, c->type->name);
}

static void insert_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	struct collection *c = coll_get(pe, env->coll);
	CkIndex i = env->index;

	if (!c->constructed) {
		call_wait(pe, c, m);
		return;
	}
	if (index_home(pe, c, i) != pe->id)
		csd_misfit(pe, m, "this is not the home of the element that it inserts");
	/* The caller may not have known yet what kind of array it is. */
	if (!c->sparse)
		check_place(pe, c, i, env->to_pe, m->src_pe);
	if (coll_local(c, i))
		twice(pe, c, i, m->src_pe);
	struct absent *a = index_find(&dynamic_get(pe, c)->away, i);

	if (a && a->pe >= 0 && a->born && !a->asked && !a->back.head) {
		/* The element may have been destroyed without home knowing yet. */
		a->asked = true;
		tell_where(pe, a->pe, (struct where_msg){ .coll = c->id, .index = i,
		     .kind = WHERE_ASK, .count = { (uint64_t)m->src_pe } });
	}
	if (a && (a->pe >= 0 || a->n_came < a->n_back)) {
		msg_fifo_push(&a->waiting, m);
		return;
	}
	closing_count(pe, c, INSERTS_DONE);
	env->flags &= (uint8_t)~CK_ENV_UNPLACED;
	int to = env->to_pe;

	env->refnum = 0;
	element_make(pe, c, i, to, env);
}

/* ---- where it lives ---------------------------------------------------------------------------- */

static void make_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	struct collection *c = coll_get(pe, env->coll);

	if (!c->constructed) {
		call_wait(pe, c, m);
		return;
	}
	if (!c->sparse || coll_local(c, env->index))
		csd_misfit(pe, m, "no such element is to be made here");
	/* Sent before the constructor runs, because it may destroy the element. */
	tell_where(pe, m->src_pe, (struct where_msg){ .coll = c->id, .index = env->index,
	     .kind = WHERE_BORN });
	make_here(pe, c, env->index, env);
}

/* ---- the words between them --------------------------------------------------------------------- */

static struct absent *record_of(struct pe *pe, const struct collection *c, const struct where_msg *w)
{
	const struct dynamic *dyn = place_of(c)->dyn;
	struct absent *a = dyn ? index_find(&dyn->away, w->index) : NULL;

	if (!a || a->pe != w->head.src_pe)
		csd_abort(pe, "message from PE %d about an element that does not live there",
			  w->head.src_pe);
	return a;
}

static void where_arrived(struct pe *pe, struct cmi_msg *m)
{
	const struct where_msg w = *(const struct where_msg *)m;
	struct collection *c = coll_get(pe, w.coll);
	struct absent *a;

	csd_msg_free(pe, m);
	switch ((enum where_kind)w.kind) {
	case WHERE_BORN:
		a = record_of(pe, c, &w);
		a->born = true;
		resume(pe, &a->waiting);
		break;
	case WHERE_GONE:
		a = record_of(pe, c, &w);
		a->pe = -1;
		a->n_back = a->n_sent - (uint32_t)w.count[0];
		back_complete(pe, a);
		break;
	case WHERE_ASK:
		if (coll_local(c, w.index))
			tell_where(pe, w.head.src_pe, (struct where_msg){ .coll = c->id, .index = w.index,
			     .kind = WHERE_EXISTS, .count = { w.count[0] } });
		break;
	case WHERE_EXISTS:
		twice(pe, c, w.index, (int)w.count[0]);
	case WHERE_CHECK:
	case WHERE_WAVE:
	case WHERE_SUM:
	case WHERE_VERDICT:
		break; /* these go to closing.c */
	}
}

_Noreturn static void overdue(struct pe *pe, const struct absent *a)
{
	const struct cmi_msg *m = a->waiting.head;
	char name[128], index[96];

	describe_waiting(pe, a->coll, m, name, sizeof name);
	index_describe(a->coll->type, a->index, index, sizeof index);
	csd_abort(pe, "PE %d called %s on element %s, which does not exist, and inserting is over; "
		  "insert it, or call %s_beginInserting before", m->src_pe, name, index,
		  a->coll->type->name);
}

void absent_overdue(struct pe *pe, struct collection *c, uint32_t wave)
{
	const struct idmap *away = &dynamic_get(pe, c)->away;
	const struct idmap_slot *s;

	for (size_t i = 0; (s = idmap_each(away, &i)); i++) {
		const struct absent *a = (const struct absent *)s->value;

		if (a->pe >= 0 || a->n_came < a->n_back || !a->waiting.head)
			continue;
		if ((int32_t)(a->since - wave) < 0)
			overdue(pe, a);
		closing_missed(pe, c);
	}
}

/* ---- what programs call -------------------------------------------------------------------------- */

static void check_array(struct pe *pe, const CkGenChare *type, const char *what)
{
	if (type->kind != CKGEN_ARRAY)
		csd_abort(pe, "%s: %s is no array", what, type->name);
}

void CkGen_insert(const CkGenChare *chare, const CkElement *e, int to, void *payload)
{
	struct pe *pe = ck_self();
	struct ck_env *env = create_take(pe, chare, payload);
	struct collection *c = coll_get(pe, e->id);

	check_array(pe, chare, "insert");
	if (to != CK_PE_ANY && (to < 0 || to >= pe->node->job->n_pes))
		csd_abort(pe, "%s_insert: PE %d; the job has PEs 0-%d", chare->name, to,
			  pe->node->job->n_pes - 1);
	if (c->type && !c->sparse)
		check_place(pe, c, e->index, to, pe->id);
	env->to_pe = to;
	closing_count(pe, c, INSERTS_SENT);
	env->head.handler = ck_handler(pe, PART_PLACE, H_INSERT);
	env->coll = e->id;
	if (c->type)
		csd_send(pe, address_by_index(pe, c, e->index, env), &env->head);
	else
		address_later(pe, c, e->index, env);
}

void CkGen_destroy(const CkElement *e)
{
	struct pe *pe = ck_self();
	const struct collection *c = coll_get(pe, e->id);

	if (c->type)
		check_array(pe, c->type, "ckDestroy");
	send_about(pe, c->type, e, env_new(pe, 0, 0), ck_handler(pe, PART_PLACE, H_DESTROY));
}

/* ---- the part ------------------------------------------------------------------------------------ */

/* ---- what may come from other processes ------------------------------------------------------------- */

static const char *insert_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const int to = ((const struct ck_env *)m)->to_pe;

	return to != CK_PE_ANY && (uint32_t)to >= (uint32_t)pe->node->job->n_pes ?
	       "it names a PE that does not exist" : shape_coll(pe, m);
}

static const char *where_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct where_msg *w = (const struct where_msg *)m;

	if (shape_id(pe, w->coll))
		return shape_id(pe, w->coll);
	if (!coll_get(pe, w->coll)->constructed)
		return "its collection does not exist yet";
	return w->kind <= WHERE_EXISTS ? NULL : "it is of no kind";
}

static const char *ready_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const uint64_t id = ((const struct where_msg *)m)->coll;

	return shape_id(pe, id) ? shape_id(pe, id) :
	       csd_tree_parent_of(pe, m->src_pe, (int)(id >> 32)) == pe->id ? NULL :
	       "its sender is not below this PE";
}

static const struct ck_handler handlers[] = {
	[H_CREATE] = { "ck.create", create_arrived, true,
		       .shape = { CK_SHAPE_CALL, .misfit = create_misfit } },
	[H_INSERT] = { "ck.insert", insert_arrived, .shape = { CK_SHAPE_CALL, .misfit = insert_misfit } },
	[H_MAKE] = { "ck.make", make_arrived, .shape = { CK_SHAPE_CALL, .misfit = shape_coll } },
	[H_DESTROY] = { "ck.destroy", destroy_arrived, .shape = { CK_SHAPE_ENV, .misfit = shape_coll } },
	[H_WHERE] = { "ck.where", where_arrived,
		      .shape = { CK_SHAPE_STRUCT(struct where_msg), .misfit = where_misfit } },
	[H_READY] = { "ck.ready", ready_arrived,
		      .shape = { CK_SHAPE_STRUCT(struct where_msg), .misfit = ready_misfit } },
	[H_CLOSING] = { "ck.closing", closing_arrived,
			.shape = { CK_SHAPE_STRUCT(struct where_msg), .always = CMI_F_SYSTEM,
				   .misfit = closing_misfit } },
	[H_ANNOUNCE] = { "ck.announce", announce_arrived, .apart = true, .early = true,
			 .shape = { CK_SHAPE_CALL, .always = CMI_F_EXPEDITED, .misfit = announce_misfit } },
	[H_KNOWN] = { "ck.known", known_arrived, .apart = true, .early = true,
		      .shape = { ANNOUNCE_SHAPE, .always = CMI_F_EXPEDITED, .misfit = known_misfit } },
	[H_BORN] = { "ck.born", born_arrived, .apart = true,
		     .shape = { ANNOUNCE_SHAPE, .misfit = born_misfit } },
	[H_SEAT] = { "ck.seat", seat_arrived, .shape = { CK_SHAPE_ENV, .misfit = seat_misfit } },
};
static const struct ck_kind kinds[] = {
	{ .kind = CKGEN_ARRAY, .local = array_local, .destroy = element_destroy },
	{
		.kind = CKGEN_GROUP,
		.announced = group_announced,
		.born = group_born,
		.local = group_local,
	},
	{ .kind = CKGEN_MAINCHARE, .local = array_local },
};

const struct ck_part place_part = {
	.name = "place",
	.number = PART_PLACE,
	.pe_bytes = sizeof(struct idmap),         /* announce.c's */
	.coll_bytes = sizeof(struct place_coll),
	.handlers = handlers,
	.n_handlers = sizeof handlers / sizeof *handlers,
	.kinds = kinds,
	.n_kinds = sizeof kinds / sizeof *kinds,
	.watch.fini = dynamic_fini,
	.describe = place_describe,
	.pe_free = announce_pe_free,
	.seek = seek,
};
