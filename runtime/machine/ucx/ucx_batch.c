/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ucx_batch.c: combines small messages and puts for one PE where each send costs a system call
 * (tcp), and small puts where the network cannot write by itself.
 *
 * The first one of a scheduler pass is sent at once, so single messages are not delayed. Later ones
 * of the pass are copied into a segment, which is sent when the pass ends, when it is full, or when
 * its first record has waited for HOLD_NS. Before a message that is too large to be copied, the
 * segment is sent. So messages to a PE still arrive in the order of the sends.
 *
 * A segment is a block of the scheduler's pool: a head, which is not sent, and records.
 *
 *   record of a message:  kind, bytes | the message; these two stand where its link was
 *   record of a put:      kind, bytes | struct cmi_put_wire | the data
 *   record of a mark:     kind, bytes | the sender's PE | how many urgent messages come before
 *   HELLO, UP (ucx_up.c): the same
 *
 * Each record begins at a multiple of RECORD_ALIGN bytes from the segment's beginning.
 */
#include "ucx_int.h"

#include <string.h>

#include "../tools/clock.h"
#include "../base/die.h"
#include "../shm/flip.h"
#include "../shm/msg_local.h"
#include "../base/msg_stack.h"

enum {
	RECORD_ALIGN = 8,
	/* Copying this many bytes takes a third of the system call that it saves. */
	RECORD_MOST = 30 << 10,
	/* Fits into one segment of UCX (ucx.c), and is one packet of the kernel. With 32 kB streams of 1
	 * to 30 kB had 0.6 to 0.8 of the rate. */
	SEGMENT_BYTES = (60 << 10) - sizeof(struct cmi_msg),
	/* Elsewhere, for puts, in bytes: a round of bench/parts through UCX's shared memory takes 27 us
	 * instead of 74 with 256 puts of 16 bytes, and 26 instead of 45 with 64 puts of 1 kB. */
	FAST_RECORD_MOST = 1500,
	/* Fits into one of UCX's segments there. With 4 kB it was no faster. */
	FAST_SEGMENT_BYTES = (8 << 10) - sizeof(struct cmi_msg),
	/* The longest that a handler that sends now and then delays its messages. */
	HOLD_NS = 20 * 1000,
};

enum record_kind {
	RECORD_MESSAGE = 1,
	RECORD_PUT = 2,
	RECORD_URGENT = 3,
	RECORD_MARK = 4,        /* among calls */
	RECORD_URGENT_MARK = 5, /* the same, among urgent messages */
	RECORD_DETOUR = 6,      /* an urgent message, among calls */
	RECORD_HELLO = 7,       /* by a new connection for urgent messages */
	RECORD_UP = 8,          /* its answer */
};

struct record {
	uint32_t kind;
	uint32_t bytes; /* this head included */
};
_Static_assert(sizeof(struct record) <= offsetof(struct cmi_msg, size),
	       "a record's head replaces the link");

/** Of a mark: what follows waits until the receiver has so many urgent messages. */
struct mark_record {
	struct record head;
	int32_t src_pe;
	uint32_t n_urgent;
};

enum { PUT_HEAD = sizeof(struct record) + sizeof(struct cmi_put_wire) };

static size_t padded(size_t bytes)
{
	return (bytes + RECORD_ALIGN - 1) & ~(size_t)(RECORD_ALIGN - 1);
}

/* ---- sending --------------------------------------------------------------------------------- */

static size_t record_most(const struct ucx_ep *e)
{
	return e->tcp ? RECORD_MOST : FAST_RECORD_MOST;
}

static size_t segment_bytes(const struct ucx_ep *e)
{
	return e->tcp ? SEGMENT_BYTES : FAST_SEGMENT_BYTES;
}

void ucx_batch_segment(struct ucx_ep *e, struct cmi_msg *m, size_t bytes)
{
	m->route = bytes; /* for ucx_pack.c: a segment has no other use for it */
	ucx_am_send(e, AM_BATCH, m, m + 1, bytes);
}

void ucx_batch_send(struct ucx_ep *e)
{
	struct cmi_msg *m = e->segment;

	e->segment = NULL;
	if (m)
		ucx_batch_segment(e, m, e->used);
}

/** Space for a record after those that wait. NULL: nothing waits, and the caller sends now, by
 * itself. */
static void *record_add(struct ucx_ep *e, enum record_kind kind, size_t bytes)
{
	struct cmi_pe *w = &e->w->base;
	struct record *r;

	if (!e->open) {
		e->open = true;
		e->next_open = e->w->open;
		e->w->open = e;
		w->holds = true;
		return NULL;
	}
	if (bytes > record_most(e)) {
		ucx_batch_send(e);
		return NULL;
	}
	if (e->segment && e->used + padded(bytes) > segment_bytes(e))
		ucx_batch_send(e);
	if (!e->segment) {
		e->segment = w->m->client.msg_alloc(w->owner, sizeof *e->segment + segment_bytes(e));
		e->used = 0;
		e->since_ns = machine_now_ns();
	}
	r = (struct record *)(void *)((char *)(e->segment + 1) + e->used);
	e->used += padded(bytes);
	*r = (struct record){ (uint32_t)kind, (uint32_t)bytes };
	return r;
}

static void send_if_late(struct ucx_ep *e)
{
	if (machine_now_ns() - e->since_ns > HOLD_NS)
		ucx_batch_send(e);
}

static void message_copy(struct ucx_ep *e, void *r, struct cmi_msg *m)
{
	const struct cmi_pe *w = &e->w->base;

	memcpy((char *)r + offsetof(struct cmi_msg, size), &m->size,
	       m->size - offsetof(struct cmi_msg, size));
	w->m->client.msg_free(w->owner, m);
	send_if_late(e);
}

bool ucx_batch_message(struct ucx_ep *e, struct cmi_msg *m, bool urgent)
{
	void *r = record_add(e, urgent ? RECORD_URGENT : RECORD_MESSAGE, m->size);

	if (!r)
		return false;
	message_copy(e, r, m);
	return true;
}

/** If it is the first of the pass, it opens a segment. */
static void *record_always(struct ucx_ep *e, enum record_kind kind, size_t bytes)
{
	void *r = record_add(e, kind, bytes);

	return r ? r : record_add(e, kind, bytes);
}

static void mark_add(struct ucx_ep *e, enum record_kind kind, uint32_t n_urgent)
{
	struct mark_record *r = record_always(e, kind, sizeof *r);

	r->src_pe = e->w->base.pe;
	r->n_urgent = n_urgent;
}

void ucx_batch_mark(struct ucx_ep *e, uint32_t n_urgent)
{
	mark_add(e, e->stream == UCX_URGENT ? RECORD_URGENT_MARK : RECORD_MARK, n_urgent);
}

void ucx_batch_hello(struct ucx_ep *e)
{
	mark_add(e, RECORD_HELLO, 0);
}

void ucx_batch_up(struct ucx_ep *e)
{
	mark_add(e, RECORD_UP, 0);
}

bool ucx_batch_detour(struct ucx_ep *e, struct cmi_msg *m)
{
	if (m->size > RECORD_MOST)
		return false;
	message_copy(e, record_always(e, RECORD_DETOUR, m->size), m);
	return true;
}

bool ucx_batch_put(struct ucx_ep *e, const struct cmi_put_wire *wire, const void *src, size_t bytes)
{
	struct record *r = record_add(e, RECORD_PUT, PUT_HEAD + bytes);

	if (!r)
		return false;
	memcpy(r + 1, wire, sizeof *wire);
	if (bytes)
		memcpy((char *)r + PUT_HEAD, src, bytes);
	send_if_late(e);
	return true;
}

void ucx_batch_put_alone(struct ucx_ep *e, const struct cmi_put_wire *wire, const void *src,
			 size_t bytes)
{
	const struct cmi_pe *w = &e->w->base;
	struct cmi_msg *m = w->m->client.msg_alloc(w->owner, sizeof *m + PUT_HEAD + bytes);
	struct record *r = (struct record *)(m + 1);

	*r = (struct record){ RECORD_PUT, (uint32_t)(PUT_HEAD + bytes) };
	memcpy(r + 1, wire, sizeof *wire);
	memcpy((char *)r + PUT_HEAD, src, bytes);
	ucx_batch_segment(e, m, PUT_HEAD + bytes);
}

uint64_t ucx_batch_pass(struct cmi_pe *base)
{
	struct ucx_pe *w = ucx_pe(base);
	uint64_t now = machine_now_ns(), longest = 1;

	base->holds = false;
	/* Sending allocates, and may run callbacks; neither sends anything. */
	while (w->open) {
		struct ucx_ep *e = w->open;

		w->open = e->next_open;
		e->open = false;
		if (e->segment && now - e->since_ns > longest)
			longest = now - e->since_ns;
		ucx_batch_send(e);
		if (e->tcp)
			ucx_tail_later(e, now);
	}
	return longest;
}

/* ---- arrival --------------------------------------------------------------------------------- */

static _Noreturn void segment_damaged(const struct ucx_pe *w)
{
	machine_die(
		w->base.m,
		"node %d PE %d received a segment whose records do not fit it: the network damaged "
		"it, or the nodes run different programs",
		w->base.m->job.node, w->base.pe);
}

static void message_record(struct ucx_pe *w, const char *at, size_t bytes, uint32_t kind)
{
	struct cmi_msg head, *m;

	if (bytes < sizeof head)
		segment_damaged(w);
	memcpy(&head, at, sizeof head);
	ucx_check_source(w, head.src_pe);
	if (head.size != bytes)
		segment_damaged(w);
	m = w->base.m->client.msg_alloc(w->base.owner, bytes);
	msg_local_fill(m, at, bytes);
	if (kind == RECORD_URGENT)
		ucx_urgent_deliver(w, head.src_pe, m);
	else if (kind == RECORD_DETOUR)
		ucx_detour_deliver(w, head.src_pe, m);
	else
		ucx_message_deliver(w, head.src_pe, m);
}

static void mark_record(struct ucx_pe *w, const char *at, size_t bytes, uint32_t kind)
{
	struct mark_record r;

	if (bytes != sizeof r)
		segment_damaged(w);
	memcpy(&r, at, sizeof r);
	ucx_check_source(w, r.src_pe);
	if (kind == RECORD_HELLO)
		ucx_hello_came(w, r.src_pe);
	else if (kind == RECORD_UP)
		ucx_up_came(w, r.src_pe);
	else
		ucx_mark_deliver(w, r.src_pe, kind == RECORD_MARK ? UCX_CALLS : UCX_URGENT,
				 r.n_urgent);
}

static void put_record(struct ucx_pe *w, const char *at, size_t bytes)
{
	struct cmi_put_wire wire;

	if (bytes < PUT_HEAD)
		segment_damaged(w);
	memcpy(&wire, at + sizeof(struct record), sizeof wire);
	ucx_check_source(w, wire.src_pe);
	ucx_put_deliver(w, &wire, at + PUT_HEAD, bytes - PUT_HEAD);
}

static void record_arrived(struct ucx_pe *w, uint32_t kind, const char *at, size_t bytes)
{
	switch (kind) {
	case RECORD_MESSAGE:
	case RECORD_URGENT:
	case RECORD_DETOUR:
		message_record(w, at, bytes, kind);
		return;
	case RECORD_PUT:
		put_record(w, at, bytes);
		return;
	case RECORD_MARK:
	case RECORD_URGENT_MARK:
	case RECORD_HELLO:
	case RECORD_UP:
		mark_record(w, at, bytes, kind);
		return;
	default:
		segment_damaged(w);
	}
}

void ucx_batch_records(struct ucx_pe *w, const void *data, size_t bytes)
{
	struct record r;

	for (size_t at = 0; at < bytes; at += padded(r.bytes)) {
		if (bytes - at < sizeof r)
			segment_damaged(w);
		memcpy(&r, (const char *)data + at, sizeof r);
		if (r.bytes < sizeof r || padded(r.bytes) > bytes - at)
			segment_damaged(w);
		record_arrived(w, r.kind, (const char *)data + at, r.bytes);
	}
}

ucs_status_t ucx_batch_arrived(void *arg, const void *header, size_t header_len, void *data,
			       size_t bytes, const ucp_am_recv_param_t *param)
{
	struct ucx_pe *w = arg;

	(void)header;
	msg_tell_came(w->base.m, false);
	if (header_len || param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)
		segment_damaged(w);
	ucx_came(w, bytes);
	flip_arrived(data, bytes);
	ucx_batch_records(w, data, bytes);
	return UCS_OK;
}

/* If each arrival is an answer or is answered, there are as many sends; in a stream there are only
 * the receiver's credits, one for several arrivals. Without an endpoint this PE does not know yet
 * whether it uses tcp. */
void ucx_windows(struct ucx_pe *w)
{
	const bool stream = 2 * w->n_sent < (unsigned)w->came;

	if (w->poll_period > 1)
		w->came = windows_turn(&w->windows, w->event_fd, stream);
	w->until_windows = w->came;
	w->n_sent = 0;
}
