/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field.h: a rectangle of the wave's domain, with one ghost layer around it. The parallel program
 * has one field per block; the serial solution is one field of the whole domain. Both use the same
 * function, so they can be compared bit for bit.
 *
 * Step k is in u[k % 2]. A step computes u[(k + 1) % 2] in place, from step k - 1, which is there,
 * and from u[k % 2]. It reads the ghosts of u[k % 2] only; those of step k + 1 may come early.
 */
#ifndef WAVE2D_FIELD_H
#define WAVE2D_FIELD_H

enum side { LEFT, RIGHT, UP, DOWN, N_SIDES };

struct field {
	int x0, y0;             /* where in the domain it begins */
	int w, h;
	double *u[2];           /* (w + 2) x (h + 2), row by row */
};

/** A field at rest, with the bumps that `seed` makes in a domain of that size. */
void field_init(struct field *f, int x0, int y0, int w, int h);
void field_fini(struct field *f);
/** From `step` to `step` + 1; the ghosts of `step` must be there. */
void field_advance(struct field *f, int step);
/** The cell (x, y) of a step; -1 and w, h are ghosts. */
double *field_cell(const struct field *f, int step, int x, int y);
/** Copy the cells at one side to v. Returns how many. */
int field_take_edge(const struct field *f, int step, int side, double *v);
/** Copy the edge of a neighbour to the ghosts of that side. */
void field_put_ghosts(struct field *f, int step, int side, const double *v);

#endif
