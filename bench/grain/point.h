/* SPDX-License-Identifier: Apache-2.0 */
/*
 * point.h: what the elements of all ways have in common. An element is one point of one graph. It
 * runs a task as soon as all that the task reads is there, and sends the output to the readers;
 * how, is the way's.
 *
 * in[slot * most + place] is the output that a task of a step in that slot reads at that place.
 * It points into `room`, unless the way sets it: to a message that it keeps, for instance.
 */
#ifndef BENCH_POINT_H
#define BENCH_POINT_H

#include "ck.h"
#include "grain.decl.h"

struct point {
	const struct sweep_options *opt;
	const struct phase *phase, *phases; /* of the next task; all */
	int index, graph;
	int step, steps;        /* the next task; 0 steps: the run has not begun */
	int mask;               /* slots - 1 */
	int most;               /* that one task reads */
	int missing[GRAPH_SLOTS_MOST];
	long iterations;
	size_t stride;          /* from one output in `room` or `out` to the next */
	const unsigned char **in;
	unsigned char *room, *out;
};

/** A way: a file in this folder. */
struct way {
	const char *name;
	void (*create)(int elements);           /* the array; each element tells Main_cb_ready */
	void (*run)(int steps, long iterations); /* call all elements; each tells Main_cb_ran */
};
extern const struct way way_message, way_inline, way_call, way_channel, way_named, way_near;
extern const struct way way_body;

/** Elements are ordered by points, so that each PE has the same points of every graph. */
static inline int point_element(const struct point *p, int point)
{
	return point * p->opt->n_graphs + p->graph;
}

/** Prepares the point of element `i`. Memory for outputs comes from CkDirect_alloc, `stride`
 * apart. */
void point_begin(struct point *p, int element, size_t stride);

static inline unsigned char *point_room(const struct point *p, int slot, int place)
{
	return p->room + (size_t)(slot * p->most + place) * p->stride;
}

static inline unsigned char *point_out(const struct point *p, int step)
{
	return p->out + (size_t)(step & p->mask) * p->stride;
}

static inline const struct phase *point_phase(const struct point *p, int step)
{
	return &p->phases[step & (p->opt->graph.period - 1)];
}

static inline void point_start(struct point *p, int steps, long iterations)
{
	p->steps = steps;
	p->iterations = iterations;
}

/** Bytes of an output, rounded up to whole cache lines, for what others write. */
static inline size_t point_lines(void)
{
	return ((size_t)options.graph.bytes + TASK_LINE - 1) / TASK_LINE * TASK_LINE;
}

/** Another of the outputs that the next task in this slot reads is there. True if that task can
 * run now. */
static inline bool point_arrived(struct point *p, int slot)
{
	return --p->missing[slot] == 0 && slot == (p->step & p->mask) && p->steps;
}

/** The next task can run, and is there. */
static inline bool point_ready(const struct point *p)
{
	return p->step < p->steps && !p->missing[p->step & p->mask];
}

/** Runs the next task, and steps on: what it read may be overwritten now. The result is its output,
 * which the readers of the phase before are to get, for the step that p->step says now. */
static inline unsigned char *point_run(struct point *p)
{
	const struct phase *f = p->phase;
	const int step = p->step++, slot = step & p->mask;
	unsigned char *out = point_out(p, step);

	task_run(&p->opt->graph, p->iterations, step, p->index, p->in + slot * p->most, f->reads,
		 f->n_reads, point_out(p, step - 1), out);
	p->missing[slot] = point_phase(p, step + p->mask + 1)->n_reads;
	if (++p->phase == p->phases + p->opt->graph.period)
		p->phase = p->phases;
	return out;
}

/** Back to the first step, if the last one was done; tells Main. */
void point_end(struct point *p, void *element);

#endif
