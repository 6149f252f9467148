/* SPDX-License-Identifier: Apache-2.0 */
/* blocks.h: the memory of a chare: its blocks and slices, made, filled before a run, and freed. */
#ifndef MATMUL_BLOCKS_H
#define MATMUL_BLOCKS_H

#include "cube.h"

/** How many slots there are, and which one an iteration uses. */
static inline int n_slots(void)
{
	return opt.barrier ? 1 : N_SLOTS;
}

static inline int slot_of(int iter)
{
	return opt.barrier ? 0 : iter % N_SLOTS;
}

/** Memory that begins on a cache line, as the vector instructions of dgemm like it. Ends the job
 * when there is none. free() frees it. */
void *alloc_bytes(size_t bytes);
double *alloc_doubles(size_t n);

/** Find out which peers are on this PE; once all chares exist. The second one looks again: some may have moved. */
void find_neighbours(Cube *m);
void look_for_neighbours(Cube *m);

#endif
