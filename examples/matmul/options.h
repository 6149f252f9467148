/* SPDX-License-Identifier: Apache-2.0 */
/* options.h: what the command line asks for; the same on every PE (a readonly). */
#ifndef MATMUL_OPTIONS_H
#define MATMUL_OPTIONS_H

#include <stdbool.h>

#include "../turns.h"

struct options {
	int n;                  /* the matrices are n x n, */
	int p;                  /* the chares p x p x p, p divides n, p * p <= n */
	int iters;
	int warmup;             /* iterations before the clock starts */
	int repeat;             /* timed runs per mode */
	bool modes[N_MODES];
	int lb;                 /* --lb: after so many multiplications CK_LB may move chares; 0: never */
	bool barrier;           /* --sync barrier: one iteration in flight in the whole job */
	bool spread;            /* --map spread: chares that exchange are on different PEs */
	bool malloc_recv;       /* --recv malloc: receive buffers that only this process maps */
	bool verify;
	bool quiet;
};

/** Fill *o. Returns -1 to go on; otherwise everything has been said, and the result is
 * the program's exit code. */
int options_parse(struct options *o, int argc, char **argv);

#endif
