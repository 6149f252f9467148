/* SPDX-License-Identifier: Apache-2.0 */
/* bind.h: which processors a PE's thread may run on. */
#ifndef BIND_H
#define BIND_H

#include <stdbool.h>
#include <stdint.h>

struct cmi;

enum bind_kind { BIND_CORE, BIND_SOCKET, BIND_NONE };

/** Of a PE. Only its own thread uses it, except for bind_close. */
struct bound {
	int lock;         /* the descriptor that keeps its core for it; -1: none */
	unsigned crowded; /* consecutive looks that have found other threads on its core */
	uint64_t seen_ns, waited_ns; /* when the last look was, and the thread's total wait for its core at
				      * that time */
};

/** Filled once on the main thread, then read-only, but for `pes`. */
struct binding {
	enum bind_kind kind;
	bool asked;      /* CK_BIND is set: a PE stays where it is bound */
	int n_sets;      /* cores or sockets that this process may use */
	void *sets;      /* [n_sets] cpu_set_t */
	void *allowed;   /* cpu_set_t that the main thread had before; restored for a host program */
	struct bound *pes; /* ours: [my_n_pes]; NULL: no PE is bound */
};

/** Main. Understand CK_BIND, load the topology if it is needed. The job must be known. */
void bind_open(struct cmi *m);
void bind_close(struct cmi *m); /* main */
/** Bind the calling thread, which is local PE `local`. Failing to bind is no error. */
void bind_thread(struct cmi *m, int local);
/** See cmi_look_at_core. */
bool bind_look(struct cmi *m, int local, uint64_t now_ns);

#endif
