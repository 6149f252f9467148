/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route_pe.c: the path of a message to another PE: on this node to that PE itself (inbox.h), else
 * through flow control to the machine. A PE that holds messages back (hold.c) sends only those that
 * must not wait.
 */
#include "msg_route.h"

/* All but plain calls. */
static __attribute__((noinline)) void send_marked(struct pe *pe, int dst_pe, struct cmi_msg *m)
{
	if (m->flags & CMI_F_HERE)
		m = pe->node->up.leaving(pe, dst_pe, m);
	m->src_pe = pe->id; /* as the machine will set it */
	arrival_seal(pe, m);
	flow_send(pe, dst_pe, m);
}

void route_to_pe(struct pe *pe, int dst_pe, struct cmi_msg *m)
{
	struct pe *to = pe_of_node(pe, dst_pe);

	if (to)
		inbox_send(pe, to, m);
	else if (CSD_UNLIKELY((unsigned)dst_pe >= (unsigned)pe->node->job->n_pes))
		csd_abort(pe, "message to PE %d: the job has PEs 0-%d", dst_pe,
			  pe->node->job->n_pes - 1);
	else if (CSD_LIKELY((uint32_t)m->route == pe->node->plain))
		flow_send(pe, dst_pe, m);
	else
		send_marked(pe, dst_pe, m);
}

void csd_send_away(struct pe *pe, int dst_pe, struct cmi_msg *m)
{
	if (CSD_UNLIKELY(pe->trace != NULL))
		pe->trace->sent(pe, dst_pe, m, 0);
	if (CSD_UNLIKELY(pe->hold != NULL))
		hold_push(pe, dst_pe, m);
	else
		route_to_pe(pe, dst_pe, m);
}

void csd_send_now(struct pe *pe, int dst_pe, struct cmi_msg *m)
{
	csd_count_sent(pe, m);
	if (dst_pe == pe->id) {
		msgq_push(&pe->queue, m);
		return;
	}
	if (CSD_UNLIKELY(pe->trace != NULL))
		pe->trace->sent(pe, dst_pe, m, 0);
	route_to_pe(pe, dst_pe, m);
}

void route_register(struct node *node)
{
	static const struct csd_shape shape = { .least = 0 };

	node->h_ring = csd_register(node, "csd.ring", inbox_offer_arrived);
	csd_expect(node, node->h_ring, &shape, NULL);
	csd_own(node, node->h_ring);
}
