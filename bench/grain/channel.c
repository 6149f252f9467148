/* SPDX-License-Identifier: Apache-2.0 */
/* grain, by channels (CkDirect): in each slot one for each output that a task reads. */
#include "channel.decl.h"
#include "ckdirect.h"
#include "point.h"

#define NO_OUTPUT UINT64_MAX    /* no output ends in it: a point's number is in the last 8 bytes */

/* The channels of the steps in one slot. */
struct slot {
	ByChannel *self;
	int number;
	CkDirectHandle *in;     /* what such a step reads */
	CkDirectHandle *out;    /* the readers of the step before */
};

struct ByChannel {
	struct point p;
	int unbound;
	struct slot slots[GRAPH_SLOTS_MOST];
};

static void run(ByChannel *self);

static void arrived(void *slot)
{
	const struct slot *s = slot;

	if (point_arrived(&s->self->p, s->number))
		run(s->self);
}

void ByChannel_on_new(ByChannel *self)
{
	point_begin(&self->p, ByChannel_thisIndex(self), point_lines());
	for (int s = 0; s <= self->p.mask; s++) {
		const int n = point_slot(&self->p, s - 1)->n_readers;

		self->slots[s].out = graph_alloc((size_t)n, sizeof *self->slots[s].out);
		self->unbound += n;
	}
	if (!self->unbound)
		CkContributeBarrier(self, Main_cb_ready(mainProxy));
}

/* The channels for what tasks in slot number n read. */
static void connect(ByChannel *self, int n)
{
	const struct point_slot *t = &self->p.slots[n];
	struct slot *s = &self->slots[n];

	s->self = self;
	s->number = n;
	s->in = graph_alloc((size_t)t->n_reads, sizeof *s->in);
	for (int k = 0; k < t->n_reads; k++) {
		const CProxyElement_ByChannel from = ByChannel_at(channels, point_element(&self->p, t->reads[k]));

		s->in[k] = CkDirect_createHandle(point_room(&self->p, n, k), (size_t)options.graph.bytes,
						 NO_OUTPUT, arrived, s);
		ByChannel_bind(from, n, self->p.index, s->in[k]);
	}
}

void ByChannel_on_connect(ByChannel *self)
{
	for (int s = 0; s <= self->p.mask; s++)
		connect(self, s);
}

void ByChannel_on_bind(ByChannel *self, int slot, int reader, CkDirectHandle h)
{
	const struct point_slot *t = point_slot(&self->p, slot - 1);
	int r = 0;

	while (t->readers[r].point != reader)
		r++;
	self->slots[slot].out[r] = h;
	CkDirect_assocLocalBuffer(&self->slots[slot].out[r], t->out,
				  (size_t)options.graph.bytes);
	if (--self->unbound == 0)
		CkContributeBarrier(self, Main_cb_ready(mainProxy));
}

static void run(ByChannel *self)
{
	while (point_ready(&self->p)) {
		struct slot *now = &self->slots[self->p.step & self->p.mask], *next;
		const struct point_slot *s = point_run(&self->p);

		for (int k = 0; k < s->n_reads && self->p.step > 1; k++)
			CkDirect_ready(&now->in[k]);
		next = &self->slots[self->p.step & self->p.mask];
		for (int r = 0; r < s->n_readers && self->p.step < self->p.steps; r++)
			CkDirect_put(&next->out[r]);
	}
	point_end(&self->p, self);
}

void ByChannel_on_run(ByChannel *self, int steps, long iterations)
{
	point_start(&self->p, steps, iterations);
	run(self);
}

static void create(int elements)
{
	channels = ByChannel_ckNew(CkDims(elements));
	ByChannel_connect_all(channels);
}

static void run_all(int steps, long iterations)
{
	ByChannel_run_all(channels, steps, iterations);
}

const struct way way_channel = {"channel", create, run_all};

#include "channel.def.h"
