/* SPDX-License-Identifier: Apache-2.0 */
/*
 * neighbour.h: to notice that another node of the host has died, where no launcher tells.
 *
 * ckrun ends the job when one of its processes dies. But the node may be the child of a script,
 * which goes on; and some launchers end nothing. Then all others would wait for ever, because what
 * they send goes into memory that nobody reads, without an error. So each node watches one other,
 * the next one of its host in a ring. PE 0 does that while it sleeps: the kernel wakes it at the
 * death. First the launcher gets time to end the job, as it usually does. Then the node that
 * noticed says so and ends, and so do all others, one after the other, at once.
 */
#ifndef NEIGHBOUR_H
#define NEIGHBOUR_H

#include <stdint.h>

struct cmi;
struct cmi_pe;

/** PE 0's, which alone uses it. */
struct neighbour {
	int fd;            /* readable when the node is dead; -1: none is watched */
	int node;
	uint64_t seen_ns;  /* dead since, as far as we know; 0: it lives */
};

/** PE, job known. The node that this PE watches. */
struct neighbour neighbour_open(const struct cmi *m, int local);
void neighbour_close(struct neighbour *n);

/** PE. Its neighbour is dead. Returns while the launcher may still end the job; to be called again
 * after a nap. */
void neighbour_died(struct cmi_pe *w);

#endif
