/* SPDX-License-Identifier: Apache-2.0 */
/* guard.c: see guard.h. */
#include "guard.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "../../base/cmi_alloc.h"
#include "../../base/cmi_env.h"
#include "../../base/die.h"
#include "machine_int.h"
#include "../host_watch.h"
#include "pulse.h"

enum {
	TCP_FLAGS_AT = 13, /* in a TCP header, where a filter of a TCP socket begins */
	TCP_SYN = 0x02,
	IP_SOURCE_AT = 12,
	LOOPBACK = 127, /* this host's own addresses are always let in */
	FIXED = 8,      /* instructions besides those for addresses */
};

/** The addresses of all hosts; the kernel's limit. */
enum { ADDRESSES_MOST = (BPF_MAXINSNS - FIXED) / 2 };

static const struct sock_filter ACCEPT = BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
				DROP = BPF_STMT(BPF_RET | BPF_K, 0);

size_t guard_program(const unsigned *address, size_t n, struct sock_filter *f)
{
	size_t at = 0;

	f[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_B | BPF_ABS, TCP_FLAGS_AT);
	f[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, TCP_SYN, 1, 0);
	f[at++] = ACCEPT;
	f[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					       (unsigned)SKF_NET_OFF + IP_SOURCE_AT);
	for (size_t i = 0; i < n; i++) {
		f[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, address[i], 0, 1);
		f[at++] = ACCEPT;
	}
	f[at++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 24);
	f[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, LOOPBACK, 1, 0);
	f[at++] = DROP;
	f[at++] = ACCEPT;
	return at;
}

static int compare_addresses(const void *a, const void *b)
{
	const unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return (x > y) - (x < y);
}

static size_t sort_unique(unsigned *address, size_t n)
{
	size_t out = 0;

	qsort(address, n, sizeof *address, compare_addresses);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || address[i] != address[i - 1])
			address[out++] = address[i];
	return out;
}

/** Whether a listening port occurs in the address of one of our PEs, as UCX wrote it. */
static bool is_of_ucx(const struct cmi *m, uint16_t port)
{
	const struct wire_addresses *a = &m->addresses;
	const unsigned begin = a->at[m->job.my_first_pe],
		       end = a->at[m->job.my_first_pe + m->job.my_n_pes];

	return memmem(a->bytes + begin, end - begin, &port, sizeof port) != NULL;
}

/** The port, in network order, of a TCP socket that listens at an IPv4 address; 0: it does not. */
static uint16_t listens(int fd)
{
	struct sockaddr_in at;
	socklen_t len = sizeof at, size = sizeof(int);
	int yes = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &yes, &size) || !yes ||
	    getsockname(fd, (struct sockaddr *)&at, &len) || at.sin_family != AF_INET)
		return 0;
	return at.sin_port;
}

static void guard_socket(struct cmi *m, int fd, const struct sock_fprog *program)
{
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, program, sizeof *program))
		machine_die(m, "node %d cannot guard its TCP ports: %s; without CK_GUARD anybody may connect",
			    m->job.node, strerror(errno));
}

static void guard_all(struct cmi *m, const struct sock_fprog *program)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;

	if (!dir)
		machine_die(m, "node %d cannot guard its TCP ports: /proc/self/fd: %s", m->job.node,
			    strerror(errno));
	while ((entry = readdir(dir))) {
		int fd = atoi(entry->d_name);
		uint16_t port = entry->d_name[0] == '.' ? 0 : listens(fd);

		if (port && is_of_ucx(m, port))
			guard_socket(m, fd, program);
	}
	closedir(dir);
}

void guard_start(struct cmi *m)
{
	struct sock_filter *f;
	struct sock_fprog program;
	unsigned *address;
	size_t n;

	if (!cmi_env_flag("CK_GUARD", m->job.sealed) || !spans_hosts(m))
		return;
	if (!m->pulse)
		cmi_env_refuse(
			"CK_GUARD", "1",
			"0 where CK_PEER_TIMEOUT is 0: heartbeats bring the hosts' addresses");
	address = pulse_addresses(m, &n);
	n = sort_unique(address, n);
	if (n > ADDRESSES_MOST)
		machine_die(
			m,
			"CK_GUARD=1 cannot guard a job whose hosts have %zu addresses; the kernel takes %d",
			n, ADDRESSES_MOST);
	f = cmi_alloc_zero(2 * n + FIXED, sizeof *f, "the guard of ports");
	program = (struct sock_fprog){.len = (unsigned short)guard_program(address, n, f), .filter = f};
	guard_all(m, &program);
	free(f);
	free(address);
}

const struct host_watch guard_host_watch = { .started = guard_start };
