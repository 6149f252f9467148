/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html.c: a trace as one page for any browser. The page is self-contained: its style, its scripts
 * and all data are in it, and its policy forbids it to load anything.
 *
 * The page's own files are in page/; page.S embeds them in cktrace. page.html has a mark for each
 * other section. A PE's data has the form of page_data.c. Names, sums and the like are one object
 * of JSON.
 */
#include "page.h"
#include "sums.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Below 256 ns a block saves little. */
enum { SHORTER_LEAST_NS = 256, ITEM_CHARS = 24, MATRIX_MOST = 128, STAYS_MOST = 10000 };

extern const char page_html[], page_html_end[], page_css[], page_css_end[], page_data_js[], page_data_js_end[],
	page_words_js[], page_words_js_end[], page_timeline_js[], page_timeline_js_end[], page_panels_js[],
	page_panels_js_end[], page_main_js[], page_main_js_end[];

/* ---- JSON ------------------------------------------------------------------------------------------ */

/* Bytes of the character that begins here; 0: invalid UTF-8. */
static int utf8_bytes(const unsigned char *c)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	int n = *c < 0x80 ? 1 : *c >> 5 == 6 ? 2 : *c >> 4 == 14 ? 3 : *c >> 3 == 30 ? 4 : 0;
	uint32_t code = n > 1 ? *c & (0x7fu >> n) : *c;

	for (int i = 1; i < n; i++) {
		if (c[i] >> 6 != 2)
			return 0;
		code = code << 6 | (c[i] & 63);
	}
	if (n > 1 && (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)))
		return 0;
	return n;
}

/* The text lies in a script element, which "</script" or "<!--" would end: so there is no <. */
static void print_text(FILE *f, const char *text)
{
	fputc('"', f);
	for (const unsigned char *c = (const unsigned char *)text; *c;) {
		int n = utf8_bytes(c);

		if (!n)
			fputs("\\ufffd", f);
		else if (*c < ' ' || *c == 127 || strchr("\"\\<>&", *c))
			fprintf(f, "\\u%04x", *c);
		else
			fwrite(c, 1, (size_t)n, f);
		c += n ? n : 1;
	}
	fputc('"', f);
}

static void print_name(FILE *f, const char *kind, const char *text)
{
	fprintf(f, ",\n[\"%s\",", kind);
	print_text(f, text);
	fputc(']', f);
}

static const char *any_name(const struct job *j, enum trace_name_kind kind, unsigned id)
{
	for (int i = 0; i < j->n_pes; i++)
		if (id < j->pes[i].names[kind].n && j->pes[i].names[kind].text[id])
			return j->pes[i].names[kind].text[id];
	return "?";
}

/* In the order of page_name_of. */
static void print_names(FILE *f, const struct job *j, const struct page_names *names, const struct pe_trace *any)
{
	static const char *const kinds[SPAN_KINDS] = {
		[SPAN_HANDLER] = "-", [SPAN_ENTRY] = "-", [SPAN_PUT] = "put", [SPAN_IDLE] = "idle", [SPAN_USER] = "-",
		[SPAN_SEND] = "send", [SPAN_PUT_SENT] = "send", [SPAN_TAKEN] = "taken", [SPAN_CREATE] = "created",
		[SPAN_CONTRIBUTE] = "contributes", [SPAN_MARK] = "-", [SPAN_COUNTER] = "-", [SPAN_ARRIVE] = "arrived",
		[SPAN_LEAVE] = "leaves", [SPAN_COME] = "came",
	};

	fputs("\"names\":[[\"-\",\"\"]", f);
	for (int k = 1; k < SPAN_KINDS; k++) {
		const struct span s = { .kind = (enum span_kind)k };

		print_name(f, kinds[k], kinds[k][0] == '-' ? "" : span_name(any, &s));
	}
	for (unsigned i = 0; i <= names->n_entries; i++)
		print_name(f, "entry", any_name(j, TRACE_NAME_ENTRY, i));
	for (unsigned i = 0; i <= names->n_handlers; i++)
		print_name(f, "handler", any_name(j, TRACE_NAME_HANDLER, i));
	for (unsigned i = 0; i < names->n_events; i++)
		print_name(f, "event", names->event[i]);
	fputs("],\n", f);
}

static void print_pes(FILE *f, const struct job *j, const struct sums *sums)
{
	const char *comma = "";

	fputs("\"pes\":[", f);
	for (int i = 0; i < j->n_pes; i++) {
		const struct pe_trace *p = &j->pes[i];
		const struct pe_sum *s = &sums->pes[i];

		if (!p->head)
			continue;
		fprintf(f, "%s\n{\"pe\":%d,\"node\":%d,\"entries\":%" PRId64 ",\"puts\":%" PRId64 ",\"runtime\":%" PRId64
			",\"idle\":%" PRId64 ",\"host\":", comma, i, p->head->node, s->entries, s->puts, s->handlers,
			s->idle);
		print_text(f, p->head->host);
		fputc('}', f);
		comma = ",";
	}
	fputs("],\n", f);
}

/* By the numbers of the table of names. Number 0 of the sums is the functions of puts. */
static void print_grains(FILE *f, const struct sums *sums)
{
	const char *comma = "";

	fprintf(f, "\"bucket_ns\":%d,\"grains\":[", BUCKET_FIRST);
	for (size_t i = 0; i < sums->n_entries; i++) {
		const struct entry_sum *e = &sums->entries[i];

		if (!e->pieces)
			continue;
		fprintf(f, "%s\n{\"name\":%zu,\"calls\":%" PRIu64 ",\"own\":%" PRId64 ",\"total\":%" PRId64
			",\"longest\":%" PRId64 ",\"buckets\":[%" PRIu64, comma, i ? SPAN_KINDS + i : SPAN_PUT, e->n, e->own,
			e->total, e->longest, e->bucket[0]);
		for (int b = 1; b < BUCKETS; b++)
			fprintf(f, ",%" PRIu64, e->bucket[b]);
		fputs("]}", f);
		comma = ",";
	}
	fputs("],\n", f);
}

static void print_sent(FILE *f, const struct job *j)
{
	const struct matrix m = sums_matrix(j, MATRIX_MOST);
	const char *comma = "";

	fprintf(f, "\"by_node\":%s,\"rows\":%d,\"cells\":[", m.by_node ? "true" : "false", m.n);
	for (int i = 0; i < m.n * m.n; i++)
		if (m.cells[i].n) {
			fprintf(f, "%s[%d,%d,%" PRIu64 ",%" PRIu64 "]", comma, i / m.n, i % m.n, m.cells[i].n,
				m.cells[i].bytes);
			comma = ",\n";
		}
	fputs("]\n", f);
	free(m.cells);
}

/* Stays that no picture would show are left out: the path goes straight on to the next one. */
static size_t count_stays(const struct path *path, int64_t shortest)
{
	size_t n = 0;

	for (size_t i = 0; i < path->n; i++)
		n += path->stays[i].until - path->stays[i].from >= shortest;
	return n;
}

static void print_path(FILE *f, const struct sums *sums)
{
	const char *comma = "";
	int64_t shortest = 0;
	struct path path;

	path_find(sums, &path);
	while (count_stays(&path, shortest) > STAYS_MOST)
		shortest = 2 * shortest + 1;
	fprintf(f, "\"path\":{\"run\":%" PRId64 ",\"way\":%" PRId64 ",\"gap\":%" PRId64
		",\"messages\":%" PRIu64 ",\"stays\":[", path.run, path.way, path.gap, path.n_messages);
	for (size_t i = path.n; i-- > 0;) {
		const struct path_stay *s = &path.stays[i];

		if (s->until - s->from < shortest)
			continue;
		fprintf(f, "%s[%d,%" PRId64 ",%" PRId64 "]", comma, s->pe, s->from, s->until);
		comma = ",\n";
	}
	fputs("],\"entries\":[", f);
	comma = "";
	for (size_t i = 0; i < sums->n_entries; i++)
		if (path.by_entry[i]) {
			fprintf(f, "%s[%zu,%" PRId64 "]", comma, i ? SPAN_KINDS + i : SPAN_PUT, path.by_entry[i]);
			comma = ",";
		}
	fputs("]},\n", f);
	path_free(&path);
}

static void print_left_out(FILE *f, const struct page_left_out *o)
{
	fprintf(f, "\"left_out\":{\"shorter\":%" PRId64 ",\"bars\":%" PRIu64 ",\"blocks\":%" PRIu64 ",\"arrows\":%"
		PRIu64 ",\"moments\":%" PRIu64 ",\"deep\":%" PRIu64 "},\n", o->shorter_ns, o->bars, o->blocks, o->arrows,
		o->moments, o->deep);
}

static void print_job(FILE *f, const struct job *j, const struct page_names *names, const struct page_left_out *out)
{
	const struct pe_trace *any = NULL;
	bool ended = true, whole = true;
	uint64_t records = 0;
	struct sums sums;

	for (int i = j->n_pes; i-- > 0;)
		if (j->pes[i].head) {
			any = &j->pes[i];
			ended &= any->head->ended != 0;
			whole &= any->first == 0;
			records += any->n;
		}
	sums_take(&sums, j);
	fputs("{\"command\":", f);
	print_text(f, any->head->command);
	fprintf(f, ",\n\"epoch\":%" PRIu64 ",\"checkpoint\":%" PRIu64, j->epoch->no, j->epoch->checkpoint);
	fprintf(f, ",\n\"n_pes\":%d,\"nodes\":%d,\"hosts\":%d,\"end\":%" PRId64 ",\"records\":%" PRIu64 ",\"ended\":%s,"
		"\"whole\":%s,\"sent\":%" PRIu64 ",\"handled\":%" PRIu64 ",\"joined\":%" PRIu64 ",\"backward\":%" PRIu64 ",\n",
		j->n_pes, any->head->n_nodes, j->n_hosts, j->end_ns, records, ended ? "true" : "false",
		whole ? "true" : "false", j->n_sent, j->n_handled, j->n_joined, j->n_backward);
	print_left_out(f, out);
	print_names(f, j, names, any);
	print_pes(f, j, &sums);
	print_grains(f, &sums);
	print_path(f, &sums);
	print_sent(f, j);
	fputs("}\n", f);
	sums_free(&sums);
}

/* ---- the size of the page -------------------------------------------------------------------- */

static void write_pes(struct page_data *d)
{
	d->chars = 0;
	d->out = (struct page_left_out){ .shorter_ns = d->out.shorter_ns };
	for (int i = 0; i < d->j->n_pes; i++) {
		if (!d->j->pes[i].head)
			continue;
		if (d->f)
			fprintf(d->f, "<script type=\"application/base64\" class=\"pe\" data-pe=\"%d\">", i);
		page_data_write(d, &d->j->pes[i]);
		if (d->f)
			fputs("</script>\n", d->f);
	}
}

/* The length below which bars become blocks, so that all fit: first one at which that many blocks
 * would fit, then doubled until they do. */
static void fit(struct page_data *d, uint64_t most)
{
	const int64_t end = d->j->end_ns;

	write_pes(d);
	while (d->chars > most && d->out.shorter_ns <= end) {
		int64_t at_first = end / (int64_t)(most / ITEM_CHARS + 1) * d->j->n_files;

		d->out.shorter_ns = d->out.shorter_ns ? 2 * d->out.shorter_ns :
				    at_first > SHORTER_LEAST_NS ? at_first : SHORTER_LEAST_NS;
		write_pes(d);
	}
}

static void say_what_is_left_out(const struct page_left_out *o, unsigned mb)
{
	if (o->shorter_ns)
		complain("to fit into %u MB, the page draws %" PRIu64 " bars of less than %" PRId64 " ns as %"
			PRIu64 " blocks, and leaves out %" PRIu64 " arrows and %" PRIu64 " moments; its sums count all of them. "
			"--html-mb makes room for more", mb, o->bars, o->shorter_ns, o->blocks, o->arrows, o->moments);
	if (o->deep)
		complain("the page leaves out %" PRIu64 " bars that lie inside %d others or more", o->deep,
			PAGE_DEPTH_MOST);
}

/* ---- the page ----------------------------------------------------------------------------------------- */

/* The page up to a mark, which is a line of its own; returns what follows it. */
static const char *write_up_to(FILE *f, const char *from, const char *mark)
{
	const char *at = memmem(from, (size_t)(page_html_end - from), mark, strlen(mark));

	fwrite(from, 1, (size_t)(at - from), f);
	return at + strlen(mark);
}

static void write_between(FILE *f, const char *from, const char *end)
{
	fwrite(from, 1, (size_t)(end - from), f);
}

void write_html(const struct job *j, FILE *f, unsigned mb)
{
	struct page_names names;

	page_names_init(&names, j);
	uint8_t *depths = page_sent_depths(j);
	struct page_data d = { .j = j, .names = &names, .sent_depth = depths };

	fit(&d, (uint64_t)mb << 20);
	say_what_is_left_out(&d.out, mb);
	const char *rest = write_up_to(f, page_html, "@STYLE@");

	write_between(f, page_css, page_css_end);
	rest = write_up_to(f, rest, "@JOB@");
	print_job(f, j, &names, &d.out);
	rest = write_up_to(f, rest, "@DATA@");
	d.f = f;
	write_pes(&d);
	rest = write_up_to(f, rest, "@SCRIPT@");
	write_between(f, page_data_js, page_data_js_end);
	write_between(f, page_words_js, page_words_js_end);
	write_between(f, page_timeline_js, page_timeline_js_end);
	write_between(f, page_panels_js, page_panels_js_end);
	write_between(f, page_main_js, page_main_js_end);
	write_between(f, rest, page_html_end);
	free(depths);
	page_names_free(&names, j);
}
