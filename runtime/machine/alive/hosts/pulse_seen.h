/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pulse_seen.h: what is seen on other hosts (../seen.h), by the sockets and threads of the
 * heartbeats. A host's first node answers for all of its PEs, in packets of PULSE_MORE bytes. A
 * packet that is lost is not sent again: the next question brings newer figures.
 *
 * The node that asks keeps what came last of each host. Its heartbeat's thread writes that, and
 * the thread that looks reads it, under a lock.
 */
#ifndef PULSE_SEEN_H
#define PULSE_SEEN_H

#include <pthread.h>

#include "pulse_net.h"

struct cmi;

/** What came of a host. */
struct seen_of {
	char *parts, *whole;         /* ours: of the answer that comes in; the last complete one */
	uint64_t stamp;              /* of the answer that comes in */
	unsigned char *has;          /* which of its packets are there */
	size_t n_has;
	uint64_t whole_ns;           /* when it was complete; 0: there is none */
};

struct pulse_seen {
	pthread_mutex_t lock;
	uint64_t asked;              /* the number of our last question */
	uint64_t answered;           /* and of the last one of others, by the heartbeat's thread: one that
				      * somebody sends again gets no answer */
	struct seen_of *of;          /* [n_nodes]; only first nodes of hosts have something */
};

void pulse_seen_open(struct pulse_seen *s, int n_nodes);
void pulse_seen_close(struct pulse_seen *s, int n_nodes);
/** The first node of this node's host. */
int pulse_seen_first(const struct cmi *m, int node);
/** This is our host's first node, and somebody asks: answer. The heartbeat's thread. */
void pulse_seen_answer(struct pulse_seen *s, const struct cmi *m, const struct pulse_net *net,
		       int way, const struct pulse_rail *to, const struct pulse_packet *ask);
/** A packet of an answer, with n bytes behind its head. The heartbeat's thread. */
void pulse_seen_came(struct pulse_seen *s, const struct cmi *m, const struct pulse_wire *q,
		     size_t n);
/** Any thread. As host_watch.seen. */
uint64_t pulse_seen_last(struct pulse_seen *s, const struct cmi *m, int node, char *to);

#endif
