/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_int.h: what the files of this room share.
 */
#ifndef CK_REDUCE_INT_H
#define CK_REDUCE_INT_H

#include "reduce.h"

/* Handlers of PART_REDUCE. */
enum { H_REDUCE, H_EXCHANGE, H_RESULT, H_DUE, H_START, H_EMPTY };

/** On a node. */
struct reduce_node {
	struct reducer *reducers; /* the program's; reducer i is operation CkReduction_N + i */
	int n_reducers;
};

/** Where a PE stands in an exchange (reduce_exchange.c). */
struct exchange_place {
	int rank;                 /* its number in the rounds */
	int rounds;               /* how many; they are stages 1 .. rounds */
	int pairs;                /* how many; PEs 0 .. 2 * pairs - 1 form them */
	bool paired, odd;
};

/** On a PE. */
struct reduce_pe {
	struct reduction *spare;  /* records to use again */
	struct ck_env *spare_part; /* a message to use again */
	struct exchange_place place;
};

/** Of a collection on a PE. */
struct reduce_coll {
	struct reduction *open;   /* by number */
	uint32_t next_no;         /* of the first reduction whose part this PE still owes */
	int n_children;           /* children in PE 0's tree with elements below them; see counted */
	int n_folded;             /* PEs with elements that fold into this one; see folded */
	bool counted, folded;     /* n_children, n_folded are known */
	uint32_t n_due;           /* results for elements of this PE in the run queue */
	/* Used by reduce_change.c. */
	uint32_t n_passed;        /* sparse: reductions that went up the tree, in order */
	uint32_t n_done;          /* this PE's part is complete in all reductions below this number ... */
	uint32_t *ahead;          /* ... and in these above it */
	size_t n_ahead, cap_ahead;
	uint8_t *child;           /* of PE 0's tree: enum child_state */
	bool odd_empty;           /* the odd PE of this one's pair has lost its elements */
	bool said_empty;          /* our parent knows that it has to tell us of reductions */
};

static inline struct reduce_pe *reduce_of(const struct pe *pe) { return ck_state(pe, PART_REDUCE); }
static inline struct reduce_coll *reductions_of(const struct collection *c)
{
	return coll_state(c, PART_REDUCE);
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

/* PEs exchange results up to this size. At 8 kB the exchange beats the tree by 10 to 40 % with 2
 * to 8 PEs on 2 cores. At 80 kB it is no better with 2 PEs and worse with more, because every PE
 * combines log2(PEs) times. */
enum { EXCHANGE_MOST_BYTES = 32 * 1024 };
_Static_assert(EXCHANGE_MOST_BYTES <= UINT16_MAX && CkReduction_most <= UINT16_MAX, "swap.count and swap.op hold them");

/* reduce.c */
struct reduction *reduction_find(struct collection *c, uint32_t no);
/* from: the PE whose element or message opens or joins it; obj: the element, or NULL. */
struct reduction *reduction_join(struct pe *pe, struct collection *c, uint32_t no, CkReduction op,
				 uint64_t count, const CkCallback *cb, int from,
				 const struct ck_obj *obj);
_Noreturn void reduction_disagree(struct pe *pe, struct collection *c, const struct reduction *r,
				  CkReduction op, uint64_t count, const CkCallback *cb, int from,
				  const struct ck_obj *obj);
void reduction_local(struct pe *pe, struct collection *c, struct reduction *r, bool in_handler);
void reduction_go(struct pe *pe, struct collection *c, struct reduction *r, bool in_handler);
void reduction_unorder(struct collection *c, struct reduction *r);
void reduction_close(struct pe *pe, struct collection *c, struct reduction *r);
bool reduction_passed(const struct collection *c, uint32_t no);

/** Choose the route, by facts on which all PEs agree. */
static inline bool exchange_fits(const struct collection *c, const struct reduction *r)
{
	return callback_is_all(&r->cb, c->id) && r->bytes <= EXCHANGE_MOST_BYTES &&
	       !r->how->merge && !c->sparse;
}

/* describe_reduce.c */
void reductions_describe(struct pe *pe, csd_line_fn line, void *arg);

/* reduce_exchange.c, reduce_tree.c: all elements of this PE have contributed. */
void exchange_start(struct pe *pe, struct collection *c, struct reduction *r, bool in_handler);
void tree_advance(struct pe *pe, struct collection *c, struct reduction *r, bool in_handler);

/* result.c; in_handler: an entry method is running, so none can be called now. */
bool result_comes_here(struct pe *pe, struct collection *c, const CkCallback *cb);
void result_known(struct pe *pe, struct collection *c, struct reduction *r, bool in_handler);
void result_send(struct pe *pe, struct collection *c, struct reduction *r, bool in_handler);

/* reduce_change.c, where c->dyn is set */
void reduction_opened(struct pe *pe, struct collection *c, struct reduction *r);
void reduction_settled(struct collection *c, struct reduction *r);
void reduction_keep(const struct collection *c, struct reduction *r, CkIndex index,
		    const void *data);
void reduction_drop_kept(struct reduction *r);

/* The handlers, and the functions that the watch calls. */
void exchange_arrived(struct pe *pe, struct cmi_msg *m);
void exchange_init(struct pe *pe);
void reduce_arrived(struct pe *pe, struct cmi_msg *m);
void result_arrived(struct pe *pe, struct cmi_msg *m);
void result_due(struct pe *pe, struct cmi_msg *m);
void start_arrived(struct pe *pe, struct cmi_msg *m);
void empty_arrived(struct pe *pe, struct cmi_msg *m);
void reductions_dynamic(struct pe *pe, struct collection *c);
void reductions_constructed(struct pe *pe, struct collection *c);
void reductions_created(struct pe *pe, struct ck_obj *obj);
void reductions_destroyed(struct pe *pe, struct ck_obj *obj);
void reductions_rest(struct pe *pe, struct collection *c, struct place_rest *rest);
void reductions_reseated(struct pe *pe, struct collection *c, const struct place_rest *rest);
void reductions_reopened(struct pe *pe, struct collection *c);

#endif
