/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cube.h: the state of one chare of the p x p x p array, and who exchanges what with whom.
 *
 * Chare (x, y, z) multiplies block (x, y) of A with block (y, z) of B; the products of all
 * y add up to block (x, z) of C. Blocks have nb = n / p rows and columns, row-major. A block
 * that p chares share is cut into p slices of rows, slice i owned by the i-th of them:
 *
 *	kind  block    shared along  each chare                       the receiver
 *	A     (x, y)   z             sends slice z to the others      puts it into its block of A
 *	B     (y, z)   x             sends slice x to the others      puts it into its block of B
 *	C     (x, z)   y             sends slice y' to chare y'       adds it to slice y of C
 *
 * The index of the chare is (x, y, z), or with --map spread ((x + y + z) % p, y, z). The default
 * placement gives each PE a range of the first number. So with (x, y, z) most chares that exchange
 * share a PE, and with the other hardly any do. A message between two PEs costs several times what
 * one on a PE does, which decides what channels gain.
 *
 * Slots: iteration k uses slot k % 2 of the receive places, because a peer may be one iteration
 * ahead (cube.c has the proof that it cannot be two). With a barrier after every iteration nobody
 * is ahead, and slot 0 serves all.
 */
#ifndef MATMUL_CUBE_H
#define MATMUL_CUBE_H

#include "matmul.decl.h"

enum { N_SLOTS = 2 };
enum kind { KIND_A, KIND_B, KIND_C, N_KINDS };
enum stage { SEND_INPUTS, MULTIPLY, COMPLETE };

/* The paths of channels, which the reduction of Cube::connect counts. */
enum { PATH_MEMORY, PATH_RMA, PATH_MESSAGE, N_PATHS };

struct Cube {
	/* Where it is (blocks.c, slices.h). */
	int x, y, z;
	int me[N_KINDS];        /* place among those it exchanges a kind with: z, x, y */
	int nb;                 /* rows and columns of a block */
	int *start;             /* [p + 1]: where slice i of a block begins, in doubles */
	bool *here;             /* [kind][peer]: it is on this PE */

	/* What it holds (blocks.c). */
	double *ab[KIND_C][N_SLOTS]; /* the blocks of A and B: own slice and received ones */
	double *partial;        /* their product; the runtime's while unsent */
	double *area[N_SLOTS];  /* direct: p received slices of C */
	double *c;              /* this chare's slice of C */
	int factor_in[N_SLOTS]; /* what the own slice of A is multiplied by now */

	/* Slices left in their messages (pieces.c). */
	struct piece *pieces[KIND_C][N_SLOTS]; /* [peer]: where its slice is */
	int n_kept[N_SLOTS];    /* of A and B */

	/* Channels (links.c). */
	struct link *links;     /* [kind][slot][peer] */
	bool *at_once;          /* of these: a put on `out` is locally complete when it returns */
	int n_missing_links;    /* whose out is not bound yet, and 1 until the own handles are made */
	long paths[N_PATHS];    /* out channels by path */
	bool marked[N_SLOTS];   /* inputs may come, but are not polled yet */
	int unsent;             /* puts that are not yet locally complete */

	/* The current run (cube.c). */
	int mode;
	int iter, iters;        /* iter == iters between two runs */
	bool go;                /* this iteration may begin */
	bool advancing;         /* cube_advance() is on the stack */
	enum stage stage;
	int missing_inputs[N_SLOTS], missing_parts[N_SLOTS]; /* slices of A and B, and of C */
};

/** What counts the slices of a kind that are still to come. */
static inline int *missing(Cube *m, int kind, int slot)
{
	return kind == KIND_C ? &m->missing_parts[slot] : &m->missing_inputs[slot];
}

/** Go as far as what has arrived allows. To be called after everything that may allow more. */
void cube_advance(Cube *m);

/** The arrival function of channels; its argument is a struct link. */
void cube_put_arrived(void *link);

#endif
