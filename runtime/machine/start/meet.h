/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meet.h: how nodes exchange data before they have a network: through the launcher (boot.h), or,
 * when several nodes are in one process for a test, through a loopback net (loop_net.h). Main
 * thread only. Each function prints why it failed.
 */
#ifndef MEET_H
#define MEET_H

#include <stddef.h>

struct cmi;

/** Read CK_BOOT_TIMEOUT. */
void meet_open(struct cmi *m);

/** This node's number, and how many there are. */
int meet_rank(const struct cmi *m);
int meet_size(const struct cmi *m);

/** Publish bytes under `key`, once for each key. */
int meet_put(struct cmi *m, const char *key, const void *value, size_t len);
/** Barrier of all nodes, of CK_BOOT_TIMEOUT seconds at most. Afterwards everything that was put
 * before is visible. */
int meet_fence(struct cmi *m);
/** All nodes, once, between a meet_put and the fence after it: prepare for meet_collect. */
int meet_prepare(struct cmi *m);
/** All nodes, after the fence that follows meet_put of `key`: make all values cheap to read. In
 * large jobs one node of each host reads, and the others map what it has read. `which` counts these
 * calls from 0; no value has more than `cap` bytes. */
int meet_collect(struct cmi *m, int which, const char *key, size_t cap);
/** Read what `node` has put. */
int meet_get(struct cmi *m, int node, const char *key, void *value, size_t cap, size_t *len_p);
/** Nothing more will be read: drop the local copies of the others' values. */
void meet_forget(struct cmi *m);

#endif
