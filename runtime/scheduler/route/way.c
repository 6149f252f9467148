/* SPDX-License-Identifier: Apache-2.0 */
/*
 * way.c: which messages may overtake which others between two PEs of different hosts, where a pair
 * has three connections over tcp: calls, urgent messages, and puts. GUIDE.md promises an order
 * among calls of one priority only, and none between calls and puts; so calls of the program need
 * no more. All else is the runtime's, and a protocol may count on "behind all calls that I have
 * sent".
 *
 *   message                                        connection   waits for earlier
 *   call of an element, branch or chare, message
 *     for a handler of the program:
 *       expedited, or a priority below 0           urgent       urgent ones
 *       all others                                 calls        calls and the runtime's messages
 *   credit of flow.c: a sum that only grows        calls        credits; it is there among calls
 *   everything else, by default:                   calls        all messages, urgent ones too
 *       SWITCH, FLUSH, GO and MOVE of elements     they close a route behind its last call, which
 *                                                  may have been an urgent one (lease.c, leave.c)
 *       broadcasts, multicasts, batches            copies of one priority keep their order by
 *                                                  being in one stream
 *       creations, insertions, destructions        may come later than an urgent call, which then
 *                                                  waits as a call from a third PE would
 *       contributions, results, waves, quiescence  carry numbers; order is only what they had
 *       exit, freeze and thaw of checkpoints       the same
 *       control messages of channels               carry generations; a put may come before BOUND
 *                                                  (arrival.c), as it does through shared memory
 *   puts: of channels and of global pointers       puts         puts
 *
 * Puts are counted where they are made and where they arrive, by quiescence and by ends that move
 * (follow.c), so nothing waits for them by order; through shared memory and by RMA it never could.
 */
#include "msg_route.h"

/* `size`: of the message without the hash of checked mode. */
static int64_t key_of(const struct cmi_msg *m, size_t size)
{
	if (!(m->flags & CMI_F_WIDE))
		return m->flags & CMI_F_PRIO ? m->prio : 0;
	return ((const struct msg_prio *)(const void *)((const char *)m + size) - 1)->key;
}

/* A function of the priority alone: all messages of one priority take the same connection. One
 * above 0 is less urgent than a plain call. */
static bool is_urgent(const struct cmi_msg *m, size_t size)
{
	return (m->flags & CMI_F_EXPEDITED) || key_of(m, size) < 0;
}

static enum cmi_way way_of(const struct node *node, const struct cmi_msg *m, size_t size)
{
	const struct csd_shape *s = node->handlers[m->handler].shape;

	switch (s ? (enum csd_ordering)s->order : CSD_ORDER_PRIORITY) {
	case CSD_ORDER_PRIORITY:
		return is_urgent(m, size) ? CMI_URGENT : CMI_CALL;
	case CSD_ORDER_OWN:
		return CMI_CALL;
	case CSD_ORDER_ALL:
		break;
	}
	return CMI_BEHIND_ALL;
}

enum cmi_way csd_way(const struct node *node, const struct cmi_msg *m)
{
	return way_of(node, m, m->size);
}

enum cmi_way client_way(void *owner, const struct cmi_msg *m)
{
	return way_of(((const struct pe *)owner)->node, m, m->size);
}

enum cmi_way client_way_hashed(void *owner, const struct cmi_msg *m)
{
	return way_of(((const struct pe *)owner)->node, m, m->size - SEAL_HASH_BYTES);
}
