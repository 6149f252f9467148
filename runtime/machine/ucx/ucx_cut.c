/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ucx_cut.c: large messages over tcp, in pieces.
 *
 * Each piece is an active message of its own: a header, struct cut_wire, and up to UCX_PIECE bytes
 * of the message. The receiver allocates the message's block when the first piece comes, and copies
 * each piece into place. The pieces of a message follow each other on their connection, so the
 * bytes received so far give the next offset, and a source has one message under way in each of its
 * two streams of messages.
 *
 * UCX would assemble an eager message in memory of its own, or fetch it by rendezvous, which holds
 * up all that its source sends after it. With pieces all that UCX sees has at most UCX_PIECE bytes,
 * and other connections to the same PE have their turn between two of them.
 *
 * What bounds the receiver's memory is flow control above this layer (flow.c), as for small
 * messages. A rendezvous did no better: its block was allocated when its announcement came.
 */
#include "ucx_int.h"

#include <stdlib.h>
#include <string.h>

#include "../base/cmi_alloc.h"
#include "../base/die.h"
#include "../base/msg_stack.h"
#include "../shm/flip.h"
#include "../shm/msg_local.h"

/** The header of a piece; all pieces of a message have the same. */
struct cut_wire {
	uint64_t bytes; /* of the message */
	int32_t src_pe;
	uint32_t urgent; /* 1; else 0 */
};

/** A message that UCX has parts of. */
struct cut {
	struct ucx_ep *e;
	struct cmi_msg *m;
	struct cut_wire wire; /* UCX 1.13 reads a header until the send is over */
	size_t n_left;        /* pieces that UCX has not sent yet, and 1 while there are more to come */
};

/** The received prefix of a message; one for each source and stream. */
struct cut_arriving {
	struct cmi_msg *m;    /* NULL: none is under way */
	struct cmi_msg local; /* its local fields, which the first piece overwrites */
	size_t bytes, at;     /* of the message; offset of the next piece */
};

static size_t piece_bytes(size_t all, size_t at)
{
	return all - at < UCX_PIECE ? all - at : UCX_PIECE;
}

/* ---- sending ------------------------------------------------------------------------- */

static void one_is_sent(struct cut *c)
{
	const struct cmi_pe *w = &c->e->w->base;

	if (--c->n_left > 0)
		return;
	w->m->client.msg_free(w->owner, c->m);
	free(c);
}

static void piece_sent(void *request, ucs_status_t status, void *arg)
{
	struct cut *c = arg;

	ucp_request_free(request);
	if (status != UCS_OK)
		ucx_failed(c->e->w, c->e->pe, "cannot send to", status);
	else
		one_is_sent(c);
}

static void piece_send(struct cut *c, const char *data, size_t bytes)
{
	ucp_request_param_t param = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
				UCP_OP_ATTR_FIELD_FLAGS,
		.flags = UCP_AM_SEND_FLAG_EAGER,
		.cb.send = piece_sent,
		.user_data = c,
	};
	ucs_status_ptr_t request = ucx_hand_over(c->e, AM_PIECE, &c->wire, sizeof c->wire, NULL, data,
						 bytes, &param);

	if (UCS_PTR_IS_ERR(request))
		ucx_failed(c->e->w, c->e->pe, "cannot send to", UCS_PTR_STATUS(request));
	else if (request)
		c->n_left++;
}

void ucx_cut_send(struct ucx_ep *e, struct cmi_msg *m, bool urgent)
{
	struct cut *c = cmi_alloc_zero(1, sizeof *c, "a large message");

	e->large = true;
	c->e = e;
	c->m = m;
	c->wire = (struct cut_wire){ .bytes = m->size, .src_pe = e->w->base.pe,
				     .urgent = urgent };
	c->n_left = 1;
	for (size_t at = 0; at < m->size; at += piece_bytes(m->size, at))
		piece_send(c, (const char *)m + at, piece_bytes(m->size, at));
	one_is_sent(c);
}

/* ---- arrival ------------------------------------------------------------------------- */

static _Noreturn void piece_misfits(const struct ucx_pe *w, int src_pe)
{
	machine_die(w->base.m,
		    "node %d PE %d received a piece of a message from PE %d that does not fit the "
		    "others: the network damaged it, or the nodes run different programs",
		    w->base.m->job.node, w->base.pe, src_pe);
}

static struct cut_arriving *arriving_from(struct ucx_pe *w, const struct cut_wire *wire)
{
	if (!w->cuts)
		w->cuts = cmi_alloc_zero(2 * (size_t)w->base.m->job.n_pes, sizeof *w->cuts,
					 "arriving messages");
	return &w->cuts[2 * wire->src_pe + (int)wire->urgent];
}

static void begin(struct ucx_pe *w, struct cut_arriving *a, const struct cut_wire *wire)
{
	a->m = w->base.m->client.msg_alloc(w->base.owner, wire->bytes);
	a->local = *a->m;
	a->bytes = wire->bytes;
	a->at = 0;
}

static void end(struct ucx_pe *w, struct cut_arriving *a, const struct cut_wire *wire)
{
	struct cmi_msg *m = a->m;

	if (m->size != wire->bytes || m->src_pe != wire->src_pe)
		piece_misfits(w, wire->src_pe);
	a->m = NULL;
	msg_local_restore(m, &a->local);
	if (wire->urgent)
		ucx_urgent_deliver(w, wire->src_pe, m);
	else
		ucx_message_deliver(w, wire->src_pe, m);
}

/* The size that counts is that of the first piece: the block has room for it. */
static void piece_arrived(struct ucx_pe *w, const struct cut_wire *wire, const void *data,
			  size_t bytes)
{
	struct cut_arriving *a;

	if (wire->bytes <= UCX_PIECE || wire->urgent > 1)
		piece_misfits(w, wire->src_pe);
	a = arriving_from(w, wire);
	if (!a->m)
		begin(w, a, wire);
	if (wire->bytes != a->bytes || bytes != piece_bytes(wire->bytes, a->at))
		piece_misfits(w, wire->src_pe);
	memcpy((char *)a->m + a->at, data, bytes);
	a->at += bytes;
	if (a->at == wire->bytes)
		end(w, a, wire);
}

static ucs_status_t am_piece_arrived(void *arg, const void *header, size_t header_len, void *data,
				     size_t bytes, const ucp_am_recv_param_t *param)
{
	struct ucx_pe *w = arg;
	struct cut_wire wire = { .src_pe = -1 };

	msg_tell_came(w->base.m, false);
	if (header_len == sizeof wire)
		memcpy(&wire, header, sizeof wire);
	flip_put(&wire, sizeof wire);
	ucx_check_source(w, wire.src_pe);
	if (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)
		piece_misfits(w, wire.src_pe);
	ucx_came(w, bytes);
	flip_arrived(data, bytes);
	piece_arrived(w, &wire, data, bytes);
	return UCS_OK;
}

/* ---- open and close ------------------------------------------------------------------ */

int ucx_cut_open(struct ucx_pe *w)
{
	return ucx_am_handler(w, AM_PIECE, am_piece_arrived);
}

void ucx_cut_close(struct ucx_pe *w)
{
	free(w->cuts);
}
