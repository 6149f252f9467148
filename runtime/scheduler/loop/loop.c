/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.c: the scheduler loop of one PE. Every stage does bounded work, so that a flood in one
 * cannot starve the others; docs/ARCHITECTURE.md explains the order.
 */
#include "loop.h"

/* Messages handled between two polls of the other sources. More save polls (about 15 ns a pass
 * without network), fewer answer the network and channels sooner. */
enum { QUEUE_BATCH = 16 };

/* A message from another process. The credit is sent after the handler, because nothing waits for
 * it; credits themselves are not subject to flow control. */
static void dispatch_remote(struct pe *pe, struct cmi_msg *m)
{
	const struct node *node = pe->node;
	uint16_t handler = m->handler;
	uint8_t flags = m->flags;
	int src_pe = m->src_pe;
	uint64_t bytes = m->size;

	m->flags = flags & (uint8_t)~CMI_F_REMOTE;
	node->handlers[handler].arrived(pe, m);
	if (!(flags & CMI_F_SYSTEM))
		pe->n_processed++;
	if (CSD_LIKELY(handler != CREDIT_HANDLER))
		flow_consumed(pe, src_pe, bytes);
}

/* A plain call from another process, of which every instruction counts: it has no other flag, and
 * is no credit. */
static inline void dispatch_call(struct pe *pe, struct cmi_msg *m)
{
	int src_pe = m->src_pe;
	uint64_t bytes = m->size;

	m->flags = 0;
	pe->node->handlers[pe->node->plain].arrived(pe, m);
	pe->n_processed++;
	flow_consumed(pe, src_pe, bytes);
}

/* A message with flags. */
static void dispatch_marked(struct pe *pe, struct cmi_msg *m)
{
	const struct node *node = pe->node;
	uint8_t flags = m->flags;

	if (CSD_LIKELY((uint32_t)m->route == (node->plain | CMI_F_REMOTE << 16))) {
		dispatch_call(pe, m);
		return;
	}
	if (CSD_UNLIKELY(m->handler >= node->n_handlers))
		abort_no_handler(pe, m);
	if (flags & CMI_F_REMOTE) {
		dispatch_remote(pe, m);
		return;
	}
	node->handlers[m->handler].fn(pe, m);
	if (!(flags & CMI_F_SYSTEM))
		pe->n_processed++;
}

/* The low word of `route` holds handler and flags. When it is below n_handlers, the handler exists
 * and no flag is set. */
static inline void dispatch(struct pe *pe, struct cmi_msg *m)
{
	const struct node *node = pe->node;
	uint32_t word = (uint32_t)m->route;

	if (word >= (uint32_t)node->n_handlers) {
		dispatch_marked(pe, m);
		return;
	}
	node->handlers[word].fn(pe, m);
	pe->n_processed++;
}
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the handler is the low end of route");

void loop_dispatch(struct pe *pe, struct cmi_msg *m)
{
	dispatch(pe, m);
}

/* It has waited in the queue, and another handler takes it. */
static void message_taken(struct pe *pe, struct cmi_msg *m)
{
	const uint8_t flags = m->flags;

	if (flags & CMI_F_REMOTE) {
		csd_check(pe, m);
		m->flags = flags & (uint8_t)~CMI_F_REMOTE;
		flow_consumed(pe, m->src_pe, m->size);
	}
	if (!(flags & CMI_F_SYSTEM))
		pe->n_processed++;
}

void csd_queue_take(struct pe *pe, csd_msg_test test, const void *arg, struct msg_fifo *to)
{
	msgq_take(&pe->queue, test, arg, to);
	for (struct cmi_msg *m = to->head; m; m = m->next)
		message_taken(pe, m);
}

static int run_queue(struct pe *pe, int most)
{
	struct cmi_msg *m;
	int left = most;

	while (left && (m = msgq_pop(&pe->queue))) {
		left--;
		dispatch(pe, m);
	}
	pe->n_dispatched += (uint64_t)(most - left);
	return most - left;
}

/* The most messages that a pass handles. */
static int pass_most(const struct pe *pe)
{
	return pe->most ? pe->most : QUEUE_BATCH;
}

/* Messages that the handlers of a pass send may wait for its end. So that a long handler does not
 * delay the results of earlier ones, a pass is limited to the handlers that take PASS_NS. */
static void fit_pass(struct pe *pe, uint64_t took_ns)
{
	enum { PASS_NS = 20 * 1000 };

	const int most = pass_most(pe);

	if (took_ns > PASS_NS)
		pe->most = most > 1 ? most / 2 : 1;
	else if (took_ns < PASS_NS / 2 && most < QUEUE_BATCH)
		pe->most = most * 2;
}

/* Polling an expensive network (tcp) is a system call. A busy PE polls it every few passes with
 * work, and a PE that has been without work for a while in each pass. */
static bool looks_far(struct pe *pe, int period)
{
	pe->idle.unlooked += pe->idle.polls == 0;
	if (pe->idle.polls < pe->idle.patience && pe->idle.unlooked < (unsigned)period)
		return false;
	pe->idle.unlooked = 0;
	return true;
}

static int progress_network(struct pe *pe)
{
	if (!pe->network)
		return 0;
	int period = cmi_poll_period(pe->wire);

	if (period > 1) {
		uint64_t took = cmi_pass(pe->wire);

		if (took)
			fit_pass(pe, took);
		if (!looks_far(pe, period))
			return cmi_progress_near(pe->wire);
	}
	return cmi_progress(pe->wire);
}

/* Rings of the node's other PEs, and other nodes. */
static inline int listen_far(struct pe *pe)
{
	if (!pe->listens_far)
		return 0;
	const int n = pe->n_rings ? inbox_take_rings(pe) : 0;

	return n + progress_network(pe);
}

int loop_receive(struct pe *pe)
{
	return inbox_take(pe) + (pe->n_rings ? inbox_take_rings(pe) : 0) +
	       (pe->network ? cmi_progress(pe->wire) : 0);
}

static int poll_layer(struct pe *pe)
{
	return pe->poll ? pe->poll(pe) : 0;
}

static int one_pass(struct pe *pe, int most)
{
	int work = 0;

	if (CSD_UNLIKELY(++pe->passes % IDLE_CORE_PASSES == 0)) {
		idle_look_at_core(pe);
		msg_pool_send_parcels(pe);
	}
	work += inbox_take(pe);
	work += listen_far(pe);
	work += poll_layer(pe);
	work += run_queue(pe, most);
	work += node_queue_run(pe);
	work += timers_run(pe);
	msg_pool_take_returns(pe);
	return work;
}

/* Keep a message for later. For flow control it counts as handled, because the awaited message may
 * need its credit at the sender. */
static void hold_for_later(struct pe *pe, struct msg_fifo *held, struct cmi_msg *m)
{
	if (m->flags & CMI_F_REMOTE) {
		if (m->handler >= pe->node->n_handlers)
			abort_no_handler(pe, m);
		m->flags &= (uint8_t)~CMI_F_REMOTE;
		flow_consumed(pe, m->src_pe, m->size);
		/* It is checked when it is handled, like any message from another process. */
		m->mark = (uint8_t)m->handler;
		m->handler = (uint16_t)pe->node->h_held;
	}
	msg_fifo_push(held, m);
}

_Static_assert(CSD_MAX_HANDLERS <= UINT8_MAX, "a mark can hold a handler");

static void held_arrived(struct pe *pe, struct cmi_msg *m)
{
	m->handler = m->mark;
	m->mark = 0;
	pe->node->handlers[m->handler].arrived(pe, m);
}

void loop_register(struct node *node)
{
	static const struct csd_shape shape = { .least = 0 };

	node->h_held = csd_register(node, "csd.held", held_arrived);
	csd_expect(node, node->h_held, &shape, NULL);
}

static bool handler_is_early(const struct node *node, const struct cmi_msg *m)
{
	return m->handler < node->n_handlers && node->handlers[m->handler].early;
}

bool csd_wait_for(struct pe *pe, int handler)
{
	struct msg_fifo held = { NULL, &held.head };
	struct cmi_msg *m;
	bool found = false;

	while (!found && !pe->stop) {
		if (!loop_receive(pe))
			idle_step(pe);
		while (!found && (m = msgq_pop(&pe->queue))) {
			found = m->handler == handler;
			if (found || handler_is_own(pe->node, m) || handler_is_early(pe->node, m))
				loop_dispatch(pe, m);
			else
				hold_for_later(pe, &held, m);
			pe->n_dispatched++;
		}
	}
	idle_end(pe);
	/* The messages that were kept go before those that are still queued. */
	while ((m = msgq_pop(&pe->queue)) || msgq_late(&pe->queue))
		if (m)
			msg_fifo_push(&held, m);
	while (held.head)
		msgq_push_again(&pe->queue, msg_fifo_pop(&held));
	return found;
}

static inline __attribute__((always_inline)) void run_passes(struct pe *pe, bool network)
{
	while (!pe->stop) {
		if (one_pass(pe, network ? pass_most(pe) : QUEUE_BATCH))
			idle_end(pe);
		else
			idle_step(pe);
	}
}

/* A job without a network skips the lookup of a pass's limit. */
void loop_run(struct pe *pe)
{
	if (pe->network)
		run_passes(pe, true);
	else
		run_passes(pe, false);
}

int loop_some(struct pe *pe, int n)
{
	int work = 0;

	pe->away = false;
	for (int i = 0; i < n && !pe->stop; i++) {
		int found = one_pass(pe, pass_most(pe));

		if (found)
			idle_end(pe);
		else
			idle_look(pe);
		work += found;
	}
	pe->away = true;
	return pe->stop ? -1 : work;
}

/* The time between two calls of the host program was not idle. The flag is loaded with acquire: it
 * pairs with the release store of a thread that is not this PE's. */
bool loop_until(struct pe *pe, const volatile int *flag)
{
	bool set;

	pe->away = false;
	pe->idle.since_ns = 0;
	pe->idle.flagged = flag != NULL;
	while (!(set = flag && __atomic_load_n(flag, __ATOMIC_ACQUIRE)) && !pe->stop) {
		if (one_pass(pe, pass_most(pe)))
			idle_end(pe);
		else
			idle_step(pe);
	}
	pe->idle.flagged = false;
	pe->away = true;
	return set;
}

void CsdScheduler(int n)
{
	struct pe *pe = pe_here("CsdScheduler");

	if (n < 0) {
		loop_run(pe);
		return;
	}
	uint64_t end = pe->n_dispatched + (uint64_t)n;

	while (!pe->stop && pe->n_dispatched < end &&
	       one_pass(pe, (int)(end - pe->n_dispatched)))
		;
}
