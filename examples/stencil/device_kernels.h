/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_kernels.h: what launches of the kernels of --device get, for the program and for their
 * own source, device_kernels.cu. Fields lie in one piece there, z fastest; sides as in kernel.h.
 */
#ifndef STENCIL_DEVICE_KERNELS_H
#define STENCIL_DEVICE_KERNELS_H

#include <stdint.h>

enum { STENCIL_THREADS = 256, STENCIL_SIDES = 6 };

/** stencil_pack: copy the outermost cells of each side. Row y of blocks does side y. */
struct stencil_pack {
	uint64_t field;
	uint64_t side[STENCIL_SIDES]; /* 0: nobody wants it */
	int32_t nx, ny, nz, unused;
};

/** stencil_step: one iteration. */
struct stencil_step {
	uint64_t to, from;
	uint64_t ghost[STENCIL_SIDES]; /* what lies beyond each side */
	int32_t nx, ny, nz, unused;
};

#endif
