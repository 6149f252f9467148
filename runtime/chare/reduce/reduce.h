/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce.h: the room reduce/: combines what elements contribute.
 *
 * Owns     reductions and their results, reducers, prefix scans.
 * Called   by elements, and by the rooms above, on the PE that contributes. Sections reduce with
 *          the same functions; a nodegroup keeps its part in a collection of the node's first PE.
 * Calls    place/, call/, params/, core/. The watch (part.h) reports elements that come and go.
 *
 *	reducers.c         the operations that combine value by value
 *	reduce_messages.c  the operations on contributions of any length: set, concat, random, tuple
 *	reduce_own.c       reducers that the program registers
 *	reduce.c           takes contributions, in any order, for several reductions at a time
 *	reduce_exchange.c  one route: PEs swap partial results; for small results that all elements get
 *	reduce_tree.c      the other route: partial results go up to PE 0; for everything else
 *	result.c           delivers results to elements in the order of the reductions
 *	reduce_change.c    reductions over elements that come and go; only where c->dynamic is set
 *	scan.c             prefix scans
 */
#ifndef CK_REDUCE_H
#define CK_REDUCE_H

#include "../place/place.h"

enum { PART_REDUCE = 10, PART_SCAN = 11 };
extern const struct ck_part reduce_part, scan_part;

/** Who contributed. */
struct contributor {
	const CkGenChare *type;   /* of the collection */
	uint64_t coll;            /* the elements of one section may have different ones */
	CkIndex index;
	int pe;
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
	CkValueReducerFn own;     /* the program's function, in place of combine */
	const void *identity;     /* a value that changes nothing */
	/** Combine n messages, n > 1. Returns one of them or a new one; frees none. */
	CkReducerFn merge;
	/** Turn a contribution of `count` bytes, or of `count` parts of a tuple, into the form
	 * that is merged. NULL: the bytes are copied as they are. */
	struct ck_env *(*begin)(struct pe *pe, const struct contributor *from, const void *data,
				uint64_t count);
	/** Turn the merged form into the result; frees env and returns another message. NULL: the
	 * merged form is the result. */
	struct ck_env *(*finish)(struct pe *pe, const CkGenChare *type, struct ck_env *env);
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

/** A message that waits to be merged with others. */
struct piece {
	int child;                /* the child that sent it; below 0: an element of this PE */
	CkIndex key;              /* the element's index in a form that compares (index_key) */
	struct ck_env *env;       /* ours */
};
CkIndex index_key(const CkGenChare *type, CkIndex index);
struct ck_env *reducer_begin(struct pe *pe, const struct reducer *how,
			     const struct contributor *from, const void *data, uint64_t count);
/** A contribution that has to wait can be copied. _bytes gives the size of the copy, with
 * everything that the contribution points to. _copy makes it; the copy is valid in this process.
 * _repoint makes it valid in the process that it was sent to. */
size_t contribution_bytes(struct pe *pe, const struct reducer *how, const void *data,
			  uint64_t count);
void contribution_repoint(struct pe *pe, const struct reducer *how, void *at, uint64_t count);
void contribution_copy(struct pe *pe, const struct reducer *how, void *to, const void *data,
		       uint64_t count);

/** What one element gives to a reduction, a section's reduction or a scan. */
struct contributed {
	const void *data;         /* the caller's */
	uint64_t count;
	CkReduction op;           /* a reducer has this number */
	CkCallback cb;
	int pe;                   /* where the element lives */
};
/** A copy in a message, with everything that it points to. `tag` is the caller's, and so is all of the envelope.
 * _read looks into such a message, which it may change; the contribution is valid as long as the message. */
struct ck_env *contribution_msg(struct pe *pe, const struct contributed *in, uint64_t tag);
struct contributed contribution_read(struct pe *pe, struct ck_env *env, int from, uint64_t *tag_p);
/** For csd_shape.misfit. */
const char *contribution_misfit(struct pe *pe, const struct ck_env *env);
struct ck_env *reducer_merge(struct pe *pe, const struct reducer *how, struct piece *pieces,
			     size_t n);

enum { REDUCTION_WAITS = 0xff };  /* `stage` of an exchange before this PE's part is complete */

/** One reduction of one collection on one PE. The record lives from the first contribution or
 * message until the PE's part is done and, where elements of this PE get the result, until it is
 * delivered. */
struct reduction {
	struct reduction *next;   /* in the collection's list, by number, or in the PE's list of spare
				   * records */
	uint32_t no;
	CkReduction op;
	const struct reducer *how;
	uint64_t count;           /* 0 for messages */
	size_t bytes;             /* of one contribution; 0 for messages */
	CkCallback cb;
	uint64_t n_missing;       /* contributions that this PE's elements still owe */
	/* reduction_open clears the fields from here to the next mark. They lie side by side,
	 * so a few wide stores do it. */
	uint64_t n_local_in;      /* contributions that came from elements of this PE; sections count
				   * these */
	struct ck_env *acc;       /* ours: the result so far, in a message that can travel on */
	struct cmi_msg *early;    /* ours: messages that arrived before their turn */
	uint64_t n_in_order, n_stashed; /* ordered: combined so far; waiting in `stash` */
	int n_children_in;        /* tree: children whose part has come */
	bool exchanged;           /* the route: an exchange; else the tree */
	bool awaited;             /* elements of this PE get the result */
	bool done;                /* acc is the result; it waits for the results before it */
	bool any;                 /* acc holds something */
	bool local_done;          /* nothing is missing, and reductions_of(c)->next_no says so */
	/* The end of the cleared fields. */
	uint8_t stage;            /* exchange: the stage whose message comes next */
	char *stash;              /* n_slots flags, then room for each element's values; a spare record
				   * keeps it */
	size_t cap_stash;
	struct piece *pieces;     /* messages that wait to be merged; a spare record keeps the array */
	size_t n_pieces, cap_pieces;
	/* Who opened it: an element of this PE, or a message from another. */
	int from_pe;
	bool from_element;
	CkIndex from;
	/* Where elements come and go: ordered contributions, until none is missing. */
	struct kept_one *kept;
	size_t n_kept, cap_kept;
};

/* Messages of reductions. Each is a struct ck_env. Up the tree and as a result it is followed by
 *
 *	| CkReductionMsg | values, padded to 16 | CkCallback |
 *
 * and in an exchange by the values alone, so that a message without values is a single cache
 * line. The envelopes use the view `part`. */

static inline void wire_set(struct ck_env *env, const struct collection *c,
			    const struct reduction *r)
{
	env->coll = c->id;
	env->part.no = r->no;
	env->part.count = (uint32_t)r->count;
	env->part.op = r->op;
}

static inline void *values_of(struct ck_env *env)
{
	return (CkReductionMsg *)payload_of(env) + 1;
}

/* The following functions know neither collections nor sections and serve both (section.c). A
 * list of open reductions is sorted by number. reduction_place finds the reduction with this
 * number, or the place where it belongs. */
struct reduction **reduction_place(struct reduction **list, uint32_t no);
struct reduction *reduction_open(struct pe *pe, struct reduction **at, uint32_t no,
				 CkReduction op, uint64_t count, const CkCallback *cb);
void reduction_free(struct pe *pe, struct reduction *r);
/* Take the contribution of one of the n_local members of this PE; r has its accumulator. */
void reduction_take(struct reduction *r, uint64_t n_local, uint64_t ordinal,
		    const void *data);
/* The same for a message from reducer_begin; the call takes it over. Messages are merged in the
 * order of `array`, which is -1 or lower, then of `key` (index_key). */
void reduction_take_message(struct pe *pe, struct reduction *r, int array, CkIndex key,
			    struct ck_env *env);
/* Take the part of a child. Parts that have to be combined in order are kept, and
 * reduction_absorb_kept combines them when all are here. */
void reduction_take_child(struct pe *pe, struct reduction *r, struct ck_env *env, int child);
void reduction_absorb_kept(struct pe *pe, struct reduction *r);
/* At the root, when everything is combined: turn the accumulator into the message that the
 * callback gets. */
void reduction_finish(struct pe *pe, struct reduction *r, const CkGenChare *type);

/* For csd_shape.misfit: values with their callback, from another process, for the reducer `how` (NULL: there is none).
 * empty: what says how many values there are does not count. Returns what does not fit, or NULL. */
const char *reduction_values_misfit(struct pe *pe, const struct ck_env *env, const struct reducer *how, bool empty);

/* Only for values: messages are merged into a message of their own. */
static inline void reduction_make_acc(struct pe *pe, struct reduction *r)
{
	r->acc = callback_msg(pe, r->how->type, r->count, r->bytes);
}

/* Combine values into the accumulator; in_first: `in` comes before what it holds. */
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

/** Abort if the callback's entry method takes something other than `count` values of reducer
 * `how`. */
void result_check(struct pe *pe, const CkCallback *cb, const struct reducer *how, uint64_t count,
		  const CkGenChare *from);
#endif
