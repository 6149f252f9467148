/* SPDX-License-Identifier: Apache-2.0 */
/* cores.h: how many cores the PEs of a host have. Main thread only, before anything is bound. */
#ifndef CORES_H
#define CORES_H

#include <stdint.h>

/** A node's cores, for the other nodes. */
struct cores_name {
	uint64_t set;    /* equal where the sets are */
	uint32_t n;
	uint32_t reserved;
};

/** Those of the nodes of this host. */
struct cores {
	struct cores_name *sets;  /* ours: each once */
	int n_sets, cap;
	int n;           /* cores in all */
};

/** This node's, or what CK_CORES says. */
struct cores_name cores_look(void);

/** Add those of a node of this host, once for each node. Sets that differ count as if they had no
 * core in common: a launcher that binds nodes gives each its own. */
void cores_add(struct cores *c, const struct cores_name *one);

#endif
