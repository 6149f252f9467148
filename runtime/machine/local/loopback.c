/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loopback.c: the loopback back end: no network at all. Started alone it is one node, whose PEs
 * need no wire between them. In a net (loop_net.h) it is several nodes inside one process, for
 * tests.
 *
 * Each wire has an inbox into which other wires push copies, under its lock. The owner moves them
 * to queues of their source and delivers from there. With a seed a source has three: calls, urgent
 * messages and puts (enum cmi_way). The owner then picks queues at random, sometimes delivers
 * nothing, and completes puts late. A message that needs to be behind all earlier ones knows how
 * many urgent ones were sent before, and waits for them.
 * In one thread a seed replays exactly; with threads the random numbers replay, but not
 * their timing.
 *
 * Where CK_WIRE is set, all transits are frames of the filters (filter/filter.h), as over UCX.
 *
 * All nodes share their memory, so attaching only checks whose memory it is, and a put is a copy.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../tools/cmi_random.h"
#include "../base/cmi_alloc.h"
#include "../base/die.h"
#include "../filter/filter.h"
#include "../shm/flip.h"
#include "../start/loop_net.h"
#include "machine_int.h"
#include "../shm/msg_local.h"
#include "../base/say.h"

enum {
	PASS_MAX = 64,   /* deliveries per cmi_progress: bounded work */
	/* As over UCX: smaller messages are copied to the pool, and at most HOLD_MAX live in their transit
	 * at a time. */
	HOLD_MIN = 512,
	HOLD_MAX = 128,
};

/** Queues of a source. */
enum stream { CALLS, URGENT, PUTS, STREAMS };

/** One message or put on its way. */
struct transit {
	struct transit *next;
	int src_pe;
	enum stream stream;
	uint32_t n_urgent; /* that its source sent to this PE before; 0: it does not wait */
	bool is_put;
	struct cmi_put_head head;
	size_t bytes;
	_Alignas(CMI_MSG_ALIGN) unsigned char data[];
};

struct transit_queue {
	struct transit *head, **tail;
};

struct loop_pe {
	struct cmi_pe base;

	/* Written by other wires, under `lock`: */
	pthread_mutex_t lock;
	struct transit_queue inbox;

	/* The owner sets it; the sender that clears it wakes the owner. */
	atomic_bool sleeping;

	/* The owner's: */
	struct transit_queue *from; /* [n_pes * STREAMS], NULL until the first arrival */
	uint32_t *urgent_to;        /* [n_pes]: urgent messages sent; NULL until the first one */
	uint32_t *urgent_from;      /* [n_pes]: and arrived; made with `from` */
	size_t n_waiting;           /* in all of `from` */
	struct cmi_op *late_ops, **late_tail; /* with a seed: puts to complete later */
	uint64_t random;
	int n_held;
};

static struct loop_pe *loop_pe(struct cmi_pe *w)
{
	return (struct loop_pe *)w;
}

/* ---- open and close ------------------------------------------------------------------ */

static int loop_open(struct cmi *m)
{
	m->back = m->o.net;
	return 0;
}

static int loop_pe_open(struct cmi *m, struct cmi_pe **w_p)
{
	struct loop_pe *w = cmi_alloc_zero(1, sizeof *w, "a PE");

	(void)m;
	pthread_mutex_init(&w->lock, NULL);
	w->inbox.tail = &w->inbox.head;
	w->late_tail = &w->late_ops;
	atomic_init(&w->sleeping, false);
	*w_p = &w->base;
	return 0;
}

static int loop_pe_address(struct cmi_pe *base, struct wire_address *a)
{
	const struct cmi_loop_net *net = base->m->back;

	/* The wire's number is known now, and seeds its random numbers. */
	if (net)
		loop_pe(base)->random =
			cmi_random_seed(cmi_random_seed(net->seed) + (uint64_t)base->pe);
	a->len = 0;
	return 0;
}

static void queue_free(struct transit_queue *q)
{
	while (q->head) {
		struct transit *t = q->head;

		q->head = t->next;
		free(t);
	}
}

static void loop_pe_stop(struct cmi_pe *base)
{
	if (loop_pe(base)->n_held)
		machine_say("PE %d closes while %d messages still hold receive buffers", base->pe,
			    loop_pe(base)->n_held);
}

static void loop_close(struct cmi *m)
{
	for (int i = 0; i < m->o.n_pes; i++) {
		struct loop_pe *w = (struct loop_pe *)m->wire[i];

		if (!w)
			continue;
		queue_free(&w->inbox);
		for (int q = 0; w->from && q < m->job.n_pes * STREAMS; q++)
			queue_free(&w->from[q]);
		free(w->from);
		free(w->urgent_from);
		free(w->urgent_to);
		pthread_mutex_destroy(&w->lock);
		free(w);
	}
	mem_arena_fini(&m->arena, m);
}

/* ---- chance -------------------------------------------------------------------------- */

static bool seeded(const struct loop_pe *w)
{
	const struct cmi_loop_net *net = w->base.m->back;

	return net && net->seed;
}

/** A number below n. */
static uint64_t draw(struct loop_pe *w, uint64_t n)
{
	return cmi_random_below(&w->random, n);
}

/* ---- sending ------------------------------------------------------------------------- */

/* `room`: for so many bytes. */
static struct transit *transit_new(const struct cmi_pe *w, const void *data, size_t bytes,
				   size_t room)
{
	size_t size = (sizeof(struct transit) + room + CMI_MSG_ALIGN - 1) / CMI_MSG_ALIGN *
		      CMI_MSG_ALIGN;
	struct transit *t = cmi_must_have(aligned_alloc(CMI_MSG_ALIGN, size), size, "a message");

	memset(t, 0, sizeof *t);
	t->src_pe = w->pe;
	t->bytes = bytes;
	if (bytes)
		memcpy(t->data, data, bytes);
	return t;
}

static void transit_send(struct cmi_pe *from, int dst_pe, struct transit *t)
{
	const struct cmi_loop_net *net = from->m->back;
	const struct cmi_job *j = &from->m->job;
	struct loop_pe *to;
	int node;

	if (!net || dst_pe < 0 || dst_pe >= j->n_pes || j->node_of[dst_pe] == j->node)
		machine_die(from->m, "PE %d sends to PE %d, which is not on another node",
			    from->pe, dst_pe);
	node = j->node_of[dst_pe];
	to = loop_pe(net->node[node]->wire[dst_pe - j->first_pe[node]]);
	pthread_mutex_lock(&to->lock);
	*to->inbox.tail = t;
	to->inbox.tail = &t->next;
	pthread_mutex_unlock(&to->lock);
	/* seq_cst, as in loop_arm: either we see its flag, or it sees our message. */
	if (atomic_exchange(&to->sleeping, false))
		cmi_wake(&to->base);
}

enum { LOOP_MESSAGE = ITEM_MESSAGE, LOOP_PUT = 2 };

/** Where a transit lies: its stream, and how many urgent ones it waits for. */
struct place {
	enum stream stream;
	uint32_t n_urgent;
};

static void frames_send(struct cmi_pe *w, int dst_pe, const struct item *item, struct place where)
{
	const struct filters_room *f = w->m->filters_room;
	size_t at = 0, piece;

	do {
		struct transit *t;

		piece = f->next(w, dst_pe, item, at);
		t = transit_new(w, NULL, 0, frame_most(piece));
		t->stream = where.stream;
		t->n_urgent = where.n_urgent;
		t->bytes = f->encode(w, dst_pe, item, at, piece, t->data);
		transit_send(w, dst_pe, t);
		at += piece;
	} while (at < item->header_len + item->bytes);
}

/* Without a seed there is one stream, in the order of the sends. */
static struct place place_of(struct loop_pe *w, int dst_pe, const struct cmi_msg *m)
{
	const struct cmi_client *client = &w->base.m->client;
	enum cmi_way way;

	if (!seeded(w))
		return (struct place){ CALLS, 0 };
	way = client->way ? client->way(w->base.owner, m) : CMI_BEHIND_ALL;
	if (!w->urgent_to)
		w->urgent_to = cmi_alloc_zero((size_t)w->base.m->job.n_pes, sizeof *w->urgent_to,
					      "urgent messages");
	if (way == CMI_URGENT) {
		w->urgent_to[dst_pe]++;
		return (struct place){ URGENT, 0 };
	}
	return (struct place){ CALLS, way == CMI_BEHIND_ALL ? w->urgent_to[dst_pe] : 0 };
}

static void loop_send(struct cmi_pe *w, int dst_pe, struct cmi_msg *m)
{
	const struct place where = place_of(loop_pe(w), dst_pe, m);
	struct transit *t;

	if (w->filter) {
		frames_send(w, dst_pe,
			    &(struct item){ LOOP_MESSAGE, m->handler, NULL, 0, m, m->size, where.stream },
			    where);
	} else {
		t = transit_new(w, m, m->size, m->size);
		t->stream = where.stream;
		t->n_urgent = where.n_urgent;
		transit_send(w, dst_pe, t);
	}
	w->m->client.msg_free(w->owner, m);
}

/** Perhaps defer a put's completion to a later cmi_progress; only with a seed. */
static bool finish_later(struct cmi_op *op)
{
	struct loop_pe *w = loop_pe(op->w);

	if (!seeded(w) || draw(w, 2))
		return false;
	op->next = NULL;
	*w->late_tail = op;
	w->late_tail = &op->next;
	return true;
}

static bool loop_put_am(struct cmi_pe *w, int dst_pe, const struct cmi_put_head *h,
			const void *src, size_t bytes, struct cmi_op *op)
{
	struct transit *t;
	const struct place where = { seeded(loop_pe(w)) ? PUTS : CALLS, 0 };

	if (w->filter) {
		frames_send(w, dst_pe,
			    &(struct item){ LOOP_PUT, h->channel, h, sizeof *h, src, bytes, where.stream },
			    where);
	} else {
		t = transit_new(w, src, bytes, bytes);
		t->is_put = true;
		t->stream = where.stream;
		t->head = *h;
		transit_send(w, dst_pe, t);
	}
	op->tail_addr = 0;
	return !finish_later(op);
}

/* ---- receiving ----------------------------------------------------------------------- */

/** Move arrivals to the queues of their sources. */
static void sort_inbox(struct loop_pe *w)
{
	struct transit *t;

	pthread_mutex_lock(&w->lock);
	t = w->inbox.head;
	w->inbox.head = NULL;
	w->inbox.tail = &w->inbox.head;
	pthread_mutex_unlock(&w->lock);
	if (t && !w->from) {
		const size_t n = (size_t)w->base.m->job.n_pes;

		w->from = cmi_alloc_zero(n * STREAMS, sizeof *w->from, "arriving messages");
		w->urgent_from = cmi_alloc_zero(n, sizeof *w->urgent_from, "urgent messages");
	}
	while (t) {
		struct transit_queue *q = &w->from[t->src_pe * STREAMS + (int)t->stream];
		struct transit *next = t->next;

		t->next = NULL;
		if (!q->head)
			q->tail = &q->head;
		*q->tail = t;
		q->tail = &t->next;
		w->n_waiting++;
		t = next;
	}
}

/** Give the message to the client: in its transit, or copied into the pool. */
static void deliver_message(struct loop_pe *w, struct transit *t)
{
	const struct cmi *m = w->base.m;
	struct cmi_msg *msg = (struct cmi_msg *)t->data;

	if (t->bytes >= HOLD_MIN && w->n_held < HOLD_MAX && !(seeded(w) && draw(w, 2))) {
		msg_local_hold(msg, w->base.local);
		w->n_held++;
	} else {
		msg = m->client.msg_alloc(w->base.owner, t->bytes);
		msg_local_fill(msg, t->data, t->bytes);
		free(t);
	}
	m->client.msg_arrived(w->base.owner, msg);
}

static void deliver_frame(struct loop_pe *w, struct transit *t)
{
	const struct cmi *m = w->base.m;
	const bool urgent = t->stream == URGENT;
	struct item_arrived a;
	struct cmi_put_head head = { .channel = 0 };
	const char *why;

	flip_arrived(t->data, t->bytes);
	why = m->filters_room->decode(&w->base, t->data, t->bytes, &a);
	if (why)
		m->filters_room->refuse(&w->base, t->data, t->bytes, why);
	free(t);
	if (!a.whole)
		return;
	w->urgent_from[a.src_pe] += urgent;
	if (a.id == LOOP_MESSAGE) {
		m->client.msg_arrived(w->base.owner, a.m);
		return;
	}
	memcpy(&head, a.header, a.header_len < sizeof head ? a.header_len : sizeof head);
	m->client.put_arrived(w->base.owner, a.src_pe, &head, a.data, a.bytes);
}

static void deliver_from(struct loop_pe *w, int queue)
{
	struct transit_queue *q = &w->from[queue];
	struct transit *t = q->head;

	q->head = t->next;
	w->n_waiting--;
	if (w->base.filter) {
		deliver_frame(w, t);
		return;
	}
	w->urgent_from[t->src_pe] += t->stream == URGENT;
	if (!t->is_put) {
		deliver_message(w, t);
		return;
	}
	w->base.m->client.put_arrived(w->base.owner, t->src_pe, &t->head, t->data, t->bytes);
	free(t);
}

/* The urgent ones that the first of a queue waits for were sent before it, so they are here. */
static bool is_deliverable(const struct loop_pe *w, int queue)
{
	const struct transit *t = w->from[queue].head;

	return t && (int32_t)(t->n_urgent - w->urgent_from[t->src_pe]) <= 0;
}

/** The next queue with something to deliver, from `queue` on. */
static int next_queue(const struct loop_pe *w, int queue)
{
	int n = w->base.m->job.n_pes * STREAMS;

	while (!is_deliverable(w, queue % n))
		queue++;
	return queue % n;
}

static void loop_release(struct cmi_pe *base, struct cmi_msg *m)
{
	loop_pe(base)->n_held--;
	free((char *)m - offsetof(struct transit, data));
}

/** Store the word of an ordered put; a put by active message has none. */
static void put_tail(const struct cmi_op *op)
{
	/* Release: the body is visible to whoever reads the word with acquire. */
	if (op->tail_addr)
		__atomic_store_n((uint64_t *)(uintptr_t)op->tail_addr, op->word,
				 __ATOMIC_RELEASE);
}

/** Complete some of the delayed puts, in their order. */
static int finish_ops(struct loop_pe *w)
{
	int n = 0;

	while (w->late_ops && draw(w, 2)) {
		struct cmi_op *op = w->late_ops;

		w->late_ops = op->next;
		if (!w->late_ops)
			w->late_tail = &w->late_ops;
		put_tail(op);
		op->done(op);
		n++;
	}
	return n;
}

static int loop_progress(struct cmi_pe *base)
{
	struct loop_pe *w = loop_pe(base);
	int n_queues = base->m->job.n_pes * STREAMS, queue = 0, n;

	if (!base->network)
		return 0;
	sort_inbox(w);
	n = finish_ops(w);
	for (int i = 0; i < PASS_MAX && w->n_waiting > 0; i++) {
		if (seeded(w) && draw(w, 4) == 0)
			break;
		queue = seeded(w) ? (int)draw(w, (uint64_t)n_queues) : queue;
		queue = next_queue(w, queue);
		deliver_from(w, queue);
		n++;
	}
	return n;
}

/* A send reaches the net at once, so there is nothing to wait for. */
static void loop_flush(struct cmi_pe *w)
{
	(void)w;
}

/* A net joins all its nodes from the start. */
static int loop_n_connections(const struct cmi_pe *w)
{
	return w->m->job.n_pes - w->m->job.my_n_pes;
}

static int loop_poll_period(const struct cmi_pe *base)
{
	(void)base;
	return 1;
}

static bool loop_arm(struct cmi_pe *base, int *fd_p)
{
	struct loop_pe *w = loop_pe(base);
	bool empty;

	*fd_p = -1;
	if (!base->network)
		return true;
	/* seq_cst, as in transit_send. A flag that stays set costs one needless wake. */
	atomic_store(&w->sleeping, true);
	pthread_mutex_lock(&w->lock);
	empty = !w->inbox.head;
	pthread_mutex_unlock(&w->lock);
	return empty && w->n_waiting == 0 && !w->late_ops;
}

/* ---- memory -------------------------------------------------------------------------- */

/** A key contains nothing, because all nodes see the same addresses; but it must not be empty. */
static int loop_chunk_map(struct cmi *m, struct mem_chunk *c)
{
	enum { PAGE = 4096 };

	(void)m;
	c->bytes = (c->bytes + PAGE - 1) / PAGE * PAGE;
	c->base = aligned_alloc(PAGE, c->bytes);
	c->key.len = 1;
	c->key.bytes[0] = 0;
	return c->base ? 0 : -ENOMEM;
}

static void loop_chunk_unmap(struct cmi *m, struct mem_chunk *c)
{
	(void)m;
	free(c->base);
}

/** As over shared memory, only the machine's own memory has a key. */
static void loop_foreign_key(struct cmi *m, const void *addr, size_t bytes,
			     struct cmi_key *key_p)
{
	(void)m;
	(void)addr;
	(void)bytes;
	key_p->len = 0;
}

/** The key contains nothing, so the address must be in that node's memory. */
static struct cmi_remote *loop_attach(struct cmi_pe *w, int pe, const struct cmi_key *key,
				      uint64_t addr)
{
	const struct cmi_loop_net *net = w->m->back;
	struct cmi *there = net->node[w->m->job.node_of[pe]];
	struct cmi_remote *r;

	(void)key;
	if (!mem_chunk_of(&there->arena, (const void *)(uintptr_t)addr))
		return NULL;
	r = cmi_alloc(sizeof *r, "attached memory");
	*r = (struct cmi_remote){.w = w, .pe = pe};
	return r;
}

static void loop_detach(struct cmi_pe *w, struct cmi_remote *r)
{
	(void)w;
	free(r);
}

static void *loop_remote_ptr(struct cmi_remote *r, uint64_t addr)
{
	(void)r;
	return (void *)(uintptr_t)addr;
}

static bool loop_remote_rma(const struct cmi_remote *r)
{
	(void)r;
	return false;
}

static bool loop_put(struct cmi_remote *body, uint64_t body_addr, const void *src, size_t bytes,
		     struct cmi_op *op)
{
	(void)body;
	if (bytes)
		memcpy((void *)(uintptr_t)body_addr, src, bytes);
	if (finish_later(op))
		return false;
	put_tail(op);
	return true;
}

static bool loop_put_naive(struct cmi_remote *body, uint64_t body_addr, const void *src,
			   size_t bytes, struct cmi_op *op)
{
	op->tail_addr = 0;
	return loop_put(body, body_addr, src, bytes, op);
}

const struct cmi_ops loop_ops = {
	.name = "loopback",
	.open = loop_open,
	.close = loop_close,
	.pe_open = loop_pe_open,
	.pe_address = loop_pe_address,
	.pe_stop = loop_pe_stop,
	.send = loop_send,
	.flush = loop_flush,
	.progress = loop_progress,
	.poll_period = loop_poll_period,
	.n_connections = loop_n_connections,
	.release = loop_release,
	.put_am = loop_put_am,
	.arm = loop_arm,
	.chunk_map = loop_chunk_map,
	.chunk_unmap = loop_chunk_unmap,
	.foreign_key = loop_foreign_key,
	.attach = loop_attach,
	.detach = loop_detach,
	.remote_ptr = loop_remote_ptr,
	.remote_rma = loop_remote_rma,
	.put = loop_put,
	.put_naive = loop_put_naive,
};
