/* SPDX-License-Identifier: Apache-2.0 */
/*
 * insert.c: elements that come and go. Every index has a home PE, which all PEs compute alike. In
 * an array with extents an element lives on its home, always. In a sparse array it lives where it
 * was inserted, and its home knows where that is:
 *
 *	caller --call--> home --call--> where it lives           its home passes calls on
 *	                 home --make--> there --born--> home     an insertion; calls wait at home
 *	                 home <--gone-- there                    it was destroyed
 *
 * All calls of an element go through its home, and all of its makings, so order holds without
 * numbers. Calls that home passed on and that come too late come back, and home knows how many:
 * `gone` says how many came in time. Until the last of them is back, all that is newer waits at
 * home, so a new life of the element gets everything in order, wherever it is.
 *
 * A call of an element that does not exist waits at its home; or makes it ([createhere],
 * [createhome]); or is an error, once inserting is over (closing.c).
 */
#include "dynamic_int.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- records ------------------------------------------------------------------------------- */

struct dynamic *dynamic_get(struct pe *pe, struct collection *c)
{
	if (c->dyn)
		return c->dyn;
	scans_dynamic(pe, c);
	c->dyn = calloc(1, sizeof *c->dyn);
	if (!c->dyn)
		csd_abort(pe, "no memory for a collection");
	reductions_dynamic(pe, c);
	return c->dyn;
}

/* A sparse array is about to be typed. */
void dynamic_create(struct pe *pe, struct collection *c, const struct ck_shape *shape)
{
	struct dynamic *dyn = dynamic_get(pe, c);

	for (int d = 0; d < 6; d++) {
		dyn->start[d] = shape->start[d];
		dyn->step[d] = shape->step[d];
	}
	if (shape->empty)
		closing_open(pe, c);
}

static void fifo_free(struct pe *pe, struct msg_fifo *f)
{
	while (f->head)
		csd_msg_free(pe, msg_fifo_pop(f));
}

/* "Tree::grow", or what else waits. */
static void describe_waiting(struct pe *pe, const struct collection *c, const struct cmi_msg *m,
			     char *buf, size_t len)
{
	if (m->handler == pe->node->ck->h_element)
		describe_entry(c->type, ((const struct ck_env *)m)->entry, buf, len);
	else
		snprintf(buf, len, "%s_%s", c->type->name,
			 m->handler == pe->node->ck->h_destroy ? "ckDestroy" : "insert");
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

void dynamic_fini(struct pe *pe, struct collection *c)
{
	struct dynamic *dyn = c->dyn;

	free(c->closing);
	free(c->ready);
	if (!dyn)
		return;
	for (size_t h = 0; dyn->away.slot && h <= dyn->away.mask; h++) {
		struct absent *a = (struct absent *)dyn->away.slot[h];

		if (!a)
			continue;
		if (pe->node->check && a->pe < 0 && a->waiting.head && c->type)
			tell_waiting(pe, a);
		fifo_free(pe, &a->back);
		fifo_free(pe, &a->waiting);
		free(a);
	}
	free(dyn->away.slot);
	free(dyn->here.slot);
	free(dyn->n_got);
	free(dyn->ahead);
	free(dyn->child);
	free(dyn);
}

void where_send(struct pe *pe, int dst_pe, struct where_msg what)
{
	struct where_msg *w = (struct where_msg *)csd_msg_alloc(pe, sizeof *w);

	what.head = w->head;
	*w = what;
	w->head.handler = (uint16_t)pe->node->ck->h_where;
	w->head.flags = what.kind >= WHERE_UNCOUNTED ? CMI_F_SYSTEM : 0;
	csd_send(pe, dst_pe, &w->head);
}

/* ---- where an index belongs ------------------------------------------------------------------- */

int index_home(struct pe *pe, const struct collection *c, CkIndex i)
{
	if (!c->sparse) {
		uint64_t place = index_place(c, i);

		if (place == UINT64_MAX)
			index_bad(pe, c, "insertion", i);
		return coll_home(pe, c, place);
	}
	if (c->map)
		return coll_mapped_home(pe, c, i);
	uint64_t at = index_lattice(c, i);

	if (at != UINT64_MAX)
		return coll_block_home(c, at);
	return (int)(index_hash(i) % (uint64_t)pe->node->job->n_pes);
}

/* The element of this PE, or NULL. */
struct ck_obj *coll_local(const struct collection *c, CkIndex i)
{
	if (c->sparse)
		return index_find(&c->dyn->here, i);
	uint64_t place = index_place(c, i);

	return place == UINT64_MAX ? NULL : coll_find(c, place);
}

static struct absent *absent_get(struct pe *pe, struct collection *c, CkIndex i)
{
	struct dynamic *dyn = dynamic_get(pe, c);
	struct absent *a = index_find(&dyn->away, i);

	if (a)
		return a;
	a = calloc(1, sizeof *a);
	if (!a)
		csd_abort(pe, "no memory for an element");
	a->coll = c;
	a->index = i;
	a->pe = -1;
	a->back.tail = &a->back.head;
	a->waiting.tail = &a->waiting.head;
	index_add(pe, &dyn->away, a);
	return a;
}

/* ---- what this PE has --------------------------------------------------------------------------- */

/* Close the gaps that destroyed elements left. */
static void compact(struct collection *c)
{
	struct dynamic *dyn = c->dyn;
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

static void resize(struct pe *pe, struct collection *c, uint64_t cap)
{
	struct dynamic *dyn = c->dyn;
	struct ck_obj **elems = realloc(c->elems, cap * sizeof(*elems));

	if (elems)
		c->elems = elems;
	uint32_t *n_got = realloc(dyn->n_got, cap * sizeof(*n_got));

	if (!elems || !n_got)
		csd_abort(pe, "no memory for %llu elements", (unsigned long long)cap);
	dyn->n_got = n_got;
	dyn->cap = cap;
}

/* A sparse array's elements of this PE exist. */
void dynamic_constructed(struct pe *pe, struct collection *c)
{
	resize(pe, c, c->n_slots > 8 ? c->n_slots : 8);
	for (uint64_t i = 0; i < c->n_slots; i++) {
		c->dyn->n_got[i] = 0;
		index_add(pe, &c->dyn->here, c->elems[i]);
	}
	if (c->n_local)
		reductions_full(pe, c);
}

static uint64_t sparse_slot(struct pe *pe, struct collection *c)
{
	struct dynamic *dyn = c->dyn;

	if (c->n_slots == dyn->cap && dyn->n_holes > c->n_slots / 2 && !dyn->busy)
		compact(c);
	if (c->n_slots == dyn->cap)
		resize(pe, c, dyn->cap * 2);
	dyn->n_got[c->n_slots] = 0;
	return c->n_slots++;
}

/* A new element; it is not constructed yet. */
static struct ck_obj *element_add(struct pe *pe, struct collection *c, CkIndex i)
{
	struct ck_obj *obj;

	if (c->sparse) {
		obj = obj_alloc(pe, c, i, sparse_slot(pe, c));
		index_add(pe, &c->dyn->here, obj);
	} else {
		obj = obj_alloc(pe, c, i, coll_slot(c, index_place(c, i)));
	}
	c->n_local++;
	if (!c->sparse && !c->map && c->n_local == c->n_slots) {
		/* Complete again: calls take the short way. */
		c->n_here = c->n_slots;
		c->n_line = c->type->nd <= 1 ? c->n_here : 0;
	}
	reductions_added(pe, c);
	return obj;
}

/* From now on nobody finds it. */
void element_destroy(struct pe *pe, struct ck_obj *obj)
{
	struct collection *c = obj->coll;
	struct dynamic *dyn = dynamic_get(pe, c);
	uint32_t n_contributed = obj->n_contributed;

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
			where_send(pe, home, (struct where_msg){ .coll = c->id, .index = obj->index,
				   .kind = WHERE_GONE, .count = { dyn->n_got[obj->ordinal] } });
	}
	destroy_later(pe, obj);
	reductions_removed(pe, c, n_contributed);
}

/* ---- at home ---------------------------------------------------------------------------------- */

static void handle(struct pe *pe, struct cmi_msg *m)
{
	pe->node->handlers[m->handler].fn(pe, m);
}

/* Handle what waited, in order. What cannot be handled yet waits again. */
static void resume(struct pe *pe, struct msg_fifo *f)
{
	struct cmi_msg *m = f->head, *next;

	f->head = NULL;
	f->tail = &f->head;
	for (; m; m = next) {
		next = m->next;
		((struct ck_env *)m)->flags &= (uint8_t)~CK_ENV_BACK;
		handle(pe, m);
	}
}

/* The record is over: what waited in it finds what there is now. */
static void resume_all(struct pe *pe, struct absent *a)
{
	index_remove(&a->coll->dyn->away, a->index);
	*a->back.tail = a->waiting.head;
	if (a->waiting.head)
		a->back.tail = a->waiting.tail;
	resume(pe, &a->back);
	free(a);
}

/* The element is made; env holds the constructor's parameters, NULL: it has none. */
static void make_here(struct pe *pe, struct collection *c, CkIndex i, struct ck_env *env)
{
	struct ck_obj *obj = element_add(pe, c, i);

	if (env)
		deliver_new(pe, obj, env);
	else
		construct(pe, obj, NULL);
}

/* At home, where no record says that it exists. */
static void make(struct pe *pe, struct collection *c, CkIndex i, int to, struct ck_env *env)
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
	env->head.handler = (uint16_t)pe->node->ck->h_make;
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

void element_missing(struct pe *pe, struct collection *c, CkIndex i, struct ck_env *env)
{
	uint32_t flags = 0;

	if (env->head.handler == pe->node->ck->h_element && env->entry < c->type->n_entries)
		flags = c->entries[env->entry].flags;
	if (!(flags & (CKGEN_CREATEHERE | CKGEN_CREATEHOME))) {
		wait_for(pe, c, i, &env->head);
		return;
	}
	make(pe, c, i, flags & CKGEN_CREATEHERE && c->sparse ? env->head.src_pe : pe->id, NULL);
	handle(pe, &env->head);
}

/* Everything that home passed on has come back, as far as it came too late. */
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
	if (env->head.handler == pe->node->ck->h_destroy) {
		csd_msg_free(pe, &env->head);
		element_destroy(pe, obj);
	} else {
		deliver_to(pe, obj, env, false);
	}
}

/* A call of an element of a sparse array, or its destruction. */
void sparse_arrived(struct pe *pe, struct collection *c, struct ck_env *env)
{
	struct dynamic *dyn = c->dyn;
	struct ck_obj *obj = index_find(&dyn->here, env->index);
	int home;

	if (CSD_LIKELY(obj != NULL)) {
		dyn->n_got[obj->ordinal]++;
		act_on(pe, obj, env);
		return;
	}
	home = index_home(pe, c, env->index);
	if (home != pe->id) {
		env->flags |= CK_ENV_BACK;
		csd_send(pe, home, &env->head);
		return;
	}
	struct absent *a = index_find(&dyn->away, env->index);

	if (env->flags & CK_ENV_BACK) {
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

void destroy_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	struct collection *c = coll_get(pe, env->coll);

	if (!c->constructed) {
		coll_wait(c, m);
	} else if (c->sparse) {
		sparse_arrived(pe, c, env);
	} else {
		struct ck_obj *obj = coll_find(c, env->place);

		if (obj)
			act_on(pe, obj, env);
		else
			element_missing(pe, c, index_at(c, env->place), env);
	}
}

_Noreturn static void twice(struct pe *pe, const struct collection *c, CkIndex i, int from)
{
	char index[96];

	index_describe(c->type, i, index, sizeof index);
	csd_abort(pe, "%s_insert from PE %d: element %s exists already; an element can be inserted "
		  "again when it is destroyed", c->type->name, from, index);
}

/* An array with extents has its elements where the map puts them. */
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

void insert_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	struct collection *c = coll_get(pe, env->coll);
	CkIndex i = env->index;

	if (!c->constructed) {
		coll_wait(c, m);
		return;
	}
	/* Who called may not have known yet what kind of array it is. */
	if (!c->sparse)
		check_place(pe, c, i, m->prio, m->src_pe);
	if (coll_local(c, i))
		twice(pe, c, i, m->src_pe);
	struct absent *a = index_find(&dynamic_get(pe, c)->away, i);

	if (a && a->pe >= 0 && a->born && !a->asked && !a->back.head) {
		/* It may have been destroyed, and home does not know yet. */
		a->asked = true;
		where_send(pe, a->pe, (struct where_msg){ .coll = c->id, .index = i,
			   .kind = WHERE_ASK, .count = { (uint64_t)m->src_pe } });
	}
	if (a && (a->pe >= 0 || a->n_came < a->n_back)) {
		msg_fifo_push(&a->waiting, m);
		return;
	}
	closing_count(pe, c, INSERTS_DONE);
	env->flags &= (uint8_t)~CK_ENV_UNPLACED;
	make(pe, c, i, m->prio, env);
}

/* ---- where it lives ---------------------------------------------------------------------------- */

void make_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	struct collection *c = coll_get(pe, env->coll);

	if (!c->constructed) {
		coll_wait(c, m);
		return;
	}
	/* Before the constructor, which may destroy it. */
	where_send(pe, m->src_pe, (struct where_msg){ .coll = c->id, .index = env->index,
		   .kind = WHERE_BORN });
	make_here(pe, c, env->index, env);
}

/* ---- the words between them --------------------------------------------------------------------- */

static struct absent *record_of(struct pe *pe, const struct collection *c, const struct where_msg *w)
{
	struct absent *a = c->dyn ? index_find(&c->dyn->away, w->index) : NULL;

	if (!a || a->pe != w->head.src_pe)
		csd_abort(pe, "message from PE %d about an element that does not live there",
			  w->head.src_pe);
	return a;
}

static void element_where(struct pe *pe, struct collection *c, const struct where_msg *w)
{
	struct absent *a;

	switch (w->kind) {
	case WHERE_BORN:
		a = record_of(pe, c, w);
		a->born = true;
		resume(pe, &a->waiting);
		break;
	case WHERE_GONE:
		a = record_of(pe, c, w);
		a->pe = -1;
		a->n_back = a->n_sent - (uint32_t)w->count[0];
		back_complete(pe, a);
		break;
	case WHERE_ASK:
		if (coll_local(c, w->index))
			where_send(pe, w->head.src_pe, (struct where_msg){ .coll = c->id,
				   .index = w->index, .kind = WHERE_EXISTS,
				   .count = { w->count[0] } });
		break;
	case WHERE_EXISTS:
		twice(pe, c, w->index, (int)w->count[0]);
	}
}

void where_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct where_msg w = *(struct where_msg *)m;
	struct collection *c;

	csd_msg_free(pe, m);
	c = coll_get(pe, w.coll);
	if (w.kind <= WHERE_EXISTS)
		element_where(pe, c, &w);
	else if (w.kind == WHERE_READY)
		ready_arrived(pe, c);
	else if (w.kind <= WHERE_EMPTY)
		reductions_where(pe, c, &w);
	else
		closing_where(pe, c, &w);
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
	const struct index_table *t = &dynamic_get(pe, c)->away;

	for (size_t h = 0; t->slot && h <= t->mask; h++) {
		const struct absent *a = (const struct absent *)t->slot[h];

		if (!a || a->pe >= 0 || a->n_came < a->n_back || !a->waiting.head)
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
	struct ck_env *env = take_new(pe, chare, payload);
	struct collection *c = coll_get(pe, e->id);

	check_array(pe, chare, "insert");
	if (to != CK_PE_ANY && (to < 0 || to >= pe->node->job->n_pes))
		csd_abort(pe, "%s_insert: PE %d; the job has PEs 0-%d", chare->name, to,
			  pe->node->job->n_pes - 1);
	if (c->type && !c->sparse)
		check_place(pe, c, e->index, to, pe->id);
	env->head.prio = to;
	closing_count(pe, c, INSERTS_SENT);
	send_about(pe, chare, e, env, pe->node->ck->h_insert);
}

void CkGen_destroy(const CkElement *e)
{
	struct pe *pe = ck_self();
	const struct collection *c = coll_get(pe, e->id);

	if (c->type)
		check_array(pe, c->type, "ckDestroy");
	send_about(pe, c->type, e, env_new(pe, 0, 0), pe->node->ck->h_destroy);
}

void *CkGen_ckLocal(const CkGenChare *chare, const CkElement *e)
{
	struct pe *pe = ck_self();

	if (chare->kind == CKGEN_NODEGROUP)
		return nodegroup_local(pe, chare, e);
	struct collection *c = coll_get(pe, e->id);

	if (!c->constructed || c->type != chare)
		return NULL;
	if (chare->kind == CKGEN_GROUP && e->index.v[0] != pe->id)
		return NULL;
	struct ck_obj *obj = coll_local(c, e->index);

	return obj ? self_of(obj) : NULL;
}

void *CkGen_nextLocal(const CkGenChare *chare, CkProxy p, const void *after)
{
	struct pe *pe = ck_self();
	const struct collection *c = coll_get(pe, p.id);
	uint64_t i = after ? obj_of(after)->ordinal + 1 : 0;

	if (!c->constructed || c->type != chare)
		return NULL;
	while (i < c->n_slots && !c->elems[i])
		i++;
	return i < c->n_slots ? self_of(c->elems[i]) : NULL;
}
