/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grain, by messages that the runtime counts: one handler for all that a task reads. It copies
 * them, because the point may not have done its own task of the step before.
 */
#include "count.decl.h"
#include "point.h"

struct ByCount {
	struct point p;
};

static int reads(const ByCount *self, int step)
{
	return self->p.slots[step & self->p.mask].n_reads;
}

void ByCount_on_new(ByCount *self)
{
	point_begin(&self->p, ByCount_thisIndex(self), (size_t)options.graph.bytes);
	CkContributeBarrier(self, Main_cb_ready(mainProxy));
}

static void send(ByCount *self, const struct reader *r, const unsigned char *out)
{
	const CProxyElement_ByCount to = ByCount_at(counted_points, point_element(&self->p, r->point));

	if (self->p.opt->graph.bytes == sizeof(struct output))
		ByCount_input(to, self->p.step, r->place, *(const struct output *)(const void *)out);
	else
		ByCount_bulk(to, self->p.step, r->place, self->p.opt->graph.bytes, (const char *)out);
}

static void run(ByCount *self)
{
	while (point_ready(&self->p)) {
		const struct point_slot *s = point_run(&self->p);

		for (int r = 0; r < s->n_readers && self->p.step < self->p.steps; r++)
			send(self, &s->readers[r], s->out);
	}
	point_end(&self->p, self);
}

void ByCount_on_input(ByCount *self, int step, int n, const ByCount_input_call *calls)
{
	const int slot = step & self->p.mask;

	for (int i = 0; i < n; i++)
		*(struct output *)(void *)point_room(&self->p, slot, calls[i].place) = calls[i].o;
	if (point_complete(&self->p, slot))
		run(self);
}

void ByCount_on_bulk(ByCount *self, int step, int n, const ByCount_bulk_call *calls)
{
	const int slot = step & self->p.mask;

	for (int i = 0; i < n; i++)
		memcpy(point_room(&self->p, slot, calls[i].place), calls[i].data, (size_t)calls[i].n);
	if (point_complete(&self->p, slot))
		run(self);
}

void ByCount_on_run(ByCount *self, int steps, long iterations)
{
	point_start(&self->p, steps, iterations);
	run(self);
}

static void create(int elements)
{
	counted_points = ByCount_ckNew(CkDims(elements));
}

static void run_all(int steps, long iterations)
{
	ByCount_run_all(counted_points, steps, iterations);
}

const struct way way_count = {"count", create, run_all};

#include "count.def.h"
