/* SPDX-License-Identifier: Apache-2.0 */
#include "point.h"

#include "ckdirect.h"

static int most_reads(const struct point *p)
{
	int most = 1;

	for (int n = 0; n <= p->mask; n++)
		most = p->slots[n].n_reads > most ? p->slots[n].n_reads : most;
	return most;
}

/* The task of step 0 reads nothing. */
static void first_step(struct point *p)
{
	p->step = p->steps = 0;
	for (int n = 0; n <= p->mask; n++)
		p->slots[n].missing = n ? p->slots[n].n_reads : 0;
}

static unsigned char *outputs(size_t n, size_t stride)
{
	unsigned char *p = CkDirect_alloc(n * stride);

	if (!p)
		CkAbort("grain: no memory for %zu outputs", n);
	memset(p, 0, n * stride);
	return p;
}

static void fill_slots(struct point *p)
{
	const struct phase *phases = graph_phases(&options.graph, p->index);

	for (int n = 0; n <= p->mask; n++) {
		const struct phase *f = &phases[n % options.graph.period];

		p->slots[n] = (struct point_slot){
			.n_reads = f->n_reads, .n_readers = f->n_readers,
			.reads = f->reads, .readers = f->readers,
		};
	}
}

static void find_room(struct point *p)
{
	unsigned char *out = outputs((size_t)p->mask + 1, p->stride);

	p->room = outputs((size_t)((p->mask + 1) * p->most), p->stride);
	for (int n = 0; n <= p->mask; n++) {
		struct point_slot *s = &p->slots[n];

		s->out = out + (size_t)n * p->stride;
		s->in = graph_alloc((size_t)p->most, sizeof *s->in);
		for (int k = 0; k < p->most; k++)
			s->in[k] = point_room(p, n, k);
	}
}

void point_begin(struct point *p, int element, size_t stride)
{
	p->opt = &options;
	p->index = element / options.n_graphs;
	p->graph = element % options.n_graphs;
	p->mask = options.graph.slots - 1;
	p->stride = stride;
	fill_slots(p);
	p->most = most_reads(p);
	find_room(p);
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
