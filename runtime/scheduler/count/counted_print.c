/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counted_print.c: the counts of a job as a table for people or a file for programs (JSON). docs/GUIDE.md explains
 * the columns and lists the keys. The table is as long for a thousand PEs as for two; the file has them all.
 */
#include "counted_int.h"
#include "../../machine/base/cmi_alloc.h"
#include "../../machine/base/cmi_env.h"
#include "../../machine/tools/cmi_plain.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	TABLE_ROWS = 24,             /* entries in the table */
	PATH_MOST = 4096,
};

/* ---- what both print ---------------------------------------------------------------------------- */

static int slower(const void *a, const void *b, void *rows)
{
	const struct count_sum_row *x = (const struct count_sum_row *)rows + *(const int *)a;
	const struct count_sum_row *y = (const struct count_sum_row *)rows + *(const int *)b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return *(const int *)a - *(const int *)b;
}

/* The rows that were called, those that took most time first. The caller frees them. */
static int *sort_rows(const struct csd_counting *k, const struct count_sum *s, int *n_p)
{
	int *order = cmi_alloc_zero((size_t)k->n_rows, sizeof *order, "statistics");

	*n_p = 0;
	for (int i = 0; i < k->n_rows; i++)
		if (s->rows[i].calls)
			order[(*n_p)++] = i;
	qsort_r(order, (size_t)*n_p, sizeof *order, slower, s->rows);
	return order;
}

static int by_pe(const void *a, const void *b)
{
	return ((const struct count_pe *)a)->pe - ((const struct count_pe *)b)->pe;
}

static int by_nodes(const void *a, const void *b)
{
	const struct count_sum_link *x = a, *y = b;

	return x->from != y->from ? x->from - y->from : x->to - y->to;
}

/* One link for each pair of nodes, in order. */
static void join_links(struct count_sum *s)
{
	uint32_t n = 0;

	if (!s->n_links)
		return;
	qsort(s->links, s->n_links, sizeof *s->links, by_nodes);
	for (uint32_t i = 1; i < s->n_links; i++) {
		const struct count_link *l = &s->links[i].link;
		struct count_link *last = &s->links[n].link;

		if (by_nodes(&s->links[n], &s->links[i])) {
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

/* A number of all PEs together. */
static uint64_t total(const struct csd_counting *k, const struct count_sum *s, int number)
{
	const bool most = k->numbers[number].unit == COUNT_TICKS_MOST;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->n_pes; i++) {
		const uint64_t n = count_pe_at(s, i)->numbers[number];

		if (!most)
			sum += n;
		else if (n > sum)
			sum = n;
	}
	return sum;
}

static uint64_t longest_wall(const struct count_sum *s)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < s->n_pes; i++)
		if (count_pe_at(s, i)->wall_ns > most)
			most = count_pe_at(s, i)->wall_ns;
	return most;
}

/* ---- the table ------------------------------------------------------------------------------------ */

/* A time with three digits or more. */
static const char *time_text(double ns, char *buf, size_t len)
{
	static const struct { double ns; const char *unit; } units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" } };

	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (ns >= units[i].ns) {
			snprintf(buf, len, "%.3g %s", ns / units[i].ns, units[i].unit);
			if (ns / units[i].ns >= 999.5)
				snprintf(buf, len, "%.0f %s", ns / units[i].ns, units[i].unit);
			return buf;
		}
	snprintf(buf, len, "%.0f ns", ns);
	return buf;
}

static const char *bytes_text(uint64_t bytes, char *buf, size_t len)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
	double n = (double)bytes;
	size_t i = 0;

	for (; n >= 999.5 && i + 1 < sizeof units / sizeof *units; i++)
		n /= 1000;
	snprintf(buf, len, i ? "%.3g %s" : "%.0f %s", n, units[i]);
	return buf;
}

/* One quantity of the PEs: mean, least and most, and whose they are. */
struct spread {
	double sum, least, most;
	int least_pe, most_pe;
};

static struct spread spread_of(const struct count_sum *s, double (*value)(const struct count_pe *p))
{
	struct spread x = { 0 };

	for (uint32_t i = 0; i < s->n_pes; i++) {
		const struct count_pe *p = count_pe_at(s, i);
		const double v = value(p);

		x.sum += v;
		if (!i || v < x.least) {
			x.least = v;
			x.least_pe = p->pe;
		}
		if (!i || v > x.most) {
			x.most = v;
			x.most_pe = p->pe;
		}
	}
	return x;
}

static double share(const struct count_pe *p, enum gauge_state state)
{
	return p->wall_ns ? 100.0 * (double)p->ns[state] / (double)p->wall_ns : 0;
}

static double busy_share(const struct count_pe *p) { return share(p, GAUGE_BUSY); }
static double idle_share(const struct count_pe *p) { return share(p, GAUGE_IDLE); }
static double overhead_share(const struct count_pe *p) { return share(p, GAUGE_OVERHEAD); }
static double sent(const struct count_pe *p) { return (double)p->sent; }
static double handled(const struct count_pe *p) { return (double)p->handled; }
static double pool_kb(const struct count_pe *p) { return (double)p->pool_bytes / 1000; }

static void print_pes(FILE *f, const struct count_sum *s)
{
	static const struct {
		const char *name;
		double (*value)(const struct count_pe *p);
		int digits;
	} lines[] = {
		{ "busy, %", busy_share, 1 }, { "idle, %", idle_share, 1 }, { "overhead, %", overhead_share, 1 },
		{ "messages and puts sent", sent, 0 }, { "messages and puts handled", handled, 0 },
		{ "message memory, kB", pool_kb, 0 },
	};

	fprintf(f, "chard:   %-26s %12s %12s %7s %12s %7s\n", "of each PE", "mean", "least", "on PE", "most", "on PE");
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		const struct spread x = spread_of(s, lines[i].value);
		const int d = lines[i].digits;

		fprintf(f, "chard:   %-26s %12.*f %12.*f %7d %12.*f %7d\n", lines[i].name, d, x.sum / s->n_pes,
			d, x.least, x.least_pe, d, x.most, x.most_pe);
	}
}

static void print_rows(FILE *f, const struct csd_counting *k, const struct count_sum *s)
{
	char time[32], mean[32], most[32];
	int n, *order = sort_rows(k, s, &n);
	uint64_t rest_ns = 0, rest_calls = 0;

	if (n)
		fprintf(f, "chard:   %-40s %12s %10s %10s %10s %7s\n", "what ran, the most time first", "calls", "time",
			"mean", "longest", "on PE");
	for (int i = 0; i < n; i++) {
		const struct count_sum_row *r = &s->rows[order[i]];

		if (i >= TABLE_ROWS) {
			rest_ns += r->ns;
			rest_calls += r->calls;
			continue;
		}
		fprintf(f, "chard:   %-40.100s %12" PRIu64 " %10s %10s %10s %7" PRId64 "\n", k->rows[order[i]].name,
			r->calls, time_text((double)r->ns, time, sizeof time),
			time_text((double)r->ns / (double)r->calls, mean, sizeof mean),
			time_text((double)r->longest_ns, most, sizeof most), r->longest_pe);
	}
	if (n > TABLE_ROWS)
		fprintf(f, "chard:   and %d others: %" PRIu64 " calls, %s\n", n - TABLE_ROWS, rest_calls,
			time_text((double)rest_ns, time, sizeof time));
	free(order);
}

static void print_bucket(FILE *f, int b, uint64_t n, uint64_t most)
{
	enum { WIDTH = 40 };
	static const char bar[WIDTH + 2] = " ########################################";
	char from[32];

	fprintf(f, "chard:   %10s or more %12" PRIu64 "%.*s\n",
		b ? time_text((double)((uint64_t)1 << b), from, sizeof from) : "0 ns", n,
		n ? 1 + (int)((n * WIDTH + most - 1) / most) : 0, bar);
}

/* How long calls took, of all rows together. */
static void print_histogram(FILE *f, const struct csd_counting *k, const struct count_sum *s)
{
	uint64_t all[COUNT_BUCKETS] = { 0 }, most = 0;
	int first = COUNT_BUCKETS, last = -1;

	for (int b = 0; b < COUNT_BUCKETS; b++) {
		for (int i = 0; i < k->n_rows; i++)
			all[b] += s->rows[i].buckets[b];
		if (!all[b])
			continue;
		first = b < first ? b : first;
		last = b;
		most = all[b] > most ? all[b] : most;
	}
	if (last < 0)
		return;
	fprintf(f, "chard:   how long calls took\n");
	for (int b = first; b <= last; b++)
		print_bucket(f, b, all[b], most);
}

/* All nodes together, and the pair with most bytes. */
static void print_links(FILE *f, const struct count_sum *s)
{
	const struct count_sum_link *most = NULL;
	uint64_t messages = 0, bytes = 0;
	char text[32], of_most[32];

	for (uint32_t i = 0; i < s->n_links; i++) {
		const struct count_sum_link *l = &s->links[i];

		messages += l->link.messages;
		bytes += l->link.bytes;
		if (l->link.messages && (!most || l->link.bytes > most->link.bytes))
			most = l;
	}
	if (most)
		fprintf(f, "chard:   between nodes: %" PRIu64 " messages, %s; most from node %d to node %d: %" PRIu64
			" messages, %s\n", messages, bytes_text(bytes, text, sizeof text), most->from, most->to,
			most->link.messages, bytes_text(most->link.bytes, of_most, sizeof of_most));
}

static void print_number(FILE *f, const struct count_name *name, uint64_t n)
{
	char text[32];

	if (name->unit == COUNT_TIMES)
		fprintf(f, " %s %" PRIu64, name->name, n);
	else
		fprintf(f, " %s %s", name->name, name->unit == COUNT_BYTES ? bytes_text(n, text, sizeof text) :
			time_text((double)n, text, sizeof text));
}

/* A line for each group that has a number other than 0. */
static void print_numbers(FILE *f, const struct csd_counting *k, const struct count_sum *s)
{
	for (int i = 0, next; i < k->n_numbers; i = next) {
		bool any = false;

		for (next = i; next < k->n_numbers && !strcmp(k->numbers[i].group, k->numbers[next].group); next++)
			any |= total(k, s, next) != 0;
		if (!any)
			continue;
		fprintf(f, "chard:   %s:", k->numbers[i].group);
		for (int j = i; j < next; j++) {
			fputs(j > i ? "," : "", f);
			print_number(f, &k->numbers[j], total(k, s, j));
		}
		fputc('\n', f);
	}
}

/* In one piece, so that lines of other PEs come before or behind. */
void counts_print(struct pe *pe)
{
	const struct csd_counting *k = pe->node->counting;
	struct count_sum *s = pe->counts->sum;
	char *text = NULL, wall[32];
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		cmi_no_memory(1 << 16, "statistics");
	locale_t before = cmi_plain_begin();

	join_links(s);
	fprintf(f, "chard: statistics: %u PEs on %d node%s, %s\n", s->n_pes, pe->node->job->n_nodes,
		pe->node->job->n_nodes == 1 ? "" : "s",
		time_text((double)longest_wall(s), wall, sizeof wall));
	print_pes(f, s);
	print_rows(f, k, s);
	print_histogram(f, k, s);
	print_links(f, s);
	print_numbers(f, k, s);
	cmi_plain_end(before);
	if (fclose(f))
		cmi_no_memory(1 << 16, "statistics");
	fwrite(text, 1, len, stderr);
	fflush(stderr);
	free(text);
}

/* ---- the file -------------------------------------------------------------------------------------- */

/* Names of the program's are identifiers, but its arguments may be anything. What is no ASCII is written as if it were
 * Latin-1, so that the file is valid whatever it was. */
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

static void write_rows(FILE *f, const struct csd_counting *k, const struct count_sum *s)
{
	int n, *order = sort_rows(k, s, &n);

	fprintf(f, "\"rows\": [");
	for (int i = 0; i < n; i++) {
		const struct count_sum_row *r = &s->rows[order[i]];
		int last = COUNT_BUCKETS - 1;

		while (last > 0 && !r->buckets[last])
			last--;
		fprintf(f, "%s\n  {\"kind\": \"%s\", \"name\": ", i ? "," : "", k->rows[order[i]].group);
		write_string(f, k->rows[order[i]].name);
		fprintf(f, ", \"calls\": %" PRIu64 ", \"time_ns\": %" PRIu64 ", \"longest_ns\": %" PRIu64
			", \"longest_pe\": %" PRId64 ", \"histogram\": [", r->calls, r->ns, r->longest_ns, r->longest_pe);
		for (int b = 0; b <= last; b++)
			fprintf(f, "%s%" PRIu64, b ? ", " : "", r->buckets[b]);
		fprintf(f, "]}");
	}
	fprintf(f, "],\n");
	free(order);
}

/* "elements": {"array Cell created": 3, ...}: a group is an object. */
static void write_numbers(FILE *f, const struct csd_counting *k, const uint64_t *numbers)
{
	static const char *const suffix[COUNT_UNITS] = {
		[COUNT_BYTES] = "_bytes", [COUNT_TICKS] = "_ns", [COUNT_TICKS_MOST] = "_ns",
	};

	for (int i = 0; i < k->n_numbers; i++) {
		const struct count_name *name = &k->numbers[i];
		const bool same = i && !strcmp(name->group, k->numbers[i - 1].group);
		char key[256];

		if (!same)
			fprintf(f, "%s, \"%s\": {", i ? "}" : "", name->group);
		snprintf(key, sizeof key, "%s%s", name->name, suffix[name->unit] ? suffix[name->unit] : "");
		for (char *c = key; name->unit != COUNT_TIMES && *c; c++)
			*c = *c == ' ' ? '_' : *c;
		fputs(same ? ", " : "", f);
		write_string(f, key);
		fprintf(f, ": %" PRIu64, numbers[i]);
	}
	fputs(k->n_numbers ? "}" : "", f);
}

static void write_pes(FILE *f, const struct csd_counting *k, const struct count_sum *s)
{
	fprintf(f, "\"pes\": [");
	for (uint32_t i = 0; i < s->n_pes; i++) {
		const struct count_pe *p = count_pe_at(s, i);

		fprintf(f, "%s\n  {\"pe\": %d, \"node\": %d, \"wall_ns\": %" PRIu64 ", \"busy_ns\": %" PRIu64
			", \"idle_ns\": %" PRIu64 ", \"overhead_ns\": %" PRIu64 ", \"sent\": %" PRIu64 ", \"handled\": %"
			PRIu64 ", \"dispatched\": %" PRIu64 ", \"pool_bytes\": %" PRIu64, i ? "," : "", p->pe, p->node,
			p->wall_ns, p->ns[GAUGE_BUSY], p->ns[GAUGE_IDLE], p->ns[GAUGE_OVERHEAD], p->sent, p->handled,
			p->dispatched, p->pool_bytes);
		write_numbers(f, k, p->numbers);
		fputc('}', f);
	}
	fprintf(f, "],\n");
}

static void write_links(FILE *f, const struct count_sum *s)
{
	fprintf(f, "\"links\": [");
	for (uint32_t i = 0; i < s->n_links; i++) {
		const struct count_sum_link *l = &s->links[i];

		fprintf(f, "%s\n  {\"from\": %d, \"to\": %d, \"messages\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"puts\": %"
			PRIu64 ", \"put_bytes\": %" PRIu64 "}", i ? "," : "", l->from, l->to, l->link.messages,
			l->link.bytes, l->link.puts, l->link.put_bytes);
	}
	fprintf(f, "]\n");
}

static void write_all(FILE *f, struct pe *pe)
{
	const struct csd_counting *k = pe->node->counting;
	const struct csd_config *cfg = pe->node->cfg;
	struct count_sum *s = pe->counts->sum;

	join_links(s);
	qsort(s->pes, s->n_pes, s->pe_bytes, by_pe);
	fprintf(f, "{\"version\": 1, \"command\": [");
	for (int i = 0; i < cfg->argc; i++) {
		fputs(i ? ", " : "", f);
		write_string(f, cfg->argv[i]);
	}
	fprintf(f, "], \"nodes\": %d, \"exit_code\": %d, \"wall_ns\": %" PRIu64 ",\n", pe->node->job->n_nodes,
		atomic_load_explicit(&pe->node->exit_code, memory_order_relaxed), longest_wall(s));
	write_rows(f, k, s);
	write_pes(f, k, s);
	write_links(f, s);
	fprintf(f, "}\n");
}

static void beside(char *name, size_t len, const char *file)
{
	snprintf(name, len, "%s.%ld.tmp", file, (long)getpid());
}

static FILE *open_beside(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (fd >= 0 && !f)
		close(fd);
	return f;
}

static char *absolute(const char *file)
{
	char folder[PATH_MOST], *path;

	if (*file == '/' || !getcwd(folder, sizeof folder))
		*folder = 0;
	if (asprintf(&path, "%s%s%s", folder, *folder ? "/" : "", file) < 0)
		cmi_no_memory(strlen(file), "statistics");
	return path;
}

/* 0, or why a file of this name cannot be made, or take the place of the one that is there. */
static int cannot_write(const char *path)
{
	char name[PATH_MOST];
	FILE *f;
	int fd;

	beside(name, sizeof name, path);
	f = open_beside(name);
	if (!f)
		return errno;
	fclose(f);
	unlink(name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : errno;
	close(fd);
	return 0;
}

/* At the start, so that a run of hours is not lost over a name. */
void counts_check_file(struct csd_counting *k)
{
	char why[256];
	int err;

	k->path = absolute(k->file);
	err = cannot_write(k->path);
	if (!err)
		return;
	snprintf(why, sizeof why, "the name of a file that can be written (%s)", strerror(err));
	cmi_env_refuse("CK_STATS", k->file, why);
}

/* Whole or not at all: under another name first. */
int counts_write(struct pe *pe)
{
	const char *file = pe->node->counting->path;
	char name[PATH_MOST];
	bool good = false;

	beside(name, sizeof name, file);
	FILE *f = open_beside(name);

	if (f) {
		write_all(f, pe);
		good = !ferror(f) && !fflush(f);
		good = !fclose(f) && good && !rename(name, file);
	}
	if (good)
		return 0;
	int err = errno;

	fprintf(stderr, "chard: cannot write the statistics to %s: %s\n", file, strerror(err));
	unlink(name);
	return -err;
}
