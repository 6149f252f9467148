/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_text.c: the watchdog's report. Each PE writes records (tell.h) of what waits there, in the
 * scheduler and its layers. PE 0 prints a line for each, then the cycles, in one write.
 */
#include "watch.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LINES_OF_ALL = 400,        /* more are only counted */
	EDGES_MOST = 4096,
	QUEUE_COUNTED = 100000,
	QUEUE_NAMED = 64,          /* messages whose kinds are named */
};

/* ---- one PE --------------------------------------------------------------------------------- */

/* What is queued, each kind once: a job that goes in circles is told by it. */
static void describe_queue(struct pe *pe, struct csd_told *to, size_t queued)
{
	const struct cmi_msg *some[QUEUE_NAMED];
	const size_t n = csd_queue_some(pe, some, QUEUE_NAMED);
	char kinds[320] = "", kind[160];
	size_t used = 0;

	for (size_t i = 0; i < n; i++) {
		csd_message_kind(pe, some[i], kind, sizeof kind);
		if (!strstr(kinds, kind) && used + strlen(kind) + 3 < sizeof kinds)
			used += (size_t)sprintf(kinds + used, "%s%s", used ? ", " : ": ", kind);
	}
	csd_tell(to, NULL, "%s queued%s", csd_plural(queued, "message is", "messages are").text, kinds);
}

static void describe_scheduler(struct pe *pe, struct csd_told *to)
{
	const size_t queued = csd_queue_length(pe, QUEUE_COUNTED), held = hold_length(pe);
	const size_t timers = pe->n_timers - (pe->id == 0); /* PE 0 has one for the report */

	if (queued && !csd_at_rest(pe))
		describe_queue(pe, to, queued);
	if (timers && !csd_at_rest(pe))
		csd_tell(to, NULL, "%s set", csd_plural((uint64_t)timers, "timer is", "timers are").text);
	if (held)
		csd_tell(to, NULL, "%s held back until all PEs know a new group or nodegroup",
			 csd_plural(held, "message to another PE is", "messages to other PEs are").text);
	if (pe->room.first)
		csd_tell(to, NULL, "threads wait for room in the message memory (CK_MESSAGE_MEMORY)");
	if (pe->idle.flagged)
		csd_tell(to, NULL, "CkRunUntil waits here for its flag, which a handler on this process "
			 "sets. A process with no answer to wait for calls CkFinalize instead: handlers "
			 "run there, too");
	flow_describe(pe, to);
}

void watch_tell(struct pe *pe, struct csd_told *to)
{
	describe_scheduler(pe, to);
	for (int i = pe->node->n_layers; i-- > 0;) {
		csd_tell_part(to);
		if (pe->node->layers[i]->describe)
			pe->node->layers[i]->describe(pe, to);
	}
	csd_tell_end(to);
}

/* ---- what counts ---------------------------------------------------------------------------- */

/** A record of what its `who` waits for. */
struct edge {
	const struct csd_record *r;
	int next;                  /* an edge that begins where this one ends; -1: none */
	int seen;                  /* by which walk */
};

struct facts {
	struct csd_key *named;     /* the subjects of CSD_WAITS records, sorted */
	size_t n_named;
	struct edge *edges;
	int n_edges;
};

static int compare_keys(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct csd_key));
}

static bool is_same(const struct csd_key *a, const struct csd_key *b)
{
	return !compare_keys(a, b);
}

static bool counts(const struct facts *f, const struct csd_record *r)
{
	return r->how == CSD_WAITS ||
	       bsearch(&r->who, f->named, f->n_named, sizeof r->who, compare_keys);
}

static void note_named(struct facts *f, const struct csd_told *told)
{
	for (const struct csd_record *r = NULL; (r = csd_told_next(told, r));) {
		if (r->how != CSD_WAITS)
			continue;
		f->named[f->n_named++] = r->who;
		f->named[f->n_named++] = r->on;
	}
}

static void note_edges(struct facts *f, const struct csd_told *told)
{
	for (const struct csd_record *r = NULL; (r = csd_told_next(told, r));)
		if (r->who.kind && r->on.kind && counts(f, r) && f->n_edges < EDGES_MOST)
			f->edges[f->n_edges++] = (struct edge){ r, -1, 0 };
}

static void note_all(struct facts *f, const struct csd_told *told, int n)
{
	size_t most = 0;

	for (int i = 0; i < n; i++)
		most += 2 * (told[i].bytes / sizeof(struct csd_record));
	f->named = cmi_alloc_zero(most, sizeof *f->named, WATCH_REPORT);
	f->edges = cmi_alloc_zero(EDGES_MOST, sizeof *f->edges, WATCH_REPORT);
	for (int i = 0; i < n; i++)
		note_named(f, &told[i]);
	qsort(f->named, f->n_named, sizeof *f->named, compare_keys);
	for (int i = 0; i < n; i++)
		note_edges(f, &told[i]);
}

/* ---- lines ---------------------------------------------------------------------------------- */

static void print_pe(FILE *out, const struct facts *f, int pe, const struct csd_told *told, int *n)
{
	for (const struct csd_record *r = NULL; (r = csd_told_next(told, r));)
		if (csd_record_text(r)[0] && counts(f, r) && (*n)++ < LINES_OF_ALL) {
			fprintf(out, "chard: PE %d: ", pe);
			csd_record_print(out, r);
		}
}

static void print_silent(FILE *out, const struct pe *pe, int i, int *n)
{
	if ((*n)++ < LINES_OF_ALL)
		fprintf(out, "chard: PE %d (node %d) does not answer: it is busy in a handler, or its "
			"process is stopped\n", i, pe->node->job->node_of[i]);
}

/* ---- cycles --------------------------------------------------------------------------------- */

/* Of several things that one waits for, the first counts. Of several that it may wait for, none. */
static int edge_from(const struct facts *f, const struct csd_key *who)
{
	int maybe = -1;

	for (int i = 0; i < f->n_edges; i++) {
		const struct csd_record *r = f->edges[i].r;

		if (!is_same(&r->who, who))
			continue;
		if (r->how != CSD_MAY_WAIT)
			return i;
		if (maybe >= 0 && !is_same(&r->on, &f->edges[maybe].r->on))
			return -1;
		maybe = i;
	}
	return maybe;
}

static void print_cycle(FILE *out, const struct edge *e, int first)
{
	bool maybe = false;
	int i = first, last;

	do {
		maybe |= e[i].r->how == CSD_MAY_WAIT;
		last = i;
		i = e[i].next;
	} while (i != first);
	fprintf(out, "chard: cycle%s: %s", maybe ? ", if nobody else sends the value" : "",
		csd_record_on(e[last].r));
	do {
		fprintf(out, " waits for %s", csd_record_on(e[i].r));
		i = e[i].next;
	} while (i != first);
	fputc('\n', out);
}

/* A walk that comes back to itself is a cycle. */
static void print_cycles(FILE *out, struct facts *f)
{
	struct edge *e = f->edges;

	for (int i = 0; i < f->n_edges; i++)
		e[i].next = edge_from(f, &e[i].r->on);
	for (int i = 0; i < f->n_edges; i++) {
		int at = i;

		while (at >= 0 && !e[at].seen) {
			e[at].seen = i + 1;
			at = e[at].next;
		}
		if (at >= 0 && e[at].seen == i + 1)
			print_cycle(out, e, at);
	}
}

/* ---- all PEs -------------------------------------------------------------------------------- */

static void print_all(FILE *out, const struct pe *pe, const struct csd_told *told, int n)
{
	struct facts f = { 0 };
	int n_lines = 0;

	note_all(&f, told, n);
	for (int i = 0; i < n; i++) {
		if (told[i].at)
			print_pe(out, &f, i, &told[i], &n_lines);
		else
			print_silent(out, pe, i, &n_lines);
	}
	if (!n_lines)
		fputs("chard: nobody waits for anything that the runtime knows of; was CkExit never "
		      "called?\n", out);
	if (n_lines > LINES_OF_ALL)
		fprintf(out, "chard: and %s\n",
			csd_plural((uint64_t)(n_lines - LINES_OF_ALL), "more line", "more lines").text);
	print_cycles(out, &f);
	free(f.named);
	free(f.edges);
}

static void print_epoch(FILE *out, const struct csd_epoch *e)
{
	if (!e->no)
		return;
	fprintf(out, "chard: this is epoch %llu of the job, which has gone on from ",
		(unsigned long long)e->no);
	if (e->checkpoint)
		fprintf(out, "checkpoint %llu\n", (unsigned long long)e->checkpoint);
	else
		fputs("the beginning\n", out);
}

char *watch_text(const struct pe *pe, const char *why, const struct csd_told *told, int n)
{
	char *text;
	size_t bytes;
	FILE *out = cmi_must_have(open_memstream(&text, &bytes), sizeof *out, WATCH_REPORT);

	fprintf(out, "chard: %s\n", why);
	print_epoch(out, &pe->node->epoch);
	print_all(out, pe, told, n);
	if (fclose(out))
		cmi_no_memory(bytes, WATCH_REPORT);
	return text;
}
