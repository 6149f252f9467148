/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pieces.h: slices of A and B that stay in the messages that brought them.
 *
 * A message's slice usually is copied to its place in the block, as the paper has it. Above a
 * size it costs less to leave it in the message and to multiply slice by slice.
 */
#ifndef MATMUL_PIECES_H
#define MATMUL_PIECES_H

#include "cube.h"

/** A slice of A or B: in its place in the block, or in the message that brought it. */
struct piece {
	const double *v;
	void *kept;             /* the message; NULL: none, v is in the block */
};

void pieces_init(Cube *m, int kind, int slot);
void pieces_fini(Cube *m, int kind, int slot);
/** Where nothing is kept. */
void pieces_pup(pup_er p, Cube *m, int kind, int slot);

/* Bytes of a slice. Twice as many gained a sixth of the time, half as many nearly nothing. */
enum { KEEP_BYTES = 32 << 10 };

/** Whether a slice of n doubles is better kept than copied. */
static inline bool pieces_worth(int n)
{
	return (size_t)n * sizeof(double) >= KEEP_BYTES;
}

/** Keep the message whose handler runs, which brought the slice of peer `from`. */
void pieces_keep(Cube *m, int kind, int slot, int from, const double *v);

/** Multiply the slices where they are, and free the messages. */
void pieces_multiply(Cube *m, int slot);

#endif
