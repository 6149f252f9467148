/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ck_int.h: what the chare layer's own files share: the envelope of its messages, its state
 * on nodes and PEs, collections and their elements.
 */
#ifndef CK_INT_H
#define CK_INT_H

#include <pthread.h>

#include "../scheduler/pe.h"
#include "ckgen.h"

/** The head of every chare message: the machine's 32 bytes and ours, one cache line; the
 * payload follows on the next.
 *
 *   0            32     40          52    54    55    56    60    64
 *   +------------+------+-----------+-----+-----+-----+-----+-----+------------
 *   | cmi_msg    | coll | index     |entry|flags|spare| refs|refnum payload ...
 *   +------------+------+-------+---+-----+-----+-----+-----+-----+------------
 *                       | place |root      call       |
 *                       +-------+---+-----------------+
 *
 * A call of an element travels with the element's place in the array, because the sender has to
 * compute it anyway; `index` holds only what waits at the sender for the array's extents, and
 * the extents themselves in a creation. `root` is that of a broadcast's tree; a creation needs
 * none, because the PE that made the collection is in its id. `call` is entry, flags and spare as
 * one word: below the number of entries it is a plain call of one that exists (deliver.c). In a
 * [sync] call head.prio says who waits for the answer (sync.c).
 */
struct ck_env {
	struct cmi_msg head;
	uint64_t coll;            /* collection or main chare; the PE that made it is in it */
	union {
		struct {
			CkIndex index;
			uint16_t entry;   /* in a creation: the chare's number */
			uint8_t flags;    /* CK_ENV_* */
			uint8_t spare;    /* in a creation: number of the map */
		};
		struct {
			uint64_t place;   /* in row-major order; of a group: the PE */
			int32_t root;     /* of a broadcast's tree; see env_root */
			uint32_t call;
		};
	};
	union {
		struct {
			_Atomic uint32_t refs; /* holders; 1 while the message has one owner */
			int32_t refnum;        /* the program's: CkGetRefNum */
		};
		uint64_t refs_and_refnum;      /* in one store: 1 is one holder, number 0 */
	};
};
_Static_assert(sizeof(struct ck_env) == CKGEN_HEAD, "payload starts on the second cache line");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "entry is the low end of call");
_Static_assert(offsetof(struct ck_env, refs) % 8 == 0, "one holder is the low end of the word");

enum {
	CK_ENV_REDUCED = 1,       /* payload is a CkReductionMsg, for entry->reduced */
	CK_ENV_FORWARDED = 2,     /* broadcast: this PE's children have theirs */
	CK_ENV_EMPTY = 4,         /* exchange: no values, because no element contributed yet */
	CK_ENV_LENT = 4,          /* a call: nocopy arrays lie in another process's memory (ncpy.c) */
	CK_ENV_UNPLACED = 8,      /* has an index instead of a place: the extents are not known, or
				   * the array is sparse */
	CK_ENV_SPECIAL = 0x10,    /* the entry has attributes that delivery must see */
	CK_ENV_PACKED = 0x20,     /* a user's message in its packed form (pack.c) */
	CK_ENV_SHAPED = 0x40,     /* a creation that ends in a struct ck_shape */
	CK_ENV_BACK = 0x80,       /* came back to the home PE: its element was gone (insert.c) */
};

/* Attributes that make a call's `call` word no number of an entry, so that element_arrived looks
 * closer. */
enum {
	CKGEN_SPECIAL = CKGEN_NOCOPY | CKGEN_PUP | CKGEN_THREADED | CKGEN_SYNC | CKGEN_WHEN |
			CKGEN_AWAITED
};

/** Whether something is to be done behind the handler; in checked mode whose a result is, is
 * written down, as for users' messages. */
static inline bool env_is_special(const struct pe *pe, const struct ck_env *env)
{
	return env->flags & CK_ENV_SPECIAL || (pe->node->check && (env->flags & CK_ENV_REDUCED));
}

static inline struct ck_env *env_of(void *payload) { return (struct ck_env *)payload - 1; }
static inline void *payload_of(struct ck_env *env) { return env + 1; }

/** In front of every user struct. */
struct ck_obj {
	struct collection *coll;
	CkIndex index;
	uint32_t ordinal;         /* place among this PE's elements, in index order */
	uint32_t n_contributed;   /* reductions this element took part in */
	uint32_t extra;           /* number of its struct ck_extra; 0: it has none */
};
_Static_assert(sizeof(struct ck_obj) % 16 == 0, "the user's struct stays 16-aligned");
_Static_assert(sizeof(struct ck_obj) == sizeof(CkGenObj) &&
	       offsetof(struct ck_obj, index) == offsetof(CkGenObj, index), "stubs look into it");

static inline void *self_of(struct ck_obj *obj) { return obj + 1; }
static inline struct ck_obj *obj_of(const void *self) { return (struct ck_obj *)(uintptr_t)self - 1; }

struct reduction;
struct reducer;
struct scan;
struct scans;
struct dynamic;
struct closing;
struct ready;

/** A creation that is more than three extents: behind the constructor's parameters. */
struct ck_shape {
	CkArrayDims dims;         /* elements per dimension; all 0: none are known in advance */
	int32_t start[6], step[6];
	int32_t map;
	bool sparse;              /* elements have indices and no places */
	bool empty;               /* made without elements */
	bool ready;               /* its creator wants to know when all are constructed */
};

/** One PE's part of a collection (an array, a group, a main chare). Created by the first
 * mention of its id, typed when its creation arrives; what comes before that waits. */
struct collection {
	uint64_t id;              /* first: CkGenObj points to it */
	/* What a call needs. n_here: those of this PE's elements that can be called by place
	 * alone: n_local once they exist, 0 before that and with a user's map. n_line: those
	 * whose index is their place: n_here in one dimension, else 0. */
	uint64_t first;           /* block map: this PE's elements are first .. first + n_local */
	uint64_t n_here, n_line;
	struct ck_obj **elems;    /* [n_local], by ordinal */
	const CkGenEntry *entries; /* the type's */
	uint32_t n_entries;       /* the type's; 0 while calls wait for their condition (when.c) */
	uint32_t n_waiting;       /* elements of this PE that have such calls */

	const CkGenChare *type;   /* NULL: not known here yet */
	bool constructed;         /* the elements of this PE exist */
	struct msg_fifo waiting;  /* messages that came too early */

	CkArrayDims dims;
	int32_t box[3];           /* dims, where an index of up to three numbers has a place; else 0 */
	bool sparse;              /* elements have indices and no places (insert.c) */
	CkMapFn map;              /* NULL: block map */
	uint64_t total;           /* places of an array */
	uint64_t each, rest;      /* block map: elements per PE; the first `rest` have one more */
	uint64_t n_local;         /* elements that live here */
	uint64_t n_slots;         /* of elems; where elements come and go some are NULL */
	struct elem_slot {
		uint64_t linear;
		uint64_t slot;    /* its number in elems + 1; 0: free */
	} *slots;                 /* user map: hash from the linear index */
	uint64_t slot_mask;
	struct dynamic *dyn;      /* NULL: no element ever came or went here (dynamic_int.h) */
	struct closing *closing;  /* NULL: nobody asked yet whether inserting is over */
	struct ready *ready;      /* NULL: nobody wants to know, or everybody is done */

	struct reduction *reductions; /* open ones, by number */
	struct scans *scans;      /* NULL: none yet (scan.c) */
	uint32_t next_no;         /* of the reduction to which this PE's part is missing */
	int n_children;           /* in PE 0's tree, with elements below them; -1: not counted */
	int n_folded;             /* PEs with elements that fold into this one; -1: not counted */
	uint32_t n_due;           /* results for elements of this PE in the run queue */
	struct collection *chain; /* same hash bucket */
};

struct ck_map {
	const char *name;
	CkMapFn fn;
};

enum { CK_MAX_MAPS = 255, CK_NODEGROUP_BUCKETS = 64 };

struct nodegroup;
struct single;
struct seed;
struct doomed;

/** The chare layer on one node: tables, constant once the loops run. */
struct ck_node {
	const CkGenModule **modules;
	int n_modules;
	const CkGenChare **chares;
	int n_chares;
	uint64_t readonly_hash;   /* checked mode: what the readonlies were when sealed */
	struct ck_map maps[CK_MAX_MAPS]; /* number i + 1 on the wire */
	int n_maps;
	bool seed_neighbor;       /* CK_SEED */
	/* While the loops run: nodegroup.c. */
	_Atomic(struct nodegroup *) nodegroups[CK_NODEGROUP_BUCKETS];
	pthread_mutex_t nodegroup_lock;  /* of those who add one */
	int h_element, h_bcast, h_create, h_readonly, h_call, h_qd, h_completion, h_fence;
	struct reducer *reducers; /* the program's; number i is op CkReduction_N + i */
	int n_reducers;
	int h_reduce, h_exchange, h_result, h_due, h_scan;
	int h_section, h_section_ctl;
	int h_when, h_future, h_answer;
	int h_chare_new, h_chare_call, h_doomed, h_seed_load;
	int h_node_create, h_node_call, h_node_bcast, h_node_immediate, h_node_contribute;
	int h_batch, h_flush;
	int h_insert, h_make, h_destroy, h_where, h_start;
	pthread_mutex_t print_lock; /* one write at a time per node */
};

struct line_buffer {
	char *text;
	size_t len, cap;
};

/** Where a PE stands in an exchange (reduce_exchange.c). */
struct exchange_place {
	int rank;                 /* in the rounds */
	int rounds;               /* they are stages 1 .. rounds */
	int pairs;                /* PEs 0 .. 2 * pairs - 1 */
	bool paired, odd;
};

/** What runs on a PE. Whoever lets one handler run inside another saves it and puts it back. */
struct ck_running {
	struct ck_obj *obj;       /* NULL: no handler; then the rest means nothing */
	struct ck_env *env;       /* its message; NULL: none, or kept, freed or sent by now */
	uint32_t entry;
};

/** What few elements have, and not for long (extra.c). */
struct ck_extra {
	struct ck_obj *obj;       /* NULL: destroyed meanwhile, or a free record */
	uint32_t no;              /* its number */
	uint32_t n_threads;       /* handlers of this element on stacks of their own */
	struct msg_fifo waiting;  /* calls whose condition was false, in order of arrival */
	struct sdag *sdag;        /* NULL: no `when` and no call for one so far (sdag.c) */
	bool asked;               /* a message is on its way that will have them tested again */
	void (*end)(struct pe *pe, struct ck_obj *obj); /* to be called with the last thread's end */
	struct ck_extra *next;    /* free list */
};

/** The chare layer on one PE. */
struct ck_pe {
	struct ck_running now;
	bool shared;              /* now.env goes to several elements */
	bool builds_branch;       /* of a nodegroup: its constructor runs */
	size_t prio_room;         /* bytes for a wide priority behind the next message */
	struct pup_block *unpacked; /* of the running handler's parameters (pup.c) */
	struct collection *last;  /* found most recently, at first `none` */
	uint64_t route;           /* of a message to an element: handler, no flags, this PE */
	struct collection **table;
	size_t n_colls, table_mask;
	uint32_t n_created;       /* collections made by this PE */
	uint32_t n_sections;      /* the same, sections */
	struct section **sections; /* hash by id; NULL: there are none */
	struct line_buffer out, err;
	struct qd *qd;
	struct completions *completions;
	struct fence_waiter *fence_waiters;
	struct single *single;    /* NULL: no singleton chares here so far */
	struct seed *seed;
	struct doomed *doomed;
	struct reduction *spare_reductions; /* records to use again */
	struct scan *spare_scans;
	struct ck_env *spare_part; /* a message to use again */
	struct exchange_place place;
	struct msg_fifo freed;    /* checked mode: messages that programs freed (owner.c) */
	int n_freed;
	struct ck_extra **extras; /* [cap_extras], by number; number 0 is nobody's */
	uint32_t n_extras, cap_extras;
	struct ck_extra *spare_extras;
	struct ck_slot *slots;    /* [n_slots]: futures of this PE (future.c) */
	uint32_t n_slots, free_slot;
	struct ck_call *calls;    /* [n_calls]: [sync] calls that wait for their answers (sync.c) */
	uint32_t n_calls, free_call;
	struct aggregator *agg;
	const void *item;         /* while now.env is `batch`: what the handler was given */
	uint32_t item_bytes;
	struct ck_env batch;      /* stands for the message of a call that came in a batch */
	struct collection none;   /* of no id */
};

static inline struct pe *ck_self(void)
{
	struct pe *pe = csd_self();

	if (CSD_UNLIKELY(!pe))
		csd_abort(NULL, "a Ck function was called on a thread that is no PE");
	return pe;
}

/* collection.c */
struct collection *coll_get_slow(struct pe *pe, uint64_t id);
uint64_t coll_new_id(struct pe *pe);
void coll_type(struct pe *pe, struct collection *c, const CkGenChare *type, CkArrayDims dims,
	       CkMapFn map);
void coll_shape(struct pe *pe, struct collection *c, const CkGenChare *type,
		const struct ck_shape *shape);
void coll_construct(struct pe *pe, struct collection *c, void *payload);
struct ck_obj *obj_alloc(struct pe *pe, struct collection *c, CkIndex index, uint64_t slot);
int coll_mapped_home(struct pe *pe, const struct collection *c, CkIndex index);
int coll_block_home(const struct collection *c, uint64_t place);
uint64_t coll_slot(const struct collection *c, uint64_t place);
void coll_wait(struct collection *c, struct cmi_msg *m);
struct ck_obj *coll_find_slow(const struct collection *c, uint64_t place);
int coll_home_away(struct pe *pe, const struct collection *c, uint64_t place);
void coll_who_has(struct pe *pe, struct collection *c, bool *has);
void coll_fini(struct pe *pe);

/* On the path of every call, therefore inline. */

static inline struct collection *coll_get(struct pe *pe, uint64_t id)
{
	struct collection *c = pe->ck->last;

	return CSD_LIKELY(c->id == id) ? c : coll_get_slow(pe, id);
}

/* Place of an index of up to three numbers in row-major order; UINT64_MAX: outside, or it has
 * more (index_place). */
static inline uint64_t coll_linear(const struct collection *c, CkIndex i)
{
	const int32_t *n = c->box;

	if (CSD_UNLIKELY((uint32_t)i.v[0] >= (uint32_t)n[0] ||
			 (uint32_t)i.v[1] >= (uint32_t)n[1] ||
			 (uint32_t)i.v[2] >= (uint32_t)n[2]))
		return UINT64_MAX;
	return ((uint64_t)i.v[0] * (uint64_t)n[1] + (uint64_t)i.v[1]) * (uint64_t)n[2] +
	       (uint64_t)i.v[2];
}

static inline int coll_home(struct pe *pe, const struct collection *c, uint64_t place)
{
	/* With a map, first and n_local say nothing about places. */
	if (CSD_LIKELY(!c->map && place - c->first < c->n_local))
		return pe->id;
	return coll_home_away(pe, c, place);
}

/* The element of this PE at a place, or NULL. */
static inline struct ck_obj *coll_find(const struct collection *c, uint64_t place)
{
	if (CSD_LIKELY(place - c->first < c->n_here))
		return c->elems[place - c->first];
	return c->constructed && !c->sparse ? coll_find_slow(c, place) : NULL;
}

/* index.c */
uint64_t index_place_slow(const struct collection *c, CkIndex i);
CkIndex index_at(const struct collection *c, uint64_t place);
CkIndex index_pack(int nd, const int32_t v[6]);
void index_describe(const CkGenChare *type, CkIndex i, char *buf, size_t len);
_Noreturn void index_bad(struct pe *pe, const struct collection *c, const char *what, CkIndex at);

/* The place of any index of an array that has places. */
static inline uint64_t index_place(const struct collection *c, CkIndex i)
{
	uint64_t place = coll_linear(c, i);

	return place == UINT64_MAX && c->type->nd > 3 && !c->sparse ? index_place_slow(c, i) : place;
}

/* insert.c: elements that come and go */
int index_home(struct pe *pe, const struct collection *c, CkIndex i);
struct ck_obj *coll_local(const struct collection *c, CkIndex i);
void sparse_arrived(struct pe *pe, struct collection *c, struct ck_env *env);
void element_missing(struct pe *pe, struct collection *c, CkIndex i, struct ck_env *env);
void element_destroy(struct pe *pe, struct ck_obj *obj);
void insert_arrived(struct pe *pe, struct cmi_msg *m);
void make_arrived(struct pe *pe, struct cmi_msg *m);
void destroy_arrived(struct pe *pe, struct cmi_msg *m);
void where_arrived(struct pe *pe, struct cmi_msg *m);
void dynamic_create(struct pe *pe, struct collection *c, const struct ck_shape *shape);
void dynamic_constructed(struct pe *pe, struct collection *c);
void dynamic_fini(struct pe *pe, struct collection *c);

/* ready.c */
void ready_want(struct pe *pe, struct collection *c, const CkCallback *cb);
void ready_constructed(struct pe *pe, struct collection *c);

/* deliver.c */
void params_end(struct pe *pe, const CkGenEntry *e, struct ck_env *env);
void construct(struct pe *pe, struct ck_obj *obj, void *payload);
void deliver_one(struct pe *pe, struct collection *c, struct ck_env *env);
void deliver_new(struct pe *pe, struct ck_obj *obj, struct ck_env *env);
void deliver_all(struct pe *pe, struct collection *c, struct ck_env *env);
void deliver_some(struct pe *pe, struct collection *c, struct ck_obj **objs, uint64_t n,
		  struct ck_env *env);
void env_unref(struct pe *pe, struct ck_env *env);
void element_arrived(struct pe *pe, struct cmi_msg *m);
void deliver_to(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared);
void call_ended(struct pe *pe, const CkGenEntry *e, struct ck_env *env, bool special, bool shared);
void execute(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared);
struct ck_env *own_copy(struct pe *pe, const struct ck_env *env);
CkGenCall checked_call(struct pe *pe, const struct collection *c, struct ck_env *env);
void run_entry(struct pe *pe, struct ck_obj *obj, struct ck_env *env);
void bcast_arrived(struct pe *pe, struct cmi_msg *m);
void create_arrived(struct pe *pe, struct cmi_msg *m);
const char *describe_entry(const CkGenChare *type, int entry, char *buf, size_t len);
void ck_describe(const struct pe *pe, char *buf, size_t len);
void ck_swap_running(struct pe *pe, uint64_t state[CSD_RUNNING_WORDS]);

/* send.c */
struct ck_env *take_new(struct pe *pe, const CkGenChare *type, void *payload);
struct ck_env *env_new(struct pe *pe, int handler, size_t payload_bytes);
void bcast_forward(struct pe *pe, struct ck_env *env);
void send_element(struct pe *pe, const CkGenChare *type, const CkElement *e, struct ck_env *env);
void send_about(struct pe *pe, const CkGenChare *type, const CkElement *e, struct ck_env *env,
		int handler);
int address_in_array(struct pe *pe, struct collection *c, CkIndex index, struct ck_env *env);
void send_all(struct pe *pe, uint64_t id, struct ck_env *env);
void send_main(struct pe *pe, uint64_t id, struct ck_env *env);

/* options.c */
struct ck_env *options_apply(struct pe *pe, const CkGenChare *chare, int entry, struct ck_env *env,
			     uint8_t flags, const CkEntryOptions *o);

/* pack.c */
struct ck_env *message_pack(struct pe *pe, const CkGenMessage *type, struct ck_env *env);
struct ck_env *message_unpack(struct pe *pe, const CkGenMessage *type, struct ck_env *env);
struct ck_env *env_for_others(struct pe *pe, const CkGenEntry *e, struct ck_env *env);
struct ck_env *env_for_pe(struct pe *pe, int dst_pe, const CkGenEntry *e, struct ck_env *env);
struct cmi_msg *ck_leaving(struct pe *pe, int dst_pe, struct cmi_msg *m);

/* ncpy.c */
struct ck_env *ncpy_leave(struct pe *pe, int dst_pe, const CkGenEntry *e, struct ck_env *env);
void ncpy_arrived(struct pe *pe, const CkGenEntry *e, struct ck_env *env);
void ncpy_done(struct pe *pe, const CkGenEntry *e, struct ck_env *env);

/* pup.c */
void pup_forget(struct pe *pe);
/* What was unpacked behind `until`. */
void pup_forget_until(struct pe *pe, struct pup_block *until);

/* owner.c: whose a user's message is, in checked mode. */
enum owner {
	OWNER_UNKNOWN = 0,
	OWNER_PROGRAM = 0xf1,     /* from X_alloc or CkKeepMsg */
	OWNER_SENT,               /* given away */
	OWNER_HANDLER,            /* the runtime's; lent to a handler */
	OWNER_NOBODY,             /* freed */
	OWNER_WHEN,               /* also unchecked: a `when` has it, and others within (sdag.c) */
};
void owner_check_send(struct pe *pe, const CkGenChare *chare, int entry, struct ck_env *env);
void owner_check_use(struct pe *pe, struct ck_env *env, const char *who);
void owner_check_free(struct pe *pe, struct ck_env *env);
void owner_free(struct pe *pe, struct ck_env *env);
struct ck_env *owner_leave(struct pe *pe, struct ck_env *env);
void owner_fini(struct pe *pe);

/* single.c: singleton chares */
/** `env` holds the constructor's parameters and the chare's number; where may be CK_PE_ANY. */
CkChareID single_create(struct pe *pe, int where, struct ck_env *env);
void single_send(struct pe *pe, const CkGenChare *type, CkChareID id, struct ck_env *env);
void single_new_arrived(struct pe *pe, struct cmi_msg *m);
void single_call_arrived(struct pe *pe, struct cmi_msg *m);
void single_remove(struct pe *pe, struct ck_obj *obj);
void single_fini(struct pe *pe);

/* seed.c */
bool seed_policy_neighbor(void);
void seed_init(struct pe *pe);
void seed_fini(struct pe *pe);
int seed_place(struct pe *pe);
void seed_started(struct pe *pe, int src_pe);
void seed_load_arrived(struct pe *pe, struct cmi_msg *m);

/* destroy.c */
/** Free an object that nobody can find any more, when no handler of it runs. */
void destroy_later(struct pe *pe, struct ck_obj *obj);
void destroy_doomed(struct pe *pe, struct cmi_msg *m);
void destroy_fini(struct pe *pe);

/* nodegroup.c */
CkProxy nodegroup_create(struct pe *pe, struct ck_env *env);
void nodegroup_send(struct pe *pe, const CkGenChare *type, const CkElement *e, struct ck_env *env);
void nodegroup_send_all(struct pe *pe, const CkGenChare *type, uint64_t id, struct ck_env *env);
void *nodegroup_local(struct pe *pe, const CkGenChare *type, const CkElement *e);
struct csd_gate *nodegroup_gate(struct pe *pe, const struct cmi_msg *m);
void nodegroup_create_arrived(struct pe *pe, struct cmi_msg *m);
void nodegroup_call_arrived(struct pe *pe, struct cmi_msg *m);
void nodegroup_bcast_arrived(struct pe *pe, struct cmi_msg *m);
void nodegroup_immediate_arrived(struct pe *pe, struct cmi_msg *m);
void nodegroup_contribution_arrived(struct pe *pe, struct cmi_msg *m);
/** A branch contributes. Returns the collection that this PE's part of the reduction is kept in;
 * NULL: the contribution went to the node's first PE. */
struct collection *nodegroup_contributes(struct pe *pe, struct ck_obj *obj, const void *data,
					 uint64_t count, CkReduction op, const CkCallback *cb);
void nodegroup_keep(struct ck_obj *obj, struct ck_env *env);
void nodegroup_pe_fini(struct pe *pe);
void nodegroup_node_fini(struct node *node);

/* callback.c */
enum callback_kind {
	CB_NONE, CB_IGNORE, CB_EXIT, CB_FUNCTION, CB_ELEMENT, CB_ALL, CB_MAIN, CB_SECTION, CB_FUTURE,
	CB_THREAD, CB_CHARE, CB_NODE, CB_NODE_ALL,
	CB_FENCE_WAIT = 0x7f,     /* the threads that wait in a collection's fence (fence.c) */
	CB_FENCE = 0x80,          /* with another kind: to be fired when the fence is over */
};
/** A message for a callback, on its way or still being filled, in one piece:
 *
 *	| struct ck_env | CkReductionMsg | values, padded to 16 | CkCallback |
 *
 * The callback at the end is for those who pass the message on before it is fired. */
struct ck_env *callback_msg(struct pe *pe, CkDataType type, uint64_t count, uint64_t bytes);
static inline CkCallback *callback_at(struct ck_env *env)
{
	CkReductionMsg *m = payload_of(env);

	return (CkCallback *)(void *)((char *)(m + 1) + CkGen_align(m->bytes));
}
CkCallback callback_of_future(enum callback_kind kind, CkFuture f);
/** Fire it with a message of callback_msg, which is given away. */
void callback_send(struct pe *pe, const CkCallback *cb, struct ck_env *env);
static inline bool callback_is_all(const CkCallback *cb, uint64_t id) /* of this collection */
{
	return cb->kind == CB_ALL && cb->id == id;
}
static inline bool callback_is_element(const CkCallback *cb, uint64_t id)
{
	return cb->kind == CB_ELEMENT && cb->id == id;
}
void callback_fire(struct pe *pe, const CkCallback *cb, CkDataType type, const void *data,
		   uint64_t count, uint64_t bytes);
void call_arrived(struct pe *pe, struct cmi_msg *m);
static inline bool callback_same(const CkCallback *a, const CkCallback *b)
{
	/* Both ends at once: memcmp of 64 bytes is a call. */
	uint64_t x[sizeof *a / 8], y[sizeof *a / 8], differ = 0;

	__builtin_memcpy(x, a, sizeof x);
	__builtin_memcpy(y, b, sizeof y);
	for (unsigned i = 0; i < sizeof x / sizeof *x; i++)
		differ |= x[i] ^ y[i];
	return !differ;
}
void callback_describe(struct pe *pe, const CkCallback *cb, char *buf, size_t len);
/** Abort if the callback's entry takes something else; how: what gives count values. */
void callback_check(struct pe *pe, const CkCallback *cb, const struct reducer *how,
		    uint64_t count, const CkGenChare *from);

/* extra.c */
struct ck_extra *extra_make(struct pe *pe, struct ck_obj *obj);
void extra_trim(struct pe *pe, struct ck_extra *x);
void extra_free(struct pe *pe, struct ck_extra *x);
void extras_fini(struct pe *pe);
static inline struct ck_extra *extra_of(const struct pe *pe, const struct ck_obj *obj)
{
	return pe->ck->extras[obj->extra];
}
/** Whether handlers of the element run on stacks of their own; then end(pe, obj) is called when
 * the last of them has ended, on whatever stack, and no further call of the element is begun
 * from its waiting ones. Whoever destroys an element asks first. */
bool obj_end_later(struct pe *pe, struct ck_obj *obj,
		   void (*end)(struct pe *pe, struct ck_obj *obj));
/** The element is about to be freed: drop the calls that wait for their condition. */
void obj_forget(struct pe *pe, struct ck_obj *obj);

/* when.c */
bool when_keeps(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared);
void when_test(struct pe *pe, struct ck_obj *obj);
void when_test_soon(struct pe *pe, struct ck_obj *obj);
void when_drop(struct pe *pe, struct ck_extra *x);
struct ck_env *when_take_true(struct ck_obj *obj, struct msg_fifo *waiting);
void when_leave(struct pe *pe, const struct ck_obj *obj, struct msg_fifo *waiting);
void when_arrived(struct pe *pe, struct cmi_msg *m);

/* sdag.c */
void sdag_arrived(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared);
void sdag_let_go_slow(struct ck_env *env);
/* The program gives away or frees a message: then the `when` that has it must know. */
static inline void sdag_let_go(struct ck_env *env)
{
	if (CSD_UNLIKELY(env->head.mark == OWNER_WHEN))
		sdag_let_go_slow(env);
}
void sdag_drop_calls(struct pe *pe, struct ck_extra *x);
void sdag_drop(struct pe *pe, struct ck_extra *x);
void sdag_leave(struct pe *pe, struct ck_extra *x);

/* threaded.c */
void thread_start(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared);
bool thread_is_counted(const struct ck_obj *obj);
void thread_ended(struct pe *pe, struct ck_obj *obj);
void threads_drop(struct pe *pe);

/* sync.c */
void answer_arrived(struct pe *pe, struct cmi_msg *m);
void calls_fini(struct pe *pe);
void sync_answer(struct pe *pe, struct ck_obj *obj, struct ck_env *env);

/* future.c */
void future_arrived(struct pe *pe, struct cmi_msg *m);
void future_fire(struct pe *pe, const CkCallback *cb, struct ck_env *env);
void slots_fini(struct pe *pe);

/* reduce.c and its routes (reduce_int.h) */
void reduce_arrived(struct pe *pe, struct cmi_msg *m);
void exchange_arrived(struct pe *pe, struct cmi_msg *m);
void result_arrived(struct pe *pe, struct cmi_msg *m);
void result_due(struct pe *pe, struct cmi_msg *m);
void start_arrived(struct pe *pe, struct cmi_msg *m);
void reduce_fini(struct pe *pe, struct collection *c);
void reduce_pe_fini(struct pe *pe);
void exchange_init(struct pe *pe);

/* scan.c */
void scan_arrived(struct pe *pe, struct cmi_msg *m);
void scans_fini(struct pe *pe, struct collection *c);
void scans_dynamic(struct pe *pe, const struct collection *c);
void scan_pe_fini(struct pe *pe);

/* reducers.c */
size_t data_type_bytes(CkDataType type);
const char *data_type_name(CkDataType type);
bool data_as(CkReductionMsg *m, CkDataType type); /* is it that? Plain bytes become it if they fit */

/* section.c; section_send takes the message */
void section_send(struct pe *pe, const CkSection *to, struct ck_env *env);
void section_arrived(struct pe *pe, struct cmi_msg *m);
void section_ctl_arrived(struct pe *pe, struct cmi_msg *m);
void sections_fini(struct pe *pe);

/* aggregate.c */
void aggregate_init(struct pe *pe);
void aggregate_fini(struct pe *pe);
/* Send all calls that this PE holds back. */
void aggregate_flush(struct pe *pe);
void batch_arrived(struct pe *pe, struct cmi_msg *m);
void flush_arrived(struct pe *pe, struct cmi_msg *m);
/* A message with a copy of what the running handler was given; its payload. */
void *aggregate_keep(struct pe *pe);

/* quiesce.c */
void qd_arrived(struct pe *pe, struct cmi_msg *m);
void qd_init(struct pe *pe);
void qd_fini(struct pe *pe);
void qd_start(struct pe *pe, const CkCallback *cb);

/* completion.c */
void completion_arrived(struct pe *pe, struct cmi_msg *m);
void completion_init(struct pe *pe);
void completion_fini(struct pe *pe);

/* fence.c */
void fence_describe(struct pe *pe, const CkCallback *cb, char *buf, size_t len);
void fence_all_there(struct pe *pe, const CkCallback *cb, struct ck_env *env);
void fence_awaken(struct pe *pe, const CkCallback *cb, struct ck_env *env);
void fence_arrived(struct pe *pe, struct cmi_msg *m);

/* register.c */
int register_program(struct node *node);
void unregister_program(struct node *node);
int chare_number(const struct ck_node *ck, const CkGenChare *type);
const CkGenChare *chare_by_number(struct pe *pe, int number, CkGenKind kind, int src_pe);
CkMapFn map_by_number(const struct ck_node *ck, int number);
int map_by_name(const struct ck_node *ck, const char *name);

/* readonly.c */
void readonly_send(struct pe *pe);
void readonly_arrived(struct pe *pe, struct cmi_msg *m);
void readonly_check(struct node *node);

/* print.c */
void print_flush(struct pe *pe);
void print_fini(struct pe *pe);

#endif
