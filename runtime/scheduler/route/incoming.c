/* SPDX-License-Identifier: Apache-2.0 */
/*
 * incoming.c: messages from other processes. A byte damaged by the network or another process, or
 * an attacker, must not make this process access a wrong address, or wait for something that does
 * not exist: the job ends with one line.
 *
 * There are two checks. What the queues read of a message (its flags, a wide priority) is checked
 * here, before it is queued. The remaining fields are checked when its handler is due (handlers.c).
 * Messages of this process are not checked.
 */
#include "msg_route.h"

bool csd_wide_fits(const struct cmi_msg *m)
{
	const size_t room = m->size - sizeof *m;
	const struct msg_prio *p = msg_prio_of(m);

	return (m->flags & CMI_F_PRIO) && room >= sizeof *p &&
	       (uintptr_t)p % _Alignof(struct msg_prio) == 0 && p->bytes <= room &&
	       p->bytes >= sizeof *p && p->n_bits / 8 <= p->bytes - sizeof *p;
}

static __attribute__((noinline)) void marked_arrived(struct pe *pe, struct cmi_msg *m)
{
	if (m->handler >= pe->node->n_handlers)
		abort_no_handler(pe, m);
	seal_check(pe, m);
	m->flags |= CMI_F_REMOTE;
	if ((m->flags & CMI_F_WIDE) && !csd_wide_fits(m))
		csd_misfit(pe, m, "it has a priority that does not lie within it");
	if (m->flags & CMI_F_NODE) {
		csd_check(pe, m);
		node_queue_arrived(pe, m);
	} else {
		msgq_push(&pe->queue, m);
	}
}

void client_arrived(void *owner, struct cmi_msg *m)
{
	struct pe *pe = owner;

	if (CSD_LIKELY((uint32_t)m->route == pe->node->plain)) {
		m->route |= (uint64_t)CMI_F_REMOTE << 16;
		msgq_push(&pe->queue, m);
	} else {
		marked_arrived(pe, m);
	}
}

void client_arrived_hashed(void *owner, struct cmi_msg *m)
{
	seal_check_hash(owner, m);
	client_arrived(owner, m);
}
