/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grain, as a program that knows where its neighbours are: outputs of the same PE are read where
 * they lie (ckLocal), and a list has the points that can run; to other PEs go channels.
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
	Near *next;             /* in the list of those that can run */
	int unbound;            /* ends of channels that have not come */
	struct slot slots[GRAPH_SLOTS_MOST];
};

/* Those of this PE that can run, the first one first. */
static _Thread_local Near *first, **end;

static void add(Near *self)
{
	self->next = NULL;
	if (!first)
		end = &first;
	*end = self;
	end = &self->next;
}

static void hear(Near *self, int slot)
{
	if (point_arrived(&self->p, slot))
		add(self);
}

static void run_all_here(void);

static void arrived(void *slot)
{
	const struct slot *s = slot;

	hear(s->self, s->number);
	run_all_here();
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
		s->out = graph_alloc((size_t)point_slot(&self->p, n - 1)->n_readers, sizeof *s->out);
	}
	self->unbound = 1;      /* connect */
	CkContributeBarrier(self, Near_cb_connect_all(Near_thisProxy(self)));
}

/* ---- once: who is where --------------------------------------------------------------------- */

static void connect_in(Near *self, int n)
{
	const struct point_slot *t = &self->p.slots[n];
	struct slot *s = &self->slots[n];

	s->in = graph_alloc((size_t)t->n_reads, sizeof *s->in);
	for (int k = 0; k < t->n_reads; k++) {
		const CProxyElement_Near from = element(self, t->reads[k]);
		Near *near = Near_ckLocal(from);

		if (near) {
			t->in[k] = point_slot(&near->p, n - 1)->out;
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
	const struct point_slot *t = point_slot(&self->p, n - 1);
	struct slot *s = &self->slots[n];

	s->near = graph_alloc((size_t)t->n_readers, sizeof(Near *));
	for (int r = 0; r < t->n_readers; r++) {
		Near *near = Near_ckLocal(element(self, t->readers[r].point));

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
	CkDirect_assocLocalBuffer(out, point_slot(&self->p, slot - 1)->out, (size_t)options.graph.bytes);
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

/* One task. Those that can run after it are in the list. */
static void run(Near *self)
{
	struct slot *s = &self->slots[self->p.step & self->p.mask];

	point_run(&self->p);
	for (int k = 0; k < s->n_in && self->p.step > 1; k++)
		CkDirect_ready(&s->in[k]);
	if (self->p.step < self->p.steps)
		send(self);
	if (point_ready(&self->p))
		add(self);
	point_end(&self->p, self);
}

static void run_all_here(void)
{
	while (first) {
		Near *self = first;

		first = self->next;
		run(self);
	}
}

void Near_on_run(Near *self, int steps, long iterations)
{
	point_start(&self->p, steps, iterations);
	add(self);
	run_all_here();
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
