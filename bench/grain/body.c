/* SPDX-License-Identifier: Apache-2.0 */
/* grain, by Structured Dagger: body.ci has the loop. Outputs are copied where they are read. */
#include "body.decl.h"
#include "point.h"

struct ByBody {
	struct point p;
	int k;                  /* outputs that the next task waits for */
	bool is_small;
};

void ByBody_on_new(ByBody *self)
{
	point_begin(&self->p, ByBody_thisIndex(self), (size_t)options.graph.bytes);
	self->is_small = options.graph.bytes == sizeof(struct output);
	CkContributeBarrier(self, Main_cb_ready(mainProxy));
}

/* What the next task reads; the first one reads nothing. */
static int reads(const ByBody *self)
{
	return self->p.step ? self->p.slots[self->p.step & self->p.mask].n_reads : 0;
}

static void take(ByBody *self, int place, const void *output, size_t bytes)
{
	memcpy(point_room(&self->p, self->p.step & self->p.mask, place), output, bytes);
}

static void send(ByBody *self, const struct reader *r, const unsigned char *out)
{
	const CProxyElement_ByBody to = ByBody_at(bodies, point_element(&self->p, r->point));

	if (self->is_small)
		ByBody_input(to, self->p.step, r->place, *(const struct output *)(const void *)out);
	else
		ByBody_bulk(to, self->p.step, r->place, options.graph.bytes, (const char *)out);
}

static void work(ByBody *self)
{
	const struct point_slot *s = point_run(&self->p);

	for (int r = 0; r < s->n_readers && self->p.step < self->p.steps; r++)
		send(self, &s->readers[r], s->out);
}

static void create(int elements)
{
	bodies = ByBody_ckNew(CkDims(elements));
}

static void run_all(int steps, long iterations)
{
	ByBody_run_all(bodies, steps, iterations);
}

const struct way way_body = {"body", create, run_all};

#include "body.def.h"
