/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metis.c: METIS cuts the graph of calls into parts of the PEs' shares with few bytes between them
 * (Karypis and Kumar, A fast and high quality multilevel scheme for partitioning irregular graphs,
 * 1998). It does not know where elements are; its parts are numbered afterwards so that few move.
 *
 * Its functions are declared here as in Debian's version 5.1, with numbers of 32 bits. A build with
 * 64 bits is recognised by the size of its table of options, and refused.
 *
 * METIS calls srand() at each call, so equal statistics give equal parts, and then draws by rand();
 * no option avoids that. So it gets a state of its own: in glibc rand() shares its state with
 * random(), which initstate() changes. With another C library a program that uses rand() on PE 0
 * sees other numbers after a step. Another thread that calls rand() meanwhile draws from METIS's
 * state.
 *
 * With a few uneven elements per PE METIS may print "Cannot bisect a graph with 0 vertices" to
 * stdout; its result is good nevertheless.
 */
#include "loads/lb_graph.h"
#include "loads/lb_library.h"
#include "strategies.h"
#include "../machine/base/cmi_alloc.h"

#include <errno.h>
#include <stdlib.h>

enum {
	METIS_OK = 1,
	N_OPTIONS = 40,
	OPTION_SEED = 8,
	OPTION_UFACTOR = 16,
	OPTION_NUMBERING = 17,
	RECURSIVE_MOST = 8,
	RANDOM_BYTES = 128
};

typedef int (*partition_fn)(int32_t *n, int32_t *n_constraints, int32_t *first, int32_t *other,
			    int32_t *vertex_weight, int32_t *vertex_size, int32_t *edge_weight,
			    int32_t *n_parts, float *shares, float *unbalance, int32_t *options,
			    int32_t *cut, int32_t *part);

struct metis {
	partition_fn kway, recursive;
	int (*default_options)(int32_t *options);
};

static const char *metis_load(struct metis *m)
{
	const struct lb_symbol symbols[] = { { "METIS_PartGraphKway", &m->kway },
					     { "METIS_PartGraphRecursive", &m->recursive },
					     { "METIS_SetDefaultOptions", &m->default_options } };
	int32_t options[2 * N_OPTIONS];

	if (!lb_library_load("libmetis.so.5", symbols, sizeof symbols / sizeof *symbols))
		return "libmetis.so.5 (Debian: libmetis5)";
	options[N_OPTIONS] = 0;
	m->default_options(options);
	if (options[N_OPTIONS])
		return "a libmetis.so.5 with numbers of 32 bits (Debian: libmetis5)";
	return NULL;
}

const char *lb_metis_missing(void)
{
	struct metis m;

	return metis_load(&m);
}

/* 0, or -EIO: METIS refused. */
static int metis_partition(const void *library, const CkLBStats *s, struct lb_graph *g,
			   int32_t *part)
{
	const struct metis *m = library;
	partition_fn fn = g->n_parts > RECURSIVE_MOST ? m->kway : m->recursive;
	float *shares = cmi_alloc((size_t)g->n_parts * sizeof *shares, "balancing");
	int32_t options[N_OPTIONS], one = 1, cut;
	char own[RANDOM_BYTES], *programs;
	double permille = (g->loads->limit / g->loads->level - 1) * 1000;

	(void)s;
	m->default_options(options);
	options[OPTION_SEED] = 1;
	options[OPTION_NUMBERING] = 0;
	options[OPTION_UFACTOR] = permille < 1 ? 1 : permille > 1000 ? 1000 : (int32_t)permille;
	for (int32_t k = 0; k < g->n_parts; k++)
		shares[k] = (float)g->share[k];
	programs = initstate(1, own, sizeof own);
	int err = fn(&g->n, &one, g->first, g->other, g->work, NULL, g->edge, &g->n_parts, shares,
		     NULL, options, &cut, part);

	setstate(programs);
	free(shares);
	return err == METIS_OK ? 0 : -EIO;
}

int lb_metis(const CkLBStats *s, int32_t *to, void *arg)
{
	struct metis m;

	(void)arg;
	return metis_load(&m) ? -ENOENT : lb_graph_run(s, metis_partition, &m, true, to);
}
