/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_int.h: what the files of reductions share.
 *
 *	reducers.c         what combines: the operations, value by value
 *	reduce_messages.c  what combines contributions of any length: set, concat, random, tuple
 *	reduce_own.c       reducers that the program registers
 *	reduce.c           what counts: elements contribute, in any order, several reductions at a time
 *	reduce_exchange.c  a route: small results that every element gets; PEs swap partial results
 *	reduce_tree.c      a route: everything else; partial results go up to PE 0
 *	result.c           what delivers: results reach elements in the order of the reductions
 *	reduce_change.c    what elements change that come and go; only where c->dyn is set
 */
#ifndef REDUCE_INT_H
#define REDUCE_INT_H

#include "ck_int.h"

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

/* reducers.c; NULL: there is none with this number */
const struct reducer *reducer_find(const struct ck_node *ck, uint32_t op);
static inline const char *reducer_name(const struct pe *pe, uint32_t op)
{
	const struct reducer *how = reducer_find(pe->node->ck, op);

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

/* reduce_messages.c */
struct ck_env *set_begin(struct pe *pe, const struct contributor *from, const void *data,
			 uint64_t bytes);
struct ck_env *concat_begin(struct pe *pe, const struct contributor *from, const void *data,
			    uint64_t bytes);
struct ck_env *random_begin(struct pe *pe, const struct contributor *from, const void *data,
			    uint64_t bytes);
struct ck_env *tuple_begin(struct pe *pe, const struct contributor *from, const void *elems,
			   uint64_t n);
CkReductionMsg *set_merge(int n, CkReductionMsg **msgs);
CkReductionMsg *concat_merge(int n, CkReductionMsg **msgs);
CkReductionMsg *random_merge(int n, CkReductionMsg **msgs);
CkReductionMsg *tuple_merge(int n, CkReductionMsg **msgs);
struct ck_env *set_finish(struct pe *pe, const CkGenChare *type, struct ck_env *env);
struct ck_env *concat_finish(struct pe *pe, const CkGenChare *type, struct ck_env *env);
struct ck_env *random_finish(struct pe *pe, const CkGenChare *type, struct ck_env *env);
struct ck_env *tuple_finish(struct pe *pe, const CkGenChare *type, struct ck_env *env);

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

/* Up to here PEs exchange. At 8 kB that beats the tree by 10 to 40 % with 2 to 8 PEs on 2 cores; at
 * 80 kB it is no better with 2 and worse with more, because every PE combines log2(PEs) times. */
enum { EXCHANGE_MOST_BYTES = 32 * 1024 };

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
	bool local_done;          /* none is missing, and c->next_no says so */
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
 * envelopes hold, instead of an index: */
static inline uint32_t wire_no(const struct ck_env *env) { return (uint32_t)env->index.v[0]; }
static inline uint64_t wire_count(const struct ck_env *env) { return (uint32_t)env->index.v[1]; }
static inline uint32_t wire_op(const struct ck_env *env) { return (uint32_t)env->index.v[2]; }

static inline void wire_set(struct ck_env *env, const struct collection *c,
			    const struct reduction *r)
{
	env->coll = c->id;
	env->index = (CkIndex){ { (int32_t)r->no, (int32_t)(uint32_t)r->count, (int32_t)r->op } };
}

static inline void *values_of(struct ck_env *env)
{
	return (CkReductionMsg *)payload_of(env) + 1;
}

/* reduce.c */
struct reduction *reduction_find(struct collection *c, uint32_t no);
/* from: the PE that says so; obj: the element, or NULL. */
struct reduction *reduction_join(struct pe *pe, struct collection *c, uint32_t no, CkReduction op,
				 uint64_t count, const CkCallback *cb, int from,
				 const struct ck_obj *obj);
_Noreturn void reduction_disagree(struct pe *pe, struct collection *c, const struct reduction *r,
				  CkReduction op, uint64_t count, const CkCallback *cb, int from,
				  const struct ck_obj *obj);
void reduction_local(struct pe *pe, struct collection *c, struct reduction *r, bool in_handler);
void reduction_go(struct pe *pe, struct collection *c, struct reduction *r, bool in_handler);
void reduction_unorder(struct pe *pe, struct collection *c, struct reduction *r);
void reduction_close(struct pe *pe, struct collection *c, struct reduction *r);
bool reduction_passed(const struct collection *c, uint32_t no);

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

/** The route, chosen from what all PEs agree on. */
static inline bool exchange_fits(const struct collection *c, const struct reduction *r)
{
	return callback_is_all(&r->cb, c->id) && r->bytes <= EXCHANGE_MOST_BYTES &&
	       !r->how->merge && !c->sparse;
}

/* reduce_exchange.c, reduce_tree.c: all elements of this PE have contributed. */
void exchange_start(struct pe *pe, struct collection *c, struct reduction *r, bool in_handler);
void tree_advance(struct pe *pe, struct collection *c, struct reduction *r, bool in_handler);

/* result.c; in_handler: an entry method is running, so none can be called now. */
bool result_comes_here(struct pe *pe, struct collection *c, const CkCallback *cb);
void result_known(struct pe *pe, struct collection *c, struct reduction *r, bool in_handler);
void result_send(struct pe *pe, struct collection *c, struct reduction *r, bool in_handler);

/* reduce_change.c, where c->dyn is set */
void reduction_opened(struct pe *pe, struct collection *c, struct reduction *r);
void reduction_settled(struct pe *pe, struct collection *c, struct reduction *r);
void reduction_keep(struct pe *pe, const struct collection *c, struct reduction *r, CkIndex index,
		    const void *data);
void reduction_drop_kept(struct reduction *r);

#endif
