/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seen.h: the dials of this host's PEs (cmi_dial.h) as bytes, which other hosts can read. Any node
 * of the host sees all of them, as far as it has mapped their memory, and no PE is asked.
 *
 *	cmi_seen_host, then a cmi_seen_node for each node of the host, then a cmi_seen for each PE
 */
#ifndef SEEN_H
#define SEEN_H

#include <stddef.h>
#include <stdint.h>

struct cmi;

/** Any thread, when the job is known. Somebody looks until then: the PEs of this host count. */
void seen_want(const struct cmi *m, uint64_t until_ns);
/** How many bytes a host of this node has. */
size_t seen_bytes(const struct cmi *m, int node);
/** What is seen here now; `to` has space for seen_bytes of this node. */
void seen_here(const struct cmi *m, char *to);

#endif
