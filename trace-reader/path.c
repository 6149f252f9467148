/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path.c: the critical path. It is followed backward from its end, the last span: from each span to
 * what it waited for. That is its message, if the PE was idle when that arrived, and the path
 * continues in the sender at the time of sending; else it is the PE's previous span.
 */
#include "sums.h"

#include <stdlib.h>

/* The last span that began at or before this time; -1: none. */
static int64_t top_at(const struct pe_sum *p, int64_t ns)
{
	int64_t low = -1, high = (int64_t)p->n;

	while (high - low > 1) {
		int64_t mid = low + (high - low) / 2;

		if (p->tops[mid].start <= ns)
			low = mid;
		else
			high = mid;
	}
	return low;
}

/* Where the path is: in a span, which it leaves at `until`. */
struct place {
	int pe;                          /* NONE: before the first span */
	int64_t i, until;
};

static struct place path_end(const struct sums *t)
{
	struct place at = { NONE, -1, 0 };

	for (int p = 0; p < t->j->n_pes; p++)
		if (t->pes[p].n && t->pes[p].tops[t->pes[p].n - 1].end > at.until)
			at = (struct place){ p, (int64_t)t->pes[p].n - 1, t->pes[p].tops[t->pes[p].n - 1].end };
	return at;
}

/* A stay goes on for as long as the path is on one PE. */
static void stay(struct path *path, const struct place *at, int64_t from)
{
	struct path_stay *last = path->n ? &path->stays[path->n - 1] : NULL;

	if (last && last->pe == at->pe && last->from == at->until) {
		last->from = from;
		return;
	}
	if (path->n == path->cap) {
		path->cap = path->cap ? 2 * path->cap : 64;
		path->stays = need(realloc(path->stays, path->cap * sizeof *path->stays));
	}
	path->stays[path->n++] = (struct path_stay){ at->pe, from, at->until };
}

/* To the sender, if the span's message came after the PE's span before. */
static bool follow_message(const struct sums *t, struct path *path, struct place *at,
			   int64_t before)
{
	const struct top *s = &t->pes[at->pe].tops[at->i];
	const uint32_t number = t->j->pes[at->pe].message[s->record];

	if (!number)
		return false;
	const struct message *m = &t->j->messages[number - 1];
	const struct pe_trace *from = &t->j->pes[m->from];
	const int64_t sent = record_ns(t->j, from, record_at(from, m->sent));
	const int64_t i = top_at(&t->pes[m->from], sent);

	if (sent <= before || i < 0 || (m->from == at->pe && i >= at->i))
		return false;
	path->way += s->start - sent;
	path->n_messages++;
	*at = (struct place){ m->from, i, sent };
	return true;
}

void path_find(const struct sums *t, struct path *path)
{
	struct place at = path_end(t);

	*path = (struct path){ .by_entry = need(calloc(t->n_entries, sizeof *path->by_entry)) };
	/* Each step goes back in time, or to a span with a lower number. */
	while (at.pe != NONE && at.i >= 0) {
		const struct top *s = &t->pes[at.pe].tops[at.i];
		const int64_t before = at.i ? s[-1].end : 0, ran = at.until > s->start ? at.until - s->start : 0;

		path->run += ran;
		path->by_entry[s->kind == SPAN_ENTRY && s->what < t->n_entries ? s->what : 0] += ran;
		stay(path, &at, s->start);
		at.until = s->start;
		if (follow_message(t, path, &at, before))
			continue;
		path->gap += s->start - before;
		stay(path, &at, before);
		at.until = before;
		at.i--;
	}
}

void path_free(struct path *path)
{
	free(path->by_entry);
	free(path->stays);
}
