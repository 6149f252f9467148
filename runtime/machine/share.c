/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share.c: see share.h. The message memory of the host as one process sees it:
 *
 *   base + 0 * SEGMENT    segment of the host's first node
 *   base + 1 * SEGMENT    ...of its second
 *
 *   a segment:  | share_head | line of PE 0 | PE 1 | ... | messages, rings: bump-allocated -> |
 *
 * A segment is a sparse memfd: pages that nobody touches cost nothing, and there is no name that could
 * be left behind. Others open it through /proc/PID/fd/FD.
 *
 * A reference is the node's number on the host (16 bits) and the offset in its segment
 * (48 bits); 0, which is a share_head, is none. References are the names of messages on a stack
 * (msg_stack.h).
 */
#include "share.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "fault.h"
#include "machine_int.h"
#include "msg_local.h"
#include "msg_stack.h"
#include "ring.h"
#include "say.h"

enum {
	LINE = 64,
	PAGE = 4096,
	OFFSET_BITS = 48,
	/* Of so many polls that find messages one also takes blocks back. */
	RETURNS_PERIOD = 16,
	/* The machine's own handlers, for a put by message and for the offer of a ring. No scheduler
	 * has so many. */
	PUT_HANDLER = UINT16_MAX,
	RING_HANDLER = UINT16_MAX - 1,
	/* Rings that a PE reads, of 16 KB each; the first senders who want one get it. An empty ring costs
	 * 2 ns in every pass. */
	RINGS_MOST = 8,
	/* This size in a slot's tag, which no message has, says that the slot holds a reference. */
	SIZE_OF_REF = 0,
	/* A pair gets a ring after so many messages, because start-up and shut-down need none. */
	RING_AFTER = 16,
	/* How long a store may be under way, behind some dozen lines that other cores have. To sleep and be
	 * woken takes ten times as long. */
	SETTLE_NS = 4000,
};

/* Address space per segment: as much as the machine has memory, so that memory ends first. All segments
 * of a host together must fit into the 47 bits of a process. */
static const uint64_t SEGMENT_MOST = (uint64_t)1 << 40, HOST_MOST = (uint64_t)1 << 45;
static const uint64_t SEGMENT_LEAST = (uint64_t)4 << 30;

struct share_head {
	_Atomic uint64_t used;      /* bytes handed out; relaxed: no data goes with them */
	_Atomic uint8_t mapped[];   /* [n_local]: whether we have mapped that node's segment */
};

/** What other processes write for one PE. Words that different senders write lie on different lines. */
struct share_line {
	_Alignas(LINE) struct msg_stack inbox;    /* of references */
	_Alignas(LINE) struct msg_stack returns;  /* our blocks, given back */
	_Alignas(LINE) atomic_bool sleeping;
	atomic_int n_rings;                       /* that this PE reads, or soon will */
};

/** What follows the head of a put by message, before the bytes. */
struct share_put {
	struct cmi_put_head put;
	uint64_t bytes;
};
_Static_assert(sizeof(struct cmi_msg) + sizeof(struct share_put) == LINE, "then the bytes");

/** What follows the head of the offer of a ring. */
struct share_offer {
	uint64_t ref;
	uint64_t number;            /* place in the receiver's in[] */
};

/** A PE's way to another one of the host. */
struct share_out {
	struct share_line *line;
	struct ring_writer ring;    /* only if `mark` */
	uint32_t n_past;            /* messages that went by the stack since there is a ring */
	unsigned n_sent;            /* messages before that */
	uint8_t mark;               /* which of the receiver's rings, from 1; 0: none */
	int node, local;
};

/** A ring that a PE reads. */
struct share_in {
	struct ring_reader ring;    /* .ring NULL: not offered yet */
	uint32_t n_past;            /* messages of the pair that came by the stack */
	int src_pe;
};

/** One PE's; only it reads and writes this. */
struct share_pe {
	struct share_line *line;
	int n_in;                   /* rings of in[]; all but the last may still be to come */
	struct share_in in[RINGS_MOST];
	struct share_out *out[];    /* [n_pes of the job], NULL: nothing sent yet */
};

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

static uint64_t ref_of(const struct share *s, const void *p)
{
	uint64_t at = (uint64_t)((const char *)p - s->base);

	return at / s->segment << OFFSET_BITS | at % s->segment;
}

static struct cmi_msg *msg_of_ref(const struct share *s, uint64_t ref)
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

/* A sparse file without a name; -1 when the system does not give us one. */
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

/* Number the nodes of this host that offer a segment of our size, and this node in any case. */
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

/* Reserve room for all segments, and map ours in its place. */
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

/* Where address space is short (a limit, valgrind): a small private segment, and the network for all. */
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

/* Map another node's segment. If that does not work, because a container hides /proc, say, the pair uses
 * the network. */
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
			/* Relaxed: others read it only after the fence of the second meeting. */
			atomic_store_explicit(&head_of(s, s->me)->mapped[s->number[node]], 1,
					      memory_order_relaxed);
	return 0;
}

/* Allocate what the PEs of this node keep about others. */
static int open_pes(struct cmi *m)
{
	struct share *s = m->share;
	bool all = true;

	for (int node = 0; node < m->job.n_nodes; node++)
		all = all && share_reaches(s, node);

	for (int i = 0; i < m->o.n_pes; i++) {
		struct share_pe *p =
			calloc(1, sizeof *p + (size_t)m->job.n_pes * sizeof(struct share_out *));

		if (!p)
			return -ENOMEM;
		p->line = line_of(s, s->me, i);
		m->wire[i]->share = p;
		m->wire[i]->all_shared = all;
	}
	return 0;
}

int share_agree(struct cmi *m)
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
		machine_say("messages between nodes of one host pass through their memory");
	return s->any ? open_pes(m) : 0;
}

bool share_reaches(const struct share *s, int node)
{
	return s->number[node] >= 0;
}

/* The layer above declares free memory out of bounds. Before it is unmapped that must end, because the
 * addresses may become anybody's. */
#ifdef __SANITIZE_ADDRESS__
void __asan_unpoison_memory_region(void const volatile *addr, size_t size);
static void in_bounds_again(const struct share *s)
{
	if (s->own && s->own != MAP_FAILED)
		__asan_unpoison_memory_region(s->own, head_of(s, s->me)->used);
}
#else
static inline void in_bounds_again(const struct share *s) { (void)s; }
#endif

void share_close(struct cmi *m)
{
	struct share *s = m->share;

	if (!s)
		return;
	in_bounds_again(s);
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

/* Only for memory in our own segment, which every node that we reach has mapped. */
uint64_t share_ref(const struct share *s, int node, const void *p, size_t bytes)
{
	uintptr_t at = (uintptr_t)p - (uintptr_t)s->own;

	if (!s->any || !share_reaches(s, node) || at >= s->segment || bytes > s->segment - at)
		return 0;
	return ref_of(s, p);
}

const void *share_ptr(const struct share *s, uint64_t ref)
{
	return msg_of_ref(s, ref);
}

/* ---- the stacks ----------------------------------------------------------------------------- */

/* The newest message's reference; 0, as it is nearly always: there is none. */
static uint64_t take_refs(struct msg_stack *stack)
{
	return msg_stack_any(stack) ? msg_stack_take(stack) : 0;
}

/* For msg_stack_in_order. */
static struct cmi_msg *msg_of_name(const void *share, uint64_t ref)
{
	return msg_of_ref(share, ref);
}

/* ---- sleep and wake --------------------------------------------------------------------------- */

/* Sockets in the abstract namespace have no file and vanish with the process. */
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
	return fd; /* without it, messages of other nodes wait for the end of a nap */
}

static __attribute__((noinline, cold)) void wake_other(struct cmi_pe *w, int node, int local,
						       struct share_line *line)
{
	struct sockaddr_un a;
	socklen_t len = address_of(&a, w->m->share->names[node].pid, local);

	/* Relaxed: it only lets one sender do it; to wake twice would do no harm. */
	atomic_store_explicit(&line->sleeping, false, memory_order_relaxed);
	if (w->wake_socket >= 0)
		sendto(w->wake_socket, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&a,
		       len);
}

static bool something_came(const struct share_pe *p)
{
	bool empty = !msg_stack_any_for_sleep(&p->line->inbox);
	uint64_t tag;

	for (int i = 0; i < p->n_in && empty; i++)
		empty = !p->in[i].ring.ring || !ring_look(&p->in[i].ring, &tag);
	return !empty;
}

/* The store and the loads are seq_cst, as are the push onto a stack and the load of `sleeping` behind it: so
 * either the sender sees that we sleep, or we see its message. A slot of a ring is different. A plain
 * store publishes it, and a processor may load `sleeping` while that store still waits for its line. A
 * fence there would make every message wait: a stream took 162 ns a message with it and 107 without, a
 * barrier 0.51 and 0.48 us (Intel Xeon). So the sleeper waits instead, until a store that was under way
 * when `sleeping` became visible must have come. That is no proof, and none is needed: a message whose
 * store takes longer still waits for the end of a nap, which cmi_sleep bounds, or for the next
 * message. */
bool share_sleep_begin(struct cmi_pe *w)
{
	struct share_pe *p = w->share;
	uint64_t until;
	bool came;

	if (!p)
		return true;
	atomic_store_explicit(&p->line->sleeping, true, memory_order_seq_cst);
	until = p->n_in ? machine_now_ns() + SETTLE_NS : 0;
	do
		came = something_came(p);
	while (!came && machine_now_ns() < until);
	if (came)
		share_sleep_end(w);
	return !came;
}

void share_sleep_end(struct cmi_pe *w)
{
	char drop[16];

	if (!w->share)
		return;
	atomic_store_explicit(&w->share->line->sleeping, false, memory_order_relaxed);
	while (w->wake_socket >= 0 && recv(w->wake_socket, drop, sizeof drop, MSG_DONTWAIT) >= 0)
		;
}

/* ---- sending ------------------------------------------------------------------------------------ */

/* Find the way to a PE; NULL: its node cannot be reached. */
static __attribute__((noinline, cold)) struct share_out *out_open(struct cmi_pe *w, int dst_pe)
{
	struct share *s = w->m->share;
	const struct cmi_job *j = &w->m->job;
	struct share_out *o;

	if (!share_reaches(s, j->node_of[dst_pe]))
		return NULL;
	o = calloc(1, sizeof *o);
	if (!o)
		machine_die(w->m, "PE %d: no memory to send to PE %d", w->pe, dst_pe);
	o->node = j->node_of[dst_pe];
	o->local = dst_pe - j->first_pe[o->node];
	o->line = line_of(s, s->number[o->node], o->local);
	return w->share->out[dst_pe] = o;
}

/* Claim a place among the rings that a PE reads; -1 when it has enough of them. Relaxed: no data goes
 * with it. */
static int claim_ring(struct share_line *line)
{
	int n = atomic_load_explicit(&line->n_rings, memory_order_relaxed);

	while (n < RINGS_MOST)
		if (atomic_compare_exchange_weak_explicit(&line->n_rings, &n, n + 1,
							  memory_order_relaxed,
							  memory_order_relaxed))
			return n;
	return -1;
}

/* For a message that the network has delivered and a handler sends on: other nodes cannot see its buffer. */
static __attribute__((noinline, cold)) struct cmi_msg *to_shared_memory(struct cmi_pe *w,
									struct cmi_msg *m)
{
	struct cmi_msg *copy = w->m->client.msg_alloc(w->owner, m->size);

	msg_local_fill(copy, m, m->size);
	w->m->client.msg_free(w->owner, m);
	return copy;
}

static inline struct cmi_msg *in_shared_memory(struct cmi_pe *w, struct cmi_msg *m)
{
	return __builtin_expect(m->origin == CMI_ORIGIN_WIRE, 0) ? to_shared_memory(w, m) : m;
}

/* By reference, for any size and any number of senders. */
static void send_by_stack(struct cmi_pe *w, struct share_out *o, struct cmi_msg *m)
{
	m = in_shared_memory(w, m);
	m->mark = o->mark;
	o->n_past++;
	msg_stack_push(&o->line->inbox, m, ref_of(w->m->share, m));
}

/* Make a ring for the pair and offer it by the stack. The receiver sees the offer before all that is
 * written into the ring. */
static __attribute__((noinline, cold)) void offer_ring(struct cmi_pe *w, struct share_out *o)
{
	struct share *s = w->m->share;
	int number = claim_ring(o->line);
	struct ring *ring = number < 0 ? NULL : share_alloc(s, sizeof *ring); /* never used: zero */
	struct share_offer *offer;
	struct cmi_msg *m;

	if (!ring)
		return;
	m = w->m->client.msg_alloc(w->owner, sizeof *m + sizeof *offer);
	offer = (struct share_offer *)(void *)(m + 1);
	m->handler = RING_HANDLER;
	m->src_pe = w->pe;
	offer->ref = ref_of(s, ring);
	offer->number = (uint64_t)number;
	send_by_stack(w, o, m);
	ring_writer_init(&o->ring, ring);
	o->mark = (uint8_t)(number + 1);
	o->n_past = 0;
}

/* By value. The message's memory is ours again at once; the line of the receiver's inbox, the message's
 * head and the way back are saved. */
static void send_by_ring(struct cmi_pe *w, struct share_out *o, struct ring_slot *slot,
			 struct cmi_msg *m)
{
	slot->prio = m->prio;
	slot->n_past = o->n_past;
	ring_copy(slot->body, m + 1, m->size - sizeof *m);
	ring_publish(&o->ring, slot, ring_tag(m->flags, m->handler, (uint16_t)m->size));
	w->m->client.msg_free(w->owner, m);
}

/* For what does not fit into a slot. The slot's line goes to the receiver once, while the inbox's line,
 * which both sides change, goes to and fro. */
static void send_ref_by_ring(struct cmi_pe *w, struct share_out *o, struct ring_slot *slot,
			     struct cmi_msg *m)
{
	uint64_t ref;

	m = in_shared_memory(w, m);
	ref = ref_of(w->m->share, m);
	slot->n_past = o->n_past;
	memcpy(slot->body, &ref, sizeof ref);
	msg_tell_pushed(m);
	ring_publish(&o->ring, slot, ring_tag(0, 0, SIZE_OF_REF));
}

bool share_send(struct cmi_pe *w, int dst_pe, struct cmi_msg *m)
{
	struct share_out *o = w->share->out[dst_pe];
	struct ring_slot *slot = NULL;

	if (__builtin_expect(!o, 0) && !(o = out_open(w, dst_pe)))
		return false;
	if (o->mark)
		slot = ring_claim(&o->ring);
	if (__builtin_expect(!slot, 0)) {
		send_by_stack(w, o, m);
		if (!o->mark && ++o->n_sent == RING_AFTER)
			offer_ring(w, o);
	} else if (m->size <= sizeof *m + RING_BODY_MOST) {
		send_by_ring(w, o, slot, m);
	} else {
		send_ref_by_ring(w, o, slot, m);
	}
	if (__builtin_expect(atomic_load_explicit(&o->line->sleeping, memory_order_seq_cst), 0))
		wake_other(w, o->node, o->local, o->line);
	return true;
}

bool share_put_am(struct cmi_pe *w, int dst_pe, const struct cmi_put_head *h, const void *src,
		  size_t bytes)
{
	struct cmi_msg *m =
		w->m->client.msg_alloc(w->owner, sizeof *m + sizeof(struct share_put) + bytes);
	struct share_put *p = (struct share_put *)(void *)(m + 1);

	m->handler = PUT_HANDLER;
	m->src_pe = w->pe;
	p->put = *h;
	p->bytes = bytes;
	if (bytes)
		memcpy(p + 1, src, bytes);
	share_send(w, dst_pe, m);
	return true;
}

void share_give_back(struct cmi *m, struct cmi_msg *msg)
{
	struct share *s = m->share;
	uint64_t ref = ref_of(s, msg);

	msg_stack_push(&line_of(s, (int)(ref >> OFFSET_BITS), msg->home)->returns, msg, ref);
}

/* ---- receiving ---------------------------------------------------------------------------------- */

static void put_arrived(struct cmi_pe *w, int src_pe, const void *body)
{
	const struct share_put *p = body;

	w->m->client.put_arrived(w->owner, src_pe, &p->put, p + 1, p->bytes);
}

/* The sender has claimed the ring's place (claim_ring). */
static void offer_arrived(struct cmi_pe *w, const struct cmi_msg *m)
{
	const struct share_offer *offer = (const struct share_offer *)(const void *)(m + 1);
	struct share_pe *p = w->share;

	ring_reader_init(&p->in[offer->number].ring,
			 (struct ring *)(void *)msg_of_ref(w->m->share, offer->ref));
	p->in[offer->number].src_pe = m->src_pe;
	if (p->n_in <= (int)offer->number)
		p->n_in = (int)offer->number + 1;
}

/* A message by reference. Its memory will go back to where it came from. */
static void arrived(struct cmi_pe *w, struct cmi_msg *m)
{
	m->next = NULL;
	m->mark = 0;
	m->origin = CMI_ORIGIN_SHARED;
	if (__builtin_expect(m->handler < RING_HANDLER, 1)) {
		w->m->client.msg_arrived(w->owner, m);
		return;
	}
	if (m->handler == PUT_HANDLER)
		put_arrived(w, m->src_pe, m + 1);
	else
		offer_arrived(w, m);
	share_give_back(w->m, m);
}

static void ref_arrived(struct cmi_pe *w, const struct ring_slot *slot)
{
	struct cmi_msg *m;
	uint64_t ref;

	memcpy(&ref, slot->body, sizeof ref);
	m = msg_of_ref(w->m->share, ref);
	msg_tell_taken(m);
	arrived(w, m);
}

static void slot_arrived(struct cmi_pe *w, int src_pe, const struct ring_slot *slot, uint64_t tag)
{
	uint16_t size = ring_size(tag);
	struct cmi_msg *m;

	if (size == SIZE_OF_REF) {
		ref_arrived(w, slot);
		return;
	}
	if (__builtin_expect(ring_handler(tag) == PUT_HANDLER, 0)) {
		put_arrived(w, src_pe, slot->body);
		return;
	}
	m = w->m->client.msg_alloc(w->owner, size);
	m->handler = ring_handler(tag);
	m->flags = ring_flags(tag);
	m->src_pe = src_pe;
	m->prio = slot->prio;
	ring_copy(m + 1, slot->body, size - sizeof *m);
	w->m->client.msg_arrived(w->owner, m);
}

/* Take messages until the ring is empty, or the next one is behind one that is still on the stack; at
 * most one round. */
static int take_ring(struct cmi_pe *w, struct share_in *in)
{
	const struct ring_slot *slot;
	uint64_t tag;
	int n = 0;

	while (n < RING_SLOTS && (slot = ring_look(&in->ring, &tag)) &&
	       slot->n_past == in->n_past) {
		slot_arrived(w, in->src_pe, slot, tag);
		ring_release(&in->ring);
		n++;
	}
	return n;
}

static int take_rings(struct cmi_pe *w)
{
	struct share_pe *p = w->share;
	int n = 0;

	for (struct share_in *in = p->in; in < p->in + p->n_in; in++)
		if (in->ring.ring)
			n += take_ring(w, in);
	return n;
}

/* Before a message from the stack whose pair has a ring: take what its sender wrote there earlier. All of
 * that is visible, because we have this message. */
static int take_earlier(struct cmi_pe *w, const struct cmi_msg *m)
{
	struct share_in *in;
	int n;

	if (!m->mark)
		return 0;
	in = &w->share->in[m->mark - 1];
	n = take_ring(w, in);
	in->n_past++;
	return n;
}

/* Deliver what was on the stack, oldest first. */
static int take_stack(struct cmi_pe *w, uint64_t ref)
{
	struct cmi_msg *in_order = msg_stack_in_order(ref, msg_of_name, w->m->share);
	int n = 0;

	for (struct cmi_msg *m = in_order, *next; m; m = next, n++) {
		next = m->next;
		n += take_earlier(w, m);
		arrived(w, m);
	}
	return n;
}

static void take_back(struct cmi_pe *w, uint64_t ref)
{
	while (ref) {
		struct cmi_msg *m = msg_of_ref(w->m->share, ref);

		msg_tell_taken(m);
		ref = msg_stack_link(m);
		m->origin = CMI_ORIGIN_POOL;
		w->m->client.msg_free(w->owner, m);
	}
}

int share_progress(struct cmi_pe *w)
{
	struct share_pe *p = w->share;
	uint64_t ref;
	int n;

	if (!p)
		return 0;
	n = take_rings(w);
	if ((ref = take_refs(&p->line->inbox)))
		n += take_stack(w, ref);
	/* Taking blocks back touches lines that another core holds. While a message that has just come
	 * waits for its handler, that happens only now and then. */
	if (n && ++w->n_late_returns % RETURNS_PERIOD)
		return n;
	if ((ref = take_refs(&p->line->returns)))
		take_back(w, ref);
	return n;
}

void share_pe_close(struct cmi_pe *w)
{
	for (int pe = 0; w->share && pe < w->m->job.n_pes; pe++)
		free(w->share->out[pe]);
	free(w->share);
	w->share = NULL;
}
