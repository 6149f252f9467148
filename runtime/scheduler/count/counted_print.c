/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counted_print.c: the counts of a job as a table or as JSON. docs/GUIDE.md explains the columns
 * and lists the keys. The table has the same length for any number of PEs; the file lists them all.
 */
#include "counted_int.h"
#include "../../machine/base/cmi_alloc.h"
#include "../../machine/tools/cmi_plain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_ROWS = 24 };        /* entries in the table */

/** The input of both writers: the counts, sorted. */
struct report {
	FILE *f;
	const struct csd_counting *k;
	const struct count_sum *s;
	const struct count_sum_row **rows;  /* [n_rows]: those with calls, the most time first */
	uint32_t n_rows;
	uint64_t wall_ns;                   /* of the PE that ran longest */
};

/* The file's keys for the words of a record, in their order. */
static const char *const pe_keys[] = {
	"pe", "node", "wall_ns", "overhead_ns", "idle_ns", "busy_ns",
	"sent", "handled", "dispatched", "pool_bytes", NULL,
};
static const char *const row_keys[] = { "calls", "time_ns", "longest_ns", "longest_pe", NULL };
static const char *const link_keys[] = {
	"from", "to", "messages", "bytes", "puts", "put_bytes", NULL,
};

/** The suffix of a number's key in the file, and of its text in the table for each factor of
 * 1000. */
static const struct { const char *suffix, *scale[6]; } units[COUNT_UNITS] = {
	[COUNT_TIMES] = { "", { "" } },
	[COUNT_BYTES] = { "_bytes", { " B", " kB", " MB", " GB", " TB" } },
	[COUNT_TICKS] = { "_ns", { " ns", " us", " ms", " s" } },
	[COUNT_TICKS_MOST] = { "_ns", { " ns", " us", " ms", " s" } },
};

static const struct count_name *name_of(const struct report *r, const struct count_sum_row *row)
{
	return &r->k->rows[row - r->s->rows];
}

/* ---- in order ------------------------------------------------------------------------------ */

/* Compares records that begin with two words: a PE and its node, or two nodes. */
static int by_two_words(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	const int i = x[0] == y[0];

	return (x[i] > y[i]) - (x[i] < y[i]);
}

static int slower(const void *a, const void *b)
{
	const struct count_sum_row *x = *(const struct count_sum_row *const *)a;
	const struct count_sum_row *y = *(const struct count_sum_row *const *)b;

	return x->ns != y->ns ? (x->ns < y->ns) - (x->ns > y->ns) : (x > y) - (x < y);
}

/* One link for each pair of nodes. */
static void join_links(struct count_sum *s)
{
	uint32_t n = 0;

	if (!s->n_links)
		return;
	qsort(s->links, s->n_links, sizeof *s->links, by_two_words);
	for (uint32_t i = 1; i < s->n_links; i++) {
		const struct count_link *l = &s->links[i].link;
		struct count_link *last = &s->links[n].link;

		if (by_two_words(&s->links[n], &s->links[i])) {
			s->links[++n] = s->links[i];
			continue;
		}
		last->messages += l->messages;
		last->bytes += l->bytes;
		last->puts += l->puts;
		last->put_bytes += l->put_bytes;
	}
	s->n_links = n + 1;
}

static struct report report_of(const struct pe *pe, FILE *f)
{
	const struct csd_counting *k = pe->node->counting;
	struct count_sum *s = pe->counts->sum;
	struct report r = { .f = f, .k = k, .s = s };

	join_links(s);
	qsort(s->pes, s->n_pes, s->pe_bytes, by_two_words);
	r.rows = cmi_alloc_zero((size_t)k->n_rows + 1, sizeof(*r.rows), "statistics");
	for (int i = 0; i < k->n_rows; i++)
		if (s->rows[i].calls)
			r.rows[r.n_rows++] = &s->rows[i];
	qsort(r.rows, r.n_rows, sizeof(*r.rows), slower);
	for (uint32_t i = 0; i < s->n_pes; i++)
		if (count_pe_at(s, i)->wall_ns > r.wall_ns)
			r.wall_ns = count_pe_at(s, i)->wall_ns;
	return r;
}

/* Numbers of one group are consecutive: the index after those of number i's group. */
static int group_end(const struct csd_counting *k, int i)
{
	const char *group = k->numbers[i].group;

	while (++i < k->n_numbers && !strcmp(k->numbers[i].group, group))
		;
	return i;
}

/* ---- the table ----------------------------------------------------------------------------- */

struct text { char s[32]; };

/* With three digits or more. */
static struct text text_of(double n, enum count_unit unit)
{
	const char *const *scale = units[unit].scale;
	bool whole = true;
	struct text t;

	for (; n >= 999.5 && scale[1]; scale++, whole = false)
		n /= 1000;
	snprintf(t.s, sizeof t.s, whole || n >= 999.5 ? "%.0f%s" : "%.3g%s", n, *scale);
	return t;
}

static double share(const struct count_pe *p, enum gauge_state state)
{
	return p->wall_ns ? 100.0 * (double)p->ns[state] / (double)p->wall_ns : 0;
}

static double busy_percent(const struct count_pe *p) { return share(p, GAUGE_BUSY); }
static double idle_percent(const struct count_pe *p) { return share(p, GAUGE_IDLE); }
static double overhead_percent(const struct count_pe *p) { return share(p, GAUGE_OVERHEAD); }
static double sent(const struct count_pe *p) { return (double)p->sent; }
static double handled(const struct count_pe *p) { return (double)p->handled; }
static double pool_kb(const struct count_pe *p) { return (double)p->pool_bytes / 1000; }

static void print_spread(const struct report *r, const char *what, int digits,
			 double (*of)(const struct count_pe *p))
{
	const struct count_pe *least = count_pe_at(r->s, 0), *most = least;
	double sum = 0;

	for (uint32_t i = 0; i < r->s->n_pes; i++) {
		const struct count_pe *p = count_pe_at(r->s, i);

		sum += of(p);
		least = of(p) < of(least) ? p : least;
		most = of(p) > of(most) ? p : most;
	}
	fprintf(r->f, "chard:   %-26s %12.*f %12.*f %7" PRIu64 " %12.*f %7" PRIu64 "\n", what,
		digits, sum / r->s->n_pes, digits, of(least), least->pe, digits, of(most), most->pe);
}

static void print_pes(const struct report *r)
{
	fprintf(r->f, "chard:   %-26s %12s %12s %7s %12s %7s\n",
		"of each PE", "mean", "least", "on PE", "most", "on PE");
	print_spread(r, "busy, %", 1, busy_percent);
	print_spread(r, "idle, %", 1, idle_percent);
	print_spread(r, "overhead, %", 1, overhead_percent);
	print_spread(r, "messages and puts sent", 0, sent);
	print_spread(r, "messages and puts handled", 0, handled);
	print_spread(r, "message memory, kB", 0, pool_kb);
}

static void print_rows(const struct report *r)
{
	uint64_t rest_ns = 0, rest_calls = 0;

	if (r->n_rows)
		fprintf(r->f, "chard:   %-40s %12s %10s %10s %10s %7s\n",
			"what ran, the most time first", "calls", "time", "mean", "longest", "on PE");
	for (uint32_t i = 0; i < r->n_rows; i++) {
		const struct count_sum_row *row = r->rows[i];
		const double ns = (double)row->ns;

		if (i >= TABLE_ROWS) {
			rest_ns += row->ns;
			rest_calls += row->calls;
			continue;
		}
		fprintf(r->f, "chard:   %-40.100s %12" PRIu64 " %10s %10s %10s %7" PRIu64 "\n",
			name_of(r, row)->name, row->calls, text_of(ns, COUNT_TICKS).s,
			text_of(ns / (double)row->calls, COUNT_TICKS).s,
			text_of((double)row->longest_ns, COUNT_TICKS).s, row->longest_pe);
	}
	if (r->n_rows > TABLE_ROWS)
		fprintf(r->f, "chard:   and %s: %s, %s\n",
			csd_plural(r->n_rows - TABLE_ROWS, "other", "others").text,
			csd_plural(rest_calls, "call", "calls").text, text_of((double)rest_ns, COUNT_TICKS).s);
}

/* The durations of calls, of all rows together. */
static void print_histogram(const struct report *r)
{
	enum { WIDTH = 40 };
	static const char bar[WIDTH + 2] = " ########################################";
	uint64_t all[COUNT_BUCKETS] = { 0 }, most = 0;
	int first = COUNT_BUCKETS, last = -1;

	for (int b = 0; b < COUNT_BUCKETS; b++) {
		for (uint32_t i = 0; i < r->n_rows; i++)
			all[b] += r->rows[i]->buckets[b];
		if (!all[b])
			continue;
		first = b < first ? b : first;
		last = b;
		most = all[b] > most ? all[b] : most;
	}
	fputs(most ? "chard:   how long calls took\n" : "", r->f);
	for (int b = first; b <= last; b++)
		fprintf(r->f, "chard:   %10s or more %12" PRIu64 "%.*s\n",
			text_of(b ? (double)((uint64_t)1 << b) : 0, COUNT_TICKS).s, all[b],
			all[b] ? 1 + (int)((all[b] * WIDTH + most - 1) / most) : 0, bar);
}

/* All nodes together, and the pair with most bytes. */
static void print_links(const struct report *r)
{
	const struct count_sum_link *most = NULL;
	uint64_t messages = 0, bytes = 0;

	for (uint32_t i = 0; i < r->s->n_links; i++) {
		const struct count_sum_link *l = &r->s->links[i];

		messages += l->link.messages;
		bytes += l->link.bytes;
		if (l->link.messages && (!most || l->link.bytes > most->link.bytes))
			most = l;
	}
	if (most)
		fprintf(r->f, "chard:   between nodes: %s, %s; most from node %" PRIu64 " to node %" PRIu64
			": %s, %s\n", csd_plural(messages, "message", "messages").text,
			text_of((double)bytes, COUNT_BYTES).s, most->from, most->to,
			csd_plural(most->link.messages, "message", "messages").text,
			text_of((double)most->link.bytes, COUNT_BYTES).s);
}

/* Of all PEs together. */
static uint64_t total(const struct report *r, int number)
{
	const bool most = r->k->numbers[number].unit == COUNT_TICKS_MOST;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < r->s->n_pes; i++) {
		const uint64_t n = count_pe_at(r->s, i)->numbers[number];

		sum = !most ? sum + n : n > sum ? n : sum;
	}
	return sum;
}

/* A line for each group that has a number other than 0. */
static void print_numbers(const struct report *r)
{
	for (int i = 0, next; i < r->k->n_numbers; i = next) {
		bool any = false;

		next = group_end(r->k, i);
		for (int j = i; j < next; j++)
			any |= total(r, j) != 0;
		if (!any)
			continue;
		fprintf(r->f, "chard:   %s:", r->k->numbers[i].group);
		for (int j = i; j < next; j++)
			fprintf(r->f, "%s %s %s%s", j > i ? "," : "", r->k->numbers[j].name,
				text_of((double)total(r, j), r->k->numbers[j].unit).s,
				r->k->numbers[j].unit == COUNT_TICKS ? " (all added up)" : "");
		fputc('\n', r->f);
	}
}

static void print_epoch(const struct report *r, const struct csd_epoch *e)
{
	if (e->no)
		fprintf(r->f, ", epoch %" PRIu64, e->no);
	if (e->checkpoint)
		fprintf(r->f, " from checkpoint %" PRIu64, e->checkpoint);
	fputc('\n', r->f);
}

/* In one write, so that lines of other PEs do not interrupt it. */
void counts_print(struct pe *pe)
{
	const int n_nodes = pe->node->job->n_nodes;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		cmi_no_memory(1 << 16, "statistics");
	locale_t before = cmi_plain_begin();
	const struct report r = report_of(pe, f);

	fprintf(f, "chard: statistics: %s on %s, %s", csd_plural(r.s->n_pes, "PE", "PEs").text,
		csd_plural((uint64_t)n_nodes, "node", "nodes").text, text_of((double)r.wall_ns, COUNT_TICKS).s);
	print_epoch(&r, &pe->node->epoch);
	print_pes(&r);
	print_rows(&r);
	print_histogram(&r);
	print_links(&r);
	print_numbers(&r);
	cmi_plain_end(before);
	if (fclose(f))
		cmi_no_memory(1 << 16, "statistics");
	fwrite(text, 1, len, stderr);
	fflush(stderr);
	free(text);
	free(r.rows);
}

/* ---- the file ------------------------------------------------------------------------------ */

/* The program's names are identifiers, but its arguments may be anything. Bytes beyond ASCII are
 * written as if they were Latin-1, so that the file is valid in any case. */
static void write_string(FILE *f, const char *text)
{
	fputc('"', f);
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		if (*c == '"' || *c == '\\')
			fprintf(f, "\\%c", *c);
		else if (*c < ' ' || *c > '~')
			fprintf(f, "\\u%04x", *c);
		else
			fputc(*c, f);
	}
	fputc('"', f);
}

static void write_words(FILE *f, const char *const *keys, const void *record)
{
	const uint64_t *word = record;

	for (const char *between = ""; *keys; between = ", ")
		fprintf(f, "%s\"%s\": %" PRIu64, between, *keys++, *word++);
}

/* "elements of Cell": {"created": 3, ...}: a group is an object. */
static void write_numbers(const struct report *r, const uint64_t *numbers)
{
	for (int i = 0, next; i < r->k->n_numbers; i = next) {
		next = group_end(r->k, i);
		fprintf(r->f, ", \"%s\": {", r->k->numbers[i].group);
		for (int j = i; j < next; j++) {
			const struct count_name *name = &r->k->numbers[j];

			fputs(j > i ? ", \"" : "\"", r->f);
			for (const char *c = name->name; *c; c++)
				fputc(*c == ' ' && name->unit != COUNT_TIMES ? '_' : *c, r->f);
			fprintf(r->f, "%s\": %" PRIu64, units[name->unit].suffix, numbers[j]);
		}
		fputc('}', r->f);
	}
}

static void write_pe(const struct report *r, uint32_t i)
{
	const struct count_pe *p = count_pe_at(r->s, i);

	write_words(r->f, pe_keys, p);
	write_numbers(r, p->numbers);
}

static void write_row(const struct report *r, uint32_t i)
{
	const struct count_sum_row *row = r->rows[i];
	int last = COUNT_BUCKETS - 1;

	while (last > 0 && !row->buckets[last])
		last--;
	fprintf(r->f, "\"kind\": \"%s\", \"name\": ", name_of(r, row)->group);
	write_string(r->f, name_of(r, row)->name);
	fputs(", ", r->f);
	write_words(r->f, row_keys, row);
	fputs(", \"histogram\": [", r->f);
	for (int b = 0; b <= last; b++)
		fprintf(r->f, "%s%" PRIu64, b ? ", " : "", row->buckets[b]);
	fputc(']', r->f);
}

static void write_link(const struct report *r, uint32_t i)
{
	write_words(r->f, link_keys, &r->s->links[i]);
}

/* An object for each, on a line of its own. */
static void write_list(const struct report *r, const char *name, uint32_t n,
		       void (*write_one)(const struct report *r, uint32_t i))
{
	fprintf(r->f, ",\n\"%s\": [", name);
	for (uint32_t i = 0; i < n; i++) {
		fputs(i ? ",\n  {" : "\n  {", r->f);
		write_one(r, i);
		fputc('}', r->f);
	}
	fputc(']', r->f);
}

void counts_write_json(FILE *f, struct pe *pe)
{
	const struct csd_config *cfg = pe->node->cfg;
	const struct report r = report_of(pe, f);

	fprintf(f, "{\"version\": 1, \"command\": [");
	for (int i = 0; i < cfg->argc; i++) {
		fputs(i ? ", " : "", f);
		write_string(f, cfg->argv[i]);
	}
	fprintf(f, "], \"epoch\": %" PRIu64 ", \"checkpoint\": %" PRIu64, pe->node->epoch.no,
		pe->node->epoch.checkpoint);
	fprintf(f, ", \"nodes\": %d, \"exit_code\": %d, \"wall_ns\": %" PRIu64,
		pe->node->job->n_nodes,
		atomic_load_explicit(&pe->node->exit_code, memory_order_relaxed), r.wall_ns);
	write_list(&r, "rows", r.n_rows, write_row);
	write_list(&r, "pes", r.s->n_pes, write_pe);
	write_list(&r, "links", r.s->n_links, write_link);
	fprintf(f, "}\n");
	free(r.rows);
}
