/* SPDX-License-Identifier: Apache-2.0 */
/* pulse_seen.c: see pulse_seen.h. */
#include "pulse_seen.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/cmi_alloc.h"
#include "../../tools/clock.h"
#include "../seen.h"
#include "machine_int.h"

static const char WHAT[] = "what other hosts show";
/* Whoever asks does so each second. */
static const uint64_t WANTED_NS = 3ull * 1000 * 1000 * 1000;

void pulse_seen_open(struct pulse_seen *s, int n_nodes)
{
	pthread_mutex_init(&s->lock, NULL);
	s->of = cmi_alloc_zero((size_t)n_nodes, sizeof *s->of, WHAT);
}

void pulse_seen_close(struct pulse_seen *s, int n_nodes)
{
	for (int i = 0; i < n_nodes; i++) {
		free(s->of[i].parts);
		free(s->of[i].whole);
		free(s->of[i].has);
	}
	free(s->of);
	pthread_mutex_destroy(&s->lock);
}

int pulse_seen_first(const struct cmi *m, int node)
{
	int first = 0;

	while (m->job.host_id[first] != m->job.host_id[node])
		first++;
	return first;
}

static size_t n_parts(size_t bytes)
{
	return (bytes + PULSE_MORE - 1) / PULSE_MORE;
}

static size_t part_bytes(size_t bytes, size_t part)
{
	return part + 1 < n_parts(bytes) ? PULSE_MORE : bytes - part * PULSE_MORE;
}

void pulse_seen_answer(struct pulse_seen *s, const struct cmi *m, const struct pulse_net *net,
		       int way, const struct pulse_rail *to, const struct pulse_packet *ask)
{
	const size_t bytes = seen_bytes(m, m->job.node);
	struct pulse_wire q = { .head = { .kind = PULSE_SEEN, .rail = ask->rail, .to = ask->from,
					  .stamp = ask->stamp } };
	char *all;

	if (pulse_seen_first(m, m->job.node) != m->job.node || ask->stamp <= s->answered)
		return;
	s->answered = ask->stamp;
	seen_want(m, machine_now_ns() + WANTED_NS);
	all = cmi_alloc(bytes, WHAT);
	seen_here(m, all);
	for (size_t i = 0; i < n_parts(bytes); i++) {
		q.head.about = (int32_t)i;
		memcpy(q.more, all + i * PULSE_MORE, part_bytes(bytes, i));
		pulse_net_send_more(net, way, to, &q, part_bytes(bytes, i));
	}
	free(all);
}

/** The answer to another question begins: what had come of the one before is dropped. */
static void begin(struct seen_of *h, size_t bytes, uint64_t stamp)
{
	if (!h->parts) {
		h->parts = cmi_alloc_zero(bytes, 1, WHAT);
		h->whole = cmi_alloc_zero(bytes, 1, WHAT);
		h->has = cmi_alloc_zero(n_parts(bytes), 1, WHAT);
	}
	memset(h->has, 0, n_parts(bytes));
	h->n_has = 0;
	h->stamp = stamp;
}

static void take_part(struct seen_of *h, size_t bytes, const struct pulse_wire *q)
{
	const size_t part = (size_t)q->head.about;

	if (q->head.stamp > h->stamp || !h->parts)
		begin(h, bytes, q->head.stamp);
	if (q->head.stamp < h->stamp || h->has[part])
		return;
	h->has[part] = 1;
	memcpy(h->parts + part * PULSE_MORE, q->more, part_bytes(bytes, part));
	if (++h->n_has < n_parts(bytes))
		return;
	memcpy(h->whole, h->parts, bytes);
	h->whole_ns = machine_now_ns();
}

void pulse_seen_came(struct pulse_seen *s, const struct cmi *m, const struct pulse_wire *q,
		     size_t n)
{
	const size_t bytes = seen_bytes(m, q->head.from);

	if (pulse_seen_first(m, q->head.from) != q->head.from || q->head.about < 0 ||
	    (size_t)q->head.about >= n_parts(bytes) || n != part_bytes(bytes, (size_t)q->head.about))
		return;
	pthread_mutex_lock(&s->lock);
	if (q->head.stamp <= s->asked)
		take_part(&s->of[q->head.from], bytes, q);
	pthread_mutex_unlock(&s->lock);
}

uint64_t pulse_seen_last(struct pulse_seen *s, const struct cmi *m, int node, char *to)
{
	const struct seen_of *h = &s->of[pulse_seen_first(m, node)];
	uint64_t at;

	pthread_mutex_lock(&s->lock);
	at = h->whole_ns;
	if (at)
		memcpy(to, h->whole, seen_bytes(m, node));
	pthread_mutex_unlock(&s->lock);
	return at;
}
