/* SPDX-License-Identifier: Apache-2.0 */
/* direct_describe.c: see direct_describe.h. */
#include "direct_describe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../machine/base/cmi_alloc.h"
#include "ends/channel.h"
#include "ends/sender.h"

/* ---- how long a channel has been armed ------------------------------------------------------- */

/** The looks' data of a channel. A ready reads no clock, so the time of the first look that found
 * the channel armed is used: it was armed then, or before. */
struct direct_look {
	uint64_t marks;               /* readyMarks until then; 0: not armed at the last look */
	uint64_t since_ns;            /* the first look at which it was armed after that many */
	uint32_t generation;
};

static bool is_seen(const struct direct_look *l, const struct direct_channel_hot *hot)
{
	return hot->state == CHANNEL_ARMED && l->marks == direct_marks(hot) &&
	       l->generation == hot->generation;
}

static void looks_grow(struct direct_pe *d)
{
	if (d->n_looks == d->n_channels)
		return;
	d->looks = cmi_realloc(d->looks, d->n_channels, sizeof *d->looks, "the watchdog");
	for (; d->n_looks < d->n_channels; d->n_looks++)
		d->looks[d->n_looks] = (struct direct_look){ 0 };
}

void direct_look(struct pe *pe, uint64_t now)
{
	struct direct_pe *d = direct_of(pe);

	looks_grow(d);
	for (uint32_t i = 0; i < d->n_channels; i++) {
		const struct direct_channel_hot *hot = direct_channel_at(d, i);
		struct direct_look *l = &d->looks[i];

		if (is_seen(l, hot))
			continue;
		*l = (struct direct_look){ hot->state == CHANNEL_ARMED ? direct_marks(hot) : 0, now,
					   hot->generation };
	}
}

void direct_looks_free(struct direct_pe *d)
{
	free(d->looks);
}

/* 0: no look has found it armed. */
static uint64_t armed_since(const struct direct_pe *d, uint32_t number)
{
	const struct direct_look *l = &d->looks[number];

	return number < d->n_looks && is_seen(l, direct_channel_at(d, number)) ? l->since_ns : 0;
}

/* ---- records -------------------------------------------------------------------------------- */

enum { THING_CHANNEL = 'c' };

static struct csd_thing channel_thing(struct pe *pe, const struct direct_id *id)
{
	const struct csd_key key = { THING_CHANNEL, { id->receiver }, id->channel };
	char sender[32] = "not bound", name[CSD_THING_NAME];

	direct_name(pe, *id, name, sizeof name);
	if (id->owner)
		return csd_named(&key, "%s", name);
	if (id->sender >= 0)
		snprintf(sender, sizeof sender, "sender PE %d", id->sender);
	return csd_named(&key, "%s (receiver PE %d, %s)", name, id->receiver, sender);
}

/** What it waits for. Puts are numbered from 1. NULL: nothing. */
static const char *receiver_waits(const struct direct_channel_hot *hot)
{
	if (hot->inner)
		return NULL;
	switch ((enum channel_state)hot->state) {
	case CHANNEL_ARMED:
		return "waits for";
	case CHANNEL_FIRED:
	case CHANNEL_FOUND:
		return "will run the function of";
	case CHANNEL_MARKED:
		return direct_unseen_put(hot) ? "is marked and not polled (CkDirect_readyPollQ), but has"
					      : "is marked and not polled, for";
	default:
		return NULL;
	}
}

/** Of a channel into a device's memory: which put has arrived, and which may come. */
static void device_words(const struct direct_line *line, char *buf, size_t len)
{
	const uint64_t put = ((uint64_t)1 << 40) - 1;

	/* relaxed: for people. */
	snprintf(buf, len, "; the device's words: put %" PRIu64 " has arrived, put %" PRIu64 " may come",
		 atomic_load_explicit(&line->seq, memory_order_relaxed) & put,
		 atomic_load_explicit(&line->credit, memory_order_relaxed) & put);
}

/** How many puts of this end wait in a stream for the receiver's credit, as in checked mode. */
static uint64_t uncredited(const struct direct_sender *s)
{
	uint64_t may, made;

	if (!s->device || !s->line || !direct_is_checked(s))
		return 0;
	/* relaxed: for people, and for a sum that is taken again. */
	may = atomic_load_explicit(&s->line->credit, memory_order_relaxed);
	made = direct_seq(s->channel_generation, direct_hot(s)->iteration);
	return made > may && made >> 40 == may >> 40 ? made - may : 0;
}

static void describe_receivers(struct pe *pe, struct csd_told *to)
{
	const struct direct_pe *d = direct_of(pe);

	for (uint32_t i = 0; i < d->n_channels; i++) {
		const struct direct_channel_hot *hot = direct_channel_at(d, i);
		const char *what = receiver_waits(hot);

		if (!what)
			continue;
		const struct direct_id id = direct_id_of_channel(pe, hot);
		const struct csd_wait w = { .who = channel_thing(pe, &id), .since_ns = armed_since(d, i) };

		char words[96] = "";

		if (hot->mode == DIRECT_COUNTED)
			device_words(direct_rest(hot)->line, words, sizeof words);
		csd_tell(to, &w, "%s put %" PRIu64 "%s%s", what, id.iteration, words,
			 w.since_ns ? ", armed" : "");
	}
}

/* On behalf of the receiver. */
static void describe_senders(struct pe *pe, struct csd_told *to)
{
	const struct direct_pe *d = direct_of(pe);

	for (uint32_t i = 0; i < d->n_sender_blocks * DIRECT_BLOCK; i++) {
		const struct direct_sender *s = direct_sender_at(d, i);
		const struct direct_id id = direct_id_of_sender(s);

		if (s->path == DIRECT_UNBOUND)
			continue;
		const bool waits = uncredited(s);
		const struct csd_wait w = { .who = channel_thing(pe, &id),
					    .how = waits ? CSD_WAITS : CSD_IF_ASKED };

		char words[96] = "";

		if (s->device && s->line)
			device_words(s->line, words, sizeof words);
		csd_tell(to, &w, ", puts made: %" PRIu64 "%s%s", id.iteration, words,
			 waits ? ": a put waits for CkDirect_ready" :
			 direct_hot(s)->not_plain & DIRECT_BUSY ?
				 ", the last of them not locally complete" : "");
	}
}

void direct_describe(struct pe *pe, struct csd_told *to)
{
	describe_receivers(pe, to);
	describe_senders(pe, to);
}

uint64_t direct_held(struct pe *pe)
{
	const struct direct_pe *d = direct_of(pe);
	uint64_t n = 0;

	for (uint32_t i = 0; i < d->n_channels; i++) {
		const struct direct_channel_hot *hot = direct_channel_at(d, i);

		n += hot->state == CHANNEL_MARKED && direct_unseen_put(hot);
	}
	for (uint32_t i = 0; i < d->n_sender_blocks * DIRECT_BLOCK; i++)
		n += direct_put_waits(direct_sender_at(d, i)) + uncredited(direct_sender_at(d, i));
	return n;
}
