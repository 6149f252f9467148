/* SPDX-License-Identifier: Apache-2.0 */
#include "graph.h"

#include "../random.h"

/* Of a random number's upper bits, in -1 .. 1. */
static double unit(uint64_t random)
{
	return (double)(random >> 11) * 0x1p-52 - 1;
}

long graph_edge(const struct graph *g, int kind, long node, long k, double *weight_p)
{
	const uint64_t i = (uint64_t)(((node * KINDS + kind) * g->degree + k) * 4);
	const uint64_t seed = (uint64_t)g->seed;
	long pe = node / g->nodes;

	if (g->pes > 1 && random_below(seed, i, 100) < g->remote)
		pe = (pe + 1 + random_below(seed, i + 1, g->pes - 1)) % g->pes;
	*weight_p = unit(random_at(seed, i + 2)) / (double)g->degree;
	return pe * g->nodes + random_below(seed, i + 3, g->nodes);
}

double graph_first(const struct graph *g, int kind, long node)
{
	return unit(random_at((uint64_t)g->seed + 1, (uint64_t)(node * KINDS + kind)));
}

static void half_step(const struct graph *g, int kind, double *of, const double *other)
{
	for (long node = 0; node < g->pes * g->nodes; node++) {
		double sum = 0, weight;

		for (long k = 0; k < g->degree; k++) {
			const long from = graph_edge(g, kind, node, k, &weight);

			sum += weight * other[from];
		}
		of[node] -= sum;
	}
}

void graph_serial(const struct graph *g, long iters, double *values[KINDS])
{
	for (int kind = E; kind < KINDS; kind++)
		for (long node = 0; node < g->pes * g->nodes; node++)
			values[kind][node] = graph_first(g, kind, node);
	for (long i = 0; i < iters; i++) {
		half_step(g, E, values[E], values[H]);
		half_step(g, H, values[H], values[E]);
	}
}
