/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.h: memory that a program cannot do without.
 */
#ifndef EXAMPLES_MEMORY_H
#define EXAMPLES_MEMORY_H

#include <stdlib.h>

#include "ck.h"

/** Zeroed memory for n >= 0 things of this size. It is the caller's, who gives it to free(). Where
 * there is none, the job ends with a line. */
static inline void *get(long n, size_t size)
{
	void *p = calloc((size_t)n + 1, size);

	if (!p)
		CkAbort("no memory for %ld times %zu bytes", n, size);
	return p;
}

#endif
