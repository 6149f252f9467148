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
 *	C     (x, z)   y             sends slice y' to chare y'       adds it to slice y of C; if it is on
 *	                                                           the same PE, from the sender's block
 *
 * Its index is (x, y, z), or with --map spread ((x + y + z) % p, y, z). The default placement gives
 * each PE a range of the first number, so in the first case most of those that exchange share a
 * PE, in the second hardly any do; and a message between two PEs costs several times what one on a
 * PE does, which decides what channels gain.
 *
 * Slots: iteration k uses slot k % 2 of the receive places, because a peer may be one
 * iteration ahead (cube.c has the proof that it cannot be two). With a barrier after every
 * iteration nobody is ahead, and slot 0 serves all.
 */
#ifndef MATMUL_CUBE_H
#define MATMUL_CUBE_H

#include "matmul.decl.h"

enum { N_SLOTS = 2 };
enum kind { KIND_A, KIND_B, KIND_C, N_KINDS };
enum stage { SEND_INPUTS, MULTIPLY, COMPLETE };

/* What the reduction of Cube::check adds up: integers, so the order is of no importance. */
enum { SUM_WRONG, SUM_C, SUM_HASH_LOW, SUM_HASH_HIGH, N_SUMS };

/* Makes integers of the elements of C: steps of 1/8 times steps of 1/8. */
#define C_UNITS 64.0

/* The paths of channels, which the reduction of Cube::connect counts. */
enum { PATH_MEMORY, PATH_RMA, PATH_MESSAGE, N_PATHS };

/**
 * The channels to and from one peer, in one exchange and slot.
 *
 * With thousands of channels a call costs the cache lines that it touches. A ready reads the front
 * of a handle, a put the first 64 bytes: so an arrival and the ready after it touch one line here,
 * and a put touches another. (--n 64 --p 8, two threads: 567 us without this alignment, now 422.)
 */
struct link {
	_Alignas(64) Cube *cube; /* for the arrival function: whose link this is, */
	int *missing;            /* what counts its arrivals, */
	const double *part;      /* kind C: where they land; NULL: in their place */
	CkDirectHandle in;       /* made here */
	_Alignas(64) CkDirectHandle out; /* made by the peer, bound here */
};

/** A slice of A or B: in its place in the block, or in the message that brought it. */
struct piece {
	const double *v;
	void *kept;             /* the message; NULL: none, v is in the block */
};

struct Cube {
	int x, y, z;
	int me[N_KINDS];        /* place among those it exchanges a kind with: z, x, y */
	int nb;                 /* rows and columns of a block */
	int *start;             /* [p + 1]: where slice i of a block begins, in doubles */
	double *ab[KIND_C][N_SLOTS]; /* the blocks of A and B: own slice and received ones */
	struct piece *pieces[KIND_C][N_SLOTS]; /* msg: [peer], where its slice is */
	double *partial;        /* their product; the runtime's while unsent */
	double *area[N_SLOTS];  /* direct: p received slices of C */
	double *c;              /* this chare's slice of C */
	int factor_in[N_SLOTS]; /* what the own slice of A is multiplied by now, see cube.c */
	bool *here;             /* [kind][peer]: it is on this PE */
	struct link *links;     /* direct: [kind][slot][peer]; none for slices of C on this PE */
	bool *at_once;          /* of these: a put on `out` is locally complete when it returns */
	int n_missing_links;    /* whose out is not bound yet, and 1 until the own handles are made */
	long paths[N_PATHS];    /* out channels by path */

	/* Of the current run. */
	int mode;
	int iter, iters;        /* iter == iters between two runs */
	bool go;                /* this iteration may begin */
	bool advancing;         /* advance() is on the stack */
	enum stage stage;
	int unsent;             /* puts that are not yet locally complete */
	int missing_inputs[N_SLOTS], missing_parts[N_SLOTS]; /* slices of A and B, and of C */
	bool marked[N_SLOTS];   /* direct: inputs may come, but are not polled yet */
};

/** What A is multiplied by in a run, over all its iterations: C is so many times A B. */
long factor_sum(void);

#endif
