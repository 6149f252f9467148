/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_int.h: shared by the files of this room. */
#ifndef CK_REDUCE_INT_H
#define CK_REDUCE_INT_H

#include "reduce.h"
#include "../../machine/base/cmi_alloc.h"

/* Handlers of PART_REDUCE. */
enum { H_REDUCE, H_EXCHANGE, H_RESULT, H_DUE, H_START, H_EMPTY };

/** On a node. */
struct reduce_node {
	struct reducer *reducers; /* the program's; reducer i is operation CkReduction_N + i */
	int n_reducers;
};

/** A PE's position in an exchange (reduce_exchange.c). */
struct exchange_place {
	int rank;                 /* its number in the rounds */
	int rounds;               /* how many; they are stages 1 .. rounds */
	int pairs;                /* PEs 0 .. 2 * pairs - 1 form pairs */
	int into;                 /* the PE that takes this one's value and returns the result; -1: none */
	int n_folds;              /* the PEs behind this one whose values it takes */
};

/** A PE's knowledge of one that folds its values into it. */
enum fold_state {
	FOLD_NONE,                /* the map gives it no elements: it stays out */
	FOLD_FULL, FOLD_EMPTY,    /* it has elements; it has lost them, and must be told of reductions */
};

/** On a PE. */
struct reduce_pe {
	struct reduction *spare;  /* records to reuse */
	struct ck_env *spare_part; /* a message to reuse */
	struct exchange_place place;
};

/** A PE's knowledge of the PEs below one of its children. */
enum child_state { CHILD_UNKNOWN, CHILD_FULL, CHILD_EMPTY };

/** Of a collection on a PE. */
struct reduce_coll {
	struct reduction *open;   /* by number */
	/* The record of the last one, for the next, which mostly has the same terms. Only if elements do
	 * not come or go, and while no reduction is open. NULL: none. */
	struct reduction *kept;
	uint32_t next_no;         /* of the first reduction whose share this PE has not completed */
	struct reduce_tree tree;  /* PE 0's, restricted to PEs with elements; see counted */
	uint8_t *folds;           /* [exchange_place.n_folds]: enum fold_state; NULL: not known yet */
	int n_folded;             /* how many of them are not FOLD_NONE */
	bool counted;             /* tree is known */
	uint32_t n_due;           /* results for elements of this PE in the run queue */
	/* Used by reduce_open.c and reduce_change.c. */
	uint32_t n_passed;        /* sparse: reductions that went up the tree, in order */
	uint32_t n_done;          /* this PE's share is complete in all reductions below this number ... */
	uint32_t *ahead;          /* ... and in these above it */
	size_t n_ahead, cap_ahead;
	uint8_t *child;           /* of PE 0's tree: enum child_state */
	bool said_empty;          /* our parent knows that it must tell us of reductions */
};

static inline struct reduce_pe *reduce_of(const struct pe *pe) { return ck_state(pe, PART_REDUCE); }
static inline struct reduce_coll *reductions_of(const struct collection *c)
{
	return coll_state(c, PART_REDUCE);
}

static inline struct reduction *reduction_find(struct collection *c, uint32_t no)
{
	return reduction_at(reductions_of(c)->open, no);
}
/** Which PEs have elements, by the map. The caller frees it. */
static inline bool *who_has(struct pe *pe, struct collection *c)
{
	bool *has = cmi_alloc_zero((size_t)pe->node->job->n_pes, sizeof *has, "a reduction");

	coll_who_has(pe, c, has);
	return has;
}

/* reduce_messages.c */
struct ck_env *list_begin(struct pe *pe, const struct contributed *in);
struct ck_env *random_begin(struct pe *pe, const struct contributed *in);
struct ck_env *tuple_begin(struct pe *pe, const struct contributed *in);
CkReductionMsg *list_merge(int n, CkReductionMsg **msgs);
bool list_fits(const struct ck_node *ck, const CkReductionMsg *m);
CkReductionMsg *random_merge(int n, CkReductionMsg **msgs);
CkReductionMsg *tuple_merge(int n, CkReductionMsg **msgs);
bool tuple_fits(const struct ck_node *ck, const CkReductionMsg *m);
struct ck_env *set_finish(struct pe *pe, const CkGenChare *type, struct ck_env *env);
struct ck_env *concat_finish(struct pe *pe, const CkGenChare *type, struct ck_env *env);
struct ck_env *tuple_finish(struct pe *pe, const CkGenChare *type, struct ck_env *env);
/** The reducer of a tuple's member; abort if it cannot be one. */
const struct reducer *tuple_how(struct pe *pe, const CkTupleElement *elem);
void pieces_sort(struct piece *pieces, size_t n);

/* contribution.c: the bytes that the values of a reducer take; SIZE_MAX: they have any length. */
size_t values_bytes(const struct reducer *how, uint64_t count);

/* PEs exchange results up to this size. At 8 kB the exchange beats the tree by 10 to 40 % with 2
 * to 8 PEs on 2 cores. At 80 kB it is no better with 2 PEs and worse with more, because every PE
 * combines log2(PEs) times. */
enum { EXCHANGE_MOST_BYTES = 32 * 1024 };
_Static_assert(EXCHANGE_MOST_BYTES <= UINT16_MAX && CkReduction_most <= UINT16_MAX,
	       "swap.count and swap.op hold them");

/* reduction.c */
/** Where elements come and go: keep a copy of values among the pieces. */
void reduction_keep(struct pe *pe, struct reduction *r, CkIndex key, const void *data);
/** Values that wait in the stash become such pieces. */
void reduction_unorder(struct pe *pe, const struct collection *c, struct reduction *r);
void reduction_absorb_pieces(struct pe *pe, struct reduction *r);
void reductions_free_spare(struct pe *pe);

/* reduce_open.c */
/** Find or open a reduction; abort if the terms differ from those of the record. */
struct reduction *reduction_open_or_disagree(struct pe *pe, struct collection *c, uint32_t no,
					     const struct contributed *in);
static inline struct reduction *reduction_join(struct pe *pe, struct collection *c, uint32_t no,
					       const struct contributed *in)
{
	struct reduction *r = reduction_find(c, no);

	return CSD_LIKELY(r && reduction_agrees(r, in)) ? r : reduction_open_or_disagree(pe, c, no, in);
}
/** r is over, and its result is not in it any more. */
void reduction_over(struct pe *pe, struct collection *c, struct reduction *r);
/** The same of c->kept, if it is not to be opened again. */
void reduction_drop_kept(struct pe *pe, struct collection *c);
/** Open c->kept again: the terms are the same. */
struct reduction *reduction_open_again(struct pe *pe, struct collection *c, uint32_t no);
/** All elements of this PE have contributed. */
void reduction_settle_dynamic(struct pe *pe, struct collection *c, struct reduction *r);
static inline void reduction_settle(struct pe *pe, struct collection *c, struct reduction *r)
{
	r->local_done = true;
	if ((int32_t)(r->no - reductions_of(c)->next_no) >= 0)
		reductions_of(c)->next_no = r->no + 1;
	if (CSD_UNLIKELY(c->dynamic))
		reduction_settle_dynamic(pe, c, r);
}
/** Whether this PE's share is complete. */
bool reduction_is_done(const struct collection *c, uint32_t no);
/** This PE has learnt of a reduction: tell the children that would not learn of it otherwise. */
void reduction_tell_below(struct pe *pe, struct collection *c, const struct reduction *r);
/** The state of each child in PE 0's tree: enum child_state. */
uint8_t *reduce_children(struct pe *pe, struct collection *c);

/** Choose the route, by facts on which all PEs agree. */
static inline bool exchange_fits(const struct collection *c, const struct reduction *r)
{
	return callback_is_all(&r->cb, c->id) && r->bytes <= EXCHANGE_MOST_BYTES &&
	       !r->how->merge && !c->sparse;
}

/* reduce_exchange.c: the states of the PEs that fold into this one. */
const uint8_t *exchange_folds(struct pe *pe, struct collection *c);
/** A PE has lost its elements, or has some again. */
void exchange_note_fold(struct pe *pe, struct collection *c, int from, bool empty);

/* describe_reduce.c */
void reductions_describe(struct pe *pe, struct csd_told *to);
void reductions_refuse(struct pe *pe, struct csd_told *to);

/* reduce_exchange.c, reduce_tree.c: all elements of this PE have contributed. */
void exchange_start(struct pe *pe, struct collection *c, struct reduction *r, bool in_handler);
void tree_advance(struct pe *pe, struct collection *c, struct reduction *r, bool in_handler);

/** Continue on the reduction's route. */
static inline void reduction_go(struct pe *pe, struct collection *c, struct reduction *r,
				bool in_handler)
{
	if (!r->exchanged)
		tree_advance(pe, c, r, in_handler);
	else if (r->stage == REDUCTION_WAITS)
		exchange_start(pe, c, r, in_handler);
}
/** The last contribution of this PE has arrived, or the last missing element is gone. */
static inline void reduction_local(struct pe *pe, struct collection *c, struct reduction *r,
				   bool in_handler)
{
	reduction_settle(pe, c, r);
	reduction_go(pe, c, r, in_handler);
}

/* result.c; in_handler: an entry method is running, so none can be called now. */
bool result_comes_here(struct pe *pe, struct collection *c, const CkCallback *cb);
void result_known(struct pe *pe, struct collection *c, struct reduction *r, bool in_handler);
void result_send(struct pe *pe, struct collection *c, struct reduction *r, bool in_handler);

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
void reductions_still(struct pe *pe, struct collection *c, struct place_still *still);
void reductions_reseated(struct pe *pe, struct collection *c, const struct place_still *still);
void reductions_reopened(struct pe *pe, struct collection *c);

#endif
