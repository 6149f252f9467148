/* SPDX-License-Identifier: Apache-2.0 */
/*
 * section.c: sections. A section is a set of elements of one collection, or of several collections
 * of one type; one multicast calls them all.
 *
 * The PE that makes a section is the root of its tree. The list of members, in the order of the
 * tree, goes down the tree once: each PE takes its own members from the front and cuts the
 * remainder into pieces for its children. After that a multicast carries only the section's number.
 * As in the tree of broadcasts (tree.c), each process is entered once, and a PE has at most four
 * children in other processes. PEs without members are not in the tree.
 *
 * A multicast from another PE goes to the root first. So all multicasts of one PE take the same
 * path and arrive in order, and only the root must know whether a section still exists.
 */
#include "section_int.h"
#include "../place/record/place_record.h"
#include "../core/shape.h"
#include "../../image/image.h"

#include <stdio.h>
#include <string.h>

/* ---- by id ---------------------------------------------------------------------------------- */

static void section_pe_stop(struct pe *pe)
{
	struct idmap *all = &sections_of(pe)->by_id;
	const struct idmap_slot *at;

	for (size_t i = 0; (at = idmap_each(all, &i)); i++)
		section_free(pe, (struct section *)at->value);
	idmap_free(all);
}

static void sections_describe(struct pe *pe, struct csd_told *to)
{
	const struct idmap_slot *at;

	for (size_t i = 0; (at = idmap_each(&sections_of(pe)->by_id, &i)); i++)
		section_describe(pe, (const struct section *)at->value, to);
}

/* ---- misuse ---------------------------------------------------------------------------------- */

/* A stub's use of a section that was never made. */
_Noreturn static void unset_call(struct pe *pe, const CkGenChare *chare, int entry,
				 const char *what)
{
	char name[128], text[160];

	snprintf(text, sizeof text, "%s %s", what, describe_entry(chare, entry, name, sizeof name));
	section_unset(pe, text);
}

_Noreturn static void gone_call(struct pe *pe, const struct ck_env *env, int from)
{
	const CkGenChare *type = coll_get(pe, env->coll)->type;
	char name[128], who[192];

	snprintf(who, sizeof who, "PE %d called %s on it", from,
		 type ? describe_entry(type, env->entry, name, sizeof name) : "an entry");
	section_gone(pe, env->section.number, who);
}

static inline bool lives(const struct section *s) { return s->end == UINT64_MAX; }

/* At the root, for a multicast of PE `from`: find the section; abort unless it exists. */
static inline struct section *living(struct pe *pe, const struct ck_env *env, int from)
{
	struct section *s = section_find(pe, env->section.number);

	if (CSD_UNLIKELY(!s || !lives(s)))
		gone_call(pe, env, from);
	return s;
}

_Noreturn static void gone_ctl(struct pe *pe, const struct ck_env *env)
{
	bool contributed = env->section.kind == SECTION_CONTRIBUTE || env->section.kind == SECTION_ASK;
	const struct ck_node *ck = ck_node_of(pe->node);
	char who[CSD_THING_NAME + 64];

	if (contributed && env->section.entry < ck->n_chares)
		snprintf(who, sizeof who, "on PE %d, %s contributed to it", env->head.src_pe,
			 element_thing(ck->chares[env->section.entry], 0, env->index).name);
	else
		snprintf(who, sizeof who, "PE %d called CkSectionDestroy on it", env->head.src_pe);
	section_gone(pe, env->coll, who);
}

/* ---- multicast ------------------------------------------------------------------------------ */

static void section_forward(struct pe *pe, struct section *s, struct ck_env *env)
{
	for (int i = 0; i < s->tree.n_children; i++)
		csd_send(pe, s->tree.children[i], csd_msg_copy(pe, &env->head));
	env->flags |= CK_ENV_FORWARDED;
	s->n_sent++;
}

static void maybe_end(struct pe *pe, struct section *s);

/* A copy of a multicast, to become the call of one element. */
static struct ck_env *call_of_section(struct pe *pe, const struct ck_env *env,
				      const struct ck_of_all *which)
{
	const struct ck_of_section of = { { env->coll, env->section.number }, *which };
	struct ck_env *copy = env_copy_for_one(pe, env, &of, which->no ? sizeof of : sizeof of.section);

	copy->more |= which->no ? CK_MORE_SECTION | CK_MORE_NUMBERED : CK_MORE_SECTION;
	return copy;
}

/* Whether the member takes a multicast at once. If a move in bulk has given it another home, calls
 * from here go through that home even if it lives here: an earlier multicast may still be on that
 * path. */
static bool takes_at_once(struct pe *pe, const struct collection *c, const struct ck_obj *obj)
{
	return obj && !(obj->extra & OBJ_LEAVING) &&
	       (!c->homes.cuts || index_home(pe, c, obj->index) == pe->id);
}

/* The element at this index, if it is found by its place alone, as in element_arrived: it is at
 * home here, and takes calls. */
static inline struct ck_obj *member_by_place(const struct collection *c, const CkIndex *index)
{
	uint64_t at = (uint32_t)index->v[0] - c->first;

	if (CSD_UNLIKELY(at >= c->n_line) && (at = coll_linear(c, *index) - c->first) >= c->n_here)
		return NULL;
	return c->elems[at];
}

/* Put the members that take it at once into s->objs, after the first n, which are there, and
 * forward copies to the others. Returns how many are there then. */
static inline __attribute__((always_inline)) uint64_t
gather_members(struct pe *pe, struct section *s, const struct section_array *a, uint64_t n,
	       const struct ck_of_all *of, const struct ck_env *env, bool newborns)
{
	struct collection *c = a->coll;

	for (uint32_t i = a->first + (uint32_t)n; i < a->first + a->n; i++) {
		const CkIndex index = s->members[i].index;
		struct ck_obj *obj = c->type->kind == CKGEN_GROUP ? c->elems[0] : coll_local(c, index);

		if (newborns && section_passes_over(pe, s, c, index, of))
			continue;
		if (CSD_LIKELY(takes_at_once(pe, c, obj)))
			s->objs[n++] = obj;
		else
			call_element(pe, c, index, call_of_section(pe, env, of));
	}
	return n;
}

static __attribute__((noinline)) uint64_t
gather_rest(struct pe *pe, struct section *s, const struct section_array *a, uint64_t n,
	    const struct ck_of_all *of, const struct ck_env *env)
{
	return gather_members(pe, s, a, n, of, env, false);
}

/* Mostly all members are found by their places. */
static inline uint64_t gather(struct pe *pe, struct section *s, const struct section_array *a,
			      const struct ck_of_all *of, const struct ck_env *env)
{
	const struct collection *c = a->coll;
	const struct section_member *m = s->members + a->first, *end = m + a->n;
	struct ck_obj **objs = s->objs;

	while (m < end && (*objs = member_by_place(c, &m->index)) != NULL) {
		m++;
		objs++;
	}
	if (CSD_LIKELY(m == end))
		return a->n;
	return gather_rest(pe, s, a, (uint64_t)(objs - s->objs), of, env);
}

static __attribute__((noinline, cold)) uint64_t
gather_past_newborns(struct pe *pe, struct section *s, const struct section_array *a,
		     const struct ck_of_all *of, const struct ck_env *env)
{
	return gather_members(pe, s, a, 0, of, env, true);
}

/* Deliver to our members of one array that are at home here; forward copies to the others. */
static void deliver_to_array(struct pe *pe, struct section *s, const struct section_array *a,
			     const struct ck_of_all *of, struct ck_env *env)
{
	const uint64_t n = CSD_UNLIKELY(s->n_newborns) ? gather_past_newborns(pe, s, a, of, env) :
						      gather(pe, s, a, of, env);

	if (of->root != pe->id && of->no && n)
		spans_count(&s->seen, (int)of->root, of->no);
	deliver_some(pe, a->coll, s->objs, n, env);
}

/* The data after the call is removed. Elements of groups are never inserted, so their numbers are
 * not needed. */
static __attribute__((noinline)) void take_odd_number(struct pe *pe, struct section *s,
						      struct ck_env *env, struct ck_of_all *of)
{
	if (s->type->kind == CKGEN_GROUP)
		return;
	if (env->more & CK_MORE_NUMBERED) {
		env_drop_behind(env, of, sizeof *of);
		env->more &= (uint8_t)~CK_MORE_NUMBERED;
		if (of->root < 0 || of->root >= pe->node->job->n_pes || !of->no)
			csd_misfit(pe, &env->head, "nobody can have sent it");
	} else {
		const uint64_t last = spans_last(&s->came, (int)of->root);

		of->no = last + (uint64_t)(int64_t)(int32_t)(env->section.no - (uint32_t)last);
	}
	spans_count(&s->came, (int)of->root, of->no);
}

/* The number of the multicast. The root's number has 32 bits in the head, and numbers that are
 * under way together are close to each other. (One in 2^32 is mistaken for none.) */
static inline void take_number(struct pe *pe, struct section *s, struct ck_env *env,
			       struct ck_of_all *of)
{
	of->root = s->root;
	of->no = env->section.no ? spans_count_next(&s->came, (int)of->root, env->section.no) : 0;
	if (CSD_UNLIKELY(!of->no && (env->section.no || env->more & CK_MORE_NUMBERED)))
		take_odd_number(pe, s, env, of);
}

/* Deliver array after array: elements of the second array that the handlers of the first destroy
 * get nothing. Every array but the last gets a copy, because an entry method may keep its
 * message. */
static void section_deliver(struct pe *pe, struct section *s, struct ck_env *env)
{
	struct ck_of_all of;

	take_number(pe, s, env, &of);
	env->flags &= (uint8_t)~CK_ENV_FORWARDED;
	for (uint32_t i = 0; i + 1 < s->n_arrays; i++)
		deliver_to_array(pe, s, &s->arrays[i], &of,
				 (struct ck_env *)csd_msg_copy(pe, &env->head));
	if (s->n_arrays)
		deliver_to_array(pe, s, &s->arrays[s->n_arrays - 1], &of, env);
	else
		env_unref(pe, env);
	s->n_delivered++;
	maybe_end(pe, s);
}

/* The same for a section with members of one array here, which exist, and no new ones. */
static inline void section_deliver_line(struct pe *pe, struct section *s, struct ck_env *env)
{
	const struct section_array *a = s->arrays;
	struct ck_of_all of;

	take_number(pe, s, env, &of);
	env->flags &= (uint8_t)~CK_ENV_FORWARDED;
	const uint64_t n = gather(pe, s, a, &of, env);

	if (CSD_UNLIKELY(of.root != pe->id && of.no && n))
		spans_count(&s->seen, (int)of.root, of.no);
	deliver_some(pe, a->coll, s->objs, n, env);
	s->n_delivered++;
	maybe_end(pe, s);
}

/* At the root: send a multicast down the tree at once, and to our own members through the queue,
 * like any call. */
static inline void send_down(struct pe *pe, struct section *s, struct ck_env *env)
{
	if (CSD_UNLIKELY(!section_known(s))) {
		env->head.src_pe = pe->id;
		msg_fifo_push(&s->waiting, &env->head);
		return;
	}
	section_forward(pe, s, env);
	if (s->n_members) {
		csd_send(pe, pe->id, &env->head);
		return;
	}
	s->n_delivered++;
	env_unref(pe, env);
}

static void section_send_now(struct pe *pe, struct collection *c, struct ck_env *env)
{
	const int root = section_home(pe, env->section.number);

	(void)c;
	if (root == pe->id)
		send_down(pe, living(pe, env, pe->id), env);
	else
		csd_send(pe, root, &env->head);
}

/* For the root: append its sender and number. It has no handler and no address yet. */
static struct ck_env *numbered(struct pe *pe, const struct collection *c, uint64_t id,
			       struct ck_env *env)
{
	struct section *s = section_heard_of(pe, id);
	const struct ck_of_all of = { ++s->n_begun, pe->id };

	section_list_seen(pe, s, c);
	env = env_add_behind(pe, env, &of, sizeof of);
	env->more |= CK_MORE_NUMBERED;
	return env;
}

static void section_send(struct pe *pe, const CkSection *to, struct ck_env *env)
{
	struct collection *c = coll_get(pe, to->coll);
	const bool root = section_home(pe, to->id) == pe->id;
	struct section *s = root ? section_find(pe, to->id) : NULL;

	if (!root && (!c->type || c->type->kind == CKGEN_ARRAY))
		env = numbered(pe, c, to->id, env);
	env->head.handler = ck_handler(pe, PART_SECTION, H_MULTICAST);
	env->coll = to->coll;
	env->section.number = to->id;
	env->section.no = s ? (uint32_t)++s->n_begun : 0;
	if (CSD_UNLIKELY(call_is_closed(c)))
		call_hold(pe, c, env, section_send_now);
	else if (CSD_LIKELY(s && lives(s)))
		send_down(pe, s, env);
	else
		section_send_now(pe, c, env);
}

static void section_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	bool passed_on = env->flags & CK_ENV_FORWARDED;
	struct section *s = section_home(pe, env->section.number) == pe->id && !passed_on ?
				    living(pe, env, m->src_pe) : section_get(pe, env->section.number);

	if (CSD_UNLIKELY(!section_known(s))) {
		msg_fifo_push(&s->waiting, m);
		return;
	}
	if (!passed_on)
		section_forward(pe, s, env);
	if (CSD_LIKELY(s->n_arrays == 1 && !s->n_newborns && s->arrays->coll->constructed)) {
		section_deliver_line(pe, s, env);
		return;
	}
	for (uint32_t i = 0; i < s->n_arrays; i++)
		if (CSD_UNLIKELY(!coll_there(pe, s->arrays[i].coll))) {
			coll_wait(s->arrays[i].coll, m);
			return;
		}
	section_deliver(pe, s, env);
}

CkSection CkGetSectionInfo(const void *msg)
{
	struct pe *pe = ck_self();
	const struct ck_running *now = &ck_of(pe)->now;
	const struct ck_env *env = msg ? (const struct ck_env *)msg - 1 : now->obj ? now->env : NULL;

	if (!env)
		return (CkSection){ 0, 0 };
	if (env->head.handler == ck_handler(pe, PART_SECTION, H_MULTICAST))
		return (CkSection){ env->coll, env->section.number };
	if (env->head.handler == ck_handler(pe, PART_CALL, H_ELEMENT) && (env->more & CK_MORE_SECTION))
		return env_section(env);
	return (CkSection){ 0, 0 };
}

/* ---- the end -------------------------------------------------------------------------------- */

/* End the section once all its multicasts have been delivered here; one with a priority may be
 * late. */
static void maybe_end(struct pe *pe, struct section *s)
{
	if (CSD_LIKELY(s->n_delivered < s->end))
		return;
	if (s->reductions)
		csd_abort(pe, "section %u of PE %d, of %s, is destroyed in the middle of its "
			  "reduction %u", section_no(s->id), section_root(s->id), s->type->name,
			  s->reductions->no);
	for (int i = 0; i < s->tree.n_children; i++) {
		struct ck_env *env = env_new(pe, 0, 0);

		env->section.number = s->n_sent;
		section_post(pe, s->tree.children[i], s->id, SECTION_DESTROY, env);
	}
	section_tell_over(pe, s);
	section_remove(pe, s);
}

static void destroy(struct pe *pe, struct section *s, uint64_t n_sent)
{
	s->end = s->root == pe->id ? s->n_sent : n_sent;
	maybe_end(pe, s);
}

void CkSectionDestroy(CkSection section)
{
	struct pe *pe = ck_self();

	if (CSD_UNLIKELY(!section_is_set(pe, section.id)))
		section_unset(pe, "CkSectionDestroy");
	section_post(pe, section_home(pe, section.id), section.id, SECTION_DESTROY, env_new(pe, 0, 0));
}

/* ---- other messages -------------------------------------------------------------------------- */

/* Answer a PE that asked because it does not know a section to which one of its elements
 * contributed. If the PE has members, the list is under way to it; if not, the job aborts. */
static void section_answer(struct pe *pe, const struct section *s, const struct ck_env *env)
{
	for (int i = 0; i < s->n_pes; i++)
		if (s->pes[i] == env->head.src_pe)
			return;
	csd_abort(pe, "on PE %d, %s contributed to section %u of PE %d: it is not a member",
		  env->head.src_pe, element_thing(s->type, 0, env->index).name, section_no(s->id),
		  pe->id);
}

static void section_handle(struct pe *pe, struct section *s, struct ck_env *env)
{
	switch ((enum section_kind)env->section.kind) {
	case SECTION_START:
		section_start(pe, s, env);
		return; /* it has taken the message */
	case SECTION_CREATE:
		s->tree.parent = env->head.src_pe;
		section_install(pe, s, payload_of(env));
		break;
	case SECTION_CONTRIBUTE:
		section_contribution(pe, s, env);
		break;
	case SECTION_PART:
		section_part_came(pe, s, env);
		return; /* the reduction keeps or frees the message */
	case SECTION_ASK:
		section_answer(pe, s, env);
		break;
	case SECTION_DESTROY:
		destroy(pe, s, env->section.number);
		break;
	case SECTION_HEAR:
		section_hears(pe, s, env->head.src_pe);
		break;
	case SECTION_OUTSIDE:
	case SECTION_OVER:
		break; /* told_arrived */
	}
	csd_msg_free(pe, &env->head);
}

/* Messages to or from PEs that need not have members. Returns whether it is handled. */
static bool outside_arrived(struct pe *pe, struct ck_env *env)
{
	const uint64_t id = env->coll;
	struct section *s = section_find(pe, id);

	if (env->section.kind == SECTION_HEAR && s)
		return false;
	if (env->section.kind == SECTION_HEAR) {
		section_post(pe, env->head.src_pe, id, SECTION_OVER, env);
		return true;
	}
	if (env->section.kind != SECTION_OUTSIDE && env->section.kind != SECTION_OVER)
		return false;
	if (s && env->section.kind == SECTION_OVER) {
		section_over(pe, s);
	} else if (s) {
		s->is_outside = true;
		section_sure(pe, s);
	}
	csd_msg_free(pe, &env->head);
	return true;
}

static void section_ctl_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;

	if (env->section.kind >= SECTION_HEAR && outside_arrived(pe, env))
		return;
	bool makes_it = env->section.kind == SECTION_START || env->section.kind == SECTION_CREATE;
	bool root = section_home(pe, env->coll) == pe->id;
	struct section *s = root ? section_find(pe, env->coll) : section_get(pe, env->coll);

	if (CSD_UNLIKELY(!s || (s->end != UINT64_MAX && root && env->section.kind != SECTION_PART &&
				env->section.kind != SECTION_HEAR)))
		gone_ctl(pe, env);
	if (section_known(s) || makes_it) {
		section_handle(pe, s, env);
		return;
	}
	if (env->section.kind == SECTION_CONTRIBUTE)
		section_ask(pe, s, env->index, env->section.entry);
	msg_fifo_push(&s->waiting, m);
}

/* ---- stubs ---------------------------------------------------------------------------------- */

/* A multicast of the PE that made the section, and of a section that was found lately: it exists,
 * has members here and nowhere else, and nothing keeps its calls back. NULL: any other. */
static inline struct section *section_here(const struct pe *pe, const CkSection *to)
{
	struct section *s = *section_recent(pe, to->id);

	return s && s->id == to->id && s->n_arrays && !s->tree.n_children &&
	       s->arrays->coll->id == to->coll && section_root(s->id) == pe->id && lives(s) &&
	       !call_is_closed(s->arrays->coll) ? s : NULL;
}

static inline void section_send_here(struct pe *pe, struct section *s, const CkSection *to,
				     struct ck_env *env)
{
	env->head.handler = ck_handler(pe, PART_SECTION, H_MULTICAST);
	env->coll = to->coll;
	env->section.number = to->id;
	env->section.no = (uint32_t)++s->n_begun;
	env->call |= (uint32_t)CK_ENV_FORWARDED << 16;
	s->n_sent++;
	csd_send_here(pe, &env->head);
}

void CkGen_sendSection(const CkGenChare *chare, const CkSection *s, int entry, void *payload,
		       const CkEntryOptions *o)
{
	struct pe *pe = ck_self_calls(chare, entry);

	struct section *here = CSD_LIKELY(call_is_plain(chare, entry, o)) ? section_here(pe, s) : NULL;

	if (here) {
		section_send_here(pe, here, s, call_take_plain(pe, payload, entry));
		return;
	}
	if (CSD_UNLIKELY(!section_is_set(pe, s->id)))
		unset_call(pe, chare, entry, "call of");
	struct ck_env *env = call_take(pe, chare, entry, payload, o);

	if (CSD_UNLIKELY(env->head.flags & CMI_F_HERE))
		env = env_for_others(pe, &chare->entries[entry], env);
	section_send(pe, s, env);
}

/* The section's number goes into a field that other callbacks do not use. */
CkCallback CkGen_cbSection(const CkGenChare *chare, const CkSection *s, int entry)
{
	struct pe *pe = ck_self_calls(chare, entry);

	if (CSD_UNLIKELY(!section_is_set(pe, s->id)))
		unset_call(pe, chare, entry, "callback to");
	CkCallback cb = callback_of_entry(CB_SECTION, chare, s->coll, (CkIndex){ { 0, 0, 0 } }, entry);

	cb.reserved[1] = s->id;
	return cb;
}

/* ---- the part ------------------------------------------------------------------------------- */

static void send_to_section(struct pe *pe, const CkCallback *cb, struct ck_env *env)
{
	callback_call(pe, cb, env);
	section_send(pe, &(CkSection){ cb->id, cb->reserved[1] }, env);
}

static const char *multicast_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct ck_env *env = (const struct ck_env *)m;
	const size_t prio = m->flags & CMI_F_WIDE ? msg_prio_of(m)->bytes : 0;

	if (env->more & CK_MORE_NUMBERED && m->size < sizeof *env + sizeof(struct ck_of_all) + prio)
		return "it does not say who has sent it";
	if (!section_is_set(pe, env->section.number))
		return "it names a section that nobody can have made";
	if (env->flags & CK_ENV_FORWARDED)
		return "it says that others have it, too";
	return shape_call_of(pe, coll_get(pe, env->coll), env);
}

static const char *section_ctl_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct ck_env *env = (const struct ck_env *)m;

	if (!section_is_set(pe, env->coll))
		return "it names a section that nobody can have made";
	switch ((enum section_kind)env->section.kind) {
	case SECTION_CREATE:
		return section_list_misfit(pe, env);
	case SECTION_CONTRIBUTE: /* of an element away from its home */
	case SECTION_PART:
		return section_values_misfit(pe, env);
	case SECTION_ASK:
	case SECTION_DESTROY:
		return NULL;
	case SECTION_HEAR:
		return section_home(pe, env->coll) == pe->id ? NULL : "this PE has not made the section";
	case SECTION_OUTSIDE:
	case SECTION_OVER:
		return section_home(pe, env->coll) == m->src_pe ? NULL : "its sender has not made the section";
	case SECTION_START:
		break;
	}
	return "its kind is unknown";
}

static const struct ck_handler handlers[] = {
	[H_MULTICAST] = { "ck.section", section_arrived,
			  .shape = { CK_SHAPE_COLL_CALL, .misfit = multicast_misfit } },
	[H_CONTROL] = { "ck.section.ctl", section_ctl_arrived,
			.shape = { CK_SHAPE_ENV, .misfit = section_ctl_misfit } },
};
static void give_section(const CkGenChare *chare, const CkCallback *cb, void *msg,
			 const CkGenMessage *type)
{
	(void)type;
	CkGen_sendSection(chare, &(CkSection){ cb->id, cb->reserved[1] }, cb->entry, msg, NULL);
}

static const struct ck_callback_kind callbacks[] = {
	{ .kind = CB_SECTION, .names = CK_NAMES_ENTRY, .send = send_to_section, .give = give_section },
};

static const struct place_watch watch = {
	.filed = section_filed,
	.filed_misfit = section_filed_misfit,
};

static const struct newborn_more more = { section_stamp, section_inserted };

static int section_node_start(struct node *node)
{
	place_node_of(node)->more = &more;
	call_node_of(node)->copy_began = section_copy_began;
	place_join(node, PART_SECTION, &watch);
	return 0;
}

const struct ck_part section_part = {
	.name = "section",
	.number = PART_SECTION,
	.pe_bytes = sizeof(struct sections),
	.coll_bytes = sizeof(struct section_coll),
	.handlers = CK_LIST(handlers),
	.callbacks = CK_LIST(callbacks),
	.node_start = section_node_start,
	.pe_stop = section_pe_stop,
	.watch.fini = section_newborns_fini,
	.describe = sections_describe,
	.save = { .refuse = sections_refuse, .write = sections_write,
		  .kinds = UINT32_C(1) << IMAGE_SECTION, .mine = section_is_mine, .read = section_read,
		  .read_all = sections_read_all },
};
