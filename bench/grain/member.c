/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grain, by a group: its member on each PE runs the points of its PE, a step after the other.
 * Points of one PE read each other's outputs where they lie. All outputs of a step for another PE
 * lie together, and go there in one put, or in one call that the runtime counts.
 *
 * The points are elements of an array that do not move. In each step a member first runs those
 * that have to do with other PEs. The others run while outputs travel: after the put, or before
 * what comes is there.
 */
#include "ckdirect.h"
#include "member.decl.h"
#include "point.h"

#define NO_OUTPUT UINT64_MAX    /* no output ends in it: a point's number is in the last 8 bytes */

struct Cell {
	struct point p;
};

/* The outputs that the tasks in one slot read, from one PE to another. */
struct link {
	int pe, n;
	int *points;            /* ascending, so both ends have the same order */
	unsigned char *outputs;
	int n_copied;           /* of those sent, which lie in another link already: copied from there */
	const unsigned char **copied; /* [n]; NULL: it is written here */
	CkDirectHandle channel;
	int number;             /* at the receiver, among those of the slot; with calls */
};

/* The steps in one slot, of one graph. */
struct slot {
	Member *self;
	int graph, number;
	int missing;            /* links whose outputs have not come */
	int n_in, n_out;
	struct link *in;        /* what such a step reads */
	struct link *out;       /* what others read of the step before */
	int n_edge, n_cells;
	Cell **cells;           /* of this PE; those that have to do with other PEs first */
};

struct layer {                  /* one graph */
	int step;
	bool inner_ran;         /* of this step, before the others */
	struct slot slots[GRAPH_SLOTS_MOST];
};

struct Member {
	bool by_calls;
	const int *pes;         /* of each element */
	int unbound;
	int mask;               /* slots - 1 */
	int steps;              /* 0: the run has not begun */
	int n_busy;             /* graphs that have not done all steps */
	struct layer *layers;
};

/* ---- once: who is where --------------------------------------------------------------------- */

void Cell_on_new(Cell *self)
{
	const int elements = options.graph.points * options.n_graphs;
	int *pes = graph_alloc((size_t)elements, sizeof *pes);

	point_begin(&self->p, Cell_thisIndex(self), (size_t)options.graph.bytes);
	pes[Cell_thisIndex(self)] = CkMyPe();
	CkContribute(self, pes, elements, CkReduction_sum_int, Member_cb_connect_all(members));
	free(pes);
}

void Member_on_new(Member *self, bool by_calls)
{
	self->by_calls = by_calls;
	self->mask = options.graph.slots - 1;
	self->layers = graph_alloc((size_t)options.n_graphs, sizeof *self->layers);
}

static int pe_of(const Member *self, int graph, int point)
{
	return self->pes[point * options.n_graphs + graph];
}

static unsigned char *find(const struct link *links, int n_links, int point)
{
	for (int l = 0; l < n_links; l++)
		for (int i = 0; i < links[l].n; i++)
			if (links[l].points[i] == point)
				return links[l].outputs + (size_t)i * (size_t)options.graph.bytes;
	return NULL;
}

/* Notes which points of PE `from` the points of PE `to` read in this slot. */
static void mark(const Member *self, const struct slot *s, int from, int to, bool *marks)
{
	int *reads = graph_room(&options.graph);

	for (int p = 0; p < options.graph.points; p++) {
		const int phase = s->number % options.graph.period;

		if (pe_of(self, s->graph, p) != to)
			continue;
		for (int k = graph_reads(&options.graph, phase, p, reads); k-- > 0;)
			if (pe_of(self, s->graph, reads[k]) == from)
				marks[reads[k]] = true;
	}
	free(reads);
}

/* Adds the link between two PEs to links[n], if one reads from the other. The result is how many
 * there are. */
static int add_link(const Member *self, const struct slot *s, int from, int to,
		    struct link *links, int n)
{
	const int points = options.graph.points;
	bool *marks = graph_alloc((size_t)points, sizeof *marks);
	struct link l = {.pe = from == CkMyPe() ? to : from};

	mark(self, s, from, to, marks);
	l.points = graph_alloc((size_t)points, sizeof *l.points);
	for (int p = 0; p < points; p++)
		if (marks[p])
			l.points[l.n++] = p;
	free(marks);
	if (!l.n)
		return n;
	l.outputs = CkDirect_alloc((size_t)l.n * (size_t)options.graph.bytes);
	if (!l.outputs)
		CkAbort("grain: no memory for %d outputs", l.n);
	memset(l.outputs, 0, (size_t)l.n * (size_t)options.graph.bytes);
	links[n] = l;
	return n + 1;
}

/* The number of the link from this PE at its receiver, which has them in the order of PEs. */
static int number_there(const Member *self, const struct slot *s, int to)
{
	int number = 0;

	for (int pe = 0; pe < CkMyPe(); pe++) {
		bool *marks = graph_alloc((size_t)options.graph.points, sizeof *marks), any = false;

		if (pe != to)
			mark(self, s, pe, to, marks);
		for (int p = 0; p < options.graph.points; p++)
			any |= marks[p];
		number += any;
		free(marks);
	}
	return number;
}

static void find_links(Member *self, struct slot *s)
{
	const int me = CkMyPe();

	s->in = graph_alloc((size_t)CkNumPes(), sizeof *s->in);
	s->out = graph_alloc((size_t)CkNumPes(), sizeof *s->out);
	for (int pe = 0; pe < CkNumPes(); pe++) {
		if (pe == me)
			continue;
		s->n_in = add_link(self, s, pe, me, s->in, s->n_in);
		s->n_out = add_link(self, s, me, pe, s->out, s->n_out);
	}
	for (int l = 0; l < s->n_out; l++)
		s->out[l].number = number_there(self, s, s->out[l].pe);
	self->unbound += self->by_calls ? 0 : s->n_out;
	s->missing = s->number ? s->n_in : 0;
}

static bool reads_others(const struct slot *s, const struct point_slot *t)
{
	for (int k = 0; k < t->n_reads; k++)
		if (find(s->in, s->n_in, t->reads[k]))
			return true;
	return false;
}

/* An output that other PEs read is written to where it is sent from. */
static bool place_output(struct slot *next, struct point *p, struct point_slot *t)
{
	unsigned char *at = find(next->out, next->n_out, p->index);

	if (at)
		t->out = at;
	return at != NULL;
}

/* What lies in a link before this one is copied from there. */
static void find_copies(struct slot *s)
{
	for (int l = 0; l < s->n_out; l++) {
		struct link *k = &s->out[l];

		k->copied = graph_alloc((size_t)k->n, sizeof *k->copied);
		for (int i = 0; i < k->n; i++) {
			k->copied[i] = find(s->out, l, k->points[i]);
			k->n_copied += k->copied[i] != NULL;
		}
	}
}

static void find_cells(struct layer *l, int graph, int mask, int n)
{
	struct slot *s = &l->slots[n];
	const int points = options.graph.points;

	s->cells = graph_alloc((size_t)points, sizeof(Cell *));
	for (int edge = 1; edge >= 0; edge--) {
		for (int p = 0; p < points; p++) {
			Cell *c = Cell_ckLocal(Cell_at(cells, p * options.n_graphs + graph));

			if (c && (reads_others(s, &c->p.slots[n]) |
				  place_output(&l->slots[(n + 1) & mask], &c->p, &c->p.slots[n])) == edge)
				s->cells[s->n_cells++] = c;
		}
		if (edge)
			s->n_edge = s->n_cells;
	}
}

/* Where the tasks of this slot find what they read. */
static void find_inputs(const struct slot *s)
{
	for (int i = 0; i < s->n_cells; i++) {
		struct point *p = &s->cells[i]->p;
		struct point_slot *t = &p->slots[s->number];

		for (int k = 0; k < t->n_reads; k++) {
			const Cell *near = Cell_ckLocal(Cell_at(cells, point_element(p, t->reads[k])));

			t->in[k] = near ? near->p.slots[(s->number - 1) & p->mask].out
					: find(s->in, s->n_in, t->reads[k]);
		}
	}
}

static void arrived(void *slot);

static void offer_channels(const Member *self, struct slot *s)
{
	for (int l = 0; l < s->n_in && !self->by_calls; l++) {
		struct link *k = &s->in[l];

		k->channel = CkDirect_createHandle(k->outputs, (size_t)k->n * (size_t)options.graph.bytes,
						   NO_OUTPUT, arrived, s);
		Member_bind(Member_at(members, k->pe), CkMyPe(), s->graph, s->number, k->channel);
	}
}

static void bound(Member *self)
{
	if (--self->unbound == 0)
		CkContributeBarrier(self, Main_cb_ready(mainProxy));
}

static void connect_layer(Member *self, int graph)
{
	struct layer *l = &self->layers[graph];

	for (int n = 0; n <= self->mask; n++) {
		l->slots[n].self = self;
		l->slots[n].graph = graph;
		l->slots[n].number = n;
		find_links(self, &l->slots[n]);
	}
	for (int n = 0; n <= self->mask; n++)
		find_cells(l, graph, self->mask, n);
	for (int n = 0; n <= self->mask; n++) {
		find_inputs(&l->slots[n]);
		find_copies(&l->slots[n]);
	}
}

void Member_on_connect(Member *self, int elements, const int *pes)
{
	int *copy = graph_alloc((size_t)elements, sizeof *copy);

	self->pes = memcpy(copy, pes, (size_t)elements * sizeof *copy);
	for (int g = 0; g < options.n_graphs; g++)
		connect_layer(self, g);
	self->unbound++;        /* the call of offer */
	CkContributeBarrier(self, Member_cb_offer_all(members));
}

/* All members know their links. */
void Member_on_offer(Member *self)
{
	for (int g = 0; g < options.n_graphs; g++)
		for (int n = 0; n <= self->mask; n++)
			offer_channels(self, &self->layers[g].slots[n]);
	bound(self);
}

/* From the reader's PE. */
void Member_on_bind(Member *self, int pe, int graph, int slot, CkDirectHandle h)
{
	struct slot *s = &self->layers[graph].slots[slot];
	struct link *k = s->out;

	while (k->pe != pe)
		k++;
	k->channel = h;
	CkDirect_assocLocalBuffer(&k->channel, k->outputs, (size_t)k->n * (size_t)options.graph.bytes);
	bound(self);
}

/* ---- in each step --------------------------------------------------------------------------- */

static struct slot *slot_of(const Member *self, struct layer *l)
{
	return &l->slots[l->step & self->mask];
}

static void run_cells(const struct slot *s, int from, int to)
{
	for (int i = from; i < to; i++)
		point_run(&s->cells[i]->p);
}

static void copy_from_others(const struct link *k)
{
	const size_t bytes = (size_t)options.graph.bytes;

	for (int i = 0; i < k->n; i++)
		if (k->copied[i])
			memcpy(k->outputs + (size_t)i * bytes, k->copied[i], bytes);
}

static void send(const Member *self, struct link *k, int round)
{
	if (k->n_copied)
		copy_from_others(k);
	if (self->by_calls)
		Member_outputs(Member_at(members, k->pe), round, k->number, k->n * options.graph.bytes,
			       (const char *)k->outputs);
	else
		CkDirect_put(&k->channel);
}

/* All that the step reads is there. */
static void run_step(Member *self, struct layer *l)
{
	struct slot *s = slot_of(self, l), *next;

	run_cells(s, 0, s->n_edge);
	for (int i = 0; i < s->n_in && l->step && !self->by_calls; i++)
		CkDirect_ready(&s->in[i].channel);
	s->missing = s->n_in;
	l->step++;
	next = slot_of(self, l);
	for (int i = 0; i < next->n_out && l->step < self->steps; i++)
		send(self, &next->out[i], l->step * options.n_graphs + s->graph);
	if (!l->inner_ran)
		run_cells(s, s->n_edge, s->n_cells);
	l->inner_ran = false;
}

static void end_layer(Member *self, struct layer *l)
{
	int tasks = 0;

	l->step = 0;
	l->slots[0].missing = 0;
	for (int i = 0; i < l->slots[0].n_cells; i++)
		l->slots[0].cells[i]->p.step = 0;
	if (--self->n_busy)
		return;
	for (int g = 0; g < options.n_graphs; g++)
		tasks += self->steps * self->layers[g].slots[0].n_cells;
	self->steps = 0;
	CkContribute(self, &tasks, 1, CkReduction_sum_int, Main_cb_ran(mainProxy));
}

static void advance(Member *self, struct layer *l)
{
	while (l->step < self->steps && !slot_of(self, l)->missing)
		run_step(self, l);
	if (l->step == self->steps) {
		end_layer(self, l);
	} else if (!l->inner_ran) {
		struct slot *s = slot_of(self, l);

		run_cells(s, s->n_edge, s->n_cells);
		l->inner_ran = true;
	}
}

static void hear(struct slot *s, int links)
{
	Member *self = s->self;
	struct layer *l = &self->layers[s->graph];

	s->missing -= links;
	if (!s->missing && s == slot_of(self, l) && self->steps)
		advance(self, l);
}

static void arrived(void *slot)
{
	hear(slot, 1);
}

static struct slot *slot_of_round(const Member *self, int round)
{
	return &self->layers[round % options.n_graphs].slots[round / options.n_graphs & self->mask];
}

static int expected(const Member *self, int round)
{
	return slot_of_round(self, round)->n_in;
}

/* The tasks may have to wait for others of this PE, so the outputs are copied. */
void Member_on_outputs(Member *self, int round, int n, const Member_outputs_call *calls)
{
	struct slot *s = slot_of_round(self, round);

	for (int i = 0; i < n; i++)
		memcpy(s->in[calls[i].link].outputs, calls[i].data, (size_t)calls[i].n);
	hear(s, n);
}

void Member_on_run(Member *self, int steps, long iterations)
{
	self->steps = steps;
	self->n_busy = options.n_graphs;
	for (int g = 0; g < options.n_graphs; g++) {
		const struct slot *s = &self->layers[g].slots[0];

		for (int i = 0; i < s->n_cells; i++)
			point_start(&s->cells[i]->p, steps, iterations);
	}
	for (int g = 0; g < options.n_graphs; g++)
		advance(self, &self->layers[g]);
}

static void create_members(int elements, bool by_calls)
{
	members = Member_ckNew(by_calls);
	cells = Cell_ckNew(CkDims(elements));
}

static void create(int elements)
{
	create_members(elements, false);
}

static void create_by_calls(int elements)
{
	create_members(elements, true);
}

static void run_all(int steps, long iterations)
{
	Member_run_all(members, steps, iterations);
}

const struct way way_member = {"member", create, run_all};
const struct way way_outputs = {"outputs", create_by_calls, run_all};

#include "member.def.h"
