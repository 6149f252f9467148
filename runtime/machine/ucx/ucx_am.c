/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ucx_am.c: messages and puts as UCX active messages.
 *
 * The sender hands UCX the whole message, head and payload in one piece; UCX owns it until the send
 * completes. The receiver leaves the message in its receive buffer where that pays, and copies it
 * into the scheduler's pool elsewhere.
 *
 * Order: UCX calls the handler for one endpoint's active messages in the order of the sends, but
 * the data of a rendezvous message comes later than the call. So whatever arrives from the same
 * source after an unfinished rendezvous is queued for that source and delivered after it; messages
 * and puts have a queue each, for they need no order among each other. Messages that need to be
 * behind urgent ones of another connection (enum cmi_way) wait in it, too, behind a mark.
 * Rendezvous is rare (very large messages, or the user's own UCX_RNDV_THRESH), and without one the
 * queues are not used.
 *
 * Over tcp there is no rendezvous. Large messages (ucx_cut.c) and large puts go in pieces, which
 * the receiver copies into place; UCX would first assemble them in a buffer of its own. The pieces
 * of a put follow each other, so the bytes received so far give the next offset.
 */
#include "ucx_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../tools/cmi_random.h"
#include "../base/cmi_alloc.h"
#include "../base/die.h"
#include "../shm/flip.h"
#include "../shm/msg_local.h"
#include "../base/msg_stack.h"

/* Except over tcp, messages of this size and more travel by rendezvous. Eager would still be
 * slightly faster, but UCX would allocate all of them at the receiver, without any flow control. */
enum { RNDV_MIN = 4 << 20 };

/* Up to this size a message is sent eagerly, whatever UCX_RNDV_THRESH says, as all are over tcp,
 * and src_pe in its head names the source. A larger one names its source also in the active
 * message's header, because that is all that has come of a rendezvous when the handler runs. */
enum { PLAIN_MAX = 1024 };

/* Up to this size data is sent over tcp in one piece (ucx_pack.c): what fits into UCX's buffer of 8
 * kB after the headers. */
enum { TCP_PACK_MAX = 8000 };

/* A message that stays in its receive buffer occupies a whole segment (32 KB). Below this size a
 * copy costs no more than the reader pays anyway for touching the data, and very small messages do
 * not come in a buffer that could be kept. */
enum { HOLD_MIN = 512 };

/* The most buffers of one wire that messages may occupy. The limit is hard: when UCX's
 * shared-memory transport runs out of receive buffers (SHMMNI or /dev/shm full), it drops messages
 * silently. */
enum { HOLD_MAX = 128 };

/* With CK_RANDOM_DELAY: of so many polls one passes over a stream. */
enum { LATE_ONE_IN = 3 };

/** An arrival that waits for its data or for its turn. */
struct late {
	struct late *next;
	struct ucx_pe *w;
	int src_pe;
	enum ucx_stream stream;
	bool ready;             /* its data is complete */
	bool detour;            /* urgent, but among the calls */
	uint32_t n_urgent;      /* 0, or a mark: what follows waits until so many have come */
	struct cmi_msg *m;      /* a message; NULL: a put, or a mark */
	struct cmi_msg local;   /* of a rendezvous message: m's local fields, which UCX overwrites */
	struct cmi_put_wire wire;
	size_t bytes;
	void *body;             /* a put's data, malloc */
};

/** The received prefix of a put in pieces; one for each source. */
struct put_pieces {
	struct cmi_put_wire wire; /* the first one's; all have the same */
	size_t at;                /* offset of the next piece; 0: none is under way */
	uint32_t n_left;          /* pieces still to come */
};

struct late_queue {
	struct late *head, **tail;
};

/* ---- sending ----------------------------------------------------------------------- */

static void message_sent(void *request, ucs_status_t status, void *arg)
{
	struct cmi_msg *m = arg;
	const struct ucx_ep *e = (const struct ucx_ep *)m->next;
	const struct cmi_pe *w = &e->w->base;

	ucp_request_free(request);
	if (status != UCS_OK) {
		ucx_failed(e->w, e->pe, "cannot send to", status);
		return; /* closing: no scheduler is left to take it back */
	}
	w->m->client.msg_free(w->owner, m);
}

ucs_status_ptr_t ucx_hand_over(struct ucx_ep *e, unsigned id, const void *header,
			       size_t header_len, void *what, const void *data, size_t bytes,
			       ucp_request_param_t *param)
{
	const struct ucx *u = e->w->base.m->back;

	e->w->n_sent++;
	if (!e->tcp || !what || bytes > TCP_PACK_MAX)
		return ucp_am_send_nbx(e->ep, id, header, header_len, data, bytes, param);
	param->op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
	param->datatype = u->packed[id];
	param->flags = UCP_AM_SEND_FLAG_EAGER;
	return ucp_am_send_nbx(e->ep, id, header, header_len, what, 1, param);
}

static void send_in_frames(struct ucx_ep *e, unsigned id, struct cmi_msg *m, const void *data,
			   size_t bytes)
{
	const struct cmi_pe *w = &e->w->base;
	const unsigned kind = id == AM_BATCH ? 0 : m->handler;

	if (id == AM_URGENT)
		id = AM_MESSAGE; /* the stream tells */
	ucx_frames_send(e, &(struct item){ id, kind, NULL, 0, data, bytes, e->stream });
	w->m->client.msg_free(w->owner, m);
}

void ucx_am_send(struct ucx_ep *e, unsigned id, struct cmi_msg *m, const void *data, size_t bytes)
{
	struct cmi_pe *base = &e->w->base;
	bool plain = id == AM_BATCH || id == AM_FRAME || e->tcp || bytes <= PLAIN_MAX;
	ucp_request_param_t param = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
				UCP_OP_ATTR_FIELD_FLAGS,
		.flags = plain ? UCP_AM_SEND_FLAG_EAGER
			       : bytes >= RNDV_MIN ? UCP_AM_SEND_FLAG_RNDV : 0,
		.cb.send = message_sent,
		.user_data = m,
	};
	ucs_status_ptr_t request;

	if (base->filter && id != AM_FRAME) {
		send_in_frames(e, id, m, data, bytes);
		return;
	}
	/* While UCX has the message no queue does, so its link can point to the endpoint. */
	m->next = (struct cmi_msg *)e;
	request = ucx_hand_over(e, id, plain ? NULL : &base->pe, plain ? 0 : sizeof base->pe, m, data,
			    bytes, &param);
	if (request == NULL)
		base->m->client.msg_free(base->owner, m);
	else if (UCS_PTR_IS_ERR(request))
		ucx_failed(e->w, e->pe, "cannot send to", UCS_PTR_STATUS(request));
}

/* Over tcp: tell the receiver of urgent messages that it does not know of. */
static void mark(struct ucx_ep *e)
{
	const struct ucx_ep *urgent = ucx_ep_used(e->w, e->pe, UCX_URGENT);

	if (!urgent || urgent->n_urgent == e->n_urgent)
		return;
	e->n_urgent = urgent->n_urgent;
	ucx_batch_mark(e, e->n_urgent);
}

static void tcp_send(struct ucx_ep *e, struct cmi_msg *m, enum cmi_way way)
{
	const bool urgent = way == CMI_URGENT;

	if (urgent && !e->in_use && ucx_detour(e, m))
		return;
	e->n_urgent += urgent;
	if (way == CMI_BEHIND_ALL)
		mark(e);
	if (ucx_batch_message(e, m, urgent))
		return;
	if (m->size > UCX_PIECE && !e->w->base.filter)
		ucx_cut_send(e, m, urgent);
	else
		ucx_am_send(e, urgent ? AM_URGENT : AM_MESSAGE, m, m, m->size);
}

void ucx_send(struct cmi_pe *base, int dst_pe, struct cmi_msg *m)
{
	const struct cmi_client *client = &base->m->client;
	const enum cmi_way way = client->way ? client->way(base->owner, m) : CMI_BEHIND_ALL;
	struct ucx_ep *e = ucx_ep(ucx_pe(base), dst_pe, way == CMI_URGENT ? UCX_URGENT : UCX_CALLS);

	msg_tell_left(base->m, false);
	if (e->tcp)
		tcp_send(e, m, way);
	else
		ucx_am_send(e, AM_MESSAGE, m, m, m->size);
}

static void put_sent(void *request, ucs_status_t status, void *arg)
{
	struct cmi_op *op = arg;

	ucp_request_free(request);
	if (status != UCS_OK)
		ucx_failed(ucx_pe(op->w), op->pe, "cannot put to", status);
	else if (--op->state == 0)
		op->done(op);
}

/* Whether the kernel would copy it slowly. It copies to the beginning of a page, after UCX's header
 * of 13 bytes, and AMD's processors copy ten times slower to an address that is 1 to 15 bytes after
 * the source's offset in its page. Messages avoid such offsets (scheduler/memory.c). With a copy of
 * other data, round trips of 10 kB to 200 kB take 0.7 to 0.85 of the time. */
static bool is_at_a_page(const void *src)
{
	enum { PAGE = 4096, BEFORE = 2, WITHIN = 15 };

	return ((uintptr_t)src + BEFORE) % PAGE < WITHIN;
}

/** Send a put, or a piece of one. op->state counts what UCX has not sent yet. */
static void put_send(struct ucx_ep *e, struct cmi_op *op, const void *src, size_t bytes,
		     uint32_t flags)
{
	ucp_request_param_t param = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
				UCP_OP_ATTR_FIELD_FLAGS,
		.flags = flags,
		.cb.send = put_sent,
		.user_data = op,
	};
	ucs_status_ptr_t request;

	if (e->w->base.filter) {
		ucx_frames_send(e, &(struct item){ AM_PUT, op->wire.head.channel, &op->wire, sizeof op->wire, src,
						   bytes, e->stream });
		return;
	}
	if (e->tcp && bytes > TCP_PACK_MAX && bytes <= UCX_PIECE && is_at_a_page(src)) {
		ucx_batch_put_alone(e, &op->wire, src, bytes);
		return;
	}
	/* Only the last piece of several may be so small that UCX looks here. */
	op->src = src;
	op->bytes = bytes;
	request = ucx_hand_over(e, AM_PUT, &op->wire, sizeof op->wire, op, src, bytes, &param);
	if (UCS_PTR_IS_ERR(request))
		ucx_failed(e->w, e->pe, "cannot put to", UCS_PTR_STATUS(request));
	else if (request)
		op->state++;
}

static size_t piece_bytes(size_t all, size_t at)
{
	return all - at < UCX_PIECE ? all - at : UCX_PIECE;
}

static void put_send_pieces(struct ucx_ep *e, struct cmi_op *op, const char *src, size_t bytes)
{
	op->wire.pieces = (uint32_t)((bytes + UCX_PIECE - 1) / UCX_PIECE);
	for (size_t at = 0; at < bytes; at += piece_bytes(bytes, at))
		put_send(e, op, src + at, piece_bytes(bytes, at), UCP_AM_SEND_FLAG_EAGER);
}

bool ucx_put_am(struct cmi_pe *base, int dst_pe, const struct cmi_put_head *h, const void *src,
		size_t bytes, struct cmi_op *op)
{
	struct ucx_ep *e = ucx_ep(ucx_pe(base), dst_pe, UCX_PUTS);

	/* In the op, not on the stack: UCX 1.13 reads the header until the send is over. */
	op->wire.src_pe = base->pe;
	op->wire.pieces = 0;
	op->wire.head = *h;
	if ((e->tcp || !e->rma) && ucx_batch_put(e, &op->wire, src, bytes))
		return true;
	op->state = 1; /* until all pieces are under way */
	if ((e->tcp || base->filter) && bytes > UCX_PIECE)
		put_send_pieces(e, op, src, bytes);
	else
		put_send(e, op, src, bytes, e->tcp ? UCP_AM_SEND_FLAG_EAGER
					    : bytes >= RNDV_MIN ? UCP_AM_SEND_FLAG_RNDV : 0);
	return --op->state == 0;
}

/* ---- puts that arrive --------------------------------------------------------------- */

static void put_piece_arrived(struct ucx_pe *w, const struct cmi_put_wire *wire, const void *data,
			      size_t bytes)
{
	const struct cmi_pe *base = &w->base;
	struct put_pieces *p;

	if (!w->pieces)
		w->pieces = cmi_alloc_zero((size_t)base->m->job.n_pes, sizeof *w->pieces, "arriving puts");
	p = &w->pieces[wire->src_pe];
	if (p->at == 0) {
		p->wire = *wire;
		p->n_left = wire->pieces;
	}
	if (wire->pieces < 2 || memcmp(&p->wire, wire, sizeof *wire) || !bytes || bytes > UCX_PIECE ||
	    (p->n_left > 1 && bytes < UCX_PIECE))
		machine_die(
			base->m,
			"node %d PE %d received a piece of a put from PE %d that does not fit the others: "
			"the network damaged it, or the nodes run different programs",
			base->m->job.node, base->pe, wire->src_pe);
	base->m->client.put_piece(base->owner, wire->src_pe, &wire->head, p->at, data, bytes);
	p->at += bytes;
	if (--p->n_left > 0)
		return;
	bytes = p->at;
	p->at = 0;
	base->m->client.put_arrived(base->owner, wire->src_pe, &wire->head, NULL, bytes);
}

static void ucx_put_arrived(struct ucx_pe *w, const struct cmi_put_wire *wire, const void *data,
			    size_t bytes)
{
	if (wire->pieces)
		put_piece_arrived(w, wire, data, bytes);
	else
		w->base.m->client.put_arrived(w->base.owner, wire->src_pe, &wire->head, data, bytes);
}

/* ---- arrivals that wait ------------------------------------------------------------- */

static struct late_queue *late_of(const struct ucx_pe *w, int src_pe, enum ucx_stream stream)
{
	return &w->late[src_pe * UCX_STREAMS + (int)stream];
}

static struct late *late_new(struct ucx_pe *w, int src_pe, enum ucx_stream stream)
{
	struct late *l = cmi_alloc_zero(1, sizeof *l, "an arriving message");

	l->w = w;
	l->src_pe = src_pe;
	l->stream = stream;
	return l;
}

static void late_push(struct late *l)
{
	struct ucx_pe *w = l->w;
	struct late_queue *q;

	if (!w->late)
		w->late = cmi_alloc_zero((size_t)w->base.m->job.n_pes * UCX_STREAMS, sizeof *w->late,
					 "arriving messages");
	q = late_of(w, l->src_pe, l->stream);
	if (!q->head)
		q->tail = &q->head;
	*q->tail = l;
	q->tail = &l->next;
	w->n_late++;
}

static void urgent_arrived(struct ucx_pe *w, int src_pe, struct cmi_msg *m)
{
	if (!w->urgent)
		w->urgent = cmi_alloc_zero((size_t)w->base.m->job.n_pes, sizeof *w->urgent,
					   "urgent messages");
	w->urgent[src_pe]++;
	w->base.m->client.msg_arrived(w->base.owner, m);
}

static void late_deliver(struct late *l)
{
	const struct cmi_pe *w = &l->w->base;

	if (l->m && (l->stream == UCX_URGENT || l->detour))
		urgent_arrived(l->w, l->src_pe, l->m);
	else if (l->m)
		w->m->client.msg_arrived(w->owner, l->m);
	else if (!l->n_urgent)
		ucx_put_arrived(l->w, &l->wire, l->body, l->bytes);
	free(l->body);
	free(l);
}

/** Whether urgent messages that were sent earlier are still under way. The difference counts: the
 * numbers wrap. */
static bool mark_waits(const struct ucx_pe *w, int src_pe, uint32_t n_urgent)
{
	return (int32_t)(n_urgent - (w->urgent ? w->urgent[src_pe] : 0)) > 0;
}

static bool is_ready(const struct late *l)
{
	return l->n_urgent ? !mark_waits(l->w, l->src_pe, l->n_urgent) : l->ready;
}

/** Deliver arrivals that are complete and first in their queue. */
static void late_drain(struct ucx_pe *w, int src_pe, enum ucx_stream stream)
{
	struct late_queue *q = late_of(w, src_pe, stream);

	while (q->head && is_ready(q->head)) {
		struct late *l = q->head;

		q->head = l->next;
		w->n_late--;
		late_deliver(l);
	}
}

/* With CK_RANDOM_DELAY all wait for a poll at least. */
static bool source_is_late(const struct ucx_pe *w, int src_pe, enum ucx_stream stream)
{
	return w->random || (__builtin_expect(w->n_late > 0, 0) && late_of(w, src_pe, stream)->head);
}

void ucx_late_poll(struct ucx_pe *w)
{
	for (int i = 0; w->n_late && i < w->base.m->job.n_pes * UCX_STREAMS; i++)
		if (cmi_random_below(&w->random, LATE_ONE_IN))
			late_drain(w, i / UCX_STREAMS, (enum ucx_stream)(i % UCX_STREAMS));
}

/* ---- checks of received data --------------------------------------------------------- */

void ucx_check_source(const struct ucx_pe *w, int src_pe)
{
	const struct cmi_job *j = &w->base.m->job;

	if (src_pe < 0 || src_pe >= j->n_pes || j->node_of[src_pe] == j->node)
		machine_die(w->base.m, "node %d PE %d received something that says it is from "
				       "PE %d, which is not a PE of another node: the network "
				       "damaged it, or the nodes run different programs",
			    j->node, w->base.pe, src_pe);
}

void ucx_check_message(const struct ucx_pe *w, int src_pe, uint64_t said, size_t came)
{
	if (said != came || came < sizeof(struct cmi_msg))
		machine_die(w->base.m, "node %d PE %d received %zu bytes of a message of %llu "
				       "from PE %d (is a UCX_*_SEG_SIZE of 64k or more set?)",
			    w->base.m->job.node, w->base.pe, came, (unsigned long long)said,
			    src_pe);
}

/* ---- messages ------------------------------------------------------------------------ */

static struct late *message_keep_back(struct ucx_pe *w, int src_pe, struct cmi_msg *m,
				      enum ucx_stream stream)
{
	struct late *l = late_new(w, src_pe, stream);

	l->m = m;
	l->ready = true;
	late_push(l);
	return l;
}

void ucx_message_deliver(struct ucx_pe *w, int src_pe, struct cmi_msg *m)
{
	if (source_is_late(w, src_pe, UCX_CALLS))
		message_keep_back(w, src_pe, m, UCX_CALLS);
	else
		w->base.m->client.msg_arrived(w->base.owner, m);
}

void ucx_urgent_deliver(struct ucx_pe *w, int src_pe, struct cmi_msg *m)
{
	if (source_is_late(w, src_pe, UCX_URGENT)) {
		message_keep_back(w, src_pe, m, UCX_URGENT);
		return;
	}
	urgent_arrived(w, src_pe, m);
	if (source_is_late(w, src_pe, UCX_CALLS))
		late_drain(w, src_pe, UCX_CALLS);
}

/* Nothing that waits among the calls is in front of it, but with CK_RANDOM_DELAY: marks there wait
 * for messages that have not taken a detour. */
void ucx_detour_deliver(struct ucx_pe *w, int src_pe, struct cmi_msg *m)
{
	if (source_is_late(w, src_pe, UCX_CALLS)) {
		message_keep_back(w, src_pe, m, UCX_CALLS)->detour = true;
		return;
	}
	urgent_arrived(w, src_pe, m);
	if (source_is_late(w, src_pe, UCX_URGENT))
		late_drain(w, src_pe, UCX_URGENT);
}

/* A number that is 0 after 2^32 messages marks nothing; the next one does. */
void ucx_mark_deliver(struct ucx_pe *w, int src_pe, enum ucx_stream stream, uint32_t n_urgent)
{
	struct late *l;

	if (!n_urgent || (!source_is_late(w, src_pe, stream) && !mark_waits(w, src_pe, n_urgent)))
		return;
	l = late_new(w, src_pe, stream);
	l->n_urgent = n_urgent;
	late_push(l);
}

static void rndv_done(struct late *l)
{
	if (l->m) {
		msg_local_restore(l->m, &l->local);
		ucx_check_message(l->w, l->src_pe, l->m->size, l->bytes);
	}
	l->ready = true;
	late_drain(l->w, l->src_pe, l->stream);
}

static void rndv_received(void *request, ucs_status_t status, size_t length, void *arg)
{
	struct late *l = arg;

	(void)length;
	ucp_request_free(request);
	if (status != UCS_OK)
		ucx_failed(l->w, l->src_pe, "cannot receive from", status);
	else
		rndv_done(l);
}

/** Fetch the data of a rendezvous. `l` is queued before the fetch begins, because UCX may complete
 * it and call back before ucp_am_recv_data_nbx returns. */
static void rndv_fetch(struct late *l, void *desc, void *into)
{
	const ucp_request_param_t param = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
		.cb.recv_am = rndv_received,
		.user_data = l,
	};
	ucs_status_ptr_t request;

	late_push(l);
	request = ucp_am_recv_data_nbx(l->w->worker, desc, into, l->bytes, &param);
	if (request == NULL)
		rndv_done(l);
	else if (UCS_PTR_IS_ERR(request))
		ucx_failed(l->w, l->src_pe, "cannot receive from", UCS_PTR_STATUS(request));
}

static ucs_status_t message_rndv(struct ucx_pe *w, const void *header, size_t header_len,
				 void *desc, size_t bytes)
{
	int src_pe = -1;
	struct late *l;

	if (header_len == sizeof src_pe)
		memcpy(&src_pe, header, sizeof src_pe);
	ucx_check_source(w, src_pe);
	ucx_check_message(w, src_pe, bytes, bytes);
	l = late_new(w, src_pe, UCX_CALLS);
	l->bytes = bytes;
	l->m = w->base.m->client.msg_alloc(w->base.owner, bytes);
	l->local = *l->m;
	rndv_fetch(l, desc, l->m);
	return UCS_INPROGRESS;
}

static bool may_hold(const struct ucx_pe *w, const void *data, size_t bytes, uint64_t attr)
{
	return (attr & UCP_AM_RECV_ATTR_FLAG_DATA) && bytes >= HOLD_MIN &&
	       w->n_held < HOLD_MAX && (uintptr_t)data % CMI_MSG_ALIGN == 0;
}

static void deliver(struct ucx_pe *w, int src_pe, struct cmi_msg *m, bool urgent)
{
	if (urgent)
		ucx_urgent_deliver(w, src_pe, m);
	else
		ucx_message_deliver(w, src_pe, m);
}

static ucs_status_t message_arrived(struct ucx_pe *w, bool urgent, const void *header,
				    size_t header_len, void *data, size_t bytes,
				    const ucp_am_recv_param_t *param)
{
	struct cmi_msg head, *m;

	msg_tell_came(w->base.m, false);
	if (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)
		return message_rndv(w, header, header_len, data, bytes);
	if (bytes < sizeof head)
		ucx_check_message(w, -1, 0, bytes);
	ucx_came(w, bytes);
	flip_arrived(data, bytes);
	memcpy(&head, data, sizeof head); /* tcp delivers at any alignment */
	ucx_check_source(w, head.src_pe);
	ucx_check_message(w, head.src_pe, head.size, bytes);
	if (!may_hold(w, data, bytes, param->recv_attr)) {
		m = w->base.m->client.msg_alloc(w->base.owner, bytes);
		msg_local_fill(m, data, bytes);
		deliver(w, head.src_pe, m, urgent);
		return UCS_OK;
	}
	m = data;
	msg_local_hold(m, w->base.local);
	w->n_held++;
	deliver(w, head.src_pe, m, urgent);
	return UCS_INPROGRESS; /* the buffer is ours until ucx_release */
}

static ucs_status_t am_message_arrived(void *arg, const void *header, size_t header_len,
				       void *data, size_t bytes, const ucp_am_recv_param_t *param)
{
	return message_arrived(arg, false, header, header_len, data, bytes, param);
}

static ucs_status_t am_urgent_arrived(void *arg, const void *header, size_t header_len, void *data,
				      size_t bytes, const ucp_am_recv_param_t *param)
{
	return message_arrived(arg, true, header, header_len, data, bytes, param);
}

void ucx_release(struct cmi_pe *base, struct cmi_msg *m)
{
	struct ucx_pe *w = ucx_pe(base);

	w->n_held--;
	ucp_am_data_release(w->worker, m);
}

/* ---- puts ---------------------------------------------------------------------------- */

static void put_keep_back(struct ucx_pe *w, const struct cmi_put_wire *wire, const void *data,
			  size_t bytes)
{
	struct late *l = late_new(w, wire->src_pe, UCX_PUTS);

	l->wire = *wire;
	l->bytes = bytes;
	l->body = cmi_alloc(bytes, "an arriving put");
	memcpy(l->body, data, bytes);
	l->ready = true;
	late_push(l);
}

void ucx_put_deliver(struct ucx_pe *w, const struct cmi_put_wire *wire, const void *data,
		     size_t bytes)
{
	if (source_is_late(w, wire->src_pe, UCX_PUTS))
		put_keep_back(w, wire, data, bytes);
	else
		ucx_put_arrived(w, wire, data, bytes);
}

static ucs_status_t am_put_arrived(void *arg, const void *header, size_t header_len, void *data,
				   size_t bytes, const ucp_am_recv_param_t *param)
{
	struct ucx_pe *w = arg;
	struct cmi_put_wire wire = {.src_pe = -1};
	struct late *l;

	if (header_len == sizeof wire)
		memcpy(&wire, header, sizeof wire);
	flip_put(&wire, sizeof wire);
	ucx_check_source(w, wire.src_pe);
	if (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) {
		l = late_new(w, wire.src_pe, UCX_PUTS);
		l->wire = wire;
		l->wire.pieces = 0; /* a rendezvous is not split */
		l->bytes = bytes;
		l->body = cmi_alloc(bytes, "an arriving put");
		rndv_fetch(l, data, l->body);
		return UCS_INPROGRESS;
	}
	ucx_came(w, bytes);
	ucx_put_deliver(w, &wire, data, bytes);
	return UCS_OK;
}

/* ---- open and close ------------------------------------------------------------------ */

int ucx_am_handler(struct ucx_pe *w, unsigned id, ucp_am_recv_callback_t cb)
{
	const ucp_am_handler_param_t param = {
		.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
			      UCP_AM_HANDLER_PARAM_FIELD_ARG,
		.id = id,
		.cb = cb,
		.arg = w,
	};

	return ucp_worker_set_am_recv_handler(w->worker, &param) == UCS_OK ? 0 : -EIO;
}

/* No PERSISTENT_DATA: with it UCX first copies data whose buffer cannot be kept into one of its
 * own, and we would copy it once more. */
int ucx_am_open(struct ucx_pe *w, const struct cmi *m)
{
	/* With filters nothing else is heard: each frame is opened, and what it holds goes its way. */
	if (m->filters)
		return ucx_frames_open(w);
	int rc = ucx_am_handler(w, AM_MESSAGE, am_message_arrived);

	if (!rc)
		rc = ucx_am_handler(w, AM_PUT, am_put_arrived);
	if (!rc)
		rc = ucx_am_handler(w, AM_BATCH, ucx_batch_arrived);
	if (!rc)
		rc = ucx_am_handler(w, AM_URGENT, am_urgent_arrived);
	return rc ? rc : ucx_cut_open(w);
}

void ucx_am_close(struct ucx_pe *w)
{
	ucx_cut_close(w);
	free(w->hellos);
	free(w->pieces);
	free(w->urgent);
	free(w->late);
}
