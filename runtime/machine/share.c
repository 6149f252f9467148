/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share.c: see share.h. Memory of this host as one process sees it:
 *
 *   base + 0 * SEGMENT    segment of the host's first node
 *   base + 1 * SEGMENT    ...of its second
 *
 *   a segment:  | share_head | line of PE 0 | PE 1 | ... | message memory, bump-allocated -> |
 *
 * A segment is a sparse memfd: what is not touched costs nothing, and nothing has a name that
 * could be left behind. Others open it through /proc/PID/fd/FD.
 *
 * A reference is the node's number on the host (16 bits) and the offset in its segment
 * (48 bits); 0, which is a share_head, is none. In a block on a stack the `next` link of the
 * message holds a reference instead of a pointer.
 */
#include "machine_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	LINE = 64,
	PAGE = 4096,
	OFFSET_BITS = 48,
	/* Polls that find messages for one that also takes blocks back. */
	RETURNS_PERIOD = 16,
	/* Handler number of a put by message: the machine's own, no scheduler has so many. */
	PUT_HANDLER = UINT16_MAX,
};

/* Address space per segment: as much as the machine has memory, so that memory ends first;
 * and all segments of a host together must fit into the 47 bits of a process. */
static const uint64_t SEGMENT_MOST = (uint64_t)1 << 40, HOST_MOST = (uint64_t)1 << 45;
static const uint64_t SEGMENT_LEAST = (uint64_t)4 << 30;

struct share_head {
	_Atomic uint64_t used;      /* bump pointer; relaxed: it hands out ranges, no data */
	_Atomic uint8_t mapped[];   /* [n_local nodes]: we have mapped that one's segment */
};

/** What other processes write for one PE; each word on a line of its own, because each has
 * other writers. */
struct share_line {
	_Alignas(LINE) _Atomic uint64_t inbox;    /* references, newest first */
	_Alignas(LINE) _Atomic uint64_t returns;  /* our blocks, given back */
	_Alignas(LINE) atomic_bool sleeping;
};

/** As a put by message travels. */
struct share_put {
	struct cmi_msg head;
	struct cmi_put_head put;
	uint64_t bytes;
};
_Static_assert(sizeof(struct share_put) == 64, "the body starts on a cache line");

struct share {
	char *base;
	uint64_t segment;           /* bytes of address space per node */
	int n_local, me;            /* nodes of this host; this node's number among them */
	int *number;                /* [n_nodes]: number on the host, -1: not reached */
	struct share_name name;
	struct share_name *names;   /* [n_nodes] */
	size_t lines_at;
	char *own;                  /* base + me * segment, or the private segment */
	bool any;                   /* some other node is reached */
};

/* ---- addresses -------------------------------------------------------------------------- */

static struct share_head *head_of(const struct share *s, int number)
{
	return (struct share_head *)(void *)(s->base + (uint64_t)number * s->segment);
}

static struct share_line *line_of(const struct share *s, int number, int local)
{
	char *lines = s->base + (uint64_t)number * s->segment + s->lines_at;

	return (struct share_line *)(void *)lines + local;
}

static uint64_t ref_of(const struct share *s, const struct cmi_msg *m)
{
	uint64_t at = (uint64_t)((const char *)m - s->base);

	return at / s->segment << OFFSET_BITS | at % s->segment;
}

static struct cmi_msg *msg_of(const struct share *s, uint64_t ref)
{
	uint64_t offset = ref & (((uint64_t)1 << OFFSET_BITS) - 1);

	return (struct cmi_msg *)(void *)(s->base + (ref >> OFFSET_BITS) * s->segment + offset);
}

/* ---- open and map ------------------------------------------------------------------------- */

static uint64_t segment_bytes(void)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t bytes = (uint64_t)1 << 30;

	while (bytes < memory && bytes < SEGMENT_MOST)
		bytes *= 2;
	return bytes;
}

/* A sparse file without a name; -1 when the system gives none. */
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
	struct share *s = calloc(1, sizeof *s);

	if (!s)
		return -ENOMEM;
	m->share = s;
	s->segment = segment_bytes();
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

/* Number the nodes of this host that offer a segment of our size; ourselves first of all must
 * be among them. */
static int number_nodes(struct cmi *m)
{
	struct share *s = m->share;
	const struct cmi_job *j = &m->job;

	s->number = calloc((size_t)j->n_nodes, sizeof *s->number);
	if (!s->number)
		return -ENOMEM;
	for (int node = 0; node < j->n_nodes; node++) {
		const struct share_name *n = &s->names[node];
		bool there = j->host_id[node] == j->host_id[j->node] && n->pid &&
			     n->bytes == s->segment;

		s->number[node] = there || node == j->node ? s->n_local++ : -1;
	}
	s->me = s->number[j->node];
	return 0;
}

/* Reserve room for all segments, put ours in its place. */
static int map_own(struct cmi *m)
{
	struct share *s = m->share;
	int flags = s->name.fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
	size_t all;

	if ((uint64_t)s->n_local * s->segment > HOST_MOST)
		return -E2BIG;
	all = (size_t)((uint64_t)s->n_local * s->segment);
	s->base = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->base == MAP_FAILED)
		return -errno;
	s->own = mmap(s->base + (uint64_t)s->me * s->segment, s->segment, PROT_READ | PROT_WRITE,
		      flags | MAP_FIXED | MAP_NORESERVE, s->name.fd, 0);
	return s->own == MAP_FAILED ? -errno : 0;
}

/* Little address space (a limit, valgrind): a small private segment, and the network for all. */
static int map_alone(struct cmi *m)
{
	struct share *s = m->share;

	if (s->base && s->base != MAP_FAILED)
		munmap(s->base, (size_t)((uint64_t)s->n_local * s->segment));
	if (s->name.fd >= 0)
		close(s->name.fd);
	s->name = (struct share_name){ .fd = -1 };
	for (int node = 0; node < m->job.n_nodes; node++)
		s->number[node] = node == m->job.node ? 0 : -1;
	s->n_local = 1;
	s->me = 0;
	s->segment = SEGMENT_LEAST;
	return map_own(m);
}

/* Map another node's segment. What does not work (a container that hides /proc, say) leaves the
 * pair to the network. */
static bool map_other(struct share *s, int number, const struct share_name *n)
{
	char path[64];
	void *p;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/fd/%d", n->pid, n->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return false;
	p = mmap(s->base + (uint64_t)number * s->segment, s->segment, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, 0);
	close(fd);
	return p != MAP_FAILED;
}

int share_map(struct cmi *m, const struct share_name *names)
{
	struct share *s = m->share;
	const struct cmi_job *j = &m->job;
	size_t head, lines = (size_t)m->o.n_pes * sizeof(struct share_line);
	int rc;

	s->names = calloc((size_t)j->n_nodes, sizeof *s->names);
	if (!s->names)
		return -ENOMEM;
	memcpy(s->names, names, (size_t)j->n_nodes * sizeof *names);
	rc = number_nodes(m);
	if (!rc && map_own(m))
		rc = map_alone(m);
	if (rc) {
		machine_say("node %d has no address space for its messages: %s", j->node,
			    strerror(-rc));
		return rc;
	}
	/* The same on all nodes of the host, because n_local is. */
	head = sizeof(struct share_head) + (size_t)s->n_local;
	s->lines_at = (head + LINE - 1) / LINE * LINE;
	atomic_store_explicit(&head_of(s, s->me)->used, (s->lines_at + lines + PAGE) / PAGE * PAGE,
			      memory_order_relaxed);
	for (int node = 0; s->name.pid && node < j->n_nodes; node++)
		if (node != j->node && s->number[node] >= 0 &&
		    map_other(s, s->number[node], &s->names[node]))
			/* Relaxed: read by others only after the fence of the second meeting. */
			atomic_store_explicit(&head_of(s, s->me)->mapped[s->number[node]], 1,
					      memory_order_relaxed);
	return 0;
}

void share_agree(struct cmi *m)
{
	struct share *s = m->share;

	for (int node = 0; node < m->job.n_nodes; node++) {
		int k = s->number[node];

		if (k < 0 || node == m->job.node)
			continue;
		if (!head_of(s, s->me)->mapped[k] || !head_of(s, k)->mapped[s->me])
			s->number[node] = -1;
		else
			s->any = true;
	}
	if (m->o.verbose && s->any && m->job.node == 0)
		machine_say("messages between nodes of one host pass by reference");
}

bool share_reaches(const struct share *s, int node)
{
	return s->number[node] >= 0;
}

void share_close(struct cmi *m)
{
	struct share *s = m->share;

	if (!s)
		return;
	if (s->base && s->base != MAP_FAILED)
		munmap(s->base, (size_t)((uint64_t)s->n_local * s->segment));
	if (s->name.fd >= 0)
		close(s->name.fd);
	free(s->number);
	free(s->names);
	free(s);
	m->share = NULL;
}

void *share_alloc(struct share *s, size_t bytes)
{
	size_t align = bytes >= PAGE ? PAGE : LINE;
	_Atomic uint64_t *used = &head_of(s, s->me)->used;
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

/* ---- the stacks ----------------------------------------------------------------------------- */

/* A block goes from one of our threads to another by way of another process, which the thread
 * sanitizer does not see: what we push happens before what is taken at the same address. */
#ifdef __SANITIZE_THREAD__
void __tsan_release(void *addr);
void __tsan_acquire(void *addr);
static void tell_pushed(struct cmi_msg *m) { __tsan_release(m); }
static void tell_taken(struct cmi_msg *m) { __tsan_acquire(m); }
#else
static inline void tell_pushed(struct cmi_msg *m) { (void)m; }
static inline void tell_taken(struct cmi_msg *m) { (void)m; }
#endif

/* The message's bytes, its link among them, were written before; the exchange is seq_cst: as a
 * release it makes them visible to the acquire in take(), and with the load of `sleeping`
 * after it, it is one half of the handshake in share_sleep_begin. */
static void push(_Atomic uint64_t *stack, struct cmi_msg *m, uint64_t ref)
{
	uint64_t top = atomic_load_explicit(stack, memory_order_relaxed);

	do {
		m->next = (struct cmi_msg *)(uintptr_t)top;
		tell_pushed(m);
	} while (!atomic_compare_exchange_weak_explicit(stack, &top, ref, memory_order_seq_cst,
							memory_order_relaxed));
}

/* Acquire: pairs with push. Relaxed first: nearly always there is nothing. */
static uint64_t take(_Atomic uint64_t *stack)
{
	if (!atomic_load_explicit(stack, memory_order_relaxed))
		return 0;
	return atomic_exchange_explicit(stack, 0, memory_order_acquire);
}

/* ---- sleep and wake --------------------------------------------------------------------------- */

/* Sockets in the abstract namespace: no file, gone with the process. */
static socklen_t address_of(struct sockaddr_un *a, int pid, int local)
{
	int n;

	memset(a, 0, sizeof *a);
	a->sun_family = AF_UNIX;
	n = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "chard.%d.%d", pid, local);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

int share_pe_open(struct cmi *m, int local)
{
	struct sockaddr_un a;
	socklen_t len = address_of(&a, getpid(), local);
	int fd;

	if (!m->share->name.pid || m->share->n_local < 2)
		return -1;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&a, len)) {
		close(fd);
		fd = -1;
	}
	return fd; /* without one, others' messages wait for the end of a nap */
}

static __attribute__((noinline, cold)) void wake(struct cmi_pe *w, int node, int local,
						 struct share_line *line)
{
	struct sockaddr_un a;
	socklen_t len = address_of(&a, w->m->share->names[node].pid, local);

	/* Relaxed: only to let one sender do it; to wake twice would do no harm. */
	atomic_store_explicit(&line->sleeping, false, memory_order_relaxed);
	if (w->wake_socket >= 0)
		sendto(w->wake_socket, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&a,
		       len);
}

/* seq_cst store and load: they pair with the exchange in push and the load behind it; either
 * the sender sees that we sleep, or we see its message. */
bool share_sleep_begin(struct cmi_pe *w)
{
	struct share *s = w->m->share;
	struct share_line *line;

	if (!s->any)
		return true;
	line = line_of(s, s->me, w->local);
	atomic_store_explicit(&line->sleeping, true, memory_order_seq_cst);
	if (!atomic_load_explicit(&line->inbox, memory_order_seq_cst))
		return true;
	share_sleep_end(w);
	return false;
}

void share_sleep_end(struct cmi_pe *w)
{
	struct share *s = w->m->share;
	char drop[16];

	if (!s->any)
		return;
	atomic_store_explicit(&line_of(s, s->me, w->local)->sleeping, false,
			      memory_order_relaxed);
	while (w->wake_socket >= 0 && recv(w->wake_socket, drop, sizeof drop, MSG_DONTWAIT) >= 0)
		;
}

/* ---- messages ---------------------------------------------------------------------------------- */

void share_will_send(struct cmi_pe *w, int dst_pe)
{
	struct share *s = w->m->share;
	const struct cmi_job *j = &w->m->job;
	int node = j->node_of[dst_pe];

	__builtin_prefetch(&line_of(s, s->number[node], dst_pe - j->first_pe[node])->inbox, 1);
}

void share_send(struct cmi_pe *w, int dst_pe, struct cmi_msg *m)
{
	struct share *s = w->m->share;
	const struct cmi_job *j = &w->m->job;
	int node = j->node_of[dst_pe], local = dst_pe - j->first_pe[node];
	struct share_line *line = line_of(s, s->number[node], local);

	push(&line->inbox, m, ref_of(s, m));
	if (__builtin_expect(atomic_load_explicit(&line->sleeping, memory_order_seq_cst), 0))
		wake(w, node, local, line);
}

bool share_put_am(struct cmi_pe *w, int dst_pe, const struct cmi_put_head *h, const void *src,
		  size_t bytes)
{
	struct share_put *p =
		(struct share_put *)w->m->client.msg_alloc(w->owner, sizeof *p + bytes);

	p->head.handler = PUT_HANDLER;
	p->head.src_pe = w->pe;
	p->put = *h;
	p->bytes = bytes;
	if (bytes)
		memcpy(p + 1, src, bytes);
	share_send(w, dst_pe, &p->head);
	return true;
}

void share_give_back(struct cmi *m, struct cmi_msg *msg)
{
	struct share *s = m->share;
	uint64_t ref = ref_of(s, msg);

	push(&line_of(s, (int)(ref >> OFFSET_BITS), msg->home)->returns, msg, ref);
}

static void arrived(struct cmi_pe *w, struct cmi_msg *m)
{
	const struct share_put *p = (const struct share_put *)m;

	m->next = NULL;
	m->origin = CMI_ORIGIN_SHARED;
	if (__builtin_expect(m->handler != PUT_HANDLER, 1)) {
		w->m->client.msg_arrived(w->owner, m);
		return;
	}
	w->m->client.put_arrived(w->owner, m->src_pe, &p->put, p + 1, p->bytes);
	share_give_back(w->m, m);
}

/* A stack gives the newest first: turn it round, then deliver. */
static int deliver(struct cmi_pe *w, uint64_t ref)
{
	struct share *s = w->m->share;
	struct cmi_msg *in_order = NULL;
	int n = 0;

	while (ref) {
		struct cmi_msg *m = msg_of(s, ref);

		tell_taken(m);
		ref = (uint64_t)(uintptr_t)m->next;
		m->next = in_order;
		in_order = m;
	}
	for (struct cmi_msg *m = in_order, *next; m; m = next, n++) {
		next = m->next;
		arrived(w, m);
	}
	return n;
}

static void take_back(struct cmi_pe *w, uint64_t ref)
{
	while (ref) {
		struct cmi_msg *m = msg_of(w->m->share, ref);

		tell_taken(m);
		ref = (uint64_t)(uintptr_t)m->next;
		m->origin = CMI_ORIGIN_POOL;
		w->m->client.msg_free(w->owner, m);
	}
}

int share_progress(struct cmi_pe *w)
{
	struct share *s = w->m->share;
	struct share_line *line;
	uint64_t ref;
	int n = 0;

	if (!s->any)
		return 0;
	line = line_of(s, s->me, w->local);
	if ((ref = take(&line->inbox)))
		n = deliver(w, ref);
	/* To take a block back touches lines that another core holds: not while a message that
	 * has just come waits for its handler, except now and then. */
	if (n && ++w->n_late_returns % RETURNS_PERIOD)
		return n;
	if ((ref = take(&line->returns)))
		take_back(w, ref);
	return n;
}
