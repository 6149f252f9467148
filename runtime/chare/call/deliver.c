/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deliver.c: brings a call from a queue to the user's handler. The runtime owns the message and
 * frees it after the handler, unless the handler has kept it (CkKeepMsg) or sent it.
 */
#include "call_int.h"
#include "../core/shape.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A `when` has no handler, so the body is named, too. */
static void describe_body(const struct ck_pe *ck, char *buf, size_t len)
{
	const CkGenChare *type = ck->now.obj->coll->type;
	char when[128], body[128];

	snprintf(buf, len, "%s, taken by %s", describe_entry(type, (int)ck->now.entry, when, sizeof when),
		 describe_entry(type, (int)ck->body, body, sizeof body));
}

void ck_describe(const struct pe *pe, char *buf, size_t len)
{
	const struct ck_pe *ck = ck_of(pe);

	if (ck && ck->now.obj && ck->body &&
	    ck->now.obj->coll->entries[ck->now.entry].flags & CKGEN_AWAITED)
		describe_body(ck, buf, len);
	else if (ck && ck->now.obj)
		describe_entry(ck->now.obj->coll->type, (int)ck->now.entry, buf, len);
	else if (ck && ck->starting)
		snprintf(buf, len, "an initproc function");
	else if (pe == csd_early_)
		snprintf(buf, len, "an initnode function");
	else
		buf[0] = 0;
}

void ck_describe_fully(const struct pe *pe, char *buf, size_t len)
{
	const struct ck_obj *obj = ck_of(pe) ? ck_of(pe)->now.obj : NULL;
	char what[160], element[96];

	ck_describe(pe, what, sizeof what);
	snprintf(buf, len, "%s%s%s", what, obj ? " at " : "",
		 obj ? obj_describe(obj, element, sizeof element) : "");
}

/* Call the handler on one element. The caller decides whether to free env. */
static inline void run_call(struct pe *pe, struct ck_obj *obj, uint32_t entry, CkGenCall call,
			    struct ck_env *env)
{
	ck_of(pe)->now = (struct ck_running){ obj, env, entry };
	call(self_of(obj), payload_of(env));
	ck_of(pe)->now.obj = NULL;
}

static __attribute__((noinline)) bool taken_by_any(struct pe *pe, const struct ck_takers *t,
						   uint32_t flags, struct ck_obj *obj,
						   struct ck_env *env, bool shared)
{
	for (int i = 0; i < t->n; i++)
		if ((flags & t->of[i]->flag) && t->of[i]->takes(pe, obj, env, shared))
			return true;
	return false;
}

/* Mostly one of its attributes is taken at this stage. */
static __attribute__((noinline)) bool taken_slow(struct pe *pe, enum ck_stage stage, uint32_t flags,
						 struct ck_obj *obj, struct ck_env *env, bool shared)
{
	const struct ck_takers *t = &ck_node_of(pe->node)->takers[stage];

	flags &= t->flags;
	if (!flags)
		return false;
	if (flags & (flags - 1))
		return taken_by_any(pe, t, flags, obj, env, shared);
	return t->alone[__builtin_ctz(flags)](pe, obj, env, shared);
}

/* Whether a part has taken over the call because of an attribute of its entry. Called for each
 * element of a broadcast, so it costs one test where the entry has no such attribute. */
static inline bool taken(struct pe *pe, enum ck_stage stage, struct ck_obj *obj, struct ck_env *env,
			 bool shared)
{
	uint32_t flags = obj->coll->entries[env->entry].flags;

	return CSD_UNLIKELY(flags & CKGEN_SPECIAL) && taken_slow(pe, stage, flags, obj, env, shared);
}

void run_entry(struct pe *pe, struct ck_obj *obj, struct ck_env *env)
{
	if (!taken(pe, CK_RUNS, obj, env, false))
		run_call(pe, obj, env->entry, checked_call(pe, obj->coll, env), env);
}

/* Call the handler and free the message, which is the element's own. */
static inline void run_and_free(struct pe *pe, struct ck_obj *obj, uint32_t entry,
				CkGenCall call, struct ck_env *env)
{
	run_call(pe, obj, entry, call, env);
	if (CSD_LIKELY(ck_of(pe)->now.env == env))
		csd_msg_free(pe, &env->head);
}

void CkGen_mayAnswer(void)
{
	csd_may_answer(ck_self());
}

/* After the handler of a call with CK_ENV_SPECIAL: take back what was lent to it. */
static void params_end(struct pe *pe, const CkGenEntry *e, struct ck_env *env)
{
	if (e->flags & CKGEN_NOCOPY)
		ncpy_done(pe, e, env);
	if (ck_of(pe)->unpacked)
		pup_forget(pe);
}

void construct(struct pe *pe, struct ck_obj *obj, void *payload)
{
	const CkGenEntry *e = &obj->coll->entries[0];

	if (e->flags & CKGEN_MESSAGE) {
		struct ck_env *copy = own_copy(pe, env_of(payload));

		copy->call = (copy->flags & (CK_ENV_SPECIAL | CK_ENV_PACKED)) * 0x10000u;
		deliver_to(pe, obj, copy, false);
		return;
	}
	ck_of(pe)->now = (struct ck_running){ obj, NULL, 0 };
	e->call(self_of(obj), payload);
	ck_of(pe)->now.obj = NULL;
	if (ck_of(pe)->unpacked)
		pup_forget(pe);
}

/* A call of this process is as its stub made it. */
static bool is_from_away(const struct pe *pe, const struct ck_env *env)
{
	const struct cmi_job *job = pe->node->job;
	const int src = env->head.src_pe;

	return src < 0 || src >= job->n_pes || job->node_of[src] != job->node;
}

/* Forwarded from the seat of the element, which is a guest here. */
static void take_of_all(struct pe *pe, struct collection *c, struct ck_env *env)
{
	struct ck_of_all of;

	if (shape_room(env) + sizeof of > env->head.size - sizeof *env)
		csd_misfit(pe, &env->head, "it does not say what it is a copy of");
	env_drop_behind(env, &of, sizeof of);
	env->more &= (uint8_t)~CK_MORE_OF_ALL;
	if (of.root < 0 || of.root >= pe->node->job->n_pes)
		csd_misfit(pe, &env->head, "it is a copy of a message that nobody can have sent");
	if (of.no && !call_node_of(pe->node)->newborns)
		csd_misfit(pe, &env->head, "it is for an element that is away; no room place has been built");
	if (of.no)
		call_node_of(pe->node)->newborns->saw(pe, c, (int)of.root, of.no);
}

/* Of a multicast. The section stays after the payload, for CkGetSectionInfo. */
static void take_of_section(struct pe *pe, struct ck_env *env)
{
	struct ck_of_all of;

	if (!call_node_of(pe->node)->copy_began || !(env->more & CK_MORE_SECTION) ||
	    shape_room(env) + sizeof(struct ck_of_section) > env->head.size - sizeof *env)
		csd_misfit(pe, &env->head, "it does not say what it is a copy of");
	env_drop_behind(env, &of, sizeof of);
	env->more &= (uint8_t)~CK_MORE_NUMBERED;
	if (of.root < 0 || of.root >= pe->node->job->n_pes || !of.no)
		csd_misfit(pe, &env->head, "it is a copy of a message that nobody can have sent");
	call_node_of(pe->node)->copy_began(pe, env_section(env), (int)of.root, of.no);
}

/* Entries with arrays, and those that have no plain calls, come here, too. */
static __attribute__((noinline)) void check_params(struct pe *pe, struct collection *c,
						   struct ck_env *env)
{
	const CkGenChare *type = c->type;
	const char *why;
	char name[128], text[256];

	if (env->more & CK_MORE_OF_ALL)
		take_of_all(pe, c, env);
	if (env->more & CK_MORE_NUMBERED)
		take_of_section(pe, env);
	why = is_from_away(pe, env) ? shape_call(pe, type, env->entry, env) : NULL;
	if (!why)
		return;
	snprintf(text, sizeof text, "%s, of %s", why, describe_entry(type, env->entry, name, sizeof name));
	csd_misfit(pe, &env->head, text);
}

/* Flags of `call`. */
enum {
	LOOKED_AT = (CK_CALL_REDUCED | CK_ENV_PACKED) << 16 | (CK_MORE_OF_ALL | CK_MORE_NUMBERED)
								      << 24
};

static inline void check_entry(struct pe *pe, struct collection *c, struct ck_env *env)
{
	if (CSD_UNLIKELY(env->entry >= c->type->n_entries))
		csd_abort(pe, "message from PE %d calls entry %d of %s; it has %d", env->head.src_pe,
			  env->entry, c->type->name, c->type->n_entries);
	if (CSD_UNLIKELY(env->head.size < c->type->entries[env->entry].least || env->call & LOOKED_AT))
		check_params(pe, c, env);
}

CkGenCall checked_callback(struct pe *pe, const struct collection *c, struct ck_env *env)
{
	callback_check_data(pe, c->type, env->entry, payload_of(env));
	return c->entries[env->entry].reduced;
}

_Noreturn void call_lost(struct pe *pe, const struct collection *c, const struct ck_env *env)
{
	char name[128];

	describe_entry(c->type, env->entry, name, sizeof name);
	csd_abort(pe, "PE %d called %s on an element that is not on this PE; a map must give the "
		  "same PE everywhere and every time", env->head.src_pe, name);
}

/* ---- entries with attributes, and elements that have calls waiting --------------------------- */

void call_ended(struct pe *pe, const CkGenEntry *e, struct ck_env *env, bool special, bool shared)
{
	if (special)
		params_end(pe, e, env);
	if (shared || ck_of(pe)->now.env != env)
		return;
	if (special)
		message_done(pe, env);
	else
		csd_msg_free(pe, &env->head);
}

void execute(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared)
{
	const CkGenEntry *e = &obj->coll->entries[env->entry];
	bool special = env_is_special(pe, env);

	if (special)
		env->head.mark = OWNER_HANDLER;
	if (special && (env->flags & CK_CALL_LENT))
		ncpy_arrived(pe, e, env);
	if (taken(pe, CK_STARTS, obj, env, shared))
		return;
	ck_of(pe)->shared = shared;
	run_entry(pe, obj, env);
	ck_of(pe)->shared = false;
	call_ended(pe, e, env, special, shared);
}

/* The message is checked and unpacked. */
static inline void deliver_checked(struct pe *pe, struct ck_obj *obj, struct ck_env *env,
				   bool shared)
{
	if (taken(pe, CK_TAKES_CALL, obj, env, shared))
		return;
	execute(pe, obj, env, shared);
	if (CSD_UNLIKELY(obj->extra & OBJ_EXTRA))
		call_node_of(pe->node)->behind(pe, obj);
}

void deliver_to(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared)
{
	if (!shared) /* else deliver_some has looked */
		check_entry(pe, obj->coll, env);
	if (env->flags & CK_ENV_PACKED)
		env = message_unpack(pe, obj->coll->entries[env->entry].message, env);
	deliver_checked(pe, obj, env, shared);
}

void deliver_new(struct pe *pe, struct ck_obj *obj, struct ck_env *env)
{
	env->entry = 0;
	env->more = 0;
	if (obj->coll->entries[0].flags & (CKGEN_SPECIAL | CKGEN_MESSAGE))
		env->flags |= CK_ENV_SPECIAL;
	deliver_to(pe, obj, env, false);
}

/* ---- to one, to all -------------------------------------------------------------------------- */

void deliver_one(struct pe *pe, struct collection *c, struct ck_env *env)
{
	struct ck_obj *obj = coll_find(c, env->place);

	if (CSD_LIKELY(obj != NULL)) {
		deliver_to(pe, obj, env, false);
		return;
	}
	if (!ck_kind(pe, c->type)->missing || env->place >= c->homes.total)
		call_lost(pe, c, env);
	env->head.handler = ck_handler(pe, PART_CALL, H_ELEMENT);
	ck_kind(pe, c->type)->missing(pe, c, env);
}

/* ---- too early ------------------------------------------------------------------------------- */

static void check_made_here(struct pe *pe, uint64_t id, int from)
{
	if ((uint32_t)id > ck_of(pe)->n_created)
		csd_abort(
			pe,
			"PE %d received a message for collection %u of this PE, which has made %u; the message "
			"was damaged on its way, or the nodes run different programs",
			from, (uint32_t)id, ck_of(pe)->n_created);
}

void made_arrived(struct pe *pe, struct cmi_msg *m)
{
	check_made_here(pe, ((const struct made_msg *)m)->id, m->src_pe);
	csd_msg_free(pe, m);
}

/* A message can only name a collection that has been made, so its creator knows it. */
void call_wait(struct pe *pe, struct collection *c, struct cmi_msg *m)
{
	const int creator = (int)(c->id >> 32);

	coll_wait(c, m);
	if (c->type || call_coll_of(c)->asked_for)
		return;
	call_coll_of(c)->asked_for = true;
	if (creator >= pe->node->job->n_pes)
		csd_abort(pe, "PE %d received a message for collection %u of PE %d, which was not there when the "
			  "job was restarted; the message was damaged on its way", pe->id, (uint32_t)c->id, creator);
	if (creator == pe->id) {
		check_made_here(pe, c->id, pe->id);
		return;
	}
	struct made_msg *q = ck_msg_new(pe, PART_CALL, H_MADE, CMI_F_SYSTEM, sizeof *q);

	q->id = c->id;
	csd_send_now(pe, creator, &q->head);
}

/* The calls for which element_arrived needs more than the place. */
static __attribute__((noinline)) void element_arrived_slow(struct pe *pe, struct collection *c,
							   struct ck_env *env)
{
	if (!coll_there(pe, c)) {
		env->more |= CK_MORE_WAITED; /* so that it takes this path again */
		call_wait(pe, c, &env->head);
	} else if (c->sparse)
		ck_kind(pe, c->type)->missing(pe, c, env);
	else
		deliver_one(pe, c, env);
}

/* Elements not covered by n_here: those of a PE from which others are away, guests, and those that
 * a user's map put here. */
static inline struct ck_obj *find_by_table(const struct collection *c, uint64_t place)
{
	const uint64_t at = place - c->first;
	struct ck_obj *obj;

	if (at < c->n_slots && !c->homes.map)
		obj = c->elems[at];
	else if (!c->guests || !(obj = guest_find(c->guests, elem_key_of_place(place))))
		return coll_find_slow(c, place);
	return obj && obj_takes_calls(obj) ? obj : NULL;
}

/* Once such an element is found, a plain call is as fast as any. */
static inline __attribute__((always_inline)) bool runs_by_table(struct pe *pe, struct collection *c,
								struct ck_env *env)
{
	struct ck_obj *obj;

	if (!c->constructed || c->sparse || env->call >= c->n_entries ||
	    !(obj = find_by_table(c, env->place)))
		return false;
	run_and_free(pe, obj, env->call, c->entries[env->call].call, env);
	return true;
}

void deliver_attributed(struct pe *pe, struct ck_obj *obj, struct ck_env *env, const CkGenEntry *e)
{
	(void)e;
	deliver_checked(pe, obj, env, false);
}

/* A plain call to an entry with attributes, of element `at` of those here. Its only flag says that
 * delivery must look at these. Mostly the entry has one attribute, and the room that takes the call
 * needs no look at the others. */
static inline __attribute__((always_inline)) bool runs_by_attribute(struct pe *pe,
								    struct collection *c,
								    struct ck_env *env, uint64_t at)
{
	const uint32_t entry = env->call ^ CKGEN_SEEN;

	if (CSD_UNLIKELY(entry >= c->n_entries))
		return false;
	const CkGenEntry *e = &c->entries[entry];

	call_node_of(pe->node)->takers[e->taker](pe, c->elems[at], env, e);
	return true;
}

static __attribute__((noinline)) void element_arrived_otherwise(struct pe *pe, struct collection *c,
								struct ck_env *env)
{
	if (!runs_by_table(pe, c, env))
		element_arrived_slow(pe, c, env);
}

static __attribute__((noinline)) void element_arrived_attributed(struct pe *pe,
								 struct collection *c,
								 struct ck_env *env, uint64_t at)
{
	if (!runs_by_attribute(pe, c, env, at))
		element_arrived_otherwise(pe, c, env);
}

/* Whether a plain call from another process can run. The type's own table decides: c->entries may
 * have other functions, which check nothing. */
static bool params_fit(const struct collection *c, const struct ck_env *env)
{
	const CkGenEntry *e = &c->type->entries[env->entry];

	return env->head.size >= e->least || (e->came && env->head.size >= sizeof *env &&
					      e->fits(env + 1, env->head.size - sizeof *env));
}

/* Of another process. */
static __attribute__((noinline)) void element_came_by_table(struct pe *pe, struct collection *c,
							    struct ck_env *env)
{
	if (env->call < c->n_entries && params_fit(c, env) && runs_by_table(pe, c, env))
		return;
	csd_check(pe, &env->head);
	element_arrived_slow(pe, c, env);
}

/* The same for an entry whose only attribute is one that says who takes the call. Such entries have
 * no parameters that are checked otherwise than by `fits`, unless they take message objects. */
static bool params_fit_taker(const struct collection *c, uint32_t entry, const struct ck_env *env)
{
	const CkGenEntry *e = &c->type->entries[entry];

	return e->taker && !(e->flags & CKGEN_MESSAGE) && env->head.size >= sizeof *env &&
	       (!e->fits || e->fits(env + 1, env->head.size - sizeof *env));
}

static __attribute__((noinline)) void element_came_attributed(struct pe *pe, struct collection *c,
							      struct ck_env *env, uint64_t at)
{
	const uint32_t entry = env->call ^ CKGEN_SEEN;

	if (entry >= c->n_entries || !params_fit_taker(c, entry, env) ||
	    !runs_by_attribute(pe, c, env, at))
		element_came_by_table(pe, c, env);
}

static inline __attribute__((always_inline)) void arrived_in(struct pe *pe, struct collection *c,
							     struct ck_env *env)
{
	const uint64_t at = env->place - c->first;

	if (CSD_UNLIKELY(at >= c->n_here))
		element_arrived_otherwise(pe, c, env);
	else if (CSD_UNLIKELY(env->call >= c->n_entries))
		element_arrived_attributed(pe, c, env, at);
	else
		run_and_free(pe, c->elems[at], env->call, c->entries[env->call].call, env);
}

static __attribute__((noinline)) void arrived_elsewhere(struct pe *pe, struct ck_env *env)
{
	arrived_in(pe, coll_get(pe, env->coll), env);
}

/* Two comparisons replace all checks. n_here is 0 while the elements do not exist or must be looked
 * up. A `call` with any flag is larger than every entry's number. Other special cases (entries with
 * attributes, elements that come and go) set n_here or n_entries to 0. */
void element_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	struct collection *c = ck_of(pe)->last;

	if (CSD_LIKELY(c->id == env->coll))
		arrived_in(pe, c, env);
	else
		arrived_elsewhere(pe, env);
}

static inline bool runs_by_place(struct pe *pe, struct collection *c, struct ck_env *env)
{
	uint64_t at = env->place - c->first;

	if (CSD_UNLIKELY(at >= c->n_here || env->call >= c->n_entries))
		return false;
	run_and_free(pe, c->elems[at], env->call, c->entries[env->call].call, env);
	return true;
}

bool element_runs(struct pe *pe, struct ck_env *env)
{
	return runs_by_place(pe, coll_get(pe, env->coll), env);
}

/* For parameters other than values, `came` checks what lies beyond the head. */
void element_came(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	struct collection *c = coll_get(pe, env->coll);
	uint64_t at = env->place - c->first;
	const CkGenEntry *e = &c->entries[env->call];

	if (CSD_UNLIKELY(at >= c->n_here))
		element_came_by_table(pe, c, env);
	else if (CSD_UNLIKELY(env->call >= c->n_entries))
		element_came_attributed(pe, c, env, at);
	else if (CSD_LIKELY(m->size >= e->least))
		run_and_free(pe, c->elems[at], env->call, e->call, env);
	else if (CSD_LIKELY(e->came != NULL && m->size >= sizeof *env))
		run_and_free(pe, c->elems[at], env->call, e->came, env);
	else
		element_came_by_table(pe, c, env);
}

/* A wide priority may follow the parameters, and CkGenEntry.came allows them to lie there, too: it
 * is the message's memory. */
void CkGen_misfit(const void *payload)
{
	struct pe *pe = ck_self();
	struct ck_env *env = env_of((void *)(uintptr_t)payload);

	ck_of(pe)->now.obj = NULL; /* no handler runs */
	csd_check(pe, &env->head);
	check_params(pe, coll_get(pe, env->coll), env);
	csd_misfit(pe, &env->head, "a parameter does not lie within it");
}

/* Whether a call needs nothing but its handler, whatever the element, and all share the message. */
static inline bool needs_handler_only(struct pe *pe, const struct collection *c,
				      const struct ck_env *env)
{
	return !(c->entries[env->entry].flags & (CKGEN_SPECIAL | CKGEN_MESSAGE)) &&
	       !(env->flags & CK_ENV_PACKED) && !env_is_special(pe, env);
}

/* As deliver_checked, of the only element. */
static void run_alone(struct pe *pe, struct ck_obj *obj, struct ck_env *env)
{
	run_and_free(pe, obj, env->entry, checked_call(pe, obj->coll, env), env);
	if (CSD_UNLIKELY(obj->extra & OBJ_EXTRA))
		call_node_of(pe->node)->behind(pe, obj);
}

CkGenCall deliver_simply(struct pe *pe, const struct collection *c, struct ck_env *env)
{
	return needs_handler_only(pe, c, env) ? checked_call(pe, c, env) : NULL;
}

/* The message stays the caller's, which has written down the entry: whoever runs another one inside
 * the handler restores that. */
static inline void lend_to(struct ck_pe *ck, struct ck_obj *obj, struct ck_env *env, CkGenCall call)
{
	ck->shared = true;
	ck->now.obj = obj;
	ck->now.env = env;
	call(self_of(obj), payload_of(env));
}

static inline void lent_no_more(struct pe *pe)
{
	ck_of(pe)->shared = false;
	ck_of(pe)->now.obj = NULL;
}

void deliver_next(struct pe *pe, struct ck_obj *obj, struct ck_env *env, CkGenCall call)
{
	ck_of(pe)->now.entry = env->entry;
	lend_to(ck_of(pe), obj, env, call);
	lent_no_more(pe);
	if (CSD_UNLIKELY(obj->extra & OBJ_EXTRA))
		call_node_of(pe->node)->behind(pe, obj);
}

static __attribute__((noinline)) void behind_lent(struct pe *pe, struct ck_obj *obj, uint32_t entry)
{
	lent_no_more(pe);
	call_node_of(pe->node)->behind(pe, obj);
	ck_of(pe)->now.entry = entry;
}

/* The same for each, without asking again. Between two handlers nothing else happens, so the end of
 * the first is not written down. */
static __attribute__((noinline)) void run_shared(struct pe *pe, struct collection *c,
						 struct ck_obj **objs, uint64_t n,
						 struct ck_env *env)
{
	const CkGenCall call = checked_call(pe, c, env);
	struct ck_obj **const end = objs + n;
	struct ck_pe *const ck = ck_of(pe);

	call_coll_of(c)->walks++;
	ck->now.entry = env->entry;
	while (objs < end) {
		struct ck_obj *obj = *objs++;

		if (CSD_UNLIKELY(!obj))
			continue;
		lend_to(ck, obj, env, call);
		if (CSD_UNLIKELY(obj->extra & OBJ_EXTRA))
			behind_lent(pe, obj, env->entry);
	}
	lent_no_more(pe);
	call_coll_of(c)->walks--;
	env_unref(pe, env);
}

/* All elements share one message; the last holder frees it. */
static void deliver_shared(struct pe *pe, struct ck_obj **objs, uint64_t n, struct ck_env *env)
{
	for (uint64_t i = 0; i < n; i++)
		if (CSD_LIKELY(objs[i] != NULL))
			deliver_to(pe, objs[i], env, true);
}

/* Each element gets a copy, because its handler may change the message or send it. */
static void deliver_copies(struct pe *pe, struct ck_obj **objs, uint64_t n, struct ck_env *env)
{
	for (uint64_t i = 0; i < n; i++)
		if (CSD_LIKELY(objs[i] != NULL))
			deliver_to(pe, objs[i], own_copy(pe, env), false);
}

static __attribute__((noinline)) void deliver_each(struct pe *pe, struct collection *c,
						   struct ck_obj **objs, uint64_t n,
						   struct ck_env *env)
{
	call_coll_of(c)->walks++;
	if (c->entries[env->entry].flags & CKGEN_MESSAGE)
		deliver_copies(pe, objs, n, env);
	else
		deliver_shared(pe, objs, n, env);
	call_coll_of(c)->walks--;
	env_unref(pe, env);
}

void deliver_some(struct pe *pe, struct collection *c, struct ck_obj **objs, uint64_t n,
		  struct ck_env *env)
{
	check_entry(pe, c, env);
	const bool simple = needs_handler_only(pe, c, env), alone = n == 1 && objs[0];

	if (CSD_LIKELY(simple && !alone))
		run_shared(pe, c, objs, n, env);
	else if (simple)
		run_alone(pe, objs[0], env);
	else if (alone)
		deliver_to(pe, objs[0], env, false);
	else
		deliver_each(pe, c, objs, n, env);
}

/* A copy of a broadcast, as a call of one element. */
static void hand_on(struct pe *pe, struct collection *c, CkIndex index, const struct ck_env *env)
{
	const bool counted = env->head.handler == ck_handler(pe, PART_CALL, H_BCAST);
	const struct ck_of_all of = { counted ? env->place : 0, counted ? env->root : 0 };
	struct ck_env *copy = env_copy_for_one(pe, env, &of, sizeof of);

	copy->more |= CK_MORE_OF_ALL;
	call_element(pe, c, index, copy);
}

void deliver_copy(struct pe *pe, struct collection *c, struct ck_obj *obj, const struct ck_env *env)
{
	if (obj->extra & OBJ_CALLED)
		hand_on(pe, c, obj->index, env);
	else
		deliver_to(pe, obj, own_copy(pe, env), false);
}

/* Where elements are away, or have been, and where new ones do not get the broadcast (`newborns`).
 * Those calls leave first, so that none that a handler here makes overtakes them. A handler may
 * make a later element leave (call_coll_of(c)->walks), or destroy it. */
static void deliver_past_odd(struct pe *pe, struct collection *c, struct ck_env *env, bool newborns)
{
	const bool message = c->entries[env->entry].flags & CKGEN_MESSAGE;
	const uint64_t n = c->n_slots;
	bool *done = cmi_alloc_zero(n + 1, sizeof *done, "a broadcast");

	check_entry(pe, c, env);
	if (newborns)
		call_node_of(pe->node)->newborns->pass(pe, c, env, done);
	call_coll_of(c)->walks++;
	for (uint64_t i = 0; i < n; i++)
		if (!done[i] && (done[i] = c->elems[i] && c->elems[i]->extra & OBJ_CALLED))
			hand_on(pe, c, c->elems[i]->index, env);
	for (uint64_t i = 0; i < n; i++)
		if (!done[i] && c->elems[i] && !obj_is_stub(c->elems[i]))
			deliver_to(pe, c->elems[i], message ? own_copy(pe, env) : env, !message);
	call_coll_of(c)->walks--;
	free(done);
	env_unref(pe, env);
}

/* What calls the handler of an entry without attributes: as in element_came, parameters other than
 * values are checked by `came`. NULL: more has to be looked at. */
static inline CkGenCall came_call(const CkGenEntry *e, const struct ck_env *env)
{
	if (CSD_UNLIKELY(env->call & LOOKED_AT))
		return NULL;
	if (env->head.size >= e->least)
		return e->call;
	return env->head.size >= sizeof *env ? e->came : NULL;
}

/* The fast path is for a PE with one element, mostly a group's. As in element_arrived, n_here and
 * n_entries replace the other checks. */
void deliver_all(struct pe *pe, struct collection *c, struct ck_env *env)
{
	const uint32_t rare = CK_ENV_SPECIAL | CK_ENV_PACKED;

	if (c->n_here == 1 && env->entry < c->n_entries && !(env->flags & rare) &&
	    !(c->entries[env->entry].flags & CKGEN_SPECIAL) && CSD_LIKELY(!pe->node->check)) {
		CkGenCall call = came_call(&c->entries[env->entry], env);

		if (CSD_UNLIKELY(!call)) {
			check_entry(pe, c, env);
			call = checked_call(pe, c, env);
		}
		run_and_free(pe, c->elems[0], env->entry, call, env);
	} else if (CSD_UNLIKELY(call_coll_of(c)->n_odd)) {
		deliver_past_odd(pe, c, env, false);
	} else {
		deliver_some(pe, c, c->elems, c->n_slots, env);
	}
}

void deliver_result(struct pe *pe, struct collection *c, struct ck_env *env)
{
	const bool all = env->place == UINT64_MAX;
	const uint64_t at = all ? c->n_here - 1 : env->place - c->first; /* all: 0, if it is alone */

	if (at < (all ? 1 : c->n_here) && env->entry < c->n_entries &&
	    !(c->entries[env->entry].flags & CKGEN_SPECIAL) && CSD_LIKELY(!pe->node->check))
		run_and_free(pe, c->elems[at], env->entry, c->entries[env->entry].reduced, env);
	else if (all)
		deliver_all(pe, c, env);
	else
		deliver_one(pe, c, env);
}

/* Elements can be inserted into arrays only. Returns whether some of this PE do not get it like the
 * others. */
static inline bool begin_bcast(struct pe *pe, struct collection *c, const struct ck_env *env)
{
	struct call_coll *k = call_coll_of(c);

	if (c->type->kind != CKGEN_ARRAY)
		return false;
	spans_count(&k->seen, env->root, env->place);
	return CSD_UNLIKELY(k->newborns != NULL) && call_node_of(pe->node)->newborns->begin(pe, c, env);
}

void bcast_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	struct collection *c = coll_get(pe, env->coll);
	int root = env->root;
	uint64_t bytes = m->size;

	bcast_forward(pe, env);
	if (CSD_UNLIKELY(!coll_there(pe, c))) {
		call_wait(pe, c, m);
		return;
	}
	if (CSD_UNLIKELY(begin_bcast(pe, c, env)))
		deliver_past_odd(pe, c, env, true);
	else
		deliver_all(pe, c, env);
	bcast_handled(pe, root, bytes);
}
