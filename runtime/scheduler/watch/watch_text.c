/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_text.c: the watchdog's report. Each PE writes what waits there, its layers' lines and the scheduler's own;
 * PE 0 puts all texts together, names cycles, and prints the whole in one piece.
 */
#include "watch.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LINES_OF_PE = 60,          /* more are counted only */
	LINES_OF_ALL = 400,
	HIDDEN_MOST = 500,         /* of a PE: lines that are not printed as they are (csd_line_fn) */
	FACTS_MOST = 4096,         /* "A waits for B", and wishes, of all PEs together */
};

/* ---- text that grows ----------------------------------------------------------------------- */

struct text {
	char *at;
	size_t len, cap;
	int n_lines, n_cut, n_hidden;
};

static void text_add(struct text *t, const char *s)
{
	size_t n = strlen(s);

	if (t->len + n + 1 > t->cap) {
		t->cap = 2 * (t->len + n + 1);
		t->at = cmi_realloc(t->at, t->cap, 1, WATCH_REPORT);
	}
	memcpy(t->at + t->len, s, n + 1);
	t->len += n;
}

static void line_add(void *arg, const char *line)
{
	struct text *t = arg;
	const bool hidden = csd_line_is_hidden(line);

	if (hidden ? t->n_hidden++ >= HIDDEN_MOST : t->n_lines++ >= LINES_OF_PE) {
		t->n_cut += !hidden;
		return;
	}
	text_add(t, line);
	text_add(t, "\n");
}

/* ---- one PE ---------------------------------------------------------------------------------- */

enum { QUEUE_COUNTED = 100000 };

static void describe_scheduler(struct pe *pe, csd_line_fn line, void *arg)
{
	const size_t queued = csd_queue_length(pe, QUEUE_COUNTED), held = hold_length(pe);
	const size_t timers = pe->n_timers - (pe->id == 0); /* PE 0 has one for the report */
	char text[160];

	if (queued && !csd_at_rest(pe)) {
		snprintf(text, sizeof text, "%zu messages are queued", queued);
		line(arg, text);
	}
	if (timers && !csd_at_rest(pe)) {
		snprintf(text, sizeof text, "%zu timers are set", timers);
		line(arg, text);
	}
	if (held) {
		snprintf(text, sizeof text, "%zu messages to other PEs are held back until all PEs know a new group or "
			 "nodegroup", held);
		line(arg, text);
	}
	if (pe->room.first)
		line(arg, "threads wait for room in the message memory (CK_MESSAGE_MEMORY)");
	if (pe->idle.flagged)
		line(arg, "CkRunUntil waits here for its flag, which a handler on this process sets. A process with no answer to "
		     "wait for calls CkFinalize instead: handlers run there, too");
	flow_describe(pe, line, arg);
}

char *watch_text(struct pe *pe)
{
	struct text t = { 0 };
	char cut[64];

	text_add(&t, "");
	describe_scheduler(pe, line_add, &t);
	for (int i = pe->node->n_layers; i-- > 0;)
		if (pe->node->layers[i]->describe)
			pe->node->layers[i]->describe(pe, line_add, &t);
	if (t.n_cut) {
		snprintf(cut, sizeof cut, "and %d more lines\n", t.n_cut);
		text_add(&t, cut);
	}
	return t.at;
}

/* ---- cycles ------------------------------------------------------------------------------------ */

/* "A waits for B". Names point into the copies of the texts, where tabs and the lines' ends have become ends of
 * strings. */
struct edge {
	const char *from, *to;
	int next;                  /* an edge that begins where this one ends; -1: none */
	int seen;                  /* in which walk */
	bool maybe;                /* "A may wait for B" */
};

/** Facts that the texts bring besides lines. */
struct facts {
	struct edge *edges;
	const char **wishes;       /* keys of "\3KEY" */
	int n_edges, n_wishes;
};

/* Of several things that `name` may wait for, none counts. */
static int edge_from(const struct facts *f, const char *name)
{
	int maybe = -1;

	for (int i = 0; i < f->n_edges; i++) {
		if (strcmp(f->edges[i].from, name))
			continue;
		if (!f->edges[i].maybe)
			return i;
		if (maybe >= 0 && strcmp(f->edges[i].to, f->edges[maybe].to))
			return -1;
		maybe = i;
	}
	return maybe;
}

static bool is_awaited(const struct facts *f, const char *name)
{
	for (int i = 0; i < f->n_edges; i++)
		if (!strcmp(f->edges[i].to, name))
			return true;
	return false;
}

static void print_name(struct text *out, const char *name)
{
	char shown[160];

	snprintf(shown, sizeof shown, "%.*s", (int)strcspn(name, "\4"), name);
	text_add(out, shown);
}

static void print_cycle(struct text *out, const struct edge *e, int first)
{
	int i = first;

	bool maybe = false;

	do {
		maybe |= e[i].maybe;
		i = e[i].next;
	} while (i != first);
	text_add(out, maybe ? "chard: cycle, if nobody else sends the value: " : "chard: cycle: ");
	do {
		print_name(out, e[i].from);
		text_add(out, " waits for ");
		i = e[i].next;
	} while (i != first);
	print_name(out, e[first].from);
	text_add(out, "\n");
}

/* Of several things that one waits for, the first counts. A walk that comes back to itself is a cycle. */
static void print_cycles(struct text *out, struct facts *f)
{
	struct edge *e = f->edges;

	for (int i = 0; i < f->n_edges; i++)
		e[i].next = edge_from(f, e[i].to);
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

/* ---- all PEs ------------------------------------------------------------------------------------ */

static void note_fact(struct facts *f, char *line)
{
	char *tab = strchr(line, '\t');

	if (line[0] == '\3' && f->n_wishes < FACTS_MOST)
		f->wishes[f->n_wishes++] = line + 1;
	if (line[0] == '\1' && tab && f->n_edges < FACTS_MOST) {
		*tab = 0;
		f->edges[f->n_edges++] = (struct edge){ line + 1, tab + 1, -1, 0, false };
	}
}

/* The second look at a text: what may wait, of what somebody waits for. `cut` is a copy of the text in which
 * note_facts has ended the lines. */
static void note_maybes(struct facts *f, const char *text, char *cut)
{
	for (size_t len; *text; text += len, cut += len) {
		char *tab = cut[0] == '\5' ? strchr(cut, '\t') : NULL;

		len = strcspn(text, "\n") + 1;
		if (!tab || f->n_edges == FACTS_MOST)
			continue;
		*tab = 0;
		if (is_awaited(f, cut + 1))
			f->edges[f->n_edges++] = (struct edge){ cut + 1, tab + 1, -1, 0, true };
	}
}

/* Cut the text into lines in place: their ends become ends of strings. */
static void note_facts(struct facts *f, char *text)
{
	for (char *end; (end = strchr(text, '\n')); text = end + 1) {
		*end = 0;
		if (text[0] == '\1' || text[0] == '\3')
			note_fact(f, text);
	}
}

/* What of the line is printed; NULL: nothing. */
static char *shown(const struct facts *f, char *line)
{
	char *tab = strchr(line, '\t');

	if (csd_line_is_hidden(line) && line[0] != '\2')
		return NULL;
	if (line[0] != '\2' || !tab)
		return line;
	*tab = 0;
	for (int i = 0; i < f->n_wishes; i++)
		if (!strcmp(f->wishes[i], line + 1))
			return tab + 1;
	return NULL;
}

static void print_line(struct text *out, const char *head, const char *line)
{
	if (out->n_lines++ >= LINES_OF_ALL)
		return;
	text_add(out, head);
	text_add(out, line);
	text_add(out, "\n");
}

/* `cut` is a copy of the text in which note_facts has ended the lines. */
static void print_pe(struct text *out, const struct facts *f, int pe, const char *text, char *cut)
{
	char head[32];

	snprintf(head, sizeof head, "chard: PE %d: ", pe);
	for (size_t len; *text; text += len, cut += len) {
		const char *line = shown(f, cut);

		len = strcspn(text, "\n") + 1;
		if (line)
			print_line(out, head, line);
	}
}

static void print_silent(struct text *out, const struct pe *pe, int i)
{
	char line[160];

	snprintf(line, sizeof line, "PE %d (node %d) does not answer: it is busy in a handler, or its process is stopped",
		 i, pe->node->job->node_of[i]);
	print_line(out, "chard: ", line);
}

static void write_all(const struct text *t)
{
	fflush(stdout);
	fwrite(t->at, 1, t->len, stderr);
	fflush(stderr);
}

static void print_all(struct text *out, const struct pe *pe, const char *const *texts, int n, struct facts *f)
{
	char **copies = cmi_alloc_zero((size_t)n, sizeof *copies, WATCH_REPORT), more[64];

	for (int i = 0; i < n; i++) {
		copies[i] = texts[i] ? cmi_must_have(strdup(texts[i]), strlen(texts[i]) + 1, WATCH_REPORT) : NULL;
		if (copies[i])
			note_facts(f, copies[i]);
	}
	for (int i = 0; i < n; i++)
		if (copies[i])
			note_maybes(f, texts[i], copies[i]);
	for (int i = 0; i < n; i++) {
		if (copies[i])
			print_pe(out, f, i, texts[i], copies[i]);
		else
			print_silent(out, pe, i);
	}
	if (!out->n_lines)
		text_add(out, "chard: nobody waits for anything that the runtime knows of; was CkExit never called?\n");
	if (out->n_lines > LINES_OF_ALL) {
		snprintf(more, sizeof more, "chard: and %d more lines\n", out->n_lines - LINES_OF_ALL);
		text_add(out, more);
	}
	print_cycles(out, f);
	for (int i = 0; i < n; i++)
		free(copies[i]);
	free(copies);
}

void watch_print(const struct pe *pe, const char *why, const char *const *texts, int n)
{
	struct facts f = { .edges = cmi_alloc_zero(FACTS_MOST, sizeof *f.edges, WATCH_REPORT),
			   .wishes = cmi_alloc_zero(FACTS_MOST, sizeof *f.wishes, WATCH_REPORT) };
	struct text out = { 0 };

	text_add(&out, "chard: ");
	text_add(&out, why);
	text_add(&out, "\n");
	print_all(&out, pe, texts, n, &f);
	write_all(&out);
	free(f.edges);
	free(f.wishes);
	free(out.at);
}
