/* SPDX-License-Identifier: Apache-2.0 */
/*
 * particle.h: one particle, and what happens to it in a step. The chares and the serial run share this, so both
 * compute the same bits.
 */
#ifndef PARTICLES_PARTICLE_H
#define PARTICLES_PARTICLE_H

#include <stdint.h>

struct particle {
	double x, y;            /* 0 .. columns, 0 .. rows: the cell is the whole part */
	double vx, vy;          /* at most half a cell per step */
	int64_t id;
};

/** What the particles of one cell have in common. Add them in the order of their ids: the order decides the bits. */
struct crowd {
	double vx, vy;
	long n;
};

static inline void crowd_add(struct crowd *c, const struct particle *p)
{
	c->vx += p->vx;
	c->vy += p->vy;
	c->n++;
}

/** The place of x on a ring of `size`. */
static inline double ring(double x, long size)
{
	if (x < 0)
		x += (double)size;
	return x >= (double)size ? x - (double)size : x;
}

/** One step: the particle follows its cell's crowd a little, turns a little, and moves. */
static inline void particle_move(struct particle *p, const struct crowd *c, long columns, long rows)
{
	const double vx = p->vx + 0.05 * (c->vx / (double)c->n - p->vx);
	const double vy = p->vy + 0.05 * (c->vy / (double)c->n - p->vy);

	p->vx = 0.9998 * vx - 0.02 * vy;
	p->vy = 0.02 * vx + 0.9998 * vy;
	p->x = ring(p->x + p->vx, columns);
	p->y = ring(p->y + p->vy, rows);
}

#endif
