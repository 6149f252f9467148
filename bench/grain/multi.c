/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grain, by sections: the readers of an output are a section, and one call sends it to all. A
 * single reader is called by itself.
 */
#include "multi.decl.h"
#include "point.h"

struct BySection {
	struct point p;
	CProxySection_BySection readers[GRAPH_SLOTS_MOST]; /* of the output of such a step, if several */
	short *places[GRAPH_SLOTS_MOST]; /* of each point's output, among those that the task reads */
};

static CkIndex index_of(const BySection *self, const struct reader *r)
{
	return BySection_index(point_element(&self->p, r->point));
}

static void make_section(BySection *self, int slot)
{
	const struct point_slot *s = &self->p.slots[slot];
	CkIndex *list = graph_alloc((size_t)s->n_readers, sizeof *list);

	for (int r = 0; r < s->n_readers; r++)
		list[r] = index_of(self, &s->readers[r]);
	self->readers[slot] = BySection_ckSection(sectioned_points, list, (size_t)s->n_readers);
	free(list);
}

static void find_places(BySection *self, int slot)
{
	const struct point_slot *s = &self->p.slots[slot];

	self->places[slot] = graph_alloc((size_t)options.graph.points, sizeof(short));
	for (int k = 0; k < s->n_reads; k++)
		self->places[slot][s->reads[k]] = (short)k;
}

/* Steps of one phase share a section. */
void BySection_on_new(BySection *self)
{
	point_begin(&self->p, BySection_thisIndex(self), (size_t)options.graph.bytes);
	for (int n = 0; n <= self->p.mask; n++) {
		find_places(self, n);
		if (n >= options.graph.period)
			self->readers[n] = self->readers[n - options.graph.period];
		else if (self->p.slots[n].n_readers > 1)
			make_section(self, n);
	}
	CkContributeBarrier(self, Main_cb_ready(mainProxy));
}

static void send_to_one(const BySection *self, const struct reader *r, const unsigned char *out)
{
	const struct point *p = &self->p;
	const CProxyElement_BySection to = BySection_at(sectioned_points, point_element(p, r->point));

	if (p->opt->graph.bytes == sizeof(struct output))
		BySection_input(to, p->step, p->index, *(const struct output *)(const void *)out);
	else
		BySection_bulk(to, p->step, p->index, p->opt->graph.bytes, (const char *)out);
}

static void send_to_all(const BySection *self, CProxySection_BySection to, const unsigned char *out)
{
	const struct point *p = &self->p;

	if (p->opt->graph.bytes == sizeof(struct output))
		BySection_input_section(to, p->step, p->index, *(const struct output *)(const void *)out);
	else
		BySection_bulk_section(to, p->step, p->index, p->opt->graph.bytes, (const char *)out);
}

static void run(BySection *self)
{
	while (point_ready(&self->p)) {
		const struct point_slot *s = point_run(&self->p);

		if (self->p.step == self->p.steps)
			break;
		if (s->n_readers > 1)
			send_to_all(self, self->readers[s - self->p.slots], s->out);
		else if (s->n_readers)
			send_to_one(self, s->readers, s->out);
	}
	point_end(&self->p, self);
}

static void arrived(BySection *self, int step, int from, const void *output, size_t bytes)
{
	const int slot = step & self->p.mask;

	memcpy(point_room(&self->p, slot, self->places[slot][from]), output, bytes);
	if (point_arrived(&self->p, slot))
		run(self);
}

void BySection_on_input(BySection *self, int step, int from, struct output o)
{
	arrived(self, step, from, &o, sizeof o);
}

void BySection_on_bulk(BySection *self, int step, int from, int n, const char *data)
{
	arrived(self, step, from, data, (size_t)n);
}

void BySection_on_run(BySection *self, int steps, long iterations)
{
	point_start(&self->p, steps, iterations);
	run(self);
}

static void create(int elements)
{
	sectioned_points = BySection_ckNew(CkDims(elements));
}

static void run_all(int steps, long iterations)
{
	BySection_run_all(sectioned_points, steps, iterations);
}

const struct way way_section = {"section", create, run_all};

#include "multi.def.h"
