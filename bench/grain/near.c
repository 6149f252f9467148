/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grain, as a program that knows where its neighbours are: outputs of the same PE are read where
 * they lie, and their readers are called as C functions (ckLocal); to other PEs go channels.
 */
#include "near.decl.h"
#include "ckdirect.h"
#include "point.h"

#define NO_OUTPUT UINT64_MAX    /* no output ends in it: a point's number is in the last 8 bytes */

/* The steps in one slot. */
struct slot {
	Near *self;
	int number;
	int n_in, n_out, n_near;
	CkDirectHandle *in;     /* what such a step reads from other PEs */
	CkDirectHandle *out;    /* the readers there of the step before */
	Near **near;            /* those on this PE */
};

struct Near {
	struct point p;
	bool busy;              /* it calls its readers, which may call it */
	int unbound;            /* ends of channels that have not come */
	struct slot slots[GRAPH_SLOTS_MOST];
};

static void run(Near *self);

static void hear(Near *self, int slot)
{
	if (point_arrived(&self->p, slot) && !self->busy)
		run(self);
}

static void arrived(void *slot)
{
	const struct slot *s = slot;

	hear(s->self, s->number);
}

static const struct phase *phase_before(const Near *self, int slot)
{
	return point_phase(&self->p, slot + self->p.mask);
}

static CProxyElement_Near element(const Near *self, int point)
{
	return Near_at(Near_thisProxy(self), point_element(&self->p, point));
}

void Near_on_new(Near *self)
{
	point_begin(&self->p, Near_thisIndex(self), point_lines());
	for (int n = 0; n <= self->p.mask; n++) {
		struct slot *s = &self->slots[n];

		s->self = self;
		s->number = n;
		s->out = graph_alloc((size_t)phase_before(self, n)->n_readers, sizeof *s->out);
	}
	self->unbound = 1;      /* connect */
	CkContributeBarrier(self, Near_cb_connect_all(Near_thisProxy(self)));
}

/* ---- once: who is where --------------------------------------------------------------------- */

static void connect_in(Near *self, int n)
{
	const struct phase *f = point_phase(&self->p, n);
	struct slot *s = &self->slots[n];

	s->in = graph_alloc((size_t)f->n_reads, sizeof *s->in);
	for (int k = 0; k < f->n_reads; k++) {
		const CProxyElement_Near from = element(self, f->reads[k]);
		Near *near = Near_ckLocal(from);

		if (near) {
			self->p.in[n * self->p.most + k] = point_out(&near->p, n - 1);
			continue;
		}
		s->in[s->n_in] = CkDirect_createHandle(point_room(&self->p, n, k),
						       (size_t)options.graph.bytes, NO_OUTPUT,
						       arrived, s);
		Near_bind(from, n, s->in[s->n_in++]);
	}
}

static void connect_out(Near *self, int n)
{
	const struct phase *f = phase_before(self, n);
	struct slot *s = &self->slots[n];

	s->near = graph_alloc((size_t)f->n_readers, sizeof(Near *));
	for (int r = 0; r < f->n_readers; r++) {
		Near *near = Near_ckLocal(element(self, f->readers[r].point));

		if (near)
			s->near[s->n_near++] = near;
		else
			self->unbound++;
	}
}

static void bound(Near *self)
{
	if (--self->unbound == 0)
		CkContributeBarrier(self, Main_cb_ready(mainProxy));
}

void Near_on_connect(Near *self)
{
	for (int n = 0; n <= self->p.mask; n++) {
		connect_out(self, n);
		connect_in(self, n);
	}
	bound(self);
}

void Near_on_bind(Near *self, int slot, CkDirectHandle h)
{
	struct slot *s = &self->slots[slot];
	CkDirectHandle *out = &s->out[s->n_out++];

	*out = h;
	CkDirect_assocLocalBuffer(out, point_out(&self->p, slot - 1), (size_t)options.graph.bytes);
	bound(self);
}

/* ---- in each step --------------------------------------------------------------------------- */

static void send(Near *self)
{
	const int n = self->p.step & self->p.mask;
	struct slot *s = &self->slots[n];

	for (int r = 0; r < s->n_out; r++)
		CkDirect_put(&s->out[r]);
	for (int r = 0; r < s->n_near; r++)
		hear(s->near[r], n);
}

static void run(Near *self)
{
	self->busy = true;
	while (point_ready(&self->p)) {
		struct slot *s = &self->slots[self->p.step & self->p.mask];

		point_run(&self->p);
		for (int k = 0; k < s->n_in && self->p.step > 1; k++)
			CkDirect_ready(&s->in[k]);
		if (self->p.step < self->p.steps)
			send(self);
	}
	self->busy = false;
	point_end(&self->p, self);
}

void Near_on_run(Near *self, int steps, long iterations)
{
	point_start(&self->p, steps, iterations);
	run(self);
}

static void create(int elements)
{
	near_points = Near_ckNew(CkDims(elements));
}

static void run_all(int steps, long iterations)
{
	Near_run_all(near_points, steps, iterations);
}

const struct way way_near = {"near", create, run_all};

#include "near.def.h"
