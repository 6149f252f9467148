/* SPDX-License-Identifier: Apache-2.0 */
/*
 * section_reduce.c: reductions over the members of a section. The k-th contribution of each member
 * belongs to the k-th reduction, as for a whole collection; reduce.c combines them. Partial results
 * go up the section's own tree; the root fires the callbacks in order.
 */
#include "section_int.h"
#include "../core/objects/index.h"

#include <stdlib.h>
#include <string.h>

/* ---- up the tree ---------------------------------------------------------------------------- */

/* All our members or a child have contributed. Partial results go up, and callbacks fire, in the
 * order of the reductions. */
static void advance(struct pe *pe, struct section *s)
{
	struct reduction *r;

	while ((r = tree_next(&s->tree, s->reductions, &s->n_passed))) {
		struct ck_env *env = tree_part(pe, &s->tree, r, s->type, s->id);
		const CkCallback cb = r->cb;

		reduction_close(pe, &s->reductions, r);
		if (s->tree.parent < 0)
			callback_send(pe, &cb, env);
		else
			section_post(pe, s->tree.parent, s->id, SECTION_PART, env);
	}
}

/* Find or open reduction `no`; abort if the caller's terms differ from those of the record. */
static struct reduction *section_join(struct pe *pe, struct section *s, uint32_t no,
				      const struct contributed *in)
{
	struct reduction *r = reduction_at(s->reductions, no);

	if (!r) {
		result_check(pe, in, s->type);
		r = reduction_open(pe, &s->reductions, no, in);
		r->n_missing = s->n_members;
		r->local_done = !s->n_members;
		if (!r->how->merge)
			reduction_make_acc(pe, r);
	} else if (CSD_UNLIKELY(!reduction_agrees(r, in))) {
		reduction_disagree(pe, r, in, s->type, "members of a section of");
	}
	return r;
}

void section_part_came(struct pe *pe, struct section *s, struct ck_env *env)
{
	int child;
	const struct contributed in = tree_part_read(pe, &s->tree, env, &child);

	reduction_take_child(pe, section_join(pe, s, env->part.no, &in), env, child);
	advance(pe, s);
}

/* ---- contributions -------------------------------------------------------------------------- */

/* Elements mostly contribute in index order; then no search is needed. */
static struct section_member *member_of(struct pe *pe, struct section *s, uint32_t array,
					CkIndex index)
{
	const struct section_array none = { NULL, 0, 0 };
	const struct section_array *a = array < s->n_arrays ? &s->arrays[array] : &none;
	struct section_member *m = &s->members[s->next];

	if (s->next - a->first >= a->n || index_compare(&index, &m->index))
		m = bsearch(&index, s->members + a->first, a->n, sizeof *m, index_compare);
	if (!m)
		csd_abort(pe, "%s contributed to section %u of PE %d: it is not a member",
			  element_thing(s->type, 0, index).name, section_no(s->id), section_root(s->id));
	s->next = (uint32_t)(m - s->members + 1) % s->n_members;
	return m;
}

static void contribute_member(struct pe *pe, struct section *s, const struct collection *c,
			      const struct contributed *in)
{
	uint32_t array = section_array_of(s, c);
	struct section_member *m = member_of(pe, s, array, *in->index);
	struct contributed as_message;
	struct ck_env *env = NULL;

	if (CSD_UNLIKELY(in->how->merge != NULL)) {
		as_message = *in;
		env = reducer_begin(pe, &as_message, c->id, s->id ^ (uint64_t)m->n_contributed << 44);
		in = &as_message;
	}
	struct reduction *r = section_join(pe, s, m->n_contributed++, in);

	/* The number orders our members before the children, and the first array's members first. */
	if (env)
		reduction_take_message(pe, r, (int)array - (int)s->n_arrays, index_key(s->type, m->index), env);
	else
		reduction_take(r, s->n_members, (uint64_t)(m - s->members), in->data);
	if (--r->n_missing)
		return;
	r->local_done = true;
	advance(pe, s);
}

/* A contribution that came before the section did, or from another PE on which the element lives.
 * Its message has the element's PE, the element's array after it, and the section's number. */
void section_contribution(struct pe *pe, struct section *s, struct ck_env *env)
{
	uint64_t coll;
	const struct contributed in = contribution_read(pe, env, env->refnum, &env->index, &coll);

	contribute_member(pe, s, coll_get(pe, coll), &in);
}

const char *section_values_misfit(struct pe *pe, const struct ck_env *env)
{
	return env->section.kind != SECTION_PART ? contribution_misfit(pe, env) :
	       reduction_part_misfit(pe, env, false);
}

/* Contributions to a section that this PE does not know wait. Meanwhile the PE asks the root, so
 * that a contribution by an element that is no member aborts the job instead of hanging it. */
void section_ask(struct pe *pe, struct section *s, CkIndex index, uint16_t chare)
{
	struct ck_env *env;

	if (s->asked || s->root == pe->id)
		return;
	s->asked = true;
	env = env_new(pe, 0, 0);
	env->index = index;
	env->section.entry = chare;
	section_post(pe, s->root, s->id, SECTION_ASK, env);
}

/* A contribution for the section's record at home. */
static struct ck_env *contribution_away(struct pe *pe, const struct ck_obj *obj,
					const struct contributed *in)
{
	struct ck_env *env = contribution_msg(pe, in, obj->coll->id);

	env->index = obj->index;
	env->section.entry = (uint16_t)chare_number(ck_node_of(pe->node), obj->coll->type);
	env->refnum = in->pe;
	return env;
}

static void contribute_later(struct pe *pe, struct section *s, const struct ck_obj *obj,
			     const struct contributed *in)
{
	struct ck_env *env = contribution_away(pe, obj, in);

	env->head.handler = ck_handler(pe, PART_SECTION, H_CONTROL);
	env->head.src_pe = pe->id;
	env->coll = s->id;
	env->section.kind = SECTION_CONTRIBUTE;
	msg_fifo_push(&s->waiting, &env->head);
	section_ask(pe, s, obj->index, env->section.entry);
}

/* The section's list has the homes of elements (home_of in section_make.c), but an element that was
 * inserted, or whose seat has moved, may have its seat elsewhere. Returns the element's home if
 * that is another PE, else -1. */
static int away_from_home(struct pe *pe, const struct ck_obj *obj)
{
	const struct collection *c = obj->coll;
	int home = c->sparse || c->homes.cuts ? coll_born_home(pe, c, obj->index) : pe->id;

	return home == pe->id ? -1 : home;
}

/* On the element's seat. obj: the element, or its stub. */
static void contribute_here(struct pe *pe, uint64_t id, const struct ck_obj *obj,
			    const struct contributed *in)
{
	int home = away_from_home(pe, obj);

	if (CSD_UNLIKELY(home >= 0)) {
		section_post(pe, home, id, SECTION_CONTRIBUTE, contribution_away(pe, obj, in));
		return;
	}
	bool root = section_home(pe, id) == pe->id;
	struct section *s = root ? section_find(pe, id) : section_get(pe, id);

	if (CSD_UNLIKELY(!s || s->end != UINT64_MAX))
		section_gone(pe, id, "an element contributes to it");
	if (CSD_LIKELY(section_known(s)))
		contribute_member(pe, s, obj->coll, in);
	else
		contribute_later(pe, s, obj, in);
}

void CkContributeSection(void *self, CkSection section, const void *data, size_t count,
			 CkReduction op, CkCallback cb)
{
	struct pe *pe = ck_self();
	struct ck_obj *obj = obj_of(self);

	const struct reducer *how = reducer_find(ck_node_of(pe->node), op);

	if (CSD_UNLIKELY(!how))
		csd_abort(pe, "CkContributeSection: there is no reduction %d", (int)op);
	if (CSD_UNLIKELY(!section_is_set(pe, section.id)))
		section_unset(pe, "CkContributeSection");
	if (CSD_UNLIKELY(section.coll != obj->coll->id && !section_mixed(section.id)))
		csd_abort(pe, "CkContributeSection: the section is of another collection than this "
			  "%s", obj->coll->type->name);
	const struct contributed in = { data, op == CkReduction_nop ? 0 : count, op, pe->id, how, &cb,
					&obj->index, 0, 0 };

	if (CSD_UNLIKELY(obj->extra & OBJ_AWAY))
		seat_send(pe, obj, PART_SECTION, contribution_msg(pe, &in, section.id));
	else
		contribute_here(pe, section.id, obj, &in);
}

/* A member whose seat is here has contributed while it was away. */
void section_filed(struct pe *pe, struct ck_obj *seat, struct ck_env *env, int from)
{
	uint64_t id;
	const struct contributed in = contribution_read(pe, env, from, &seat->index, &id);

	contribute_here(pe, id, seat, &in);
	csd_msg_free(pe, &env->head);
}

const char *section_filed_misfit(struct pe *pe, const struct ck_env *env)
{
	const char *why = contribution_misfit(pe, env);
	const CkReductionMsg *head = (const CkReductionMsg *)(const void *)(env + 1);

	return why || section_is_set(pe, head->reserved) ?
		       why :
		       "it names a section that nobody can have made";
}

/* ---- for the watchdog ------------------------------------------------------------------------ */

static uint32_t members_next(const struct section *s)
{
	uint32_t no = s->members[0].n_contributed;

	for (uint32_t i = 1; i < s->n_members; i++)
		if ((int32_t)(s->members[i].n_contributed - no) < 0)
			no = s->members[i].n_contributed;
	return no;
}

/* r NULL: no member here has contributed to reduction `no`. */
static void section_describe_reduction(struct pe *pe, const struct section *s, uint32_t no,
				       const struct reduction *r, struct csd_told *to)
{
	const struct csd_key key = { THING_SECTION_REDUCTION, { (int32_t)no }, s->id };
	const struct section_array *a = s->arrays;
	struct missing m = { 0 };

	for (uint32_t i = 0; i < s->n_members; i++) {
		a += i >= a->first + a->n;
		if ((int32_t)(s->members[i].n_contributed - no) <= 0)
			missing_add(&m, element_thing(s->type, a->coll->id, s->members[i].index), false);
	}
	reduction_tell(pe, to, csd_named(&key, "reduction %u of section %u of PE %d", no,
					 section_no(s->id), section_root(s->id)), r, &m);
}

void section_describe_open(struct pe *pe, const struct section *s, struct csd_told *to)
{
	const size_t n = msg_fifo_count(&s->waiting);

	if (n)
		csd_tell(to, NULL, "%s for section %u of PE %d, which is not known here",
			 csd_plural(n, "message waits", "messages wait").text, section_no(s->id), section_root(s->id));
	for (const struct reduction *r = s->reductions; r; r = r->next)
		if (!r->done)
			section_describe_reduction(pe, s, r->no, r, to);
}

void section_describe(struct pe *pe, const struct section *s, struct csd_told *to)
{
	section_describe_open(pe, s, to);
	if (s->type && s->n_members &&
	    !*reduction_place((struct reduction **)(uintptr_t)&s->reductions, members_next(s)))
		section_describe_reduction(pe, s, members_next(s), NULL, to);
}
