/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce.h: the room reduce/: what elements bring together.
 *
 * Owns     reductions and their results, reducers, prefix scans.
 * Called   by elements, and by the rooms above: sections reduce by the same functions, a nodegroup
 *          keeps its part in a collection of its first PE. On the PE that contributes.
 * Calls    place/, call/, params/, core/. Elements that come and go are told by the watch (part.h).
 *
 *	reducers.c         what combines: the operations, value by value
 *	reduce_messages.c  what combines contributions of any length: set, concat, random, tuple
 *	reduce_own.c       reducers that the program registers
 *	reduce.c           what counts: elements contribute, in any order, several reductions at a time
 *	reduce_exchange.c  a route: small results that every element gets; PEs swap partial results
 *	reduce_tree.c      a route: everything else; partial results go up to PE 0
 *	result.c           what delivers: results reach elements in the order of the reductions
 *	reduce_change.c    what elements change that come and go; only where c->dynamic is set
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
	uint64_t coll;            /* in a section over several they differ */
	CkIndex index;
	int pe;
	uint64_t draw;            /* equal for all elements in one reduction: what CkReduction_random
				   * draws from */
};

/** What combines: values, one by one, if it has `combine` or `own`; messages of any length, if it
 * has `merge`; nothing, if it is CkReduction_nop. */
struct reducer {
	const char *name;
	CkDataType type;          /* of the result */
	uint32_t value_bytes;     /* 0: messages */
	bool ordered;             /* the result's bits depend on the order: index order, then */
	bool streamable;          /* messages are merged as they come */
	/** acc[i] = acc[i] op in[i], or with in_first in[i] op acc[i]. */
	void (*combine)(void *restrict acc, const void *restrict in, size_t n, bool in_first);
	CkValueReducerFn own;     /* the program's, in place of combine */
	const void *identity;     /* a value that changes nothing */
	/** Combine n messages, n > 1. Gives one of them or a new one; frees none. */
	CkReducerFn merge;
	/** A contribution of `count` bytes, or parts of a tuple, in the form that is merged; NULL: as
	 * it is. */
	struct ck_env *(*begin)(struct pe *pe, const struct contributor *from, const void *data,
				uint64_t count);
	/** The result from that form; takes and gives a message. NULL: as it is. */
	struct ck_env *(*finish)(struct pe *pe, const CkGenChare *type, struct ck_env *env);
};

/** NULL: there is none with this number. */
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
	int child;                /* that it came from; below 0: an element of this PE */
	CkIndex key;              /* of the element: its index, in a form that compares */
	struct ck_env *env;       /* ours */
};
CkIndex index_key(const CkGenChare *type, CkIndex index);
struct ck_env *reducer_begin(struct pe *pe, const struct reducer *how,
			     const struct contributor *from, const void *data, uint64_t count);
/** What somebody contributes, to be kept until it can be: its size, with what it points to, and a
 * copy, which is valid where it is made. */
size_t contribution_bytes(struct pe *pe, const struct reducer *how, const void *data,
			  uint64_t count);
void contribution_repoint(struct pe *pe, const struct reducer *how, void *at, uint64_t count);
void contribution_copy(struct pe *pe, const struct reducer *how, void *to, const void *data,
		       uint64_t count);
struct ck_env *reducer_merge(struct pe *pe, const struct reducer *how, struct piece *pieces,
			     size_t n);

enum { REDUCTION_WAITS = 0xff };  /* `stage` of an exchange before this PE's part is complete */

/** One reduction of one collection on one PE, from the first contribution or message until
 * its part here is done, and its result delivered where elements of this PE get it. */
struct reduction {
	struct reduction *next;   /* of the collection, by number; or of the PE's spare ones */
	uint32_t no;
	CkReduction op;
	const struct reducer *how;
	uint64_t count;           /* 0 for messages */
	size_t bytes;             /* of one contribution; 0 for messages */
	CkCallback cb;
	uint64_t n_missing;       /* contributions of this PE's elements */
	/* reduction_open sets what follows to 0, side by side: a few wide stores. */
	uint64_t n_local_in;      /* contributions of members here: of a section */
	struct ck_env *acc;       /* ours: what is combined so far, as a message that can travel on */
	struct cmi_msg *early;    /* ours: arrived before their turn */
	uint64_t n_in_order, n_stashed; /* ordered contributions; those that came before their turn */
	int n_children_in;        /* tree */
	bool exchanged;           /* route */
	bool awaited;             /* the result comes to elements of this PE */
	bool done;                /* acc is the result; it waits for those before it */
	bool any;                 /* acc holds something */
	bool local_done;          /* none is missing, and reductions_of(c)->next_no says so */
	/* Up to here. */
	uint8_t stage;            /* exchange: which message comes next */
	char *stash;              /* n_slots flags, then a place for each element; kept when spare */
	size_t cap_stash;
	struct piece *pieces;     /* messages that wait to be merged; kept when spare */
	size_t n_pieces, cap_pieces;
	/* Who opened it: an element of this PE, or a message from another. */
	int from_pe;
	bool from_element;
	CkIndex from;
	/* The same where elements come and go: until none is missing. */
	struct kept_one *kept;
	size_t n_kept, cap_kept;
};

/* What travels, always a struct ck_env and: up the tree and as a result
 *
 *	| CkReductionMsg | values, padded to 16 | CkCallback |
 *
 * and in an exchange just the values, so that an empty one is a single cache line. Their
 * envelopes have the view `part`. */

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

/* What knows neither collections nor sections, for both (section.c). A list of open reductions is
 * in the order of their numbers: the one with this number, or the place where it belongs. */
struct reduction **reduction_place(struct reduction **list, uint32_t no);
struct reduction *reduction_open(struct pe *pe, struct reduction **at, uint32_t no,
				 CkReduction op, uint64_t count, const CkCallback *cb);
void reduction_free(struct pe *pe, struct reduction *r);
/* The contribution of one of the n_local members of this PE; r has its accumulator. */
void reduction_take(struct pe *pe, struct reduction *r, uint64_t n_local, uint64_t ordinal,
		    const void *data);
/* The same for a message from reducer_begin, which is given away. They are merged by array, which is
 * -1 or lower, then by key: index_key. */
void reduction_take_message(struct pe *pe, struct reduction *r, int array, CkIndex key,
			    struct ck_env *env);
/* The part of a child; those whose turn must be kept are absorbed when all are here. */
void reduction_take_child(struct pe *pe, struct reduction *r, struct ck_env *env, int child);
void reduction_absorb_kept(struct pe *pe, struct reduction *r);
/* At the root, when all is combined: the accumulator becomes what the callback gets. */
void reduction_finish(struct pe *pe, struct reduction *r, const CkGenChare *type);

/* Not for messages: what they are merged to is a message of its own. */
static inline void reduction_make_acc(struct pe *pe, struct reduction *r)
{
	r->acc = callback_msg(pe, r->how->type, r->count, r->bytes);
}

/* Combine values into the accumulator; in_first: they come before what it holds. */
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

/** Abort if the callback's entry takes something else; how: what gives count values. */
void result_check(struct pe *pe, const CkCallback *cb, const struct reducer *how, uint64_t count,
		  const CkGenChare *from);
#endif
