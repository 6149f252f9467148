/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_mem.c: makes, maps and hands out the nodes' segments of message memory.
 *
 * A segment is a sparse memfd: untouched pages cost nothing, and no name can be left behind. Others
 * open it through /proc/PID/fd/FD.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../start/loop_net.h"
#include "machine_int.h"
#include "../base/cmi_alloc.h"
#include "../tools/fd_of.h"
#include "../base/say.h"
#include "share_int.h"

enum { PAGE = 4096 };

/* Address space per segment: as much as the machine has memory, so that memory runs out first. All
 * segments of a host together must fit into the 47 bits of a process. */
static const uint64_t SEGMENT_MOST = (uint64_t)1 << 40, HOST_MOST = (uint64_t)1 << 45;
static const uint64_t SEGMENT_LEAST = (uint64_t)4 << 30;

static uint64_t segment_bytes(void)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t bytes = (uint64_t)1 << 30;

	while (bytes < memory && bytes < SEGMENT_MOST)
		bytes *= 2;
	return bytes;
}

static void set_segment(struct share *s, uint64_t bytes)
{
	s->segment = bytes;
	s->segment_bits = __builtin_ctzll(bytes);
}

/* A sparse file without a name; -1: the system provides none. */
static int make_file(uint64_t bytes)
{
	int fd = memfd_create("chard", MFD_CLOEXEC);

	if (fd >= 0 && ftruncate(fd, (off_t)bytes)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

int share_open(struct cmi *m, bool offer)
{
	struct share *s = cmi_alloc_zero(1, sizeof *s, "message memory");

	m->share = s;
	s->one_process = m->o.net && m->o.net->shared;
	set_segment(s, segment_bytes());
	s->name.fd = offer ? make_file(s->segment) : -1;
	if (s->name.fd >= 0) {
		s->name.pid = getpid();
		s->name.bytes = s->segment;
	}
	return 0;
}

const struct share_name *share_name(const struct share *s)
{
	return &s->name;
}

/* Number the nodes of this host that offer a segment of our size, and always this node. */
static void number_nodes(struct cmi *m)
{
	struct share *s = m->share;
	const struct cmi_job *j = &m->job;

	s->number = cmi_alloc_zero((size_t)j->n_nodes, sizeof *s->number, "message memory");
	s->n_pes = cmi_alloc_zero((size_t)j->n_nodes, sizeof *s->n_pes, "message memory");
	for (int node = 0; node < j->n_nodes; node++) {
		const struct share_name *n = &s->names[node];
		bool there = j->host_id[node] == j->host_id[j->node] && n->pid &&
			     n->bytes == s->segment;

		s->number[node] = there || node == j->node ? s->n_local++ : -1;
		if (s->number[node] >= 0)
			s->n_pes[s->number[node]] = j->first_pe[node + 1] - j->first_pe[node];
	}
	s->me = s->number[j->node];
}

/* Address space for all segments. Nodes of one process share it: each maps its own segment there,
 * and finds those of the others. */
static char *share_reserve(const struct cmi *m, size_t all)
{
	char *base;

	if (m->share->one_process)
		return loop_net_room(m->o.net, all);
	base = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return base == MAP_FAILED ? NULL : base;
}

static void share_unreserve(const struct share *s)
{
	if (s->base && !s->one_process)
		munmap(s->base, (size_t)((uint64_t)s->n_local * s->segment));
}

/* Reserve the address space, and map our segment into it. */
static int map_own(struct cmi *m)
{
	struct share *s = m->share;
	int flags = s->name.fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
	size_t all;

	if ((uint64_t)s->n_local * s->segment > HOST_MOST)
		return -E2BIG;
	all = (size_t)((uint64_t)s->n_local * s->segment);
	s->base = share_reserve(m, all);
	if (!s->base)
		return -errno;
	s->own = mmap(s->base + (uint64_t)s->me * s->segment, s->segment, PROT_READ | PROT_WRITE,
		      flags | MAP_FIXED | MAP_NORESERVE, s->name.fd, 0);
	return s->own == MAP_FAILED ? -errno : 0;
}

/* Where address space is short (a limit, valgrind): a small private segment, and all messages go
 * through the network. */
static int map_alone(struct cmi *m)
{
	struct share *s = m->share;

	share_unreserve(s);
	if (s->name.fd >= 0)
		close(s->name.fd);
	s->name = (struct share_name){ .fd = -1 };
	for (int node = 0; node < m->job.n_nodes; node++)
		s->number[node] = node == m->job.node ? 0 : -1;
	s->n_local = 1;
	s->me = 0;
	s->n_pes[0] = m->o.n_pes;
	set_segment(s, SEGMENT_LEAST);
	return map_own(m);
}

/* Map another node's segment. If that fails, because a container hides /proc, say, the pair uses
 * the network. */
static bool map_other(struct share *s, int number, const struct share_name *n)
{
	void *p;
	int fd;

	if (s->one_process)
		return true; /* mapped by that node, before the fence of share_agree */
	fd = fd_of_process(n->pid, n->fd, O_RDWR);
	if (fd < 0)
		return false;
	p = mmap(s->base + (uint64_t)number * s->segment, s->segment, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, 0);
	close(fd);
	return p != MAP_FAILED;
}

/* Relaxed, both: others read only after the fence of the second meeting. Nodes of one process are
 * not counted: the first one's segment may not be mapped yet, and if a node lacks any the job does
 * not start. */
static void map_others(struct cmi *m)
{
	struct share *s = m->share;
	struct share_head *own = share_head_of(s, s->me);
	int n_mapped = 1;

	for (int node = 0; s->name.pid && node < m->job.n_nodes; node++) {
		if (node == m->job.node || s->number[node] < 0 || !map_other(s, s->number[node], &s->names[node]))
			continue;
		atomic_store_explicit(&own->mapped[s->number[node]], 1, memory_order_relaxed);
		n_mapped++;
	}
	if (n_mapped < s->n_local)
		return;
	s->all = s->one_process;
	if (!s->one_process)
		atomic_fetch_add_explicit(&share_head_of(s, 0)->n_whole, 1, memory_order_relaxed);
}

int share_map(struct cmi *m, const struct share_name *names)
{
	struct share *s = m->share;
	const struct cmi_job *j = &m->job;
	size_t head, lines = (size_t)m->o.n_pes * sizeof(struct share_line);
	int rc;

	s->names = cmi_alloc_zero((size_t)j->n_nodes, sizeof *s->names, "message memory");
	memcpy(s->names, names, (size_t)j->n_nodes * sizeof *names);
	number_nodes(m);
	rc = map_own(m);
	if (rc && !s->one_process)
		rc = map_alone(m);
	if (rc) {
		machine_say("node %d has no address space for its messages: %s; raise its limit (ulimit "
			    "-v; it needs 4 GiB)", j->node, strerror(-rc));
		return rc;
	}
	/* The same on all nodes of the host, because n_local is. */
	head = sizeof(struct share_head) + (size_t)s->n_local;
	s->lines_at = (head + SHARE_LINE - 1) / SHARE_LINE * SHARE_LINE;
	atomic_store_explicit(&share_head_of(s, s->me)->used, (s->lines_at + lines + PAGE) / PAGE * PAGE,
			      memory_order_relaxed);
	map_others(m);
	return 0;
}

/* Reading another node's segment costs two pages of page tables, in each process for each node:
 * with 512 nodes on two cores that was a quarter of the job's start-up time. */
static void look_at_each(const struct cmi *m)
{
	struct share *s = m->share;

	for (int node = 0; node < m->job.n_nodes; node++) {
		int k = s->number[node];

		if (k < 0 || node == m->job.node)
			continue;
		if (!share_head_of(s, s->me)->mapped[k] || !share_head_of(s, k)->mapped[s->me])
			s->number[node] = -1;
		else
			s->any = true;
	}
}

/* Relaxed: ordered by the fence. */
static bool all_have_all(const struct share *s)
{
	return (s->me == 0 || share_head_of(s, s->me)->mapped[0]) &&
	       atomic_load_explicit(&share_head_of(s, 0)->n_whole, memory_order_relaxed) ==
		       (uint32_t)s->n_local;
}

void share_agree(struct cmi *m)
{
	struct share *s = m->share;

	s->all = s->all || all_have_all(s);
	if (s->all)
		s->any = s->n_local > 1;
	else
		look_at_each(m);
	if (m->o.verbose && s->any && m->job.node == 0)
		machine_say("messages between nodes of one host pass through their memory");
}

/* If a pair is missing, the count is too low, which all see. */
bool share_whole(const struct cmi *m)
{
	const struct share *s = m->share;
	const struct cmi_job *j = &m->job;

	for (int node = 0; node < j->n_nodes; node++)
		if (j->host_id[node] == j->host_id[j->node] && s->number[node] < 0)
			return false;
	return s->all;
}

bool share_reaches(const struct share *s, int node)
{
	return s->number[node] >= 0;
}

int share_pid(const struct share *s, int node)
{
	return s->names[node].pid;
}

/* Relaxed, both: the kernel reports the end of the process after all that it did. */
void share_flee(const struct share *s)
{
	atomic_store_explicit(&share_head_of(s, s->me)->fled, true, memory_order_relaxed);
}

bool share_has_fled(const struct share *s, int node)
{
	return atomic_load_explicit(&share_head_of(s, s->number[node])->fled, memory_order_relaxed);
}

/* The layer above declares free memory out of bounds. That must end before it is unmapped, because
 * the addresses may be used for something else. */
#ifdef __SANITIZE_ADDRESS__
void __asan_unpoison_memory_region(void const volatile *addr, size_t size);
static void in_bounds_again(const struct share *s)
{
	if (s->own && s->own != MAP_FAILED)
		__asan_unpoison_memory_region(s->own, share_head_of(s, s->me)->used);
}
#else
static inline void in_bounds_again(const struct share *s) { (void)s; }
#endif

void share_forked(const struct share *s)
{
	if (s->name.fd >= 0)
		(void)mprotect(s->base, (size_t)((uint64_t)s->n_local * s->segment), PROT_READ);
}

bool share_holds(const struct share *s, const void *at)
{
	return s->name.fd >= 0 && (uintptr_t)at - (uintptr_t)s->base < (uint64_t)s->n_local * s->segment;
}

void share_close(struct cmi *m)
{
	struct share *s = m->share;

	if (!s)
		return;
	in_bounds_again(s);
	share_unreserve(s);
	if (s->name.fd >= 0)
		close(s->name.fd);
	free(s->number);
	free(s->n_pes);
	free(s->names);
	free(s);
	m->share = NULL;
}

void *share_alloc(struct share *s, size_t bytes)
{
	size_t align = bytes >= PAGE ? PAGE : SHARE_LINE;
	_Atomic uint64_t *used = &share_head_of(s, s->me)->used;
	uint64_t at = atomic_load_explicit(used, memory_order_relaxed), start;

	do {
		start = (at + align - 1) / align * align;
		if (bytes > s->segment - start)
			return NULL;
	} while (!atomic_compare_exchange_weak_explicit(used, &at, start + bytes,
							memory_order_relaxed,
							memory_order_relaxed));
	return s->own + start;
}

void *share_alloc_named(struct share *s, size_t bytes, uint64_t *name_p)
{
	void *p = s->any ? share_alloc(s, bytes) : NULL;

	*name_p = p ? share_name_of(s, p, bytes) : 0;
	return p;
}

/* Punch a hole in the file, for all that have mapped it; private pages are dropped. */
bool share_back(struct share *s, void *p, size_t bytes)
{
	return !madvise(p, bytes, s->name.fd >= 0 ? MADV_REMOVE : MADV_DONTNEED);
}

/* Only memory in our own segment has a name: every node that we reach has mapped that. */
uint64_t share_name_of(const struct share *s, const void *p, size_t bytes)
{
	uintptr_t at = (uintptr_t)p - (uintptr_t)s->own;

	if (!s->any || at >= s->segment || bytes > s->segment - at)
		return 0;
	return share_ref_of(s, p);
}

uint64_t share_ref(const struct share *s, int node, const void *p, size_t bytes)
{
	return share_reaches(s, node) ? share_name_of(s, p, bytes) : 0;
}

/* Nodes that reach each other number the segments of their host alike. The name came in a message;
 * it must lie in that node's segment. */
void *share_at(const struct share *s, int node, uint64_t name)
{
	const uint64_t offset = name & (((uint64_t)1 << SHARE_OFFSET_BITS) - 1);

	if (!name || !share_reaches(s, node) || offset >= s->segment ||
	    name >> SHARE_OFFSET_BITS != (uint64_t)s->number[node])
		return NULL;
	return share_msg_of(s, name);
}

const void *share_ptr(const struct share *s, uint64_t ref)
{
	return share_msg_of(s, ref);
}

bool share_fits(const struct share *s, uint64_t ref, size_t bytes)
{
	uint64_t room;

	return s->any && share_has(s, ref, &room) && bytes <= room;
}
