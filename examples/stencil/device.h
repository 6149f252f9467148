/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.h: --device: blocks in a device's memory, elements of the array Gpu. device.c has them;
 * device_none.c takes its place where the library has been built without the layer device.
 */
#ifndef STENCIL_DEVICE_H
#define STENCIL_DEVICE_H

#include "block.h"

extern const bool has_device;

/** A block in a device's memory. */
struct arrivals {
	Gpu *block;                   /* for the arrival's function */
	int n;
};

struct Gpu {
	int mode, iter, iters;
	bool sent, running;
	int n_neighbours, n_connected;
	struct box box;
	int x0, y0, z0;
	bool wall[N_SIDES];
	CProxyElement_Gpu neighbour[N_SIDES];
	struct gpu *gpu;
	void *stream;
	double *u, *next;             /* device memory, as all that follows */
	double *walls;
	double *send[N_SLOTS], *recv[N_SLOTS]; /* all sides */
	char *host;                   /* staging: all of the two in host memory */
	char *pages;                  /* its pinned part */
	struct arrivals arrived[N_SLOTS];
	CkDirectHandle in[N_SLOTS][N_SIDES], out[N_SLOTS][N_SIDES];
	long paths[N_PATHS];
};

#endif
