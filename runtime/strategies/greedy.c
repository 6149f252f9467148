/* SPDX-License-Identifier: Apache-2.0 */
/*
 * greedy.c: the element with most work first, each to the PE that is ready with it first (Graham,
 * Bounds on multiprocessing timing anomalies, 1969: the longest PE takes at most 4/3 of the
 * optimum). It ignores where an element lives, so nearly all of them move.
 *
 * With equal speeds that PE is the one with the least load, on top of a heap. With different speeds
 * a fast PE may be ready first although it has more. That matters for large elements only: for
 * those with more than 1/SMALL of the level all PEs are compared. There are at most SMALL * n_pes
 * of them if PEs are as fast as the fastest.
 */
#include "loads/lb_loads.h"
#include "strategies.h"

#include <stdlib.h>

enum { SMALL = 64 };

static bool speeds_differ(const struct lb_loads *l)
{
	for (int p = 1; p < l->n_pes; p++)
		if (l->speed[p] != l->speed[0])
			return true;
	return false;
}

static int first_ready(const struct lb_loads *l, double work)
{
	int best = 0;

	for (int p = 1; p < l->n_pes; p++)
		if (l->load[p] + work / l->speed[p] < l->load[best] + work / l->speed[best])
			best = p;
	return best;
}

int lb_greedy(const CkLBStats *s, int32_t *to, void *arg)
{
	struct lb_loads *l = lb_loads_create(s, to);
	size_t n = 0;
	uint32_t *order = lb_by_work(s, l, &n);
	double small = speeds_differ(l) ? l->level / SMALL : l->total;
	struct lb_heap least;

	(void)arg;
	for (int p = 0; p < l->n_pes; p++)
		l->load[p] = l->fixed[p];
	lb_heap_init(&least, l->n_pes, l->load, 1);
	for (size_t k = 0; k < n && l->work[order[k]] > 0; k++) {
		uint32_t i = order[k];
		int p = l->work[i] > small ? first_ready(l, l->work[i]) : lb_heap_top(&least);

		to[i] = p;
		lb_loads_move(l, i, -1, p);
		lb_heap_changed(&least, p);
	}
	lb_heap_fini(&least);
	free(order);
	free(l);
	lb_undo_if_worse(s, to, 0);
	return 0;
}
