/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.c: what is ready to run on one PE. Unprioritised messages, nearly all of them, go
 * through a linked FIFO; a binary heap holds the rest, ordered by (priority, arrival).
 * Expedited messages stand before everything.
 */
#include "csd_int.h"

#include <stdlib.h>
#include <string.h>

void msgq_init(struct msgq *q)
{
	memset(q, 0, sizeof *q);
	q->plain.tail = &q->plain.head;
	q->expedited.tail = &q->expedited.head;
}

/* Lower first: the priority above, and below it, unsigned, a stamp that grows with arrival from
 * the middle for FIFO and falls for LIFO, so that 2^31 queued equals keep their order. */
static int64_t heap_key(struct msgq *q, const struct cmi_msg *m)
{
	int32_t stamp = (int32_t)(++q->stamp & INT32_MAX);

	if (m->flags & CMI_F_LIFO)
		stamp = -stamp;
	return (int64_t)((uint64_t)(uint32_t)m->prio << 32 | ((uint32_t)stamp ^ 0x80000000u));
}

static void heap_push(struct msgq *q, struct cmi_msg *m)
{
	if (q->n_heap == q->cap_heap) {
		size_t cap = q->cap_heap ? q->cap_heap * 2 : 256;
		struct msg_heap_item *heap = realloc(q->heap, cap * sizeof *heap);

		if (!heap)
			csd_abort(csd_self(), "no memory for %zu prioritised messages", cap);
		q->heap = heap;
		q->cap_heap = cap;
	}
	struct msg_heap_item item = { heap_key(q, m), m };
	size_t i = q->n_heap++;

	while (i > 0 && q->heap[(i - 1) / 2].key > item.key) {
		q->heap[i] = q->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	q->heap[i] = item;
}

static struct cmi_msg *heap_pop(struct msgq *q)
{
	struct cmi_msg *m = q->heap[0].m;
	struct msg_heap_item last = q->heap[--q->n_heap];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < q->n_heap) {
		if (child + 1 < q->n_heap && q->heap[child + 1].key < q->heap[child].key)
			child++;
		if (last.key <= q->heap[child].key)
			break;
		q->heap[i] = q->heap[child];
		i = child;
	}
	q->heap[i] = last;
	if (!q->n_heap)
		q->stamp = 0;
	return m;
}

static void fifo_push_front(struct msg_fifo *f, struct cmi_msg *m)
{
	m->next = f->head;
	if (!f->head)
		f->tail = &m->next;
	f->head = m;
}

void msgq_set_random(struct msgq *q, struct msgq_random *r)
{
	q->random = r;
	q->mixed = true;
}

static bool is_mixed(const struct msgq *q)
{
	return q->expedited.head || q->n_heap || q->random;
}

void msgq_push_slow(struct msgq *q, struct cmi_msg *m)
{
	if (m->flags & CMI_F_EXPEDITED)
		msg_fifo_push(&q->expedited, m);
	else if (q->random)
		msgq_random_push(q->random, m);
	else if ((m->flags & CMI_F_PRIO) && m->prio != 0)
		heap_push(q, m);
	else if (m->flags & CMI_F_LIFO)
		fifo_push_front(&q->plain, m);
	else
		msg_fifo_push(&q->plain, m);
	q->mixed = is_mixed(q);
}

static struct cmi_msg *pop_first(struct msgq *q)
{
	if (q->expedited.head)
		return msg_fifo_pop(&q->expedited);
	if (q->random)
		return msgq_random_pop(q->random);
	if (q->n_heap && (q->heap[0].key < 0 || !q->plain.head))
		return heap_pop(q);
	return q->plain.head ? msg_fifo_pop(&q->plain) : NULL;
}

struct cmi_msg *msgq_pop_mixed(struct msgq *q)
{
	struct cmi_msg *m = pop_first(q);

	q->mixed = is_mixed(q);
	return m;
}

void msgq_fini(struct pe *pe, struct msgq *q)
{
	struct cmi_msg *m;

	while ((m = msgq_pop(q)))
		csd_msg_free(pe, m);
	free(q->heap);
	if (q->random)
		msgq_random_destroy(q->random);
}
