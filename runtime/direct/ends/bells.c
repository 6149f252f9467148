/* SPDX-License-Identifier: Apache-2.0 */
/* bells.c: see bells.h. */
#include "bells.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>

#include "channel.h"
#include "../core/direct_control.h"
#include "../core/direct_rules.h"

/* ---- ringing ----------------------------------------------------------------------- */

/** A new ring for `b`, at least twice as large as the last. */
static void make_ring(struct pe *pe, struct direct_bell *b, int receiver)
{
	uint32_t n_slots = b->n_made ? 2 * b->ring.n_slots : BELL_SLOTS_LEAST;
	struct bell *bell;

	while (n_slots <= b->n_bound)
		n_slots *= 2;
	if (b->n_made == DIRECT_RINGS_MAX)
		csd_abort(pe, "CkDirect_assocLocal: %u channels to PE %d are too many", b->n_bound,
			  receiver);
	bell = cmi_must_have(cmi_mem_alloc(pe->node->machine, bell_bytes(n_slots)), bell_bytes(n_slots),
			     "channels");
	direct_send_bell(pe, receiver, bell, n_slots);
	if (b->n_made)
		bell_ring(&b->ring, BELL_END);
	b->made[b->n_made++] = bell;
	bell_write_init(&b->ring, bell, n_slots);
}

static struct direct_bell *bell_to(struct pe *pe, int receiver)
{
	struct direct_pe *d = direct_of(pe);

	if (!d->bell_to)
		d->bell_to = cmi_alloc_zero((size_t)pe->node->job->n_pes, sizeof(*d->bell_to), "channels");
	if (!d->bell_to[receiver])
		d->bell_to[receiver] = cmi_alloc_zero(1, sizeof(**d->bell_to), "channels");
	return d->bell_to[receiver];
}

struct direct_bell *direct_bell_open(struct pe *pe, int receiver)
{
	struct direct_bell *b = bell_to(pe, receiver);

	b->n_bound++;
	/* Pending words may include channels that were destroyed since. One slot is for BELL_END. */
	if (!b->n_made || bell_pending(&b->ring) + b->n_bound + 1 > b->ring.n_slots)
		make_ring(pe, b, receiver);
	return b;
}

void direct_bell_full(struct pe *pe, const char *call, const struct direct_handle *h)
{
	direct_broken(pe, call, direct_id_of_handle(pe, h), "wait until the receiver has had the last one",
		      "more puts are under way than there are channels: one was put into again "
		      "before its last put was consumed");
}

/* ---- hearing ----------------------------------------------------------------------- */

void direct_bell_arrived(struct pe *pe, const struct direct_bell_msg *b)
{
	struct direct_pe *d = direct_of(pe);
	int sender = b->head.src_pe;
	bool near = pe->node->job->node_of[sender] == pe->node->job->node;
	struct cmi_remote *mem = near ? NULL : cmi_attach(pe->wire, sender, &b->key, b->addr);
	struct bell *bell = near ? (struct bell *)(uintptr_t)b->addr
				 : mem ? cmi_remote_ptr(mem, b->addr) : NULL;
	d->bells = cmi_realloc(d->bells, d->n_bells + 1, sizeof(*d->bells), "channels");
	if (!bell)
		csd_abort(pe, "PE %d maps our memory, but we cannot map its own; "
			  "use CK_DIRECT_PATH=message", sender);
	d->bells[d->n_bells].mem = mem;
	d->bells[d->n_bells].sender = sender;
	bell_read_init(&d->bells[d->n_bells++].ring, bell, b->n_slots);
}

/** A bell has rung for a channel that waits for no put, or that was destroyed (NULL). Only a
 * program that breaks the rules gets here, but not every such program. */
static _Noreturn __attribute__((noinline, cold)) void
rung_early(struct pe *pe, int sender, uint32_t number, const struct direct_channel_hot *hot)
{
	struct direct_id id = {.channel = number, .receiver = pe->id, .sender = sender};
	bool one_waits;

	if (hot) {
		/* The puts consumed, the one that arrived in time, this one. */
		one_waits = hot->state != CHANNEL_CONSUMED && hot->state != CHANNEL_ARMED;
		id.iteration = direct_rest(hot)->iteration + one_waits + 1;
	}
	direct_unexpected(pe, id, hot);
}

/** A put has arrived in the channel that `word` names. */
static inline void bell_heard(struct pe *pe, struct direct_pe *d, int sender, uint64_t word)
{
	uint32_t number = (uint32_t)word, generation = (uint32_t)(word >> 32);
	struct direct_channel_hot *hot =
		CSD_LIKELY(number < d->n_channels) ? direct_channel_at(d, number) : NULL;

	if (CSD_UNLIKELY(!hot || hot->generation != generation)) {
		rung_early(pe, sender, number, NULL);
	} else if (CSD_LIKELY(hot->state == CHANNEL_ARMED && hot->tell)) {
		d->n_bell--;
		direct_ring(d, hot);
		/* The data has not been read here yet. */
		__builtin_prefetch((const void *)hot->poll.word);
	} else if (hot->state == CHANNEL_MARKED && hot->tell && !hot->landed) {
		hot->landed = true;
	} else {
		rung_early(pe, sender, number, hot);
	}
}

/** Take up to *most_p words, and subtract their number from it. Returns whether the last was
 * BELL_END. */
static bool bell_hear(struct pe *pe, struct direct_bell_in *in, uint32_t *most_p)
{
	uint32_t most = *most_p;
	uint64_t word = 0;

	while (most && bell_next(&in->ring, &word) && word != BELL_END) {
		bell_heard(pe, direct_of(pe), in->sender, word);
		most--;
	}
	bell_taken(&in->ring);
	*most_p = most;
	return word == BELL_END;
}

static void detach_bell(struct pe *pe, struct direct_bell_in *in)
{
	if (in->mem)
		cmi_detach(pe->wire, in->mem);
}

void direct_bells_take(struct pe *pe, uint32_t most)
{
	struct direct_pe *d = direct_of(pe);
	uint32_t at = d->next_bell;

	for (uint32_t left = d->n_bells; left > 0 && most > 0; left--) {
		struct direct_bell_in *in = &d->bells[at < d->n_bells ? at : (at = 0)];

		if (!bell_rings(&in->ring) || !bell_hear(pe, in, &most)) {
			at++;
		} else {
			detach_bell(pe, in);
			*in = d->bells[--d->n_bells];
		}
	}
	d->next_bell = at;
	direct_count_armed(pe);
}

/* ---- the end ----------------------------------------------------------------------- */

void direct_bells_stop(struct pe *pe)
{
	struct direct_pe *d = direct_of(pe);

	while (d->n_bells)
		detach_bell(pe, &d->bells[--d->n_bells]);
	d->n_bell = 0;
}

void direct_bells_free(struct node *node, struct direct_pe *d)
{
	for (int pe = 0; d->bell_to && pe < node->job->n_pes; pe++) {
		struct direct_bell *b = d->bell_to[pe];

		for (uint32_t i = 0; b && i < b->n_made; i++)
			cmi_mem_free(node->machine, b->made[i]);
		free(b);
	}
	free(d->bell_to);
	free(d->bells);
}
