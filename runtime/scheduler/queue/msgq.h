/* SPDX-License-Identifier: Apache-2.0 */
/* msgq.h: the run queue of a PE, for the scheduler itself; queue.h has the structures. */
#ifndef CSD_MSGQ_H
#define CSD_MSGQ_H

#include "../memory/msg_memory.h"

/* prio.c */
int msg_prio_compare(const struct msg_prio *a, const struct msg_prio *b); /* NULL: a number */

/* The key of a message's priority, of any kind. */
static inline int64_t msg_key(const struct cmi_msg *m)
{
	if (!(m->flags & CMI_F_PRIO))
		return 0;
	return m->flags & CMI_F_WIDE ? msg_prio_of(m)->key : m->prio;
}

/* queue.c, queue_random.c */
void msgq_init(struct msgq *q);
void msgq_fini(struct pe *pe, struct msgq *q);
void msgq_set_random(struct msgq *q, struct msgq_random *r); /* of an empty queue */
void msgq_push_again(struct msgq *q, struct cmi_msg *m); /* for a message that has been in it
							  * before: no record */
struct cmi_msg *msgq_pop_mixed(struct msgq *q);
static inline struct cmi_msg *msgq_pop(struct msgq *q) /* NULL when empty */
{
	if (CSD_UNLIKELY(q->mixed))
		return msgq_pop_mixed(q);
	return q->plain.head ? msg_fifo_pop(&q->plain) : NULL;
}
void msgq_take(struct msgq *q, csd_msg_test test, const void *arg,
	       struct msg_fifo *to); /* csd_queue_take */
struct csd_random msgq_random_asked(void);
void msgq_random_print(void);
/* Different for each `salt`. With delays messages of all PEs but `prompt` are late; -1: of all. */
struct msgq_random *msgq_random_create(const struct node *node, int salt, int prompt);
void msgq_random_destroy(struct msgq_random *r);
void msgq_random_push(struct msgq_random *r, struct cmi_msg *m);
/* Take the messages that the test accepts out of a list, or look for one. */
void msg_fifo_take(struct msg_fifo *f, csd_msg_test test, const void *arg, struct msg_fifo *to);
bool msg_fifo_has(const struct msg_fifo *f, csd_msg_test test, const void *arg);
bool msgq_random_has(const struct msgq_random *r, csd_msg_test test, const void *arg);
void msgq_random_take(struct msgq_random *r, csd_msg_test test, const void *arg,
		      struct msg_fifo *to);
size_t msgq_random_length(const struct msgq_random *r, size_t most);
struct cmi_msg *msgq_random_pop(struct msgq_random *r); /* NULL: empty, or all is late */
bool msgq_random_waits(const struct msgq_random *r);
static inline bool msgq_late(const struct msgq *q) /* after msgq_pop gave NULL: there is more */
{
	return q->random && msgq_random_waits(q->random);
}
void msgq_random_end_delays(struct msgq_random *r);
/* Bring late messages closer by this many looks: others had the core meanwhile. */
void msgq_random_hurry(struct msgq_random *r, unsigned looks);

#endif
