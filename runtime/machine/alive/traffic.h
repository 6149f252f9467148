/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traffic.h: how many frames of a sealed job have left for each node and come from it, so that
 * heartbeats can tell when some do not come any more.
 *
 * A seal shows what was changed, left out or repeated, but only when the next frame comes. If
 * somebody changes how long UCX believes a message to be, or which, nothing may come any more on
 * that connection, while the host lives. So a node's heartbeats say how many frames it has sent,
 * and they are signed. If not all have come, and none comes for long, and all PEs have looked, they
 * will not.
 *
 * Each PE counts for itself; the heartbeat's thread reads. All is relaxed: a count that is read
 * late is only younger than it seems.
 */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include <stdatomic.h>
#include <stdint.h>

struct cmi;

/** Of one PE and another node. */
struct traffic_counts {
	_Atomic uint32_t out, in;
};

struct traffic {
	_Atomic uint64_t *quiet_ns; /* [my PEs]: when a poll last found nothing */
	struct traffic_counts *of;  /* [my PEs][n_nodes] */
};

/** Main. Sets m->traffic; frees it. */
void traffic_open(struct cmi *m);
void traffic_close(struct cmi *m);

/** The counts of this node's PE number `rank` and a node. */
struct traffic_counts *traffic_of(const struct cmi *m, int rank, int node);
/** One more. Only one thread writes to a count. */
static inline void traffic_count(_Atomic uint32_t *n)
{
	atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

/** Any thread. The sums of all PEs; and when all of them had found nothing since. */
uint32_t traffic_out(const struct cmi *m, int node);
uint32_t traffic_in(const struct cmi *m, int node);
uint64_t traffic_quiet_ns(const struct cmi *m);

/** The sender's: frames that the kernel has had time to take. */
struct traffic_sent {
	uint32_t told, next; /* what others are told; what they will be told once all PEs have polled */
	uint64_t next_ns;
};
uint32_t traffic_told(struct traffic_sent *s, uint32_t out, uint64_t quiet_ns, uint64_t now_ns);

/** The receiver's. */
struct traffic_due {
	uint32_t told, came; /* the sender says; what had come at since_ns */
	uint64_t since_ns;   /* 0: not looked yet */
};
/** For how long frames have been due, and none has come although all PEs looked; 0: none is. */
uint64_t traffic_due_ns(struct traffic_due *d, uint32_t in, uint64_t quiet_ns, uint64_t now_ns);

#endif
