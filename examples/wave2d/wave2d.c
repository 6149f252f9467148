/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wave2d: waves on a rectangular drum; a 2-D array of chares that swap their edges every step.
 *
 *	ckrun -n 2 ./wave2d --width 400 --height 300 --columns 8 --rows 6 --steps 500
 *
 * Shows   an array [2D], neighbours by index, parameters with arrays, and how chares stay in step
 *         without a barrier: a block goes on when its own neighbours' edges have come.
 * Checks  every cell of the last step, bit for bit, against a serial run (field.c).
 *
 * A neighbour can be one step ahead, not two. It sends its edge of step k + 2 only after it has
 * computed that step from my edge of step k + 1, which I send when I have finished step k. So two
 * places for ghosts, and two counters, are enough.
 */
#include <stdlib.h>
#include <string.h>

#include "../args.h"
#include "field.h"
#include "wave2d.decl.h"

struct Main {
	CProxy_Block blocks;
	double started, took;
	double peak;
	struct field serial;
	long parts;             /* that have come */
	long wrong;             /* rows in them that differ from the serial run */
};

struct Block {
	struct field f;
	double *edge;           /* one side, on its way out */
	int step;
	int n_neighbours;
	int arrived[2];         /* edges of even and of odd steps */
};

/* Where part i of n parts of `extent` cells begins. */
static int cut(long extent, long n, int i)
{
	return (int)(extent * i / n);
}

/* ---- a block ------------------------------------------------------------------------- */

static CkIndex2D beyond(CkIndex2D i, int side)
{
	i.x += side == LEFT ? -1 : side == RIGHT ? 1 : 0;
	i.y += side == UP ? -1 : side == DOWN ? 1 : 0;
	return i;
}

static bool exists(CkIndex2D i)
{
	return i.x >= 0 && i.x < columns && i.y >= 0 && i.y < rows;
}

static void send_edges(Block *b)
{
	for (int side = 0; side < N_SIDES; side++) {
		CkIndex2D to = beyond(Block_thisIndex(b), side);

		if (exists(to)) {
			int n = field_take_edge(&b->f, b->step, side, b->edge);

			/* My left is its right. The stub copies the edge. */
			Block_edge(Block_at(Block_thisProxy(b), to.x, to.y), b->step, side ^ 1, n,
				   b->edge);
		}
	}
}

static double peak_of(const struct field *f, int step)
{
	double peak = 0;

	for (int y = 0; y < f->h; y++)
		for (int x = 0; x < f->w; x++) {
			double u = *field_cell(f, step, x, y);

			if (u > peak)
				peak = u;
		}
	return peak;
}

/* Go as far as the edges that have come allow. */
static void advance(Block *b)
{
	while (b->step < steps && b->arrived[b->step % 2] == b->n_neighbours) {
		b->arrived[b->step % 2] = 0;
		field_advance(&b->f, b->step);
		b->step++;
		if (b->step < steps) {
			send_edges(b);
		} else {
			double peak = peak_of(&b->f, b->step);

			CkContribute(b, &peak, 1, CkReduction_max_double, Main_cb_ran(mainProxy));
		}
	}
}

/* No start signal is needed: what is sent to a block that does not exist yet waits for it. */
void Block_on_new(Block *b)
{
	CkIndex2D i = Block_thisIndex(b);
	int x0 = cut(width, columns, i.x), w = cut(width, columns, i.x + 1) - x0;
	int y0 = cut(height, rows, i.y), h = cut(height, rows, i.y + 1) - y0;

	field_init(&b->f, x0, y0, w, h);
	b->edge = malloc((size_t)(w > h ? w : h) * sizeof *b->edge);
	if (!b->edge)
		CkAbort("wave2d: no memory for an edge");
	for (int side = 0; side < N_SIDES; side++)
		b->n_neighbours += exists(beyond(i, side));
	send_edges(b);
	advance(b);
}

void Block_on_edge(Block *b, int step, int side, int n, const double *v)
{
	(void)n;
	field_put_ghosts(&b->f, step, side, v);
	b->arrived[step % 2]++;
	advance(b);
}

void Block_on_show(Block *b)
{
	struct field *f = &b->f;
	double *u = malloc((size_t)f->w * (size_t)f->h * sizeof *u);

	if (!u)
		CkAbort("wave2d: no memory to show a block");
	for (int y = 0; y < f->h; y++)
		memcpy(u + (size_t)y * (size_t)f->w, field_cell(f, b->step, 0, y),
		       (size_t)f->w * sizeof *u);
	Main_part(mainProxy, f->x0, f->y0, f->w, f->h, u);
	free(u);
	free(b->edge);
	field_fini(f);
}

/* ---- the main chare ------------------------------------------------------------------ */

void Main_on_new(Main *self, CkArgMsg *m)
{
	const struct arg args[] = {
		{"width", &width, 60, 1, 20000, "cells from left to right"},
		{"height", &height, 44, 1, 20000, "cells from top to bottom"},
		{"columns", &columns, 4, 1, 1000, "blocks from left to right"},
		{"rows", &rows, 3, 1, 1000, "blocks from top to bottom"},
		{"steps", &steps, 50, 1, 1000000, "steps in time"},
		{"seed", &seed, 1, 0, 1000000000, "where the drum is struck"},
	};

	if (!args_read("wave2d", m, args, sizeof args / sizeof *args))
		return;
	if (columns > width || rows > height) {
		CkError("wave2d: %ld x %ld cells cannot be cut into %ld x %ld blocks\n", width,
			height, columns, rows);
		CkExit(1);
		return;
	}
	mainProxy = Main_thisProxy(self);
	self->started = CkWallTimer();
	self->blocks = Block_ckNew(CkDims((int)columns, (int)rows));
}

void Main_on_ran(Main *self, double peak)
{
	self->took = CkWallTimer() - self->started;
	self->peak = peak;
	field_init(&self->serial, 0, 0, (int)width, (int)height);
	for (int step = 0; step < steps; step++)
		field_advance(&self->serial, step);
	Block_show_all(self->blocks);
}

static void end(Main *self)
{
	bool right = !self->wrong && self->peak == peak_of(&self->serial, (int)steps);

	field_fini(&self->serial);
	CkPrintf("wave2d: %ld x %ld cells in %ld x %ld blocks on %d PEs, %ld steps in %.1f ms, peak "
		 "%.6f: %s\n",
		 width, height, columns, rows, CkNumPes(), steps, self->took * 1e3, self->peak,
		 right ? "checked" : "WRONG");
	if (!right)
		CkError("wave2d: %ld rows of blocks differ from the serial run\n", self->wrong);
	CkExit(right ? 0 : 1);
}

void Main_on_part(Main *self, int x0, int y0, int w, int h, const double *u)
{
	for (int y = 0; y < h; y++)
		self->wrong += memcmp(u + (size_t)y * (size_t)w,
				      field_cell(&self->serial, (int)steps, x0, y0 + y),
				      (size_t)w * sizeof *u) != 0;
	if (++self->parts == columns * rows)
		end(self);
}

#include "wave2d.def.h"
