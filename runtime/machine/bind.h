/* SPDX-License-Identifier: Apache-2.0 */
/* bind.h: which processors a PE's thread may run on. */
#ifndef BIND_H
#define BIND_H

struct cmi;

enum bind_kind { BIND_CORE, BIND_SOCKET, BIND_NONE };

/** Filled once on the main thread, then read-only. */
struct binding {
	enum bind_kind kind;
	int n_sets;  /* cores or sockets that this process may use */
	void *sets;  /* [n_sets] cpu_set_t */
	void *before; /* cpu_set_t of the main thread of a host program, which gets it back; else NULL */
};

/** Main. Understand CK_BIND, load the topology if it is needed. The job must be known. */
void bind_open(struct cmi *m);
void bind_close(struct binding *b); /* main */
/** Bind the calling thread, which is local PE `local`. Failing to bind is no error. */
void bind_thread(struct cmi *m, int local);

#endif
