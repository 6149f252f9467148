/* SPDX-License-Identifier: Apache-2.0 */
/* inbox.c: see inbox.h. */
#include "inbox.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>

enum {
	/* A pair gets a ring after this many messages, because start-up and shut-down need none. */
	RING_AFTER = 16,
	POINTERS = 256, /* of a pair's first ring */
	/* Messages taken from one ring in a pass. */
	TAKE_MOST = 64,
};

struct inbox_offer {
	struct cmi_msg head;
	struct inbox_ring *ring;
	struct ring *values;
};

/* ---- the stack ------------------------------------------------------------------------------- */

static void wake_if_asleep(struct pe *to)
{
	if (CSD_UNLIKELY(atomic_load_explicit(&to->sleeping, memory_order_seq_cst)))
		cmi_wake(to->wire);
}

/* The push and the load of `sleeping` are seq_cst and pair with idle_nap: either we see that
 * the owner sleeps, or it sees our message before it sleeps. Model: inbox.pml, inbox_push */
void inbox_push(struct pe *to, struct cmi_msg *m)
{
	msg_stack_local_push(&to->inbox, m);
	wake_if_asleep(to);
}

/* A message that comes alone is often answered; csd_may_answer uses that. */
static void came_alone(struct pe *pe, int src_pe)
{
	pe->lone = pe_of_node(pe, src_pe);
	if (pe->lone)
		cmi_fetch_polled(&pe->lone->inbox);
}

/* Empty the stack at once and reverse it, so that each sender's messages keep their order. Bounded
 * by what was there at one moment. */
int inbox_take_slow(struct pe *pe)
{
	struct cmi_msg *in_order = msg_stack_local_take_in_order(&pe->inbox);
	int n = 0;

	pe->lone = NULL;
	if (in_order && !in_order->next)
		came_alone(pe, in_order->src_pe);
	while (in_order) {
		struct cmi_msg *next = in_order->next;

		msgq_push(&pe->queue, in_order);
		in_order = next;
		n++;
	}
	return n;
}

/* ---- rings: the writer ----------------------------------------------------------------------- */

/* Advance `stop`, but leave one slot of the ring for BELL_END. False: the ring is full.
 * Model: pair.pml, ring_turn */
static bool ring_turn(struct bell_writer *w)
{
	bell_turn(w);
	if ((uint64_t)(w->stop - w->next) == w->n_slots - bell_pending(w))
		w->stop--;
	return w->next != w->stop;
}

static struct inbox_ring *ring_new(struct inbox_out *out, uint32_t n_slots)
{
	const size_t bytes = sizeof(struct inbox_ring) + n_slots * sizeof(uint64_t);
	struct inbox_ring *ring = cmi_alloc_aligned(
		2 * CSD_CACHE_LINE, (bytes + 2 * CSD_CACHE_LINE - 1) & ~(size_t)(2 * CSD_CACHE_LINE - 1),
		"messages between threads");

	ring->n_slots = n_slots;
	ring->older = out->ring;
	return ring;
}

static void ring_begin(struct inbox_out *out, struct inbox_ring *ring)
{
	out->ring = ring;
	bell_write_init(&out->to, &ring->bell, ring->n_slots);
	ring_turn(&out->to);
}

/* The pair continues in a larger ring. The slot that ring_turn has left takes BELL_END.
 * Model: pair.pml, ring_grow */
static __attribute__((noinline, cold)) void ring_grow(struct inbox_out *out)
{
	struct inbox_ring *old = out->ring, *ring = ring_new(out, 2 * old->n_slots);

	old->newer = ring;
	out->to.stop++;
	bell_ring(&out->to, BELL_END);
	ring_begin(out, ring);
}

static void send_by_ring(struct inbox_out *out, struct cmi_msg *m)
{
	if (CSD_UNLIKELY(out->to.next == out->to.stop) && !ring_turn(&out->to))
		ring_grow(out);
	bell_ring(&out->to, (uintptr_t)m);
	out->n_past++;
}

/* A small message that could leave the process as it is: its flags say so, and it lies in a block
 * of a pool. In checked mode it belongs to nobody. The receiver's copy is memory that the sender's
 * limit does not see (room.c), so all messages go by pointer while half of that is taken. */
static inline bool goes_by_value(const struct pe *pe, const struct cmi_msg *m)
{
	enum { FLAGS = CMI_F_SYSTEM | CMI_F_EXPEDITED | CMI_F_PRIO | CMI_F_LIFO };
	const struct node *node = pe->node;

	return m->size <= sizeof *m + RING_BODY_MOST && !(m->flags & ~FLAGS) && m->src_pe == pe->id &&
	       m->origin == CMI_ORIGIN_POOL && (!m->mark || !node->check) &&
	       atomic_load_explicit(&node->memory.taken, memory_order_relaxed) <= node->memory.most / 2;
}

static inline void send_by_value(struct pe *pe, struct inbox_out *out, struct ring_slot *slot,
				 struct cmi_msg *m)
{
	ring_put(&out->values, slot, out->n_past, m);
	csd_msg_free(pe, m);
}

/* Take one of the rings that a PE reads. Relaxed: no data depends on the number. */
static bool ring_claim_one(struct pe *to)
{
	atomic_int *n = &to->n_rings_taken;

	return atomic_load_explicit(n, memory_order_relaxed) < INBOX_RINGS_MOST &&
	       atomic_fetch_add_explicit(n, 1, memory_order_relaxed) < INBOX_RINGS_MOST;
}

static __attribute__((noinline, cold)) void ring_offer(struct pe *pe, struct pe *to,
						       struct inbox_out *out)
{
	struct inbox_offer *offer;

	if (!ring_claim_one(to))
		return;
	offer = (struct inbox_offer *)csd_msg_alloc(pe, sizeof *offer);
	offer->head.handler = (uint16_t)pe->node->h_ring;
	offer->head.flags = CMI_F_SYSTEM;
	offer->head.src_pe = pe->id;
	ring_begin(out, ring_new(out, POINTERS));
	offer->ring = out->ring;
	offer->values = cmi_alloc_aligned(RING_ALIGN, sizeof *offer->values,
					  "messages between threads");
	ring_writer_init(&out->values, offer->values);
	inbox_push(to, &offer->head);
}

void inbox_send(struct pe *pe, struct pe *to, struct cmi_msg *m)
{
	struct inbox_out *out = &pe->rings->out[to->local];

	struct ring_slot *slot;

	if (CSD_LIKELY(out->ring != NULL)) {
		if (goes_by_value(pe, m) && (slot = ring_claim(&out->values)))
			send_by_value(pe, out, slot, m);
		else
			send_by_ring(out, m);
		wake_if_asleep(to);
		return;
	}
	inbox_push(to, m);
	if (++out->n_sent == RING_AFTER)
		ring_offer(pe, to, out);
}

/* ---- rings: the reader ----------------------------------------------------------------------- */

static void ring_read(struct inbox_in *in, struct inbox_ring *ring)
{
	in->ring = ring;
	bell_read_init(&in->from, &ring->bell, ring->n_slots);
}

void inbox_offer_arrived(struct pe *pe, struct cmi_msg *m)
{
	const struct inbox_offer *offer = (struct inbox_offer *)m;
	struct inbox_in *in = &pe->rings->in[pe->n_rings++];

	ring_read(in, offer->ring);
	ring_reader_init(&in->values, offer->values);
	pe->listens_far = true;
	in->src_pe = m->src_pe;
	csd_msg_free(pe, m);
}

static void value_arrived(struct pe *pe, const struct inbox_in *in, const struct ring_slot *slot,
			  uint64_t tag)
{
	struct cmi_msg *m = csd_msg_alloc_copy(pe, ring_size(tag));

	ring_get(m, slot, tag, in->src_pe);
	msgq_push(&pe->queue, m);
}

/* Up to the first one that was sent after a pointer that has not been taken.
 * Model: pair.pml, take_values */
static int take_values(struct pe *pe, struct inbox_in *in)
{
	const struct ring_slot *slot;
	uint64_t tag;
	int n = 0;

	while (n < RING_SLOTS && (slot = ring_look(&in->values, &tag)) && slot->n_past == in->n_past) {
		value_arrived(pe, in, slot, tag);
		ring_release(&in->values);
		n++;
	}
	return n;
}

/* The next pointer; NULL: there is none. */
static struct cmi_msg *next_pointer(struct inbox_in *in)
{
	uint64_t word;

	while (bell_next(&in->from, &word)) {
		if (CSD_LIKELY(word != BELL_END))
			return (struct cmi_msg *)(uintptr_t)word;
		ring_read(in, in->ring->newer);
	}
	return NULL;
}

/* Messages by value that were sent before a pointer are visible when that is.
 * Model: pair.pml, take_pointers */
static int take_pointers(struct pe *pe, struct inbox_in *in)
{
	struct cmi_msg *m;
	int n = 0;

	while (n < TAKE_MOST && (m = next_pointer(in))) {
		cmi_own_line(m);
		n += take_values(pe, in);
		msgq_push(&pe->queue, m);
		in->n_past++;
		n++;
	}
	bell_taken(&in->from);
	return n;
}

int inbox_take_rings(struct pe *pe)
{
	struct inbox_in *in = pe->rings->in;
	int n = 0;

	for (int i = 0; i < pe->n_rings; i++, in++) {
		n += take_values(pe, in);
		if (CSD_UNLIKELY(bell_rings(&in->from)))
			n += take_pointers(pe, in);
	}
	return n;
}

/* ---- sleep ----------------------------------------------------------------------------------- */

/* The loads are seq_cst: they come after the store of `sleeping`. */
static bool ring_has_any(const struct inbox_in *in)
{
	const struct bell_reader *from = &in->from;
	uint64_t tag, word = atomic_load_explicit(from->next, memory_order_seq_cst);

	return ring_look(&in->values, &tag) || !((word ^ from->lap) & BELL_LAP);
}

static bool any_rings(const struct pe *pe)
{
	for (int i = 0; i < pe->n_rings; i++)
		if (ring_has_any(&pe->rings->in[i]))
			return true;
	return false;
}

/* A writer of a ring stores plainly and then loads `sleeping`, perhaps before its store is visible.
 * So the reader looks for as long as such a store may take; idle_nap bounds the sleep in case it
 * takes longer (as share_sleep_begin, which has the reasons). */
bool inbox_any_for_sleep(const struct pe *pe)
{
	const uint64_t until = pe->n_rings ? csd_now_ns() + RING_SETTLE_NS : 0;
	bool any;

	do
		any = msg_stack_any_for_sleep(&pe->inbox) || any_rings(pe);
	while (!any && until && csd_now_ns() < until);
	return any;
}

/* ---- start and end --------------------------------------------------------------------------- */

void inbox_open(struct pe *pe)
{
	const size_t n = (size_t)pe->node->job->my_n_pes;

	if (n > 1)
		pe->rings = cmi_alloc_zero(1, sizeof *pe->rings + n * sizeof pe->rings->out[0],
					   "messages between threads");
}

void inbox_close(struct pe *pe)
{
	for (int i = 0; pe->rings && i < pe->node->job->my_n_pes; i++)
		for (struct inbox_ring *ring = pe->rings->out[i].ring, *older; ring; ring = older) {
			older = ring->older;
			free(ring);
		}
	for (int i = 0; pe->rings && i < pe->node->job->my_n_pes; i++)
		free(pe->rings->out[i].values.ring);
	free(pe->rings);
}
