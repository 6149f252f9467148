/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce.h: the room reduce/: combines contributions of elements.
 *
 * Owns     reductions and their results, reducers. Prefix scans (scan/) use their records.
 * Called   by elements, and by the rooms above, on the PE that contributes. Sections reduce with
 *          the same records and functions; a nodegroup keeps its share in a collection of the
 *          node's first PE.
 * Calls    place/, call/, params/, core/. The watch (part.h) reports elements that come and go.
 *
 *	reducers.c         the operations that combine value by value
 *	reduce_messages.c  the operations on contributions of any length: set, concat, random, tuple
 *	reduce_own.c       reducers that the program registers
 *	contribution.c     contributions as messages
 *	reduction.c        the record of a reduction or a scan, and how values come together in it
 *	result.c           delivers results to elements in the order of the reductions
 *	reduce_open.c      opens the reductions of a collection
 *	reduce_exchange.c  one route: PEs swap partial results; for small results that all elements get
 *	reduce_tree.c      the other route: partial results go up a tree; for everything else
 *	reduce_change.c    reductions over elements that come and go; only where c->dynamic is set
 *	reduce.c           takes contributions, in any order, for several reductions at a time
 */
#ifndef CK_REDUCE_H
#define CK_REDUCE_H

#include "../create/place_watch.h"

enum { PART_REDUCE = 11, PART_SCAN = 12 };
extern const struct ck_part reduce_part, scan_part;

struct reducer;

/** An element's contribution to a reduction, a section's reduction or a scan; or another PE's
 * message about one, without data. */
struct contributed {
	const void *data;         /* the caller's, as are the targets of the other pointers */
	uint64_t count;           /* 0 for messages that another PE sends */
	CkReduction op;
	int pe;                   /* where the element lives; the other PE */
	const struct reducer *how; /* of `op`; not NULL */
	const CkCallback *cb;
	const CkIndex *index;     /* the element's; NULL: another PE's message */
	/* Only for messages: */
	uint64_t coll;            /* the elements of one section may have different ones */
	uint64_t draw;            /* the seed of CkReduction_random: equal for all elements in one
				   * reduction */
};

/** An operation. With `combine` or `own` it combines values, one by one; with `merge` it combines
 * messages of any length. CkReduction_nop has none of them. */
struct reducer {
	const char *name;
	CkDataType type;          /* of the result */
	uint32_t value_bytes;     /* 0: it combines messages */
	bool ordered;             /* the result's bits depend on the order, so values are combined in
				   * index order */
	bool streamable;          /* messages may be merged as they arrive, in any order */
	/** acc[i] = acc[i] op in[i]; if in_first, in[i] op acc[i]. */
	void (*combine)(void *restrict acc, const void *restrict in, size_t n, bool in_first);
	/** The same for n = 1 and in_first = false; NULL: `combine` does it. */
	void (*one)(void *restrict acc, const void *restrict in, size_t n, bool in_first);
	CkValueReducerFn own;     /* the program's function, instead of combine */
	const void *identity;     /* the neutral value */
	/** Combine n messages, n > 1. Returns one of them or a new one; frees none. */
	CkReducerFn merge;
	/** Convert a contribution of `count` bytes, or of `count` members of a tuple, to the form that is
	 * merged. NULL: the bytes are copied as they are. */
	struct ck_env *(*begin)(struct pe *pe, const struct contributed *in);
	/** Turn the merged form into the result; frees env and returns another message. NULL: the
	 * merged form is the result. */
	struct ck_env *(*finish)(struct pe *pe, const CkGenChare *type, struct ck_env *env);
	/** Whether what the merged form consists of lies within its bytes. NULL: it is just bytes. */
	bool (*fits)(const struct ck_node *ck, const CkReductionMsg *m);
};

/** NULL: no reducer has this number. */
const struct reducer *reducer_find(const struct ck_node *ck, uint32_t op);
static inline const char *reducer_name(const struct pe *pe, uint32_t op)
{
	const struct reducer *how = reducer_find(ck_node_of(pe->node), op);

	return how ? how->name : "an unknown reducer";
}
void reducer_combine_own(const struct reducer *how, void *acc, const void *in, size_t n,
			 bool in_first);
static inline void reducer_combine(const struct reducer *how, void *restrict acc,
				   const void *restrict in, size_t n, bool in_first)
{
	if (CSD_LIKELY(how->combine != NULL))
		how->combine(acc, in, n, in_first);
	else
		reducer_combine_own(how, acc, in, n, in_first);
}

/** A message that waits to be combined with others. */
struct piece {
	int child;                /* the child that sent it; below 0: an element of this PE */
	CkIndex key;              /* the element's index in a form that compares (index_key) */
	struct ck_env *env;       /* ours */
};

/** A copy in a message, with all its data. `tag` is the caller's, and so is the whole envelope.
 * _read reads such a message, which it may change; the contribution is valid as long as the
 * message. */
struct ck_env *contribution_msg(struct pe *pe, const struct contributed *in, uint64_t tag);
struct contributed contribution_read(struct pe *pe, struct ck_env *env, int from,
				     const CkIndex *index, uint64_t *tag_p);
/** For csd_shape.misfit. */
const char *contribution_misfit(struct pe *pe, const struct ck_env *env);
/** For an operation on messages: convert the contribution to one. Sets `coll` and `draw`, and then
 * the count to 0, as in all terms of messages. */
struct ck_env *reducer_begin(struct pe *pe, struct contributed *in, uint64_t coll, uint64_t draw);
struct ck_env *reducer_merge(struct pe *pe, const struct reducer *how, struct piece *pieces,
			     size_t n);

enum { REDUCTION_WAITS = 0xff };  /* `stage` before this PE's share is complete */

/* A spare record keeps its memory for waiting contributions up to this size. That is enough for a
 * scan of 1000 elements, which have a value and a callback each; the 8 MB of a single reduction of
 * matrices are freed. */
enum { STASH_KEEP_BYTES = 72 * 1024, PIECES_KEEP = STASH_KEEP_BYTES / sizeof(struct piece) };

/** One reduction of a collection or a section, or one scan, on one PE. The record lives from the
 * first contribution or message until the PE's share is done and, if elements of this PE get the
 * result, until it is delivered. */
struct reduction {
	struct reduction *next;   /* in the collection's list, by number, or in the PE's list of spare
				   * records */
	uint32_t no;
	CkReduction op;
	bool barrier;             /* as in CkGenSum */
	uint64_t n_missing;       /* contributions that this PE's elements have yet to make */
	CkCallback cb;
	uint64_t count;           /* 0 for messages */
	const struct reducer *how;
	size_t bytes;             /* of one contribution; 0 for messages */
	/* how->one or how->combine; NULL: neither. Not set in sections' reductions and in scans. */
	void (*add)(void *restrict acc, const void *restrict in, size_t n, bool in_first);
	/* reduction_open clears the fields from here to the next mark. They are adjacent, so a few wide
	 * stores do it. */
	struct ck_env *acc;       /* ours: the result so far, in a message that can be sent */
	struct cmi_msg *early;    /* ours: messages of later stages */
	uint64_t n_in_order, n_stashed; /* ordered: combined so far; waiting in `stash` */
	int n_children_in;        /* tree: children whose partial result has arrived; scan: PEs whose sums
				   * have arrived */
	bool done;                /* acc is the result; it waits for earlier results */
	bool any;                 /* acc has a value */
	bool local_done;          /* nothing is missing, and everything that depends on that has been
				   * done */
	/* The end of the cleared fields. Of the terms, and of all reductions in the same terms: */
	bool exchanged;           /* the route: an exchange; else the tree */
	bool awaited;             /* elements of this PE get the result */
	bool plain;               /* values, and nobody looks at the contributions */
	bool fits;                /* the result is what the entry takes; else it is compared at the end */
	uint8_t stage;            /* exchange, scan: the stage whose message comes next */
	char *stash;              /* n_slots flags, then space for each element's values; a scan's are in
				   * scan.c. A spare record keeps it */
	size_t cap_stash;
	struct piece *pieces;     /* messages that wait to be combined; a spare record keeps the array */
	size_t n_pieces, cap_pieces;
	/* Who opened it: an element of this PE, or a message from another. */
	int from_pe;
	bool from_element;
	CkIndex from;
};

_Static_assert(offsetof(CkGenSum, no) == offsetof(struct reduction, no) &&
	       offsetof(CkGenSum, barrier) == offsetof(struct reduction, barrier) &&
	       offsetof(CkGenSum, n_missing) == offsetof(struct reduction, n_missing) &&
	       offsetof(CkGenSum, cb) == offsetof(struct reduction, cb) &&
	       offsetof(struct CkGenSummed, latest) == offsetof(struct collection, latest) &&
	       sizeof(CkGenSummand) == sizeof(struct ck_obj) &&
	       offsetof(CkGenSummand, n_contributed) == offsetof(struct ck_obj, n_contributed) &&
	       offsetof(CkGenSummand, extra) == offsetof(struct ck_obj, extra) &&
	       CKGEN_AWAY == OBJ_AWAY, "CkContributeBarrier looks into them");

/* Messages of reductions. Each is a struct ck_env. Up the tree and as a result it is followed by
 *
 *	| CkReductionMsg | values, padded to 16 | CkCallback |
 *
 * and in an exchange by the values alone, so that a message without values is a single cache
 * line. The envelopes use the view `part`. */

static inline void wire_set(struct ck_env *env, uint64_t id, const struct reduction *r)
{
	env->coll = id;
	env->part.no = r->no;
	env->part.count = (uint32_t)r->count;
	env->part.op = r->op;
}

static inline void *values_of(struct ck_env *env)
{
	return (CkReductionMsg *)payload_of(env) + 1;
}

/* The following functions know neither collections nor sections and serve both. A list of open
 * reductions is sorted by number. reduction_place finds the link to the reduction with this number,
 * or where to insert it. */
struct reduction **reduction_place(struct reduction **list, uint32_t no);
static inline struct reduction *reduction_at(struct reduction *list, uint32_t no)
{
	/* Compare by difference, because numbers may wrap. */
	while (list && (int32_t)(list->no - no) < 0)
		list = list->next;
	return list && list->no == no ? list : NULL;
}
/** Open a reduction with these terms. The caller sets n_missing. */
struct reduction *reduction_open(struct pe *pe, struct reduction **list, uint32_t no,
				 const struct contributed *in);
static inline void reduction_opened_by(struct reduction *r, const struct contributed *in)
{
	r->from_pe = in->pe;
	if ((r->from_element = in->index))
		r->from = *in->index;
}
/** What differs between two reductions in the same terms. */
static inline void reduction_begin(struct reduction *r, uint32_t no)
{
	r->no = no;
	r->acc = NULL;
	r->early = NULL;
	r->n_in_order = r->n_stashed = 0;
	r->n_children_in = 0;
	r->done = r->any = r->local_done = false;
	r->stage = REDUCTION_WAITS;
}
/** Whether r holds anything that a spare record does not keep. */
static inline bool reduction_has_extras(const struct reduction *r)
{
	return (uintptr_t)r->early | r->n_pieces | (r->cap_pieces > PIECES_KEEP) |
	       (r->cap_stash > STASH_KEEP_BYTES);
}
/** Remove r from its list and free it, including a result. */
void reduction_close(struct pe *pe, struct reduction **list, struct reduction *r);
/** The same for all of a list. */
void reductions_close(struct pe *pe, struct reduction **list);
/** Make space in the stash; its contents are lost. */
void reduction_room(struct reduction *r, size_t bytes);

/** Messages of an exchange or a scan that come before their stage begins wait in r->early. */
_Static_assert(offsetof(struct ck_env, swap.stage) == offsetof(struct ck_env, part.stage),
	       "take_early looks at both");
static inline void keep_early(struct reduction *r, struct ck_env *env)
{
	env->head.next = r->early;
	r->early = &env->head;
}
/** The message for this stage, if it has arrived. The caller's. */
static inline struct ck_env *take_early(struct reduction *r, int stage)
{
	for (struct cmi_msg **p = &r->early; *p; p = &(*p)->next) {
		struct ck_env *env = (struct ck_env *)*p;

		if (env->swap.stage != stage)
			continue;
		*p = env->head.next;
		return env;
	}
	return NULL;
}

/** Whether these are the terms of the reduction. */
static inline bool reduction_agrees(const struct reduction *r, const struct contributed *in)
{
	return r->op == in->op && r->count == in->count && callback_same(&r->cb, in->cb);
}
/** End the job because they differ. members: "elements of" */
_Noreturn void reduction_disagree(struct pe *pe, const struct reduction *r,
				  const struct contributed *in, const CkGenChare *type,
				  const char *members);
/** Take the message of such a contribution, from reducer_begin; the call takes it over. They are
 * combined in the order of `array`, which is -1 or lower, then of `key` (index_key). */
void reduction_take_message(struct pe *pe, struct reduction *r, int array, CkIndex key,
			    struct ck_env *env);
/** Take the partial result of a child. Those that have to be combined in order wait among the
 * pieces until all have arrived. */
void reduction_take_child(struct pe *pe, struct reduction *r, struct ck_env *env, int child);

/** A tree of partial results (reduce_tree.c): PE 0's, restricted to PEs with elements, or a
 * section's. */
struct reduce_tree {
	int parent;               /* -1: this is the root */
	int n_children, *children; /* ours */
};
/** If partial results are sent in the order of the reductions: the next one, if it is complete in
 * this PE's subtree. It counts as passed then. NULL: none is. */
struct reduction *tree_next(const struct reduce_tree *t, struct reduction *open,
			    uint32_t *n_passed);
/** r is complete in this PE's subtree: combine all of it. At the root returns the callback's
 * message; elsewhere the message for the parent, which names `id`. The message is the caller's. */
struct ck_env *tree_part(struct pe *pe, const struct reduce_tree *t, struct reduction *r,
			 const CkGenChare *type, uint64_t id);
/** Read the terms in such a message of a child; abort if it cannot be one. They are valid as long
 * as it is. */
struct contributed tree_part_read(struct pe *pe, const struct reduce_tree *t, struct ck_env *env,
				  int *child_p);

/** Describe the reduction `what`, and the missing elements, to the watchdog. r NULL: it is not open
 * here. */
void reduction_tell(struct pe *pe, struct csd_told *to, struct csd_thing what,
		    const struct reduction *r, const struct missing *m);

/* For csd_shape.misfit: values with their callback, from another process, for the reducer `how`
 * (NULL: there is none). empty: the number of values is ignored. Returns the error, or NULL. */
const char *reduction_values_misfit(struct pe *pe, const struct ck_env *env,
				    const struct reducer *how, bool empty);
/* The same for a PE's share of a reduction (env->part), in its reducer's merged form. */
const char *reduction_part_misfit(struct pe *pe, const struct ck_env *env, bool empty);

/* Only for values: messages are merged into a message of their own. */
static inline void reduction_make_acc(struct pe *pe, struct reduction *r)
{
	r->acc = callback_msg(pe, r->how->type, r->count, r->bytes);
}

/* Combine values into the accumulator; in_first: `in` precedes its value. */
static inline void reduction_absorb(struct reduction *r, const void *in, bool in_first)
{
	if (!r->bytes)
		return;
	if (r->any)
		reducer_combine(r->how, values_of(r->acc), in, r->count, in_first);
	else
		__builtin_memcpy(values_of(r->acc), in, r->bytes);
	r->any = true;
}

/** Take the contribution of one of the n_local members of this PE; r has its accumulator. _astray:
 * of one that is out of order, or for which others wait. */
void reduction_take_astray(struct reduction *r, uint64_t n_local, uint64_t ordinal,
			   const void *data);
static inline void reduction_take(struct reduction *r, uint64_t n_local, uint64_t ordinal,
				  const void *data)
{
	if (r->bytes && r->how->ordered) {
		if (CSD_UNLIKELY(ordinal != r->n_in_order || r->n_stashed)) {
			reduction_take_astray(r, n_local, ordinal, data);
			return;
		}
		r->n_in_order++;
	}
	reduction_absorb(r, data, false);
}

/** Abort if the callback's entry method does not take the result of these terms. The result's type
 * is known before anything is combined, and an error at the contribution is more precise than one
 * at the target. Plain bytes need only the right size, which deliver.c checks. */
void result_check_wanted(struct pe *pe, const struct contributed *in, const CkGenChare *from);
static inline void result_check(struct pe *pe, const struct contributed *in, const CkGenChare *from)
{
	if (CSD_UNLIKELY(in->cb->want != CK_NOTYPE) && in->how->type != CK_BYTE)
		result_check_wanted(pe, in, from);
}
#endif
