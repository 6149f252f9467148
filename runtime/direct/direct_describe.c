/* SPDX-License-Identifier: Apache-2.0 */
/* direct_describe.c: see direct_describe.h. */
#include "direct_describe.h"

#include <stdio.h>

#include "channel.h"
#include "sender.h"

enum { LINE_MAX_BYTES = 160 };

/** What it waits for. Puts are numbered from 1. */
static const char *receiver_waits(const struct direct_channel_hot *hot)
{
	switch ((enum channel_state)hot->state) {
	case CHANNEL_ARMED:
		return "waits for";
	case CHANNEL_FIRED:
		return "will run the function of";
	case CHANNEL_MARKED:
		return hot->landed ? "is marked and not polled, but has" : "is marked and not polled, for";
	default:
		return "has consumed, and is not ready after,";
	}
}

static void describe_receivers(struct pe *pe, void (*line)(void *arg, const char *text), void *arg)
{
	const struct direct_pe *d = direct_of(pe);
	char text[LINE_MAX_BYTES], sender[24];

	for (uint32_t i = 0; i < d->n_channels; i++) {
		const struct direct_channel_hot *hot = direct_channel_at(d, i);
		struct direct_id id = direct_id_of_channel(pe, hot);

		if (hot->state == CHANNEL_FREE)
			continue;
		snprintf(sender, sizeof(sender), id.sender < 0 ? "not bound" : "sender PE %d", id.sender);
		snprintf(text, sizeof(text), "channel %u (receiver PE %d, %s) %s put %llu", id.channel,
			 id.receiver, sender, receiver_waits(hot), (unsigned long long)id.iteration);
		line(arg, text);
	}
}

static void describe_senders(struct pe *pe, void (*line)(void *arg, const char *text), void *arg)
{
	const struct direct_pe *d = direct_of(pe);
	char text[LINE_MAX_BYTES];

	for (uint32_t i = 0; i < d->n_sender_blocks * DIRECT_BLOCK; i++) {
		const struct direct_sender *s = direct_sender_at(d, i);
		struct direct_id id = direct_id_of_sender(s);

		if (s->path == DIRECT_UNBOUND)
			continue;
		snprintf(text, sizeof(text), "channel %u (receiver PE %d, sender PE %d), puts made: %llu%s",
			 id.channel, id.receiver, id.sender, (unsigned long long)id.iteration,
			 direct_hot(s)->not_plain & DIRECT_BUSY
				 ? ", the last of them not locally complete" : "");
		line(arg, text);
	}
}

void direct_describe(struct pe *pe, void (*line)(void *arg, const char *text), void *arg)
{
	describe_receivers(pe, line, arg);
	describe_senders(pe, line, arg);
}
