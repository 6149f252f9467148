/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cells.h: the cells of one block, and the whole line as one processor computes it. A block is a piece of the line from 0 to
 * 1: of level l, it is one of 2^l. All blocks have as many cells, so those of a higher level are finer.
 */
#ifndef ADAPT_CELLS_H
#define ADAPT_CELLS_H

#include <stdbool.h>

enum { CELLS = 64, LEVELS_MOST = 16 };

/** What is computed, the same for chares and for the serial run. */
struct problem {
	long levels;            /* the finest blocks have this level */
	long work;              /* sweeps over the cells in each phase; near a front four times as many */
};

/** The cells of block x of this level, when the line is new. */
void cells_first(int level, int x, double *u);

/** One phase: the cells follow two fronts that travel along the line. */
void cells_step(const struct problem *p, int level, int x, int phase, double *u);

/** Whether a front is near in that phase, so that the block should be fine. */
bool cells_near(int level, int x, int phase);

/** Half `half` of a block, 0 or 1, as a block of its own. */
void cells_split(const double *u, int half, double *part);

/** And back. */
void cells_merge(const double *part, int half, double *u);

/** The line as a tree of blocks, on one processor. */
struct line;
struct line *line_create(void);
void line_free(struct line *line);
/** One phase. Adds blocks that are made and destroyed. */
void line_step(const struct problem *p, struct line *line, int phase, long *made, long *destroyed);
long line_leaves(const struct line *line);
/** The cells of block x of this level; NULL: there is no such block without halves. */
const double *line_find(const struct line *line, int level, int x);

#endif
