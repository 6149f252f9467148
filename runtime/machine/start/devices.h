/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devices.h: which network devices of this host can lead to the job's other hosts. UCX assumes that
 * every device that is up reaches every host, and gives up a job when a connection fails. Main
 * thread only.
 */
#ifndef DEVICES_H
#define DEVICES_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

enum { DEVICES_MOST = 16 };

/** What other nodes need to know; sent in the first meeting. Hashes; 0: there is no such device. */
struct devices_name {
	uint64_t host; /* of the kernel and the network namespace: equal for nodes that have the same
		        * devices */
	struct {
		uint64_t address, network;
	} at[DEVICES_MOST];
};

struct devices {
	struct devices_name name;
	int n;
	bool more;    /* than fit here */
	int n_others; /* nodes on other hosts that have been compared */
	struct {
		char device[IFNAMSIZ];
		bool soft;      /* no hardware is behind it: a bridge, an overlay, a tunnel */
		bool elsewhere; /* another host has the same address: it leads to neither */
		int n_near;     /* of the others: in its network */
	} at[DEVICES_MOST];
};

/** Look at this host's devices. */
void devices_look(struct devices *d);
/** Note what another node has published. */
void devices_compare(struct devices *d, const struct devices_name *other);
/** When all are noted: if some devices lead nowhere and others do not, name the others to UCX,
 * unless the user has named some. `said`: the host's name for a line about it; NULL: no line. */
void devices_choose(const struct devices *d, const char *said);

#endif
