/* SPDX-License-Identifier: Apache-2.0 */
/* host_names.h: the names of the job's hosts (m->host_names). */
#ifndef HOST_NAMES_H
#define HOST_NAMES_H

#include <stddef.h>

struct cmi;

/** Main, for one node after the other, when its host is known. `cap` bytes of the name may be read.
 * *used is 0 at first. */
void host_name_add(struct cmi *m, int node, size_t *used, const char *name, size_t cap);

/** The name of a node's host; any thread. Slow, so only for lines about failures. */
const char *host_name(const struct cmi *m, int node);

#endif
