/* SPDX-License-Identifier: Apache-2.0 */
/* staged_out.c: see staging.h. */
#include "staged_out.h"
#include "memory.h"

#include <stdlib.h>
#include <string.h>

#include "../machine/base/cmi_alloc.h"

static const char call[] = "CkDirect_put";

struct piece {
	struct device_staged_out *out;
	CkDirectHandle handle;        /* of the piece's channel, once it is joined */
	struct direct_channel_hot *read; /* the send buffer is in a device's memory: it has been read */
	cu_ptr read_word;
	uint32_t number;
	bool waits;                   /* it can be put as soon as it is joined */
};

struct device_staged_out {
	struct device_sender *ds;
	struct device_staging *joining; /* NULL: joined */
	unsigned char *memory;        /* pinned; NULL: the send buffer is in host memory */
	const unsigned char *bound;   /* what the pieces are bound to, or will be when joined */
	uint64_t reads;               /* puts that the device has copied here */
	uint32_t n, left;             /* pieces; of the put under way, that are not put */
	bool to_host;                 /* the receiver's channel is the only piece's */
	bool gone;                    /* the receiver's end has ended before it was joined */
	struct piece piece[];
};

/** A request for the receiver's handles. */
struct device_staging {
	struct device_staging *next;
	struct device_staged_out *out;
	uint64_t number;
};

/* ---- pieces ---------------------------------------------------------------------------------- */

static const unsigned char *piece_source(const struct device_staged_out *out, uint32_t i)
{
	const struct direct_sender *s = out->ds->end;

	return (out->memory ? out->memory : s->src) + i * piece_bytes(s->bytes);
}

static uint64_t size_of(const struct device_staged_out *out, uint32_t i)
{
	return out->to_host ? out->ds->end->bytes : piece_size(out->ds->end->bytes, i);
}

/* The receiver counts its put; of what this layer has counted, this is the end. */
static void one_less(struct pe *pe, struct device_staged_out *out)
{
	struct cmi_op *op = &out->ds->end->op;

	if (--out->left)
		return;
	if (out->to_host)
		pe->n_processed++;
	op->done(op);
}

/** The network has read a piece of a send buffer in host memory. */
static void piece_left(void *data)
{
	struct piece *const *p = data;

	one_less(csd_self(), (*p)->out);
}

/* Without a function the piece itself waits for the network before the next put, or the end. */
static void put_piece(struct pe *pe, struct piece *p)
{
	const struct direct_sender *s = p->out->ds->end;

	p->waits = false;
	if (!p->out->memory && (s->fn || s->held)) {
		CkDirect_putData(&p->handle, piece_left, &p, sizeof p);
		return;
	}
	CkDirect_put(&p->handle);
	one_less(pe, p->out);
}

static void piece_may_go(struct pe *pe, struct piece *p)
{
	if (p->out->gone)
		direct_broken(pe, call, direct_id_of_sender(p->out->ds->end), "create a new channel",
			      "the receiver has destroyed this channel");
	if (p->out->joining)
		p->waits = true;
	else
		put_piece(pe, p);
}

/** Its copy in host memory is complete. */
static void piece_read(void *data)
{
	struct piece *p = data;

	direct_take_one(csd_self(), p->read, 0);
	piece_may_go(csd_self(), p);
}

static void read_piece(struct pe *pe, const struct device_staged_out *out, struct piece *p,
		       cu_stream stream)
{
	const struct device *dev = out->ds->device;
	const struct direct_sender *s = out->ds->end;
	const uint64_t at = p->number * piece_bytes(s->bytes);

	device_must(pe, call, dev->driver, "cuMemcpyDtoHAsync",
		    dev->driver->cuMemcpyDtoHAsync_v2(out->memory + at, (uintptr_t)s->src + at,
						      size_of(out, p->number), stream));
	device_write(pe, call, dev, stream, p->read_word, direct_word_value(p->read, out->reads));
	pe->n_created++;
	direct_word_await(pe, p->read);
}

/** The put waited in host memory (direct_sender.held). */
static void copy_held(struct pe *pe, const struct device_staged_out *out, struct piece *p)
{
	const uint64_t at = p->number * piece_bytes(out->ds->end->bytes);

	memcpy(out->memory + at, (const unsigned char *)out->ds->end->held + at, size_of(out, p->number));
	piece_may_go(pe, p);
}

/* A put that waited has another send buffer than those that follow. */
static void bind_to_source(struct pe *pe, struct device_staged_out *out)
{
	if (out->memory || out->bound == out->ds->end->src)
		return;
	device_staged_out_rebind(pe, out);
}

bool device_staged_put(struct pe *pe, struct device_staged_out *out, cu_stream stream)
{
	const bool held = out->ds->end->held;

	bind_to_source(pe, out);
	out->left = out->n;
	out->reads += !held;
	for (uint32_t i = 0; i < out->n; i++)
		if (out->memory && held)
			copy_held(pe, out, &out->piece[i]);
		else if (out->memory)
			read_piece(pe, out, &out->piece[i], stream);
		else
			piece_may_go(pe, &out->piece[i]);
	return false;
}

bool device_staged_busy(struct pe *pe, const struct device_staged_out *out)
{
	for (uint32_t i = 0; i < out->n && !out->joining; i++)
		if (direct_sender_busy(pe, direct_open((CkDirectHandle *)(uintptr_t)&out->piece[i].handle)))
			return true;
	return false;
}

/* ---- joining --------------------------------------------------------------------------------- */

static void ask(struct pe *pe, struct device_staged_out *out, const struct direct_handle *h)
{
	struct device_pe *dp = device_pe_of(pe);
	struct device_staging *j = cmi_alloc(sizeof *j, "a device's channel");
	struct device_msg *m = (struct device_msg *)csd_msg_alloc(pe, sizeof *m);

	*j = (struct device_staging){ dp->joining, out, ++dp->n_joins };
	out->joining = dp->joining = j;
	m->kind = DEVICE_JOIN;
	m->n = out->n;
	m->channel = h->channel;
	m->generation = h->generation;
	m->join = j->number;
	m->head.handler = (uint16_t)device_node_of(pe)->handler;
	m->head.flags = CMI_F_SYSTEM;
	csd_send(pe, h->receiver, &m->head);
}

static void drop_request(struct pe *pe, struct device_staged_out *out)
{
	struct device_staging **at = &device_pe_of(pe)->joining;

	while (*at && *at != out->joining)
		at = &(*at)->next;
	if (*at)
		*at = out->joining->next;
	free(out->joining);
	out->joining = NULL;
}

static void bind_piece(struct pe *pe, struct piece *p, const unsigned char *source)
{
	CkDirect_assocLocal(&p->handle, source);
	direct_checked_sender(pe, call, direct_open(&p->handle))->inner = true;
}

static void open_word(struct pe *pe, const char *caller, struct piece *p)
{
	bool fresh;

	p->read = direct_word_open(pe, piece_read, p);
	p->read_word = device_word(pe, caller, p->out->ds->device, &direct_rest(p->read)->line->seq,
				   &fresh);
}

/* From a device into host memory, the real channel is the piece's. */
struct device_staged_out *device_staged_out_open(struct pe *pe, const char *caller,
						 struct device_sender *ds,
						 const struct direct_handle *h)
{
	const uint64_t bytes = ds->end->bytes;
	const uint32_t n = h->device ? piece_count(bytes) : 1;
	struct device_staged_out *out =
		cmi_alloc_zero(1, sizeof *out + n * sizeof(struct piece), "the pieces of a channel");

	out->ds = ds;
	out->n = n;
	out->to_host = !h->device;
	out->bound = ds->end->src;
	if (ds->device)
		out->memory = device_pinned(pe, caller, ds->device, bytes);
	for (uint32_t i = 0; i < n; i++) {
		out->piece[i].out = out;
		out->piece[i].number = i;
		if (ds->device)
			open_word(pe, caller, &out->piece[i]);
	}
	if (h->device) {
		ask(pe, out, h);
	} else {
		*direct_open(&out->piece[0].handle) = *h;
		bind_piece(pe, &out->piece[0], out->memory);
	}
	return out;
}

/** Whether the receiver, on this PE, has destroyed its end since it answered. Before the first put
 * it may, and then this end will end, too. */
static bool has_gone(struct pe *pe, const struct device_staged_out *out, const struct device_msg *m)
{
	const struct direct_sender *s = out->ds->end;

	return s->receiver == pe->id && !out->left &&
	       !direct_channel_find(pe, m->channel, m->generation);
}

void device_joined_arrived(struct pe *pe, const struct device_msg *m)
{
	const struct device_staging *j = device_pe_of(pe)->joining;
	struct device_staged_out *out;

	while (j && j->number != m->join)
		j = j->next;
	if (!j || j->out->n != m->n)
		return; /* the sending end is gone */
	out = j->out;
	out->gone = has_gone(pe, out, m);
	if (out->gone)
		return;
	drop_request(pe, out);
	for (uint32_t i = 0; i < out->n; i++) {
		out->piece[i].handle = m->handle[i];
		bind_piece(pe, &out->piece[i], piece_source(out, i));
	}
	for (uint32_t i = 0; i < out->n; i++)
		if (out->piece[i].waits)
			put_piece(pe, &out->piece[i]);
}

void device_staged_out_rebind(struct pe *pe, struct device_staged_out *out)
{
	(void)pe;
	out->bound = out->ds->end->src;
	for (uint32_t i = 0; i < out->n && !out->memory && !out->joining; i++)
		CkDirect_rebind(&out->piece[i].handle, piece_source(out, i), size_of(out, i));
}

void device_staged_out_end(struct pe *pe, struct device_staged_out *out)
{
	const bool joined = !out->joining;

	if (!joined)
		drop_request(pe, out);
	for (uint32_t i = 0; i < out->n; i++) {
		if (joined)
			CkDirect_destroyHandle(&out->piece[i].handle);
		if (out->piece[i].read)
			direct_channel_end(pe, out->piece[i].read);
	}
	if (out->memory)
		device_pinned_leave(pe, out->memory);
	free(out);
}

void device_staged_out_free(struct device_staged_out *out)
{
	free(out->joining);
	free(out);
}
