/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow.c: flow control between PEs of different nodes. A sender may have CK_FLOW_BYTES unhandled
 * bytes under way to one PE; further messages wait here, in order. The receiver reports each
 * quarter of the budget that it has handled (a credit). So a fast sender cannot exhaust a slow
 * receiver's memory, and usually nothing waits.
 *
 * A message that need not wait costs two additions and a comparison at each end. Credits are not
 * subject to flow control: at most four are under way per pair.
 */
#include "msg_route.h"
#include "../../machine/base/cmi_alloc.h"
#include "../../machine/base/cmi_env.h"

#include <stdlib.h>

struct csd_peer {
	uint64_t sent, acked;         /* bytes to the peer: given to the machine; handled there */
	uint64_t consumed, reported;  /* bytes from the peer: handled here; told to it */
	struct msg_fifo waiting;      /* over budget */
	struct msg_fifo urgent;       /* the same of urgent ones, which go first (way.c) */
	uint64_t budget;
	uint64_t at_once; /* with at most this many bytes under way a message is sent at once: the budget;
				       * 0 in checked mode, because every message gets a hash first, where messages are
				       * counted, and while urgent ones wait */
	uint64_t n_sent;              /* messages that took the slow path */
};

struct flow_credit {
	struct cmi_msg head;
	uint64_t consumed;
};

/* Between PEs of a node. */
struct flow_handled {
	struct cmi_msg head;
	uint64_t bytes;
	int src_pe;
};

static void set_at_once(const struct pe *pe, struct csd_peer *p)
{
	p->at_once = pe->node->check || pe->counts || p->urgent.head ? 0 : p->budget;
}

static __attribute__((noinline, cold)) struct csd_peer *peer_new(struct pe *pe, int other)
{
	struct csd_peer *p = cmi_alloc_zero(1, sizeof *p, "a peer");

	msg_fifo_init(&p->waiting);
	msg_fifo_init(&p->urgent);
	p->budget = pe->node->flow_bytes;
	set_at_once(pe, p);
	return pe->peers[other] = p;
}

static inline struct csd_peer *peer_of(struct pe *pe, int other)
{
	struct csd_peer *p = pe->peers[other];

	return CSD_LIKELY(p != NULL) ? p : peer_new(pe, other);
}

/* A message larger than the budget is sent when nearly nothing else is under way. Nearly, because
 * up to a quarter of the budget may have been handled without a report. Model: flow.pml,
 * may_send */
static bool may_send(const struct csd_peer *p, uint64_t size)
{
	uint64_t under_way = p->sent - p->acked;

	return under_way + size <= p->budget || under_way <= p->budget / 4;
}

/* What is urgent has a quarter of the budget beyond it, so it is not behind calls that wait. */
static bool urgent_may_send(const struct csd_peer *p, uint64_t size)
{
	return p->sent - p->acked + size <= p->budget + p->budget / 4 || may_send(p, size);
}

static void send_in_budget(struct pe *pe, int dst_pe, struct csd_peer *p, struct cmi_msg *m)
{
	p->sent += m->size;
	p->n_sent++;
	cmi_send(pe->wire, dst_pe, pe->node->check ? arrival_hash(pe, m) : m);
}

static __attribute__((noinline)) void send_or_wait(struct pe *pe, int dst_pe, struct csd_peer *p,
						   struct cmi_msg *m)
{
	const bool urgent = csd_way(pe->node, m) == CMI_URGENT;

	if (urgent ? !p->urgent.head && urgent_may_send(p, m->size) :
		     !p->urgent.head && !p->waiting.head && may_send(p, m->size))
		send_in_budget(pe, dst_pe, p, m);
	else
		msg_fifo_push(urgent ? &p->urgent : &p->waiting, m);
	set_at_once(pe, p);
}

/* Urgent ones go first, all of them: what waits may have to be behind them. */
static void send_waiting(struct pe *pe, int dst_pe, struct csd_peer *p)
{
	while (p->urgent.head && urgent_may_send(p, p->urgent.head->size))
		send_in_budget(pe, dst_pe, p, msg_fifo_pop(&p->urgent));
	while (!p->urgent.head && p->waiting.head && may_send(p, p->waiting.head->size))
		send_in_budget(pe, dst_pe, p, msg_fifo_pop(&p->waiting));
	set_at_once(pe, p);
}

void flow_send(struct pe *pe, int dst_pe, struct cmi_msg *m)
{
	struct csd_peer *p = peer_of(pe, dst_pe);

	if (CSD_LIKELY(!p->waiting.head && p->sent - p->acked + m->size <= p->at_once)) {
		p->sent += m->size;
		cmi_send(pe->wire, dst_pe, m);
	} else {
		send_or_wait(pe, dst_pe, p, m);
	}
}

/* The loop has handled `bytes` bytes from src_pe. */
void flow_consumed(struct pe *pe, int src_pe, uint64_t bytes)
{
	struct csd_peer *p = peer_of(pe, src_pe);

	p->consumed += bytes;
	if (CSD_LIKELY(p->consumed - p->reported < p->budget / 4))
		return;
	struct flow_credit *c = (struct flow_credit *)csd_msg_alloc(pe, sizeof *c);

	c->head.handler = CREDIT_HANDLER;
	c->head.flags = CMI_F_SYSTEM | CMI_F_EXPEDITED;
	c->head.src_pe = pe->id;
	c->consumed = p->reported = p->consumed;
	arrival_seal(pe, &c->head);
	cmi_send(pe->wire, src_pe, CSD_UNLIKELY(pe->node->check) ? arrival_hash(pe, &c->head) : &c->head);
}

/* A message that `by`, another PE of this node, received was handled here. */
void flow_consumed_for(struct pe *pe, struct pe *by, int src_pe, uint64_t bytes)
{
	struct flow_handled *h = (struct flow_handled *)csd_msg_alloc(pe, sizeof *h);

	h->head.handler = (uint16_t)pe->node->h_handled;
	h->head.flags = CMI_F_SYSTEM;
	h->head.src_pe = pe->id;
	h->bytes = bytes;
	h->src_pe = src_pe;
	inbox_send(pe, by, &h->head);
}

static void handled_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct flow_handled *h = (struct flow_handled *)m;

	flow_consumed(pe, h->src_pe, h->bytes);
	csd_msg_free(pe, m);
}

static void credit_arrived(struct pe *pe, struct cmi_msg *m)
{
	int src_pe = m->src_pe;
	struct csd_peer *p = peer_of(pe, src_pe);

	p->acked = ((struct flow_credit *)m)->consumed;
	csd_msg_free(pe, m);
	send_waiting(pe, src_pe, p);
}

/* A credit must be for bytes that were sent, and is never taken back. */
static const char *credit_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct csd_peer *p = peer_of(pe, m->src_pe);
	const uint64_t more = ((const struct flow_credit *)m)->consumed - p->acked;

	return more <= p->sent - p->acked ? NULL : "it gives credit for more than was sent";
}

static const struct csd_shape credit_shape = {
	.least = sizeof(struct flow_credit), .exact = true, .always = CMI_F_SYSTEM | CMI_F_EXPEDITED,
	.order = CSD_ORDER_OWN, .misfit = credit_misfit,
};
static const struct csd_shape handled_shape = { .least = 0 };

/* Split-C kept 64 messages of credit; we count bytes. The default is so large that only a receiver
 * that is megabytes behind stops a sender. */
void flow_register(struct node *node)
{
	node->flow_bytes = cmi_env_bytes("CK_FLOW_BYTES", 32 << 20, 1, UINT64_MAX / 4);
	if (csd_register(node, "csd.credit", credit_arrived) != CREDIT_HANDLER)
		csd_abort(NULL, "internal: the credit handler must be the first");
	csd_own(node, CREDIT_HANDLER);
	csd_expect(node, CREDIT_HANDLER, &credit_shape, NULL);
}

void flow_register_handled(struct node *node)
{
	node->h_handled = csd_register(node, "csd.handled", handled_arrived);
	csd_expect(node, node->h_handled, &handled_shape, NULL);
}

/* ---- for the watchdog ------------------------------------------------------------------------ */

static uint64_t fifo_length(const struct msg_fifo *f, uint64_t *bytes)
{
	uint64_t n = 0;

	*bytes = 0;
	for (const struct cmi_msg *m = f->head; m; m = m->next, n++)
		*bytes += m->size;
	return n;
}

static uint64_t waiting_length(const struct csd_peer *p, uint64_t *bytes)
{
	uint64_t urgent_bytes;
	const uint64_t n = fifo_length(&p->urgent, &urgent_bytes) + fifo_length(&p->waiting, bytes);

	*bytes += urgent_bytes;
	return n;
}

uint64_t flow_length(const struct pe *pe)
{
	uint64_t n = 0, bytes;

	for (int i = 0; i < pe->node->job->n_pes; i++)
		if (pe->peers[i])
			n += waiting_length(pe->peers[i], &bytes);
	return n;
}

/* Both differences are at least 0 in the sum over all PEs at one moment: nothing is handled before
 * it is sent, and no credit comes back before it is given. So the sum is 0 only if both are. */
uint64_t flow_under_way(const struct pe *pe)
{
	uint64_t n = -pe->left_out;

	for (int i = 0; i < pe->node->job->n_pes; i++) {
		const struct csd_peer *p = pe->peers[i];

		if (p)
			n += p->sent - p->consumed + p->reported - p->acked;
	}
	return n;
}

/* Sent to that PE; negative: received from it. */
void csd_leave_out(struct pe *pe, int other, uint64_t bytes)
{
	if (!pe_of_node(pe, other))
		pe->left_out += bytes;
}

void csd_chatter(struct pe *pe, const struct cmi_msg *m)
{
	pe->n_chatter++;
	csd_leave_out(pe, m->src_pe, -(uint64_t)m->size);
}

void flow_describe(struct pe *pe, struct csd_told *to)
{
	uint64_t bytes;

	for (int i = 0; i < pe->node->job->n_pes; i++) {
		const struct csd_peer *p = pe->peers[i];

		if (!p || (!p->waiting.head && !p->urgent.head))
			continue;
		uint64_t n = waiting_length(p, &bytes);

		csd_tell(to, NULL, "to PE %d: %s (%llu bytes) until it has handled some of the %llu bytes that "
			 "are under way to it (CK_FLOW_BYTES: %llu)", i,
			 csd_plural(n, "message waits", "messages wait").text,
			 (unsigned long long)bytes, (unsigned long long)(p->sent - p->acked),
			 (unsigned long long)p->budget);
	}
}

void flow_count_links(const struct pe *pe, struct count_link *links)
{
	const struct cmi_job *job = pe->node->job;

	for (int i = 0; i < job->n_pes; i++) {
		const struct csd_peer *p = pe->peers[i];

		if (!p)
			continue;
		links[job->node_of[i]].messages += p->n_sent;
		links[job->node_of[i]].bytes += p->sent;
	}
}

void flow_bytes_sent(const struct pe *pe, uint64_t *near, uint64_t *far)
{
	const struct cmi_job *job = pe->node->job;

	*near = *far = 0;
	for (int i = 0; i < job->n_pes; i++)
		if (pe->peers[i])
			*(job->host_id[job->node_of[i]] == job->host_id[job->node] ? near : far) +=
				pe->peers[i]->sent;
}

void flow_fini(struct pe *pe)
{
	for (int i = 0; i < pe->node->job->n_pes; i++) {
		struct csd_peer *p = pe->peers[i];

		while (p && p->waiting.head)
			csd_msg_free(pe, msg_fifo_pop(&p->waiting));
		while (p && p->urgent.head)
			csd_msg_free(pe, msg_fifo_pop(&p->urgent));
		free(p);
	}
	free(pe->peers);
}
