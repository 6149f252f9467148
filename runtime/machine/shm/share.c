/* SPDX-License-Identifier: Apache-2.0 */
/* share.c: messages through the segments of share_mem.c; see share.h. */
#include "share.h"

#include <stdlib.h>
#include <string.h>

#include "../tools/clock.h"
#include "../base/cmi_alloc.h"
#include "../base/die.h"
#include "flip.h"
#include "machine_int.h"
#include "msg_local.h"
#include "../base/ring.h"
#include "share_int.h"

enum {
	/* One of this many polls with messages also takes blocks back. */
	RETURNS_PERIOD = 16,
	/* The machine's own handlers, for a put by message and for the offer of a ring. No scheduler has
	 * that many. */
	PUT_HANDLER = UINT16_MAX,
	RING_HANDLER = UINT16_MAX - 1,
	/* Rings that a PE reads, of 24 kB each; the first senders to ask get one. An empty ring costs 2 ns
	 * in every pass. */
	RINGS_MOST = 8,
	/* A size in a slot's tag that no message has: the slot contains a reference. */
	SIZE_OF_REF = 0,
	/* A pair gets a ring after this many messages, because start-up and shut-down need none. */
	RING_AFTER = 16,
};

/** Follows the head of a put by message, before the bytes. */
struct share_put {
	struct cmi_put_head put;
	uint64_t bytes;
};
_Static_assert(sizeof(struct cmi_msg) + sizeof(struct share_put) == SHARE_LINE, "then the bytes");

/** Follows the head of the offer of a ring. */
struct share_offer {
	uint64_t ref;
	uint64_t number;            /* index in the receiver's in[] */
	uint64_t check;             /* both once more: a ring at a wrong index would never be read */
};

/** A PE's path to another one of the host. */
struct share_out {
	struct share_line *line;
	struct ring_writer ring;    /* only if `mark` */
	uint32_t n_past;            /* messages sent by the stack since there is a ring */
	unsigned n_sent;            /* messages before that */
	uint8_t mark;               /* which of the receiver's rings, from 1; 0: none */
	int node;
};

/** A ring that a PE reads. */
struct share_in {
	struct ring_reader ring;    /* .ring NULL: not offered yet */
	uint32_t n_past;            /* messages of the pair that arrived by the stack */
	int src_pe;
	bool streams;               /* the last look at the ring found a message */
	uint64_t answered;          /* slots that had been written to its sender when one came alone */
};

/** One PE's; only it reads and writes this. */
struct share_pe {
	struct share_line *line;
	int n_in;                   /* rings of in[]; all but the last may not be offered yet */
	struct share_in in[RINGS_MOST];
	struct wake_keys keys;      /* to the PEs that this one wakes */
	struct share_out *out[];    /* [n_pes of the job], NULL: nothing sent yet */
};

/* ---- start -------------------------------------------------------------------------------- */

void share_connect(struct cmi *m)
{
	struct share *s = m->share;
	bool all = true;

	if (!s->any)
		return;
	for (int node = 0; node < m->job.n_nodes; node++)
		all = all && share_reaches(s, node);
	for (int i = 0; i < m->o.n_pes; i++) {
		struct share_pe *p =
			cmi_alloc_zero(1, sizeof *p + (size_t)m->job.n_pes * sizeof(struct share_out *),
				       "the paths to the host's nodes");

		p->line = share_line_of(s, s->me, i);
		m->wire[i]->share = p;
		m->wire[i]->all_shared = all;
	}
}

/* ---- the stacks ----------------------------------------------------------------------------- */

/* The newest message's reference; 0, the usual case: there is none. */
static uint64_t take_refs(struct msg_stack *stack)
{
	return msg_stack_any(stack) ? msg_stack_take(stack) : 0;
}

_Noreturn static void share_damaged(const struct cmi_pe *w, int src_pe, const char *what)
{
	if (src_pe < 0)
		machine_die(
			w->m,
			"PE %d: %s, in what another process of the host has sent: it was damaged on its way",
			w->pe, what);
	machine_die(w->m, "PE %d: %s, in what PE %d has sent: it was damaged on its way", w->pe,
		    what, src_pe);
}

/* The message of a name that another process wrote, and the size that its memory allows. */
static inline struct cmi_msg *msg_named(const struct cmi_pe *w, int src_pe, uint64_t name,
					uint64_t *room_p)
{
	const uint64_t ref = name & ~(uint64_t)SHARE_NAME_CHECK;
	struct cmi_msg *m;

	if (ref % CMI_MSG_ALIGN || !share_has(w->m->share, ref, room_p) || *room_p < sizeof *m)
		share_damaged(w, src_pe, "a reference that names no message");
	m = share_msg_of(w->m->share, ref);
	msg_tell_taken(m, w->m->share->one_process);
	return m;
}

static inline void check_class(const struct cmi_pe *w, const struct cmi_msg *m, uint64_t name)
{
	if ((name & SHARE_NAME_CHECK) != share_class_check(m))
		share_damaged(w, -1, "a message in memory of another size");
}

/* For msg_stack_in_order. */
static struct cmi_msg *msg_of_name(const void *wire, uint64_t ref)
{
	const struct cmi_pe *w = wire;
	uint64_t room;
	struct cmi_msg *m = msg_named(w, -1, ref, &room);

	flip_arrived(m, m->size);
	check_class(w, m, ref);
	return m;
}

/* ---- sleep and wake -------------------------------------------------------------------------- */

int share_pe_open(struct cmi *m, int local)
{
	const struct share *s = m->share;

	/* Without a pipe, messages of other nodes wait for the end of a nap. */
	return s->any ? wake_door_open(&share_line_of(s, s->me, local)->door) : -1;
}

static __attribute__((noinline, cold)) void wake_other(struct cmi_pe *w, int dst_pe,
						       const struct share_out *o)
{
	/* Relaxed: it only elects one sender, and a second wake-up would be harmless. */
	atomic_store_explicit(&o->line->sleeping, false, memory_order_relaxed);
	wake_host(&w->share->keys, dst_pe, w->m->share->names[o->node].pid, &o->line->door);
}

static bool something_came(const struct share_pe *p)
{
	bool empty = !msg_stack_any_for_sleep(&p->line->inbox);
	uint64_t tag;

	for (int i = 0; i < p->n_in && empty; i++)
		empty = !p->in[i].ring.ring || !ring_look(&p->in[i].ring, &tag);
	return !empty;
}

/* The store and the loads are seq_cst, as are the push onto a stack and the load of `sleeping`
 * after it: so either the sender sees that we sleep, or we see its message. A slot of a ring is
 * different. A plain store publishes it, and a processor may load `sleeping` while that store still
 * waits for its line. A fence there would delay every message: a stream took 162 ns a message with
 * it and 107 without, a barrier 0.51 and 0.48 us (Intel Xeon). So the sleeper waits instead, until
 * a store that was under way when `sleeping` became visible must have completed. That is no proof,
 * and none is needed: a message whose store takes longer waits for the next message or for the end
 * of a nap, which cmi_sleep bounds. Model: ring.pml, share_sleep_begin */
bool share_sleep_begin(struct cmi_pe *w)
{
	struct share_pe *p = w->share;
	uint64_t until;
	bool came;

	if (!p)
		return true;
	atomic_store_explicit(&p->line->sleeping, true, memory_order_seq_cst);
	until = p->n_in ? machine_now_ns() + RING_SETTLE_NS : 0;
	do
		came = something_came(p);
	while (!came && machine_now_ns() < until);
	if (came)
		share_sleep_end(w);
	return !came;
}

void share_sleep_end(struct cmi_pe *w)
{
	if (!w->share)
		return;
	atomic_store_explicit(&w->share->line->sleeping, false, memory_order_relaxed);
	wake_door_forget(w->wake_pipe);
}

/* ---- sending --------------------------------------------------------------------------------- */

/* Find the path to a PE; NULL: its node cannot be reached. */
static __attribute__((noinline, cold)) struct share_out *out_open(struct cmi_pe *w, int dst_pe)
{
	struct share *s = w->m->share;
	const struct cmi_job *j = &w->m->job;
	struct share_out *o;

	if (!share_reaches(s, j->node_of[dst_pe]))
		return NULL;
	o = cmi_alloc_zero(1, sizeof *o, "the path to a PE");
	o->node = j->node_of[dst_pe];
	o->line = share_line_of(s, s->number[o->node], dst_pe - j->first_pe[o->node]);
	return w->share->out[dst_pe] = o;
}

/* Claim one of the rings that a PE reads; -1 when all are taken. Relaxed: no data depends on it. */
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

/* For a message that the network has delivered and a handler forwards: other nodes cannot see its
 * buffer. */
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
	msg_stack_push(&o->line->inbox, m, share_name_of_msg(w->m->share, m), w->m->share->one_process);
}

/* Make a ring for the pair and offer it by the stack. The receiver sees the offer before everything
 * that is written into the ring. */
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
	offer->ref = share_ref_of(s, ring);
	offer->number = (uint64_t)number;
	offer->check = ~(offer->ref + offer->number);
	send_by_stack(w, o, m);
	ring_writer_init(&o->ring, ring);
	o->mark = (uint8_t)(number + 1);
	o->n_past = 0;
}

/* By value. The message's memory is ours again at once, which saves the lines of the receiver's
 * inbox, of the message's head and of the return. */
static void send_by_ring(struct cmi_pe *w, struct share_out *o, struct ring_slot *slot,
			 struct cmi_msg *m)
{
	ring_put(&o->ring, slot, o->n_past, m);
	w->m->client.msg_free(w->owner, m);
}

/* For messages larger than a slot. The slot's line moves to the receiver once, while the inbox's
 * line, which both sides change, moves back and forth. */
static void send_ref_by_ring(struct cmi_pe *w, struct share_out *o, struct ring_slot *slot,
			     struct cmi_msg *m)
{
	uint64_t ref;

	m = in_shared_memory(w, m);
	ref = share_name_of_msg(w->m->share, m);
	slot->n_past = o->n_past;
	memcpy(slot->body, &ref, sizeof ref);
	msg_tell_pushed(m, w->m->share->one_process);
	o->ring.n_lines = 1;
	ring_publish(&o->ring, slot, ring_tag(0, 0, SIZE_OF_REF));
}

bool share_send(struct cmi_pe *w, int dst_pe, struct cmi_msg *m)
{
	struct share_out *o = w->share->out[dst_pe];
	struct ring_slot *slot = NULL;

	if (__builtin_expect(!o, 0) && !(o = out_open(w, dst_pe)))
		return false;
	msg_tell_left(w->m->share, w->m->share->one_process);
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
		wake_other(w, dst_pe, o);
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
	uint64_t ref = share_ref_of(s, msg);

	msg_stack_push(&share_line_of(s, (int)(ref >> SHARE_OFFSET_BITS), msg->home)->returns, msg,
		       ref | share_class_check(msg), s->one_process);
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* `size`: of the body, which begins with the put's head. */
static void share_put_arrived(struct cmi_pe *w, int src_pe, const void *body, size_t size)
{
	const struct share_put *p = body;

	if (size < sizeof *p || p->bytes > size - sizeof *p)
		share_damaged(w, src_pe, "a put longer than its message");
	w->m->client.put_arrived(w->owner, src_pe, &p->put, p + 1, p->bytes);
}

/* The sender has claimed the ring's index (claim_ring). */
static void offer_arrived(struct cmi_pe *w, const struct cmi_msg *m)
{
	const struct share_offer *offer = (const struct share_offer *)(const void *)(m + 1);
	struct share_pe *p = w->share;

	if (m->size != sizeof *m + sizeof *offer || offer->number >= RINGS_MOST ||
	    offer->check != ~(offer->ref + offer->number) ||
	    offer->ref % RING_ALIGN || !share_fits(w->m->share, offer->ref, sizeof(struct ring)) ||
	    p->in[offer->number].ring.ring)
		share_damaged(w, m->src_pe, "an offer that names no ring");

	ring_reader_init(&p->in[offer->number].ring,
			 (struct ring *)(void *)share_msg_of(w->m->share, offer->ref));
	p->in[offer->number].src_pe = m->src_pe;
	if (p->n_in <= (int)offer->number)
		p->n_in = (int)offer->number + 1;
}

/* The memory of a message by reference returns to a PE of the node that owns its segment, into the
 * size class in its head. */
static inline void check_ref(const struct cmi_pe *w, const struct cmi_msg *m, uint64_t ref,
			     uint64_t room)
{
	if (m->size < sizeof *m || m->size > room)
		share_damaged(w, m->src_pe, "a message that does not lie in one piece of shared memory");
	if ((m->origin != CMI_ORIGIN_POOL && m->origin != CMI_ORIGIN_SHARED) ||
	    m->home >= w->m->share->n_pes[ref >> SHARE_OFFSET_BITS])
		share_damaged(w, m->src_pe, "a message in memory that belongs to nobody");
}

/* A message by reference. Its memory will be returned to its owner. */
static inline void share_arrived(struct cmi_pe *w, struct cmi_msg *m)
{
	m->next = NULL;
	m->mark = 0;
	m->origin = CMI_ORIGIN_SHARED;
	if (__builtin_expect(m->handler < RING_HANDLER, 1)) {
		w->m->client.msg_arrived(w->owner, m);
		return;
	}
	if (m->handler == PUT_HANDLER)
		share_put_arrived(w, m->src_pe, m + 1, m->size - sizeof *m);
	else
		offer_arrived(w, m);
	share_give_back(w->m, m);
}

static void ref_arrived(struct cmi_pe *w, int src_pe, const struct ring_slot *slot)
{
	struct cmi_msg *m;
	uint64_t ref, room;

	memcpy(&ref, slot->body, sizeof ref);
	m = msg_named(w, src_pe, ref, &room);
	flip_arrived(m, m->size);
	check_class(w, m, ref);
	if (m->src_pe != src_pe)
		share_damaged(w, src_pe, "a message of another sender");
	check_ref(w, m, ref, room);
	share_arrived(w, m);
}

static void slot_arrived(struct cmi_pe *w, int src_pe, const struct ring_slot *slot, uint64_t tag)
{
	uint16_t size = ring_size(tag);
	struct cmi_msg *m;

	msg_tell_came(w->m->share, w->m->share->one_process);
	if (size == SIZE_OF_REF) {
		ref_arrived(w, src_pe, slot);
		return;
	}
	if (__builtin_expect((size_t)size - sizeof *m > RING_BODY_MOST, 0))
		share_damaged(w, src_pe, "a size that no slot of a ring has");
	if (__builtin_expect(ring_handler(tag) == PUT_HANDLER, 0)) {
		share_put_arrived(w, src_pe, slot->body, size - sizeof *m);
		return;
	}
	m = w->m->client.msg_alloc(w->owner, size);
	ring_get(m, slot, tag, src_pe);
	w->m->client.msg_arrived(w->owner, m);
}

/* A slot says that it follows a message on the stack. That one was pushed before the slot was
 * written, so it has arrived. */
static __attribute__((noinline, cold)) void check_blocked(const struct cmi_pe *w,
							  const struct share_in *in)
{
	if (!msg_stack_any(&w->share->line->inbox))
		share_damaged(w, in->src_pe, "a slot of a ring behind a message that was never sent");
}

/* A message came alone. If the last such one was answered, this one may be, too: the answer's lines
 * are fetched while its handler runs. The receiver polls them and takes them back, but mostly
 * after the answer has been written. Nothing is ordered by this: it is a hint. */
static inline void expect_answer(const struct cmi_pe *w, struct share_in *in)
{
	const struct share_out *o = w->share->out[in->src_pe];

	if (!o || !o->mark)
		return;
	if (o->ring.n_written != in->answered)
		ring_own_next(&o->ring);
	in->answered = o->ring.n_written;
}

/* Take messages until the ring is empty, or the next one follows one that is still on the stack; at
 * most one round. `in_stack`: while messages from the stack are handled.
 *
 * A message that came alone is handled before the ring is looked at again: the sender's core often
 * has the next slot's line already, and its handler would wait until that has come. */
static int take_ring(struct cmi_pe *w, struct share_in *in, bool in_stack)
{
	const struct ring_slot *slot;
	uint64_t tag;
	int n = 0;

	while (n < RING_SLOTS && (slot = ring_look(&in->ring, &tag))) {
		if (__builtin_expect(slot->n_past != in->n_past, 0)) {
			if (!in_stack)
				check_blocked(w, in);
			break;
		}
		flip_slot(&tag, slot);
		slot_arrived(w, in->src_pe, slot, tag);
		ring_release(&in->ring);
		n++;
		if (!in->streams && !in_stack) {
			in->streams = true;
			expect_answer(w, in);
			return n;
		}
	}
	in->streams = n == RING_SLOTS;
	ring_fetch(&in->ring);
	return n;
}

static int take_rings(struct cmi_pe *w)
{
	struct share_pe *p = w->share;
	int n = 0;

	for (struct share_in *in = p->in; in < p->in + p->n_in; in++)
		if (in->ring.ring)
			n += take_ring(w, in, false);
	return n;
}

/* Before a message from the stack whose pair has a ring: take what its sender wrote there earlier.
 * All of that is visible, because we have this message. */
static int take_earlier(struct cmi_pe *w, const struct cmi_msg *m)
{
	struct share_in *in;
	int n;

	if (!m->mark)
		return 0;
	if (m->mark > RINGS_MOST || !w->share->in[m->mark - 1].ring.ring)
		share_damaged(w, m->src_pe, "a message behind those of a ring that does not exist");
	in = &w->share->in[m->mark - 1];
	n = take_ring(w, in, true);
	in->n_past++;
	return n;
}

/* msg_stack_in_order has replaced the names by messages. */
static void stack_arrived(struct cmi_pe *w, struct cmi_msg *m)
{
	const struct share *s = w->m->share;
	const struct cmi_job *j = &w->m->job;
	const uint64_t ref = share_ref_of(s, m);
	uint64_t room = 0;

	if (m->src_pe < 0 || m->src_pe >= j->n_pes || s->number[j->node_of[m->src_pe]] < 0 ||
	    j->node_of[m->src_pe] == j->node)
		share_damaged(w, -1, "an invalid sender");
	share_has(s, ref, &room);
	check_ref(w, m, ref, room);
	share_arrived(w, m);
}

/* Deliver what was on the stack, oldest first. */
static int take_stack(struct cmi_pe *w, uint64_t ref)
{
	struct cmi_msg *in_order = msg_stack_in_order(ref, msg_of_name, w);
	int n = 0;

	msg_tell_came(w->m->share, w->m->share->one_process);
	for (struct cmi_msg *m = in_order, *next; m; m = next, n++) {
		next = m->next;
		n += take_earlier(w, m);
		stack_arrived(w, m);
	}
	return n;
}

static void take_back(struct cmi_pe *w, uint64_t ref)
{
	while (ref) {
		uint64_t room;
		struct cmi_msg *m = msg_named(w, -1, ref, &room);

		check_class(w, m, ref);
		if (ref >> SHARE_OFFSET_BITS != (uint64_t)w->m->share->me)
			share_damaged(w, -1, "memory that is not ours");
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
	/* Taking blocks back touches lines that another core has. While a message that has just arrived
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
	if (w->share)
		wake_keys_close(&w->share->keys);
	free(w->share);
	w->share = NULL;
}
