/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inbox.c: messages between the PEs of a node. A message is handed over by pointer through the
 * target's inbox, a stack (msg_stack.h) that any PE pushes to. The owner empties it at once and
 * reverses it, so that each sender's messages keep their order.
 */
#include "msgq.h"

/* The push and the load of `sleeping` are seq_cst and pair with idle_nap: either we see that
 * the owner sleeps, or it sees our message before it sleeps. Model: inbox.pml, inbox_push */
void inbox_push(struct pe *to, struct cmi_msg *m)
{
	msg_stack_local_push(&to->inbox, m);
	if (CSD_UNLIKELY(atomic_load_explicit(&to->sleeping, memory_order_seq_cst)))
		cmi_wake(to->wire);
}

/* A message that comes alone is often answered; csd_may_answer uses that. */
static void came_alone(struct pe *pe, int src_pe)
{
	pe->lone = pe_of_node(pe, src_pe);
	if (pe->lone)
		cmi_fetch_polled(&pe->lone->inbox);
}

/* Move messages from other PEs of this node into the run queue. Bounded by what was there at one
 * moment. */
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
