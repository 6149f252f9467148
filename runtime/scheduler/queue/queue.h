/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.h: the run queue of one PE, and the linked list that it and others consist of. Only the
 * owner PE uses a queue.
 */
#ifndef CSD_QUEUE_H
#define CSD_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../machine/base/cmi_msg.h"
#include "../base/hint.h"
#include "prio.h"

struct msg_fifo {
	struct cmi_msg *head, **tail;      /* empty: tail == &head */
};

static inline void msg_fifo_init(struct msg_fifo *f)
{
	f->head = NULL;
	f->tail = &f->head;
}

static inline void msg_fifo_push(struct msg_fifo *f, struct cmi_msg *m)
{
	m->next = NULL;
	*f->tail = m;
	f->tail = &m->next;
}

static inline void msg_fifo_push_front(struct msg_fifo *f, struct cmi_msg *m)
{
	m->next = f->head;
	if (!f->head)
		f->tail = &m->next;
	f->head = m;
}

/** Of a list that is not empty. */
static inline struct cmi_msg *msg_fifo_pop(struct msg_fifo *f)
{
	struct cmi_msg *m = f->head;

	f->head = m->next;
	if (!f->head)
		f->tail = &f->head;
	return m;
}

/** Append everything in `from` to `to`. */
static inline void msg_fifo_append(struct msg_fifo *to, struct msg_fifo *from)
{
	if (!from->head)
		return;
	*to->tail = from->head;
	to->tail = from->tail;
	msg_fifo_init(from);
}

/** The same to an uninitialised list. */
static inline void msg_fifo_move(struct msg_fifo *to, struct msg_fifo *from)
{
	msg_fifo_init(to);
	msg_fifo_append(to, from);
}

static inline size_t msg_fifo_count(const struct msg_fifo *f)
{
	size_t n = 0;

	for (const struct cmi_msg *m = f->head; m; m = m->next)
		n++;
	return n;
}

struct msg_heap_item {
	int64_t key;                       /* the priority, or its first 64 bits; decides first */
	int64_t order;                     /* of arrival: rises for FIFO, falls for LIFO; last */
	const struct msg_prio *wide;       /* in the message; NULL: the key is all */
	struct cmi_msg *m;
};

struct msgq_random;

/** The ready messages of one PE. Order: expedited, priority < 0, plain FIFO (priority 0), priority
 * > 0. While `mixed` is false everything that is queued is in `plain`, so one test decides. A
 * traced queue counts as mixed, too. */
struct msgq {
	struct msg_fifo plain;
	bool mixed;                        /* something is in the members below */
	struct msg_fifo expedited;
	struct msg_heap_item *heap;
	size_t n_heap, cap_heap;
	int64_t stamp;                     /* orders equals in the heap */
	struct msgq_random *random;        /* tests: the randomised policy, else NULL */
	struct pe *traced;                 /* the PE that records what is pushed, else NULL */
};

void msgq_push_slow(struct msgq *q, struct cmi_msg *m);
static inline void msgq_push(struct msgq *q, struct cmi_msg *m)
{
	if (CSD_LIKELY(!(m->flags & (CMI_F_PRIO | CMI_F_LIFO | CMI_F_EXPEDITED)) && !q->mixed))
		msg_fifo_push(&q->plain, m);
	else
		msgq_push_slow(q, m);
}

#endif
