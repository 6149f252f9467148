/* SPDX-License-Identifier: Apache-2.0 */
/*
 * projections.c: logs for Projections, the viewer of Charm++'s traces: one .sts file with the
 * names, and a log per PE. A line of a log is a number for its kind and then numbers; times are
 * whole microseconds.
 *
 * Projections does not know nested spans of processing. So the innermost span of entries, handlers
 * and puts is what a PE processes, and the one around it continues, as the same entry, when the
 * inner one has ended.
 */
#include "model.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum line_kind {
	CREATION = 1, BEGIN_PROCESSING = 2, END_PROCESSING = 3, BEGIN_COMPUTATION = 6, END_COMPUTATION = 7,
	USER_EVENT = 13, BEGIN_IDLE = 14, END_IDLE = 15, USER_PAIR = 100,
};

enum { MESSAGE_CHARE = 0 };          /* the only type of messages: the trace has no types */

struct log {
	const struct job *j;
	const struct pe_trace *p;
	FILE *f;
	struct span *open;               /* [n]: processed, the innermost last */
	size_t n, cap;
	uint32_t next_event;             /* for spans without a message: after all numbers of messages */
	uint64_t lines;
};

/* Entries as in the trace, from 1; 0 is the functions of puts; the runtime's handlers follow. */
static unsigned entry_of(const struct job *j, const struct span *s)
{
	size_t n = n_names(j, TRACE_NAME_ENTRY);

	if (s->kind == SPAN_ENTRY)
		return s->what;
	return s->kind == SPAN_HANDLER ? (unsigned)(n ? n : 1) + s->what : 0;
}

static int64_t us(int64_t ns) { return ns / 1000; }

/* The key that matches a creation and its processing: number and PE of the sender. */
static uint32_t event_of(struct log *l, const struct span *s, int *pe_p, uint32_t *bytes_p)
{
	uint32_t number = l->p->message[s->record];

	*pe_p = l->p->head->pe;
	*bytes_p = 0;
	if (!number)
		return l->next_event++;
	const struct message *m = &l->j->messages[number - 1];

	*pe_p = m->from;
	*bytes_p = record_at(&l->j->pes[m->from], m->sent)->bytes;
	return number;
}

static void begin_line(struct log *l, const struct span *s, int64_t at)
{
	const struct trace_record *r = record_at(l->p, s->record);
	bool element = s->kind == SPAN_ENTRY;
	uint32_t bytes;
	int pe;
	uint32_t event = event_of(l, s, &pe, &bytes);

	fprintf(l->f, "%d %d %u %" PRId64 " %u %d %u %" PRId64 " %d %d %d 0 0\n", BEGIN_PROCESSING, MESSAGE_CHARE,
		entry_of(l->j, s), us(at), event, pe, bytes, us(s->start), element ? r->index[0] : 0,
		element ? r->index[1] : 0, element ? r->index[2] : 0);
	l->lines++;
}

static void end_line(struct log *l, const struct span *s, int64_t at)
{
	fprintf(l->f, "%d %d %u %" PRId64 " %u %d 0 0\n", END_PROCESSING, MESSAGE_CHARE, entry_of(l->j, s), us(at),
		l->p->message[s->record], l->p->head->pe);
	l->lines++;
}

static bool is_processed(const struct span *s)
{
	return s->kind == SPAN_ENTRY || s->kind == SPAN_HANDLER || s->kind == SPAN_PUT;
}

static void idle_or_user(struct log *l, const struct span *s, int64_t at, bool begins)
{
	if (s->kind == SPAN_IDLE)
		fprintf(l->f, "%d %" PRId64 " %d\n", begins ? BEGIN_IDLE : END_IDLE, us(at), l->p->head->pe);
	else
		fprintf(l->f, "%d %u %" PRId64 " %u %d\n", USER_PAIR, trace_event_of(l->p, s->what), us(at), l->next_event++, l->p->head->pe);
	l->lines++;
}

static void on_begin(void *arg, const struct span *s)
{
	struct log *l = arg;

	if (!is_processed(s)) {
		idle_or_user(l, s, s->start, true);
		return;
	}
	if (l->n)
		end_line(l, &l->open[l->n - 1], s->start);
	if (l->n == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 16;
		l->open = need(realloc(l->open, l->cap * sizeof *l->open));
	}
	l->open[l->n++] = *s;
	begin_line(l, s, s->start);
}

static void on_end(void *arg, const struct span *s)
{
	struct log *l = arg;

	if (!is_processed(s)) {
		idle_or_user(l, s, s->end, false);
		return;
	}
	end_line(l, s, s->end);
	if (--l->n)
		begin_line(l, &l->open[l->n - 1], s->end);
}

/* The entry that a message calls is known where it was handled. */
static unsigned called(const struct job *j, const struct message *m)
{
	if (m->to == NONE || m->put)
		return 0;
	const struct trace_record *r = record_at(&j->pes[m->to], m->taken);
	struct span s = { .kind = r->kind == TRACE_BEGIN ? SPAN_ENTRY : SPAN_HANDLER, .what = r->what };

	return entry_of(j, &s);
}

static void on_moment(void *arg, const struct span *s)
{
	struct log *l = arg;
	const struct trace_record *r = record_at(l->p, s->record);
	uint32_t number = l->p->message[s->record];

	if ((s->kind == SPAN_SEND || s->kind == SPAN_PUT_SENT) && number)
		fprintf(l->f, "%d %d %u %" PRId64 " %u %d %u 0\n", CREATION, MESSAGE_CHARE,
			called(l->j, &l->j->messages[number - 1]), us(s->start), number, l->p->head->pe, r->bytes);
	else if (s->kind == SPAN_MARK)
		fprintf(l->f, "%d %u %" PRId64 " %u %d\n", USER_EVENT, trace_event_of(l->p, s->what), us(s->start), l->next_event++,
			l->p->head->pe);
	else
		return;
	l->lines++;
}

static void write_log(const struct job *j, const struct pe_trace *p, const char *base)
{
	char name[4400];
	struct log l = { .j = j, .p = p, .next_event = (uint32_t)j->n_messages + 1 };
	const struct walker walker = { &l, on_begin, on_end, on_moment };

	snprintf(name, sizeof name, "%s.%d.log", base, p->head->pe);
	l.f = open_output(name);
	/* The first line has the number of lines, with space for any number. */
	fprintf(l.f, "PROJECTIONS-RECORD %-20d\n%d 0\n", 0, BEGIN_COMPUTATION);
	trace_walk(j, p, &walker);
	fprintf(l.f, "%d %" PRId64 "\n", END_COMPUTATION, us(j->end_ns));
	fseek(l.f, 0, SEEK_SET);
	fprintf(l.f, "PROJECTIONS-RECORD %-20" PRIu64 "\n", l.lines + 2);
	close_output(l.f, name);
	free(l.open);
}

/* ---- the names ---------------------------------------------------------------------------------------- */

/* The entries of a chare are consecutive. Returns the number of chares; with f, prints their lines,
 * or those of the entries. */
static int chares(const struct job *j, FILE *f, bool entries)
{
	size_t n = n_names(j, TRACE_NAME_ENTRY);
	const char *last = "";
	size_t last_len = 0;
	int number = 0;

	for (unsigned e = 1; e < n; e++) {
		const char *name = trace_any_name(j, TRACE_NAME_ENTRY, e), *colon = strstr(name, "::");
		size_t len = colon ? (size_t)(colon - name) : strlen(name);
		bool same = len == last_len && strncmp(name, last, len) == 0;

		number += !same;
		if (f && !entries && !same)
			fprintf(f, "CHARE %d \"%.*s\" 1\n", number, (int)len, name);
		if (f && entries)
			fprintf(f, "ENTRY CHARE %u \"%s\" %d %d\n", e, colon ? colon + 2 : name, number, MESSAGE_CHARE);
		last = name;
		last_len = len;
	}
	return number;
}

static void write_sts(const struct job *j, const struct trace_head *h, const char *base)
{
	size_t n_entries = n_names(j, TRACE_NAME_ENTRY), n_handlers = n_names(j, TRACE_NAME_HANDLER);
	size_t n_events = j->events.n;
	char name[4400];

	n_entries = n_entries ? n_entries : 1;
	snprintf(name, sizeof name, "%s.sts", base);
	FILE *f = open_output(name);

	fprintf(f, "PROJECTIONS_ID %" PRIx64 "-%d\nVERSION 11.0\nTOTAL_PHASES 1\nMACHINE \"Chard on %s\"\n",
		h->start_real_ns, h->pid, h->host);
	fprintf(f, "PROCESSORS %d\nSMPMODE %d %d\nCOMMANDLINE \"%s\"\n", j->n_pes, j->n_pes / h->n_nodes, h->n_nodes,
		h->command);
	fprintf(f, "TOTAL_CHARES %d\nTOTAL_EPS %zu\nTOTAL_MSGS 1\nTOTAL_PSEUDOS 0\nTOTAL_EVENTS %zu\n", chares(j, NULL, false) + 1,
		n_entries + n_handlers, n_events);
	fprintf(f, "CHARE 0 \"(runtime)\" 0\n");
	chares(j, f, false);
	fprintf(f, "ENTRY CHARE 0 \"(functions of puts)\" 0 %d\n", MESSAGE_CHARE);
	chares(j, f, true);
	for (unsigned i = 0; i < n_handlers; i++)
		fprintf(f, "ENTRY CHARE %zu \"%s\" 0 %d\n", n_entries + i, trace_any_name(j, TRACE_NAME_HANDLER, i), MESSAGE_CHARE);
	fprintf(f, "MESSAGE %d 64\n", MESSAGE_CHARE);
	for (unsigned i = 0; i < n_events; i++)
		fprintf(f, "EVENT %u %s\n", i, j->events.text[i]);
	fprintf(f, "END\n");
	close_output(f, name);
}

/* The program's name without its folders, and without arguments. */
static void base_name(char *base, size_t len, const char *folder, const char *command)
{
	size_t n = strcspn(command, " ");
	const char *from = command;

	for (size_t i = 0; i < n; i++)
		if (command[i] == '/')
			from = command + i + 1;
	snprintf(base, len, "%s/%.*s", folder, (int)(command + n - from), from);
}

void write_projections(const struct job *j, const char *folder)
{
	const struct trace_head *h = NULL;
	char base[4300];

	if (mkdir(folder, 0777) && errno != EEXIST) {
		complain("%s: %s", folder, strerror(errno));
		exit(1);
	}
	for (int i = j->n_pes; i-- > 0;)
		if (j->pes[i].head)
			h = j->pes[i].head;
	base_name(base, sizeof base, folder, h->command);
	write_sts(j, h, base);
	for (int i = 0; i < j->n_pes; i++)
		if (j->pes[i].head)
			write_log(j, &j->pes[i], base);
}
