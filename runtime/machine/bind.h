/* SPDX-License-Identifier: Apache-2.0 */
/* bind.h: which processors a PE's thread may run on. */
#ifndef BIND_H
#define BIND_H

#include <stdbool.h>
#include <stdint.h>

struct cmi;

enum bind_kind { BIND_CORE, BIND_SOCKET, BIND_NONE };

/** Of a PE; only its own thread touches it, but for bind_close. */
struct bound {
	int lock;         /* the descriptor that keeps its core for it; -1: none */
	unsigned crowded; /* so many looks in a row have found other threads on its core */
	uint64_t seen_ns, waited_ns; /* of the last look: when it was, and how long the thread had waited
				      * for its core by then */
};

/** Filled once on the main thread, then read-only, but for `pes`. */
struct binding {
	enum bind_kind kind;
	bool asked;      /* CK_BIND has said so: a PE stays where it is bound */
	int n_sets;      /* cores or sockets that this process may use */
	void *sets;      /* [n_sets] cpu_set_t */
	void *allowed;   /* cpu_set_t of the main thread before, which that of a host program gets back */
	struct bound *pes; /* ours: [my_n_pes]; NULL: nobody is bound */
};

/** Main. Understand CK_BIND, load the topology if it is needed. The job must be known. */
void bind_open(struct cmi *m);
void bind_close(struct cmi *m); /* main */
/** Bind the calling thread, which is local PE `local`. Failing to bind is no error. */
void bind_thread(struct cmi *m, int local);
/** What cmi_look_at_core does. */
bool bind_look(struct cmi *m, int local, uint64_t now_ns);

#endif
