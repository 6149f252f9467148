/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pulse.h: to notice that another host, or the link to it, is lost.
 *
 * A process that dies is the launcher's matter, or its neighbour's (neighbour.h). But when a cable
 * is pulled, or a host is switched off or stops, nobody says anything: the kernel repeats what was
 * sent for a quarter of an hour, and what waits for an answer waits for ever. So in a job of
 * several hosts each node has a thread that asks others over UDP whether they live, and answers
 * such questions. It is a thread because a PE may compute for as long as it likes.
 *
 * A node asks its neighbours in a binary tree of all nodes, and the nodes to which it has
 * connections (pulse_watch). The tree alone is enough to notice a lost host or a job that falls
 * apart, as some edge of it is cut. Connections find the way that is lost between two hosts which
 * others still reach, and the one of several rails.
 *
 * A node is guarded from its first answer on. Questions have numbers, and an answer says that its
 * node lived when it was asked that. So a node is known to be silent since the first question
 * behind the one answered last, and never loses its job by an absence of less than CK_PEER_TIMEOUT
 * seconds. When it has been silent for longer, and has not answered in a moment of grace either,
 * the one who asked says so in one line, ends the job and tells its own neighbours, which tell
 * theirs: each side of a net that has fallen apart ends. Where several notice it the lowest speaks,
 * and each of the others if it hears no end. Packets are signed with a key of the job.
 */
#ifndef PULSE_H
#define PULSE_H

#include <stddef.h>
#include <stdint.h>

struct cmi;
struct pulse;
struct pulse_name;

/** Main, job known. Opens the sockets in a job of several hosts, unless CK_PEER_TIMEOUT is 0; then
 * m->pulse is set. */
void pulse_open(struct cmi *m);
/** Main. What node `node` has published. */
void pulse_learn(struct cmi *m, int node, const struct pulse_name *name);
/** Main, when all are learnt. Asks the neighbours, waits a moment for their first answers, and
 * starts the thread. */
void pulse_start(struct cmi *m);
/** Main, when all nodes have passed the last fence. Says good-bye; frees m->pulse. */
void pulse_close(struct cmi *m);

/** Main, after pulse_start. All nodes' addresses of IPv4, in host order, some of them several
 * times; the caller frees them. There is a pulse. */
unsigned *pulse_addresses(const struct cmi *m, size_t *n_p);

/** Any thread. There is a connection to that node now. `lanes` is UCX's text about it, which names
 * the devices. */
void pulse_watch(struct cmi *m, int node, const char *lanes);

#endif
