/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind.c: bind PEs to cores or sockets.
 *
 * The PEs of a host are numbered over its nodes; PE k of the host gets core k of those that this
 * process may use. If there are more PEs than cores, no PE is bound: two PEs on one core while
 * another is free is worse than what the kernel does by itself. By default these are not bound
 * either: the only PE of a host (independent programs of one PE would pile up on core 0), the nodes
 * of a loopback net (tests), and the PEs of a host program, which makes its own use of the cores.
 *
 * A core that another job uses is skipped: each bound PE owns the abstract socket named after its
 * core, which the kernel gives to one process at a time and takes back when the process ends. PEs
 * for which no core is left are not bound. Programs that are not Chard jobs are noticed later: a PE
 * that repeatedly waits for its core is unbound (bind_look). Both apply only while CK_BIND is
 * unset; with CK_BIND the PE gets core k if no other is free, and stays there.
 */
#include "bind.h"

#include <errno.h>
#include <fcntl.h>
#include <hwloc.h>
#include <hwloc/glibc-sched.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cmi_alloc.h"
#include "base/cmi_env.h"
#include "start/host_names.h"
#include "machine_int.h"
#include "base/say.h"

/** The user's choice; ckrun's --bind arrives as CK_BIND. The default is cores, where that helps. */
static enum bind_kind choose_kind(const struct cmi *m)
{
	static const char *const words[] = {
		[BIND_CORE] = "core", [BIND_SOCKET] = "socket", [BIND_NONE] = "none",
	};
	enum bind_kind otherwise =
		m->o.net || m->o.guest || m->job.pes_on_host == 1 ? BIND_NONE : BIND_CORE;

	return (enum bind_kind)cmi_env_word("CK_BIND", words, 3, (int)otherwise);
}

/** Open a topology without hwloc's plugins, which look for graphics and I/O devices. Loading them
 * takes 3 ms, three times as long as everything else. Only an environment variable prevents it. */
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

/** Load cores and sockets, but no caches, I/O or distances: every node pays for them at start. */
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
	p->asked = getenv("CK_BIND") != NULL;
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
				    host_name(m, m->job.node),
				    p->n_sets);
		p->kind = BIND_NONE;
	}
	if (p->n_sets == 0)
		p->kind = BIND_NONE;
	if (p->kind == BIND_NONE)
		return;
	p->allowed = cmi_alloc(sizeof allowed, "the host's cores");
	memcpy(p->allowed, &allowed, sizeof allowed);
	p->pes = cmi_alloc_zero((size_t)m->job.my_n_pes, sizeof *p->pes, "the host's cores");
	for (int i = 0; i < m->job.my_n_pes; i++)
		p->pes[i].lock = -1;
}

void bind_close(struct cmi *m)
{
	struct binding *p = &m->binding;

	for (int i = 0; p->pes && i < m->job.my_n_pes; i++)
		if (p->pes[i].lock >= 0)
			close(p->pes[i].lock);
	if (p->allowed && m->o.guest)
		sched_setaffinity(0, sizeof(cpu_set_t), p->allowed);
	free(p->pes);
	free(p->allowed);
	free(p->sets);
}

/* ---- cores that others have taken ------------------------------------------------------------ */

static int first_cpu(const cpu_set_t *s)
{
	int cpu = 0;

	while (!CPU_ISSET(cpu, s))
		cpu++;
	return cpu;
}

/** Returns a descriptor, -EADDRINUSE if another PE has the core, or another error if this system
 * has no such names. */
static int take_name(const cpu_set_t *core)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	const int n = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "chard-core-%d",
			       first_cpu(core));
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rc;

	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)&name,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

/** The first free core from k on; -1: none is free. Cores without names count as free. */
static int free_core(const struct binding *p, int k, int *lock)
{
	for (int i = 0; i < p->n_sets; i++) {
		const int at = (k + i) % p->n_sets;

		*lock = take_name((const cpu_set_t *)p->sets + at);
		if (*lock != -EADDRINUSE)
			return at;
	}
	return -1;
}

static int core_of(const struct binding *p, int on_host, struct bound *pe)
{
	const int k = on_host % p->n_sets;
	int at = free_core(p, k, &pe->lock);

	if (pe->lock < 0)
		pe->lock = -1;
	return at < 0 && p->asked ? k : at;
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

/** The PE's core or socket; -1: no core is free. */
static int set_of(struct cmi *m, int local)
{
	const struct binding *p = &m->binding;
	const int on_host = m->job.first_on_host + local;

	if (p->kind == BIND_SOCKET) /* neighbours on one socket, sockets filled evenly */
		return (int)((long)on_host * p->n_sets / m->job.pes_on_host);
	return core_of(p, on_host, &p->pes[local]);
}

void bind_thread(struct cmi *m, int local)
{
	const struct binding *p = &m->binding;
	char text[96] = "unbound";

	if (p->kind != BIND_NONE) {
		const int k = set_of(m, local);
		const cpu_set_t *s = k < 0 ? NULL : (const cpu_set_t *)p->sets + k;

		if (!s)
			snprintf(text, sizeof text, "unbound: all %d cores are taken", p->n_sets);
		else if (sched_setaffinity(0, sizeof *s, s) == 0)
			set_print(s, text + sprintf(text, "cpu "), 60);
	}
	if (m->o.verbose)
		machine_say("PE %d: node %d on %s, %s", m->job.my_first_pe + local, m->job.node,
			    host_name(m, m->job.node), text);
}

/* ---- other programs on the core -------------------------------------------------------------- */

/** How long the thread has waited for a core while it could run, in ns; UINT64_MAX: unknown. */
static uint64_t waited(void)
{
	char text[96];
	const int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	unsigned long long ran, late;

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return UINT64_MAX;
	text[n] = 0;
	return sscanf(text, "%llu %llu", &ran, &late) == 2 ? late : UINT64_MAX;
}

bool bind_look(struct cmi *m, int local, uint64_t now_ns)
{
	enum { CROWDED = 3, TENTH = 10 };

	const struct binding *p = &m->binding;
	struct bound *pe = p->pes ? &p->pes[local] : NULL;
	uint64_t late;

	if (!pe || p->asked || pe->lock < 0 || (late = waited()) == UINT64_MAX)
		return false;
	if (pe->seen_ns)
		pe->crowded = late - pe->waited_ns > (now_ns - pe->seen_ns) / TENTH ? pe->crowded + 1 : 0;
	pe->seen_ns = now_ns;
	pe->waited_ns = late;
	if (pe->crowded < CROWDED)
		return true;
	sched_setaffinity(0, sizeof(cpu_set_t), p->allowed);
	close(pe->lock);
	pe->lock = -1;
	if (m->o.verbose)
		machine_say("PE %d: other programs run on its core: unbound from now on",
			    m->job.my_first_pe + local);
	return false;
}
