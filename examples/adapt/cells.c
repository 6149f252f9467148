/* SPDX-License-Identifier: Apache-2.0 */
/* cells.c: the arithmetic. Chares and the serial run call the same functions, so equal bits are no accident. */
#include "cells.h"

#include <stdlib.h>

enum { FRONTS = 2 };

/* Where a front is: they go to and fro, with different speeds. */
static double front(int k, int phase)
{
	double x = (0.031 + 0.017 * k) * phase + 0.1 + 0.3 * k;

	x -= 2 * (double)(int)(x / 2);
	return x < 1 ? x : 2 - x;
}

static double width(int level) { return 1 / (double)(1L << level); }

static double middle(int level, int x, int i)
{
	return ((double)x + ((double)i + 0.5) / CELLS) * width(level);
}

static double distance(double a, double b) { return a < b ? b - a : a - b; }

void cells_first(int level, int x, double *u)
{
	for (int i = 0; i < CELLS; i++)
		u[i] = middle(level, x, i);
}

bool cells_near(int level, int x, int phase)
{
	const double reach = 0.06 + width(level) / 2;
	bool near = false;

	for (int k = 0; k < FRONTS; k++)
		near |= distance(((double)x + 0.5) * width(level), front(k, phase)) < reach;
	return near;
}

/* What the cells strive for: a peak at each front. */
static double target(double x, int phase)
{
	double sum = 0;

	for (int k = 0; k < FRONTS; k++) {
		double d = 30 * (x - front(k, phase));

		sum += 1 / (1 + d * d);
	}
	return sum;
}

void cells_step(const struct problem *p, int level, int x, int phase, double *u)
{
	long sweeps = cells_near(level, x, phase) ? 4 * p->work : p->work;

	for (long k = 0; k < sweeps; k++)
		for (int i = 0; i < CELLS; i++)
			u[i] += 0.125 * (target(middle(level, x, i), phase) - u[i]);
}

void cells_split(const double *u, int half, double *part)
{
	for (int i = 0; i < CELLS; i++)
		part[i] = u[half * CELLS / 2 + i / 2];
}

void cells_merge(const double *part, int half, double *u)
{
	for (int i = 0; i < CELLS / 2; i++)
		u[half * CELLS / 2 + i] = (part[2 * i] + part[2 * i + 1]) / 2;
}

/* ---- the serial run -------------------------------------------------------------------------- */

struct line {
	int level, x;
	int since;              /* the phase in which it became a leaf */
	struct line *half[2];   /* NULL: a leaf */
	double u[CELLS];        /* of a leaf */
};

static struct line *make(int level, int x, int since)
{
	struct line *l = calloc(1, sizeof *l);

	if (!l)
		abort();
	l->level = level;
	l->x = x;
	l->since = since;
	return l;
}

struct line *line_create(void)
{
	struct line *l = make(0, 0, -1);

	cells_first(0, 0, l->u);
	return l;
}

void line_free(struct line *l)
{
	for (int k = 0; k < 2 && l->half[0]; k++)
		line_free(l->half[k]);
	free(l);
}

static void split(struct line *l, int phase, long *made)
{
	for (int k = 0; k < 2; k++) {
		l->half[k] = make(l->level + 1, 2 * l->x + k, phase);
		cells_split(l->u, k, l->half[k]->u);
		++*made;
	}
}

static void merge(struct line *l, int phase, long *destroyed)
{
	for (int k = 0; k < 2; k++) {
		cells_merge(l->half[k]->u, k, l->u);
		free(l->half[k]);
		l->half[k] = NULL;
		++*destroyed;
	}
	l->since = phase;
}

/* Whether it has been a leaf since before this phase, and is one now, and no front is near. */
static bool may_merge(const struct line *l, int phase)
{
	return !l->half[0] && l->since < phase && !cells_near(l->level, l->x, phase);
}

void line_step(const struct problem *p, struct line *l, int phase, long *made, long *destroyed)
{
	if (!l->half[0]) {
		cells_step(p, l->level, l->x, phase, l->u);
		if (l->level < p->levels && cells_near(l->level, l->x, phase))
			split(l, phase, made);
		return;
	}
	for (int k = 0; k < 2; k++)
		line_step(p, l->half[k], phase, made, destroyed);
	if (may_merge(l->half[0], phase) && may_merge(l->half[1], phase))
		merge(l, phase, destroyed);
}

long line_leaves(const struct line *l)
{
	return l->half[0] ? line_leaves(l->half[0]) + line_leaves(l->half[1]) : 1;
}

const double *line_find(const struct line *l, int level, int x)
{
	while (l->half[0] && l->level < level)
		l = l->half[x >> (level - l->level - 1) & 1];
	return !l->half[0] && l->level == level && l->x == x ? l->u : NULL;
}
