/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind.c: bind PEs to cores or sockets.
 *
 * The PEs of a host are numbered over its nodes; PE k of the host gets core k of those that this
 * process may use. When there are more PEs than cores nobody is bound: two PEs on one core while
 * another is free is worse than what the kernel does by itself. By default a host's only PE is not
 * bound either, so that independent programs of one PE do not pile up on core 0; nor are the nodes
 * of a loopback net, which are tests, and the PEs of a host program, which has its own plans for its cores.
 */
#include "bind.h"

#include <errno.h>
#include <hwloc.h>
#include <hwloc/glibc-sched.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmi_alloc.h"
#include "cmi_env.h"
#include "exchange.h"
#include "machine_int.h"
#include "say.h"

/** What the user wants; ckrun's --bind arrives as CK_BIND. Without his word: cores, where that helps. */
static enum bind_kind choose_kind(const struct cmi *m)
{
	static const char *const words[] = {
		[BIND_CORE] = "core", [BIND_SOCKET] = "socket", [BIND_NONE] = "none",
	};
	enum bind_kind otherwise = m->o.net || m->o.guest || m->job.pes_on_host == 1 ? BIND_NONE : BIND_CORE;

	return (enum bind_kind)cmi_env_word("CK_BIND", words, 3, (int)otherwise);
}

/** Open a topology without hwloc's plugins. They look for graphics and I/O devices, and loading them takes
 * 3 ms, three times as long as all the rest. Only a variable keeps them out. */
static int topology_init(hwloc_topology_t *t_p)
{
	static const char VARIABLE[] = "HWLOC_PLUGINS_PATH";
	bool ours = !getenv(VARIABLE);
	int rc;

	if (ours)
		setenv(VARIABLE, "", 1);
	rc = hwloc_topology_init(t_p);
	if (ours)
		unsetenv(VARIABLE);
	return rc;
}

/** Load cores and sockets, but no caches, I/O or distances: every node pays for it when it starts. */
static int topology_load(hwloc_topology_t *t_p)
{
	hwloc_topology_t t;

	if (topology_init(&t))
		return -ENOMEM;
	hwloc_topology_set_all_types_filter(t, HWLOC_TYPE_FILTER_KEEP_NONE);
	hwloc_topology_set_type_filter(t, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
	hwloc_topology_set_type_filter(t, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL);
#if HWLOC_API_VERSION >= 0x00020800
	hwloc_topology_set_flags(t, HWLOC_TOPOLOGY_FLAG_NO_DISTANCES |
					    HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS |
					    HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS);
#endif
	if (hwloc_topology_load(t)) {
		hwloc_topology_destroy(t);
		return -EIO;
	}
	*t_p = t;
	return 0;
}

/** Keep what this process may use of each core (or socket), in the topology's order. */
static void collect_sets(struct binding *p, hwloc_topology_t t, const cpu_set_t *allowed)
{
	hwloc_obj_type_t type = p->kind == BIND_CORE ? HWLOC_OBJ_CORE : HWLOC_OBJ_PACKAGE;
	int n = hwloc_get_nbobjs_by_type(t, type);
	cpu_set_t *sets = cmi_alloc_zero(n > 0 ? (size_t)n : 1, sizeof *sets, "the host's cores");

	for (int i = 0; i < n; i++) {
		cpu_set_t *s = &sets[p->n_sets];
		hwloc_obj_t object = hwloc_get_obj_by_type(t, type, (unsigned)i);

		hwloc_cpuset_to_glibc_sched_affinity(t, object->cpuset, s, sizeof *s);
		CPU_AND(s, s, allowed);
		if (CPU_COUNT(s) > 0)
			p->n_sets++;
	}
	p->sets = sets;
}

void bind_open(struct cmi *m)
{
	struct binding *p = &m->binding;
	hwloc_topology_t t;
	cpu_set_t allowed;

	p->kind = choose_kind(m);
	if (p->kind == BIND_NONE)
		return;
	if (sched_getaffinity(0, sizeof allowed, &allowed) || topology_load(&t)) {
		/* There are more processors than cpu_set_t holds, or there is no /sys. */
		p->kind = BIND_NONE;
		return;
	}
	collect_sets(p, t, &allowed);
	hwloc_topology_destroy(t);
	if (p->kind == BIND_CORE && m->job.pes_on_host > p->n_sets) {
		if (m->o.verbose)
			machine_say("node %d: %d PEs on %s, %d cores to use: not binding",
				    m->job.node, m->job.pes_on_host,
				    exchange_host_name(m, m->job.node),
				    p->n_sets);
		p->kind = BIND_NONE;
	}
	if (p->n_sets == 0)
		p->kind = BIND_NONE;
	if (m->o.guest && p->kind != BIND_NONE) {
		p->before = cmi_alloc(sizeof allowed, "the host's cores");
		memcpy(p->before, &allowed, sizeof allowed);
	}
}

void bind_close(struct binding *p)
{
	if (p->before)
		sched_setaffinity(0, sizeof(cpu_set_t), p->before);
	free(p->before);
	free(p->sets);
}

/** Write the set's processors as "0,2-5". */
static void set_print(const cpu_set_t *s, char *text, size_t cap)
{
	size_t used = 0;

	text[0] = 0;
	for (int cpu = 0; cpu < CPU_SETSIZE && used < cap; cpu++) {
		int first = cpu;

		if (!CPU_ISSET(cpu, s))
			continue;
		while (cpu + 1 < CPU_SETSIZE && CPU_ISSET(cpu + 1, s))
			cpu++;
		used += (size_t)snprintf(text + used, cap - used,
					 first == cpu ? "%s%d" : "%s%d-%d", used ? "," : "",
					 first, cpu);
	}
}

void bind_thread(struct cmi *m, int local)
{
	const struct binding *p = &m->binding;
	int on_host = m->job.first_on_host + local, k;
	const cpu_set_t *s;
	char text[64] = "unbound";

	if (p->kind != BIND_NONE) {
		k = on_host % p->n_sets;
		if (p->kind == BIND_SOCKET) /* neighbours on one socket, sockets filled evenly */
			k = (int)((long)on_host * p->n_sets / m->job.pes_on_host);
		s = (const cpu_set_t *)p->sets + k;
		if (sched_setaffinity(0, sizeof *s, s) == 0)
			set_print(s, text + sprintf(text, "cpu "), sizeof text - 4);
	}
	if (m->o.verbose)
		machine_say("PE %d: node %d on %s, %s", m->job.my_first_pe + local, m->job.node,
			    exchange_host_name(m, m->job.node), text);
}
