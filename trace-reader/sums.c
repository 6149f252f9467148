/* SPDX-License-Identifier: Apache-2.0 */
/* sums.c: counts for the summary and the page: each span once, and each message that was sent. */
#include "sums.h"

#include <stdlib.h>

static int bucket_of(int64_t ns)
{
	int b = 0;

	while (b < BUCKETS - 1 && ns >= (int64_t)BUCKET_FIRST << b)
		b++;
	return b;
}

static void add_grain(struct entry_sum *e, const struct span *s, int64_t own)
{
	int64_t ns = s->end - s->start;

	e->n += !s->resumed;
	e->pieces++;
	e->own += own;
	e->total += ns;
	e->longest = ns > e->longest ? ns : e->longest;
	e->bucket[bucket_of(ns)]++;
}

static void add_top(struct pe_sum *p, const struct span *s)
{
	if (p->n == p->cap) {
		p->cap = p->cap ? 2 * p->cap : 1024;
		p->tops = need(realloc(p->tops, p->cap * sizeof *p->tops));
	}
	p->tops[p->n++] = (struct top){ s->start, s->end, s->record, s->kind, s->what };
}

/* A handler of the runtime's is identified by the entry that it has called. */
static struct span called(const struct sums *t, const struct span *s)
{
	struct span c = *s;

	if (s->kind == SPAN_HANDLER && t->inner) {
		c.kind = SPAN_ENTRY;
		c.what = t->inner;
	}
	return c;
}

static void on_end(void *arg, const struct span *s)
{
	struct sums *t = arg;
	int64_t own = s->end - s->start - s->inner;

	switch (s->kind) {
	case SPAN_ENTRY:
		t->pe->entries += own;
		if (s->what < t->n_entries)
			add_grain(&t->entries[s->what], s, own);
		break;
	case SPAN_PUT:
		t->pe->puts += own;
		add_grain(&t->entries[0], s, own);
		break;
	case SPAN_USER: t->pe->entries += own; break;
	case SPAN_HANDLER: t->pe->handlers += own; break;
	case SPAN_IDLE: t->pe->idle += own; break;
	default: break;
	}
	if (s->depth && s->kind == SPAN_ENTRY)
		t->inner = s->what;
	if (s->depth || s->kind == SPAN_IDLE)
		return;
	const struct span top = called(t, s);

	add_top(t->pe, &top);
	t->inner = 0;
}

static size_t count_entries(const struct job *j)
{
	size_t n = 1;

	for (int i = 0; i < j->n_pes; i++)
		if (j->pes[i].names[TRACE_NAME_ENTRY].n > n)
			n = j->pes[i].names[TRACE_NAME_ENTRY].n;
	return n;
}

const char *sums_entry_name(const struct sums *t, size_t entry)
{
	for (int i = 0; entry && i < t->j->n_pes; i++)
		if (t->j->pes[i].head)
			return trace_name_of(&t->j->pes[i], TRACE_NAME_ENTRY, (unsigned)entry);
	return "(functions of puts)";
}

void sums_take(struct sums *t, const struct job *j)
{
	const struct walker walker = { .arg = t, .end = on_end };

	*t = (struct sums){ .j = j, .n_entries = count_entries(j) };
	t->pes = need(calloc((size_t)j->n_pes, sizeof *t->pes));
	t->entries = need(calloc(t->n_entries, sizeof *t->entries));
	for (int i = 0; i < j->n_pes; i++) {
		t->p = &j->pes[i];
		t->pe = &t->pes[i];
		if (t->p->head)
			trace_walk(j, t->p, &walker);
	}
}

void sums_free(struct sums *t)
{
	for (int i = 0; i < t->j->n_pes; i++)
		free(t->pes[i].tops);
	free(t->pes);
	free(t->entries);
}

struct matrix sums_matrix(const struct job *j, int most)
{
	struct matrix m = { .by_node = j->n_pes > most };
	int *row = need(calloc((size_t)j->n_pes, sizeof *row));

	for (int i = 0; i < j->n_pes; i++) {
		row[i] = m.by_node ? j->pes[i].head ? j->pes[i].head->node : 0 : i;
		m.n = row[i] >= m.n ? row[i] + 1 : m.n;
	}
	m.cells = need(calloc((size_t)m.n * (size_t)m.n, sizeof *m.cells));
	for (int i = 0; i < j->n_pes; i++) {
		const struct pe_trace *p = &j->pes[i];

		for (uint32_t k = 0; p->head && k < p->n; k++) {
			const struct trace_record *r = record_at(p, k);

			if ((r->kind != TRACE_SEND && r->kind != TRACE_PUT) || r->pe < 0 || r->pe >= j->n_pes)
				continue;
			struct cell *c = &m.cells[row[i] * m.n + row[r->pe]];

			c->n++;
			c->bytes += r->bytes;
		}
	}
	free(row);
	return m;
}
