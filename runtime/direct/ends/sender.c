/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sender.c: the sending end: its record, from the binding to the end, and the local completion of
 * its puts. The puts themselves are in put.c.
 */
#include "sender.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

#include "bells.h"
#include "channel.h"
#include "../core/direct_device.h"
#include "../core/gather.h"

/* Polls of the network before a put that finds the last one incomplete gives up. Completions that
 * were overtaken arrive at the first or second poll. */
enum { SETTLE_POLLS = 1000 };

/* ---- records ----------------------------------------------------------------------- */

/** Add DIRECT_BLOCK free records. */
static void add_senders(struct pe *pe, struct direct_pe *d)
{
	uint32_t first = d->n_sender_blocks * DIRECT_BLOCK;
	struct direct_sender *block = cmi_alloc_zero(DIRECT_BLOCK, sizeof(*block), "channels");
	struct direct_sender_hot *hot =
		cmi_realloc(d->senders, first + DIRECT_BLOCK, sizeof(*hot), "channels");
	struct direct_sender **blocks =
		cmi_realloc(d->sender_blocks, d->n_sender_blocks + 1, sizeof(*blocks), "channels");

	d->senders = hot;
	d->sender_blocks = blocks;
	blocks[d->n_sender_blocks++] = block;
	for (uint32_t i = DIRECT_BLOCK; i-- > 0;) {
		/* Checked: detects a put through a handle whose number was changed to this one. */
		hot[first + i] = (struct direct_sender_hot){.generation = 1, .not_plain = DIRECT_CHECK};
		block[i].number = first + i;
		block[i].pe = pe;
		block[i].next = d->free_senders;
		d->free_senders = &block[i];
	}
}

struct direct_sender *direct_sender_new(struct pe *pe)
{
	struct direct_pe *d = direct_of(pe);
	struct direct_sender_hot *hot;
	struct direct_sender *s;

	if (!d->free_senders)
		add_senders(pe, d);
	s = d->free_senders;
	d->free_senders = s->next;
	s->next = NULL;
	s->op.done = direct_put_done;
	s->op.arg = s;
	s->fn = NULL;
	s->held = NULL;
	s->named = s->in_device = s->inner = false;
	s->owner = NULL;
	s->dst = NULL;
	s->line = NULL;
	s->device = NULL;
	hot = direct_hot(s);
	hot->iteration = 0;
	hot->not_plain = (pe->node->check ? DIRECT_CHECK : 0) | (pe->trace ? DIRECT_TRACE : 0) |
			 (pe->counts ? DIRECT_COUNT : 0);
	hot->bell = NULL;
	return s;
}

struct direct_id direct_id_of_sender(const struct direct_sender *s)
{
	return (struct direct_id){
		.channel = s->channel,
		.receiver = s->receiver,
		.sender = s->pe->id,
		.iteration = direct_hot(s)->iteration,
		.owner = s->owner,
	};
}

/* ---- bytes ------------------------------------------------------------------------- */

static bool crosses(const struct direct_sender *s)
{
	return s->path == DIRECT_MEMORY || s->path == DIRECT_RMA || s->path == DIRECT_DEVICE_IPC ||
	       s->path == DIRECT_DEVICE_VMM;
}

static void add_bytes(const struct direct_sender *s, uint64_t *near, uint64_t *far)
{
	const struct cmi_job *job = s->pe->node->job;
	const int node = crosses(s) ? job->node_of[s->receiver] : job->node;

	if (node != job->node)
		*(job->host_id[node] == job->host_id[job->node] ? near : far) +=
			direct_hot(s)->iteration * s->bytes;
}

void direct_bytes_sent(const struct pe *pe, uint64_t *near, uint64_t *far)
{
	const struct direct_pe *d = direct_of(pe);

	*near += d->gone_near;
	*far += d->gone_far;
	for (uint32_t i = 0; i < d->n_sender_blocks * DIRECT_BLOCK; i++)
		add_bytes(direct_sender_at(d, i), near, far);
}

/* ---- control ----------------------------------------------------------------------- */

void direct_sender_say(struct pe *pe, const struct direct_sender *s, enum direct_control kind)
{
	struct direct_control_msg c = {
		.kind = kind,
		.path = s->path,
		.channel = s->channel,
		.generation = s->channel_generation,
		.sender_generation = direct_hot(s)->generation,
		.iteration = direct_hot(s)->iteration,
		.sender = (uintptr_t)s,
	};

	direct_send_control(pe, s->receiver, &c);
}

/* ---- found by its handle ------------------------------------------------------------ */

void direct_no_sender(struct pe *pe, const char *call, const struct direct_handle *h)
{
	const struct direct_pe *d = direct_of(pe);
	const struct direct_sender *s = NULL;

	if (h->magic == DIRECT_MAGIC && h->sender_pe == pe->id && direct_has_sender(pe, h))
		s = direct_sender_at(d, h->sender);
	if (s && s->path != DIRECT_UNBOUND && s->receiver == h->receiver &&
	    s->channel == h->channel && s->channel_generation == h->generation)
		direct_broken(pe, call, direct_id_of_sender(s),
			      "copy the handle after CkDirect_rebind, not before",
			      "the channel has another send buffer since this copy was made");
	direct_not_a_sender(pe, call, h);
}

struct direct_sender *direct_checked_sender(struct pe *pe, const char *call,
					    const struct direct_handle *h)
{
	if (!direct_has_sender(pe, h))
		direct_no_sender(pe, call, h);
	direct_own_sender(pe, call, h);
	return direct_sender_at(direct_of(pe), h->sender);
}

/* ---- local completion -------------------------------------------------------------- */

void direct_push_done(struct direct_pe *d, struct direct_sender *s)
{
	s->next = NULL;
	*d->done_tail = s;
	d->done_tail = &s->next;
}

void direct_put_done(struct cmi_op *op)
{
	struct direct_sender *s = op->arg;

	if (s->fn)
		direct_push_done(direct_of(s->pe), s);
	else
		direct_hot(s)->not_plain &= ~(uint32_t)DIRECT_BUSY;
}

int direct_run_completions(struct pe *pe)
{
	struct direct_pe *d = direct_of(pe);
	struct direct_sender *s = d->done;
	int n = 0;

	/* Each one that is here now, once. Puts of their functions wait for the next pass. */
	d->done = NULL;
	d->done_tail = &d->done;
	while (s) {
		struct direct_sender *next = s->next;
		_Alignas(16) unsigned char data[DIRECT_DATA_MAX];
		CkDirectFn fn = s->fn;

		/* Out of the record, because fn may put again or destroy the channel. */
		memcpy(data, s->copy, sizeof(data));
		s->fn = NULL;
		s->next = NULL;
		direct_hot(s)->not_plain &= ~(uint32_t)DIRECT_BUSY;
		fn(data);
		pe->n_processed++;
		n++;
		s = next;
	}
	return n;
}

/* The receiver's answer to the put may have overtaken the news of its completion, so poll the
 * network before blaming the program. A put with a function is complete when the function has run,
 * which only the loop can do. */
void direct_settle_put(struct pe *pe, const char *call, const struct direct_sender *s)
{
	for (int i = 0; i < SETTLE_POLLS && direct_is_busy(s) && !s->fn; i++)
		cmi_progress(pe->wire);
	if (direct_is_busy(s))
		direct_broken(pe, call, direct_id_of_sender(s),
			      "wait for the completion that CkDirect_putData reports",
			      "the last put is not locally complete yet");
}

void direct_check_unchanged(struct pe *pe, const char *call, struct direct_id id,
			    const struct direct_handle *h, const struct direct_sender *s)
{
	if (direct_checksum((const unsigned char *)h, sizeof(*h)) != s->seal)
		direct_broken(pe, call, id,
			      "only the functions of ckdirect.h may write to one",
			      "the handle was changed after it was bound");
}

/* ---- ends with names --------------------------------------------------------------- */

void direct_sender_open(struct pe *pe, struct direct_handle *h, const struct csd_sending *sending)
{
	struct direct_sender *s = direct_sender_new(pe);

	s->path = DIRECT_UNBOUND;
	s->way = DIRECT_HOLDING;
	s->named = true;
	s->in_device = sending->device;
	s->owner = sending->owner;
	s->mode = DIRECT_SEQ; /* the data has no reserved word */
	s->src = sending->buf;
	s->bytes = s->body = sending->bytes;
	s->receiver = -1;
	s->channel = s->channel_generation = 0;
	s->held = sending->held;
	direct_hot(s)->not_plain |= DIRECT_STOPPED;
	*h = (struct direct_handle){
		.magic = DIRECT_MAGIC,
		.receiver = -1,
		.sender_pe = pe->id,
		.sender = s->number,
		.sender_generation = direct_hot(s)->generation,
		.mode = DIRECT_SEQ,
		.bytes = sending->bytes,
		.src = (uintptr_t)sending->buf,
		.strided = sending->shape != NULL,
	};
	if (sending->shape)
		h->strides = gather_shape_of(sending->shape);
	if (pe->node->check)
		s->seal = direct_checksum((const unsigned char *)h, sizeof(*h));
}

uint64_t direct_sender_stop(struct pe *pe, const struct direct_handle *h)
{
	struct direct_sender *s = direct_checked_sender(pe, "a channel's sending end", h);

	s->way = DIRECT_HOLDING;
	direct_hot(s)->not_plain |= DIRECT_STOPPED;
	return direct_hot(s)->iteration;
}

bool direct_sender_holds(struct pe *pe, const struct direct_handle *h)
{
	return direct_put_waits(direct_checked_sender(pe, "a channel's sending end", h));
}

bool direct_sender_busy(struct pe *pe, const struct direct_handle *h)
{
	const struct direct_sender *s = direct_checked_sender(pe, "a channel's sending end", h);

	return direct_is_busy(s) || (s->device && direct_node_of(pe)->device->busy(pe, s));
}

void *direct_sender_leave(struct pe *pe, const struct direct_handle *h)
{
	struct direct_sender *s = direct_sender_at_rest(pe, "a channel's sending end", h);
	void *held = s->held;

	s->held = NULL;
	direct_sender_destroy(pe, h);
	return held;
}

/* ---- the end ----------------------------------------------------------------------- */

static void detach_receiver(struct pe *pe, struct direct_sender *s)
{
	if (s->recv_mem)
		cmi_detach(pe->wire, s->recv_mem);
	if (s->line_mem)
		cmi_detach(pe->wire, s->line_mem);
	s->recv_mem = s->line_mem = NULL;
}

struct direct_sender *direct_sender_at_rest(struct pe *pe, const char *call,
					    const struct direct_handle *h)
{
	struct direct_sender *s = direct_checked_sender(pe, call, h);

	if (direct_is_busy(s))
		direct_settle_put(pe, call, s);
	if (direct_is_checked(s))
		direct_check_unchanged(pe, call, direct_id_of_sender(s), h, s);
	return s;
}

void direct_sender_destroy(struct pe *pe, const struct direct_handle *h)
{
	struct direct_sender *s = direct_sender_at_rest(pe, "CkDirect_destroyHandle", h);

	if (s->device)
		direct_node_of(pe)->device->leave(pe, s);
	s->device = NULL;
	detach_receiver(pe, s);
	if (!(direct_hot(s)->not_plain & DIRECT_HERE) && direct_hot(s)->bell)
		direct_bell_close(direct_hot(s)->bell);
	free(s->staging);
	s->staging = NULL;
	if (s->held)
		pe->n_processed++; /* the put that waits will never be made */
	free(s->held);
	s->held = NULL;
	add_bytes(s, &direct_of(pe)->gone_near, &direct_of(pe)->gone_far);
	direct_hot(s)->generation++;
	direct_hot(s)->not_plain = DIRECT_CHECK;
	s->seal = 0;
	s->path = DIRECT_UNBOUND;
	s->next = direct_of(pe)->free_senders;
	direct_of(pe)->free_senders = s;
}

void direct_senders_stop(struct pe *pe)
{
	struct direct_pe *d = direct_of(pe);

	for (uint32_t i = 0; i < d->n_sender_blocks * DIRECT_BLOCK; i++)
		/* A put in flight still uses its attachments; closing the wire ends them all. */
		if (!direct_is_busy(direct_sender_at(d, i)))
			detach_receiver(pe, direct_sender_at(d, i));
}

void direct_senders_free(struct direct_pe *d)
{
	for (uint32_t i = 0; i < d->n_sender_blocks * DIRECT_BLOCK; i++) {
		free(direct_sender_at(d, i)->staging);
		free(direct_sender_at(d, i)->held);
	}
	for (uint32_t i = 0; i < d->n_sender_blocks; i++)
		free(d->sender_blocks[i]);
	free(d->sender_blocks);
	free(d->senders);
}
