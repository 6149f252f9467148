/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pulse.h: detects the loss of another host or of the link to it (heartbeats).
 *
 * The launcher, or a neighbour (neighbour.h), notices the death of a process. But when a cable is
 * pulled, or a host is switched off or stops, no event tells: the kernel retransmits for a quarter
 * of an hour, and a wait for an answer lasts for ever. So in a job of several hosts each node has a
 * thread that asks others over UDP whether they live, and answers such questions. It is a thread
 * because a PE may compute for as long as it likes.
 *
 * A node asks its neighbours in a binary tree of all nodes, and the nodes to which it has
 * connections (pulse_watch). The tree alone detects a lost host and a job that falls apart, as some
 * edge of it is cut. Connections detect a lost path between two hosts that others still reach, and
 * one lost rail of several.
 *
 * A node is guarded from its first answer on. Questions have numbers, and an answer says that its
 * node lived when that question was asked. So a node is known to be silent since the first question
 * after the last one answered, and an absence of less than CK_PEER_TIMEOUT seconds never ends a
 * job. After a longer silence and a short grace period the node that asked prints one line, ends
 * the job and tells its own neighbours, which tell theirs: each side of a split network ends. If
 * several notice, the lowest prints, and each of the others if it hears of no end. Packets are
 * signed with a key of the job.
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
/** Main. Record what node `node` has published. */
void pulse_learn(struct cmi *m, int node, const struct pulse_name *name);
/** Main, when all are learnt. Asks the neighbours, waits briefly for their first answers, and
 * starts the thread. */
void pulse_start(struct cmi *m);
/** Main, when all nodes have passed the last fence. Announces the departure; frees m->pulse. */
void pulse_close(struct cmi *m);

/** Main, after pulse_start. All nodes' IPv4 addresses in host order, possibly with repetitions; the
 * caller frees them. m->pulse is set. */
unsigned *pulse_addresses(const struct cmi *m, size_t *n_p);

/** Any thread. There is a connection to that node now. `lanes` is UCX's text about it, which names
 * the devices. */
void pulse_watch(struct cmi *m, int node, const char *lanes);

#endif
