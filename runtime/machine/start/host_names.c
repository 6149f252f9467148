/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_names.c: see host_names.h. One zero-terminated name for each run of nodes on one host, in
 * order. Launchers fill one host after the other, so there are about as many names as hosts.
 */
#include "host_names.h"

#include <string.h>

#include "../base/cmi_alloc.h"
#include "machine_int.h"

static bool starts_host(const struct cmi_job *j, int node)
{
	return node == 0 || j->host_id[node] != j->host_id[node - 1];
}

void host_name_add(struct cmi *m, int node, size_t *used, const char *name, size_t cap)
{
	size_t len = strnlen(name, cap - 1);

	if (!starts_host(&m->job, node))
		return;
	m->host_names = cmi_realloc(m->host_names, *used + len + 1, 1, "the job's nodes");
	memcpy(m->host_names + *used, name, len);
	m->host_names[*used + len] = 0;
	*used += len + 1;
}

const char *host_name(const struct cmi *m, int node)
{
	const char *name = m->host_names;

	for (int i = 1; i <= node; i++)
		if (starts_host(&m->job, i))
			name += strlen(name) + 1;
	return name;
}
