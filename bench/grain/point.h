/* SPDX-License-Identifier: Apache-2.0 */
/*
 * point.h: what the elements of all ways have in common. An element is one point of one graph. It
 * runs a task as soon as all that the task reads is there, and sends the output to the readers;
 * how, is the way's.
 *
 * All that a task needs is in the slot of its step. in[place] points into `room`, unless the way
 * sets it: to a message that it keeps, for instance.
 */
#ifndef BENCH_POINT_H
#define BENCH_POINT_H

#include "ck.h"
#include "grain.decl.h"

/** The tasks of every slots-th step, which have the same phase. */
struct point_slot {
	int missing;            /* of what the next of them reads */
	int n_reads, n_readers;
	const int *reads;
	const struct reader *readers;
	const unsigned char **in;
	unsigned char *out;
};

struct point {
	const struct sweep_options *opt;
	int index, graph;
	int step, steps;        /* the next task; 0 steps: the run has not begun */
	int mask;               /* slots - 1 */
	int most;               /* that one task reads */
	long iterations;
	size_t stride;          /* from one output in `room` to the next */
	unsigned char *room;
	struct point_slot slots[GRAPH_SLOTS_MOST];
};

/** A way: a file in this folder. */
struct way {
	const char *name;
	void (*create)(int elements);           /* the array; each element tells Main_cb_ready */
	void (*run)(int steps, long iterations); /* call all elements; each tells Main_cb_ran */
};
extern const struct way way_message, way_inline, way_call, way_channel, way_named, way_near;
extern const struct way way_count, way_body, way_section, way_member, way_outputs;

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

/** The slot of a step, or of the step before slot 0. */
static inline struct point_slot *point_slot(struct point *p, int step)
{
	return &p->slots[step & p->mask];
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
	return --p->slots[slot].missing == 0 && slot == (p->step & p->mask) && p->steps;
}

/** All that the next task in this slot reads is there. True if that task can run now. */
static inline bool point_complete(struct point *p, int slot)
{
	p->slots[slot].missing = 1;
	return point_arrived(p, slot);
}

/** The next task can run, and is there. */
static inline bool point_ready(const struct point *p)
{
	return p->step < p->steps && !p->slots[p->step & p->mask].missing;
}

/** Runs the next task, and steps on: what it read may be overwritten now. The result is its slot,
 * whose readers are to get its output, for the step that p->step says now. */
static inline const struct point_slot *point_run(struct point *p)
{
	const int step = p->step++;
	struct point_slot *s = point_slot(p, step);

	task_run(&p->opt->graph, p->iterations, step, p->index, s->in, s->reads, s->n_reads,
		 point_slot(p, step - 1)->out, s->out);
	s->missing = s->n_reads;
	return s;
}

/** Back to the first step, if the last one was done; tells Main. */
void point_end(struct point *p, void *element);

#endif
