/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_mem.c: makes, maps and hands out the nodes' segments of message memory.
 *
 * The segments of a host lie one after the other in one sparse memfd, which each of its nodes maps
 * as a whole: untouched pages cost nothing, and no name can be left behind. The first node makes
 * the file, the others open it through /proc/PID/fd/FD. A node that cannot map it has a private
 * segment, and reaches the others through the network.
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
#include "../tools/cmi_space.h"
#include "share_int.h"

enum { PAGE = 4096 };

/* Address space per segment: as much as the machine has memory, so that memory runs out first. All
 * segments of a host together must fit into the 47 bits of a process. */
static const uint64_t SEGMENT_MOST = (uint64_t)1 << 40, HOST_MOST = (uint64_t)1 << 45;
static const uint64_t SEGMENT_LEAST = (uint64_t)CMI_SPACE_GIB << 30;

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

static size_t all_bytes(const struct share *s)
{
	return (size_t)((uint64_t)s->n_local * s->segment);
}

int share_open(struct cmi *m, bool offer)
{
	struct share *s = cmi_alloc_zero(1, sizeof *s, "message memory");

	m->share = s;
	s->one_process = m->o.net && m->o.net->shared;
	set_segment(s, segment_bytes());
	/* Before it is known whether this is the first node. */
	s->name.fd = offer && !s->one_process ? memfd_create("chard", MFD_CLOEXEC) : -1;
	if (s->name.fd >= 0 || s->one_process) {
		s->name.pid = getpid();
		s->name.bytes = s->segment;
	}
	return 0;
}

const struct share_name *share_name(const struct share *s)
{
	return &s->name;
}

/* Whether a node of the job and this one use the same file. */
static bool is_with_us(const struct cmi *m, int node)
{
	const struct share_name *own = &m->share->names[m->job.node], *n = &m->share->names[node];

	return node == m->job.node ||
	       (m->job.host_id[node] == m->job.host_id[m->job.node] && own->pid && n->pid &&
		n->bytes == own->bytes && n->user_ns == own->user_ns);
}

/* Number the nodes that use the same file. */
static void number_nodes(struct cmi *m)
{
	struct share *s = m->share;
	const struct cmi_job *j = &m->job;

	s->number = cmi_alloc_zero((size_t)j->n_nodes, sizeof *s->number, "message memory");
	s->n_pes = cmi_alloc_zero((size_t)j->n_nodes, sizeof *s->n_pes, "message memory");
	for (int node = j->n_nodes - 1; node >= 0; node--)
		s->first = is_with_us(m, node) ? node : s->first;
	for (int node = 0; node < j->n_nodes; node++) {
		s->number[node] = is_with_us(m, node) ? s->n_local++ : -1;
		if (s->number[node] >= 0)
			s->n_pes[s->number[node]] = j->first_pe[node + 1] - j->first_pe[node];
	}
	s->me = s->number[j->node];
	while (all_bytes(s) > HOST_MOST)
		set_segment(s, s->segment / 2);
}

/* The first node has the file open. -1: this node cannot open it, because a container hides /proc,
 * say. */
static int open_file(const struct cmi *m)
{
	const struct share *s = m->share;
	const struct share_name *first = &s->names[s->first];

	return s->first == m->job.node ? s->name.fd : fd_of_process(first->pid, first->fd, O_RDWR);
}

/* Each node that maps the file makes it large enough, so none needs to be the first to map it. */
static char *map_file(const struct cmi *m)
{
	const size_t all = all_bytes(m->share);
	int fd = open_file(m);
	char *base = fd < 0 || ftruncate(fd, (off_t)all) ? MAP_FAILED :
		     mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);

	if (fd >= 0 && fd != m->share->name.fd)
		close(fd);
	return base == MAP_FAILED ? NULL : base;
}

/* The segments of all nodes that are with us, if there is anything to map them from. */
static bool map_common(struct cmi *m)
{
	struct share *s = m->share;

	if (!s->name.pid)
		return false;
	s->base = s->one_process ? loop_net_room(m->o.net, all_bytes(s)) : map_file(m);
	s->common = s->base != NULL;
	/* The first node's stays open until all have opened it. */
	if (s->name.fd >= 0 && s->first != m->job.node) {
		close(s->name.fd);
		s->name.fd = -1;
	}
	return s->common;
}

/* A private segment, for a node that no other one of its host reaches. Where address space is short
 * (a limit, valgrind) it is a small one. */
static int map_alone(struct cmi *m)
{
	struct share *s = m->share;
	void *base;

	for (int node = 0; node < m->job.n_nodes; node++)
		s->number[node] = node == m->job.node ? 0 : -1;
	s->n_local = 1;
	s->me = 0;
	s->n_pes[0] = m->o.n_pes;
	do {
		base = mmap(NULL, s->segment, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (base != MAP_FAILED)
			break;
		set_segment(s, s->segment / 2);
	} while (s->segment >= SEGMENT_LEAST);
	s->base = base == MAP_FAILED ? NULL : base;
	return s->base ? 0 : -errno;
}

/* Relaxed, both: others read only after the fence of the second meeting. */
static void tell_mapped(struct cmi *m)
{
	const struct share *s = m->share;
	struct share_head *host = share_head_of(s, 0);

	atomic_store_explicit(&host->mapped[s->me], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&host->n_mapped, 1, memory_order_relaxed);
	m->frames = &host->frames;
}

int share_map(struct cmi *m, const struct share_name *names)
{
	struct share *s = m->share;
	const struct cmi_job *j = &m->job;
	size_t head, lines = (size_t)m->o.n_pes * sizeof(struct share_line);
	int rc = 0;

	s->names = cmi_alloc_zero((size_t)j->n_nodes, sizeof *s->names, "message memory");
	memcpy(s->names, names, (size_t)j->n_nodes * sizeof *names);
	number_nodes(m);
	if (!map_common(m))
		rc = s->one_process ? -errno : map_alone(m);
	if (rc) {
		machine_say("node %d has no address space for its messages: %s; raise its limit (ulimit "
			    "-v; it needs %d GiB)", j->node, strerror(-rc), CMI_SPACE_GIB);
		return rc;
	}
	s->own = s->base + (uint64_t)s->me * s->segment;
	/* The same on all nodes of the host, because n_local is. */
	head = sizeof(struct share_head) + (size_t)s->n_local;
	s->lines_at = (head + SHARE_LINE - 1) / SHARE_LINE * SHARE_LINE;
	atomic_store_explicit(&share_head_of(s, s->me)->used, (s->lines_at + lines + PAGE) / PAGE * PAGE,
			      memory_order_relaxed);
	tell_mapped(m);
	return 0;
}

/* Some have not mapped the file: those are not reached. */
static void look_at_each(const struct cmi *m)
{
	struct share *s = m->share;

	for (int node = 0; node < m->job.n_nodes; node++) {
		int k = s->number[node];

		if (k < 0 || node == m->job.node)
			continue;
		if (atomic_load_explicit(&share_head_of(s, 0)->mapped[k], memory_order_relaxed))
			s->any = true;
		else
			s->number[node] = -1;
	}
}

/* Relaxed, as mapped: ordered by the fence. In one process the first node may not have counted
 * itself yet; if a node lacks the memory, that job does not start. */
void share_agree(struct cmi *m)
{
	struct share *s = m->share;

	s->all = s->one_process ||
		 atomic_load_explicit(&share_head_of(s, 0)->n_mapped, memory_order_relaxed) ==
			 (uint32_t)s->n_local;
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
	if (s->own)
		__asan_unpoison_memory_region(s->own, share_head_of(s, s->me)->used);
}
#else
static inline void in_bounds_again(const struct share *s) { (void)s; }
#endif

void share_forked(const struct share *s)
{
	if (s->common)
		(void)mprotect(s->base, all_bytes(s), PROT_READ);
}

bool share_holds(const struct share *s, const void *at)
{
	return s->common && (uintptr_t)at - (uintptr_t)s->base < all_bytes(s);
}

void share_close(struct cmi *m)
{
	struct share *s = m->share;

	if (!s)
		return;
	in_bounds_again(s);
	m->frames = NULL;
	if (s->base && !s->one_process)
		munmap(s->base, all_bytes(s));
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
	return !madvise(p, bytes, s->common ? MADV_REMOVE : MADV_DONTNEED);
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

/* release: pairs with the acquire of those who look, who then see what p points to. */
void share_show(const struct cmi_pe *w, const void *p)
{
	const struct share *s = w->m->share;

	atomic_store_explicit(&share_line_of(s, s->me, w->local)->shown, share_ref_of(s, p),
			      memory_order_release);
}

void *share_shown(const struct cmi_pe *w, int pe)
{
	const struct share *s = w->m->share;
	const struct cmi_job *j = &w->m->job;
	const int node = j->node_of[pe];
	uint64_t ref;

	if (!share_reaches(s, node))
		return NULL;
	ref = atomic_load_explicit(&share_line_of(s, s->number[node], pe - j->first_pe[node])->shown,
				   memory_order_acquire);
	return ref ? share_msg_of(s, ref) : NULL;
}

uint64_t share_used(const struct share *s, int node)
{
	return share_reaches(s, node) ?
	       atomic_load_explicit(&share_head_of(s, s->number[node])->used, memory_order_relaxed) : 0;
}

struct cmi_dial *share_dial(const struct cmi *m, int pe)
{
	const struct share *s = m->share;
	const struct cmi_job *j = &m->job;
	const int node = j->node_of[pe];

	if (!share_reaches(s, node))
		return NULL;
	return &share_line_of(s, s->number[node], pe - j->first_pe[node])->dial;
}

const void *share_ptr(const struct share *s, uint64_t ref)
{
	return share_msg_of(s, ref);
}

bool share_fits(const struct share *s, uint64_t ref, size_t bytes)
{
	uint64_t room = 0;

	return s->any && share_has(s, ref, &room) && bytes <= room;
}
