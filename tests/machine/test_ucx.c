/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ucx.c: the machine layer over UCX, between processes. Started alone, the test runs itself under ckrun
 * in several variants (protocols, tcp, rendezvous, two PEs per node). Under a launcher it is one node of a
 * job with an even number of nodes: `ckrun -n 4 --ppn 2 test_ucx 2 1000`. PE i of a node exchanges messages
 * with PE i of the neighbour node (node ^ 1); in the order test every PE sends to every PE. Node 0 prints
 * one line per fact.
 */
#include "../../runtime/machine/cmi.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "under_ckrun.h"
#include "ways.h"

enum { PES_MAX = 64, HELD_MAX = 4096, STORM_MESSAGES = 20000, STORM_BYTES = 60000, HOLD_BYTES = 2000 };

/* Message kinds, in cmi_msg.handler. */
enum { PING = 1, STORM, HOLD, KEY, NUDGE, WAYS };

struct pe {
	struct node *node;
	struct cmi_pe *wire;
	int local, me, peer;
	bool first;              /* of the pair */
	struct cmi_msg *last;    /* newest PING, NUDGE or KEY, still ours */
	struct cmi_msg *over;    /* to be freed: not allowed while it is being delivered */
	uint64_t seen[PES_MAX];  /* storm: next number expected of each PE */
	struct ways ways[PES_MAX]; /* the same, where messages need different orders */
	size_t n_storm;
	struct cmi_msg *held[HELD_MAX];
	size_t n_held, n_wire;   /* of the held: still in receive buffers */
	bool may_hold;           /* a message of HOLD_BYTES or more of the peer came in a receive buffer */
	uint64_t n_alive;        /* messages that msg_alloc gave and nobody freed */
	struct cmi_msg *free[48]; /* of 2^k bytes */
	uint64_t n_puts, put_bytes;
	size_t in_pieces;          /* of the put that comes */
	size_t n_done;
	size_t n_small_here, n_small_there; /* of the storm: copied to us, or left with the sender */
};

struct node {
	struct cmi *m;
	const struct cmi_job *job;
	struct pe *pes;
	int n;
	size_t n_storm; /* messages of each PE pair's order test, all PEs of a node together */
	bool shares;    /* messages do not go through UCX */
	bool crowded;   /* more PEs than cores */
	pthread_barrier_t barrier;
	atomic_int n_arrived, stage;
};

/* The message pool of this test: powers of two, and a mark of the node that allocated. */

static uint8_t class_of(const struct pe *p) { return (uint8_t)(70 + p->node->job->node); }

static struct cmi_msg *msg_alloc(void *owner, size_t size)
{
	struct pe *p = owner;
	int k = 64 - __builtin_clzll(size);
	struct cmi_msg *m = p->free[k];

	if (m)
		p->free[k] = m->next;
	else
		m = cmi_message_memory(p->node->m, (size_t)1 << k);
	CHECK(m);
	memset(m, 0, sizeof *m);
	m->size = size;
	m->origin = CMI_ORIGIN_POOL;
	m->home = (uint16_t)p->local;
	m->size_class = class_of(p);
	p->n_alive++;
	return m;
}

static void msg_free(void *owner, struct cmi_msg *m)
{
	struct pe *p = owner;

	if (m->origin == CMI_ORIGIN_WIRE) {
		cmi_release(p->wire, m);
		return;
	}
	if (m->origin == CMI_ORIGIN_SHARED) {
		cmi_give_back(p->node->m, m);
		return;
	}
	CHECK(m->origin == CMI_ORIGIN_POOL && m->size_class == class_of(p) && m->home == p->local);
	int k = 64 - __builtin_clzll(m->size);

	p->n_alive--;
	m->next = p->free[k];
	p->free[k] = m;
}

/* ---- content ------------------------------------------------------------------------ */

/* Word i of what a seed stands for. Words, not bytes: under TSan each access is a call. */
static inline uint64_t content(uint64_t seed, size_t i)
{
	return (seed + i) * 0x9e3779b97f4a7c15u;
}

static void fill(struct cmi_msg *m, uint64_t seed)
{
	uint64_t *words = (uint64_t *)(m + 1), last;
	size_t bytes = m->size - sizeof *m, n = bytes / 8;

	for (size_t i = 0; i < n; i++)
		words[i] = content(seed, i);
	last = content(seed, n);
	memcpy(words + n, &last, bytes % 8);
}

static void check_content(const struct cmi_msg *m, uint64_t seed)
{
	const uint64_t *words = (const uint64_t *)(m + 1);
	size_t bytes = m->size - sizeof *m, n = bytes / 8;
	uint64_t last;

	for (size_t i = 0; i < n; i++)
		CHECK(words[i] == content(seed, i));
	last = content(seed, n);
	CHECK(memcmp(words + n, &last, bytes % 8) == 0);
}

static struct cmi_msg *message(struct pe *p, int kind, size_t size, uint64_t seed)
{
	struct cmi_msg *m = msg_alloc(p, size);

	m->handler = (uint16_t)kind;
	m->prio = (int32_t)seed;
	fill(m, seed);
	return m;
}

static void on_arrived(void *owner, struct cmi_msg *m)
{
	struct pe *p = owner;

	CHECK((uintptr_t)m % CMI_MSG_ALIGN == 0);
	p->may_hold |= m->origin == CMI_ORIGIN_WIRE && m->src_pe == p->peer && m->size >= HOLD_BYTES;
	switch (m->handler) {
	case WAYS:
		CHECK(comes_in_order(&p->ways[m->src_pe], (uint64_t)m->prio));
		check_content(m, (uint64_t)m->prio);
		p->n_storm++;
		m->next = p->over;
		p->over = m;
		break;
	case STORM:
		CHECK((uint32_t)m->prio == (uint32_t)p->seen[m->src_pe]);
		check_content(m, p->seen[m->src_pe]++);
		p->n_storm++;
		if (m->size <= 200 && m->origin == CMI_ORIGIN_SHARED)
			p->n_small_there++;
		else if (m->size <= 200)
			p->n_small_here++;
		m->next = p->over;
		p->over = m;
		break;
	case HOLD:
		p->n_wire += m->origin == CMI_ORIGIN_WIRE;
		p->held[p->n_held++] = m;
		break;
	default:
		CHECK(!p->last && m->src_pe == p->peer);
		p->last = m;
	}
}

/* The bytes of a put. What is a multiple of 256 away is another one, so that pieces are not taken for each other. */
static unsigned char put_byte(uint64_t number, size_t at) { return (unsigned char)(number + at + at / 255); }

static void check_put(const struct cmi_put_head *h, size_t at, const void *body, size_t bytes)
{
	const unsigned char *b = body;

	CHECK(h->channel == 5 && h->generation == 6 && h->word == 7);
	for (size_t i = 0; i < bytes; i++)
		CHECK(b[i] == put_byte(h->iteration, at + i));
}

/* Pieces come in order, and nothing between them. */
static void on_put_piece(void *owner, int src_pe, const struct cmi_put_head *h, size_t at, const void *piece,
			 size_t bytes)
{
	struct pe *p = owner;

	CHECK(src_pe == p->peer && h->iteration == p->n_puts + 1 && at == p->in_pieces);
	check_put(h, at, piece, bytes);
	p->in_pieces += bytes;
}

static void on_put(void *owner, int src_pe, const struct cmi_put_head *h, const void *body,
		   size_t bytes)
{
	struct pe *p = owner;

	CHECK(src_pe == p->peer && h->iteration == ++p->n_puts);
	CHECK(p->in_pieces == (body ? 0 : bytes));
	check_put(h, 0, body, body ? bytes : 0);
	p->put_bytes += bytes;
	p->in_pieces = 0;
}

static enum cmi_way way(void *owner, const struct cmi_msg *m)
{
	(void)owner;
	return m->handler == WAYS ? way_of_number((uint64_t)m->prio) : CMI_BEHIND_ALL;
}

static const struct cmi_client CLIENT = {
	.msg_alloc = msg_alloc, .msg_free = msg_free, .msg_arrived = on_arrived, .put_arrived = on_put,
	.put_piece = on_put_piece, .way = way,
};

static void op_done(struct cmi_op *op)
{
	struct pe *p = op->arg;

	p->n_done++;
}

static int progress(struct pe *p)
{
	int n = cmi_progress(p->wire);

	while (p->over) {
		struct cmi_msg *m = p->over;

		p->over = m->next;
		msg_free(p, m);
	}
	if (!n && p->node->crowded)
		sched_yield();
	return n;
}

/* ---- together ----------------------------------------------------------------------- */

/** All PEs of the job meet; the wires move on meanwhile. */
static void meet(struct pe *p, const char *fact)
{
	struct node *n = p->node;
	int stage = atomic_load(&n->stage);

	atomic_fetch_add(&n->n_arrived, 1);
	while (atomic_load(&n->stage) == stage)
		if (progress(p) == 0)
			cmi_sleep(p->wire, 1000);
	if (p->me == 0 && fact)
		printf("ok   %s\n", fact);
}

static struct cmi_msg *await(struct pe *p)
{
	struct cmi_msg *m;

	while (!p->last)
		progress(p);
	m = p->last;
	p->last = NULL;
	return m;
}

static uint64_t next_random(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	return *s ^= *s << 17;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- the tests ---------------------------------------------------------------------- */

static void ping_pong(struct pe *p, size_t size, uint64_t seed)
{
	struct cmi_msg *m;

	if (p->first)
		cmi_send(p->wire, p->peer, message(p, PING, size, seed));
	m = await(p);
	CHECK(m->size == size && m->src_pe == p->peer);
	check_content(m, seed);
	msg_free(p, m);
	if (!p->first)
		cmi_send(p->wire, p->peer, message(p, PING, size, seed));
}

static void test_sizes(struct pe *p)
{
	static const size_t SIZES[] = {32, 33, 64, 92, 100, 124, 125, 200, 512, 1000, 1024, 1025,
				       4096, 8000, 8300, 30000, 33000, 65535, 65536, 70000,
				       100000, 500000, 1 << 20, (4 << 20) - 1, 4 << 20, 5 << 20};

	for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++)
		for (uint64_t k = 0; k < 3; k++)
			ping_pong(p, SIZES[i], i + k);
	meet(p, "messages of 32 B to 5 MB arrive whole, both ways");
}

/** Mostly small, some large, now and then a rendezvous in the middle of the stream. */
static size_t storm_size(uint64_t *s)
{
	uint64_t r = next_random(s);

	if (r % 1000 == 0)
		return (4 << 20) + r % 1000;
	if (r % 3)
		return sizeof(struct cmi_msg) + (r >> 10) % 300;
	return sizeof(struct cmi_msg) + (r >> 10) % STORM_BYTES;
}

static void test_order(struct pe *p, int kind, const char *fact)
{
	const struct cmi_job *j = p->node->job;
	int n_others = j->n_pes - j->my_n_pes;
	uint64_t s = 88172645463325252u + (uint64_t)p->me, sent[PES_MAX] = {0};
	size_t n = p->node->n_storm / (size_t)j->my_n_pes;

	for (size_t i = 0; i < n; i++) {
		for (int pe = 0; pe < j->n_pes; pe++)
			if (j->node_of[pe] != j->node)
				cmi_send(p->wire, pe,
					 message(p, kind, storm_size(&s), sent[pe]++));
		/* Now and then nobody looks for a while. */
		if (i / 128 % 2 && next_random(&s) % 4)
			progress(p);
		/* What flow control does above this layer. */
		while (p->n_alive > 200)
			progress(p);
	}
	while (p->n_storm < n * (size_t)n_others || p->n_alive)
		progress(p);
	p->n_storm = 0;
	meet(p, fact);
}

/** The first urgent messages of the job: over tcp they go among calls until the receiver hears
 * their own connection, and those that it carries then wait for them. */
static void test_first_urgent(struct pe *p)
{
	enum { N = 400, CALL_BYTES = 50000 };

	for (uint64_t i = 0; i < 2 * N; i++) {
		const bool urgent = way_of_number(i) == CMI_URGENT;

		cmi_send(p->wire, p->peer,
			 message(p, WAYS, urgent ? sizeof(struct cmi_msg) : CALL_BYTES, i));
		if (i >= N)
			progress(p);
	}
	while (p->n_storm < 2 * N || p->n_alive)
		progress(p);
	memset(p->ways, 0, sizeof p->ways);
	p->n_storm = 0;
	meet(p, "the first urgent messages keep their order, whichever connection carries them");
}

/** Many messages without a look at the network between them: over tcp they travel together, those of 60000 bytes by
 * themselves. */
static void test_burst(struct pe *p)
{
	enum { N = 400 };
	struct cmi_msg *m[N];

	memset(p->seen, 0, sizeof p->seen);
	p->n_storm = 0;
	meet(p, NULL);
	for (uint64_t i = 0; i < N; i++)
		m[i] = message(p, STORM, i % 50 == 49 ? 60000 : sizeof **m + i * 397 % 6000, i);
	for (int i = 0; i < N; i++)
		cmi_send(p->wire, p->peer, m[i]);
	while (p->n_storm < N || p->n_alive)
		progress(p);
	meet(p, "messages that are sent without a pause keep their order");
}

/** One put: from a page's beginning, or 100 bytes behind it. What is locally complete is written over at once. */
static bool put_am_once(struct pe *p, uint64_t number, unsigned char *src, size_t bytes, struct cmi_op *op)
{
	struct cmi_put_head h = {5, 6, number, 7};
	bool complete;

	for (size_t k = 0; k < bytes; k++)
		src[k] = put_byte(number, k);
	*op = (struct cmi_op){.done = op_done, .arg = p};
	complete = cmi_put_am(p->wire, p->peer, &h, src, bytes, op);
	memset(&h, 0xee, sizeof h);
	if (complete)
		memset(src, 0xee, bytes);
	return complete;
}

static void test_put_am(struct pe *p)
{
	static const size_t SIZES[] = {0, 8, 100, 3000, 8000, 8001, 9000, 60 << 10, (60 << 10) + 1, 100000, 5 << 20, 8};
	enum { N = 2 * (sizeof SIZES / sizeof *SIZES), PAGE = 4096 };
	struct cmi_op ops[N];
	unsigned char *page[N];
	size_t n_later = 0, total = 0;

	memset(p->seen, 0, sizeof p->seen);
	p->n_storm = p->n_puts = p->put_bytes = p->n_done = 0;
	meet(p, NULL);
	for (size_t i = 0; i < N; i++) {
		size_t bytes = SIZES[i / 2];

		cmi_send(p->wire, p->peer, message(p, STORM, 32 + i * 1000, i));
		page[i] = aligned_alloc(PAGE, (bytes / PAGE + 2) * PAGE);
		n_later += !put_am_once(p, i + 1, page[i] + i % 2 * 100, bytes, &ops[i]);
		total += bytes;
		if (i % 3 == 2)
			progress(p); /* a pass ends: the next put is its first */
	}
	while (p->n_puts < N || p->n_done < n_later || p->n_storm < N)
		progress(p);
	CHECK(p->put_bytes == total && p->n_storm == N);
	for (size_t i = 0; i < N; i++)
		free(page[i]);
	meet(p, "puts by active message carry head and body, and keep their order");
}

/** Many puts without a look at the network between them: small ones travel together. */
static void test_put_burst(struct pe *p)
{
	enum { N = 300, MOST = 3000 };
	struct cmi_op ops[N];
	unsigned char *src[N];
	size_t n_later = 0;

	memset(p->seen, 0, sizeof p->seen);
	p->n_storm = p->n_puts = p->put_bytes = p->n_done = 0;
	meet(p, NULL);
	cmi_send(p->wire, p->peer, message(p, STORM, 32, 0));
	for (size_t i = 0; i < N; i++) {
		const size_t bytes = i % 7 ? i * 8 % 200 : i * 397 % MOST;

		src[i] = malloc(MOST);
		n_later += !put_am_once(p, i + 1, src[i], bytes, &ops[i]);
	}
	cmi_send(p->wire, p->peer, message(p, STORM, 32, 1));
	while (p->n_puts < N || p->n_done < n_later || p->n_storm < 2)
		progress(p);
	for (size_t i = 0; i < N; i++)
		free(src[i]);
	meet(p, "puts that are made without a pause keep their order");
}

/** Returns how many of the messages stayed in receive buffers. */
static size_t hold_and_release(struct pe *p)
{
	enum { N = 1000 };
	size_t n_wire;

	for (uint64_t i = 0; i < N; i++)
		cmi_send(p->wire, p->peer, message(p, HOLD, HOLD_BYTES, i));
	while (p->n_held < N)
		progress(p);
	n_wire = p->n_wire;
	CHECK(n_wire <= 128);
	for (size_t i = 0; i < N; i++) {
		check_content(p->held[i], i);
		msg_free(p, p->held[i]);
	}
	while (p->n_alive)
		progress(p);
	if (p->me == 0)
		printf("     held in place: %zu of %d\n", n_wire, N);
	/* For the next test, in which others may be ahead. */
	memset(p->seen, 0, sizeof p->seen);
	p->n_held = p->n_wire = p->n_storm = 0;
	meet(p, NULL);
	return n_wire;
}

static void test_holding(struct pe *p)
{
	/* As many each time: what was released counts no more. From tcp only what happens to be aligned is held. */
	for (int i = 0; i < 2; i++) {
		bool may_hold = p->may_hold && !getenv("UCX_TLS");

		CHECK(hold_and_release(p) == 128 || !may_hold);
	}
	meet(p, "1000 unreleased messages all arrive, at most 128 in receive buffers, again and again");
}

/** Messages that came in a receive buffer, from another's memory, or as a copy, are sent on: from
 * each PE to the one two nodes further, and from there to that one's neighbour. */
static void test_sending_on(struct pe *p)
{
	enum { N = 40 };
	static const size_t SIZES[] = {40, 200, 2000, 20000};
	const struct cmi_job *j = p->node->job;
	int across = (p->me + 2 * j->my_n_pes) % j->n_pes;

	for (uint64_t i = 0; i < N && j->n_nodes >= 4; i++)
		cmi_send(p->wire, across, message(p, HOLD, SIZES[i % 4], i));
	while (j->n_nodes >= 4 && p->n_held < N)
		progress(p);
	meet(p, NULL);
	for (size_t i = 0, n = p->n_held; i < n; i++) {
		struct cmi_msg *m = p->held[i];

		m->handler = STORM;
		cmi_send(p->wire, p->peer, m);
	}
	while (j->n_nodes >= 4 && p->n_storm < N)
		progress(p);
	while (p->n_alive)
		progress(p);
	meet(p, "messages that came from elsewhere can be sent on");
}

/** What a node sends about its memory. */
struct offer {
	uint64_t addr;
	struct cmi_key key;
};

static struct offer swap_offers(struct pe *p, void *mine, size_t bytes)
{
	struct offer o = {.addr = (uintptr_t)mine};
	struct cmi_msg *m = msg_alloc(p, sizeof *m + sizeof o);

	cmi_mem_key(p->node->m, mine, bytes, &o.key);
	m->handler = KEY;
	memcpy(m + 1, &o, sizeof o);
	cmi_send(p->wire, p->peer, m);
	m = await(p);
	memcpy(&o, m + 1, sizeof o);
	msg_free(p, m);
	return o;
}

static void await_word(struct pe *p, const uint64_t *word, uint64_t value)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
		progress(p);
}

/** A key that is damaged, or does not fit its address, maps nothing. */
static void test_bad_key(struct pe *p, const struct offer *o)
{
	struct cmi_key other = o->key;

	other.bytes[15] ^= 1; /* the node, in the name of shared memory (share_int.h) */
	CHECK(!cmi_attach(p->wire, p->peer, &other, o->addr));
	CHECK(!cmi_attach(p->wire, p->peer, &o->key, o->addr + ((uint64_t)1 << 52)));
	other.len = 9;
	CHECK(!cmi_attach(p->wire, p->peer, &other, o->addr));
}

static void test_mapped(struct pe *p)
{
	enum { WORDS = 1000 };
	uint64_t *mine = cmi_mem_alloc(p->node->m, WORDS * 8), *theirs;
	struct offer o = swap_offers(p, mine, WORDS * 8);
	struct cmi_remote *r = cmi_attach(p->wire, p->peer, &o.key, o.addr);
	struct cmi_remote *again = cmi_attach(p->wire, p->peer, &o.key, o.addr + 64);

	CHECK(o.key.len > 0 && r && again);
	cmi_detach(p->wire, again);
	if (p->node->shares)
		test_bad_key(p, &o);
	theirs = cmi_remote_ptr(r, o.addr);
	for (uint64_t k = 1; theirs && k < 2000; k++) {
		for (int i = 0; i < WORDS - 1; i++)
			theirs[i] = k * 1000 + (uint64_t)i;
		__atomic_store_n(&theirs[WORDS - 1], k, __ATOMIC_RELEASE);
		await_word(p, &mine[WORDS - 1], k);
		for (int i = 0; i < WORDS - 1; i++)
			CHECK(mine[i] == k * 1000 + (uint64_t)i);
		ping_pong(p, 40, k); /* consumed, on both sides */
	}
	cmi_detach(p->wire, r);
	meet(p, theirs ? "the neighbour's memory is written through a pointer"
		       : "memory that this transport cannot map has no pointer");
	cmi_mem_free(p->node->m, mine);
}

/** The receiver does not look before all have been sent: what does not fit into the ring of the
 * pair goes another way, and so does every large one in between. */
static void test_full_ring(struct pe *p)
{
	enum { N = 400 };
	uint64_t *mine = cmi_mem_alloc(p->node->m, 8);
	struct offer o = swap_offers(p, mine, 8);
	struct cmi_remote *r = cmi_attach(p->wire, p->peer, &o.key, o.addr);
	uint64_t *theirs = cmi_remote_ptr(r, o.addr), n = theirs ? N : 0;

	memset(p->seen, 0, sizeof p->seen);
	p->n_storm = p->n_small_here = p->n_small_there = 0;
	meet(p, NULL);
	for (uint64_t i = 0; i < n; i++)
		cmi_send(p->wire, p->peer, message(p, STORM, i % 7 ? 32 + i % 160 : 3000, i));
	if (theirs)
		__atomic_store_n(theirs, 1, __ATOMIC_RELEASE);
	while (theirs && !__atomic_load_n(mine, __ATOMIC_ACQUIRE))
		sched_yield();
	for (uint64_t i = n; i < n + N; i++)
		cmi_send(p->wire, p->peer, message(p, STORM, 100, i));
	while (p->n_storm < n + N)
		progress(p);
	while (p->n_alive)
		progress(p);
	CHECK(!theirs || !p->node->shares || (p->n_small_here && p->n_small_there));
	cmi_detach(p->wire, r);
	meet(p, "800 messages that nobody takes keep their order");
	cmi_mem_free(p->node->m, mine);
}

static void test_put(struct pe *p, size_t words, int n)
{
	uint64_t *mine = cmi_mem_alloc(p->node->m, words * 8), *src = malloc(words * 8);
	struct offer o = swap_offers(p, mine, words * 8);
	struct cmi_remote *r = cmi_attach(p->wire, p->peer, &o.key, o.addr);
	size_t body = (words - 1) * 8;

	CHECK(r);
	for (uint64_t k = 1; k <= (uint64_t)n; k++) {
		struct cmi_op op = {.done = op_done, .arg = p};

		for (size_t i = 0; i < words - 1; i++)
			src[i] = k * 100000 + i;
		p->n_done = 0;
		if (cmi_put(p->wire, r, o.addr, src, body, r, o.addr + body, k, &op))
			p->n_done++;
		await_word(p, &mine[words - 1], k);
		for (size_t i = 0; i < words - 1; i++)
			CHECK(mine[i] == k * 100000 + i);
		while (p->n_done < 1)
			progress(p);
		CHECK(p->n_done == 1);
		ping_pong(p, 40, k);
	}
	cmi_detach(p->wire, r);
	meet(p, NULL);
	cmi_mem_free(p->node->m, mine);
	free(src);
}

static void test_naive(struct pe *p)
{
	uint64_t *mine = cmi_mem_alloc(p->node->m, 128), src[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	struct offer o = swap_offers(p, mine, 128);
	struct cmi_remote *r = cmi_attach(p->wire, p->peer, &o.key, o.addr);
	struct cmi_op naive = {.done = op_done, .arg = p}, after = naive;

	p->n_done = 0;
	p->n_done += cmi_put_naive(p->wire, r, o.addr, src, sizeof src, &naive);
	p->n_done += cmi_put(p->wire, r, o.addr, src, 0, r, o.addr + 120, 99, &after);
	await_word(p, &mine[15], 99);
	CHECK(memcmp(mine, src, sizeof src) == 0);
	while (p->n_done < 2)
		progress(p);
	cmi_detach(p->wire, r);
	meet(p, "a naive put arrives too, before the word of a later ordered put");
	cmi_mem_free(p->node->m, mine);
}

static void test_puts(struct pe *p)
{
	test_put(p, 1, 500);
	test_put(p, 2, 500);
	test_put(p, 129, 500);
	test_put(p, 4096, 500);
	test_put(p, 12500, 300);
	test_put(p, 200000, 20);
	meet(p, "an ordered put shows its word only after its body, 8 B to 1.6 MB");
}

static void test_foreign(struct pe *p)
{
	char buf[256] = {0};
	struct cmi_key key;

	cmi_mem_key(p->node->m, buf, sizeof buf, &key);
	if (p->me == 0)
		printf("     key of stack memory: %d bytes\n", key.len);
	CHECK(key.len > 0 || !cmi_attach(p->wire, p->peer, &key, (uintptr_t)buf));
	meet(p, "memory that cannot be registered has no key, and cannot be attached");
}

static void test_sleep(struct pe *p)
{
	double t;
	int n_sleeps = 0;

	meet(p, NULL);
	if (p->first) {
		usleep(300000);
		cmi_send(p->wire, p->peer, message(p, NUDGE, 40, 3));
		while (p->n_alive)
			progress(p);
	} else {
		t = now();
		while (!p->last) {
			if (progress(p))
				continue;
			cmi_sleep(p->wire, -1);
			n_sleeps++;
		}
		CHECK(now() - t > 0.1 && now() - t < 5);
		msg_free(p, await(p));
		if (p->local == 0 && p->node->job->node == 1)
			printf("     slept %d times in 0.3 s\n", n_sleeps);
	}
	meet(p, "a message ends a sleep");
	cmi_wake(p->wire);
	cmi_sleep(p->wire, -1);
	t = now();
	while (now() - t < 0.02) {
		cmi_sleep(p->wire, 20000);
		progress(p);
	}
	meet(p, "a wake before the sleep is not lost, and a sleep ends");
}

/** Figures, for the reader: not a test. */
static void measure(struct pe *p)
{
	/* Where PEs wait for a core, each takes milliseconds. */
	const int N = p->node->crowded ? 1000 : 20000;
	struct cmi_msg *m;
	double t = 0;

	if (p->first)
		cmi_send(p->wire, p->peer, message(p, PING, 132, 1));
	for (int i = 0; i < N; i++) {
		if (i == N / 10)
			t = now();
		m = await(p);
		if (i < N - 1 || !p->first) /* the same memory goes back and forth */
			cmi_send(p->wire, p->peer, m);
		else
			msg_free(p, m);
	}
	if (p->me == 0)
		printf("     100 B payload round trip: %.2f us\n", (now() - t) / (N - N / 10) * 1e6);
	meet(p, NULL);
	t = now();
	for (int i = 0; i < N; i++)
		cmi_progress(p->wire);
	if (p->me == 0)
		printf("     idle cmi_progress: %.0f ns, poll period %d\n", (now() - t) / N * 1e9,
		       cmi_poll_period(p->wire));
	meet(p, NULL);
}

/* ---- frame -------------------------------------------------------------------------- */

static void *pe_main(void *arg)
{
	struct pe *p = arg;
	struct node *n = p->node;

	CHECK(cmi_pe_open(n->m, p->local, p, &p->wire) == 0);
	pthread_barrier_wait(&n->barrier);
	pthread_barrier_wait(&n->barrier); /* between: cmi_connect */
	p->me = n->job->my_first_pe + p->local;
	p->peer = n->job->first_pe[n->job->node ^ 1] + p->local;
	p->first = n->job->node % 2 == 0;
	CHECK(cmi_has_network(p->wire));
	meet(p, NULL);
	test_first_urgent(p); /* before anything large is sent */
	test_sizes(p);
	test_order(p, STORM, "messages of random size keep their order on every pair, both ways");
	test_order(p, WAYS, "urgent messages overtake calls, and what needs to be behind them is");
	test_burst(p);
	test_put_am(p);
	test_put_burst(p);
	test_holding(p);
	test_sending_on(p);
	test_mapped(p);
	test_full_ring(p);
	test_puts(p);
	test_naive(p);
	test_foreign(p);
	test_sleep(p);
	measure(p);
	meet(p, NULL);
	CHECK(p->n_alive == 0 && !p->last);
	cmi_pe_close(p->wire);
	return NULL;
}

/** Answer each meeting of the PEs with a fence of the nodes, until all are done. */
static void lead(struct node *n, int n_meetings)
{
	for (int i = 0; i < n_meetings; i++) {
		while (atomic_load(&n->n_arrived) < n->n)
			usleep(50);
		CHECK(cmi_fence(n->m) == 0);
		atomic_store(&n->n_arrived, 0);
		atomic_fetch_add(&n->stage, 1);
	}
}

/** One node of the job: argv is n_pes, messages of the order test, "v" for verbose. */
static int node_main(int argc, char **argv)
{
	const char *share = getenv("TEST_SHARE");
	struct node n = {.n = argc > 1 ? atoi(argv[1]) : 1,
			 .shares = share && strcmp(share, "1") == 0,
			 .n_storm = argc > 2 ? (size_t)atoi(argv[2]) : STORM_MESSAGES};
	struct cmi_options o = {.n_pes = n.n, .verbose = argc > 3};
	pthread_t thread[PES_MAX];

	if (share && strcmp(share, "mixed") == 0)
		share = atoi(getenv("PMI_RANK")) < 2 ? "1" : "0";
	if (share)
		setenv("CK_SHARE", share, 1);
	/* meetings: start, sizes, order 2, burst 2, put_am 2, put burst 2, holding 3, sending on 2,
	 * mapped, full ring 2, puts 7, naive, foreign, sleep 3, measure 2, end */
	enum { MEETINGS = 1 + 1 + 1 + 2 + 2 + 2 + 2 + 3 + 2 + 1 + 2 + 7 + 1 + 1 + 3 + 2 + 1 };

	CHECK(n.n >= 1 && n.n <= 8);
	n.pes = calloc((size_t)n.n, sizeof *n.pes);
	pthread_barrier_init(&n.barrier, NULL, (unsigned)n.n + 1);
	CHECK(cmi_open(&o, &CLIENT, &n.m) == 0);
	n.job = cmi_job(n.m);
	n.crowded = n.job->pes_on_host > sysconf(_SC_NPROCESSORS_ONLN);
	CHECK(n.job->n_nodes % 2 == 0 && n.job->n_pes <= PES_MAX);
	/* Where all nodes share memory no network is opened, unless it is asked for. */
	CHECK(strcmp(cmi_name(n.m), n.shares && !getenv("CK_MACHINE") ? "host" : "ucx") == 0);
	for (int i = 0; i < n.n; i++) {
		n.pes[i].node = &n;
		n.pes[i].local = i;
		CHECK(pthread_create(&thread[i], NULL, pe_main, &n.pes[i]) == 0);
	}
	pthread_barrier_wait(&n.barrier);
	CHECK(cmi_connect(n.m, 42) == 0);
	pthread_barrier_wait(&n.barrier);
	lead(&n, MEETINGS);
	for (int i = 0; i < n.n; i++)
		pthread_join(thread[i], NULL);
	cmi_close(n.m);
	pthread_barrier_destroy(&n.barrier);
	free(n.pes);
	return 0;
}

/** A way to run the job: what to set, nodes' arguments for the launcher, and our own. */
struct variant {
	const char *share; /* CK_SHARE, or "mixed": whether messages go past UCX, by reference */
	const char *name, *value, *nodes, *ppn, *pes, *messages;
};

static const struct variant VARIANTS[] = {
	{"0", "UCX_PROTO_ENABLE", "n", "2", "1", "1", "20000"},
	{"0", "UCX_PROTO_ENABLE", "y", "2", "1", "1", "8000"},
	{"0", "UCX_TLS", "tcp,self", "2", "1", "1", "4000"},
	{"0", "UCX_RNDV_THRESH", "2000", "2", "1", "1", "4000"},
	{"0", "UCX_PROTO_ENABLE", "n", "4", "2", "2", "8000"},
	{"1", "CK_MACHINE", "ucx", "2", "1", "1", "20000"},
	{"1", "UCX_PROTO_ENABLE", "n", "2", "1", "1", "20000"},
	{"1", "UCX_PROTO_ENABLE", "n", "4", "2", "2", "8000"},
	/* More neighbours than a PE reads rings. */
	{"1", "UCX_PROTO_ENABLE", "n", "12", "3", "3", "1000"},
	/* As on two hosts: nodes 0 and 1 share, the others and between them is UCX. */
	{"mixed", "UCX_PROTO_ENABLE", "n", "4", "1", "1", "1000"},
};

#ifdef __SANITIZE_THREAD__
enum { PPN_LEAST = 2 }; /* a process of one PE has no two threads that the sanitizer could compare */
#else
enum { PPN_LEAST = 1 };
#endif

static bool run_variant(const struct variant *v, char *self)
{
	char ckrun[4096], what[128];
	pid_t pid;
	int status;

	snprintf(what, sizeof what, "%d nodes of %s PEs, CK_SHARE=%s %s=%s", atoi(v->nodes) / atoi(v->ppn), v->pes, v->share,
		 v->name, v->value);
	if (atoi(v->ppn) < PPN_LEAST) {
		printf("skip %s: the thread sanitizer compares threads of one process\n", what);
		return true;
	}
	find_ckrun(self, ckrun, sizeof ckrun);
	printf("-- %s\n", what);
	pid = fork();
	if (pid == 0) {
		setenv("TEST_SHARE", v->share, 1);
		/* For ckrun: nodes that may not share need a folder for UCX's files. */
		setenv("CK_SHARE", strcmp(v->share, "1") ? "0" : "1", 1);
		setenv(v->name, v->value, 1);
		execl(ckrun, ckrun, "-n", v->nodes, "--ppn", v->ppn, self, v->pes, v->messages,
		      (char *)NULL);
		perror(ckrun);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int main(int argc, char **argv)
{
	bool good = true;

	setvbuf(stdout, NULL, _IOLBF, 0);
	alarm(300);
	if (getenv("PMI_FD"))
		return node_main(argc, argv);
	for (size_t i = 0; i < sizeof VARIANTS / sizeof *VARIANTS && good; i++)
		good = run_variant(&VARIANTS[i], argv[0]);
	return good ? 0 : 1;
}
