/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct_inside.c: which ends of channels depend on some memory: an end stays on its PE, so its
 * owner cannot move to another one. Buffers, and the arguments of functions, are looked up for each
 * end. The location of handles is unknown, so the memory is searched for them.
 */
#include "direct_inside.h"

#include <stdio.h>

#include "ends/channel.h"
#include "ends/set.h"
#include "ends/sender.h"

/* Handles are searched for in pieces of up to this size: they lie in structs, or in arrays of some.
 * Larger pieces are data, and searching them would cost what moving within the process saves. */
enum { SEARCHED_BYTES = 1 << 16 };

struct search {
	struct pe *pe;
	const struct csd_piece *pieces;
	size_t n_pieces;
	size_t n;                 /* ends found */
	char *name;               /* of the first */
	size_t len;
};

static void count_end(struct search *s, int32_t receiver, uint32_t number)
{
	if (!s->n++)
		snprintf(s->name, s->len, "channel %u of PE %d", number, receiver);
}

/* The last piece that begins at or before p may contain it. */
static bool lies_in_pieces(const struct search *s, const void *p)
{
	size_t from = 0, to = s->n_pieces;

	while (from < to) {
		const size_t mid = from + (to - from) / 2;

		if ((uintptr_t)s->pieces[mid].at <= (uintptr_t)p)
			from = mid + 1;
		else
			to = mid;
	}
	return from && (uintptr_t)p - (uintptr_t)s->pieces[from - 1].at < s->pieces[from - 1].bytes;
}

/* ---- buffers, and arguments of functions ----------------------------------------------------- */

static bool receiver_lies_in(const struct search *s, const struct direct_channel_hot *hot)
{
	return lies_in_pieces(s, direct_rest(hot)->buf) || lies_in_pieces(s, direct_data_of(hot));
}

/* Whether there is such an end that cannot move; named ones can. Those of the layer for devices go
 * with others. */
static bool receiver_stays(const struct direct_channel_hot *hot)
{
	return hot->state != CHANNEL_FREE && !hot->named && !hot->inner;
}
static bool sender_stays(const struct direct_sender *s)
{
	return s->path != DIRECT_UNBOUND && !s->named && !s->inner;
}

static void all_ends(struct search *s, bool any)
{
	const struct direct_pe *d = direct_of(s->pe);

	for (uint32_t i = 0; i < d->n_channels; i++) {
		const struct direct_channel_hot *hot = direct_channel_at(d, i);

		if (receiver_stays(hot) && (any || receiver_lies_in(s, hot)))
			count_end(s, s->pe->id, i);
	}
	for (uint32_t i = 0; i < d->n_sender_blocks * DIRECT_BLOCK; i++) {
		const struct direct_sender *end = direct_sender_at(d, i);

		if (sender_stays(end) && (any || lies_in_pieces(s, end->src)))
			count_end(s, end->receiver, end->channel);
	}
}

/* ---- handles: only of ends that have not been found yet -------------------------------------- */

static void count_sender(struct search *s, const struct direct_handle *h)
{
	const struct direct_pe *d = direct_of(s->pe);
	const struct direct_sender *end = h->sender_pe == s->pe->id && direct_has_sender(s->pe, h) ?
					  direct_sender_at(d, h->sender) : NULL;

	if (end && d->senders[h->sender].generation == h->sender_generation && sender_stays(end) &&
	    !lies_in_pieces(s, end->src))
		count_end(s, h->receiver, h->channel);
}

static void count_receiver(struct search *s, const struct direct_handle *h)
{
	const struct direct_channel_hot *hot =
		h->receiver == s->pe->id ? direct_channel_find(s->pe, h->channel, h->generation) : NULL;

	if (hot && receiver_stays(hot) && !receiver_lies_in(s, hot))
		count_end(s, h->receiver, h->channel);
}

/* A struct of the program is aligned, and so are its members. */
static void handles_in(struct search *s, const struct csd_piece *piece)
{
	for (size_t at = 0; at + sizeof(struct direct_handle) <= piece->bytes; at += sizeof(uint64_t)) {
		const struct direct_handle *h = (const void *)((const char *)piece->at + at);

		if (h->magic != DIRECT_MAGIC)
			continue;
		if (direct_is_bound(h))
			count_sender(s, h);
		else
			count_receiver(s, h);
	}
}

void direct_refuse(struct pe *pe, struct csd_told *to)
{
	char first[64];
	struct search s = { pe, NULL, 0, 0, first, sizeof first };

	all_ends(&s, true);
	if (s.n)
		csd_tell(to, NULL, "%s of channels (CkDirect), the first of %s: destroy them "
			 "(CkDirect_destroyHandle), and make them again afterwards",
			 csd_plural(s.n, "end", "ends").text, first);
}

size_t direct_inside(struct pe *pe, const struct csd_piece *pieces, size_t n, char *name,
		     size_t len)
{
	char unnamed[64];
	struct search s = { pe, pieces, n, 0, n ? name : unnamed, n ? len : sizeof unnamed };

	all_ends(&s, !n);
	for (size_t i = 0; i < n; i++)
		if (pieces[i].bytes <= SEARCHED_BYTES && (uintptr_t)pieces[i].at % sizeof(uint64_t) == 0)
			handles_in(&s, &pieces[i]);
	return s.n;
}
