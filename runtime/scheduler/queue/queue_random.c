/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue_random.c: the randomised queue policy, for tests. Messages of one sender, one priority, and
 * handlers that share an order form a stream. The next message is taken from a random stream among
 * those of the best waiting priority. So only the promised order is kept: that of priorities, and
 * within a stream that of arrival, or last in first out for LIFO messages. A program that works
 * only under FIFO fails here, and the seed replays it.
 *
 * With delays a stream from another PE now and then seems not to have arrived yet, for some looks
 * at the queue, even when there is nothing else to do. So a message that passes through other PEs
 * can overtake one that is sent directly, as on a network with different routes.
 */
#include "msgq.h"
#include "../../machine/base/cmi_alloc.h"
#include "../../machine/base/cmi_env.h"
#include "../../machine/tools/cmi_random.h"

#include <stdio.h>
#include <stdlib.h>

/* Messages of one priority whose order is promised. */
struct stream {
	struct msg_fifo fifo;    /* never empty; its first message has the priority */
	int src_pe;
	int apart;               /* the handler, if it keeps an order of its own; else -1 */
	unsigned late;           /* looks at the queue that still miss it */
};

enum { LATE_MOST = 100 };

struct msgq_random {
	uint64_t state;
	const struct node *node;
	int prompt;              /* messages of this PE are never late */
	bool delays;
	struct stream **streams; /* those that are not empty */
	size_t n, cap;
};

/* CK_RANDOM_DELAY includes CK_RANDOM_QUEUE. */
struct csd_random msgq_random_asked(void)
{
	int64_t order = cmi_env_number("CK_RANDOM_QUEUE", -1, 0, INT64_MAX);
	int64_t delays = cmi_env_number("CK_RANDOM_DELAY", -1, 0, INT64_MAX);

	return (struct csd_random){
		.order = order >= 0 || delays >= 0,
		.delays = delays >= 0,
		.seed = (uint64_t)(order > 0 ? order : 0) * 31 + (uint64_t)(delays > 0 ? delays : 0),
	};
}

/* So that a failure can be replayed. */
void msgq_random_print(void)
{
	const char *order = cmi_env_text("CK_RANDOM_QUEUE"), *delays = cmi_env_text("CK_RANDOM_DELAY");

	if (order)
		fprintf(stderr, "chard: randomised queue, CK_RANDOM_QUEUE=%s\n", order);
	if (delays)
		fprintf(stderr, "chard: randomised delays, CK_RANDOM_DELAY=%s\n", delays);
}

struct msgq_random *msgq_random_create(const struct node *node, int salt, int prompt)
{
	struct msgq_random *r = cmi_alloc_zero(1, sizeof *r, "the randomised queue");

	r->state = cmi_random_seed(node->random.seed * 1000003 + (uint64_t)salt);
	r->node = node;
	r->prompt = prompt;
	r->delays = node->random.delays;
	return r;
}

void msgq_random_destroy(struct msgq_random *r)
{
	free(r->streams);
	free(r);
}

/* Now and then: one message in four. */
static void be_late(struct msgq_random *r, struct stream *s)
{
	s->late = 0;
	if (r->delays && s->src_pe != r->prompt && cmi_random_below(&r->state, 4) == 0)
		s->late = (unsigned)cmi_random_below(&r->state, LATE_MOST);
}

/* Below 0: a runs before b. */
static int compare_priority(const struct cmi_msg *a, const struct cmi_msg *b)
{
	int64_t x = msg_key(a), y = msg_key(b);

	if (x != y)
		return x < y ? -1 : 1;
	return msg_prio_compare(a->flags & CMI_F_WIDE ? msg_prio_of(a) : NULL,
				b->flags & CMI_F_WIDE ? msg_prio_of(b) : NULL);
}

/* An empty stream, which the caller fills. */
static struct stream *add_stream(struct msgq_random *r, int src_pe, int apart)
{
	CMI_ONE_MORE(r->streams, r->n, r->cap, "the randomised queue");
	struct stream *s = cmi_alloc_zero(1, sizeof *s, "the randomised queue");

	msg_fifo_init(&s->fifo);
	s->src_pe = src_pe;
	s->apart = apart;
	be_late(r, s);
	return r->streams[r->n++] = s;
}

static struct stream *stream_of(struct msgq_random *r, const struct cmi_msg *m)
{
	const struct node *node = r->node;
	/* A message kept while the PE waited for another (loop.c) keeps the order of its own handler. */
	const int handler = m->handler == node->h_held ? m->mark : m->handler;
	const int apart = handler < node->n_handlers && node->handlers[handler].apart ? handler : -1;

	for (size_t i = 0; i < r->n; i++) {
		struct stream *s = r->streams[i];

		if (s->src_pe == m->src_pe && s->apart == apart &&
		    compare_priority(s->fifo.head, m) == 0)
			return s;
	}
	return add_stream(r, m->src_pe, apart);
}

void msgq_random_push(struct msgq_random *r, struct cmi_msg *m)
{
	struct msg_fifo *f = &stream_of(r, m)->fifo;

	if (m->flags & CMI_F_LIFO)
		msg_fifo_push_front(f, m);
	else
		msg_fifo_push(f, m);
}

bool msgq_random_has(const struct msgq_random *r, csd_msg_test test, const void *arg)
{
	for (size_t i = 0; i < r->n; i++)
		if (msg_fifo_has(&r->streams[i]->fifo, test, arg))
			return true;
	return false;
}

/* Removes streams that become empty. */
void msgq_random_take(struct msgq_random *r, csd_msg_test test, const void *arg,
		      struct msg_fifo *to)
{
	for (size_t i = r->n; i-- > 0;) {
		struct stream *s = r->streams[i];

		msg_fifo_take(&s->fifo, test, arg, to);
		if (s->fifo.head)
			continue;
		r->streams[i] = r->streams[--r->n];
		free(s);
	}
}

size_t msgq_random_length(const struct msgq_random *r, size_t most)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		for (const struct cmi_msg *m = r->streams[i]->fifo.head; m && n < most; m = m->next)
			n++;
	return n;
}

bool msgq_random_waits(const struct msgq_random *r)
{
	return r->n > 0;
}

void msgq_random_hurry(struct msgq_random *r, unsigned looks)
{
	for (size_t i = 0; i < r->n; i++) {
		struct stream *s = r->streams[i];

		s->late -= s->late < looks ? s->late : looks;
	}
}

void msgq_random_end_delays(struct msgq_random *r)
{
	r->delays = false;
}

static struct cmi_msg *stream_take(struct msgq_random *r, size_t i)
{
	struct stream *s = r->streams[i];
	struct cmi_msg *m = msg_fifo_pop(&s->fifo);

	if (s->fifo.head) {
		be_late(r, s);
		return m;
	}
	r->streams[i] = r->streams[--r->n];
	free(s);
	return m;
}

/* Each look brings a late stream closer. Returns r->n if there is nothing, or all of it is late. */
static size_t pick_stream(struct msgq_random *r)
{
	size_t best = r->n, n_equal = 0;

	for (size_t i = 0; i < r->n; i++) {
		struct stream *s = r->streams[i];
		int c;

		if (r->delays && s->late) {
			s->late--;
			continue;
		}
		c = best == r->n ? -1 : compare_priority(s->fifo.head, r->streams[best]->fifo.head);
		if (c < 0)
			n_equal = 0;
		/* The k-th equal replaces the previous one with probability 1/k: all are equally likely. */
		if (c <= 0 && cmi_random_below(&r->state, ++n_equal) == 0)
			best = i;
	}
	return best;
}

struct cmi_msg *msgq_random_pop(struct msgq_random *r)
{
	size_t i = pick_stream(r);

	return i < r->n ? stream_take(r, i) : NULL;
}
