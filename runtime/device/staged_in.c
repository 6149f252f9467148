/* SPDX-License-Identifier: Apache-2.0 */
/* staged_in.c: see staging.h. */
#include "staged_in.h"
#include "memory.h"
#include "receiver.h"

#include <stdlib.h>

#include "../machine/base/cmi_alloc.h"

static const char call[] = "CkDirect_put";

struct piece {
	struct device_staged_in *in;
	CkDirectHandle handle;
	uint32_t number;
};

struct device_staged_in {
	struct device_receiver *receiver;
	cu_stream stream;
	unsigned char *memory;        /* pinned: all pieces */
	uint64_t put;                 /* the one that comes, or has come */
	uint32_t n, came;
	struct piece piece[];
};

/* By message, or from a sender that breaks the rules. */
static void begin_put(struct pe *pe, struct device_staged_in *in)
{
	const struct device_receiver *r = in->receiver;
	struct direct_id id = direct_id_of_channel(pe, r->hot);

	id.iteration = ++in->put;
	if (in->put > device_allowed(r))
		direct_unexpected(pe, id, r->hot);
	/* Kernels may still read the buffer. */
	if (r->by_stream >= in->put)
		device_wait(pe, call, r->device, in->stream, r->credit,
			    direct_seq(r->hot->generation, in->put));
}

/* Pieces come in any order, and their copies are in one stream. The memory may be written again:
 * the next put comes after the ready, which comes after this put's arrival. */
static void piece_came(void *data)
{
	struct piece *p = data;
	struct device_staged_in *in = p->in;
	const struct device_receiver *r = in->receiver;
	const struct direct_channel *ch = direct_rest(r->hot);
	const uint64_t at = p->number * piece_bytes(ch->bytes);
	struct pe *pe = csd_self();

	device_enter(pe, call, r->device);
	if (!in->came)
		begin_put(pe, in);
	device_must(pe, call, r->device->driver, "cuMemcpyHtoDAsync",
		    r->device->driver->cuMemcpyHtoDAsync_v2((uintptr_t)ch->buf + at, in->memory + at,
							     piece_size(ch->bytes, p->number), in->stream));
	CkDirect_ready(&p->handle);
	if (++in->came < in->n)
		return;
	in->came = 0;
	device_write(pe, call, r->device, in->stream, r->word,
		     direct_seq(r->hot->generation, in->put));
}

static struct device_staged_in *open_pieces(struct pe *pe, struct device_receiver *r)
{
	const uint64_t bytes = direct_rest(r->hot)->bytes;
	const uint32_t n = piece_count(bytes);
	struct device_staged_in *in =
		cmi_alloc_zero(1, sizeof *in + n * sizeof(struct piece), "the pieces of a channel");

	device_enter(pe, call, r->device);
	in->receiver = r;
	in->n = n;
	in->stream = device_stream(pe, call, r->device);
	in->memory = device_pinned(pe, call, r->device, bytes);
	for (uint32_t i = 0; i < n; i++) {
		struct piece *p = &in->piece[i];

		p->in = in;
		p->number = i;
		p->handle = CkDirect_createHandleSeq(in->memory + i * piece_bytes(bytes),
						     piece_size(bytes, i), piece_came, p);
		direct_receiver(pe, call, direct_open(&p->handle))->inner = true;
	}
	return in;
}

static void answer(struct pe *pe, const struct device_msg *asked, const struct device_staged_in *in)
{
	const size_t bytes = sizeof(struct device_msg) + in->n * sizeof(CkDirectHandle);
	struct device_msg *m = (struct device_msg *)csd_msg_alloc(pe, bytes);

	m->kind = DEVICE_JOINED;
	m->n = in->n;
	m->channel = asked->channel;
	m->generation = asked->generation;
	m->join = asked->join;
	for (uint32_t i = 0; i < in->n; i++)
		m->handle[i] = in->piece[i].handle;
	m->head.handler = (uint16_t)device_node_of(pe)->handler;
	m->head.flags = CMI_F_SYSTEM;
	csd_send(pe, asked->head.src_pe, &m->head);
}

void device_join_arrived(struct pe *pe, const struct device_msg *m)
{
	struct device_receiver *r = device_receiver_at(pe, m->channel);

	if (!r || r->hot->generation != m->generation)
		return; /* destroyed meanwhile, which the receiver may do */
	if (r->staged)
		direct_broken(pe, "CkDirect_assocLocalBuffer", direct_id_of_channel(pe, r->hot),
			      "bind each channel once, then use copies of that handle",
			      "the channel is bound already, and PE %d binds it again", m->head.src_pe);
	r->staged = open_pieces(pe, r);
	answer(pe, m, r->staged);
}

void device_staged_in_end(struct pe *pe, struct device_staged_in *in)
{
	for (uint32_t i = 0; i < in->n; i++)
		CkDirect_destroyHandle(&in->piece[i].handle);
	device_pinned_leave(pe, in->memory);
	device_stream_leave(pe, in->stream);
	free(in);
}

void device_staged_in_free(struct device_staged_in *in)
{
	free(in);
}
