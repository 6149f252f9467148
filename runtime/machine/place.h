/* SPDX-License-Identifier: Apache-2.0 */
/* place.h: which processing units a PE's thread may run on. */
#ifndef PLACE_H
#define PLACE_H

#include <stdbool.h>

struct cmi;

enum place_kind { PLACE_CORE, PLACE_SOCKET, PLACE_NONE };

/** The machine's binding; filled once on the main thread, then read-only. */
struct place {
	enum place_kind kind;
	int n_sets;  /* cores or sockets that this process may use */
	void *sets;  /* [n_sets] cpu_set_t */
};

/** Understand --bind, load the topology if it is needed. The job must be known. */
int place_open(struct cmi *m);
void place_close(struct place *p);
/** Bind the calling thread, which is local PE `local`. Failing to bind is no error. */
void place_bind(struct cmi *m, int local);

#endif
