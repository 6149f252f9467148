/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block.h: the state of one block of the domain and of its connections to the neighbours.
 *
 * Slots: what arrives for iteration k is in slot k % 2, because a neighbour may be one iteration
 * ahead (block.c has the proof that it cannot be two). Iteration k also starts from field k % 2, so
 * each slot has its own channels, which send from that field.
 */
#ifndef STENCIL_BLOCK_H
#define STENCIL_BLOCK_H

#include "stencil.decl.h"

enum { N_SLOTS = 2 };

/* What the reduction of Block::check adds up. All are integers, so the sums do not depend on the
 * order. The sum of the field is in units of 2^-32, the rest of it in units of 2^-62, so that 2^30
 * cells of at most 1.0 fit. */
enum { SUM_WRONG, SUM_FIELD, SUM_FIELD_REST, SUM_HASH_LOW, SUM_HASH_HIGH, N_SUMS };

/* The paths of channels, which the reduction of connect counts. */
enum {
	PATH_MEMORY, PATH_RMA, PATH_MESSAGE, PATH_DEVICE, PATH_DEVICE_IPC, PATH_DEVICE_STAGED, N_PATHS
};

/** The two channels between a block and one neighbour, for one slot. A call reads only the front of a
 * handle. A link is an odd number of cache lines long, so that the fronts of many links are spread
 * over all sets of a cache. */
struct link {
	CkDirectHandle in;      /* made here */
	CkDirectHandle out;     /* made by the neighbour, bound here */
	double *recv;           /* where `in` receives */
	uint64_t spare[7];
};

/** What has come for one iteration. With many blocks per PE little of a block is in a cache when its
 * turn comes, so everything that an arrival touches is together. */
struct slot {
	Block *block;           /* for the arrival function: whose slot this is */
	int arrived;            /* sides that are there */
	const double *ghost[N_SIDES]; /* where the kernel reads */
	Side *kept[N_SIDES];    /* msg: the messages that ghost points into */
	CkChannel *from[N_SIDES], *to[N_SIDES]; /* named: the ends, the runtime's */
};

struct Block {
	/* Of the current run. */
	int mode;
	int iter, iters;        /* iter == iters between two runs */
	bool go;                /* this iteration may begin */
	bool sent;              /* its sides are on their way */
	bool has_ends;          /* named: they exist */
	bool syncing;           /* --lb: CkAtSync was called, and resumeFromSync has not come yet */
	bool at_once;           /* every put is locally complete when it returns */
	int unsent;             /* puts that are not yet locally complete */
	int n_neighbours;
	struct slot slot[N_SLOTS];

	struct box box;         /* cells of this block */
	double *u, *next;       /* the field before and after the iteration */
	double *field[N_SLOTS]; /* what iterations 0, 2, ... and 1, 3, ... start from */
	double *wall[N_SIDES];  /* what a side without a neighbour sees, else NULL */
	struct link (*link)[N_SIDES]; /* direct: [N_SLOTS] */
	CProxyElement_Block neighbour[N_SIDES];

	int x0, y0, z0;         /* where in the domain the block begins */
	double *recv;           /* direct, named: all receive buffers */
	int n_connected;        /* out handles that have come, and 1 for the own ones */
	long paths[N_PATHS];    /* out channels by path */
};

/* A NaN that no addition or division yields: an average of numbers in 0..1 is a number. */
#define OUT_OF_BAND UINT64_C(0x7ff8c0dec0dec0de)

/** Where a side of a slot is received. */
double *recv_of(const Block *b, int slot, int side);
/** Where a put through a channel of this slot gathers from, and in which shape. */
double *send_of(const Block *b, int slot, int side);
CkDirectStrides side_shape(const Block *b, int side);

/** The block beyond `side`; false at the edge of the domain. */
bool block_beyond(CkIndex3D i, int side, CkIndex3D *there_p);
/** Where a block lies in the domain. */
void block_place(CkIndex3D i, struct box *box_p, int *x0_p, int *y0_p, int *z0_p);
/** Compare a row with the serial solution; add it to the sums and to the hash. */
void block_check_row(long *sums, uint64_t *hash, const double *row, int n, uint64_t place);

/** The serial solution of this PE, made when first asked for. */
struct Serial {
	double *field;
};

#endif
