/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meet.h: where nodes meet before they have a network: at the launcher (boot.h), or, when several
 * nodes are in one process for a test, in a loopback net (loop_net.h). Main thread only. Each
 * function prints why it failed.
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
/** Wait until all nodes have come here, for CK_BOOT_TIMEOUT seconds at most. What they have put
 * before is visible afterwards. */
int meet_fence(struct cmi *m);
/** All nodes, between their meet_put of anything and the fence after it, once: make ready for
 * meet_collect. */
int meet_prepare(struct cmi *m);
/** All nodes, after the fence behind meet_put of `key`: make what all have put cheap to read. In
 * large jobs one node of each host reads, and the others map what it has read. `which` counts these
 * calls from 0; no value has more than `cap` bytes. */
int meet_collect(struct cmi *m, int which, const char *key, size_t cap);
/** Read what `node` has put. */
int meet_get(struct cmi *m, int node, const char *key, void *value, size_t cap, size_t *len_p);
/** Nothing more will be read: drop the local copies of what the others have put. */
void meet_forget(struct cmi *m);

#endif
