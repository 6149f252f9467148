/* SPDX-License-Identifier: Apache-2.0 */
/* options.h: what the command line asks for; the same on every PE (a readonly). */
#ifndef STENCIL_OPTIONS_H
#define STENCIL_OPTIONS_H

#include <stdbool.h>

#include "../turns.h"
#include "kernel.h"

struct options {
	struct box domain;      /* cells */
	struct box chares;      /* blocks that the domain is cut into */
	int iters;
	int warmup;             /* iterations before the clock starts */
	int repeat;             /* timed runs per mode */
	bool modes[N_MODES];
	bool barrier;           /* --sync barrier: one iteration in flight in the whole job */
	bool malloc_recv;       /* --recv malloc: receive buffers that only this process maps */
	int move;               /* every so many iterations each block moves; 0: never */
	int lb;                 /* every so many iterations the blocks may be balanced (CK_LB); 0: never */
	int uneven;             /* blocks of the first half along x compute each iteration so many times more */
	bool device;            /* --device: in a device's memory; then the modes are those of device.c */
	bool verify;
	bool quiet;
};

/** Fill *o. Returns -1 to go on; otherwise everything has been said, and the result is
 * the program's exit code. */
int options_parse(struct options *o, int argc, char **argv);

#endif
