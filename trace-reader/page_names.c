/* SPDX-License-Identifier: Apache-2.0 */
/* page_names.c: one table of names for all PEs of a job. */
#include "page.h"

#include <stdlib.h>
#include <string.h>

/* A number without a name is "?". */
static unsigned find_event(struct page_names *names, const char *text)
{
	for (size_t i = 0; i < names->n_events; i++)
		if (strcmp(names->event[i], text) == 0)
			return (unsigned)i;
	names->event = need(realloc(names->event, (names->n_events + 1) * sizeof *names->event));
	names->event[names->n_events] = text;
	return (unsigned)names->n_events++;
}

void page_names_init(struct page_names *names, const struct job *j)
{
	*names = (struct page_names){ .n_entries = n_names(j, TRACE_NAME_ENTRY),
				      .n_handlers = n_names(j, TRACE_NAME_HANDLER) };
	names->event_of = need(calloc((size_t)j->n_pes, sizeof *names->event_of));
	find_event(names, "?");
	for (int i = 0; i < j->n_pes; i++) {
		const struct pe_trace *p = &j->pes[i];
		size_t n = p->names[TRACE_NAME_EVENT].n;

		names->event_of[i] = need(calloc(n + 1, sizeof **names->event_of));
		for (size_t e = 0; e < n; e++)
			names->event_of[i][e] = find_event(names, trace_name_of(p, TRACE_NAME_EVENT, (unsigned)e));
	}
}

void page_names_free(struct page_names *names, const struct job *j)
{
	for (int i = 0; i < j->n_pes; i++)
		free(names->event_of[i]);
	free(names->event_of);
	free(names->event);
}

/* After the entries and after the handlers one name is reserved, for numbers without one. */
size_t page_names_count(const struct page_names *names)
{
	return SPAN_KINDS + names->n_entries + 1 + names->n_handlers + 1 + names->n_events;
}

unsigned page_name_of(const struct page_names *names, const struct pe_trace *p, const struct span *s)
{
	const size_t handlers = SPAN_KINDS + names->n_entries + 1, events = handlers + names->n_handlers + 1;
	const unsigned what = s->what;

	switch (s->kind) {
	case SPAN_ENTRY:
		return (unsigned)(SPAN_KINDS + (what < names->n_entries ? what : names->n_entries));
	case SPAN_HANDLER:
		return (unsigned)(handlers + (what < names->n_handlers ? what : names->n_handlers));
	case SPAN_USER: case SPAN_MARK: case SPAN_COUNTER:
		return (unsigned)events + (what < p->names[TRACE_NAME_EVENT].n ? names->event_of[p->head->pe][what] : 0);
	default:
		return s->kind;
	}
}
