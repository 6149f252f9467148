/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_data.c: a PE's data for the page of html.c: bars, moments and arrows in few bytes. A trace
 * may have millions of records, so they are numbers of variable length (7 bits a byte, the lowest
 * first) in base64.
 *
 * An item is written when it has ended, so the contents of a bar precede it, and the items of one
 * depth are in the order of time.
 *
 *   item       code, start, depth, rest, arrow if the code says so, element if the code says so
 *   code       kind (3 bits), whether there are an arrow and an element (1 bit each), name
 *   start      signed, since the start of the PE's item before
 *   rest       BAR, RESUMED: length    BLOCK: length, bars, ns covered, parts, and of each part name and own ns
 *              COUNTER: 8 bytes, a double    SENT: to which PE (signed), bytes    MOMENT: nothing
 *   arrow      from which PE, ns on the way, bytes, 1 + depth of the sender (0: outside of all bars)
 *   element    of a MOMENT first the name of its entry; three signed numbers
 *
 * Signed numbers are zigzag-encoded: 0, -1, 1, -2 are 0, 1, 2, 3.
 *
 * A page of a very long trace has blocks. Adjacent bars of one depth that are shorter than
 * out.shorter_ns become one block, with the time of each name in it. Their arrows are left out, and
 * so are moments.
 */
#include "page.h"

#include <stdlib.h>
#include <string.h>

enum item_kind { BAR, RESUMED, BLOCK, MOMENT, COUNTER, SENT };
enum { HAS_ARROW = 1 << 3, HAS_ELEMENT = 1 << 4, NAME_SHIFT = 5 };

struct item {
	enum item_kind kind;
	unsigned name;
	int64_t start, len, own;
	int depth;
	const struct message *message;   /* that arrived here; NULL: none */
	const struct trace_record *element;
};

/* Adjacent short bars of one depth. */
struct block {
	struct item first;
	int64_t end, covered;
	uint64_t n;
	int64_t *own;                    /* [n_names] */
	unsigned *parts;                 /* [n_parts]: names that occur in it */
	size_t n_parts;
};

struct stream {
	struct page_data *d;
	const struct pe_trace *p;
	int64_t last_start;
	int open;                        /* bars that have begun and not ended */
	size_t n_names;
	struct block blocks[PAGE_DEPTH_MOST];
	uint32_t *arrivals;              /* trace_arrivals(p) */
	int64_t *next_event;             /* [n_names]: marks and counters are shown from this time on */
	unsigned char three[3];          /* that wait for base64 */
	int n_three;
};

/* ---- bytes ---------------------------------------------------------------------------------------- */

static void write_three(struct stream *s)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned v = (unsigned)s->three[0] << 16 | (unsigned)s->three[1] << 8 | s->three[2];
	char out[4] = { digits[v >> 18], digits[v >> 12 & 63], digits[v >> 6 & 63], digits[v & 63] };

	for (int i = s->n_three + 1; i < 4; i++)
		out[i] = '=';
	s->d->chars += sizeof out;
	if (s->d->f)
		fwrite(out, 1, sizeof out, s->d->f);
	memset(s->three, 0, sizeof s->three);
	s->n_three = 0;
}

static void put_byte(struct stream *s, unsigned byte)
{
	s->three[s->n_three++] = (unsigned char)byte;
	if (s->n_three == 3)
		write_three(s);
}

static void put(struct stream *s, uint64_t v)
{
	for (; v > 127; v >>= 7)
		put_byte(s, (unsigned)(v & 127) | 128);
	put_byte(s, (unsigned)v);
}

static void put_signed(struct stream *s, int64_t v)
{
	put(s, v < 0 ? ~((uint64_t)v << 1) : (uint64_t)v << 1);
}

/* ---- items ---------------------------------------------------------------------------------------- */

static void put_head(struct stream *s, const struct item *i)
{
	put(s, (uint64_t)i->name << NAME_SHIFT | (i->message ? HAS_ARROW : 0) | (i->element ? HAS_ELEMENT : 0) | i->kind);
	put_signed(s, i->start - s->last_start);
	put(s, (uint64_t)i->depth);
	s->last_start = i->start;
}

static void put_tail(struct stream *s, const struct item *i)
{
	const struct job *j = s->d->j;

	if (i->message) {
		const struct message *m = i->message;
		const struct pe_trace *from = &j->pes[m->from];
		const struct trace_record *sent = record_at(from, m->sent);

		put(s, (uint64_t)m->from);
		put(s, (uint64_t)(i->start - record_ns(j, from, sent)));
		put(s, sent->bytes);
		put(s, s->d->sent_depth[m - j->messages]);
	}
	if (i->element && i->kind == MOMENT) {
		const struct span entry = { .kind = SPAN_ENTRY, .what = i->element->what };

		put(s, page_name_of(s->d->names, s->p, &entry));
	}
	for (int x = 0; i->element && x < 3; x++)
		put_signed(s, i->element->index[x]);
}

static void write_bar(struct stream *s, const struct item *i)
{
	put_head(s, i);
	put(s, (uint64_t)i->len);
	put_tail(s, i);
}

/* ---- blocks ---------------------------------------------------------------------------------------- */

static void add_to_block(struct stream *s, struct block *b, const struct item *i)
{
	if (!b->own) {
		b->own = need(calloc(s->n_names, sizeof *b->own));
		b->parts = need(calloc(s->n_names, sizeof *b->parts));
	}
	if (!b->n++)
		b->first = *i;
	b->end = i->start + i->len;
	b->covered += i->len;
	s->d->out.arrows += i->message != NULL;
	for (size_t k = 0; k < b->n_parts; k++)
		if (b->parts[k] == i->name) {
			b->own[i->name] += i->own;
			return;
		}
	b->parts[b->n_parts++] = i->name;
	b->own[i->name] = i->own;
}

static void write_block(struct stream *s, struct block *b)
{
	struct item head = b->first;

	head.kind = BLOCK;
	head.message = NULL;
	head.element = NULL;
	put_head(s, &head);
	put(s, (uint64_t)(b->end - head.start));
	put(s, b->n);
	put(s, (uint64_t)b->covered);
	put(s, b->n_parts);
	for (size_t k = 0; k < b->n_parts; k++) {
		put(s, b->parts[k]);
		put(s, (uint64_t)b->own[b->parts[k]]);
	}
	s->d->out.bars += b->n;
	s->d->out.blocks++;
}

/* The contents come first. A block of one bar is that bar. */
static void end_blocks(struct stream *s, int depth)
{
	for (int d = PAGE_DEPTH_MOST - 1; d >= depth; d--) {
		struct block *b = &s->blocks[d];

		if (b->n == 1) {
			s->d->out.arrows -= b->first.message != NULL;
			write_bar(s, &b->first);
		} else if (b->n) {
			write_block(s, b);
		}
		b->n = b->n_parts = 0;
		b->covered = 0;
	}
}

static void add_bar(struct stream *s, const struct item *i)
{
	const int64_t shorter = s->d->out.shorter_ns;
	struct block *b = &s->blocks[i->depth];
	bool is_short = i->len < shorter;

	if (b->n && (!is_short || i->start + i->len - b->first.start > 2 * shorter))
		end_blocks(s, i->depth);
	if (is_short) {
		add_to_block(s, b, i);
		return;
	}
	end_blocks(s, i->depth + 1);
	write_bar(s, i);
}

/* ---- a PE ------------------------------------------------------------------------------------------ */

static const struct message *message_of(const struct stream *s, const struct span *span)
{
	uint32_t number = s->p->message[span->record];

	return number && !span->resumed ? &s->d->j->messages[number - 1] : NULL;
}

static bool has_element(const struct span *s)
{
	return s->kind == SPAN_ENTRY || s->kind == SPAN_CREATE || s->kind == SPAN_CONTRIBUTE || s->kind == SPAN_LEAVE ||
	       s->kind == SPAN_COME;
}

/* The record that names the element of a span, or of the call that has arrived, and its entry. */
static const struct trace_record *element_of(const struct stream *s, const struct span *span)
{
	if (has_element(span))
		return record_at(s->p, span->record);
	if (span->kind == SPAN_ARRIVE && s->arrivals[span->record])
		return entry_begun(s->p, s->arrivals[span->record] - 1);
	return NULL;
}

static struct item item_of(const struct stream *s, const struct span *span, enum item_kind kind, int depth)
{
	return (struct item){
		.kind = kind, .name = page_name_of(s->d->names, s->p, span), .start = span->start,
		.len = span->end - span->start, .own = span->end - span->start - span->inner, .depth = depth,
		.element = element_of(s, span),
	};
}

static void on_begin(void *arg, const struct span *span)
{
	struct stream *s = arg;

	(void)span;
	s->open++;
}

static void on_end(void *arg, const struct span *span)
{
	struct stream *s = arg;

	s->open--;
	struct item i = item_of(s, span, span->resumed ? RESUMED : BAR, s->open);

	i.message = message_of(s, span);
	if (i.depth < PAGE_DEPTH_MOST) {
		add_bar(s, &i);
	} else {
		s->d->out.deep++;
		s->d->out.arrows += i.message != NULL;
	}
}

static void write_counter(struct stream *s, const struct item *i, uint64_t value)
{
	put_head(s, i);
	for (int b = 0; b < 8; b++)
		put_byte(s, (unsigned)(value >> 8 * b) & 255);
}

static void write_sent(struct stream *s, const struct item *i, const struct trace_record *r)
{
	put_head(s, i);
	put_signed(s, r->pe);
	put(s, r->bytes);
}

/* Where bars become blocks, each name among the program's events is shown once in that time, and
 * other moments are not shown. */
static bool is_shown(struct stream *s, const struct span *span, const struct item *i)
{
	const int64_t shorter = s->d->out.shorter_ns;
	bool of_program = span->kind == SPAN_MARK || span->kind == SPAN_COUNTER;
	bool shown = !shorter || (of_program && i->start >= s->next_event[i->name]);

	if (shown)
		s->next_event[i->name] = i->start + shorter;
	else {
		s->d->out.moments++;
		s->d->out.arrows += i->message != NULL;
	}
	return shown;
}

/* A sent message is an arrow where it was handled; it is an item only if that is not known. */
static void on_moment(void *arg, const struct span *span)
{
	struct stream *s = arg;
	const struct trace_record *r = record_at(s->p, span->record);
	bool sends = span->kind == SPAN_SEND || span->kind == SPAN_PUT_SENT;
	const struct message *m = message_of(s, span);
	struct item i = item_of(s, span, span->kind == SPAN_COUNTER ? COUNTER : sends ? SENT : MOMENT,
				s->open < PAGE_DEPTH_MOST ? s->open : PAGE_DEPTH_MOST);

	if (sends && m && m->to != NONE)
		return;
	i.message = sends ? NULL : m;
	if (!is_shown(s, span, &i))
		return;
	switch (i.kind) {
	case COUNTER: write_counter(s, &i, record_value(r)); break;
	case SENT: write_sent(s, &i, r); break;
	default:
		put_head(s, &i);
		put_tail(s, &i);
	}
}

void page_data_write(struct page_data *d, const struct pe_trace *p)
{
	struct stream s = { .d = d, .p = p, .n_names = page_names_count(d->names) };
	const struct walker walker = { &s, on_begin, on_end, on_moment };

	s.next_event = need(calloc(s.n_names, sizeof *s.next_event));
	s.arrivals = trace_arrivals(p);
	trace_walk(d->j, p, &walker);
	end_blocks(&s, 0);
	if (s.n_three)
		write_three(&s);
	for (int i = 0; i < PAGE_DEPTH_MOST; i++) {
		free(s.blocks[i].own);
		free(s.blocks[i].parts);
	}
	free(s.next_event);
	free(s.arrivals);
}

/* ---- where messages were sent ------------------------------------------------------------------------ */

struct senders {
	const struct pe_trace *p;
	uint8_t *depth;
	int open;
};

static void sender_begins(void *arg, const struct span *span)
{
	(void)span;
	((struct senders *)arg)->open++;
}

static void sender_ends(void *arg, const struct span *span)
{
	(void)span;
	((struct senders *)arg)->open--;
}

static void sender_sends(void *arg, const struct span *span)
{
	struct senders *s = arg;
	uint32_t number = s->p->message[span->record];

	if (number && (span->kind == SPAN_SEND || span->kind == SPAN_PUT_SENT))
		s->depth[number - 1] = (uint8_t)(s->open < PAGE_DEPTH_MOST ? s->open : PAGE_DEPTH_MOST);
}

uint8_t *page_sent_depths(const struct job *j)
{
	struct senders s = { .depth = need(calloc(j->n_messages + 1, 1)) };
	const struct walker walker = { &s, sender_begins, sender_ends, sender_sends };

	for (int i = 0; i < j->n_pes; i++) {
		s.p = &j->pes[i];
		if (s.p->head)
			trace_walk(j, s.p, &walker);
	}
	return s.depth;
}
