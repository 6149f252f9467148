/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ucx_tail.c: an empty segment behind the last one, by which TCP notices a loss early.
 *
 * TCP sees that a packet was lost by what comes behind it. With nothing behind it waits: for two
 * round trips if several packets are unacknowledged, but for 200 ms if there is one. So a
 * connection that has sent nothing for QUIET_NS sends one packet more. The receiver finds no
 * records in it.
 */
#include "ucx_int.h"

#include "../tools/clock.h"

/* Longer than the answer to most messages takes, so that nothing is added to conversations; short
 * beside 200 ms. */
enum { QUIET_NS = 2 * 1000 * 1000 };

void ucx_tail_later(struct ucx_ep *e, uint64_t now)
{
	struct ucx_pe *w = e->w;

	e->tail_ns = now + QUIET_NS;
	if (e->tail)
		return;
	e->tail = true;
	if (!w->tails)
		w->tail_ns = e->tail_ns; /* that of any other one is not later */
	e->next_tail = w->tails;
	w->tails = e;
}

int64_t ucx_tails_us(const struct ucx_pe *w)
{
	const uint64_t now = machine_now_ns();

	if (!w->tails)
		return 0;
	return w->tail_ns > now ? (int64_t)((w->tail_ns - now) / 1000 + 1) : 1;
}

static void tail_send(struct ucx_ep *e)
{
	const struct cmi_pe *w = &e->w->base;
	struct cmi_msg *m = w->m->client.msg_alloc(w->owner, sizeof *m);

	e->tail = false;
	ucx_batch_segment(e, m, 0);
}

/* Those that have sent since then wait again. */
void ucx_tails_look(struct ucx_pe *w)
{
	const uint64_t now = machine_now_ns();
	struct ucx_ep **at = &w->tails;

	if (now < w->tail_ns)
		return;
	w->tail_ns = UINT64_MAX;
	while (*at) {
		struct ucx_ep *e = *at;

		if (e->tail_ns <= now) {
			*at = e->next_tail;
			tail_send(e);
			continue;
		}
		if (e->tail_ns < w->tail_ns)
			w->tail_ns = e->tail_ns;
		at = &e->next_tail;
	}
}
