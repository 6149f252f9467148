/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_exchange.c: barriers and allreduces, whose result all elements of the collection get. PEs
 * swap partial results: in round r each with the PE whose rank differs in bit r - 1. After
 * log2(PEs) crossings every PE has the result and gives it to its own elements. A tree and a
 * broadcast would take twice as many crossings. (Recursive doubling: Thakur, Rabenseifner, Gropp,
 * "Optimization of Collective Communication Operations in MPICH", 2005.)
 *
 * If the number of PEs is no power of two, the first few PEs form pairs: the odd one folds its
 * value into the even one's before the rounds, and gets the result back after them. So a PE's
 * partial result always covers a range of consecutive PEs, and the lower range always comes first
 * when two are combined. All PEs get the same bits, each time the program runs.
 *
 *	PEs      0  1  2  3  4  5        stage 0 (fold):    1 -> 0   3 -> 2
 *	ranks    0     1     2  3        stages 1, 2:       0 - 1  2 - 3,   0 - 2  1 - 3
 *	                                 stage 3 (back):    0 -> 1   2 -> 3
 *
 * PEs that share cores, all on one host, do not swap: PE 0 is the hub. All others fold into it and
 * get the result back, with no rounds in between. A round would wait until the partner has had the
 * core; around a hub each PE needs the core once in a reduction. The hub combines values in the
 * order of the rounds, so the bits are the same.
 *
 * A PE without elements learns of the reduction from the first message that it gets, and swaps an
 * empty value. A PE that folds stays out if it has no elements, because no message would tell it.
 */
#include "reduce_int.h"

#include <stdlib.h>
#include <string.h>

/* ---- ranks, pairs, and the hub --------------------------------------------------------------- */

static void place_in_pairs(struct exchange_place *at, int pe)
{
	const bool paired = pe < 2 * at->pairs;

	at->rank = paired ? pe / 2 : pe - at->pairs;
	at->into = paired && pe % 2 ? pe - 1 : -1;
	at->n_folds = paired && pe % 2 == 0;
}

/* One pair of all PEs, so to speak. */
static void place_around_hub(struct exchange_place *at, int pe, int n)
{
	at->rounds = 0;
	at->into = pe ? 0 : -1;
	at->n_folds = pe ? 0 : n - 1;
}

void exchange_init(struct pe *pe)
{
	const struct cmi_job *job = pe->node->job;
	const int n = job->n_pes;
	struct exchange_place *at = &reduce_of(pe)->place;

	at->rounds = 31 - __builtin_clz((unsigned)n);
	at->pairs = n - (1 << at->rounds);
	/* All PEs come to the same answer. */
	if (job->pes_on_host == n && n > job->cores_on_host && n > 2)
		place_around_hub(at, pe->id, n);
	else
		place_in_pairs(at, pe->id);
}

static int pe_of_rank(const struct exchange_place *at, int rank)
{
	return rank < at->pairs ? 2 * rank : rank + at->pairs;
}

const uint8_t *exchange_folds(struct pe *pe, struct collection *c)
{
	struct reduce_coll *all = reductions_of(c);
	const int n = reduce_of(pe)->place.n_folds;

	if (CSD_LIKELY(all->folds != NULL))
		return all->folds;
	bool *has = who_has(pe, c);

	all->folds = cmi_alloc((size_t)n, "a reduction");
	all->n_folded = 0;
	for (int i = 0; i < n; i++) {
		all->folds[i] = has[pe->id + 1 + i] ? FOLD_FULL : FOLD_NONE;
		all->n_folded += has[pe->id + 1 + i];
	}
	free(has);
	return all->folds;
}

void exchange_note_fold(struct pe *pe, struct collection *c, int from, bool empty)
{
	const int i = from - pe->id - 1;

	if (i < 0 || i >= reduce_of(pe)->place.n_folds || exchange_folds(pe, c)[i] == FOLD_NONE)
		return;
	reductions_of(c)->folds[i] = empty ? FOLD_EMPTY : FOLD_FULL;
}

/* How many PEs with elements fold into this one. */
static int n_folded(struct pe *pe, struct collection *c)
{
	if (CSD_LIKELY(!reduce_of(pe)->place.n_folds))
		return 0;
	exchange_folds(pe, c);
	return reductions_of(c)->n_folded;
}

/* ---- messages ------------------------------------------------------------------------------- */

/* A partial result does not need `refs` and `refnum`, so a single value goes there and the message
 * is one cache line (an allreduce of one double between processes: 0.24 instead of 0.29 us). */
static void *part_values(struct ck_env *env, const struct reduction *r)
{
	return r->bytes <= sizeof(uint64_t) ? (void *)&env->refs_and_refnum : payload_of(env);
}
_Static_assert(offsetof(struct ck_env, refs_and_refnum) + sizeof(uint64_t) == sizeof(struct ck_env),
	       "room for one value");

static size_t exchange_part_bytes(const struct reduction *r)
{
	return r->bytes <= sizeof(uint64_t) ? 0 : r->bytes;
}

/* The next partial result reuses the memory of the last arrival. Its lines are in this core's
 * cache, and the memory need not return to its PE: a barrier of two processes takes 0.20 instead of
 * 0.27 us. */
static struct ck_env *exchange_part_new(struct pe *pe, size_t bytes)
{
	struct ck_env *env = reduce_of(pe)->spare_part;
	size_t size = sizeof *env + bytes;

	if (!env || env->head.size_class != csd_size_class(size))
		env = env_new(pe, ck_handler(pe, PART_REDUCE, H_EXCHANGE), bytes);
	else
		reduce_of(pe)->spare_part = NULL;
	/* Unpoison the whole block: another process may fill more of it before its owner sees it
	 * again. */
	csd_unpoison_block(&env->head);
	env->head.size = size;
	env->head.flags = 0;
	env->flags = 0;
	return env;
}

/* Do not keep a buffer that belongs to the network. */
static void exchange_part_free(struct pe *pe, struct ck_env *env)
{
	if (reduce_of(pe)->spare_part || env->head.origin == CMI_ORIGIN_WIRE)
		csd_msg_free(pe, &env->head);
	else
		reduce_of(pe)->spare_part = env;
}

static void send_part(struct pe *pe, struct collection *c, struct reduction *r, int stage, int to)
{
	struct ck_env *env = exchange_part_new(pe, r->any ? exchange_part_bytes(r) : 0);

	env->coll = c->id;
	env->swap.no = r->no;
	env->swap.refnum = callback_refnum(&r->cb);
	env->swap.count = (uint16_t)r->count;
	env->swap.op = (uint16_t)r->op;
	env->swap.entry = r->cb.entry;
	env->swap.stage = (uint8_t)stage;
	if (r->any)
		CkGen_copy(part_values(env, r), values_of(r->acc), r->bytes);
	else if (r->bytes)
		env->flags = CK_PART_EMPTY;
	csd_send(pe, to, &env->head);
}

/* Combine the partial result that came in the current stage. */
static void exchange_absorb(struct pe *pe, struct reduction *r, struct ck_env *env)
{
	if (reduce_of(pe)->place.into >= 0)
		r->any = false; /* the arrival is the result, which includes our value */
	if (!(env->flags & CK_PART_EMPTY))
		reduction_absorb(r, part_values(env, r), env->head.src_pe < pe->id);
	/* Elements that get the result mostly contribute again at once. */
	csd_may_answer(pe);
	exchange_part_free(pe, env);
}

/* ---- values that fold into this PE ---------------------------------------------------------- */

/* No stage: the message has been counted, and waits among the early ones until it is combined. */
enum { FOLDED = 0xfe };

/* Combine the values of two neighbours; the second one's message is freed. NULL: there is none. */
static struct ck_env *fold_two(struct pe *pe, struct reduction *r, struct ck_env *first,
			       struct ck_env *second)
{
	if (!first || !second)
		return first ? first : second;
	reducer_combine(r->how, part_values(first, r), part_values(second, r), r->count, false);
	exchange_part_free(pe, second);
	return first;
}

/* What the rounds would have combined, in the same order: so the bits do not depend on the route.
 * value[k]: of PE k. */
static void fold_as_rounds(struct pe *pe, struct reduction *r, struct ck_env **value, int n)
{
	const int ranks = 1 << (31 - __builtin_clz((unsigned)n)), pairs = n - ranks;

	for (int i = 0; i < ranks; i++)
		value[i] = i < pairs ? fold_two(pe, r, value[2 * i], value[2 * i + 1]) : value[i + pairs];
	for (int step = 1; step < ranks; step *= 2)
		for (int i = 0; i < ranks; i += 2 * step)
			value[i] = fold_two(pe, r, value[i], value[i + step]);
}

static struct ck_env *own_part(struct pe *pe, const struct reduction *r)
{
	if (!r->any)
		return NULL;
	struct ck_env *env = exchange_part_new(pe, exchange_part_bytes(r));

	memcpy(part_values(env, r), values_of(r->acc), r->bytes);
	return env;
}

static void fold_kept(struct pe *pe, struct reduction *r)
{
	const int n = reduce_of(pe)->place.n_folds + 1;
	struct ck_env **value, *env;

	reduction_room(r, (size_t)n * sizeof *value);
	value = memset(r->stash, 0, (size_t)n * sizeof *value);
	value[0] = own_part(pe, r);
	while ((env = take_early(r, FOLDED)))
		value[env->head.src_pe - pe->id] = env;
	fold_as_rounds(pe, r, value, n);
	if (!value[0])
		return;
	r->any = false;
	reduction_absorb(r, part_values(value[0], r), false);
	exchange_part_free(pe, value[0]);
}

/* Take the value of a PE that folds into this one. If the order matters, it waits until all are
 * here. True: they are. */
static bool fold_in(struct pe *pe, struct collection *c, struct reduction *r, struct ck_env *env)
{
	const bool keep = r->bytes && r->how->ordered && reduce_of(pe)->place.n_folds > 1;

	if (!keep || env->flags & CK_PART_EMPTY) {
		exchange_absorb(pe, r, env);
	} else {
		env->swap.stage = FOLDED;
		keep_early(r, env);
	}
	if (++r->n_children_in < reductions_of(c)->n_folded)
		return false;
	if (keep)
		fold_kept(pe, r);
	return true;
}

static void send_back(struct pe *pe, struct collection *c, struct reduction *r, int stage)
{
	const uint8_t *fold = exchange_folds(pe, c);

	for (int i = 0; i < reduce_of(pe)->place.n_folds; i++)
		if (fold[i] != FOLD_NONE)
			send_part(pe, c, r, stage, pe->id + 1 + i);
}

/* Begin a stage. True: it was the last, so there is nothing to wait for. */
static inline __attribute__((always_inline)) bool enter(struct pe *pe, struct collection *c,
							struct reduction *r, int stage)
{
	const struct exchange_place *at = &reduce_of(pe)->place;

	r->stage = (uint8_t)stage;
	if (stage > at->rounds) {
		if (n_folded(pe, c))
			send_back(pe, c, r, stage);
		return true;
	}
	if (stage)
		send_part(pe, c, r, stage, pe_of_rank(at, at->rank ^ 1 << (stage - 1)));
	return false;
}

/* Continue through the stages whose messages have arrived. */
static void exchange_go_on(struct pe *pe, struct collection *c, struct reduction *r,
			   struct ck_env *env, bool in_handler)
{
	for (; env; env = take_early(r, r->stage)) {
		if (r->stage)
			exchange_absorb(pe, r, env);
		else if (!fold_in(pe, c, r, env))
			continue;
		if (reduce_of(pe)->place.into >= 0 || enter(pe, c, r, r->stage + 1)) {
			result_known(pe, c, r, in_handler);
			return;
		}
	}
}

void exchange_start(struct pe *pe, struct collection *c, struct reduction *r, bool in_handler)
{
	const struct exchange_place *at = &reduce_of(pe)->place;
	bool over = false;

	if (at->into >= 0) {
		send_part(pe, c, r, 0, at->into);
		r->stage = (uint8_t)(at->rounds + 1);
	} else {
		over = enter(pe, c, r, n_folded(pe, c) ? 0 : 1);
	}
	/* Only now, because the PE that waits for our value goes first. */
	if (!r->acc)
		reduction_make_acc(pe, r);
	if (over)
		result_known(pe, c, r, in_handler);
	else
		exchange_go_on(pe, c, r, take_early(r, r->stage), in_handler);
}

static CkCallback exchange_callback(const struct collection *c, const struct ck_env *env)
{
	if (env->entry >= c->type->n_entries)
		csd_abort(ck_self(), "message from PE %d calls entry %d of %s; it has %d",
			  env->head.src_pe, env->entry, c->type->name, c->type->n_entries);
	CkCallback cb = CkGen_cbAll(c->type, (CkProxy){ c->id }, env->entry);

	CkCallbackSetRefNum(&cb, env->swap.refnum);
	return cb;
}

/* This is the first message of the reduction, or the PEs disagree. */
static __attribute__((noinline)) struct reduction *open_or_abort(struct pe *pe,
								 struct collection *c,
								 struct ck_env *env)
{
	const struct reducer *how = reducer_find(ck_node_of(pe->node), env->swap.op);

	if (!how)
		csd_abort(pe, "message from PE %d belongs to no reduction here", env->head.src_pe);
	const CkCallback cb = exchange_callback(c, env);
	const struct contributed in = { NULL, env->swap.count, (CkReduction)env->swap.op,
					env->head.src_pe, how, &cb, NULL, 0, 0 };
	struct reduction *r = reduction_join(pe, c, env->swap.no, &in);

	if (!r->exchanged)
		reduction_disagree(pe, r, &in, c->type, "elements of");
	return r;
}

/* Compare field by field; a whole callback is built only for an error message. */
static inline bool in_terms(const struct reduction *r, const struct ck_env *env)
{
	return r->op == env->swap.op && r->count == env->swap.count && r->cb.entry == env->swap.entry &&
	       callback_refnum(&r->cb) == env->swap.refnum;
}

/* Our share in that reduction is over, so it went up the tree: this PE's elements disagree with the
 * sender's. PE 0, or a PE on the path to it, still waits for the partial result that the sender
 * should have sent there, and can name both sides. */
static void pass_stranger(struct pe *pe, struct ck_env *env)
{
	if (pe->id == 0)
		csd_abort(pe, "message from PE %d belongs to no reduction here", env->head.src_pe);
	csd_send(pe, csd_tree_parent(pe, 0), csd_msg_copy(pe, &env->head));
	csd_msg_free(pe, &env->head);
}

/* Whether there is no record because this PE's share is over. */
static bool has_passed(const struct collection *c, uint32_t no)
{
	return c->n_local && (int32_t)(reductions_of(c)->next_no - no) > 0;
}

/* Keep the message until its stage begins. */
static void arrived_early(struct pe *pe, struct collection *c, struct reduction *r,
			  struct ck_env *env)
{
	if (!r && has_passed(c, env->swap.no)) {
		pass_stranger(pe, env);
		return;
	}
	if (!r)
		r = open_or_abort(pe, c, env);
	keep_early(r, env);
	if (r->local_done && r->stage == REDUCTION_WAITS)
		exchange_start(pe, c, r, false);
}

void exchange_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	struct collection *c = coll_get(pe, env->coll);

	if (CSD_UNLIKELY(!coll_there(pe, c))) {
		call_wait(pe, c, m);
		return;
	}
	struct reduction *r = reduction_find(c, env->swap.no);

	if (CSD_UNLIKELY(r && !(r->exchanged && in_terms(r, env))))
		r = open_or_abort(pe, c, env);
	if (CSD_LIKELY(r && r->stage == env->swap.stage))
		exchange_go_on(pe, c, r, env, false);
	else
		arrived_early(pe, c, r, env);
}
