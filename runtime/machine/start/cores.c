/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cores.c: see cores.h. All nodes of a host must come to the same number, because PEs that share
 * cores meet in another way than those that do not. So each node publishes what it may use.
 */
#include "cores.h"

#include <sched.h>

#include "../base/cmi_alloc.h"
#include "../base/cmi_env.h"
#include "../tools/cmi_hash.h"

enum { CORES_MOST = 65535 };

struct cores_name cores_look(void)
{
	const int64_t asked = cmi_env_number("CK_CORES", 0, 1, CORES_MOST);
	struct cores_name name = { .n = (uint32_t)asked };
	cpu_set_t set;

	if (asked)
		return name;
	if (sched_getaffinity(0, sizeof set, &set)) {
		name.n = 1; /* more processors than a cpu_set_t holds */
		return name;
	}
	name.n = (uint32_t)CPU_COUNT(&set);
	name.set = cmi_hash(CMI_HASH_START, &set, sizeof set);
	return name;
}

void cores_add(struct cores *c, const struct cores_name *one)
{
	for (int i = 0; i < c->n_sets; i++)
		if (c->sets[i].set == one->set)
			return;
	CMI_ONE_MORE(c->sets, c->n_sets, c->cap, "the host's cores");
	c->sets[c->n_sets++] = *one;
	c->n += (int)one->n;
}
