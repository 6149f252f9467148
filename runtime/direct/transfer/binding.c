/* SPDX-License-Identifier: Apache-2.0 */
/* binding.c: bind a send buffer to a channel, and choose the path of its puts. */
#include "binding.h"
#include "ckdirect.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdio.h>

#include "../ends/bells.h"
#include "../ends/channel.h"
#include "../core/direct_control.h"
#include "../core/direct_device.h"
#include "put.h"

static const char *const path_names[] = {"unbound", "memory", "rma", "message",
					  "device", "device-ipc", "device-vmm", "device-staged"};
_Static_assert(sizeof path_names / sizeof *path_names == DIRECT_PATHS, "each has a name");

/* ---- choosing the path ------------------------------------------------------------- */

/** Attach the receiver's memory for the paths: its buffer and its line. */
static void attach_receiver(struct pe *pe, struct direct_sender *s, const struct direct_handle *h)
{
	s->recv_mem = cmi_attach(pe->wire, h->receiver, &h->recv_key, h->recv_addr);
	if (s->recv_mem)
		s->line_mem = cmi_attach(pe->wire, h->receiver, &h->line_key, h->line_addr);
}

/** Note where the receiver's buffer and line are mapped here. False if one is NULL. */
static bool map(struct direct_sender *s, unsigned char *dst, struct direct_line *line)
{
	if (!dst || !line)
		return false;
	s->dst = dst;
	s->line = line;
	s->word = s->mode == DIRECT_SEQ ? &line->seq
					: (_Atomic uint64_t *)(void *)(dst + s->body);
	return true;
}

static bool map_remote(struct direct_sender *s, const struct direct_handle *h)
{
	if (!s->recv_mem)
		return false;
	return map(s, cmi_remote_ptr(s->recv_mem, h->recv_addr),
		   s->line_mem ? cmi_remote_ptr(s->line_mem, h->line_addr) : NULL);
}

/** Fill in s->path and the addresses; returns why, for --verbose. */
static const char *choose_path(struct pe *pe, struct direct_sender *s,
			       const struct direct_handle *h)
{
	enum direct_path force = direct_node_of(pe)->force;
	const struct cmi_job *job = pe->node->job;
	bool mapped, rma;

	if (job->node_of[h->receiver] == job->node) {
		/* Within a process there is no wire for another path. */
		s->path = DIRECT_MEMORY;
		map(s, (unsigned char *)(uintptr_t)h->recv_addr,
		    (struct direct_line *)(uintptr_t)h->line_addr);
		return "same node";
	}
	attach_receiver(pe, s, h);
	mapped = map_remote(s, h);
	rma = s->recv_mem && (s->mode == DIRECT_PATTERN || s->line_mem);

	if (mapped && (force == DIRECT_MEMORY || force == DIRECT_UNBOUND)) {
		s->path = DIRECT_MEMORY;
		return "the receive buffer is mapped here";
	}
	if (rma && force == DIRECT_RMA) {
		s->path = DIRECT_RMA;
		return "CK_DIRECT_PATH=rma";
	}
	if (rma && force != DIRECT_MESSAGE && cmi_remote_rma(s->recv_mem)) {
		s->path = DIRECT_RMA;
		return "the network writes the receive buffer itself";
	}
	s->path = DIRECT_MESSAGE;
	if (force == DIRECT_MESSAGE)
		return "CK_DIRECT_PATH=message";
	return s->recv_mem ? "the network cannot write the receive buffer by itself"
			   : "the receive buffer is not from CkDirect_alloc, or on another host";
}

static void say_path(const struct pe *pe, const struct direct_sender *s, const char *why)
{
	enum direct_path force = direct_node_of(pe)->force;
	bool refused = force != DIRECT_UNBOUND && force != s->path && !s->device;

	fprintf(stderr,
		"chard: channel %u of PE %d, bound by PE %d, %zu bytes: path %s (%s)%s%s%s\n",
		s->channel, s->receiver, pe->id, s->bytes, path_names[s->path], why,
		refused ? "; CK_DIRECT_PATH=" : "", refused ? path_names[force] : "",
		refused ? " is not possible" : "");
}

/* ---- binding ----------------------------------------------------------------------- */

/** Whether the shape has this many bytes. False if the product overflows 64 bits. */
static bool adds_up_to(const struct gather_shape *s, uint64_t bytes)
{
	uint64_t n;

	return s->block_bytes && !__builtin_mul_overflow(s->block_bytes, s->blocks, &n) &&
	       !__builtin_mul_overflow(n, s->planes, &n) && n == bytes;
}

/** The handle is as it was made. */
static void check_bindable(struct pe *pe, const char *call, const struct direct_handle *h)
{
	if (h->magic == DIRECT_DEAD)
		csd_abort(pe, "%s: the handle names no channel any more: it was destroyed; "
			  "create a new one", call);
	if (h->magic != DIRECT_MAGIC)
		direct_no_channel(pe, call, h);
	if (direct_is_bound(h))
		direct_broken(pe, call, direct_id_of_handle(pe, h),
			      "bind each channel once; CkDirect_rebind changes the buffer",
			      "the channel is bound already");
	if (h->seal != direct_seal(h))
		direct_no_channel(pe, call, h);
}

/** The data in one piece, or the base of strided data. */
static void check_send_buffer(struct pe *pe, const char *call, struct direct_id id,
			      const struct direct_handle *h, bool strided, const void *send_buf,
			      size_t bytes)
{
	if (!send_buf)
		direct_broken(pe, call, id, "pass the buffer to send from",
			      "the send buffer is NULL");
	if (bytes != h->bytes)
		direct_broken(pe, call, id, "create the channel with the size that is sent",
			      "the send buffer has %zu bytes, but the channel moves %zu", bytes,
			      (size_t)h->bytes);
	if (!strided && h->mode == DIRECT_PATTERN && ((uintptr_t)send_buf + h->bytes) % 8)
		direct_broken(pe, call, id,
			      "move the buffer, or use CkDirect_createHandleSeq",
			      "the end of the send buffer (%p + %zu) is not 8-aligned", send_buf,
			      (size_t)h->bytes);
}

static void check_strides(struct pe *pe, const char *call, struct direct_id id,
			  const struct gather_shape *strides, uint64_t bytes)
{
	if (!adds_up_to(strides, bytes))
		direct_broken(pe, call, id, "describe as many bytes as the channel moves",
			      "%llu x %llu blocks of %llu bytes, but the channel has %zu",
			      (unsigned long long)strides->planes,
			      (unsigned long long)strides->blocks,
			      (unsigned long long)strides->block_bytes, (size_t)bytes);
}

/** Both ends are on this PE, so the receiving end need not poll for our puts. */
static void bind_here(struct pe *pe, const char *call, const struct direct_handle *h,
		      struct direct_sender *s)
{
	struct direct_channel_hot *hot =
		direct_channel_find(pe, s->channel, s->channel_generation);

	if (!hot)
		direct_broken(pe, call, direct_id_of_sender(s), "create a new channel",
			      "the receiver has destroyed this channel");
	direct_make_own(pe, hot);
	direct_hot(s)->end = hot;
	direct_hot(s)->not_plain |= DIRECT_HERE | (h->mode == DIRECT_SEQ ? DIRECT_HERE_SEQ : 0) |
				    (h->strided ? DIRECT_HERE_STRIDED : 0);
}

/** The line and the flag beside it can be reached from here. */
static void bind_memory(struct pe *pe, const char *call, const struct direct_handle *h,
			struct direct_sender *s)
{
	struct direct_sender_hot *hot = direct_hot(s);

	if (s->receiver == pe->id)
		bind_here(pe, call, h, s);
	else
		hot->bell = direct_bell_open(pe, s->receiver);
	hot->tell = direct_tell_flag(s->line, s->channel);
	direct_claim(pe, direct_id_of_sender(s), s->line, pe->id);
}

/** Copy the channel's properties to the sending end. */
static void copy_shape(struct direct_sender *s, const struct direct_handle *h,
		       const void *send_buf)
{
	s->mode = h->mode;
	s->src = send_buf;
	s->bytes = h->bytes;
	s->oob = h->oob;
	s->body = h->mode == DIRECT_PATTERN ? h->bytes - 8 : h->bytes;
	s->receiver = h->receiver;
	s->channel = h->channel;
	s->channel_generation = h->generation;
	s->recv_addr = h->recv_addr;
	s->word_addr = h->mode == DIRECT_PATTERN
			       ? h->recv_addr + s->body
			       : h->line_addr + offsetof(struct direct_line, seq);
}

/** Make memory into which strided data is gathered first, because the receive buffer cannot be
 * written here. It ends 8-aligned, as send buffers must. */
static void stage(struct direct_sender *s)
{
	size_t pad = -s->bytes % 8;

	s->staging = cmi_alloc(s->bytes + pad, "a channel's copy of the data");
	s->src = (unsigned char *)s->staging + pad;
}

/** Checked mode: from now on a put detects writes of the program to the handle. */
static void seal_bound(const struct pe *pe, struct direct_sender *s, const struct direct_handle *h)
{
	if (pe->node->check)
		s->seal = direct_checksum((const unsigned char *)h, sizeof(*h));
}

/** Write a put's fields into the handle. It is bound from here on. `strides` is NULL if the data is
 * contiguous. */
static void name_sender(struct pe *pe, struct direct_handle *h, struct direct_sender *s,
			const void *send_buf, const struct gather_shape *strides)
{
	h->sender_pe = pe->id;
	h->sender = s->number;
	h->sender_generation = direct_hot(s)->generation;
	h->here = h->receiver == pe->id;
	h->src = (uintptr_t)send_buf;
	h->dst = (uintptr_t)s->dst;
	if (h->mode == DIRECT_SEQ)
		h->seq_addr = (uintptr_t)s->word;
	h->strided = strides;
	if (strides)
		h->strides = *strides;
	seal_bound(pe, s, h);
}

/** An end is in a device's memory. */
static void bind_device(struct pe *pe, const char *call, struct direct_handle *h,
			const void *send_buf, bool from_device)
{
	struct direct_sender *s = direct_sender_new(pe);
	const char *why;

	copy_shape(s, h, send_buf);
	why = direct_node_of(pe)->device->bind(pe, call, s, h, from_device);
	s->way = DIRECT_BY_DEVICE;
	direct_hot(s)->not_plain |= DIRECT_FAR;
	if (pe->node->verbose)
		say_path(pe, s, why);
	name_sender(pe, h, s, send_buf, NULL);
}

static void bind_sender(struct pe *pe, const char *call, struct direct_handle *h,
			const void *send_buf, const struct gather_shape *strides)
{
	struct direct_sender *s = direct_sender_new(pe);
	const char *why;

	copy_shape(s, h, send_buf);
	why = choose_path(pe, s, h);
	s->way = s->path;
	if (s->path != DIRECT_MEMORY) {
		direct_hot(s)->not_plain |= DIRECT_FAR;
		if (pe->node->check)
			s->way = DIRECT_ASKING;
	}
	if (s->path != DIRECT_MEMORY && strides)
		stage(s);
	if (pe->node->verbose)
		say_path(pe, s, why);
	name_sender(pe, h, s, send_buf, strides);
	if (s->path == DIRECT_MEMORY)
		bind_memory(pe, call, h, s);
	else
		direct_sender_say(pe, s, DIRECT_BOUND);
}

/** The channel to be bound, for error messages: by this PE. */
static struct direct_id id_here(struct pe *pe, const struct direct_handle *h)
{
	struct direct_id id = direct_id_of_handle(pe, h);

	id.sender = pe->id;
	return id;
}

/** `bytes_p` is NULL if the program does not state it. */
static void bind_piece(const char *call, struct direct_handle *h, const void *send_buf,
		       const size_t *bytes_p)
{
	struct pe *pe = direct_self(call);

	check_bindable(pe, call, h);
	check_send_buffer(pe, call, id_here(pe, h), h, false, send_buf, bytes_p ? *bytes_p : h->bytes);
	if (h->device)
		bind_device(pe, call, h, send_buf, false);
	else
		bind_sender(pe, call, h, send_buf, NULL);
}

void direct_bind_from_device(struct pe *pe, const char *call, struct direct_handle *h,
			     const void *send_buf, size_t bytes)
{
	check_bindable(pe, call, h);
	check_send_buffer(pe, call, id_here(pe, h), h, false, send_buf, bytes);
	bind_device(pe, call, h, send_buf, true);
}

void CkDirect_assocLocalBuffer(CkDirectHandle *h, const void *send_buf, size_t bytes)
{
	bind_piece("CkDirect_assocLocalBuffer", direct_open(h), send_buf, &bytes);
}

void CkDirect_assocLocal(CkDirectHandle *h, const void *send_buf)
{
	bind_piece("CkDirect_assocLocal", direct_open(h), send_buf, NULL);
}

static void bind_strided(struct pe *pe, const char *call, struct direct_handle *h, const void *base,
			 const CkDirectStrides *shape)
{
	const struct gather_shape s = gather_shape_of(shape);

	check_bindable(pe, call, h);
	check_send_buffer(pe, call, id_here(pe, h), h, true, base, h->bytes);
	check_strides(pe, call, id_here(pe, h), &s, h->bytes);
	if (h->device)
		direct_broken(pe, call, id_here(pe, h), "gather it first, and use CkDirect_assocLocalBuffer",
			      "strided data cannot go into device memory");
	bind_sender(pe, call, h, base, &s);
}

void CkDirect_assocLocalStrided(CkDirectHandle *h, const void *base, CkDirectStrides shape)
{
	static const char call[] = "CkDirect_assocLocalStrided";

	bind_strided(direct_self(call), call, direct_open(h), base, &shape);
}

void direct_join(struct pe *pe, struct direct_handle *h, const struct direct_handle *to,
		 const struct csd_sending *s)
{
	static const char call[] = "a channel's sending end";
	void *held = direct_sender_leave(pe, h);
	struct direct_sender *end;

	*h = *to;
	if (s->device)
		direct_bind_from_device(pe, call, h, s->buf, s->bytes);
	else if (s->shape)
		bind_strided(pe, call, h, s->buf, s->shape);
	else
		bind_piece(call, h, s->buf, &s->bytes);
	end = direct_sender_at(direct_of(pe), h->sender);
	end->named = true;
	end->in_device = s->device;
	end->owner = s->owner;
	if (held)
		direct_put_held(pe, h, held);
}

/* A new generation of the sending end: copies of the handle still have the old buffer, so they may
 * put no more. The network is told of the buffer in each put. */
void CkDirect_rebind(CkDirectHandle *handle, const void *send_buf, size_t bytes)
{
	static const char call[] = "CkDirect_rebind";
	struct pe *pe = direct_self(call);
	struct direct_handle *h = direct_open(handle);
	struct direct_sender *s = direct_sender_at_rest(pe, call, h);

	check_send_buffer(pe, call, direct_id_of_sender(s), h, h->strided, send_buf, bytes);
	if (!s->staging)
		s->src = send_buf;
	if (s->device)
		direct_node_of(pe)->device->rebind(pe, call, s);
	h->src = (uintptr_t)send_buf;
	h->sender_generation = ++direct_hot(s)->generation;
	seal_bound(pe, s, h);
}

const char *CkDirect_path(const CkDirectHandle *handle)
{
	const struct direct_handle *h = direct_open((CkDirectHandle *)(uintptr_t)handle);
	const struct pe *pe = csd_self();

	if (h->magic != DIRECT_MAGIC || !pe || h->sender_pe != pe->id || !direct_has_sender(pe, h) ||
	    direct_of(pe)->senders[h->sender].generation != h->sender_generation)
		return path_names[DIRECT_UNBOUND];
	return path_names[direct_sender_at(direct_of(pe), h->sender)->path];
}
