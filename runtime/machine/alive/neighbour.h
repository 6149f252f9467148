/* SPDX-License-Identifier: Apache-2.0 */
/*
 * neighbour.h: detects the death of another node of the host where no launcher does.
 *
 * ckrun ends the job when one of its processes dies. But the node may be the child of a script,
 * which goes on; and some launchers end nothing. Then all others would wait for ever, because they
 * send into memory that nobody reads, without an error. So each node watches the next one of its
 * host, in a ring. PE 0 does that while it sleeps: the kernel wakes it at the death. First the
 * launcher gets time to end the job. Then the node that noticed prints a line and ends, and all
 * others follow, one after the other, at once.
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
	uint64_t seen_ns;  /* when we noticed its death; 0: it lives */
};

/** PE, job known. The node that this PE watches. */
struct neighbour neighbour_open(const struct cmi *m, int local);
void neighbour_close(struct neighbour *n);

/** PE. Its neighbour is dead. Returns while the launcher may still end the job; call it again after
 * a nap. */
void neighbour_died(struct cmi_pe *w);

#endif
