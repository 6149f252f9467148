/* SPDX-License-Identifier: Apache-2.0 */
/* zoo.h: types of zoo.ci, and names that fuzz_handle.c gets to know. */
#ifndef ZOO_H
#define ZOO_H

#include <stdbool.h>
#include <stdint.h>

#include "ck.h"
#include "ckdirect.h"

enum { ZOO_SIZE = 6 };

struct point { double x; int i; };

typedef struct Row { int n; double *v; } Row;

static inline void Row_pup(pup_er p, Row *r)
{
	pup_int(p, &r->n);
	r->v = pup_alloc(p, r->v, (size_t)r->n * sizeof *r->v);
	pup_doubles(p, r->v, (size_t)r->n);
}

/** What has come to PE 0 from other PEs, as calls of the kinds that name something bring it. Complete when the program
 * is quiet. */
extern struct zoo_names {
	CkDirectHandle handle;
	CkNcpyBuffer buffer;
	CkCallback back;
	CkFuture future;
	CkSection section;
	CkProxy all, team;
	CkElement one;
} zoo_names;

/** Whether the runtime can tell what is wrong with the number of a collection that should be `was`: nothing, or it is
 * none that may exist. It takes a proxy of another collection for what the program says it is
 * (docs/RELIABILITY.md). */
bool zoo_is_told(uint64_t was, uint64_t id);

#endif
