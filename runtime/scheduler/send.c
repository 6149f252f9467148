/* SPDX-License-Identifier: Apache-2.0 */
/*
 * send.c: messages to other PEs. Within a node a message is handed over by pointer through
 * the target's inbox: a stack that any PE pushes to with one compare-and-swap and that the
 * owner empties with one exchange and turns round, so that each sender's messages come out
 * in the order in which they went in. There is no ABA: nothing is popped singly.
 * To other nodes: flow.c, then the machine.
 */
#include "csd_int.h"

/* The successful exchange is seq_cst: it pairs with the acquire exchange in inbox_take (the
 * message's bytes are there when the owner sees the pointer), and with the load of
 * `sleeping` after it forms the store/load half of the handshake in idle.c: either we see
 * that the owner sleeps, or it sees our message before it sleeps. */
static void inbox_push(struct pe *to, struct cmi_msg *m)
{
	struct cmi_msg *head = atomic_load_explicit(&to->inbox, memory_order_relaxed);

	do {
		m->next = head;
	} while (!atomic_compare_exchange_weak_explicit(&to->inbox, &head, m,
							memory_order_seq_cst,
							memory_order_relaxed));
	if (CSD_UNLIKELY(atomic_load_explicit(&to->sleeping, memory_order_seq_cst)))
		cmi_wake(to->wire);
}

/* NULL when that PE is not of this node. */
static struct pe *pe_of_node(const struct pe *pe, int other)
{
	unsigned local = (unsigned)(other - pe->node->job->my_first_pe);

	return local < (unsigned)pe->node->job->my_n_pes ? pe->node->pes[local] : NULL;
}

/* One that comes alone is often answered: csd_may_answer. */
static void came_alone(struct pe *pe, int src_pe)
{
	pe->lone = pe_of_node(pe, src_pe);
	if (pe->lone)
		cmi_fetch_polled(&pe->lone->inbox);
}

/* Move what other PEs of this node have sent into the run queue. Bounded by what was there
 * at one moment. Acquire: pairs with inbox_push. */
int inbox_take_slow(struct pe *pe)
{
	struct cmi_msg *m = atomic_exchange_explicit(&pe->inbox, NULL, memory_order_acquire);
	struct cmi_msg *in_order = NULL;
	int n = 0;

	while (m) {
		struct cmi_msg *next = m->next;

		m->next = in_order;
		in_order = m;
		m = next;
	}
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

void csd_send_away(struct pe *pe, int dst_pe, struct cmi_msg *m)
{
	struct pe *to = pe_of_node(pe, dst_pe);

	if (to)
		inbox_push(to, m);
	else if ((unsigned)dst_pe < (unsigned)pe->node->job->n_pes)
		flow_send(pe, dst_pe, m->flags & CMI_F_HERE ? pe->node->up.leaving(pe, dst_pe, m) : m);
	else
		csd_abort(pe, "message to PE %d: the job has PEs 0-%d", dst_pe,
			  pe->node->job->n_pes - 1);
}
