/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strategies.h: the layer strategies/: where elements should live, as pure functions of measured
 * loads.
 *
 * Owns     the built-in strategies, one file each; the table of those that the program registers;
 *          the quality of a distribution (struct lb_quality); statistics as text (lb_dump.h).
 * Called   by chare/balance/, on one PE, for one array at a time; by tests and bench/strategies,
 *          without any PE. Functions here use no PE, send nothing and keep nothing. Only metis and
 *          scotch load a library on first use.
 * Calls    the machine, for memory: it sees only cklb.h.
 */
#ifndef CK_STRATEGIES_H
#define CK_STRATEGIES_H

#include "loads/lb_loads.h"

#include <stdbool.h>

struct lb_strategy {
	const char *name;
	CkLBStrategyFn fn;
	unsigned wants;           /* CK_LB_EDGES */
	void *arg;                /* of fn */
	/** Why the strategy cannot work here, as the end of the sentence "CK_LB=name needs ..."; NULL: it
	 * can. Call it before the first step; the first call may load a library. The member is NULL if
	 * nothing can be missing. */
	const char *(*missing)(void);
};

enum { LB_OWN_MOST = 32 };

/** The strategies that CkLBRegister has added on this node. Zeroed: none. Filled before the loops
 * run, then constant. */
struct lb_table {
	struct lb_strategy own[LB_OWN_MOST];
	int n;
};

/** 0; -EEXIST: the name exists, perhaps built in; -ENOSPC; -EINVAL: no name, no function, an
 * unknown bit of `wants`, or one of the words auto and off, which CK_LB reserves. */
int lb_table_add(struct lb_table *t, const char *name, CkLBStrategyFn fn, unsigned wants, void *arg)
	__attribute__((warn_unused_result));

/** The strategy of that name; `t` may be NULL. NULL: there is none. */
const struct lb_strategy *lb_strategy_find(const struct lb_table *t, const char *name);

/** The i-th strategy, built-in ones first, in the order of their names; NULL after the last. */
const struct lb_strategy *lb_strategy_at(const struct lb_table *t, int i);

/** All names, "cuts, diffusion, ...", for a line about an unknown one. Truncated to `len`. */
void lb_strategy_names(const struct lb_table *t, char *buf, size_t len);

/** Run a strategy. `to` [s->n] is the result, without moves of pinned elements. Returns 0; the
 * strategy's own result if that was not 0; LB_NO_PE if it named a PE that does not exist, *which_p
 * is then the element that goes there. In both cases `to` moves nothing. */
enum { LB_NO_PE = -100000 };
int lb_strategy_run(const struct lb_strategy *st, const CkLBStats *s, int32_t *to, size_t *which_p)
	__attribute__((warn_unused_result));

/* The built-in strategies, as CkLBStrategyFn; `arg` is not read. */

/** Optimal cuts of the index order into one run per PE, as close to the present ones as the
 * tolerance allows. */
int lb_cuts(const CkLBStats *s, int32_t *to, void *arg);
/** PEs balance in pairs that know only each other's loads. */
int lb_diffusion(const CkLBStats *s, int32_t *to, void *arg);
/** The largest element first, each to the PE with least. Balances best and moves nearly all. */
int lb_greedy(const CkLBStats *s, int32_t *to, void *arg);
/** Between processes as few moves as possible, then freely within each. */
int lb_hier(const CkLBStats *s, int32_t *to, void *arg);
/** METIS: few bytes between PEs. -ENOENT: the library is missing; -EIO: it refuses; -E2BIG: 2^30
 * edges. */
int lb_metis(const CkLBStats *s, int32_t *to, void *arg);
const char *lb_metis_missing(void);
/** A random PE for each element, reproducible by step. To find faults in pup functions. */
int lb_random(const CkLBStats *s, int32_t *to, void *arg);
/** As few moves as possible until no PE has more than the tolerance allows. */
int lb_refine(const CkLBStats *s, int32_t *to, void *arg);
/** Each element goes to the next PE. For the same purpose as random. */
int lb_rotate(const CkLBStats *s, int32_t *to, void *arg);
/** SCOTCH: as metis, but takes pinned elements into account. */
int lb_scotch(const CkLBStats *s, int32_t *to, void *arg);
const char *lb_scotch_missing(void);
/** As cuts, along a curve through the elements' positions. */
int lb_sfc(const CkLBStats *s, int32_t *to, void *arg);

#endif
