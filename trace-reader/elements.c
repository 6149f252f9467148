/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elements.c: elements as text, Block(0, 3), and the entry methods that messages lead to.
 *
 * A trace does not say how many dimensions an array has, so an element has as many numbers as some
 * element of its chare needs: those up to the last one that is not 0.
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

static bool has_index(const struct trace_record *r)
{
	return r->kind == TRACE_BEGIN || r->kind == TRACE_CREATE || r->kind == TRACE_CONTRIBUTE ||
	       r->kind == TRACE_LEAVE || r->kind == TRACE_COME;
}

static int chare_bytes(const char *entry)
{
	const char *end = strstr(entry, "::");

	return end ? (int)(end - entry) : (int)strlen(entry);
}

static bool same_chare(const char *a, const char *b)
{
	const int n = chare_bytes(a);

	return n == chare_bytes(b) && memcmp(a, b, (size_t)n) == 0;
}

/* Entries of one chare have numbers that follow each other. */
static void share_with_chare(struct elements *e, const struct job *j)
{
	size_t first = 0;

	for (size_t i = 1; i <= e->n; i++) {
		if (i < e->n && same_chare(trace_any_name(j, TRACE_NAME_ENTRY, (unsigned)i),
					   trace_any_name(j, TRACE_NAME_ENTRY, (unsigned)first)))
			continue;
		unsigned char most = 1;

		for (size_t k = first; k < i; k++)
			most = e->dims[k] > most ? e->dims[k] : most;
		for (size_t k = first; k < i; k++)
			e->dims[k] = most;
		first = i;
	}
}

void elements_init(struct elements *e, const struct job *j)
{
	*e = (struct elements){ .n = n_names(j, TRACE_NAME_ENTRY) };
	e->dims = need(calloc(e->n + 1, sizeof *e->dims));
	for (int i = 0; i < j->n_pes; i++)
		for (uint32_t k = 0; j->pes[i].head && k < j->pes[i].n; k++) {
			const struct trace_record *r = record_at(&j->pes[i], k);
			const unsigned char dims = has_index(r) ? r->index[2] ? 3 : r->index[1] ? 2 : 1 : 0;

			if (r->what < e->n && dims > e->dims[r->what])
				e->dims[r->what] = dims;
		}
	share_with_chare(e, j);
}

void elements_free(struct elements *e)
{
	free(e->dims);
}

const char *element_text(const struct elements *e, const struct job *j,
			 const struct trace_record *r, char *text, size_t room)
{
	const char *entry = trace_any_name(j, TRACE_NAME_ENTRY, r->what);
	const int dims = r->what < e->n ? e->dims[r->what] : 1;
	int n = snprintf(text, room, "%.*s(%d", chare_bytes(entry) < 100 ? chare_bytes(entry) : 100, entry,
			 r->index[0]);

	for (int i = 1; i < dims; i++)
		n += snprintf(text + n, room - (size_t)n, ", %d", r->index[i]);
	snprintf(text + n, room - (size_t)n, ")");
	return text;
}

/* ---- what messages lead to ------------------------------------------------------------------ */

const struct trace_record *entry_begun(const struct pe_trace *p, uint32_t record)
{
	const struct trace_record *r = record_at(p, record), *next;

	if (r->kind == TRACE_BEGIN)
		return r;
	if ((r->kind != TRACE_HANDLE && r->kind != TRACE_PUT_BEGIN) || record + 1 == p->n)
		return NULL;
	next = record_at(p, record + 1);
	return next->kind == TRACE_BEGIN ? next : NULL;
}

/* The arrival of a message, or its handler. */
struct passage {
	int32_t from;
	uint32_t seq;
	bool keyed;
	uint32_t record;
};

static int compare_kin(const struct passage *a, const struct passage *b)
{
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->keyed != b->keyed)
		return a->keyed ? 1 : -1;
	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static int compare_passages(const void *a, const void *b)
{
	const struct passage *x = a, *y = b;
	const int c = compare_kin(x, y);

	return c ? c : x->record < y->record ? -1 : x->record > y->record;
}

static struct passage *list_passages(const struct pe_trace *p, size_t *n)
{
	struct passage *all = need(malloc((p->n + 1) * sizeof *all));

	*n = 0;
	for (uint32_t k = 0; k < p->n; k++) {
		const struct trace_record *r = record_at(p, k);

		if (r->kind == TRACE_ARRIVE || record_is_handled(r))
			all[(*n)++] = (struct passage){ r->pe, r->seq, r->flags & TRACE_KEYED, k };
	}
	if (*n)
		qsort(all, *n, sizeof *all, compare_passages);
	return all;
}

/* Among messages that look alike the first that came is handled first. */
uint32_t *trace_arrivals(const struct pe_trace *p)
{
	uint32_t *handled = need(calloc(p->n + 1, sizeof *handled));
	size_t n, waits = 0;
	struct passage *all = list_passages(p, &n);

	for (size_t i = 0; i < n; i++) {
		if (compare_kin(&all[i], &all[waits]))
			waits = i;
		if (record_at(p, all[i].record)->kind == TRACE_ARRIVE)
			continue;
		while (waits < i && record_at(p, all[waits].record)->kind != TRACE_ARRIVE)
			waits++;
		if (waits < i)
			handled[all[waits++].record] = 1 + all[i].record;
	}
	free(all);
	return handled;
}
