/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_queue.c: messages for a node, which any of its PEs may handle (Charm++'s CsdNodeQueue).
 *
 * Any PE pushes onto `inbox`, a stack (msg_stack.h). A PE that wants a message sets `taken` with
 * one exchange, moves the inbox into the queue, pops one message and clears `taken`. No PE waits
 * for `taken`: one that does not get it has other work or tries again. So one PE at a time uses the
 * queue, and the messages of one sender stay in order.
 *
 * A message whose gate is closed waits in the gate, outside the queue, and blocks no PE. A serial
 * gate closes after each message that passes and is opened when that one is over, so its messages
 * run one at a time, in the order in which they left the queue. A gate that is not serial is closed
 * from the start and opened once.
 */
#include "msg_route.h"

#include <sched.h>

enum { NODE_SALT = 1 << 20 }; /* after those of PEs */

void node_queue_init(struct node *node)
{
	struct csd_node_queue *q = &node->queue;

	msgq_init(&q->queue);
	msg_fifo_init(&q->ready);
	msg_fifo_init(&q->again);
	if (node->random.order)
		msgq_set_random(&q->queue, msgq_random_create(node, NODE_SALT + node->job->node, -1));
}

/* ---- waking ------------------------------------------------------------------------------- */

/* Wake one PE that sleeps, if there is one. The exchange elects one of several wakers. */
static void wake_one(struct pe *pe)
{
	struct node *node = pe->node;
	int n = node->job->my_n_pes;

	for (int i = 1; i <= n; i++) {
		struct pe *other = node->pes[(pe->local + i) % n];

		if (atomic_load_explicit(&other->sleeping, memory_order_seq_cst) &&
		    atomic_exchange_explicit(&other->sleeping, false, memory_order_seq_cst)) {
			cmi_wake(other->wire);
			return;
		}
	}
}

/* Wake up to `k` PEs, after `n` has been raised. Raising `n` and this load pair with idle_nap,
 * all seq_cst: either we see that a PE sleeps, or it sees the message and stays awake. Model:
 * inbox.pml, push_to_node */
static void wake_sleepers(struct pe *pe, int64_t k)
{
	if (CSD_LIKELY(!atomic_load_explicit(&pe->node->queue.n_sleeping, memory_order_seq_cst)))
		return;
	for (; k > 0; k--)
		wake_one(pe);
}

/* ---- pushing -------------------------------------------------------------------------------- */

/* The message is counted before it is pushed, so that the count is never too low; a PE that then
 * finds nothing tries again. */
static void push_to_node(struct pe *pe, struct cmi_msg *m)
{
	struct csd_node_queue *q = &pe->node->queue;

	atomic_fetch_add_explicit(&q->n, 1, memory_order_seq_cst);
	msg_stack_local_push(&q->inbox, m);
	wake_sleepers(pe, 1);
}

void node_queue_arrived(struct pe *pe, struct cmi_msg *m)
{
	push_to_node(pe, m);
}

/* All messages from one PE to a node go to the same wire, which keeps their order. */
static int local_wire(int src_pe, int n_pes)
{
	return src_pe % n_pes;
}

void route_to_node(struct pe *pe, int node, struct cmi_msg *m)
{
	const struct cmi_job *job = pe->node->job;
	int first = job->first_pe[node], n = job->first_pe[node + 1] - first;

	if (node == job->node)
		push_to_node(pe, m);
	else {
		m->src_pe = pe->id; /* as the machine will set it */
		arrival_seal(pe, m);
		flow_send(pe, first + local_wire(pe->id, n), m);
	}
}

void csd_send_node(struct pe *pe, int node, struct cmi_msg *m)
{
	csd_count_sent(pe, m);
	if (CSD_UNLIKELY(pe->trace != NULL))
		pe->trace->sent(pe, pe->node->job->first_pe[node], m, TRACE_TO_NODE);
	m->flags |= CMI_F_NODE;
	if (CSD_UNLIKELY(pe->hold != NULL))
		hold_push(pe, node, m);
	else
		route_to_node(pe, node, m);
}

/* ---- taking: with `taken` only --------------------------------------------------------------- */

/* Acquire and release make all writes of one holder visible to the next. */
static bool try_take(struct csd_node_queue *q)
{
	return !atomic_load_explicit(&q->taken, memory_order_relaxed) &&
	       !atomic_exchange_explicit(&q->taken, true, memory_order_acquire);
}

static void queue_release(struct csd_node_queue *q)
{
	atomic_store_explicit(&q->taken, false, memory_order_release);
}

/* Messages that wait at an opened gate come before everything queued. A serial gate lets one of
 * them pass and stays closed after it. Another gate lets all pass; they may meet a second gate.
 * Returns how many passed. */
static int64_t let_through(struct csd_node_queue *q, struct csd_gate *g)
{
	int64_t n = 0;

	g->closed = g->serial && g->waiting.head;
	while (g->waiting.head && !(g->serial && n)) {
		msg_fifo_push(g->serial ? &q->ready : &q->again, msg_fifo_pop(&g->waiting));
		n++;
	}
	return n;
}

/* Move the inbox into the queue. An opened gate is no message; returns how many messages such gates
 * let pass, minus the openings themselves. */
static int64_t turn_round(struct csd_node_queue *q)
{
	struct cmi_msg *in_order = msg_stack_local_take_in_order(&q->inbox);
	int64_t n = 0;

	for (struct cmi_msg *next; in_order; in_order = next) {
		next = in_order->next;
		if (in_order->handler == CSD_GATE_OPENS)
			n += let_through(q, (struct csd_gate *)in_order) - 1;
		else
			msgq_push(&q->queue, in_order);
	}
	return n;
}

static struct cmi_msg *next_queued(struct csd_node_queue *q)
{
	return q->again.head ? msg_fifo_pop(&q->again) : msgq_pop(&q->queue);
}

/* The next message that no gate holds back, or NULL. Those that stay at a gate are subtracted from
 * *n. */
static struct cmi_msg *next_message(struct pe *pe, struct csd_node_queue *q, int64_t *n)
{
	struct cmi_msg *m;

	if (q->ready.head)
		return msg_fifo_pop(&q->ready);
	while ((m = next_queued(q))) {
		struct csd_gate *g = pe->node->up.gate_of ? pe->node->up.gate_of(pe, m) : NULL;

		if (!g || !g->closed) {
			if (g)
				g->closed = g->serial;
			return m;
		}
		msg_fifo_push(&g->waiting, m);
		--*n;
	}
	return NULL;
}

/* The credit is given by the PE that received the message from the network. */
static void consumed(struct pe *pe, int src_pe, uint64_t bytes)
{
	int wire = local_wire(src_pe, pe->node->job->my_n_pes);

	if (wire == pe->local)
		flow_consumed(pe, src_pe, bytes);
	else
		flow_consumed_for(pe, pe->node->pes[wire], src_pe, bytes);
}

static void handle_one(struct pe *pe, struct cmi_msg *m)
{
	uint8_t flags = m->flags;
	int src_pe = m->src_pe;
	uint64_t bytes = m->size;

	m->flags = flags & (uint8_t)~(CMI_F_REMOTE | CMI_F_NODE);
	pe->node->handlers[m->handler].fn(pe, m);
	if (!(flags & CMI_F_SYSTEM))
		pe->n_processed++;
	if (flags & CMI_F_REMOTE)
		consumed(pe, src_pe, bytes);
	pe->n_dispatched++;
}

/* Only one message, so that other PEs find some, too. */
int node_queue_run_slow(struct pe *pe)
{
	struct csd_node_queue *q = &pe->node->queue;
	int64_t n;

	if (!try_take(q))
		return 0;
	n = turn_round(q);
	struct cmi_msg *m = next_message(pe, q, &n);

	queue_release(q);
	if (n - (m != NULL))
		atomic_fetch_add_explicit(&q->n, n - (m != NULL), memory_order_seq_cst);
	/* An opening has woken a PE, which is enough for one of the messages that it let pass. We may be
	 * that PE, and take that message. */
	wake_sleepers(pe, n);
	if (m)
		handle_one(pe, m);
	return m != NULL;
}

/* ---- gates ----------------------------------------------------------------------------------- */

void csd_gate_init(struct node *node, struct csd_gate *g, bool serial)
{
	struct csd_node_queue *q = &node->queue;

	*g = (struct csd_gate){ .serial = serial, .closed = !serial };
	g->opens.handler = CSD_GATE_OPENS;
	msg_fifo_init(&g->waiting);
	g->next = atomic_load_explicit(&q->gates, memory_order_relaxed);
	/* Read when all PEs have stopped; release so that the list can be followed then. */
	while (!atomic_compare_exchange_weak_explicit(&q->gates, &g->next, g, memory_order_release,
						      memory_order_relaxed))
		;
}

/* The opening goes through the inbox like a message, so no PE waits for the queue. Only one PE at a
 * time uses `opens`: the one that runs the message that passed, or that opens it for good. */
void csd_gate_open(struct pe *pe, struct csd_gate *g)
{
	push_to_node(pe, &g->opens);
}

bool node_queue_held(struct pe *pe, uint64_t *n, uint64_t *bytes)
{
	struct csd_node_queue *q = &pe->node->queue;

	if (!try_take(q))
		return false;
	/* The acquire pairs with the release in csd_gate_init: the gate is initialised. */
	for (struct csd_gate *g = atomic_load_explicit(&q->gates, memory_order_acquire); g; g = g->next)
		for (const struct cmi_msg *m = g->waiting.head; m; m = m->next) {
			*n += !(m->flags & CMI_F_SYSTEM);
			*bytes += m->flags & CMI_F_REMOTE ? m->size : 0;
		}
	queue_release(q);
	return true;
}

size_t csd_gate_length(struct pe *pe, const struct csd_gate *g)
{
	struct csd_node_queue *q = &pe->node->queue;
	size_t n = 0;

	while (!try_take(q))
		sched_yield();
	for (const struct cmi_msg *m = g->waiting.head; m; m = m->next)
		n++;
	queue_release(q);
	return n;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void drop_all(struct pe *pe, struct msg_fifo *f)
{
	while (f->head)
		csd_msg_free(pe, msg_fifo_pop(f));
}

/* Each PE calls this when it receives nothing more, so the last one leaves the queue empty. */
void node_queue_drop(struct pe *pe)
{
	struct csd_node_queue *q = &pe->node->queue;
	struct cmi_msg *m;

	while (!try_take(q))
		sched_yield();
	turn_round(q);
	if (q->queue.random)
		msgq_random_end_delays(q->queue.random);
	drop_all(pe, &q->ready);
	while ((m = next_queued(q)))
		csd_msg_free(pe, m);
	for (struct csd_gate *g = atomic_load_explicit(&q->gates, memory_order_acquire); g; g = g->next)
		drop_all(pe, &g->waiting);
	queue_release(q);
}

/* Main thread, after all PEs. */
void node_queue_fini(struct node *node)
{
	msgq_fini(node->pes[0], &node->queue.queue);
}
