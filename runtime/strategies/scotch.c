/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scotch.c: SCOTCH maps the graph of calls onto PEs of different strengths with few bytes between
 * them (Pellegrini and Roman, SCOTCH: a software package for static mapping by dual recursive
 * bipartitioning, 1996). Unlike METIS it knows that pinned elements stay where they are, and places
 * their neighbours near them.
 *
 * Its functions are declared here as in version 7.0; it allocates its own structs, reports the size
 * of its numbers, and prints its own errors to stderr. It runs in a context with one thread: by
 * default it starts one per core, on the cores of other PEs, and its results depend on which is
 * faster.
 */
#include "loads/lb_graph.h"
#include "loads/lb_library.h"
#include "strategies.h"
#include "../machine/base/cmi_alloc.h"

#include <errno.h>

enum { STRATEGY_DEFAULT = 0, OPTION_DETERMINISTIC = 0, OPTION_FIXED_SEED = 1, SHARES = 1000000 };

/* An object of SCOTCH's: a context, a graph, a set of PEs with their shares, a method. */
typedef void *thing;

struct scotch {
	int (*num_sizeof)(void);
	void (*mem_free)(void *);
	thing (*context_alloc)(void);
	int (*context_init)(thing);
	void (*context_exit)(thing);
	int (*context_threads)(thing, int n, const int *cores);
	int (*context_option)(thing, int option, int32_t value);
	void (*context_random_reset)(thing);
	int (*context_bind)(thing, thing graph, thing bound);
	thing (*graph_alloc)(void), (*arch_alloc)(void), (*strat_alloc)(void);
	int (*graph_init)(thing), (*arch_init)(thing), (*strat_init)(thing);
	void (*graph_exit)(thing), (*arch_exit)(thing), (*strat_exit)(thing);
	int (*graph_build)(thing, int32_t base, int32_t n, const int32_t *first, const int32_t *end,
			   const int32_t *vertex_weight, const int32_t *label, int32_t n_adj, const int32_t *other,
			   const int32_t *edge_weight);
	int (*arch_weighted)(thing, int32_t n, const int32_t *weight);
	int (*strat_build)(thing, int32_t flags, int32_t n_parts, double unbalance);
	int (*map_fixed)(thing graph, thing arch, thing strat, int32_t *part);
};

static const char *scotch_load(struct scotch *x)
{
	const struct lb_symbol symbols[] = { { "SCOTCH_numSizeof", &x->num_sizeof },
		{ "SCOTCH_memFree", &x->mem_free }, { "SCOTCH_contextAlloc", &x->context_alloc },
		{ "SCOTCH_contextInit", &x->context_init }, { "SCOTCH_contextExit", &x->context_exit },
		{ "SCOTCH_contextThreadSpawn", &x->context_threads },
		{ "SCOTCH_contextOptionSetNum", &x->context_option },
		{ "SCOTCH_contextRandomReset", &x->context_random_reset },
		{ "SCOTCH_contextBindGraph", &x->context_bind },
		{ "SCOTCH_graphAlloc", &x->graph_alloc }, { "SCOTCH_archAlloc", &x->arch_alloc },
		{ "SCOTCH_stratAlloc", &x->strat_alloc }, { "SCOTCH_graphInit", &x->graph_init },
		{ "SCOTCH_archInit", &x->arch_init }, { "SCOTCH_stratInit", &x->strat_init },
		{ "SCOTCH_graphExit", &x->graph_exit }, { "SCOTCH_archExit", &x->arch_exit },
		{ "SCOTCH_stratExit", &x->strat_exit }, { "SCOTCH_graphBuild", &x->graph_build },
		{ "SCOTCH_archCmpltw", &x->arch_weighted }, { "SCOTCH_stratGraphMapBuild", &x->strat_build },
		{ "SCOTCH_graphMapFixed", &x->map_fixed } };

	if (!lb_library_load("libscotch-7.0.so", symbols, sizeof symbols / sizeof *symbols))
		return "libscotch-7.0.so (Debian: libscotch-7.0)";
	if (x->num_sizeof() != sizeof(int32_t))
		return "a libscotch-7.0.so with numbers of 32 bits (Debian: libscotch-7.0)";
	return NULL;
}

const char *lb_scotch_missing(void)
{
	struct scotch x;

	return scotch_load(&x);
}

/** The objects of one call. Members that were not initialised are not freed. */
struct job {
	const struct scotch *x;
	thing context, graph, bound, arch, strat;
	int n_begun;
};

/* In the order of `end`. */
static bool scotch_begin(struct job *j, const struct lb_graph *g, const int32_t *share)
{
	const struct scotch *x = j->x;

	j->context = x->context_alloc();
	j->graph = x->graph_alloc();
	j->bound = x->graph_alloc();
	j->arch = x->arch_alloc();
	j->strat = x->strat_alloc();
	if (!j->context || !j->graph || !j->bound || !j->arch || !j->strat || x->context_init(j->context))
		return false;
	j->n_begun = 1;
	if (x->context_threads(j->context, 1, NULL) ||
	    x->context_option(j->context, OPTION_DETERMINISTIC, 1) ||
	    x->context_option(j->context, OPTION_FIXED_SEED, 1) || x->graph_init(j->graph))
		return false;
	x->context_random_reset(j->context);
	j->n_begun = 2;
	if (x->graph_build(j->graph, 0, g->n, g->first, NULL, g->work, NULL, g->n_adj, g->other,
			   g->edge) ||
	    x->graph_init(j->bound))
		return false;
	j->n_begun = 3;
	if (x->context_bind(j->context, j->graph, j->bound) || x->arch_init(j->arch))
		return false;
	j->n_begun = 4;
	if (x->arch_weighted(j->arch, g->n_parts, share) || x->strat_init(j->strat))
		return false;
	j->n_begun = 5;
	return x->strat_build(j->strat, STRATEGY_DEFAULT, g->n_parts,
			      g->loads->limit / g->loads->level - 1) == 0;
}

static void scotch_end(struct job *j)
{
	const struct scotch *x = j->x;
	thing things[] = { j->context, j->graph, j->bound, j->arch, j->strat };
	void (*const exits[])(thing) = { x->context_exit, x->graph_exit, x->graph_exit,
					 x->arch_exit, x->strat_exit };

	for (int k = 4; k >= 0; k--) {
		if (k < j->n_begun)
			exits[k](things[k]);
		if (things[k])
			x->mem_free(things[k]);
	}
}

/* part[i] is -1: anywhere; or the part of a pinned element. */
static void fix_pinned(const CkLBStats *s, const struct lb_graph *g, int32_t *part)
{
	int32_t *number = cmi_alloc((size_t)s->n_pes * sizeof *number, "balancing");

	for (int p = 0; p < s->n_pes; p++)
		number[p] = -1;
	for (int32_t k = 0; k < g->n_parts; k++)
		number[g->pe[k]] = k;
	for (size_t i = 0; i < s->n; i++)
		part[i] = s->element[i].pinned ? number[s->element[i].pe] : -1;
	free(number);
}

/* 0, or -EIO: SCOTCH refused. */
static int scotch_partition(const void *library, const CkLBStats *s, struct lb_graph *g,
			    int32_t *part)
{
	const struct scotch *x = library;
	int32_t *share = cmi_alloc((size_t)g->n_parts * sizeof *share, "balancing");
	struct job j = { .x = x };
	bool is_done;

	for (int32_t k = 0; k < g->n_parts; k++)
		share[k] = 1 + (int32_t)(g->share[k] * SHARES);
	fix_pinned(s, g, part);
	is_done = scotch_begin(&j, g, share) && x->map_fixed(j.bound, j.arch, j.strat, part) == 0;
	scotch_end(&j);
	free(share);
	return is_done ? 0 : -EIO;
}

/* Then the position of parts is given by these. */
static bool has_pinned(const CkLBStats *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->element[i].pinned)
			return true;
	return false;
}

int lb_scotch(const CkLBStats *s, int32_t *to, void *arg)
{
	struct scotch x;

	(void)arg;
	return scotch_load(&x) ? -ENOENT : lb_graph_run(s, scotch_partition, &x, !has_pinned(s), to);
}
