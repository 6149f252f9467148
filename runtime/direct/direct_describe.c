/* SPDX-License-Identifier: Apache-2.0 */
/* direct_describe.c: see direct_describe.h. */
#include "direct_describe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../machine/base/cmi_alloc.h"
#include "ends/channel.h"
#include "ends/sender.h"

enum { LINE_MAX_BYTES = 256, RECEIVERS_MOST = 16 };

/* ---- for how long a channel has been armed ---------------------------------------------------------- */

/** What the looks have seen of a channel. A ready reads no clock, so the time of the first look that found the
 * channel armed stands for it: it was armed then, or before. */
struct direct_look {
	uint64_t marks;               /* readyMarks until then; 0: not armed at the last look */
	uint64_t since_ns;            /* the first look at which it was armed after so many */
	uint32_t generation;
};

static bool is_seen(const struct direct_look *l, const struct direct_channel_hot *hot)
{
	return hot->state == CHANNEL_ARMED && l->marks == direct_marks(hot) && l->generation == hot->generation;
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
		*l = (struct direct_look){ hot->state == CHANNEL_ARMED ? direct_marks(hot) : 0, now, hot->generation };
	}
}

void direct_looks_free(struct direct_pe *d)
{
	free(d->looks);
}

/** ", armed for at least 1.204 s", or "" if no look has found it so. */
static const char *armed_for(const struct direct_pe *d, uint32_t number, char *buf, size_t len)
{
	const struct direct_channel_hot *hot = direct_channel_at(d, number);
	uint64_t ms;

	buf[0] = 0;
	if (number >= d->n_looks || !is_seen(&d->looks[number], hot))
		return buf;
	ms = (csd_now_ns() - d->looks[number].since_ns) / 1000000;
	snprintf(buf, len, ", armed for at least %" PRIu64 ".%03" PRIu64 " s", ms / 1000, ms % 1000);
	return buf;
}

/* ---- lines ---------------------------------------------------------------------------------------- */

/** What it waits for. Puts are numbered from 1. */
static const char *receiver_waits(const struct direct_channel_hot *hot)
{
	switch ((enum channel_state)hot->state) {
	case CHANNEL_ARMED:
		return "waits for";
	case CHANNEL_FIRED:
		return "will run the function of";
	case CHANNEL_MARKED:
		return direct_unseen_put(hot) ? "is marked and not polled (CkDirect_readyPollQ), but has"
					      : "is marked and not polled, for";
	default:
		return "has consumed, and is not ready after,";
	}
}

/* Something has still to happen to the channel, so the report shows its other end, too. */
static bool is_open(const struct direct_channel_hot *hot)
{
	return hot->state == CHANNEL_ARMED || hot->state == CHANNEL_MARKED || hot->state == CHANNEL_FIRED;
}

static void describe_receiver(struct pe *pe, const struct direct_channel_hot *hot, csd_line_fn line, void *arg)
{
	const struct direct_id id = direct_id_of_channel(pe, hot);
	char text[LINE_MAX_BYTES], sender[32], armed[64];

	if (is_open(hot)) {
		snprintf(text, sizeof(text), "\3C%u.%d", id.channel, id.receiver);
		line(arg, text);
	}
	snprintf(sender, sizeof(sender), id.sender < 0 ? "not bound" : "sender PE %d", id.sender);
	snprintf(text, sizeof(text), "%schannel %u (receiver PE %d, %s) %s put %llu%s",
		 is_open(hot) ? "" : "\2unasked\t", id.channel, id.receiver, sender, receiver_waits(hot),
		 (unsigned long long)id.iteration, armed_for(direct_of(pe), id.channel, armed, sizeof(armed)));
	line(arg, text);
}

static void describe_receivers(struct pe *pe, csd_line_fn line, void *arg)
{
	const struct direct_pe *d = direct_of(pe);
	char text[LINE_MAX_BYTES];
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->n_channels; i++)
		if (direct_channel_at(d, i)->state != CHANNEL_FREE && n++ < RECEIVERS_MOST)
			describe_receiver(pe, direct_channel_at(d, i), line, arg);
	if (n > RECEIVERS_MOST) {
		snprintf(text, sizeof(text), "and %u more channels", n - RECEIVERS_MOST);
		line(arg, text);
	}
}

static void describe_senders(struct pe *pe, csd_line_fn line, void *arg)
{
	const struct direct_pe *d = direct_of(pe);
	char text[LINE_MAX_BYTES];

	for (uint32_t i = 0; i < d->n_sender_blocks * DIRECT_BLOCK; i++) {
		const struct direct_sender *s = direct_sender_at(d, i);
		struct direct_id id = direct_id_of_sender(s);

		if (s->path == DIRECT_UNBOUND)
			continue;
		snprintf(text, sizeof(text), "\2C%u.%d\tchannel %u (receiver PE %d, sender PE %d), puts made: %llu%s",
			 id.channel, id.receiver, id.channel, id.receiver, id.sender,
			 (unsigned long long)id.iteration, direct_hot(s)->not_plain & DIRECT_BUSY
				 ? ", the last of them not locally complete" : "");
		line(arg, text);
	}
}

void direct_describe(struct pe *pe, csd_line_fn line, void *arg)
{
	describe_receivers(pe, line, arg);
	describe_senders(pe, line, arg);
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
		n += direct_sender_at(d, i)->held != NULL;
	return n;
}
