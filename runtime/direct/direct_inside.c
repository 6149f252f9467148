/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct_inside.c: which ends of channels depend on a piece of memory: an end stays on its PE, so what holds it
 * cannot move to another one.
 */
#include "direct_inside.h"

#include <stdio.h>

#include "channel.h"
#include "sender.h"

struct piece {
	struct pe *pe;
	uintptr_t at;
	size_t bytes;
};

/* One subtraction tells both bounds: below `at` it wraps. */
static bool lies_in(const struct piece *m, const void *p) { return (uintptr_t)p - m->at < m->bytes; }

/* The i-th possible place of a handle; NULL: there is no room for one. */
static const struct direct_handle *handle_at(const struct piece *m, size_t i)
{
	const size_t at = i * sizeof(uint64_t);

	return at + sizeof(struct direct_handle) <= m->bytes ? (const struct direct_handle *)(m->at + at) : NULL;
}

static bool names_channel(const struct piece *m, uint32_t number, uint32_t generation)
{
	const struct direct_handle *h;

	for (size_t i = 0; (h = handle_at(m, i)); i++)
		if (h->magic == DIRECT_MAGIC && h->receiver == m->pe->id && h->channel == number &&
		    h->generation == generation && !direct_is_bound(h))
			return true;
	return false;
}

static void found(int32_t receiver, uint32_t number, size_t *n_p, char *name, size_t len)
{
	if (!(*n_p)++)
		snprintf(name, len, "channel %u of PE %d", number, receiver);
}

static void receivers(const struct piece *m, size_t *n_p, char *name, size_t len)
{
	const struct direct_pe *d = direct_of(m->pe);

	for (uint32_t i = 0; i < d->n_channels; i++) {
		const struct direct_channel_hot *hot = direct_channel_at(d, i);
		const struct direct_channel *c = direct_rest(hot);

		if (hot->state != CHANNEL_FREE && !hot->named &&
		    (lies_in(m, c->buf) || lies_in(m, c->data) || names_channel(m, i, hot->generation)))
			found(m->pe->id, i, n_p, name, len);
	}
}

static void senders(const struct piece *m, size_t *n_p, char *name, size_t len)
{
	const struct direct_pe *d = direct_of(m->pe);
	const struct direct_handle *h;

	for (size_t i = 0; (h = handle_at(m, i)); i++)
		if (h->magic == DIRECT_MAGIC && h->sender_pe == m->pe->id && direct_has_sender(m->pe, h) &&
		    d->senders[h->sender].generation == h->sender_generation)
			found(h->receiver, h->channel, n_p, name, len);
}

size_t direct_inside(struct pe *pe, const void *at, size_t bytes, char *name, size_t len)
{
	/* A user's struct is aligned, and so is what it holds. */
	const struct piece m = { pe, (uintptr_t)at, bytes };
	size_t n = 0;

	receivers(&m, &n, name, len);
	senders(&m, &n, name, len);
	return n;
}
