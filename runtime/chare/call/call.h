/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.h: the room call/: one call, from the stub to the handler.
 *
 * Owns     addressing and sending (send.c), finding the element and running its handler (deliver.c),
 *          calls that travel together (aggregate.c).
 * Called   by the stubs and by the rooms above, on the PE that sends or runs the call.
 * Calls    params/, core/. Attributes, kinds of chares and elements that are elsewhere are reached
 *          through the tables of the parts: not on the path of a plain call
 *          (CkGen_openClass -> dispatch -> element_arrived).
 */
#ifndef CK_CALL_H
#define CK_CALL_H

#include "../core/core.h"
#include "../params/params.h"

enum { PART_CALL = 3, PART_AGGREGATE = 4 };
enum { H_ELEMENT, H_BCAST };      /* handlers of PART_CALL */
extern const struct ck_part call_part, aggregate_part;

/* ---- send.c ------------------------------------------------------------------------------------ */

/** A payload becomes a call of an entry, without options. A message parameter that its handler sends
 * on is not freed after the handler; one that goes to several elements cannot be given away, so
 * the copy that each got is. */
static inline struct ck_env *call_take_plain(struct pe *pe, void *payload, int entry)
{
	struct ck_env *env = env_of(payload);

	if (CSD_UNLIKELY(env == ck_of(pe)->now.env))
		ck_of(pe)->now.env = NULL;
	env->head.route = ck_of(pe)->route;
	env->call = (uint32_t)entry;
	return env;
}

/** The same with all that the entry and the caller ask for. */
struct ck_env *call_take(struct pe *pe, const CkGenChare *chare, int entry, void *payload,
			 const CkEntryOptions *o);

static inline bool pe_is_here(const struct pe *pe, int other)
{
	return pe->node->job->node_of[other] == pe->node->job->node;
}

/* These take the message. */

/** To an element of any kind of collection. */
void send_element(struct pe *pe, const CkGenChare *type, const CkElement *e, struct ck_env *env);
/** What concerns an element of an array or a group, to its home; type may be NULL for arrays. */
void send_about(struct pe *pe, const CkGenChare *type, const CkElement *e, struct ck_env *env,
		int handler);
void send_all(struct pe *pe, uint64_t id, struct ck_env *env);
void send_main(struct pe *pe, uint64_t id, struct ck_env *env);

/** Address a call in an array whose extents are known: by place; by index in a sparse one. Returns the
 * PE. */
int address_in_array(struct pe *pe, struct collection *c, CkIndex index, struct ck_env *env);
int address_by_index(struct pe *pe, const struct collection *c, CkIndex index, struct ck_env *env);
/** It waits here for the collection's creation. */
void address_later(struct pe *pe, struct collection *c, CkIndex index, struct ck_env *env);

/* ---- deliver.c ----------------------------------------------------------------------------------- */

/** The handler of plain calls. */
void element_arrived(struct pe *pe, struct cmi_msg *m);

/* These take the message, unless it is `shared`: then it is the caller's. */

/** To this object, whatever the entry asks for. */
void deliver_to(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared);
/** To the element of this PE whose place the message names. */
void deliver_one(struct pe *pe, struct collection *c, struct ck_env *env);
/** To all elements of this PE; to n of them, of which some may be gone (NULL). */
void deliver_all(struct pe *pe, struct collection *c, struct ck_env *env);
void deliver_some(struct pe *pe, struct collection *c, struct ck_obj **objs, uint64_t n,
		  struct ck_env *env);
/** Construct an object that alone gets the message, which names its chare. */
void deliver_new(struct pe *pe, struct ck_obj *obj, struct ck_env *env);
/** Construct one of several objects; the payload stays the caller's. */
void construct(struct pe *pe, struct ck_obj *obj, void *payload);

/** Run the handler where its attributes want it. */
void execute(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared);
/** Run it here and now. */
void run_entry(struct pe *pe, struct ck_obj *obj, struct ck_env *env);
/** Behind a handler: what was lent to it ends, and so does a message of its own that it has not
 * taken. `special` is from before, because the handler may have freed the message. */
void call_ended(struct pe *pe, const CkGenEntry *e, struct ck_env *env, bool special, bool shared);
/** What the message calls, after checking that it may. */
CkGenCall checked_call(struct pe *pe, const struct collection *c, struct ck_env *env);

/** The scheduler's: what runs, for error lines. */
void ck_describe(const struct pe *pe, char *buf, size_t len);

/* ---- aggregate.c ------------------------------------------------------------------------------------ */

/** Send all calls that this PE holds back. */
void aggregate_flush(struct pe *pe);
/** Whether the running call came in a batch. */
bool aggregate_runs(const struct pe *pe);
/** A message with a copy of what its handler was given; its payload. */
void *aggregate_keep(struct pe *pe);

#endif
