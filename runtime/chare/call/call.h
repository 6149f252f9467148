/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.h: the room call/: one call, from the stub to the handler.
 *
 * Owns     addressing and sending (send.c), finding the element and running its handler
 *          (deliver.c), keeping a handler's message (keep.c), batches of calls (aggregate.c), the
 *          route of a call (call_route.h), calls of a collection whose elements move while it is
 *          quiescent (closed.c).
 * Called   by the stubs and by the rooms above, on the PE that sends or runs the call.
 * Calls    params/, core/; and through the tables of the parts, the rooms that handle attributes,
 *          kinds of chares, and elements that are elsewhere. A plain call does not use these tables
 *          (CkGen_openClass -> dispatch -> element_arrived).
 */
#ifndef CK_CALL_H
#define CK_CALL_H

#include "../core/core.h"
#include "../params/params.h"
#include "call_route.h"
#include "../core/tables/spans.h"

enum { PART_CALL = 3, PART_AGGREGATE = 4 };
enum {
	H_ELEMENT,
	H_BCAST,
	H_MADE,
	H_BCAST_HANDLED
}; /* handlers of PART_CALL */
extern const struct ck_part call_part, aggregate_part;

/* ---- send.c ---------------------------------------------------------------------------------- */

/** Flags of entries whose calls need more than their parameters. */
enum { CALL_NOT_PLAIN = CKGEN_EXPEDITED | CKGEN_MESSAGE | CKGEN_SPECIAL };

/** Whether neither the entry nor the caller has special demands. */
static inline bool call_is_plain(const CkGenChare *chare, int entry, const CkEntryOptions *o)
{
	return !o && !(chare->entries[entry].flags & CALL_NOT_PLAIN);
}

/** Make a payload a call of an entry, without options. If a handler sends its own message, the
 * runtime does not free it after the handler. (A message for several elements is copied for each,
 * so a handler can only give away its copy.) */
static inline struct ck_env *call_take_plain(struct pe *pe, void *payload, int entry)
{
	struct ck_env *env = env_of(payload);

	if (CSD_UNLIKELY(env == ck_of(pe)->now.env))
		ck_of(pe)->now.env = NULL;
	env->head.route = ck_of(pe)->route;
	env->call = (uint32_t)entry;
	return env;
}

/** The same with the entry's attributes and the caller's options. */
struct ck_env *call_take(struct pe *pe, const CkGenChare *chare, int entry, void *payload,
			 const CkEntryOptions *o);

static inline bool pe_is_here(const struct pe *pe, int other)
{
	return pe->node->job->node_of[other] == pe->node->job->node;
}

/* The following functions take the message. */

/** Send a call to an element of any kind of collection. */
void send_element(struct pe *pe, const CkGenChare *type, const CkElement *e, struct ck_env *env);
/** Send a message about an element of an array or a group to its home. type may be NULL for
 * arrays. */
void send_about(struct pe *pe, const CkGenChare *type, const CkElement *e, struct ck_env *env,
		int handler);
/** Send a call of an array element that is not here, or that its calls do not reach directly. */
void call_element(struct pe *pe, struct collection *c, CkIndex index, struct ck_env *env);
void send_all(struct pe *pe, uint64_t id, struct ck_env *env);
void send_main(struct pe *pe, uint64_t id, struct ck_env *env);

/** Address a call in an array whose extents are known: by place, or by index in a sparse array.
 * call_to then gives its destination. */
void address_in_array(struct pe *pe, const struct collection *c, CkIndex index, struct ck_env *env);
void address_by_index(CkIndex index, struct ck_env *env);
/** Let the call wait on this PE for the collection's creation. */
void address_later(struct pe *pe, struct collection *c, CkIndex index, struct ck_env *env);

/* ---- set by rooms above while the node starts ------------------------------------------------ */

/* Each of these has one user. They are not calls because they would go up, and because place/ and
 * section/ can be left out. */

/** Which broadcasts inserted elements get (place/record/newborn.c). */
struct call_newborns {
	/** This PE begins to deliver a broadcast of a collection that has `newborns`. Returns whether some
	 * elements are passed over. */
	bool (*begin)(struct pe *pe, struct collection *c, const struct ck_env *env);
	/** Set passed[ordinal] of the elements that do not get it, or not yet. */
	void (*pass)(struct pe *pe, struct collection *c, struct ck_env *env, bool *passed);
	/** A guest of this PE gets one now. */
	void (*saw)(struct pe *pe, struct collection *c, int root, uint64_t no);
};

struct call_node {
	/** wait/: a handler of an element that has a record there (OBJ_EXTRA) has ended on the PE's own
	 * stack. */
	void (*behind)(struct pe *pe, struct ck_obj *obj);
	/** By CkGenEntry.taker: a call has come of an entry that has one attribute, and is not shared.
	 * Set by the rooms whose attribute it is. */
	void (*takers[CKGEN_TAKERS])(struct pe *pe, struct ck_obj *obj, struct ck_env *env,
				     const CkGenEntry *e);
	const struct call_newborns *newborns; /* place/; NULL without that room */
	/** section/: a copy of a multicast is delivered to an element here. NULL without that room. */
	void (*copy_began)(struct pe *pe, CkSection section, int root, uint64_t no);
};
static inline struct call_node *call_node_of(const struct node *node)
{
	return ck_node_state(node, PART_CALL);
}

/* ---- deliver.c ------------------------------------------------------------------------------- */

/** The handler of plain calls. */
void element_arrived(struct pe *pe, struct cmi_msg *m);
/** The same for a call from another process: its parameters must fit the entry. */
void element_came(struct pe *pe, struct cmi_msg *m);
/** The same, unless anything but calling the handler is needed: then false, and nothing has been
 * done. */
bool element_runs(struct pe *pe, struct ck_env *env);

/* The following functions take the message, unless it is `shared`: then the caller still owns
 * it. */

/** Deliver a call to this object, whatever attributes the entry has. */
void deliver_to(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared);
/** The same for a call that is checked and not packed: the default of call_node.takers. */
void deliver_attributed(struct pe *pe, struct ck_obj *obj, struct ck_env *env, const CkGenEntry *e);
/** Before one message goes to several elements: the handler, if the call needs nothing else,
 * whatever the element. NULL: use deliver_to. */
CkGenCall deliver_simply(struct pe *pe, const struct collection *c, struct ck_env *env);
/** Call it for one of them, which takes calls. The message stays the caller's. */
void deliver_next(struct pe *pe, struct ck_obj *obj, struct ck_env *env, CkGenCall call);
/** Deliver a call to the element of this PE whose place the message names. */
void deliver_one(struct pe *pe, struct collection *c, struct ck_env *env);
/** Deliver a call to all elements of this PE, or to the n elements of objs; NULL in objs is
 * skipped. */
void deliver_all(struct pe *pe, struct collection *c, struct ck_env *env);
/** A result that was made here, and whose values are what the entry takes: to all elements, or to
 * one of this PE. */
void deliver_result(struct pe *pe, struct collection *c, struct ck_env *env);
void deliver_some(struct pe *pe, struct collection *c, struct ck_obj **objs, uint64_t n,
		  struct ck_env *env);
/** Deliver a broadcast to the element whose slot has `obj`, or forward it. The caller still owns
 * it. */
void deliver_copy(struct pe *pe, struct collection *c, struct ck_obj *obj,
		  const struct ck_env *env);
/** Construct the only object that gets this message. The message names the object's chare. */
void deliver_new(struct pe *pe, struct ck_obj *obj, struct ck_env *env);
/** Construct one of several objects; the caller still owns the payload. */
void construct(struct pe *pe, struct ck_obj *obj, void *payload);

/** Run the handler as its attributes demand. */
void execute(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared);
/** Run the handler now, on this stack. */
void run_entry(struct pe *pe, struct ck_obj *obj, struct ck_env *env);
/** After a handler: take back what was lent to it, and free its own message unless it has taken
 * that. The caller reads `special` before the handler, because the handler may free the message. */
void call_ended(struct pe *pe, const CkGenEntry *e, struct ck_env *env, bool special, bool shared);
/** Abort: the message came to a PE where its element neither is nor can have been. */
_Noreturn void call_lost(struct pe *pe, const struct collection *c, const struct ck_env *env);
/** The function that the message calls; aborts if a callback's data do not fit the entry. */
CkGenCall checked_callback(struct pe *pe, const struct collection *c, struct ck_env *env);
static inline CkGenCall checked_call(struct pe *pe, const struct collection *c, struct ck_env *env)
{
	return CSD_UNLIKELY(env->flags & CK_CALL_REDUCED) ? checked_callback(pe, c, env) :
							    c->entries[env->entry].call;
}

/** For the scheduler's error lines: the entry method that runs. */
void ck_describe(const struct pe *pe, char *buf, size_t len);
void ck_describe_fully(const struct pe *pe, char *buf, size_t len);

/* ---- closed.c -------------------------------------------------------------------------------- */

struct closed {
	struct call_route route;  /* on the route: it is closed */
	struct held_call *list;   /* ours: the calls kept, in order */
	size_t n, cap;
};

/** Of a collection on a PE. */
struct call_coll {
	struct closed closed;
	/** NULL, or: handle what PE src has sent to elements here by other means than messages
	 * (channel/landing.c). */
	void (*heard)(struct pe *pe, int src);
	uint32_t walks;           /* running loops over elems, during which elements keep their slots and
				   * none leaves */
	uint32_t n_odd;           /* in elems: not plain elements, see OBJ_ODD; then n_here and n_line are
				   * 0 */
	/* Elements of this PE whose constructors have yet to begin: from new_from up to new_to, which is
	 * not one of them. None can be called in place, so n_line is 0 then. */
	uint32_t new_from, new_to;
	bool asked_for;           /* its creator was asked whether it has been made (call_wait) */
	uint64_t n_begun;         /* broadcasts that this PE has begun; gives their numbers */
	struct spans seen;        /* ours; of an array: broadcasts that this PE has begun to deliver */
	uint64_t n_newborns;      /* newborn.c: records so far */
	struct newborns *newborns; /* newborn.c: ours; NULL: no insertion is under way */
};

static inline struct call_coll *call_coll_of(const struct collection *c)
{
	return coll_state(c, PART_CALL);
}

/** Let calls take the fast path, if all elements that the map puts here are here. */
void coll_line_up(struct collection *c);

static inline bool call_is_closed(const struct collection *c)
{
	return call_coll_of(c)->closed.route.stop != NULL;
}

/** For the watchdog: what is kept. */
void call_describe_held(const struct collection *c, struct csd_told *to);
void closed_fini(struct pe *pe, struct collection *c);

/** Send a call that was kept. Takes the message. */
typedef void (*call_release_fn)(struct pe *pe, struct collection *c, struct ck_env *env);

/** From now on this PE keeps what it sends to the collection; earlier messages have left, batches
 * included (aggregate_flush): calls that could be batched are now sent singly, and kept. */
void call_close(struct collection *c);
/** Keep a message of a collection that is closed. Takes the message. */
void call_hold(struct pe *pe, struct collection *c, struct ck_env *env, call_release_fn send);
/** The collection is open again: send all that was kept, in order. */
void call_release(struct pe *pe, struct collection *c);

/** Before acting on a statement of PE src about an element: handle what src has sent to it
 * before. */
static inline void call_hear(struct pe *pe, const struct collection *c, int src)
{
	if (call_coll_of(c)->heard)
		call_coll_of(c)->heard(pe, src);
}

/* ---- bcast.c --------------------------------------------------------------------------------- */

/** On a PE. */
struct bcast_pe {
	struct bcast_from **from;          /* [n_pes], by root; NULL: nothing yet */
	uint64_t budget, step;             /* bytes */
};
/** How much of one root's broadcasts a PE and its subtree have handled; reported to its parent in
 * the tree. */
struct bcast_count {
	uint64_t bytes, n;
};
struct bcast_report {
	struct cmi_msg head;
	int32_t root;
	struct bcast_count handled;
};

void bcast_pe_start(struct pe *pe);
void bcast_pe_stop(struct pe *pe);
/** Before a broadcast of the program: let a thread wait until it may be sent. Code that cannot wait
 * ends the job when too much waits already. */
void bcast_room(struct pe *pe, const CkGenChare *chare, int entry, uint64_t bytes);
/** This PE has begun a broadcast. */
void bcast_sent(struct pe *pe, uint64_t bytes);
/** It has handled one of `root`. */
void bcast_handled(struct pe *pe, int root, uint64_t bytes);
void bcast_report_arrived(struct pe *pe, struct cmi_msg *m);
const char *bcast_report_misfit(struct pe *pe, const struct cmi_msg *m);

/* ---- describe_call.c ------------------------------------------------------------------------- */

/** The scheduler's upcalls may_wait and describe_message. */
bool ck_may_wait(const struct pe *pe);
int ck_describe_message(struct pe *pe, const struct cmi_msg *m, char *buf, size_t len);

/* ---- aggregate.c ----------------------------------------------------------------------------- */

/** Send all calls that this PE holds back. */
void aggregate_flush(struct pe *pe);
/** Send those for one PE. */
void aggregate_flush_to(struct pe *pe, int dst_pe);
/** Write "X::f was prepared and has not been committed" to buf, and return buf. */
const char *prepared_describe(struct pe *pe, char *buf, size_t len);
/** Abort with it. */
_Noreturn void prepared_left(struct pe *pe);

/** Whether the running call came in a batch. */
bool aggregate_runs(const struct pe *pe);
/** Whether the message is a batch; then buf names the entry of its first calls. */
bool aggregate_describe(struct pe *pe, const struct cmi_msg *m, char *buf, size_t len);
/** Copy the parameters of the running handler into a new message; returns its payload. */
void *aggregate_keep(struct pe *pe);

/** coll_wait for a message that may have come from another process: also asks the collection's
 * creator, once, whether it has made it. If not, the job ends there. */
void call_wait(struct pe *pe, struct collection *c, struct cmi_msg *m);

#endif
