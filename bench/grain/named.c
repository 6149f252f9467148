/* SPDX-License-Identifier: Apache-2.0 */
/* grain, by named channels: in each slot one for each output that a task reads. */
#include "named.decl.h"
#include "ckchannel.h"
#include "ckdirect.h"
#include "point.h"

#define NO_OUTPUT UINT64_MAX    /* no output ends in it: a point's number is in the last 8 bytes */

/* The channels of the steps in one slot. */
struct slot {
	CkChannel **in;         /* what such a step reads */
	CkChannel **out;        /* the readers of the step before */
};

struct ByName {
	struct point p;
	struct slot slots[GRAPH_SLOTS_MOST];
};

static int tag(int slot, int place)
{
	return place * GRAPH_SLOTS_MOST + slot;
}

static CProxyElement_ByName element(const ByName *self, int point)
{
	return ByName_at(ByName_thisProxy(self), point_element(&self->p, point));
}

/* The channels for what tasks in slot n read. */
static void connect_in(ByName *self, int n)
{
	const struct point_slot *t = &self->p.slots[n];
	CkChannel **in = self->slots[n].in = graph_alloc((size_t)t->n_reads, sizeof *in);

	for (int k = 0; k < t->n_reads; k++)
		in[k] = ByName_input_from_oob(self, element(self, t->reads[k]).ck, tag(n, k),
					      point_room(&self->p, n, k), (size_t)options.graph.bytes,
					      NO_OUTPUT);
}

/* The channels for the outputs of tasks in the slot before n. */
static void connect_out(ByName *self, int n)
{
	const struct point_slot *t = point_slot(&self->p, n - 1);
	CkChannel **out = self->slots[n].out = graph_alloc((size_t)t->n_readers, sizeof *out);

	for (int r = 0; r < t->n_readers; r++)
		out[r] = ByName_input_to(self, element(self, t->readers[r].point),
					 tag(n, t->readers[r].place), t->out,
					 (size_t)options.graph.bytes);
}

void ByName_on_new(ByName *self)
{
	point_begin(&self->p, ByName_thisIndex(self), point_lines());
	for (int n = 0; n <= self->p.mask; n++) {
		connect_in(self, n);
		connect_out(self, n);
	}
	CkContributeBarrier(self, Main_cb_ready(mainProxy));
}

static void run(ByName *self)
{
	while (point_ready(&self->p)) {
		const struct slot *now = &self->slots[self->p.step & self->p.mask];
		const struct point_slot *s = point_run(&self->p);

		for (int k = 0; k < s->n_reads && self->p.step > 1; k++)
			CkChannelReady(now->in[k]);
		if (self->p.step < self->p.steps)
			CkChannelPutAll(self->slots[self->p.step & self->p.mask].out, s->n_readers);
	}
	point_end(&self->p, self);
}

void ByName_on_input(ByName *self, int tag)
{
	if (point_arrived(&self->p, tag % GRAPH_SLOTS_MOST))
		run(self);
}

void ByName_on_run(ByName *self, int steps, long iterations)
{
	point_start(&self->p, steps, iterations);
	run(self);
}

static void create(int elements)
{
	named_points = ByName_ckNew(CkDims(elements));
}

static void run_all(int steps, long iterations)
{
	ByName_run_all(named_points, steps, iterations);
}

const struct way way_named = {"named", create, run_all};

#include "named.def.h"
