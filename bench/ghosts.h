/* SPDX-License-Identifier: Apache-2.0 */
/* ghosts.h: what the command line of ghosts asks for; the same on every PE. */
#ifndef GHOSTS_H
#define GHOSTS_H

#include "../examples/stencil/kernel.h"

/* How a side goes to the neighbour. */
enum how { OBJECT, ARRAY, CALL, CHANNEL, MIXED, DIRECT, HOWS };
enum { SLOTS = 2 };

struct ghosts_options {
	struct box domain, chares;
	int iters, repeat;
};

#endif
