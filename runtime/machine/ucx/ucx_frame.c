/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ucx_frame.c: where CK_WIRE is set, all active messages are frames of the filters
 * (filter/filter.h) and travel eagerly, one for each block of message memory. Anything else that
 * arrives is refused: somebody on the network speaks UCX's protocol.
 */
#include "ucx_int.h"

#include "../base/die.h"
#include "../base/msg_stack.h"
#include "../shm/flip.h"

_Static_assert((int)AM_MESSAGE == (int)ITEM_MESSAGE, "the filters open messages in place");
_Static_assert((int)UCX_STREAMS == (int)ITEM_STREAMS, "each stream has its numbers");

void ucx_frames_send(struct ucx_ep *e, const struct item *item)
{
	struct cmi_pe *w = &e->w->base;
	const struct filters_room *f = w->m->filters_room;
	const size_t all = item->header_len + item->bytes;
	size_t at = 0, piece;

	do {
		struct cmi_msg *m;

		piece = f->next(w, e->pe, item, at);
		m = w->m->client.msg_alloc(w->owner, sizeof *m + frame_most(piece));
		m->route =
			f->encode(w, e->pe, item, at, piece, m + 1); /* its size, for ucx_pack.c */
		ucx_am_send(e, AM_FRAME, m, m + 1, m->route);
		at += piece;
	} while (at < all);
}

static void frame_deliver(struct ucx_pe *w, const struct item_arrived *a)
{
	struct cmi_put_wire wire = { .src_pe = -1 };

	switch (a->id) {
	case AM_MESSAGE:
		ucx_check_source(w, a->m->src_pe);
		ucx_check_message(w, a->src_pe, a->m->size, a->bytes);
		if (a->stream == UCX_URGENT)
			ucx_urgent_deliver(w, a->src_pe, a->m);
		else
			ucx_message_deliver(w, a->src_pe, a->m);
		return;
	case AM_BATCH:
		ucx_batch_records(w, a->data, a->bytes);
		return;
	case AM_PUT:
		if (a->header_len == sizeof wire)
			memcpy(&wire, a->header, sizeof wire);
		ucx_check_source(w, wire.src_pe);
		ucx_put_deliver(w, &wire, a->data, a->bytes);
		return;
	default:
		ucx_check_source(w, -1);
	}
}

/* Anything that did not pass the filters. */
static ucs_status_t bare_arrived(void *arg, const void *header, size_t header_len, void *data,
				 size_t bytes, const ucp_am_recv_param_t *param)
{
	const struct ucx_pe *w = arg;
	const struct ucx *u = w->base.m->back;

	(void)header;
	(void)header_len;
	(void)data;
	(void)param;
	if (!u->closing)
		machine_die(
			w->base.m,
			"node %d PE %d received %zu bytes that did not pass CK_WIRE: no node of "
			"the job sends such; see who can reach its ports (CK_GUARD=1 keeps strangers out)",
			w->base.m->job.node, w->base.pe, bytes);
	return UCS_OK;
}

static ucs_status_t frame_arrived(void *arg, const void *header, size_t header_len, void *data,
				  size_t bytes, const ucp_am_recv_param_t *param)
{
	struct ucx_pe *w = arg;
	const struct ucx *u = w->base.m->back;
	struct item_arrived a;
	const char *why;

	if (u->closing)
		return UCS_OK;
	if (header_len || param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV || !w->base.filter)
		return bare_arrived(arg, header, header_len, data, bytes, param);
	msg_tell_came(w->base.m, false);
	ucx_came(w, bytes);
	flip_arrived(data, bytes);
	why = w->base.m->filters_room->decode(&w->base, data, bytes, &a);
	if (why)
		w->base.m->filters_room->refuse(&w->base, data, bytes, why);
	if (a.whole)
		frame_deliver(w, &a);
	return UCS_OK;
}

int ucx_frames_open(struct ucx_pe *w)
{
	int rc = 0;

	for (unsigned id = AM_MESSAGE; !rc && id <= AM_FRAME; id++)
		rc = ucx_am_handler(w, id, id == AM_FRAME ? frame_arrived : bare_arrived);
	return rc;
}
