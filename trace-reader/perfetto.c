/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto.c: a trace for Perfetto's UI (ui.perfetto.dev), in hand-written protocol buffers. The
 * numbers of fields are those that perfetto/trace publishes.
 *
 * A process is a node, a thread a PE; a counter of the program has a track of its own. Each PE is
 * one sequence of packets with its own table of names. A message is a flow from its send to its
 * handler.
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2 };

enum {
	TRACE_PACKET = 1,
	PACKET_TIMESTAMP = 8, PACKET_SEQUENCE = 10, PACKET_EVENT = 11, PACKET_INTERNED = 12, PACKET_FLAGS = 13,
	PACKET_TRACK = 60,
	INTERNED_CATEGORY = 1, INTERNED_NAME = 2, INTERNED_ARGUMENT = 3,
	NAME_ID = 1, NAME_TEXT = 2,
	EVENT_CATEGORY = 3, EVENT_ARGUMENT = 4, EVENT_TYPE = 9, EVENT_NAME = 10, EVENT_TRACK = 11,
	EVENT_COUNTER_DOUBLE = 44, EVENT_FLOW = 47, EVENT_FLOW_END = 48,
	ARGUMENT_NAME = 1, ARGUMENT_INT = 4, ARGUMENT_STRING = 6,
	TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_THREAD = 4, TRACK_PARENT = 5, TRACK_COUNTER = 8,
	PROCESS_PID = 1, PROCESS_NAME = 6, THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5,
	TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4,
	FLAG_CLEARED = 1, FLAG_NEEDS_NAMES = 2,
};

/* Names that each sequence has; those of a PE's own tables follow. */
enum { NAME_FIXED = 100, NAME_ENTRY = 1000, NAME_HANDLER = 70000, NAME_EVENT = 80000 };
enum {
	ARGUMENT_ELEMENT = 1, ARGUMENT_BYTES, ARGUMENT_TO, ARGUMENT_FROM, ARGUMENT_VALUE,
	ARGUMENT_ENTRY, ARGUMENTS
};

struct buffer {
	unsigned char *at;
	size_t n, cap;
};

static void put_bytes(struct buffer *b, const void *p, size_t n)
{
	if (b->n + n > b->cap) {
		b->cap = 2 * (b->n + n) + 256;
		b->at = need(realloc(b->at, b->cap));
	}
	memcpy(b->at + b->n, p, n);
	b->n += n;
}

static void put_varint(struct buffer *b, uint64_t v)
{
	unsigned char out[10];
	size_t n = 0;

	do {
		out[n++] = (unsigned char)((v & 127) | (v > 127 ? 128 : 0));
		v >>= 7;
	} while (v);
	put_bytes(b, out, n);
}

static void put_number(struct buffer *b, unsigned field, uint64_t v)
{
	put_varint(b, field << 3 | VARINT);
	put_varint(b, v);
}

static void put_fixed(struct buffer *b, unsigned field, uint64_t v)
{
	unsigned char out[8];

	for (int i = 0; i < 8; i++)
		out[i] = (unsigned char)(v >> 8 * i);
	put_varint(b, field << 3 | FIXED64);
	put_bytes(b, out, sizeof out);
}

static void put_block(struct buffer *b, unsigned field, const void *p, size_t n)
{
	put_varint(b, field << 3 | BYTES);
	put_varint(b, n);
	put_bytes(b, p, n);
}

static void put_text(struct buffer *b, unsigned field, const char *text)
{
	put_block(b, field, text, strlen(text));
}

/* ---- packets ---------------------------------------------------------------------------------------- */

struct writer {
	const struct job *j;
	const struct pe_trace *p;
	FILE *f;
	struct elements elements;
	uint32_t *arrivals;          /* trace_arrivals(p) */
	struct buffer packet, event, part, out;
};

static void write_packet(struct writer *w)
{
	w->out.n = 0;
	put_block(&w->out, TRACE_PACKET, w->packet.at, w->packet.n);
	fwrite(w->out.at, 1, w->out.n, w->f);
	w->packet.n = 0;
}

static uint64_t node_uuid(int node) { return 1 + (uint64_t)node; }
static uint64_t pe_uuid(int pe) { return ((uint64_t)1 << 32) + (uint64_t)pe; }
static uint64_t counter_uuid(int pe, unsigned what)
{
	return ((uint64_t)2 << 32) + (uint64_t)pe * 65536 + what;
}

static void write_track(struct writer *w)
{
	put_block(&w->packet, PACKET_TRACK, w->event.at, w->event.n);
	w->event.n = 0;
	write_packet(w);
}

static void write_node(struct writer *w)
{
	const struct trace_head *h = w->p->head;
	char name[128 + TRACE_HOST];

	snprintf(name, sizeof name, "node %d on %s", h->node, h->host);
	w->part.n = 0;
	put_number(&w->part, PROCESS_PID, (uint64_t)h->node + 1);
	put_text(&w->part, PROCESS_NAME, name);
	put_number(&w->event, TRACK_UUID, node_uuid(h->node));
	put_block(&w->event, TRACK_PROCESS, w->part.at, w->part.n);
	write_track(w);
}

static void write_pe(struct writer *w)
{
	const struct trace_head *h = w->p->head;
	char name[32];

	snprintf(name, sizeof name, "PE %d", h->pe);
	w->part.n = 0;
	put_number(&w->part, THREAD_PID, (uint64_t)h->node + 1);
	put_number(&w->part, THREAD_TID, (uint64_t)h->pe + 1);
	put_text(&w->part, THREAD_NAME, name);
	put_number(&w->event, TRACK_UUID, pe_uuid(h->pe));
	put_number(&w->event, TRACK_PARENT, node_uuid(h->node));
	put_block(&w->event, TRACK_THREAD, w->part.at, w->part.n);
	write_track(w);
}

static void write_counter(struct writer *w, unsigned what)
{
	char name[256];

	snprintf(name, sizeof name, "%.200s, PE %d", trace_name_of(w->p, TRACE_NAME_EVENT, what), w->p->head->pe);
	put_number(&w->event, TRACK_UUID, counter_uuid(w->p->head->pe, what));
	put_number(&w->event, TRACK_PARENT, node_uuid(w->p->head->node));
	put_text(&w->event, TRACK_NAME, name);
	put_block(&w->event, TRACK_COUNTER, "", 0);
	write_track(w);
}

/* ---- names -------------------------------------------------------------------------------------------- */

static void intern(struct writer *w, unsigned field, uint64_t id, const char *text)
{
	w->part.n = 0;
	put_number(&w->part, NAME_ID, id);
	put_text(&w->part, NAME_TEXT, text);
	put_block(&w->event, field, w->part.at, w->part.n);
}

static void intern_table(struct writer *w, enum trace_name_kind kind, unsigned base)
{
	for (unsigned i = 0; i < w->p->names[kind].n; i++)
		intern(w, INTERNED_NAME, base + i, trace_name_of(w->p, kind, i));
}

static const char *const categories[SPAN_KINDS] = {
	[SPAN_HANDLER] = "runtime", [SPAN_ENTRY] = "entry", [SPAN_PUT] = "put", [SPAN_IDLE] = "idle",
	[SPAN_USER] = "user", [SPAN_SEND] = "send", [SPAN_PUT_SENT] = "put", [SPAN_TAKEN] = "runtime",
	[SPAN_CREATE] = "creation", [SPAN_CONTRIBUTE] = "reduction", [SPAN_MARK] = "user",
	[SPAN_COUNTER] = "user", [SPAN_ARRIVE] = "arrival", [SPAN_LEAVE] = "move", [SPAN_COME] = "move",
};

static void write_names(struct writer *w)
{
	static const char *const arguments[] = {
		[ARGUMENT_ELEMENT] = "element", [ARGUMENT_BYTES] = "bytes", [ARGUMENT_TO] = "to PE",
		[ARGUMENT_FROM] = "from PE", [ARGUMENT_VALUE] = "number", [ARGUMENT_ENTRY] = "entry",
	};

	for (int k = 0; k < SPAN_KINDS; k++) {
		struct span s = { .kind = (enum span_kind)k };

		intern(w, INTERNED_CATEGORY, (uint64_t)k + 1, categories[k]);
		intern(w, INTERNED_NAME, NAME_FIXED + (uint64_t)k, span_name(w->p, &s));
	}
	for (int a = ARGUMENT_ELEMENT; a < ARGUMENTS; a++)
		intern(w, INTERNED_ARGUMENT, (uint64_t)a, arguments[a]);
	intern_table(w, TRACE_NAME_ENTRY, NAME_ENTRY);
	intern_table(w, TRACE_NAME_HANDLER, NAME_HANDLER);
	intern_table(w, TRACE_NAME_EVENT, NAME_EVENT);
	put_block(&w->packet, PACKET_INTERNED, w->event.at, w->event.n);
	w->event.n = 0;
	put_number(&w->packet, PACKET_SEQUENCE, (uint64_t)w->p->head->pe + 1);
	put_number(&w->packet, PACKET_FLAGS, FLAG_CLEARED | FLAG_NEEDS_NAMES);
	write_packet(w);
}

static uint64_t name_id(const struct span *s)
{
	switch (s->kind) {
	case SPAN_ENTRY: return NAME_ENTRY + s->what;
	case SPAN_HANDLER: return NAME_HANDLER + s->what;
	case SPAN_USER: case SPAN_MARK: case SPAN_COUNTER: return NAME_EVENT + s->what;
	default: return NAME_FIXED + s->kind;
	}
}

/* ---- events --------------------------------------------------------------------------------------------- */

static void argument(struct writer *w, unsigned name, int64_t number, const char *text)
{
	w->part.n = 0;
	put_number(&w->part, ARGUMENT_NAME, name);
	if (text)
		put_text(&w->part, ARGUMENT_STRING, text);
	else
		put_number(&w->part, ARGUMENT_INT, (uint64_t)number);
	put_block(&w->event, EVENT_ARGUMENT, w->part.at, w->part.n);
}

static void write_event(struct writer *w, int64_t ns)
{
	put_number(&w->packet, PACKET_TIMESTAMP, (uint64_t)ns);
	put_block(&w->packet, PACKET_EVENT, w->event.at, w->event.n);
	w->event.n = 0;
	put_number(&w->packet, PACKET_SEQUENCE, (uint64_t)w->p->head->pe + 1);
	put_number(&w->packet, PACKET_FLAGS, FLAG_NEEDS_NAMES);
	write_packet(w);
}

static void open_event(struct writer *w, unsigned type, const struct span *s)
{
	put_number(&w->event, EVENT_TYPE, type);
	put_number(&w->event, EVENT_TRACK, pe_uuid(w->p->head->pe));
	put_number(&w->event, EVENT_NAME, name_id(s));
	put_number(&w->event, EVENT_CATEGORY, (uint64_t)s->kind + 1);
}

static void add_element(struct writer *w, const struct trace_record *r)
{
	char text[ELEMENT_TEXT];

	argument(w, ARGUMENT_ELEMENT, 0, element_text(&w->elements, w->j, r, text, sizeof text));
}

/* The entry method that record `handled` of a PE leads to, and its element. */
static void add_entry_begun(struct writer *w, const struct pe_trace *p, uint32_t handled)
{
	const struct trace_record *r = entry_begun(p, handled);

	if (!r)
		return;
	argument(w, ARGUMENT_ENTRY, 0, trace_any_name(w->j, TRACE_NAME_ENTRY, r->what));
	add_element(w, r);
}

/* A message or a put that is sent: the name of a call, or of a named channel, is its entry's. */
static void add_target(struct writer *w, const struct span *s)
{
	const uint32_t number = w->p->message[s->record];
	const struct message *m = number ? &w->j->messages[number - 1] : NULL;

	if (m && m->to != NONE)
		add_entry_begun(w, &w->j->pes[m->to], m->taken);
}

static void add_arguments(struct writer *w, const struct span *s, const struct trace_record *r)
{
	switch (s->kind) {
	case SPAN_ENTRY: case SPAN_CREATE: case SPAN_CONTRIBUTE: case SPAN_LEAVE: case SPAN_COME:
		add_element(w, r);
		if (s->kind == SPAN_LEAVE && r->pe >= 0)
			argument(w, ARGUMENT_TO, r->pe, NULL);
		break;
	case SPAN_SEND: case SPAN_PUT_SENT:
		argument(w, ARGUMENT_TO, r->pe, NULL);
		argument(w, ARGUMENT_BYTES, r->bytes, NULL);
		add_target(w, s);
		break;
	case SPAN_HANDLER: case SPAN_TAKEN: case SPAN_ARRIVE:
		argument(w, ARGUMENT_FROM, r->pe, NULL);
		argument(w, ARGUMENT_BYTES, r->bytes, NULL);
		if (s->kind == SPAN_ARRIVE && w->arrivals[s->record])
			add_entry_begun(w, w->p, w->arrivals[s->record] - 1);
		break;
	case SPAN_PUT:
		argument(w, ARGUMENT_VALUE, r->seq, NULL);
		argument(w, ARGUMENT_BYTES, r->bytes, NULL);
		add_entry_begun(w, w->p, s->record);
		break;
	default:
		break;
	}
}

/* The arrow of the record's message: out of the sender, or into the handler. */
static void add_flow(struct writer *w, const struct span *s)
{
	uint32_t number = w->p->message[s->record];

	if (!number || s->resumed)
		return;
	const struct message *m = &w->j->messages[number - 1];

	if (m->to == NONE)
		return;
	bool sends = s->kind == SPAN_SEND || s->kind == SPAN_PUT_SENT;

	put_fixed(&w->event, sends ? EVENT_FLOW : EVENT_FLOW_END, number);
}

static void on_begin(void *arg, const struct span *s)
{
	struct writer *w = arg;

	open_event(w, TYPE_BEGIN, s);
	add_flow(w, s);
	if (!s->resumed)
		add_arguments(w, s, record_at(w->p, s->record));
	write_event(w, s->start);
}

static void on_end(void *arg, const struct span *s)
{
	struct writer *w = arg;

	put_number(&w->event, EVENT_TYPE, TYPE_END);
	put_number(&w->event, EVENT_TRACK, pe_uuid(w->p->head->pe));
	write_event(w, s->end);
}

static void on_counter(struct writer *w, const struct span *s)
{
	put_number(&w->event, EVENT_TYPE, TYPE_COUNTER);
	put_number(&w->event, EVENT_TRACK, counter_uuid(w->p->head->pe, s->what));
	put_fixed(&w->event, EVENT_COUNTER_DOUBLE, record_value(record_at(w->p, s->record)));
	write_event(w, s->start);
}

static void on_moment(void *arg, const struct span *s)
{
	struct writer *w = arg;

	if (s->kind == SPAN_COUNTER) {
		on_counter(w, s);
		return;
	}
	open_event(w, TYPE_INSTANT, s);
	add_flow(w, s);
	add_arguments(w, s, record_at(w->p, s->record));
	write_event(w, s->start);
}

static void write_counters(struct writer *w)
{
	const size_t n = w->p->names[TRACE_NAME_EVENT].n;
	bool *counted = need(calloc(n + 1, sizeof *counted));

	for (uint32_t i = 0; i < w->p->n; i++) {
		const struct trace_record *r = record_at(w->p, i);

		if (r->kind == TRACE_USER_COUNTER && r->what < n && !counted[r->what]) {
			counted[r->what] = true;
			write_counter(w, r->what);
		}
	}
	free(counted);
}

void write_perfetto(const struct job *j, FILE *f)
{
	struct writer w = { .j = j, .f = f };
	const struct walker walker = { &w, on_begin, on_end, on_moment };
	int node = -1;

	elements_init(&w.elements, j);
	for (int i = 0; i < j->n_pes; i++) {
		w.p = &j->pes[i];
		if (!w.p->head)
			continue;
		if (w.p->head->node != node)
			write_node(&w);
		node = w.p->head->node;
		write_pe(&w);
		write_counters(&w);
		write_names(&w);
		w.arrivals = trace_arrivals(w.p);
		trace_walk(j, w.p, &walker);
		free(w.arrivals);
	}
	elements_free(&w.elements);
	free(w.packet.at);
	free(w.event.at);
	free(w.part.at);
	free(w.out.at);
}
