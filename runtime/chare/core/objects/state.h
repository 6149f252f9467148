/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.h: the state of the chare layer on one node and on one PE: that of all rooms, and, by
 * number, each part's own.
 */
#ifndef CK_STATE_H
#define CK_STATE_H

#include "env.h"
#include "part.h"
#include "collection.h"
#include "restart.h"

/* The chare layer's index in `layer` of struct node and struct pe. */
enum { CK_SLOT = 2 };

struct ck_map {
	const char *name;
	CkMapFn fn;
};

enum { CK_MAX_MAPS = 255, CK_MAX_WATCHERS = 8, CK_MAX_TAKERS = 4, CK_CALLBACK_KINDS = 32 };

/** The parts that take calls at one stage, and all their flags together. */
struct ck_takers {
	uint32_t flags;
	int n;
	const struct ck_attribute *of[CK_MAX_TAKERS];
	ck_takes_fn alone[32];    /* the same by the flag's bit, for entries with just one of them */
};

/** The layer on one node. Constant once the loops run. */
struct ck_node {
	const CkGenModule **modules;
	int n_modules;
	const CkGenChare **chares;
	int n_chares;
	struct ck_map maps[CK_MAX_MAPS]; /* number i + 1 on the wire */
	int n_maps;
	struct ck_restart restart;
	bool lone_syncs;          /* arrays sync in a job of one PE, too */
	bool observers;           /* some exist: a collection's table of entries may change */

	/* From the parts' tables. By number; NULL if there is no such part or it is off. */
	const struct ck_part *parts[CK_PARTS];
	void *state[CK_PARTS];
	uint16_t first_handler[CK_PARTS];
	const struct ck_callback_kind *callbacks[CK_CALLBACK_KINDS];
	struct ck_takers takers[CK_STAGES];
	const struct ck_kind *kinds[CKGEN_NODEGROUP + 1]; /* by CkGenKind; never NULL */
	void (*created[CK_MAX_WATCHERS + 1])(struct pe *pe, struct ck_obj *obj); /* then NULL */
	void (*destroyed[CK_MAX_WATCHERS + 1])(struct pe *pe, struct ck_obj *obj);
	size_t coll_bytes;        /* for one collection, all parts together */
	size_t elem_bytes;        /* for one element that can sync; one part has them */
};

/** What runs on a PE. Code that runs one handler inside another saves and restores this. */
struct ck_running {
	struct ck_obj *obj;       /* NULL: no handler; then the other members mean nothing */
	struct ck_env *env;       /* the handler's message; NULL: none, or kept, freed or sent by now */
	uint32_t entry;
};

/** What runs on a PE, saved while a constructor runs inside it. */
struct ck_outer {
	struct ck_running now;
	bool shared;
	struct pup_block *unpacked;
};

/** The layer on one PE. Only the PE's thread uses it. */
struct ck_pe {
	/* As in CkGenNow: stubs use these. */
	struct ck_running now;
	bool shared;              /* now.env goes to several elements */
	uint32_t body;            /* entry whose body runs (wait/bodies.c); 0: none */
	struct collection *last;  /* the one found most recently; at first `none` */
	struct csd_thread *const *thread; /* pe->thread */
	uint64_t route;           /* of a message to an element: handler, no flags, this PE */
	struct msgq *queue;       /* pe->queue, followed by the free messages */

	bool starting;            /* the initproc functions run */
	void *prepared;           /* payload of the call that is being written (channel/prepare.c); NULL:
				   * none */
	struct pup_block *unpacked; /* memory of the running handler's parameters (pup.c) */
	size_t prio_room;         /* bytes for a wide priority after the next message */
	struct idmap colls;       /* by id */
	uint32_t n_created;       /* collections made by this PE */
	void *state[CK_PARTS];    /* by part */
	struct collection none;   /* its id is no collection's */
};

_Static_assert(offsetof(CkGenNow, entry) == offsetof(struct ck_pe, now.entry) &&
	       offsetof(CkGenNow, shared) == offsetof(struct ck_pe, shared) &&
	       offsetof(CkGenNow, last) == offsetof(struct ck_pe, last) &&
	       offsetof(CkGenNow, thread) == offsetof(struct ck_pe, thread) &&
	       offsetof(CkGenNow, route) == offsetof(struct ck_pe, route) &&
	       offsetof(CkGenNow, queue) == offsetof(struct ck_pe, queue), "stubs look into it");
#define CK_QUEUE_AT(field) (offsetof(struct pe, field) - offsetof(struct pe, queue))
_Static_assert(offsetof(CkGenQueue, head) == CK_QUEUE_AT(queue.plain.head) &&
	       offsetof(CkGenQueue, tail) == CK_QUEUE_AT(queue.plain.tail) &&
	       offsetof(CkGenQueue, mixed) == CK_QUEUE_AT(queue.mixed) &&
	       offsetof(CkGenQueue, n_created) == CK_QUEUE_AT(n_created) &&
	       offsetof(CkGenQueue, free) == CK_QUEUE_AT(pool.free) &&
	       (int)MSG_FINE == (int)CKGEN_FINE, "stubs push to it");
_Static_assert(offsetof(CkGenHead, size) == offsetof(struct ck_env, head.size) &&
	       offsetof(CkGenHead, route) == offsetof(struct ck_env, head.route) &&
	       offsetof(CkGenHead, coll) == offsetof(struct ck_env, coll) &&
	       offsetof(CkGenHead, place) == offsetof(struct ck_env, place) &&
	       offsetof(CkGenHead, call) == offsetof(struct ck_env, call) &&
	       offsetof(CkGenHead, refs) == offsetof(struct ck_env, refs_and_refnum) &&
	       sizeof(CkGenHead) == sizeof(struct ck_env), "stubs fill it");

static inline struct ck_node *ck_node_of(const struct node *node) { return node->layer[CK_SLOT]; }
static inline struct ck_pe *ck_of(const struct pe *pe) { return pe->layer[CK_SLOT]; }

/** For stubs of [inline] entries: this thread is the PE with this state. NULL: no PE any more. */
void ck_runs_here(struct ck_pe *ck);

/** End the job: a function of the library, a generated function of a chare, or an entry was called
 * on a thread that is not a PE. */
_Noreturn void ck_no_pe(const char *function) __attribute__((cold));
_Noreturn void ck_no_pe_of(const CkGenChare *chare, const char *function) __attribute__((cold));
_Noreturn void ck_no_pe_calls(const CkGenChare *chare, int entry) __attribute__((cold));

/** The PE that runs here. Error lines name the calling function. */
#define ck_self() ck_self_in(__func__)
static inline struct pe *ck_self_in(const char *function)
{
	struct pe *pe = csd_self();

	if (CSD_UNLIKELY(!pe))
		ck_no_pe(function);
	return pe;
}

/** The same for generated code, which passes a better name: X_ckNew, or the entry. */
static inline struct pe *ck_self_of(const CkGenChare *chare, const char *function)
{
	struct pe *pe = csd_self();

	if (CSD_UNLIKELY(!pe))
		ck_no_pe_of(chare, function);
	return pe;
}

static inline struct pe *ck_self_calls(const CkGenChare *chare, int entry)
{
	struct pe *pe = csd_self();

	if (CSD_UNLIKELY(!pe))
		ck_no_pe_calls(chare, entry);
	return pe;
}

/** The same for calls allowed in initnode functions: the PE may have no state of this layer yet. */
#define ck_self_early() ck_self_early_in(__func__)
static inline struct pe *ck_self_early_in(const char *function)
{
	struct pe *pe = csd_self();

	if (CSD_UNLIKELY(!pe) && !(pe = csd_early_))
		ck_no_pe(function);
	return pe;
}

static inline struct ck_outer ck_set_aside(struct pe *pe)
{
	struct ck_pe *ck = ck_of(pe);
	struct ck_outer outer = { ck->now, ck->shared, ck->unpacked };

	ck->now = (struct ck_running){ NULL, NULL, 0 };
	ck->shared = false;
	ck->unpacked = NULL;
	return outer;
}

static inline void ck_go_on(struct pe *pe, struct ck_outer outer)
{
	ck_of(pe)->now = outer.now;
	ck_of(pe)->shared = outer.shared;
	ck_of(pe)->unpacked = outer.unpacked;
}

/* A part's own state and handlers; see part.h. */
static inline void *ck_state(const struct pe *pe, int part) { return ck_of(pe)->state[part]; }
static inline void *ck_node_state(const struct node *node, int part)
{
	return ck_node_of(node)->state[part];
}
static inline uint16_t ck_handler(const struct pe *pe, int part, int handler)
{
	return (uint16_t)(ck_node_of(pe->node)->first_handler[part] + handler);
}

/** A message of `bytes` bytes, its head included, for this handler of the part; the caller fills in
 * what follows the head. */
static inline void *ck_msg_new(struct pe *pe, int part, int handler, uint8_t flags, size_t bytes)
{
	struct cmi_msg *m = csd_msg_alloc(pe, bytes);

	m->handler = ck_handler(pe, part, handler);
	m->flags = flags;
	return m;
}

/** The table that says how chares of this kind differ from elements of an array. */
static inline const struct ck_kind *ck_kind(const struct pe *pe, const CkGenChare *type)
{
	return ck_node_of(pe->node)->kinds[type->kind];
}

/** The object on this PE that `e` names, or NULL. */
static inline struct ck_obj *ck_local(struct pe *pe, const CkGenChare *type, const CkElement *e)
{
	const struct ck_kind *kind = ck_kind(pe, type);

	return kind->local ? kind->local(pe, type, e) : NULL;
}

/** Tell the parts that watch elements. */
static inline void ck_created(struct pe *pe, struct ck_obj *obj)
{
	for (int i = 0; ck_node_of(pe->node)->created[i]; i++)
		ck_node_of(pe->node)->created[i](pe, obj);
}
static inline void ck_destroyed(struct pe *pe, struct ck_obj *obj)
{
	for (int i = 0; ck_node_of(pe->node)->destroyed[i]; i++)
		ck_node_of(pe->node)->destroyed[i](pe, obj);
}

/** Whether this PE's elements exist. A group's branch that has only been announced is constructed
 * now, because code that knows the group may use the branch. */
static inline bool coll_there(struct pe *pe, struct collection *c)
{
	if (CSD_UNLIKELY(!c->constructed && c->announced))
		ck_kind(pe, c->type)->born(pe, c->type, c->id);
	return c->constructed;
}

/* On the path of every call, therefore inline. */
static inline struct collection *coll_get(struct pe *pe, uint64_t id)
{
	struct collection *c = ck_of(pe)->last;

	return CSD_LIKELY(c->id == id) ? c : coll_get_slow(pe, id);
}

static inline int coll_home(struct pe *pe, const struct collection *c, uint64_t place)
{
	/* With a user's map, first and n_local say nothing about places. */
	if (CSD_LIKELY(!c->homes.map && place - c->first < c->n_local))
		return pe->id;
	return c->homes.home(pe, c, place);
}

#endif
