/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue_random.c: the randomised queue policy, for tests. The next message is taken from a
 * sender picked at random; only the order that is promised (one pair of PEs, one priority)
 * is kept. A program that works only under FIFO breaks here, and the seed replays it.
 */
#include "csd_int.h"

#include <stdlib.h>

/* One stream of messages whose order is promised. */
struct stream {
	struct msg_fifo fifo;
	int src_pe;
	int64_t key; /* of the priority */
};

struct msgq_random {
	uint64_t state;
	struct stream **streams; /* those that are not empty */
	size_t n, cap;
};

static uint64_t next_random(struct msgq_random *r)
{
	/* xorshift64*: replayable, no library state. */
	r->state ^= r->state >> 12;
	r->state ^= r->state << 25;
	r->state ^= r->state >> 27;
	return r->state * 2685821657736338717ull;
}

struct msgq_random *msgq_random_create(uint64_t seed)
{
	struct msgq_random *r = calloc(1, sizeof *r);

	if (r)
		r->state = seed ? seed : 1;
	return r;
}

void msgq_random_destroy(struct msgq_random *r)
{
	free(r->streams);
	free(r);
}

static struct stream *find_stream(struct msgq_random *r, const struct cmi_msg *m)
{
	int64_t key = msg_key(m);

	for (size_t i = 0; i < r->n; i++)
		if (r->streams[i]->src_pe == m->src_pe && r->streams[i]->key == key)
			return r->streams[i];
	if (r->n == r->cap) {
		size_t cap = r->cap ? r->cap * 2 : 16;
		struct stream **streams = realloc(r->streams, cap * sizeof(*streams));

		if (!streams)
			csd_abort(csd_self(), "no memory for the randomised queue");
		r->streams = streams;
		r->cap = cap;
	}
	struct stream *s = calloc(1, sizeof *s);

	if (!s)
		csd_abort(csd_self(), "no memory for the randomised queue");
	s->fifo.tail = &s->fifo.head;
	s->src_pe = m->src_pe;
	s->key = key;
	return r->streams[r->n++] = s;
}

void msgq_random_push(struct msgq_random *r, struct cmi_msg *m)
{
	msg_fifo_push(&find_stream(r, m)->fifo, m);
}

size_t msgq_random_length(const struct msgq_random *r, size_t most)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		for (const struct cmi_msg *m = r->streams[i]->fifo.head; m && n < most; m = m->next)
			n++;
	return n;
}

struct cmi_msg *msgq_random_pop(struct msgq_random *r)
{
	if (!r->n)
		return NULL;
	size_t i = (size_t)(next_random(r) % r->n);
	struct stream *s = r->streams[i];
	struct cmi_msg *m = msg_fifo_pop(&s->fifo);

	if (!s->fifo.head) {
		r->streams[i] = r->streams[--r->n];
		free(s);
	}
	return m;
}
