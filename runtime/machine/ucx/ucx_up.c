/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ucx_up.c: a connection for urgent messages is used when it is there.
 *
 * TCP and UCX take two round trips to make one, and a second more if the first packet is lost.
 * Until then urgent messages take a detour: they go among the calls, whose connection is there, or
 * is needed by the job anyway. The new connection carries a HELLO; the receiver answers by an UP on
 * its own one, where nothing large is in front of it. Then the sender uses the connection, behind a
 * mark with the number of those that have taken the detour, so urgent messages keep their order.
 *
 * What is large ends the detour: behind it the wait is longer than for the connection. With CK_WIRE
 * there is none.
 */
#include "ucx_int.h"

#include "../base/cmi_alloc.h"

/** From now on e carries its messages, behind those that have gone among the calls. */
static void use(struct ucx_ep *e)
{
	e->in_use = true;
	if (e->n_urgent)
		ucx_batch_mark(e, e->n_urgent);
}

bool ucx_detour(struct ucx_ep *e, struct cmi_msg *m)
{
	struct ucx_ep *calls = ucx_ep(e->w, e->pe, UCX_CALLS);

	if (e->up || calls->large || e->w->base.filter || !ucx_batch_detour(calls, m)) {
		use(e);
		return false;
	}
	if (e->n_urgent++ == 0)
		ucx_batch_hello(e);
	return true;
}

/* From a callback of UCX, where no connection may be made. */
void ucx_hello_came(struct ucx_pe *w, int src_pe)
{
	if (!w->hellos)
		w->hellos = cmi_alloc_zero((size_t)w->base.m->job.n_pes, sizeof *w->hellos,
					   "connections");
	w->hellos[src_pe] = true;
	w->n_hellos++;
}

void ucx_hellos_answer(struct ucx_pe *w)
{
	for (int pe = 0; pe < w->base.m->job.n_pes; pe++) {
		if (!w->hellos[pe])
			continue;
		w->hellos[pe] = false;
		ucx_batch_up(ucx_ep(w, pe, UCX_URGENT));
	}
	w->n_hellos = 0;
}

void ucx_up_came(struct ucx_pe *w, int src_pe)
{
	struct ucx_ep *e = ucx_ep_used(w, src_pe, UCX_URGENT);

	if (e)
		e->up = true;
}
