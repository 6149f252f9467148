/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block.h: the state of one block of the domain and of its connections to the neighbours.
 *
 * Slots: what arrives for iteration k stands in slot k % 2, because a neighbour may be one
 * iteration ahead (block.c has the proof that it cannot be two). With a barrier after every
 * iteration nobody is ahead, and slot 0 serves all.
 */
#ifndef STENCIL_BLOCK_H
#define STENCIL_BLOCK_H

#include "stencil.decl.h"

enum { N_SLOTS = 2 };

/* What the reduction of Block::check adds up, all of it integers, so that the sums do not
 * depend on the order. The sum of the field is in units of 2^-32, what is left of it in units
 * of 2^-62: 2^30 cells of at most 1.0 fit. */
enum { SUM_WRONG, SUM_FIELD, SUM_FIELD_REST, SUM_HASH_LOW, SUM_HASH_HIGH, N_SUMS };

/* The paths of channels, which the reduction of Block::connect counts. */
enum { PATH_MEMORY, PATH_RMA, PATH_MESSAGE, N_PATHS };

/** One side of a block in one slot: what comes in there and, in direct mode, goes out. */
struct link {
	const double *ghost;    /* where the kernel reads */
	Side *kept;             /* msg: the message that ghost points into */
	double *recv;           /* direct: the channel's receive buffer */
	Block *block;           /* for the arrival function: whose link this is, */
	int slot;               /* and which */
	bool at_once;           /* a put on `out` is locally complete when it returns */
	CkDirectHandle in;      /* made here */
	CkDirectHandle out;     /* made by the neighbour, bound here */
};

struct Block {
	struct box box;         /* cells of this block, */
	int x0, y0, z0;         /* and where in the domain they begin */
	double *field[2];       /* what iterations 0, 2, ... and 1, 3, ... start from */
	double *u, *next;       /* the field before and after the iteration */
	double *wall[N_SIDES];  /* what a side without a neighbour sees, else NULL */
	double *send[N_SIDES];  /* direct: the packed side; the runtime's while unsent > 0 */
	CProxyElement_Block neighbour[N_SIDES];
	int n_neighbours;
	struct link link[N_SLOTS][N_SIDES];
	int n_connected;        /* links whose out is bound, and 1 for the own handles */
	long paths[N_PATHS];    /* out channels by path */

	/* Of the current run. */
	int mode;
	int iter, iters;        /* iter == iters between two runs */
	bool go;                /* this iteration may begin */
	bool sent;              /* its sides are on their way */
	int unsent;             /* puts that are not yet locally complete */
	int arrived[N_SLOTS];   /* ghost sides that are there */
	bool marked[N_SLOTS];   /* direct: free for the next put, but not polled yet */
};

/** The serial solution of this PE, made when first asked for. */
struct Serial {
	double *field;
};

#endif
