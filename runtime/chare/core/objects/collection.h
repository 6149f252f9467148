/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collection.h: finds collections (arrays, groups, main chares) and their elements on one PE: by
 * id, by place, by index. The room place/ creates and destroys elements.
 */
#ifndef CK_COLLECTION_H
#define CK_COLLECTION_H

#include "../tables/elemmap.h"
#include "env.h"
#include "../tables/idmap.h"
#include "part.h"

/** The runtime's head of an element, before every user struct. */
struct ck_obj {
	struct collection *coll;
	CkIndex index;
	uint32_t ordinal;         /* its number among this PE's elements, in index order */
	uint32_t
		n_contributed; /* reductions that this element took part in; a guest: contributions that it has
				   * sent to its seat (seat.c) */
	uint32_t extra;           /* OBJ_EXTRA: number of its record in wait/, 0: it has none; OBJ_*:
				   * bits */
};
/* Bits of `extra`. An element that never moved and has no record has 0 there. */
#define OBJ_GUEST (UINT32_C(1) << 31)     /* its seat is another PE; it is not in elems */
#define OBJ_STUB (UINT32_C(1) << 30)      /* no element: it occupies the slot of one that is away
					   * from its seat */
#define OBJ_LATE (UINT32_C(1) << 29)      /* back at its seat, before some of its contributions */
#define OBJ_LEAVING (UINT32_C(1) << 28)   /* about to leave: its calls wait for it */
#define OBJ_STRAY (UINT32_C(1) << 27)     /* was away from a seat that is not its home: its calls
					   * are forwarded by the home */
#define OBJ_EXTRA (OBJ_STRAY - 1)
#define OBJ_AWAY (OBJ_GUEST | OBJ_LATE)   /* its contributions are numbered, and filed at its
					   * seat */
/* In elems: broadcasts and results reach it as forwarded calls. */
#define OBJ_CALLED (OBJ_STUB | OBJ_LEAVING | OBJ_STRAY)
#define OBJ_ODD (OBJ_CALLED | OBJ_LATE)
_Static_assert(sizeof(struct ck_obj) % 16 == 0, "the user's struct stays 16-aligned");
_Static_assert(sizeof(struct ck_obj) == sizeof(CkGenObj) &&
	       offsetof(struct ck_obj, index) == offsetof(CkGenObj, index), "stubs look into it");

static inline void *self_of(struct ck_obj *obj) { return obj + 1; }
static inline struct ck_obj *obj_of(const void *self)
{
	return (struct ck_obj *)(uintptr_t)self - 1;
}
static inline bool obj_is_guest(const struct ck_obj *obj) { return obj->extra & OBJ_GUEST; }
static inline bool obj_is_stub(const struct ck_obj *obj) { return obj->extra & OBJ_STUB; }
/** Whether a call may be delivered to it now. */
static inline bool obj_takes_calls(const struct ck_obj *obj)
{
	return !(obj->extra & (OBJ_STUB | OBJ_LEAVING));
}

/** The elements of a collection that live on this PE and whose *seat* is another PE: the PE that
 * counts them in reductions and delivers their broadcasts (seat.c). Charm++ has no such
 * thing: there an element's location manager knows only its home. */
struct guests {
	struct elemmap at;        /* from the element to its ordinal + 1 */
	struct guest *list;       /* [cap], by ordinal */
	uint32_t n, cap, n_holes; /* n: used of list */
};
struct guest {
	struct ck_obj *obj;       /* NULL: it has left */
	int32_t seat;
};
static inline struct ck_obj *guest_find(const struct guests *g, struct elem_key k)
{
	const struct elemmap_slot *s = elemmap_find(&g->at, k);

	return s ? g->list[s->no - 1].obj : NULL;
}

struct call_route;

/** The indices of an array, and the home PE of each. The same on all PEs, except for `slots`. The
 * members for a call to another PE come first. */
struct homes {
	uint64_t total;           /* places of an array */
	CkMapFn map;              /* NULL: each PE has a run of neighbouring places, by blocks or cuts */
	/** Of an array with extents: the home of a place that is not among this PE's. */
	int (*home)(struct pe *pe, const struct collection *c, uint64_t place);
	int32_t box[3];           /* dims, if an index of up to three numbers has a place; else 0 */
	uint32_t n_maps;          /* version of the homes: they are unchanged while this is */
	CkArrayDims dims;
	uint64_t each, rest;      /* block map: elements per PE; the first `rest` have one more */
	struct cuts *cuts;        /* ours: replaces the blocks or the map with which it was created; else
				   * NULL */
	CkMapFn born_map;         /* with cuts: that map; NULL: blocks */
	struct idmap slots;       /* user map: from the places of this PE to the slot + 1 */
	int32_t start[6], step[6]; /* sparse, created with elements: their lattice, dims.n[d] wide */
};

/** One PE's share of a collection. The first message that names the id creates it; the creation
 * message gives it its type. Earlier messages wait in it. Singleton chares have one such struct per
 * type, which is in no table. */
struct collection {
	uint64_t id;              /* first: CkGenObj points to it */
	/* For calls. n_here: the number of this PE's elements that a call finds by place alone. That is
	 * n_local once they exist, and 0 before that and with a user's map. n_line: the number of elements
	 * whose index is their place: n_here in one dimension, else 0. */
	uint64_t first;           /* without a map: this PE's elements are first .. first + n_local - 1 */
	uint64_t n_here, n_line;
	struct ck_obj **elems;    /* [n_slots], by ordinal; if elements come and go, some are NULL; those
				   * that are away have a stub */
	const CkGenChare *type;   /* NULL: not known here yet */
	const CkGenEntry *entries; /* the type's */
	uint32_t n_entries;       /* the type's; 0 while calls wait for their condition (when.c) */
	bool constructed;         /* the elements of this PE exist */
	bool sparse;              /* elements have indices and no places */
	bool dynamic;             /* an element was created, destroyed or moved here */

	struct reduction *latest; /* reduce/: where the next contribution goes, mostly; see there */

	/* For calls to another PE, too. */
	struct call_route *route; /* stops of calls from this PE (call/call_route.h); NULL: none, they go
				   * to their element's home */
	uint64_t n_local;         /* elements that live here */
	struct homes homes;

	uint64_t n_slots;         /* of elems */
	struct guests *guests;    /* ours; NULL: none so far */
	struct idmap here;        /* sparse: struct ck_obj by index, of elements with their seat here */
	struct msg_fifo waiting;  /* messages that arrived too early */
	struct ck_env *announced; /* of a group that is not constructed here yet: its creation */
	size_t more_bytes;        /* after the user's struct in each element: obj_more */
	size_t more_at;           /* their distance from its struct ck_obj; 0: there are none */
	void *state[CK_PARTS];    /* the parts' state; see part.h */
};

_Static_assert(offsetof(CkGenCollection, n_line) == offsetof(struct collection, n_line) &&
	       offsetof(CkGenCollection, elems) == offsetof(struct collection, elems) &&
	       offsetof(CkGenCollection, type) == offsetof(struct collection, type) &&
	       offsetof(CkGenCollection, n_entries) == offsetof(struct collection, n_entries) &&
	       offsetof(CkGenObj, extra) == offsetof(struct ck_obj, extra) && CKGEN_EXTRA == OBJ_EXTRA,
	       "stubs look into them");

static inline void *coll_state(const struct collection *c, int part) { return c->state[part]; }
/** A part's data of an element (ck_part.elem_bytes), if c->more_bytes. */
static inline void *obj_more(struct ck_obj *obj)
{
	return (char *)obj + obj->coll->more_at;
}

/* ---- by id; coll_get is in state.h ----------------------------------------------------------- */

struct collection *coll_get_slow(struct pe *pe, uint64_t id);
uint64_t coll_new_id(struct pe *pe);
/** Set up a collection that is in no table. `c` is zeroed; `state` has space for the parts,
 * coll_bytes (struct ck_node). The caller owns both. */
void coll_init(struct pe *pe, struct collection *c, uint64_t id, void *state);
/** Make the collection that all singleton chares of a type point to. The caller frees it. */
struct collection *coll_of_type(struct pe *pe, const CkGenChare *type);
void coll_set_type(struct collection *c, const CkGenChare *type);
/** Then: set the size of the parts' data of each element. */
void coll_set_more(struct pe *pe, struct collection *c);
/** Memory of an element of the collection's type, zeroed, not constructed. The collection frees
 * it. */
struct ck_obj *obj_new(struct collection *c, CkIndex index);
/** Keep a message that arrived too early. Takes the message. */
void coll_wait(struct collection *c, struct cmi_msg *m);
/** Handle the messages that waited, at once. If they were queued again, later messages of the same
 * sender could overtake them. */
void coll_resume(struct pe *pe, struct collection *c);
/** At the end of the job: first the watchers free their state (colls_let_go), then colls_free frees
 * the elements and the tables. */
void colls_let_go(struct pe *pe);
void colls_free(struct pe *pe);

/* ---- by place -------------------------------------------------------------------------------- */

/** Set the type and the extents: from now on the collection can route messages. */
void coll_type(struct pe *pe, struct collection *c, const CkGenChare *type, CkArrayDims dims,
	       CkMapFn map);
/** The number of places of an array with these extents. */
uint64_t coll_volume(const CkArrayDims *dims);
/** Set the distribution of `total` elements over the PEs. */
void coll_spread(struct pe *pe, struct collection *c, uint64_t total);
int coll_mapped_home(struct pe *pe, const struct collection *c, CkIndex index);
int coll_block_home(const struct collection *c, uint64_t place);
/** The PE that was the element's home when the array began. It never changes. */
int coll_born_home(struct pe *pe, const struct collection *c, CkIndex index);
/** Without a map: the places of a PE are coll_run_first(c, pe) .. coll_run_first(c, pe + 1) - 1. */
uint64_t coll_run_first(const struct collection *c, int of_pe);
/** If each of PEs 0 .. n - 1 has a run of consecutive places and the others have none: n. Else
 * 0. */
int coll_n_runs(const struct pe *pe, const struct collection *c);
/** The slot in elems of the element at a place; UINT64_MAX: the place is not on this PE. */
uint64_t coll_slot(const struct collection *c, uint64_t place);
struct ck_obj *coll_find_slow(const struct collection *c, uint64_t place);
/** This PE's elements, one after another: those whose seat is here in index order, then the guests.
 * Begin with *at 0; NULL: no more. Elements may come and go between two calls. */
struct ck_obj *coll_each_slow(const struct collection *c, uint64_t *at);
static inline struct ck_obj *coll_each(const struct collection *c, uint64_t *at)
{
	struct ck_obj *obj = c->elems && *at < c->n_slots ? c->elems[*at] : NULL;

	if (CSD_UNLIKELY(!obj || obj_is_stub(obj)))
		return coll_each_slow(c, at);
	++*at;
	return obj;
}
/** The value of *at after an element of this PE. */
uint64_t coll_behind(const struct collection *c, const struct ck_obj *obj);
/** Set has[p] for each PE p: whether it has elements of the collection. */
void coll_who_has(struct pe *pe, struct collection *c, bool *has);

/* ---- cut_map.c ------------------------------------------------------------------------------- */

/** A division of the row-major order of an array into one run for each PE. */
struct cuts;

/** at: [n_pes + 1], rising from 0 to the array's number of places; copied. The caller frees what
 * this returns. */
struct cuts *cuts_new(const uint64_t *at, int n_pes);
int cuts_home(const struct cuts *k, uint64_t place);
/** Make them the collection's map. The collection takes them, and frees its old ones. The caller
 * sets this PE's elements: elems, n_slots, n_local. */
void coll_cut(struct pe *pe, struct collection *c, struct cuts *k);
uint64_t cuts_first(const struct cuts *k, int of_pe);
int cuts_n_runs(const struct cuts *k);

/* On the path of every call, therefore inline. */

/** The place of an index in row-major order. UINT64_MAX: the index is outside the extents, or has
 * more than three numbers (index_place). */
static inline uint64_t coll_linear(const struct collection *c, CkIndex i)
{
	const int32_t *n = c->homes.box;

	if (CSD_UNLIKELY((uint32_t)i.v[0] >= (uint32_t)n[0] ||
			 (uint32_t)i.v[1] >= (uint32_t)n[1] ||
			 (uint32_t)i.v[2] >= (uint32_t)n[2]))
		return UINT64_MAX;
	return ((uint64_t)i.v[0] * (uint64_t)n[1] + (uint64_t)i.v[1]) * (uint64_t)n[2] +
	       (uint64_t)i.v[2];
}

/** The element of this PE at a place, or NULL. Stubs are no elements. */
static inline struct ck_obj *coll_find(const struct collection *c, uint64_t place)
{
	if (CSD_LIKELY(place - c->first < c->n_here))
		return c->elems[place - c->first];
	return c->constructed && !c->sparse ? coll_find_slow(c, place) : NULL;
}

#endif
