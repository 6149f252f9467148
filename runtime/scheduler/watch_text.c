/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_text.c: the watchdog's report. Each PE writes what waits there, its layers' lines and the scheduler's own;
 * PE 0 puts all texts together, names cycles, and prints the whole in one piece.
 */
#include "csd_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LINES_OF_PE = 60,          /* more are counted only */
	LINES_OF_ALL = 400,
	EDGES_MOST = 4096,         /* "A waits for B", of all PEs together */
	NAME_MOST = 160,
};

/* ---- text that grows ----------------------------------------------------------------------- */

struct text {
	char *at;
	size_t len, cap;
	int n_lines, n_cut, n_edges;
};

static void text_add(struct text *t, const char *s)
{
	size_t n = strlen(s);

	if (t->len + n + 1 > t->cap) {
		t->cap = 2 * (t->len + n + 1);
		t->at = realloc(t->at, t->cap);
		if (!t->at)
			csd_abort(csd_self(), "no memory for the watchdog's report");
	}
	memcpy(t->at + t->len, s, n + 1);
	t->len += n;
}

static void line_add(void *arg, const char *line)
{
	struct text *t = arg;
	const bool edge = line[0] == '\1';

	if (edge ? t->n_edges++ >= EDGES_MOST : t->n_lines++ >= LINES_OF_PE) {
		t->n_cut += !edge;
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
	char text[160];

	if (queued) {
		snprintf(text, sizeof text, "%zu messages are queued", queued);
		line(arg, text);
	}
	if (pe->n_timers) {
		snprintf(text, sizeof text, "%zu timers are set", pe->n_timers);
		line(arg, text);
	}
	if (held) {
		snprintf(text, sizeof text, "%zu messages to other PEs are held back until all PEs know a new group or "
			 "nodegroup", held);
		line(arg, text);
	}
	if (pe->room.first)
		line(arg, "threads wait for room in the message memory (CK_MESSAGE_MEMORY)");
	flow_describe(pe, line, arg);
}

char *watch_text(struct pe *pe)
{
	const struct csd_config *cfg = pe->node->cfg;
	struct text t = { 0 };
	char cut[64];

	text_add(&t, "");
	describe_scheduler(pe, line_add, &t);
	for (int i = cfg->n_layers; i-- > 0;)
		if (cfg->layers[i]->describe)
			cfg->layers[i]->describe(pe, line_add, &t);
	if (t.n_cut) {
		snprintf(cut, sizeof cut, "and %d more lines\n", t.n_cut);
		text_add(&t, cut);
	}
	return t.at;
}

/* ---- cycles ------------------------------------------------------------------------------------ */

/* Names point into the texts, where the tab and the line's end have become ends of strings. */
struct edge {
	const char *from, *to;
	int next;                  /* an edge that begins where this one ends; -1: none */
	int seen;                  /* in which walk */
};

static int edge_from(const struct edge *e, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(e[i].from, name))
			return i;
	return -1;
}

static void print_cycle(struct text *out, const struct edge *e, int first)
{
	int i = first;

	text_add(out, "chard: cycle: ");
	do {
		text_add(out, e[i].from);
		text_add(out, " waits for ");
		i = e[i].next;
	} while (i != first);
	text_add(out, e[first].from);
	text_add(out, "\n");
}

/* Of several things that one waits for, the first counts. A walk that comes back to itself is a cycle. */
static void print_cycles(struct text *out, struct edge *e, int n)
{
	for (int i = 0; i < n; i++)
		e[i].next = edge_from(e, n, e[i].to);
	for (int i = 0; i < n; i++) {
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

static void add_edge(struct edge *e, int *n, char *line)
{
	char *tab = strchr(line, '\t');

	if (*n == EDGES_MOST || !tab)
		return;
	*tab = 0;
	e[(*n)++] = (struct edge){ line + 1, tab + 1, -1, 0 };
}

/* `text` is cut into lines in place. */
static void print_pe(struct text *out, int pe, char *text, struct edge *e, int *n_edges)
{
	char head[32], *save;

	snprintf(head, sizeof head, "chard: PE %d: ", pe);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (line[0] == '\1') {
			add_edge(e, n_edges, line);
		} else if (out->n_lines++ < LINES_OF_ALL) {
			text_add(out, head);
			text_add(out, line);
			text_add(out, "\n");
		}
	}
}

static void print_silent(struct text *out, const struct pe *pe, int i)
{
	char line[160];

	snprintf(line, sizeof line, "chard: PE %d (node %d) does not answer: it is busy in a handler, or its process is "
		 "stopped\n", i, pe->node->job->node_of[i]);
	if (out->n_lines++ < LINES_OF_ALL)
		text_add(out, line);
}

static void write_all(const char *s, size_t n)
{
	fflush(stdout);
	fwrite(s, 1, n, stderr);
	fflush(stderr);
}

void watch_print(const struct pe *pe, const char *why, const char *const *texts, int n)
{
	struct edge *edges = calloc(EDGES_MOST, sizeof *edges);
	char **copies = calloc((size_t)n, sizeof *copies), more[64];
	struct text out = { 0 };
	int n_edges = 0;

	if (!edges || !copies)
		csd_abort(csd_self(), "no memory for the watchdog's report");
	text_add(&out, "chard: ");
	text_add(&out, why);
	text_add(&out, "\n");
	for (int i = 0; i < n; i++) {
		if (!texts[i]) {
			print_silent(&out, pe, i);
			continue;
		}
		copies[i] = strdup(texts[i]);
		if (copies[i])
			print_pe(&out, i, copies[i], edges, &n_edges);
	}
	if (!out.n_lines)
		text_add(&out, "chard: nobody waits for anything that the runtime knows: did nobody call CkExit?\n");
	if (out.n_lines > LINES_OF_ALL) {
		snprintf(more, sizeof more, "chard: and %d more lines\n", out.n_lines - LINES_OF_ALL);
		text_add(&out, more);
	}
	print_cycles(&out, edges, n_edges);
	write_all(out.at, out.len);
	for (int i = 0; i < n; i++)
		free(copies[i]);
	free(copies);
	free(edges);
	free(out.at);
}
