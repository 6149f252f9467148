/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diag.c: collects errors and prints them in the order of the file.
 *
 * The checks that need the whole file run after the parser, so ckci finds errors out of order. The
 * user should read them from top to bottom.
 */
#include "ci.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
	MAX_SHOWN = 20,
	MAX_KEPT = 1000,     /* without a limit, a file of garbage would cost quadratic time */
	WINDOW = 120,        /* how many bytes of a long line are shown */
};

struct ci_error {
	struct ci_error *next;
	const char *at;
	const char *text;
	const char *help;
};

void ci_error(struct ci *ci, const char *at, const char *help, const char *fmt, ...)
{
	struct ci_error **link = &ci->errors;
	struct ci_error *e;
	char text[1024];
	va_list ap;

	while (*link != NULL && (*link)->at < at)
		link = &(*link)->next;
	if (*link != NULL && (*link)->at == at)
		return;
	if (ci->n_errors++ >= MAX_KEPT)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	e = ci_alloc(ci, sizeof *e);
	e->at = at;
	e->text = ci_dup(ci, text, strlen(text));
	e->help = help;
	e->next = *link;
	*link = e;
}

/* Columns count characters, not bytes: continuation bytes of UTF-8 do not count. */
static bool starts_character(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

static int column_of(const char *line_start, const char *at)
{
	int col = 1;

	for (const char *s = line_start; s < at; s++)
		col += starts_character(*s);
	return col;
}

/* Both lines keep their tabs, so the caret is in the right place at any tab width. */
static void print_source(const char *start, const char *end, const char *at)
{
	const char *from = start;
	const char *to = end;

	if (end - start > WINDOW) {
		if (at - start > WINDOW / 2)
			from = at - WINDOW / 2;
		if (to - from > WINDOW)
			to = from + WINDOW;
		while (from < at && !starts_character(*from))
			from++;
		while (to > at && to < end && !starts_character(*to))
			to--;
	}
	if (start == end)
		return;
	fputs("    ", stderr);
	for (const char *s = from; s < to; s++)
		fputc((unsigned char)*s < ' ' && *s != '\t' ? ' ' : *s, stderr);
	fputs("\n    ", stderr);
	for (const char *s = from; s < at; s++) {
		if (starts_character(*s))
			fputc(*s == '\t' ? '\t' : ' ', stderr);
	}
	fputs("^\n", stderr);
}

static void print_error(struct ci *ci, const struct ci_error *e)
{
	const struct ci_place p = ci_place_of(ci, e->at);

	fprintf(stderr, "%s:%d:%d: error: %s\n", p.path, p.line, column_of(p.start, p.at), e->text);
	print_source(p.start, p.end, p.at);
	if (e->help != NULL)
		fprintf(stderr, "  help: %s\n", e->help);
}

void ci_print_errors(struct ci *ci)
{
	int shown = 0;

	for (const struct ci_error *e = ci->errors; e != NULL && shown < MAX_SHOWN; e = e->next) {
		print_error(ci, e);
		shown++;
	}
	if (ci->n_errors > shown)
		fprintf(stderr, "ckci: %d more errors not shown\n", ci->n_errors - shown);
	fprintf(stderr, "ckci: %s: %d error%s, nothing written\n", ci->path, ci->n_errors,
		ci->n_errors == 1 ? "" : "s");
}
