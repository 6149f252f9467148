/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grain, by [inline] calls: a reader of this PE may run its task inside the call. Outputs are
 * copied where they are read.
 */
#include "inlined.decl.h"
#include "point.h"

struct ByInline {
	struct point p;
	bool busy;              /* it sends; what it gets meanwhile is looked at later */
};

void ByInline_on_new(ByInline *self)
{
	point_begin(&self->p, ByInline_thisIndex(self), (size_t)options.graph.bytes);
	CkContributeBarrier(self, Main_cb_ready(mainProxy));
}

static void send(ByInline *self, const struct reader *r, int step, const unsigned char *out)
{
	const CProxyElement_ByInline to = ByInline_at(inlines, point_element(&self->p, r->point));

	if (self->p.opt->graph.bytes == sizeof(struct output))
		ByInline_input(to, step, r->place, *(const struct output *)(const void *)out);
	else
		ByInline_bulk(to, step, r->place, self->p.opt->graph.bytes, (const char *)out);
}

static void run(ByInline *self)
{
	self->busy = true;
	while (point_ready(&self->p)) {
		const struct point_slot *s = point_run(&self->p);

		for (int r = 0; r < s->n_readers && self->p.step < self->p.steps; r++)
			send(self, &s->readers[r], self->p.step, s->out);
	}
	self->busy = false;
	point_end(&self->p, self);
}

static void arrived(ByInline *self, int step)
{
	if (point_arrived(&self->p, step & self->p.mask) && !self->busy)
		run(self);
}

void ByInline_on_input(ByInline *self, int step, int place, struct output o)
{
	*(struct output *)(void *)point_room(&self->p, step & self->p.mask, place) = o;
	arrived(self, step);
}

void ByInline_on_bulk(ByInline *self, int step, int place, int n, const char *data)
{
	memcpy(point_room(&self->p, step & self->p.mask, place), data, (size_t)n);
	arrived(self, step);
}

void ByInline_on_run(ByInline *self, int steps, long iterations)
{
	point_start(&self->p, steps, iterations);
	run(self);
}

static void create(int elements)
{
	inlines = ByInline_ckNew(CkDims(elements));
}

static void run_all(int steps, long iterations)
{
	ByInline_run_all(inlines, steps, iterations);
}

const struct way way_inline = {"inline", create, run_all};

#include "inlined.def.h"
