/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_net.h: a loopback net: several nodes inside one process, for tests. This is what they share:
 * their identities, and a meeting place like the launcher's (boot.h). Their wires are in
 * loopback.c.
 */
#ifndef LOOP_NET_H
#define LOOP_NET_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cmi;
struct loop_blob;

struct cmi_loop_net {
	int n_nodes;
	uint64_t seed;     /* of the wires' random delays; 0: none */
	bool shared;       /* the nodes exchange messages in shared memory (share.h) */
	struct cmi **node; /* [n_nodes] */
	/* [n_nodes]: what each has published, newest first. The node itself pushes with a release, all
	 * read with an acquire. One list for each rank and no lock, because all nodes read from all: with
	 * one list under a lock 1024 nodes took 52 s to start. */
	_Atomic(struct loop_blob *) *blobs;
	pthread_mutex_t lock; /* guards what follows, and node[] until the first fence */
	pthread_cond_t moved;
	int n_at_fence;
	unsigned long round;  /* fences passed */
	char *room;           /* of a shared net: all nodes' segments; NULL: not yet */
	size_t room_bytes;
};

/** Any thread. Take part as node `rank`. */
int loop_net_join(struct cmi_loop_net *net, int rank, struct cmi *m);
int loop_net_size(const struct cmi_loop_net *net);
/** Any thread. Memory, zero at first, the same for all nodes of the net, until it is destroyed; all
 * pass the same size. NULL: there is no address space for it, and errno says why. */
char *loop_net_room(struct cmi_loop_net *net, size_t bytes);

/* As boot_put, boot_fence and boot_get: */
int loop_net_put(struct cmi_loop_net *net, int rank, const char *key, const void *value,
		 size_t len);
int loop_net_fence(struct cmi_loop_net *net, int timeout_ms);
int loop_net_get(struct cmi_loop_net *net, int rank, const char *key, void *value, size_t cap,
		 size_t *len_p);

#endif
