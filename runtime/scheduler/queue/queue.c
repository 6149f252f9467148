/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.c: the messages that are ready on one PE. Unprioritised messages, nearly all of them, go
 * through a linked FIFO; a binary heap holds the others, ordered by (priority, arrival), where a
 * priority is a number or a bit vector (prio.c). Expedited messages precede everything.
 */
#include "msgq.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

void msgq_init(struct msgq *q)
{
	memset(q, 0, sizeof *q);
	msg_fifo_init(&q->plain);
	msg_fifo_init(&q->expedited);
}

/* Equal priorities keep the order of arrival. */
static bool item_before(const struct msg_heap_item *a, const struct msg_heap_item *b)
{
	int by_vector;

	if (a->key != b->key)
		return a->key < b->key;
	if (CSD_UNLIKELY(a->wide || b->wide) &&
	    (by_vector = msg_prio_compare(a->wide, b->wide)) != 0)
		return by_vector < 0;
	return a->order < b->order;
}

static struct msg_heap_item item_of(struct msgq *q, struct cmi_msg *m)
{
	int64_t stamp = ++q->stamp; /* 64 bits: does not wrap */

	return (struct msg_heap_item){
		.key = msg_key(m),
		.order = m->flags & CMI_F_LIFO ? -stamp : stamp,
		.wide = m->flags & CMI_F_WIDE ? msg_prio_of(m) : NULL,
		.m = m,
	};
}

static void item_push(struct msgq *q, struct cmi_msg *m)
{
	CMI_ONE_MORE(q->heap, q->n_heap, q->cap_heap, "prioritised messages");
	const struct msg_heap_item item = item_of(q, m);
	size_t i = q->n_heap++;

	while (i > 0 && item_before(&item, &q->heap[(i - 1) / 2])) {
		q->heap[i] = q->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	q->heap[i] = item;
}

static struct cmi_msg *item_pop(struct msgq *q)
{
	struct cmi_msg *m = q->heap[0].m;
	struct msg_heap_item last = q->heap[--q->n_heap];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < q->n_heap) {
		if (child + 1 < q->n_heap && item_before(&q->heap[child + 1], &q->heap[child]))
			child++;
		if (!item_before(&q->heap[child], &last))
			break;
		q->heap[i] = q->heap[child];
		i = child;
	}
	q->heap[i] = last;
	return m;
}

void msgq_set_random(struct msgq *q, struct msgq_random *r)
{
	q->random = r;
	q->mixed = true;
}

static bool is_mixed(const struct msgq *q)
{
	return q->expedited.head || q->n_heap || q->random || q->traced;
}

void msgq_push_again(struct msgq *q, struct cmi_msg *m)
{
	if (m->flags & CMI_F_EXPEDITED)
		msg_fifo_push(&q->expedited, m);
	else if (q->random)
		msgq_random_push(q->random, m);
	else if ((m->flags & CMI_F_WIDE) || ((m->flags & CMI_F_PRIO) && m->prio != 0))
		item_push(q, m);
	else if (m->flags & CMI_F_LIFO)
		msg_fifo_push_front(&q->plain, m);
	else
		msg_fifo_push(&q->plain, m);
	q->mixed = is_mixed(q);
}

void msgq_push_slow(struct msgq *q, struct cmi_msg *m)
{
	if (CSD_UNLIKELY(q->traced != NULL))
		q->traced->trace->queued(q->traced, m);
	msgq_push_again(q, m);
}

/* Whether the first of the heap goes before messages without a priority, which count as 0. */
static bool heap_is_first(const struct msgq *q)
{
	return q->heap[0].key < 0 ||
	       (q->heap[0].key == 0 && msg_prio_compare(q->heap[0].wide, NULL) < 0);
}

static struct cmi_msg *pop_first(struct msgq *q)
{
	if (q->expedited.head)
		return msg_fifo_pop(&q->expedited);
	if (q->random)
		return msgq_random_pop(q->random);
	if (q->n_heap && (!q->plain.head || heap_is_first(q)))
		return item_pop(q);
	return q->plain.head ? msg_fifo_pop(&q->plain) : NULL;
}

struct cmi_msg *msgq_pop_mixed(struct msgq *q)
{
	struct cmi_msg *m = pop_first(q);

	q->mixed = is_mixed(q);
	return m;
}

/* ---- by a test ------------------------------------------------------------------------------- */

void msg_fifo_take(struct msg_fifo *f, csd_msg_test test, const void *arg, struct msg_fifo *to)
{
	struct msg_fifo all;

	msg_fifo_move(&all, f);
	while (all.head) {
		struct cmi_msg *m = msg_fifo_pop(&all);

		msg_fifo_push(test(m, arg) ? to : f, m);
	}
}

bool msg_fifo_has(const struct msg_fifo *f, csd_msg_test test, const void *arg)
{
	const struct cmi_msg *m = f->head;

	while (m && !test(m, arg))
		m = m->next;
	return m;
}

static int compare_items(const void *a, const void *b)
{
	return item_before(a, b) ? -1 : 1;
}

/* The remaining ones are a heap again once they are sorted. */
static void heap_take(struct msgq *q, csd_msg_test test, const void *arg, struct msg_fifo *to)
{
	size_t n = 0;

	if (q->n_heap)
		qsort(q->heap, q->n_heap, sizeof *q->heap, compare_items);
	for (size_t i = 0; i < q->n_heap; i++) {
		if (test(q->heap[i].m, arg))
			msg_fifo_push(to, q->heap[i].m);
		else
			q->heap[n++] = q->heap[i];
	}
	q->n_heap = n;
}

void msgq_take(struct msgq *q, csd_msg_test test, const void *arg, struct msg_fifo *to)
{
	msg_fifo_init(to);
	if (CSD_LIKELY(!q->mixed))
		return;
	msg_fifo_take(&q->expedited, test, arg, to);
	heap_take(q, test, arg, to);
	if (q->random)
		msgq_random_take(q->random, test, arg, to);
	q->mixed = is_mixed(q);
}

bool csd_queue_has(const struct pe *pe, csd_msg_test test, const void *arg)
{
	const struct msgq *q = &pe->queue;

	if (CSD_LIKELY(!q->mixed))
		return false;
	if (msg_fifo_has(&q->expedited, test, arg))
		return true;
	for (size_t i = 0; i < q->n_heap; i++)
		if (test(q->heap[i].m, arg))
			return true;
	return q->random && msgq_random_has(q->random, test, arg);
}

size_t csd_queue_length(const struct pe *pe, size_t most)
{
	const struct msgq *q = &pe->queue;
	size_t n = q->n_heap + (q->random ? msgq_random_length(q->random, most) : 0);

	for (const struct cmi_msg *m = q->plain.head; m && n < most; m = m->next)
		n++;
	return n < most ? n : most;
}

size_t csd_queue_some(const struct pe *pe, const struct cmi_msg **some, size_t most)
{
	const struct msgq *q = &pe->queue;
	size_t n = 0;

	for (size_t i = 0; i < q->n_heap && n < most; i++)
		some[n++] = q->heap[i].m;
	for (const struct cmi_msg *m = q->plain.head; m && n < most; m = m->next)
		some[n++] = m;
	return n;
}

void msgq_fini(struct pe *pe, struct msgq *q)
{
	struct cmi_msg *m;

	if (q->random)
		msgq_random_end_delays(q->random);
	while ((m = msgq_pop(q)))
		csd_msg_free(pe, m);
	free(q->heap);
	if (q->random)
		msgq_random_destroy(q->random);
}
