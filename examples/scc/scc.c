/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scc: the strongly connected components of a directed graph: two vertices are in one if a path
 * leads from each to the other.
 *
 *	ckrun -n 2 ./scc --vertices 100000 --degree 2 --parts 16
 *	CK_CHECKPOINT=memory,1s ckrun --replace 1 -n 2 ./scc --graph grid --vertices 1000000
 *
 * Shows   fences. In a step of the algorithm calls cause calls on other parts, nobody knows how
 *         many: CkFence tells all parts when none of them is under way. A call to itself with a low
 *         priority lets a part hear all that has come before it answers, in one call for each
 *         other part. Parts can move and be saved (`pup Part`); a checkpoint is taken at a fence.
 * Checks  which vertices are together, against Tarjan's algorithm on one processor.
 *
 * Each round has three steps, and a fence after each:
 *
 *	trim      a vertex to which no edge leads, or from which none does, is a component by itself;
 *	          its edges are gone, which others may hear, and so on
 *	forward   each vertex has its number as its color. The larger color goes along edges. In the end
 *	          a vertex that has its own number is the largest of its component
 *	backward  from these against the edges, to vertices of the same color: the component
 *
 * Sources: McLendon, Hendrickson, Plimpton and Rauchwerger (SPAA 2001) for trimming, and for what
 * ARMI's thesis measured; Orzan (2004) for the colors, which find many components in one round.
 */
#include <stdlib.h>

#include "../args.h"
#include "../random.h"
#include "graph.h"
#include "scc.decl.h"

enum { NONE = -1 };             /* no component yet */
enum { EDGE_IN, EDGE_OUT };     /* that is gone */

struct Main {
	double began, took;
	long rounds;
};

struct Part {
	long first;             /* vertex */
	int n, n_in;            /* vertices; edges that lead to them */
	bool colored;           /* forward has begun here */
	int n_edges;
	struct word *edges;     /* that lead here, until they are sorted */
	int *in_at;             /* those of vertex v are in_from[in_at[v]] and so on */
	long *in_from;
	int *in_left, *out_left; /* edges of each vertex that are not gone */
	long *color;
	long *component;        /* its largest vertex; or NONE */
	bool *told;             /* neighbours know that its edges are gone */
	int n_stack;
	int *stack;             /* vertices with something to tell */
	bool *on_stack;
	bool due;               /* they will be told */
	long round;
};

/* Words for other parts. */
struct post {
	struct word *w;
	int n, room;
};

static struct graph the_graph(void)
{
	return graph_make(kind, vertices, degree, both, seed);
}

static void *get(void *old, long n, size_t size)
{
	void *p = realloc(old, ((size_t)n + 1) * size);

	if (!p)
		CkAbort("scc: no memory for %ld vertices or edges", n);
	return p;
}

static long first_of(long part)
{
	return vertices * part / n_parts;
}

static long part_of(long vertex)
{
	long part = vertex * n_parts / vertices;

	while (first_of(part + 1) <= vertex)
		part++;
	return part;
}

/* ---- words between parts ----------------------------------------------------------------- */

static void post(struct post *p, long vertex, long value)
{
	if (p->n == p->room) {
		p->room = 2 * p->room + 16;
		p->w = get(p->w, p->room, sizeof *p->w);
	}
	p->w[p->n++] = (struct word){ vertex, value };
}

static int by_vertex(const void *a, const void *b)
{
	const struct word *p = a, *q = b;

	return (p->vertex > q->vertex) - (p->vertex < q->vertex);
}

static int by_value(const void *a, const void *b)
{
	const struct word *p = a, *q = b;

	return (p->value < q->value) - (p->value > q->value);
}

/* The call that takes them to a part. */
typedef void send_words(CProxyElement_Part to, int n, const struct word *w);

static void sort(struct post *p)
{
	if (p->n)
		qsort(p->w, (size_t)p->n, sizeof *p->w, by_vertex);
}

/* Sorted: of several words about a vertex only the largest. */
static void keep_largest(struct post *p)
{
	int n = 0;

	for (int i = 0; i < p->n; i++)
		if (!n || p->w[n - 1].vertex != p->w[i].vertex)
			p->w[n++] = p->w[i];
		else if (p->w[n - 1].value < p->w[i].value)
			p->w[n - 1] = p->w[i];
	p->n = n;
}

/* Sorted: in one call for each part. */
static void send_sorted(struct post *p, send_words *call)
{
	int from = 0;

	while (from < p->n) {
		const long part = part_of(p->w[from].vertex);
		int to = from;

		while (to < p->n && p->w[to].vertex < first_of(part + 1))
			to++;
		call(Part_at(parts, (int)part), to - from, p->w + from);
		from = to;
	}
	free(p->w);
	*p = (struct post){ 0 };
}

static void send(struct post *p, send_words *call)
{
	sort(p);
	send_sorted(p, call);
}

static void push(Part *self, int v)
{
	if (self->on_stack[v])
		return;
	self->on_stack[v] = true;
	self->stack[self->n_stack++] = v;
}

/* The next vertex with something to tell; NONE: there is none. */
static int pop(Part *self)
{
	if (!self->n_stack)
		return NONE;
	self->on_stack[self->stack[--self->n_stack]] = false;
	return self->stack[self->n_stack];
}

/* When all words that have come are known: then one call has the answers to all of them. */
static void tell_later(Part *self, void (*tell)(const CkEntryOptions *last, CProxyElement_Part to))
{
	CkEntryOptions last = { .queueing = CK_QUEUEING_IFIFO, .prio = 1 };

	if (self->due || !self->n_stack)
		return;
	self->due = true;
	tell(&last, Part_at(parts, Part_thisIndex(self)));
}

static bool is_mine(const Part *self, long vertex)
{
	return vertex >= self->first && vertex < self->first + self->n;
}

/* ---- the graph --------------------------------------------------------------------------- */

static void make_arrays(Part *self)
{
	self->in_at = get(NULL, self->n, sizeof *self->in_at);
	self->in_left = get(NULL, self->n, sizeof *self->in_left);
	self->out_left = get(NULL, self->n, sizeof *self->out_left);
	self->color = get(NULL, self->n, sizeof *self->color);
	self->component = get(NULL, self->n, sizeof *self->component);
	self->told = get(NULL, self->n, sizeof *self->told);
	self->stack = get(NULL, self->n, sizeof *self->stack);
	self->on_stack = get(NULL, self->n, sizeof *self->on_stack);
	memset(self->in_at, 0, ((size_t)self->n + 1) * sizeof *self->in_at);
	memset(self->color, 0, (size_t)self->n * sizeof *self->color);
	memset(self->stack, 0, (size_t)self->n * sizeof *self->stack);
	memset(self->in_left, 0, (size_t)self->n * sizeof *self->in_left);
	for (int v = 0; v < self->n; v++) {
		self->component[v] = NONE;
		self->told[v] = self->on_stack[v] = false;
	}
}

void Part_on_new(Part *self)
{
	const struct graph g = the_graph();
	struct post p = { 0 };
	long to[GRAPH_MOST_OUT];

	self->first = first_of(Part_thisIndex(self));
	self->n = (int)(first_of(Part_thisIndex(self) + 1) - self->first);
	make_arrays(self);
	for (int v = 0; v < self->n; v++) {
		self->out_left[v] = graph_out(&g, self->first + v, to);
		for (int i = 0; i < self->out_left[v]; i++)
			post(&p, to[i], self->first + v);
	}
	send(&p, Part_edge);
	CkFence(self, Part_cb_built_all(Part_thisProxy(self)));
}

void Part_on_edge(Part *self, int n, const struct word *w)
{
	self->edges = get(self->edges, self->n_edges + n, sizeof *self->edges);
	memcpy(self->edges + self->n_edges, w, (size_t)n * sizeof *w);
	self->n_edges += n;
}

/* Those of one vertex side by side. */
void Part_on_built(Part *self)
{
	self->n_in = self->n_edges;
	self->in_from = get(NULL, self->n_in, sizeof *self->in_from);
	if (self->n_edges)
		qsort(self->edges, (size_t)self->n_edges, sizeof *self->edges, by_vertex);
	for (int i = 0; i < self->n_edges; i++) {
		self->in_from[i] = self->edges[i].value;
		self->in_left[self->edges[i].vertex - self->first]++;
	}
	for (int v = 0; v < self->n; v++)
		self->in_at[v + 1] = self->in_at[v] + self->in_left[v];
	free(self->edges);
	self->edges = NULL;
	self->n_edges = 0;
	CkContributeBarrier(self, Main_cb_ready(mainProxy));
}

/* ---- trim -------------------------------------------------------------------------------- */

/* One edge of a vertex is gone. */
static void lose(Part *self, int v, long which)
{
	int *left = which == EDGE_IN ? self->in_left : self->out_left;

	if (--left[v] || self->component[v] != NONE)
		return;
	self->component[v] = self->first + v;
	push(self, v);
}

static void lose_at(Part *self, struct post *p, long vertex, long which)
{
	if (is_mine(self, vertex))
		lose(self, (int)(vertex - self->first), which);
	else
		post(p, vertex, which);
}

/* Both ends of each edge of these vertices hear that it is gone. */
void Part_on_tellLosses(Part *self)
{
	const struct graph g = the_graph();
	struct post p = { 0 };
	long to[GRAPH_MOST_OUT];

	self->due = false;
	for (int v; (v = pop(self)) != NONE;) {
		const int n = graph_out(&g, self->first + v, to);

		self->told[v] = true;
		for (int i = 0; i < n; i++)
			lose_at(self, &p, to[i], EDGE_IN);
		for (int i = self->in_at[v]; i < self->in_at[v + 1]; i++)
			lose_at(self, &p, self->in_from[i], EDGE_OUT);
	}
	send(&p, Part_lose);
}

void Part_on_lose(Part *self, int n, const struct word *w)
{
	for (int i = 0; i < n; i++)
		lose(self, (int)(w[i].vertex - self->first), w[i].value);
	tell_later(self, Part_tellLosses_opt);
}

/* Those without an edge in or out, and those of the components that the last round has found. */
void Part_on_next(Part *self)
{
	for (int v = 0; v < self->n; v++) {
		if (self->component[v] == NONE && (!self->in_left[v] || !self->out_left[v]))
			self->component[v] = self->first + v;
		if (self->component[v] != NONE && !self->told[v])
			push(self, v);
	}
	tell_later(self, Part_tellLosses_opt);
	CkFence(self, Part_cb_trimmed_all(Part_thisProxy(self)));
}

/* ---- forward ----------------------------------------------------------------------------- */

/* Before the first color comes: another part may have heard of the fence earlier. */
static void color_all(Part *self)
{
	if (self->colored)
		return;
	self->colored = true;
	for (int v = 0; v < self->n; v++)
		self->color[v] = self->first + v;
}

static void take_color(Part *self, int v, long color)
{
	if (self->component[v] != NONE || self->color[v] >= color)
		return;
	self->color[v] = color;
	push(self, v);
}

/* To all vertices of this part that they reach. */
static void tell_color(Part *self, struct post *p)
{
	const struct graph g = the_graph();
	long to[GRAPH_MOST_OUT];

	for (int v; (v = pop(self)) != NONE;) {
		const int n = graph_out(&g, self->first + v, to);

		for (int i = 0; i < n; i++)
			if (is_mine(self, to[i]))
				take_color(self, (int)(to[i] - self->first), self->color[v]);
			else
				post(p, to[i], self->color[v]);
	}
}

/* The vertices on the stack, the largest color first; the stack is empty then. */
static struct word *take_stack(Part *self, int *n)
{
	struct word *w = get(NULL, self->n_stack, sizeof *w);
	int v;

	for (*n = 0; (v = pop(self)) != NONE; ++*n)
		w[*n] = (struct word){ v, self->color[v] };
	qsort(w, (size_t)*n, sizeof *w, by_value);
	return w;
}

/* What the largest color reaches need not hear the others. */
void Part_on_tellColors(Part *self)
{
	struct post p = { 0 };
	int n;
	struct word *from = take_stack(self, &n);

	self->due = false;
	for (int i = 0; i < n; i++) {
		push(self, (int)from[i].vertex);
		tell_color(self, &p);
	}
	free(from);
	sort(&p);
	keep_largest(&p);
	send_sorted(&p, Part_forward);
}

void Part_on_forward(Part *self, int n, const struct word *w)
{
	color_all(self);
	for (int i = 0; i < n; i++)
		take_color(self, (int)(w[i].vertex - self->first), w[i].value);
	tell_later(self, Part_tellColors_opt);
}

void Part_on_trimmed(Part *self)
{
	color_all(self);
	for (int v = 0; v < self->n; v++)
		if (self->component[v] == NONE)
			push(self, v);
	tell_later(self, Part_tellColors_opt);
	CkFence(self, Part_cb_forwarded_all(Part_thisProxy(self)));
}

/* ---- backward ---------------------------------------------------------------------------- */

static void take_component(Part *self, int v, long component)
{
	if (self->component[v] != NONE || self->color[v] != component)
		return;
	self->component[v] = component;
	push(self, v);
}

void Part_on_tellComponents(Part *self)
{
	struct post p = { 0 };

	self->due = false;
	for (int v; (v = pop(self)) != NONE;)
		for (int i = self->in_at[v]; i < self->in_at[v + 1]; i++)
			if (is_mine(self, self->in_from[i]))
				take_component(self, (int)(self->in_from[i] - self->first), self->component[v]);
			else
				post(&p, self->in_from[i], self->component[v]);
	send(&p, Part_backward);
}

void Part_on_backward(Part *self, int n, const struct word *w)
{
	for (int i = 0; i < n; i++)
		take_component(self, (int)(w[i].vertex - self->first), w[i].value);
	tell_later(self, Part_tellComponents_opt);
}

void Part_on_forwarded(Part *self)
{
	for (int v = 0; v < self->n; v++)
		take_component(self, v, self->first + v);
	tell_later(self, Part_tellComponents_opt);
	CkFence(self, Part_cb_backwarded_all(Part_thisProxy(self)));
}

void Part_on_backwarded(Part *self)
{
	const uint64_t draw = (uint64_t)(self->round++ * n_parts + Part_thisIndex(self));
	long left = 0;

	self->colored = false;
	for (int v = 0; v < self->n; v++)
		left += self->component[v] == NONE;
	CkContribute(self, &left, 1, CkReduction_sum_long, Main_cb_left(mainProxy));
	if (move)
		CkMigrateMe(self, (int)random_below((uint64_t)seed, draw, CkNumPes()));
}

static void free_arrays(Part *self)
{
	void *all[] = { self->in_at, self->in_from, self->in_left, self->out_left, self->color,
			self->component, self->told, self->stack, self->on_stack };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		free(all[i]);
	self->in_at = self->in_left = self->out_left = self->stack = NULL;
	self->in_from = self->color = self->component = NULL;
	self->told = self->on_stack = NULL;
	self->n = self->n_in = 0;
}

void Part_on_show(Part *self)
{
	long sums[2] = { 0, 0 };

	for (int v = 0; v < self->n; v++) {
		sums[0] += self->component[v] == self->first + v;
		sums[1] = (long)((uint64_t)sums[1] + graph_hash(self->first + v, self->component[v]));
	}
	free_arrays(self);
	CkContribute(self, sums, 2, CkReduction_sum_long, Main_cb_summed(mainProxy));
}

/* ---- the main chare ---------------------------------------------------------------------- */

void Main_on_new(Main *self, CkArgMsg *m)
{
	const struct arg args[] = {
		{"graph", &kind, GRAPH_RANDOM, 0, GRAPH_GRID, "random|grid"},
		{"vertices", &vertices, 3000, 1, 100000000, "of the graph"},
		{"degree", &degree, 2, 0, GRAPH_MOST_OUT, "edges from each vertex, if it is random"},
		{"both", &both, 30, 0, 100, "percent of neighbours with edges both ways, if it is a grid"},
		{"parts", &n_parts, 8, 1, 100000, "that the vertices are cut into"},
		{"move", &move, 0, 0, 1, "1: all parts move in every round"},
		{"seed", &seed, 1, 0, 1000000000, "which graph"},
	};

	if (!args_read("scc", m, args, sizeof args / sizeof *args))
		return;
	vertices = the_graph().vertices;
	mainProxy = Main_thisProxy(self);
	parts = Part_ckNew(CkDims((int)n_parts));
}

void Main_on_ready(Main *self)
{
	self->began = CkWallTimer();
	Part_next_all(parts);
}

void Main_on_left(Main *self, long n)
{
	self->rounds++;
	if (n) {
		Part_next_all(parts);
		return;
	}
	self->took = CkWallTimer() - self->began;
	Part_show_all(parts);
}

void Main_on_summed(Main *self, int n, const long *sum)
{
	const struct graph g = the_graph();
	const double began = CkWallTimer();
	const struct graph_result right = graph_serial(&g);
	const double took = CkWallTimer() - began;
	const bool is_right = sum[0] == right.components && (uint64_t)sum[1] == right.sum;

	(void)n;
	CkPrintf("scc: %ld vertices in %ld parts on %d PEs: %ld components, the largest of %ld, in %ld "
		 "rounds and %.1f ms (one processor: %.1f ms): %s\n", g.vertices, n_parts, CkNumPes(), sum[0],
		 right.largest, self->rounds, self->took * 1e3, took * 1e3, is_right ? "checked" : "WRONG");
	if (!is_right)
		CkError("scc: right are %ld components, sum %016llx\n", right.components,
			(unsigned long long)right.sum);
	CkExit(is_right ? 0 : 1);
}

#include "scc.def.h"
