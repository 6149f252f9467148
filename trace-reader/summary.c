/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary.c: a trace as text: how busy each PE was, how long each entry method took and with what
 * distribution, the traffic between PEs, and the critical path.
 */
#include "sums.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- tables ------------------------------------------------------------------------------------------ */

static const char *s_of(uint64_t n) { return n == 1 ? "" : "s"; }

static void print_time(FILE *f, const char *format, int64_t ns)
{
	char text[32];

	if (ns < 10000)
		snprintf(text, sizeof text, "%" PRId64 " ns", ns);
	else if (ns < 10000000)
		snprintf(text, sizeof text, "%.1f us", (double)ns / 1e3);
	else if (ns < 10000000000)
		snprintf(text, sizeof text, "%.1f ms", (double)ns / 1e6);
	else
		snprintf(text, sizeof text, "%.2f s", (double)ns / 1e9);
	fprintf(f, format, text);
}

static void print_head(const struct job *j, FILE *f)
{
	const struct trace_head *h = NULL;
	bool ended = true, whole = true;
	uint64_t records = 0;

	for (int i = j->n_pes; i-- > 0;)
		if (j->pes[i].head) {
			h = j->pes[i].head;
			ended &= h->ended != 0;
			whole &= j->pes[i].first == 0;
			records += j->pes[i].n;
		}
	fprintf(f, "command   %s\n", h->command);
	fprintf(f, "job       %d PE%s, %d node%s, %d host%s", j->n_pes, s_of((uint64_t)j->n_pes),
		h->n_nodes, s_of((uint64_t)h->n_nodes), j->n_hosts, s_of((uint64_t)j->n_hosts));
	fprintf(f, "%s\n", ended ? "" : "; it did not end normally, or still runs");
	print_epochs(j, f);
	print_time(f, "time      %s", j->end_ns);
	fprintf(f, ", %" PRIu64 " records%s\n", records, whole ? "" : "; the oldest are gone (a larger CK_TRACE=dir,MB "
		"keeps more)");
	fprintf(f, "messages  %" PRIu64 " sent, %" PRIu64 " handled, %" PRIu64 " joined\n", j->n_sent, j->n_handled,
		j->n_joined);
	if (j->n_left + j->n_came)
		fprintf(f, "moves     %" PRIu64 " %s, %" PRIu64 " came\n", j->n_left,
			j->n_left == 1 ? "element left its PE" : "elements left their PEs", j->n_came);
	if (j->n_backward)
		fprintf(f, "          %" PRIu64 " are not joined: the clocks of their hosts do not fit\n", j->n_backward);
}

static double percent(int64_t part, int64_t all)
{
	return all > 0 ? 100.0 * (double)part / (double)all : 0;
}

static void print_use(const struct sums *t, FILE *f)
{
	struct pe_sum all = { 0 };
	int n = 0;

	fprintf(f, "\nutilisation, %% of the time\n%8s %10s %10s %10s %10s %10s\n", "PE", "entries", "puts", "runtime",
		"idle", "other");
	for (int i = 0; i <= t->j->n_pes; i++) {
		const struct pe_sum *p = i < t->j->n_pes ? &t->pes[i] : &all;
		int64_t whole = i < t->j->n_pes ? t->j->end_ns : t->j->end_ns * n;
		int64_t other = whole - p->entries - p->puts - p->handlers - p->idle;

		if (i < t->j->n_pes && !t->j->pes[i].head)
			continue;
		if (i < t->j->n_pes) {
			n++;
			all.entries += p->entries;
			all.puts += p->puts;
			all.handlers += p->handlers;
			all.idle += p->idle;
			fprintf(f, "%8d", i);
		} else {
			fprintf(f, "%8s", "all");
		}
		fprintf(f, " %10.1f %10.1f %10.1f %10.1f %10.1f\n", percent(p->entries, whole), percent(p->puts, whole),
			percent(p->handlers, whole), percent(p->idle, whole), percent(other, whole));
	}
}

static void print_buckets(const struct entry_sum *e, FILE *f)
{
	for (int b = 0; b < BUCKETS; b++) {
		if (!e->bucket[b])
			continue;
		print_time(f, b < BUCKETS - 1 ? "%16s below " : "%16s above ",
			   (int64_t)BUCKET_FIRST << (b < BUCKETS - 1 ? b : b - 1));
		fprintf(f, "%10" PRIu64 "  ", e->bucket[b]);
		for (uint64_t i = 0; i < (e->bucket[b] * 40 + e->pieces - 1) / e->pieces; i++)
			fputc('#', f);
		fputc('\n', f);
	}
}

static int order_by_own(const void *x, const void *y, void *arg)
{
	const struct entry_sum *e = arg;
	int64_t a = e[*(const size_t *)x].own, b = e[*(const size_t *)y].own;

	return (a < b) - (a > b);
}

static void print_entries(const struct sums *t, FILE *f)
{
	size_t *order = need(calloc(t->n_entries, sizeof *order)), n = 0;

	for (size_t i = 0; i < t->n_entries; i++)
		if (t->entries[i].pieces)
			order[n++] = i;
	qsort_r(order, n, sizeof *order, order_by_own, t->entries);
	fprintf(f, "\nentry methods, and how long they ran at a time (a thread that waits: each piece)\n");
	for (size_t i = 0; i < n; i++) {
		const struct entry_sum *e = &t->entries[order[i]];

		fprintf(f, "  %s: %" PRIu64 " call%s", sums_entry_name(t, order[i]), e->n, s_of(e->n));
		print_time(f, ", %s in all", e->total);
		print_time(f, ", longest %s\n", e->longest);
		print_buckets(e, f);
	}
	free(order);
}

/* ---- traffic between PEs --------------------------------------------------------------------- */

enum { MATRIX_MOST = 32 };

static void print_matrix(const struct job *j, FILE *f)
{
	const struct matrix m = sums_matrix(j, MATRIX_MOST);
	const char *ends = m.by_node ? "node" : "PE";

	fprintf(f, "\nmessages and puts from %s (down) to %s: how many, bytes\n", ends, ends);
	for (int a = 0; a < m.n; a++)
		for (int b = 0; b < m.n; b++) {
			const struct cell *c = &m.cells[a * m.n + b];

			if (c->n)
				fprintf(f, "%8d -> %-6d %10" PRIu64 " %14" PRIu64 "\n", a, b, c->n, c->bytes);
		}
	free(m.cells);
}

/* ---- the critical path ---------------------------------------------------------------------------------- */

static void print_path(const struct sums *t, FILE *f)
{
	struct path path;

	path_find(t, &path);
	print_time(f, "\ncritical path: %s", path.run + path.way + path.gap);
	print_time(f, "; %s in handlers", path.run);
	print_time(f, ", %s in", path.way);
	fprintf(f, " %" PRIu64 " message%s", path.n_messages, s_of(path.n_messages));
	print_time(f, ", %s between handlers of one PE\n", path.gap);
	for (size_t i = 0; i < t->n_entries; i++)
		if (path.by_entry[i] * 100 >= path.run && path.by_entry[i]) {
			print_time(f, "%16s  ", path.by_entry[i]);
			fprintf(f, "%s\n", i ? sums_entry_name(t, i) : "(functions of puts, the runtime)");
		}
	path_free(&path);
}

void write_summary(const struct job *j, FILE *f)
{
	struct sums t;

	sums_take(&t, j);
	print_head(j, f);
	print_use(&t, f);
	print_entries(&t, f);
	print_matrix(j, f);
	print_path(&t, f);
	sums_free(&t);
}
