/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grain, by messages: a call for each reader. A small output is a value; the message of a large
 * one is kept. And the same by calls of [channel] entries.
 */
#include "message.decl.h"
#include "point.h"

struct ByMessage {
	struct point p;
	bool repeated;          /* by [channel] entries */
	void **kept;            /* [slot, place]; with large outputs */
};

static bool is_small(const struct point *p)
{
	return p->opt->graph.bytes == sizeof(struct output);
}

void ByMessage_on_new(ByMessage *self, bool repeated)
{
	self->repeated = repeated;
	point_begin(&self->p, ByMessage_thisIndex(self), (size_t)options.graph.bytes);
	self->kept = graph_alloc((size_t)((self->p.mask + 1) * self->p.most), sizeof *self->kept);
	CkContributeBarrier(self, Main_cb_ready(mainProxy));
}

static void send(ByMessage *self, const struct reader *r, const unsigned char *out)
{
	const CProxyElement_ByMessage to = ByMessage_at(messages, point_element(&self->p, r->point));
	const struct output *o = (const struct output *)(const void *)out;
	const int step = self->p.step, bytes = self->p.opt->graph.bytes;

	if (is_small(&self->p) && !self->repeated)
		ByMessage_input(to, step, r->place, *o);
	else if (is_small(&self->p))
		ByMessage_input_again(to, step, r->place, *o);
	else if (!self->repeated)
		ByMessage_bulk(to, step, r->place, bytes, (const char *)out);
	else
		ByMessage_bulk_again(to, step, r->place, bytes, (const char *)out);
}

static void free_kept(ByMessage *self, int step, int n)
{
	for (int k = 0; k < n && step; k++)
		CkFreeMsg(self->kept[(step & self->p.mask) * self->p.most + k]);
}

static void run(ByMessage *self)
{
	while (point_ready(&self->p)) {
		const struct point_slot *s = point_run(&self->p);

		if (!is_small(&self->p))
			free_kept(self, self->p.step - 1, s->n_reads);
		for (int r = 0; r < s->n_readers && self->p.step < self->p.steps; r++)
			send(self, &s->readers[r], s->out);
	}
	point_end(&self->p, self);
}

void ByMessage_on_input(ByMessage *self, int step, int place, struct output o)
{
	*(struct output *)(void *)point_room(&self->p, step & self->p.mask, place) = o;
	if (point_arrived(&self->p, step & self->p.mask))
		run(self);
}

void ByMessage_on_bulk(ByMessage *self, int step, int place, int n, const char *data)
{
	const int slot = step & self->p.mask;

	(void)n;
	self->kept[slot * self->p.most + place] = CkKeepMsg();
	self->p.slots[slot].in[place] = (const unsigned char *)data;
	if (point_arrived(&self->p, slot))
		run(self);
}

void ByMessage_on_input_again(ByMessage *self, int step, int place, struct output o)
{
	ByMessage_on_input(self, step, place, o);
}

void ByMessage_on_bulk_again(ByMessage *self, int step, int place, int n, const char *data)
{
	ByMessage_on_bulk(self, step, place, n, data);
}

void ByMessage_on_run(ByMessage *self, int steps, long iterations)
{
	point_start(&self->p, steps, iterations);
	run(self);
}

static void create(int elements)
{
	messages = ByMessage_ckNew(CkDims(elements), false);
}

static void create_repeated(int elements)
{
	messages = ByMessage_ckNew(CkDims(elements), true);
}

static void run_all(int steps, long iterations)
{
	ByMessage_run_all(messages, steps, iterations);
}

const struct way way_message = {"message", create, run_all};
const struct way way_call = {"call", create_repeated, run_all};

#include "message.def.h"
