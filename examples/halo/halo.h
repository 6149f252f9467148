/* SPDX-License-Identifier: Apache-2.0 */
/*
 * halo.h: a strip of a field, one on each PE, and what the three ways have for it.
 *
 * A strip has `rows` rows of its own. Above and below it has a ghost row each, for the rows of its
 * neighbours that its points read. There are two copies: a step reads one and writes the other.
 *
 *	row 0                   ghost: the last row of the strip above
 *	rows 1 to `rows`        its own
 *	row `rows` + 1          ghost: the first row of the strip below
 */
#ifndef HALO_H
#define HALO_H

#include "ckdirect.h"
#include "ckglobal.h"
#include "halo.decl.h"

enum { ABOVE, BELOW };

struct strip {
	int step;
	double *u, *f;          /* [2][rows + 2][columns], and the right side of the equation */
	double began;
};

struct Messages {
	struct strip s;
};

struct Channels {
	struct strip s;
	CkDirectHandle from[2][2], to[2][2]; /* for even steps and odd ones; from and to above, below */
	CkDirectSet *set[2];    /* of `from` */
	int n_bound, n_puts;
};

struct Globals {
	struct strip s;
};

void messages_start(void);
void channels_start(void);
void globals_start(void);

/* messages.c, for halo.ci. */
void send_rows(const Messages *self);
void take_rows(Messages *self, const double *above, const double *below);

static inline size_t row_bytes(void) { return (size_t)columns * sizeof(double); }
/** Of a strip, with its ghosts and both copies. */
static inline long strip_rows(void) { return 2 * (rows + 2); }
/** The number of a row among them, as steps that are even or odd read it. */
static inline long row_number(int odd, long row) { return odd * (rows + 2) + row; }
/** The row itself. */
static inline double *strip_row(const struct strip *s, int odd, long row)
{
	return s->u + row_number(odd, row) * columns;
}
/** Of its own, the one that a neighbour reads; and the ghost. */
static inline long border(int side) { return side == ABOVE ? 1 : rows; }
static inline long ghost(int side) { return side == ABOVE ? 0 : rows + 1; }

/** The PE above or below. The last strip is above the first one. */
static inline int neighbour(int side)
{
	return (CkMyPe() + (side == ABOVE ? CkNumPes() - 1 : 1)) % CkNumPes();
}

/** The values of step 0 in `memory` of strip_rows() rows; NULL: in memory of its own. */
void strip_begin(struct strip *s, double *memory);
/** A step, once the ghosts that it reads are there. */
void strip_compute(struct strip *s);
/** All steps are done. `self` is the member. */
void strip_end(struct strip *s, void *self);

#endif
