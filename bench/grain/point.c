/* SPDX-License-Identifier: Apache-2.0 */
#include "point.h"

#include "ckdirect.h"

static int most_reads(const struct point *p)
{
	int most = 1;

	for (int f = 0; f < p->opt->graph.period; f++)
		most = p->phases[f].n_reads > most ? p->phases[f].n_reads : most;
	return most;
}

static void first_step(struct point *p)
{
	p->step = p->steps = 0;
	p->phase = p->phases;
	for (int step = 0; step <= p->mask; step++)
		p->missing[step] = step ? point_phase(p, step)->n_reads : 0;
}

static unsigned char *outputs(size_t n, size_t stride)
{
	unsigned char *p = CkDirect_alloc(n * stride);

	if (!p)
		CkAbort("grain: no memory for %zu outputs", n);
	memset(p, 0, n * stride);
	return p;
}

void point_begin(struct point *p, int element, size_t stride)
{
	const int slots = options.graph.slots;

	p->opt = &options;
	p->index = element / options.n_graphs;
	p->graph = element % options.n_graphs;
	p->phases = graph_phases(&options.graph, p->index);
	p->mask = slots - 1;
	p->most = most_reads(p);
	p->stride = stride;
	p->room = outputs((size_t)(slots * p->most), stride);
	p->out = outputs((size_t)slots, stride);
	p->in = graph_alloc((size_t)(slots * p->most), sizeof *p->in);
	for (int i = 0; i < slots * p->most; i++)
		p->in[i] = p->room + (size_t)i * stride;
	first_step(p);
}

void point_end(struct point *p, void *element)
{
	const int done = p->steps;

	if (!done || p->step < done)
		return;
	first_step(p);
	CkContribute(element, &done, 1, CkReduction_sum_int, Main_cb_ran(mainProxy));
}
