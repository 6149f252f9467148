/* SPDX-License-Identifier: Apache-2.0 */
/* wander2d.h: the struct of wander2d.ci's elements. */
#ifndef WANDER2D_H
#define WANDER2D_H

#include <stdbool.h>

enum { SIDES = 4 };

typedef struct Tile {
	bool moves;
	int step, k, pe, next_note;
	long n_moves;
	double v, side[SIDES];
	int n_sides;
	int *sides;               /* [n_sides] of its steps: that came, by direction */
} Tile;

#endif
