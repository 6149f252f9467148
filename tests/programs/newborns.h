/* SPDX-License-Identifier: Apache-2.0 */
/* newborns.h: what an element of newborns has. */
#ifndef NEWBORNS_H
#define NEWBORNS_H

#include <stdbool.h>
#include <stdint.h>

enum { PES = 8, PRIOS = 4 };

/** A set of broadcasts to one array: a bit for each number. */
struct heard { uint64_t of[PES][PRIOS]; };

struct life {
	struct heard before;      /* what its creator had seen when it inserted it */
	struct heard got;
	uint64_t random;
	int array;
	bool witness;             /* it stays where it is, so that its PE has always an element */
};

#endif
