/* SPDX-License-Identifier: Apache-2.0 */
/*
 * section_reduce.c: reductions over the members of a section. The k-th contribution of each member
 * belongs to the k-th reduction, as for a whole collection; reduce.c combines them. Partial results
 * go up the section's own tree; the root fires the callbacks in order.
 */
#include "section_int.h"
#include "../core/shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void section_close_reductions(struct pe *pe, struct section *s)
{
	while (s->reductions) {
		struct reduction *r = s->reductions;

		s->reductions = r->next;
		reduction_free(pe, r);
	}
}

static void close_one(struct pe *pe, struct section *s, struct reduction *r)
{
	*reduction_place(&s->reductions, r->no) = r->next;
	reduction_free(pe, r);
}

/* ---- up the tree ---------------------------------------------------------------------------- */

static void section_pass_up(struct pe *pe, struct section *s, struct reduction *r)
{
	struct ck_env *env = r->acc;

	r->acc = NULL;
	wire_set(env, s->arrays->coll, r); /* every PE below the root has members, so arrays is not empty */
	*callback_at(env) = r->cb;
	close_one(pe, s, r);
	section_post(pe, s->parent, s->id, SECTION_PART, env);
}

/* Fire callbacks in the order of the reductions, whichever was complete first. */
static void section_fire(struct pe *pe, struct section *s)
{
	struct reduction *r;

	while ((r = s->reductions) && r->no == s->n_fired && r->done) {
		struct ck_env *env = r->acc;
		CkCallback cb = r->cb;

		r->acc = NULL;
		s->n_fired++;
		close_one(pe, s, r);
		callback_send(pe, &cb, env);
	}
}

static void advance(struct pe *pe, struct section *s, struct reduction *r)
{
	if (r->n_local_in < s->n_members || r->n_children_in < s->n_children)
		return;
	reduction_absorb_kept(pe, r);
	if (s->parent >= 0) {
		section_pass_up(pe, s, r);
		return;
	}
	reduction_finish(pe, r, s->type);
	r->done = true;
	section_fire(pe, s);
}

_Noreturn static void section_disagree(struct pe *pe, const struct section *s, const struct reduction *r,
			       CkReduction op, uint64_t count, const CkCallback *cb)
{
	char was[160], is[160];

	callback_describe(pe, &r->cb, was, sizeof was);
	callback_describe(pe, cb, is, sizeof is);
	csd_abort(pe, "members of a section of %s disagree in reduction %u: %llu x %s to %s, and "
		  "%llu x %s to %s", s->type->name, r->no, (unsigned long long)r->count,
		  r->how->name, was, (unsigned long long)count, reducer_name(pe, op), is);
}

/* Find or open reduction `no`; abort if the caller's terms differ from those of the record. */
static struct reduction *section_join(struct pe *pe, struct section *s, uint32_t no, CkReduction op,
			      uint64_t count, const CkCallback *cb)
{
	struct reduction **p = reduction_place(&s->reductions, no), *r = *p;

	if (!r || r->no != no) {
		r = reduction_open(pe, p, no, op, count, cb);
		result_check(pe, cb, r->how, count, s->type);
		if (!r->how->merge)
			reduction_make_acc(pe, r);
	}
	if (CSD_UNLIKELY(r->op != op || r->count != count || !callback_same(&r->cb, cb)))
		section_disagree(pe, s, r, op, count, cb);
	return r;
}

static int child_of(const struct section *s, int pe)
{
	int i = s->n_children;

	while (i-- && s->children[i] != pe)
		;
	return i;
}

void section_part_came(struct pe *pe, struct section *s, struct ck_env *env)
{
	const CkReductionMsg *head = payload_of(env);
	int child = child_of(s, env->head.src_pe);

	const struct reducer *how = reducer_find(ck_node_of(pe->node), env->part.op);

	if (!how || child < 0)
		csd_abort(pe, "message from PE %d belongs to no section here", env->head.src_pe);
	struct reduction *r = section_join(pe, s, env->part.no, (CkReduction)env->part.op,
				   how->merge ? 0 : head->count, callback_at(env));

	reduction_take_child(pe, r, env, child);
	advance(pe, s, r);
}

/* ---- contributions -------------------------------------------------------------------------- */

static int compare_member(const void *key, const void *member)
{
	const CkIndex *a = key, *b = &((const struct section_member *)member)->index;

	for (int d = 0; d < 3; d++)
		if (a->v[d] != b->v[d])
			return a->v[d] < b->v[d] ? -1 : 1;
	return 0;
}

static int compare_array(const void *key, const void *array)
{
	uint64_t a = ((const struct collection *)key)->id;
	uint64_t b = ((const struct section_array *)array)->coll->id;

	return (a > b) - (a < b);
}

/* The number of c among the section's arrays on this PE; n_arrays: it is none of them. */
static uint32_t array_of(const struct section *s, const struct collection *c)
{
	const struct section_array *a = s->arrays;

	if (!s->n_arrays || a->coll != c)
		a = bsearch(c, s->arrays, s->n_arrays, sizeof *a, compare_array);
	return a ? (uint32_t)(a - s->arrays) : s->n_arrays;
}

bool section_has(const struct section *s, const struct collection *c, CkIndex i)
{
	const uint32_t k = array_of(s, c);
	const struct section_array *a = &s->arrays[k];

	return k < s->n_arrays && bsearch(&i, s->members + a->first, a->n, sizeof *s->members, compare_member);
}

/* Elements mostly contribute in index order; then no search is needed. */
static struct section_member *member_of(struct pe *pe, struct section *s, uint32_t array,
					CkIndex index)
{
	const struct section_array none = { NULL, 0, 0 };
	const struct section_array *a = array < s->n_arrays ? &s->arrays[array] : &none;
	struct section_member *m = &s->members[s->next];

	if (s->next - a->first >= a->n || compare_member(&index, m))
		m = bsearch(&index, s->members + a->first, a->n, sizeof *m, compare_member);
	if (!m)
		csd_abort(pe, "element (%d, %d, %d) of %s contributed to section %u of PE %d: it is "
			  "no member", index.v[0], index.v[1], index.v[2], s->type->name,
			  section_no(s->id), section_root(s->id));
	s->next = (uint32_t)(m - s->members + 1) % s->n_members;
	return m;
}

static void section_contribute_message(struct pe *pe, struct section *s, uint32_t array, struct section_member *m,
				       const struct reducer *how, const struct contributed *in)
{
	struct contributor from = { s->type, s->arrays[array].coll->id, m->index, in->pe,
				    s->id ^ (uint64_t)m->n_contributed << 44 };
	struct ck_env *env = reducer_begin(pe, how, &from, in->data, in->count);
	struct reduction *r = section_join(pe, s, m->n_contributed++, in->op, 0, &in->cb);

	/* The number puts our members before the children, and the first array's members first. */
	reduction_take_message(pe, r, (int)array - (int)s->n_arrays,
			       index_key(s->type, m->index), env);
	advance(pe, s, r);
}

static void contribute(struct pe *pe, struct section *s, const struct collection *c, CkIndex index,
		       const struct contributed *in)
{
	uint32_t array = array_of(s, c);
	struct section_member *m = member_of(pe, s, array, index);
	const struct reducer *how = reducer_find(ck_node_of(pe->node), in->op);

	if (how->merge) {
		section_contribute_message(pe, s, array, m, how, in);
		return;
	}
	struct reduction *r = section_join(pe, s, m->n_contributed++, in->op, in->count, &in->cb);

	reduction_take(r, s->n_members, (uint64_t)(m - s->members), in->data);
	advance(pe, s, r);
}

/* A contribution that came before the section did, or from another PE on which the element lives. Its message has
 * the element's PE, the element's array behind it, and the section's number. */
void section_contribution(struct pe *pe, struct section *s, struct ck_env *env)
{
	uint64_t coll;
	const struct contributed in = contribution_read(pe, env, env->refnum, &coll);

	contribute(pe, s, coll_get(pe, coll), env->index, &in);
}

const char *section_values_misfit(struct pe *pe, const struct ck_env *env)
{
	const char *why = shape_result(env, sizeof(CkCallback));

	if (why || env->section.kind != SECTION_PART)
		return why ? why : contribution_misfit(pe, env);
	return reduction_values_misfit(pe, env, reducer_find(ck_node_of(pe->node), env->part.op), false);
}

/* Contributions to a section that this PE does not know wait. Meanwhile the PE asks the root, so
 * that a contribution by an element that is no member aborts the job and does not hang it. */
void section_ask(struct pe *pe, struct section *s, CkIndex index)
{
	struct ck_env *env;

	if (s->asked || section_root(s->id) == pe->id)
		return;
	s->asked = true;
	env = env_new(pe, 0, 0);
	env->index = index;
	section_post(pe, section_root(s->id), s->id, SECTION_ASK, env);
}

/* To the home of the element, whose PE the section's list names. `env` is a contribution_msg whose tag is the
 * element's array. */
static void post_home(struct pe *pe, int home, uint64_t section, CkIndex index, int from, struct ck_env *env)
{
	env->index = index;
	env->refnum = from;
	section_post(pe, home, section, SECTION_CONTRIBUTE, env);
}

static void contribute_later(struct pe *pe, struct section *s, const struct ck_obj *obj, const struct contributed *in)
{
	struct ck_env *env = contribution_msg(pe, in, obj->coll->id);

	env->head.handler = ck_handler(pe, PART_SECTION, H_CONTROL);
	env->head.src_pe = pe->id;
	env->coll = s->id;
	env->index = obj->index;
	env->refnum = in->pe;
	env->section.kind = SECTION_CONTRIBUTE;
	msg_fifo_push(&s->waiting, &env->head);
	section_ask(pe, s, obj->index);
}

/* The section's list has the homes of elements (home_of in section_make.c), but an element that was inserted, or whose
 * seat has moved, may have its seat elsewhere. Returns the element's home if that is another PE, else -1. */
static int away_from_home(struct pe *pe, const struct ck_obj *obj)
{
	const struct collection *c = obj->coll;
	int home = c->sparse || c->cuts ? coll_born_home(pe, c, obj->index) : pe->id;

	return home == pe->id ? -1 : home;
}

/* On the element's seat. obj: the element, or its stub. */
static void contribute_here(struct pe *pe, uint64_t id, const struct ck_obj *obj, const struct contributed *in)
{
	int home = away_from_home(pe, obj);

	if (CSD_UNLIKELY(home >= 0)) {
		post_home(pe, home, id, obj->index, in->pe, contribution_msg(pe, in, obj->coll->id));
		return;
	}
	bool root = section_root(id) == pe->id;
	struct section *s = root ? section_find(pe, id) : section_get(pe, id);

	if (CSD_UNLIKELY(!s || s->end != UINT64_MAX))
		section_gone(pe, id, "an element contributes to it");
	if (CSD_LIKELY(section_known(s)))
		contribute(pe, s, obj->coll, obj->index, in);
	else
		contribute_later(pe, s, obj, in);
}

void CkContributeSection(void *self, CkSection section, const void *data, size_t count,
			 CkReduction op, CkCallback cb)
{
	struct pe *pe = ck_self();
	struct ck_obj *obj = obj_of(self);

	if (CSD_UNLIKELY(!reducer_find(ck_node_of(pe->node), op)))
		csd_abort(pe, "CkContributeSection: there is no reduction %d", (int)op);
	if (CSD_UNLIKELY(!section_is_set(pe, section.id)))
		section_unset(pe, "CkContributeSection");
	if (CSD_UNLIKELY(section.coll != obj->coll->id && !section_mixed(section.id)))
		csd_abort(pe, "CkContributeSection: the section is of another collection than this "
			  "%s", obj->coll->type->name);
	const struct contributed in = { data, op == CkReduction_nop ? 0 : count, op, cb, pe->id };

	if (CSD_UNLIKELY(obj->extra & OBJ_AWAY))
		seat_send(pe, obj, PART_SECTION, contribution_msg(pe, &in, section.id));
	else
		contribute_here(pe, section.id, obj, &in);
}

/* A member whose seat is here has contributed while it was away. */
void section_filed(struct pe *pe, struct ck_obj *seat, struct ck_env *env, int from)
{
	uint64_t id;
	const struct contributed in = contribution_read(pe, env, from, &id);

	contribute_here(pe, id, seat, &in);
	csd_msg_free(pe, &env->head);
}

const char *section_filed_misfit(struct pe *pe, const struct ck_env *env)
{
	const char *why = contribution_misfit(pe, env);
	const CkReductionMsg *head = (const CkReductionMsg *)(const void *)(env + 1);

	return why || section_is_set(pe, head->reserved) ? why : "it names a section that nobody can have made";
}

/* ---- for the watchdog ------------------------------------------------------------------------- */

/* The members here that have not contributed to reduction `no`: "Cell(3), Cell(4) and 93 more". */
static uint32_t members_missing(const struct section *s, uint32_t no, char *buf, size_t len)
{
	struct name_list names = { .buf = buf, .len = len };
	char name[128];

	for (uint32_t i = 0; i < s->n_members; i++) {
		if ((int32_t)(s->members[i].n_contributed - no) > 0)
			continue;
		if (names_next(&names))
			names_add(&names, element_describe(s->type, s->members[i].index, name, sizeof name));
	}
	return (uint32_t)names_end(&names);
}

static uint32_t members_next(const struct section *s)
{
	uint32_t no = s->members[0].n_contributed;

	for (uint32_t i = 1; i < s->n_members; i++)
		if ((int32_t)(s->members[i].n_contributed - no) < 0)
			no = s->members[i].n_contributed;
	return no;
}

static void describe_open(struct pe *pe, const struct section *s, const struct reduction *r, csd_line_fn line,
			  void *arg)
{
	char to[128], missing[5 * 130];
	uint32_t n = members_missing(s, r->no, missing, sizeof missing);

	callback_describe(pe, &r->cb, to, sizeof to);
	say_line(line, arg, "\3S%llx:%u", (unsigned long long)s->id, r->no);
	if (n)
		say_line(line, arg, "reduction %u of section %u of PE %d (%s, to %s) waits for %u members here: %s", r->no, section_no(s->id), section_root(s->id), r->how->name, to, n, missing);
	else
		say_line(line, arg, "reduction %u of section %u of PE %d (%s, to %s): all members here have contributed; it "
		    "waits for other PEs", r->no, section_no(s->id), section_root(s->id), r->how->name, to);
}

/* A PE of which no member has contributed has no record of the reduction; what it knows is printed only if another
 * PE has one. */
void section_describe(struct pe *pe, const struct section *s, csd_line_fn line, void *arg)
{
	const size_t n = msg_fifo_count(&s->waiting);
	char missing[5 * 130];

	if (n)
		say_line(line, arg, "%zu messages wait for section %u of PE %d, which is not known here", n,
		    section_no(s->id), section_root(s->id));
	for (const struct reduction *r = s->reductions; r; r = r->next)
		if (!r->done)
			describe_open(pe, s, r, line, arg);
	if (!s->type || !s->n_members || *reduction_place((struct reduction **)(uintptr_t)&s->reductions, members_next(s)))
		return;
	uint32_t no = members_next(s), n_missing = members_missing(s, no, missing, sizeof missing);

	say_line(line, arg, "\2S%llx:%u\treduction %u of section %u of PE %d waits for %u members here: %s",
	    (unsigned long long)s->id, no, no, section_no(s->id), section_root(s->id), n_missing, missing);
}
